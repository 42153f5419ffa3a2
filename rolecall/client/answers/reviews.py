"""Define the responses about access reviews."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Entry, Json, Person


class ReviewListItem(Answer):
    id: UUID
    kind: str
    number: int
    name: str
    description: str
    type: str
    status: str
    due_on: datetime
    created_by: str
    created_date: datetime
    opened_on: datetime | None
    closed_on: datetime | None
    completed_on: datetime | None
    canceled_on: datetime | None
    held: str | None
    items: Json


class Review(ReviewListItem):
    owner: Person | None
    scope: Json
    stages: list[Json]
    fallback: Json | None
    period: Json
    explained: str
    on_silence: str
    statement: str
    digest: str | None
    population: list[Json]
    progress: Json


class ReviewPreview(Answer):
    items: int
    digest: str
    population: list[Json]
    reviewers: list[Json]
    reasons: list[Json]
    moved: list[Json]
    stale_sources: list[Json]
    without_reviewer: int


class ReviewItem(Answer):
    id: UUID
    kind: str
    number: int
    review_id: UUID
    status: str
    subject: str
    application: Json | None
    identity: Json | None
    account: Json | None
    group: Json | None
    entitlement: Json | None
    model: Json | None
    access: str
    since: Json | None
    why: Json
    reasons: list[str]
    recommendation: Json
    peers: Json | None
    drift: Json
    stage: int
    reviewer: Person
    moved: str
    is_carried: bool
    is_sample: bool
    decision: str | None
    until: datetime | None
    new_access: str | None
    comment: str
    decided_on: datetime | None
    is_submitted: bool
    related_items: list[Json]
    remediated_on: datetime | None
    remediated_import: int | None
    reopened_on: datetime | None
    reopened_import: int | None
    accepted_until: datetime | None


class ReviewItemDetail(ReviewItem):
    previous: Json | None
    decisions: list[Json]
    acceptance: Json | None
    activity: list[Entry]


class NewAccess(Answer):
    application: Json
    account: Json
    identity: Person | None
    entitlement: Json
    access: str
    since: Json


class BulkDecision(Answer):
    id: UUID | None
    decided: int
    digest: str
    outcomes: list[Json]


class ReviewSubmission(Answer):
    id: UUID
    kind: str
    review_id: UUID
    reviewer: Person
    statement: str
    counts: Json
    digest: str
    submitted_by: str
    submitted_on: datetime


class PopulationCheck(Answer):
    digest: str
    again: str
    items_digest: str
    is_same: bool


class ReviewCoverage(Answer):
    application: Json
    review_every_months: int | None
    last_review: Json | None
    open_review: Json | None
    due_on: datetime | None
    is_overdue: bool


class ReviewTemplate(Answer):
    id: UUID
    kind: str
    name: str
    every_months: int
    days_to_review: int
    next_on: datetime
    opens: bool
    review: Json
    last_review_id: UUID | None
    fault: str
