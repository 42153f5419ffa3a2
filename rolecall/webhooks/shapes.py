from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, RootModel

from rolecall.applications.shapes import ApplicationId
from rolecall.core.address_check import LONGEST_URL
from rolecall.core.checking import (
    Body,
    Maybe,
    Moment,
    Name100,
    OptionalName100,
    OptionalText,
    SomeText,
    broken,
    one_of,
)
from rolecall.webhooks.model import LARGEST_CALLBACK, AttemptOutcome, DeliveryStatus, DisabledReason, HookEvent


class HookDetail(msgspec.Struct, rename="camel"):
    id: UUID
    kind: str
    name: str
    url: str
    events: list[HookEvent]
    application_id: UUID | None
    enabled: bool
    disabled_reason: DisabledReason | None
    failing_since: datetime | None
    created_date: datetime
    previous_secret_expires_on: datetime | None


class HookWithSecret(HookDetail):
    secret: str


class DeliveryItem(msgspec.Struct, rename="camel"):
    id: UUID
    webhook_id: UUID
    access_request_id: UUID | None
    event: str
    status: DeliveryStatus
    attempt_count: int
    created_date: datetime
    next_attempt_on: datetime | None


class Attempt(msgspec.Struct, rename="camel"):
    number: int
    started_on: datetime
    ended_on: datetime | None
    outcome: AttemptOutcome | None
    status_code: int | None
    response: str | None


class Callback(msgspec.Struct, rename="camel"):
    received_on: datetime
    content: str


class DeliveryDetail(DeliveryItem):
    """A delivery with its body and history; `body` contains the exact bytes that are signed and sent."""

    body: msgspec.Raw
    attempts: list[Attempt]
    callbacks: list[Callback]


class DeliveryNumbers(msgspec.Struct, frozen=True):
    """Numbers for /metrics: undelivered deliveries by status, lag of the oldest due delivery, and histogram of lags."""

    by_status: dict[str, int]
    oldest_due_seconds: float
    lag: list["LagBucket"]


class LagBucket(msgspec.Struct, frozen=True):
    outcome: str
    within: float
    attempts: int
    seconds: float


def _printable(name: str) -> str:
    if not name.isprintable():
        raise broken("{name} must contain only printable characters")
    return name


def _in_order(events: list[HookEvent]) -> list[HookEvent]:
    return [event for event in HookEvent if event in events]


Events = Annotated[list[Annotated[HookEvent, one_of(HookEvent)]], Field(min_length=1), AfterValidator(_in_order)]


class NewHook(Body):
    name: Annotated[Name100, AfterValidator(_printable)]
    url: Annotated[SomeText, Field(max_length=LONGEST_URL)]
    events: Events
    application_id: Maybe[ApplicationId | None] = None
    enabled: bool = True


class HookFields(Body):
    """The optional fields of a hook; `None` means that the field was omitted or is null."""

    url: Annotated[OptionalText, Field(max_length=LONGEST_URL)] | None = None
    events: Events | None = None
    enabled: bool | None = None


class HookChanges(HookFields):
    name: Annotated[OptionalName100, AfterValidator(_printable)] | None = None
    application_id: Maybe[ApplicationId | None] = None


class RecoverBody(Body):
    since: Moment


class CallbackText(RootModel[Annotated[SomeText, Field(max_length=LARGEST_CALLBACK)]]):
    """The body of a callback: plain text, not JSON."""
