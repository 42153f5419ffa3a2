from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field

from rolecall.carriers.model import (
    DEFAULT_NAME,
    CarriedState,
    Carrier,
    CarrierKind,
    CarrierMode,
    MemberValue,
    RemovalWay,
)
from rolecall.carriers.naming import template_problem
from rolecall.core.checking import Body, Guid, Maybe, Name256, Text256, Text2048, broken, one_of
from rolecall.settings.policy import RequestAction
from rolecall.sources.model import Authentication
from rolecall.sources.shapes import PeerBody, Secret, names_secret

MOST_ATTRIBUTES = 50
MOST_RELEASED = 1000


class CarriedItem(msgspec.Struct, rename="camel"):
    """An open request that a carrier took up. `nextDate` is when a waiting request is continued."""

    access_request_id: UUID
    number: int
    action: RequestAction
    target: str
    reason: str
    changed_date: datetime
    next_date: datetime


class CarrierStepItem(msgspec.Struct, rename="camel"):
    access_request_id: UUID
    number: int
    step: str
    state: str
    answer: str
    sent_date: datetime


class CarrierBrake(msgspec.Struct, rename="camel"):
    """The brake of a carrier: a request whose removals would exceed the hourly limit is held until it is released."""

    removals_in_last_hour: int
    limit: int
    held: list[CarriedItem]


class CarrierDetail(msgspec.Struct, rename="camel"):
    """The carrier of an application, without its secret.

    It includes the last 20 steps, and the last 20 requests in each of the states Held, Waiting and Left.
    """

    kind: CarrierKind
    url: str
    mode: CarrierMode
    username: str
    secret_ref: str
    authentication: Authentication
    header: str
    headers: dict[str, str]
    start_tls: bool
    timeout_seconds: int
    account_name: str
    attributes: dict[str, str]
    changed_attributes: list[str]
    on_remove: RemovalWay
    accounts_path: str
    account_attribute: str
    name_attribute: str
    object_classes: list[str]
    active_attribute: str
    active_value: str
    inactive_value: str
    groups_path: str
    group_attribute: str
    member_attribute: str
    member_value: MemberValue
    steps_per_minute: int
    removals_per_hour: int
    changed_date: datetime
    # When the mode was changed. Requests that opened earlier are left to people.
    mode_date: datetime
    secret_date: datetime | None
    brake: CarrierBrake
    waiting: list[CarriedItem]
    left: list[CarriedItem]
    last_steps: list[CarrierStepItem]


class CarrierPreview(msgspec.Struct, rename="camel"):
    """The steps that the carrier would send for a request, or why it would leave the request to a person."""

    access_request_id: UUID
    steps: list[str]
    removals: int
    reason: str | None


class CarrierProgress(msgspec.Struct, frozen=True):
    """The progress of the carrier with a request. If `state` is None, the carrier has not taken up the request."""

    mode: CarrierMode
    state: CarriedState | None
    reason: str
    next_date: datetime | None
    # Whether the carrier will provision the request, rather than a person.
    is_expected: bool
    steps: list[CarrierStepItem]
    # The steps that the carrier would send for an open request.
    preview: CarrierPreview | None

    @property
    def can_be_given(self) -> bool:
        """Return whether a person may give the request to the carrier."""
        is_free = self.state not in (CarriedState.WAITING, CarriedState.HELD)
        return self.mode is CarrierMode.ON and is_free and self.preview is not None and self.preview.reason is None


def _is_template(text: str) -> str:
    if problem := template_problem(text):
        raise broken(problem)
    return text


def _are_attributes(given: dict[str, str]) -> dict[str, str]:
    for name in given:
        if names_secret(name):
            raise broken(f"{name} looks like a secret; remove it, because a carrier does not write secrets")
    return given


_Template = Annotated[Text2048, AfterValidator(_is_template)]
_Attributes = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=256)], _Template],
    Field(max_length=MOST_ATTRIBUTES),
    AfterValidator(_are_attributes),
]


class CarrierDefinition(PeerBody):
    """The carrier of an application, with a reference to its secret. Which keys apply depends on the kind."""

    kind: Annotated[CarrierKind, one_of(CarrierKind)]
    mode: Maybe[Annotated[CarrierMode, one_of(CarrierMode)]] = CarrierMode.OFF
    account_name: Annotated[_Template, Field(min_length=1)] = DEFAULT_NAME
    attributes: _Attributes = Field(default_factory=dict)
    changed_attributes: Annotated[list[Name256], Field(max_length=MOST_ATTRIBUTES)] = Field(default_factory=list)
    on_remove: Maybe[Annotated[RemovalWay, one_of(RemovalWay)]] = RemovalWay.DISABLE
    accounts_path: Text2048 = ""
    account_attribute: Text256 = ""
    name_attribute: Text256 = ""
    object_classes: Annotated[list[Name256], Field(max_length=20)] = Field(default_factory=list)
    active_attribute: Text256 = ""
    active_value: Text256 = ""
    inactive_value: Text256 = ""
    groups_path: Text2048 = ""
    group_attribute: Text256 = ""
    member_attribute: Text256 = ""
    member_value: Maybe[Annotated[MemberValue, one_of(MemberValue)]] = MemberValue.DN
    steps_per_minute: Annotated[int, Field(ge=1, le=10_000)] = 60
    removals_per_hour: Annotated[int, Field(ge=0, le=100_000)] = 20


class CarrierBody(CarrierDefinition):
    """The carrier of an application.

    `secret` is stored encrypted and never shown. If it is sent, `secretRef` must be `sealed` or omitted.
    """

    secret: Secret | None = None

    def as_carrier(self, secret_ref: str) -> Carrier:
        """Return the carrier to store, without the secret."""
        given: dict[str, Any] = self.model_dump(exclude={"secret", "secret_ref"}, exclude_none=True)
        return Carrier(secret_ref=secret_ref, **given)


class CarriedRequestBody(Body):
    access_request_id: Guid


class ReleaseBody(Body):
    """The held requests to release; an empty list releases all."""

    access_request_ids: Annotated[list[Guid], Field(max_length=MOST_RELEASED)] = Field(default_factory=list)
