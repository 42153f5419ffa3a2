from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from rolecall.accounts.matching import Dispute
from rolecall.application_imports.dry_runs.model import DryRunStatus, DryRunTotals
from rolecall.application_imports.model import ContentReading, RecordKind
from rolecall.applications.shapes import ApplicationSummary, Metrics


class DryRunFile(msgspec.Struct, rename="camel"):
    """A file with the number of rows for each outcome. The numbers are null until the dry run has finished."""

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
    """The number of accounts for each kind of match.

    `disputed` accounts match several people; `never` accounts are matched to nobody, because a person decided so.
    """

    matched: int
    unmatched: int
    disputed: int
    never: int


class DryRunDetail(msgspec.Struct, rename="camel"):
    """A dry run. `metrics` and the fields after it are null until the dry run has finished."""

    id: UUID
    kind: Literal["Dry Run"]
    status: DryRunStatus
    # Null if the application does not exist yet.
    application: ApplicationSummary | None
    created_by: str
    created_date: datetime
    started_date: datetime | None
    ended_date: datetime | None
    files: list[DryRunFile]
    log: list[str]
    # The reason why the dry run failed or an import would fail (`problem`), or why an import would be held (`held`).
    problem: str | None
    held: str | None
    metrics: Metrics | None
    changes: list[ChangeCount] | None
    matches: MatchCounts | None
    # The first 100 disputed accounts.
    disputes: list[Dispute] | None
    totals: DryRunTotals | None
    # How the rows of each file were read into its contents. Files that are the same as before are not read.
    readings: list[ContentReading] | None
