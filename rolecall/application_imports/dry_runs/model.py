"""Define the statuses of a dry run, the draft that it tests, and its result."""

from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.accounts.matching import Dispute
from rolecall.application_imports.model import ContentReading, FileTotals, Tallies
from rolecall.applications.shapes import Metrics
from rolecall.core.checking import Json

CHANNEL = "dry_runs"


class DryRunStatus(StrEnum):
    # No run was requested yet.
    DRAFT = "Draft"
    PENDING = "Pending"
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"


class Draft(msgspec.Struct, frozen=True):
    """Configuration for a dry run: the body of a request that creates an application or changes it."""

    application_id: UUID | None
    body: Json


class DryRunTotals(msgspec.Struct):
    """How many records the application would have after an import."""

    accounts: int
    active: int
    inactive: int
    groups: int
    memberships: int
    permissions: int
    assignments: int


class DryRunResult(msgspec.Struct, rename="camel"):
    """The effects that an import of the files would have."""

    # The reasons why the import would fail (`problem`) or be held (`held`).
    problem: str | None
    held: str | None
    files: list[FileTotals]
    metrics: Metrics
    changes: Tallies
    matches: dict[str, int]
    disputes: list[Dispute]
    totals: DryRunTotals | None = None
    readings: list[ContentReading] = []
