"""What a delivery's body holds, for the document; the bytes themselves are written in `migrations/0007`."""

import re
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from rolecall.access_requests.model import CONDITIONS, RequestEvent
from rolecall.access_requests.shapes import AccessRequestDetail, DetailTarget
from rolecall.identities.shapes import IdentityDetail
from rolecall.web.openapi import Event


class DeliveredIdentity(IdentityDetail):
    """An identity with the webhook payload's own values for `type`."""

    type: Literal["Employee", "ServiceAccount", "Bot", "VendorAccount"]  # type: ignore[assignment]


class DeliveredTarget(DetailTarget):
    affected_identity: DeliveredIdentity | None


class DeliveredRequest(AccessRequestDetail):
    target: DeliveredTarget


class DeliveredEvent(msgspec.Struct):
    name: RequestEvent
    display: str
    description: str
    request: DeliveredRequest


class Payload(msgspec.Struct, rename="camel"):
    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredEvent


EVENTS = [
    Event(event, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", event), condition) for event, condition in CONDITIONS.items()
]
