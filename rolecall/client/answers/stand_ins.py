"""Responses about stand ins."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Person


class StandIn(Answer):
    id: UUID
    kind: str
    identity: Person
    stand_in: Person
    type: str | None
    starts_on: datetime
    ends_on: datetime
    status: str
    comment: str
    created_date: datetime
    created_by: str
