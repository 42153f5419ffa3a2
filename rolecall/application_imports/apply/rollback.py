"""An application's data put back as it was after an earlier import, by a new import."""

from rolecall.application_imports.compare.relations import RELATIONS, put_back
from rolecall.application_imports.read.sources import Sources, sources_after
from rolecall.application_imports.run.finish import Run
from rolecall.core.db import Db


async def put_back_all(db: Db, run: Run, to: int) -> Sources:
    """The files that the state is then made of: those of that time."""
    for relation in RELATIONS:
        await put_back(db, relation, run.application_id, run.number, to)
    return await sources_after(db, run.application_id, to)
