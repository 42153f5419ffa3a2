"""Define the responses about carriers."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer


class CarriedRequest(Answer):
    """An open request that the carrier works on, holds, or leaves to a person; `reason` says why."""

    access_request_id: UUID
    number: int
    action: str
    target: str
    reason: str
    changed_date: datetime
    next_date: datetime


class CarrierStep(Answer):
    access_request_id: UUID
    number: int
    step: str
    state: str
    answer: str
    sent_date: datetime


class CarrierBrake(Answer):
    removals_in_last_hour: int
    limit: int
    held: list[CarriedRequest]


class Carrier(Answer):
    """An application's carrier, its last steps, and the requests that are waiting, held or left to people."""

    kind: str
    url: str
    mode: str
    username: str
    secret_ref: str
    authentication: str
    header: str
    headers: dict[str, str]
    start_tls: bool
    timeout_seconds: int
    account_name: str
    attributes: dict[str, str]
    changed_attributes: list[str]
    on_remove: str
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
    member_value: str
    steps_per_minute: int
    removals_per_hour: int
    changed_date: datetime
    mode_date: datetime
    secret_date: datetime | None
    brake: CarrierBrake
    waiting: list[CarriedRequest]
    left: list[CarriedRequest]
    last_steps: list[CarrierStep]


class CarrierPreview(Answer):
    access_request_id: UUID
    steps: list[str]
    removals: int
    reason: str | None
