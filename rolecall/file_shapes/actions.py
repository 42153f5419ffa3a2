"""Propose how to read uploaded files. Nothing is stored."""

from rolecall.core.errors import Invalid
from rolecall.core.files import Upload
from rolecall.file_shapes.files.proposing import propose_in_child
from rolecall.file_shapes.shapes import ProposalDetail
from rolecall.file_shapes.tables.sample import sample_of


async def propose_upload(upload: Upload) -> ProposalDetail:
    files = [file for file in upload.files if file.name or file.size]
    if not files:
        raise Invalid.on("body", "At least one file is required")
    return await propose_in_child([sample_of(file.path, file.name) for file in files])
