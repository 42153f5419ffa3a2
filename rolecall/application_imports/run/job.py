"""Define the messages between the worker and its child process: a job, and the result of its build."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.core.files import Store
from rolecall.settings import queries as settings
from rolecall.settings.model import Guard

DISK_FULL = "the disk is full; make room, then import the files again"
TOO_MUCH_MEMORY = "the files need more memory than an import may use; split them, or save them as CSV"


class Job(msgspec.Struct, frozen=True):
    import_id: UUID
    database_url: str
    base_url: str
    store: Store
    timezone: str
    input_bytes: int
    # When this attempt began; the first step is timed from here.
    started: datetime
    # Whether `import_id` is the id of a dry run. Its build is rolled back, and the result is stored as a preview.
    is_dry_run: bool = False

    def __repr__(self) -> str:
        """Leave out the database URL, because it contains a password and this text may be logged."""
        return f"Job({self.import_id})"


class BuildOutcome(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    HELD = "held"
    CANCELED = "canceled"
    # The build did not end, for example because the child was killed. A worker retries the import a few times.
    INTERRUPTED = "interrupted"
    # The file store does not respond. A worker starts the import again, and does not count the attempt.
    POSTPONED = "postponed"


class BuildResult(msgspec.Struct, frozen=True):
    outcome: BuildOutcome
    message: str = ""
    # Whether a held import lowers high risk ratings.
    lowers_risk: bool = False


class ImportRun(msgspec.Struct, frozen=True):
    """An import that a worker runs, with the settings of its application."""

    id: UUID
    number: int
    application_id: UUID
    is_identity_source: bool
    guard: Guard
    connector: str
    is_unguarded: bool
    rollback_to: int | None
    is_scheduled: bool
    # Whether a caller chose the data, with an upload or a rollback.
    is_supplied: bool
    # Whether this is a dry run, for which the guard only reports.
    is_dry: bool = False


def worker_lock(application_id: UUID) -> int:
    """Return the key of the advisory lock that a worker holds, so that an application runs one import at a time."""
    # PostgreSQL takes signed 64-bit keys, so use 62 bits of the id. The last bit is 0, unlike in `build_lock`.
    return (application_id.int >> 65) & ~1


def build_lock(application_id: UUID) -> int:
    """Return the key of the lock that a build's transaction holds, so that builds of an application never overlap."""
    return worker_lock(application_id) | 1


async def find_run(db: Db, import_id: UUID) -> ImportRun:
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.number, i.application_id, a.is_identity_source, a.guard, coalesce(c.name, ''),
                  r.is_unguarded, r.rollback_to,
                  NOT EXISTS (SELECT FROM import_files f WHERE f.import_id = i.id) AND r.rollback_to IS NULL,
                  i.supplied_by IS NOT NULL
           FROM application_imports i JOIN applications a ON a.id = i.application_id
           JOIN import_runs r ON r.import_id = i.id LEFT JOIN connectors c ON c.application_id = a.id
           WHERE i.id = %(id)s""",
        id=import_id,
    )
    id, number, application_id, is_identity_source, guard, *rest = rows[0]
    return ImportRun(id, number, application_id, is_identity_source, await guard_of(db, guard), *rest)


async def guard_of(db: Db, own: dict[str, Any] | None) -> Guard:
    """Return the guard of an application, or the guard of the settings if it has none."""
    return msgspec.convert(own, Guard) if own else (await settings.get(db)).guard
