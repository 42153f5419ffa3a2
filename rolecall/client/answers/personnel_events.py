"""Responses about personnel events."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.access_requests import AccessRequestItem
from rolecall.client.answers.common import Answer, Comment, Entry, Identity, Json, Person


class Stage(Answer):
    name: str
    status: str
    started_on: datetime | None
    scheduled_start: datetime | None
    completed_on: datetime | None
    completed_by: Person | None
    access_requests: list[AccessRequestItem]


class EventItem(Answer):
    id: UUID
    kind: str
    number: int
    type: str
    status: str
    reporter: Person
    assignee: Person | None
    affected_identity: Identity
    needed_on: datetime
    needed_until: datetime | None
    completed_on: datetime | None


class Event(EventItem):
    stages: list[Stage]
    activity: list[Entry]
    comments: list[Comment]


class PlannedStage(Answer):
    name: str
    status: str
    scheduled_start: datetime | None


class RequestConflict(Answer):
    rule_id: UUID
    rule: str
    risk: str
    response: str
    duties: list[str]


class RequestConflicts(Answer):
    conflicts: list[RequestConflict]


class PlannedRequest(Answer):
    action: str
    target: Json
    scheduled_start: datetime | None
    conflicts: list[RequestConflict]


class EventPreview(Answer):
    stages: list[PlannedStage]
    access_requests: list[PlannedRequest]
