"""What the worker and its child tell each other."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.application_imports.run.finish import Run
from rolecall.core.db import Db, fetch_rows
from rolecall.core.files import Store
from rolecall.settings import queries as settings
from rolecall.settings.model import Guard

DISK_FULL = "the disk is full; make room, then import the files again"
TOO_MUCH_MEMORY = "the files need more memory than an import may take"


class Job(msgspec.Struct, frozen=True):
    import_id: UUID
    database_url: str
    base_url: str
    store: Store
    timezone: str
    input_bytes: int
    # When this attempt began; its first step is timed from here.
    started: datetime

    def __repr__(self) -> str:
        """Without the database's password: this may reach a log."""
        return f"Job({self.import_id})"


class Outcome(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    HELD = "held"
    CANCELED = "canceled"
    # The database went away, or the build was killed; the import is taken up again.
    LOST = "lost"


class Ended(msgspec.Struct, frozen=True):
    outcome: Outcome
    message: str = ""


def application_lock(application_id: UUID) -> int:
    """The advisory lock of an application's imports; even, so that the odd one beside it is its build's."""
    return (application_id.int >> 65) & ~1


async def find_run(db: Db, import_id: UUID) -> Run:
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.number, i.application_id, a.is_identity_source, a.guard, coalesce(c.name, ''),
                  r.is_unguarded, r.rollback_to,
                  NOT EXISTS (SELECT FROM import_files f WHERE f.import_id = i.id) AND r.rollback_to IS NULL
           FROM application_imports i JOIN applications a ON a.id = i.application_id
           JOIN import_runs r ON r.import_id = i.id LEFT JOIN connectors c ON c.application_id = a.id
           WHERE i.id = %(id)s""",
        id=import_id,
    )
    id, number, application_id, is_identity_source, guard, *rest = rows[0]
    guard = msgspec.convert(guard, Guard) if guard else (await settings.get(db)).guard
    return Run(id, number, application_id, is_identity_source, guard, *rest)
