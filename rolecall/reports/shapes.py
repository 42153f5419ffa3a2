from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from pydantic import BeforeValidator, Field

from rolecall.accounts.model import Access
from rolecall.applications.shapes import Location
from rolecall.core.checking import (
    Body,
    IdentityId,
    Maybe,
    Name100,
    OptionalName100,
    Text256,
    Text2048,
    one_of,
)
from rolecall.core.cron import CronLine
from rolecall.core.formats.formats import Format
from rolecall.effective_access.shapes import HolderAccount, HolderIdentity, ImportReason
from rolecall.entitlements.model import EntitlementKind
from rolecall.exports.shapes import ExportItem
from rolecall.reports.model import ReportPeriod
from rolecall.settings.policy import Level, RequestAction
from rolecall.work_items.shapes import PersonReference

MOST_COLUMNS = 200
MOST_FILTERS = 50
MOST_RECIPIENTS = 50


class ReportSchedule(msgspec.Struct):
    """When a report is written, as a cron expression, and where: `location` is a folder or a URL."""

    cron: str
    location: str


class ReportDetail(msgspec.Struct, rename="camel"):
    """A saved export of a list.

    If `columns` is empty, the report has all columns. The schedule runs on the authority of `owner` or, without one,
    of the caller who last saved the report. `recipients` are notified of each scheduled file.
    """

    id: UUID
    kind: Literal["Report"]
    name: str
    description: str
    list: str
    filters: dict[str, str]
    columns: Sequence[str]
    period: ReportPeriod
    format: Format
    schedule: ReportSchedule | None
    owner: PersonReference | None
    recipients: Sequence[PersonReference]
    created_date: datetime
    last_run: ExportItem | None


def _as_text(value: object) -> object:
    """Convert a boolean or an integer in a filter to text."""
    # Test for booleans first, because they are also integers.
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


# The accepted types, for the OpenAPI document.
_ANY_VALUE: Any = str | bool | int | None
Filters = Annotated[
    dict[
        Annotated[str, Field(max_length=100)],
        Annotated[Text256, BeforeValidator(_as_text, json_schema_input_type=_ANY_VALUE)],
    ],
    Field(max_length=MOST_FILTERS),
]
Columns = Annotated[list[Name100], Field(max_length=MOST_COLUMNS)]
PeriodName = Annotated[ReportPeriod, one_of(ReportPeriod)]
FormatName = Annotated[Format, one_of(Format)]
RecipientIds = Annotated[list[IdentityId], Field(max_length=MOST_RECIPIENTS)]


class ReportScheduleBody(Body):
    cron: CronLine
    location: Location


class ReportFields(Body):
    """The optional fields of a report; `None` means that the field was omitted or null."""

    description: Text2048 | None = None
    filters: Filters | None = None
    columns: Columns | None = None
    period: Maybe[PeriodName | None] = None
    format: Maybe[FormatName | None] = None
    schedule: ReportScheduleBody | None = None


class NewReport(ReportFields):
    name: Name100
    list: Name100
    owner_id: Maybe[IdentityId | None] = None
    recipient_ids: RecipientIds | None = None


class ReportChanges(ReportFields):
    name: OptionalName100 | None = None
    list: OptionalName100 | None = None
    owner_id: Maybe[IdentityId | None] = None
    recipient_ids: RecipientIds | None = None


class RunBody(Body):
    """Overrides for one run of a report: the format, and filters by name."""

    format: Maybe[FormatName | None] = None
    filters: Filters | None = None


class HeldEntitlement(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    kind: EntitlementKind
    header: str
    section: str
    name: str
    display_name: str
    risk_rating: Level
    is_privileged: bool


class AccessRow(msgspec.Struct, rename="camel"):
    """Access that an account holds directly or through one path of groups.

    `requests` and `models` explain the access; both are empty if it is unexplained.
    """

    application: str
    identity: HolderIdentity | None
    account: HolderAccount
    entitlement: HeldEntitlement
    access: Access
    since: ImportReason
    path: str
    requests: str
    models: str


class AccessChange(msgspec.Struct, rename="camel"):
    """Access that an account gained or lost with an import."""

    changed_on: datetime
    application_import: int = msgspec.field(name="import")
    change: Literal["Gained", "Lost"]
    application: str
    identity: HolderIdentity | None
    account: HolderAccount
    entitlement: HeldEntitlement
    access: Access
    path: str


class Approval(msgspec.Struct, rename="camel"):
    """A decision of one reviewer about a request; `reviewer` is null if no approval was required.

    `standIn` is the person who responded for the reviewer.
    """

    decided_on: datetime
    response: Literal["Approved", "Rejected", "Not Required"]
    reviewer: PersonReference | None
    stand_in: PersonReference | None
    reason: str
    request: int
    request_id: UUID
    action: RequestAction
    status: str
    application: str
    target: str
    affected: PersonReference | None
    requested_by: str
    privileges: str
