from litestar import Router

from rolecall.core.caller import Scope
from rolecall.core.files import Upload
from rolecall.file_shapes import actions
from rolecall.file_shapes.shapes import ProposalDetail, ProposeBody
from rolecall.web.operations import operation
from rolecall.web.uploads import read_upload


@operation(
    "POST", "/propose", scope=Scope.IMPORTS_WRITE, body=ProposeBody, read_body=read_upload, tags=("Administration",)
)
async def propose_shapes(raw: Upload) -> ProposalDetail:
    """Propose a connector that reads files, with the evidence for each part of it.

    Send files under any field name. The service may read only the head and the tail of a long file, and stores nothing.
    Use the connector in the body of an application, or try it with a dry run first.
    """
    return await actions.propose_upload(raw)


router = Router("/api/file-shapes", route_handlers=[propose_shapes])
