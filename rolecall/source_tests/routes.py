import msgspec
from litestar import Router

from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.source_tests import actions
from rolecall.source_tests.shapes import SourceTest, SourceTestBody
from rolecall.web.bodies import AnyRequest, Carried
from rolecall.web.operations import operation, optional_json
from rolecall.web.services import Services


async def _test(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    """Test the source before the operation takes a database connection, because the source may be slow."""
    services: Services = request.app.state.services
    id = known_guid("Application", request.path_params["id"])
    facts = Facts(now=clock.now(), zone=config.timezone)
    result = await actions.test_source(services.pool, request.user, id, carried.raw or {}, facts, config)
    return msgspec.structs.replace(carried, raw=result)


@operation(
    "POST",
    "/{id:str}/source/test",
    scope=Scope.CONFIG_MANAGE,
    body=SourceTestBody,
    read_body=optional_json,
    prepare=_test,
    tags=("Administration",),
)
async def test_source(db: Db, caller: Caller, id: str, raw: SourceTest) -> SourceTest:
    """Connect to the live source, fetch its first records and return the rows that an import would read from them.

    Send a `source` to test it before it is saved. The test is audited; its records are not stored. For an identity
    source, the caller also needs the scope `identities:write`.
    """
    await actions.record_test(db, caller, known_guid("Application", id), raw)
    return raw


router = Router("/api/applications", route_handlers=[test_source])
