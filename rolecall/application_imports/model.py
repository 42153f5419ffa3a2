"""Define the statuses of an import and the relations that imports maintain.

A relation is a table whose rows are valid from one import until another. `compare` reads the valid rows, `apply` opens
and closes their intervals, and the change list of an import is read from the intervals that begin or end with it.
"""

from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

import msgspec

from rolecall.applications.model import Content, ImportStatus, ImportType
from rolecall.applications.shapes import FileGroup

__all__ = ["MOVES", "ImportStatus", "ImportType"]

MOVES = {
    ImportStatus.PENDING: {ImportStatus.RUNNING, ImportStatus.CANCELING},
    ImportStatus.RUNNING: {ImportStatus.FINISHED, ImportStatus.FAILED, ImportStatus.CANCELING},
    ImportStatus.CANCELING: {ImportStatus.CANCELED},
    ImportStatus.FINISHED: set[ImportStatus](),
    ImportStatus.FAILED: set[ImportStatus](),
    ImportStatus.CANCELED: set[ImportStatus](),
}


class RecordKind(StrEnum):
    ACCOUNT = "Account"
    GROUP = "Group"
    MEMBERSHIP = "Membership"
    PERMISSION = "Permission"
    ASSIGNMENT = "Assignment"
    IDENTITY = "Identity"


class ChangeType(StrEnum):
    NEW = "New"
    ALTERED = "Altered"
    REMOVED = "Removed"


class Tally(msgspec.Struct):
    """How many rows of one relation an import added, altered and removed."""

    new: int = 0
    altered: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        return self.new + self.altered + self.removed


Tallies = dict[RecordKind, Tally]


class FileTotals(msgspec.Struct, rename="camel"):
    """The number of rows of a file: read = applied + unchanged + rejected."""

    file_id: UUID
    name: str
    read: int
    applied: int
    unchanged: int
    rejected: int


class ContentReading(msgspec.Struct, rename="camel"):
    """How many rows of a file were read into one content: rows = read + rejected + the sum of `leftOut`.

    `leftOut` has the number of rows for each reason. If several contents are read from the same sheet or list, only
    the first of them lists the columns that none of them reads.
    """

    file: str
    content: Content
    rows: int
    read: int
    rejected: int
    left_out: dict[str, int]
    columns_not_read: list[str]
    # The number of non-blank cells in `columns_not_read`.
    cells_not_read: int
    columns_ignored: dict[str, str] = {}


class ReadProgress(NamedTuple):
    """How many bytes of its files a build has read."""

    read: int
    total: int


class RejectedRow(NamedTuple):
    file_id: UUID
    line: int
    reason: str
    row: list[str]


class Relation(msgspec.Struct, frozen=True):
    table: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    # An SQL condition that is true for rows of the application.
    scope: str
    # None if the change list does not show the changes of this relation.
    kind: RecordKind | None

    @property
    def columns(self) -> str:
        return ", ".join((*self.key, *self.values))

    def same_key(self, a: str, b: str) -> str:
        """Return SQL that compares the keys of two rows."""
        return " AND ".join(f"{a}.{column} = {b}.{column}" for column in self.key)


_OF_ACCOUNTS = "account_number IN (SELECT number FROM accounts WHERE application_id = %(application)s)"
_OF_GROUPS = "group_number IN (SELECT number FROM groups WHERE application_id = %(application)s)"
_OF_PERMISSIONS = "permission_number IN (SELECT number FROM permissions WHERE application_id = %(application)s)"
# Select by holder, because assignments have no index by permission: a condition on the permission would read the
# assignments of all applications.
_OF_HOLDERS = """holder_number IN (SELECT number FROM accounts WHERE application_id = %(application)s
    UNION ALL SELECT number FROM groups WHERE application_id = %(application)s)"""

ACCOUNTS = Relation(
    "account_versions",
    ("account_number",),
    ("name", "first_name", "last_name", "email", "employee_id", "is_active", "is_locked", "last_login",
     "password_changed", "metadata", "first_name_key", "last_name_key"),
    _OF_ACCOUNTS,
    RecordKind.ACCOUNT,
)  # fmt: skip
GROUPS = Relation(
    "group_versions",
    ("group_number",),
    ("description", "nomenclature", "parent", "metadata"),
    _OF_GROUPS,
    RecordKind.GROUP,
)
# The groups that a file of groups lists; a group can also exist because a membership or an assignment names it.
LISTINGS = Relation("group_listings", ("group_number",), (), _OF_GROUPS, None)
MEMBERSHIPS = Relation("memberships", ("account_number", "group_number"), (), _OF_ACCOUNTS, RecordKind.MEMBERSHIP)
PERMISSIONS = Relation(
    "permission_versions",
    ("permission_number",),
    ("description", "risk_rating"),
    _OF_PERMISSIONS,
    RecordKind.PERMISSION,
)
ASSIGNMENTS = Relation(
    "assignments", ("holder_number", "permission_number"), ("access", "value"), _OF_HOLDERS, RecordKind.ASSIGNMENT
)
IDENTITIES = Relation(
    "identity_versions",
    ("identity_id", "application_id"),
    ("employee_id", "fields"),
    "application_id = %(application)s",
    RecordKind.IDENTITY,
)
RELATIONS = (ACCOUNTS, GROUPS, LISTINGS, MEMBERSHIPS, PERMISSIONS, ASSIGNMENTS, IDENTITIES)


class ImportTarget(msgspec.Struct, frozen=True):
    """The properties of an application that are checked before an import is created."""

    is_archived: bool
    is_identity_source: bool
    has_schedule: bool
    # None if the application does not support file imports.
    file_groups: list[FileGroup] | None

    def groups_by_id(self) -> dict[UUID, FileGroup]:
        return {group.file_group_id: group for group in self.file_groups or ()}


class DownloadableFile(msgspec.Struct, frozen=True):
    name: str
    size: int
    location: str


class FailingSchedule(msgspec.Struct, frozen=True):
    application_id: UUID
    name: str


class EndedImports(msgspec.Struct, frozen=True):
    status: str
    count: int
    seconds: float


class ImportNumbers(msgspec.Struct, frozen=True):
    """Counts and times of imports, for the metrics."""

    by_status: dict[str, int]
    held: int
    oldest_wait_seconds: float
    ended: list[EndedImports]
    rows: dict[str, int]
    skipped: int
