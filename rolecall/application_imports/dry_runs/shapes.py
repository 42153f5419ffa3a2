from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from rolecall.accounts.matching import Dispute
from rolecall.application_imports.dry_runs.model import DryRunStatus
from rolecall.application_imports.model import RecordKind
from rolecall.applications.shapes import ApplicationSummary, Metrics


class DryRunFile(msgspec.Struct, rename="camel"):
    """A file with the number of rows for each outcome. The numbers are null until the file is read."""

    id: UUID
    file_group: str
    name: str
    read: int | None = None
    applied: int | None = None
    unchanged: int | None = None
    rejected: int | None = None


class ChangeCount(msgspec.Struct):
    kind: RecordKind
    new: int
    altered: int
    removed: int


class MatchCounts(msgspec.Struct):
    """The number of accounts for each kind of match. `disputed` accounts match several people; a person set `never`."""

    matched: int
    unmatched: int
    disputed: int
    never: int


class DryRunDetail(msgspec.Struct, rename="camel"):
    """A dry run. The fields after `log` are null until it has finished."""

    id: UUID
    kind: Literal["Dry Run"]
    # Draft, Pending, Running, Finished or Failed.
    status: DryRunStatus
    # Null if the application does not exist yet.
    application: ApplicationSummary | None
    created_by: str
    created_date: datetime
    started_date: datetime | None
    ended_date: datetime | None
    files: list[DryRunFile]
    log: list[str]
    # The reason why an import would fail or be held.
    problem: str | None
    held: str | None
    metrics: Metrics | None
    changes: list[ChangeCount] | None
    matches: MatchCounts | None
    # The first 100 disputed accounts.
    disputes: list[Dispute] | None
