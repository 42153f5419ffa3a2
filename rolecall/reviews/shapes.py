from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.effective_access.shapes import ImportReason, Why
from rolecall.reviews.model import (
    Decision,
    Drift,
    Explained,
    ItemFact,
    ItemSubject,
    OnSilence,
    ReviewItemStatus,
    ReviewScope,
    ReviewStage,
    ReviewStatus,
    ReviewType,
)
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import ActivityEntry, PersonReference


class NamedReference(msgspec.Struct, frozen=True):
    id: UUID
    name: str


class ReviewPeriod(msgspec.Struct, frozen=True, rename="camel"):
    """The period for which the review is evidence."""

    since: datetime | None = msgspec.field(name="from")
    until: datetime | None


class ReviewPopulation(msgspec.Struct, frozen=True, rename="camel"):
    """The access in an application after an import: `held` = `items` + the counts in `excluded`.

    `fileRows` counts the rows in the import's files. `application` is null for the models of a Model review.
    """

    application: NamedReference | None
    import_number: int | None
    file_rows: int | None
    accounts: int
    held: int
    items: int
    excluded: dict[str, int]


class ReviewItemCounts(msgspec.Struct, frozen=True, rename="camel"):
    pending: int = 0
    approved: int = 0
    flagged: int = 0
    remediated: int = 0
    withdrawn: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.approved + self.flagged + self.remediated + self.withdrawn


class ReviewerProgress(msgspec.Struct, frozen=True, rename="camel"):
    """The items of one reviewer.

    `toSubmit` counts the items that are not submitted yet, without withdrawn ones. `submittedOn` is the time of the
    last submission. It is null while items are left to submit.
    """

    reviewer: PersonReference
    items: ReviewItemCounts
    to_submit: int
    submitted_on: datetime | None


class ReviewProgress(msgspec.Struct, frozen=True, rename="camel"):
    items: ReviewItemCounts
    reviewers: list[ReviewerProgress]


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    kind: Literal["Review"]
    number: int
    name: str
    description: str
    type: ReviewType
    status: ReviewStatus
    due_on: datetime
    created_by: str
    created_date: datetime
    opened_on: datetime | None
    closed_on: datetime | None
    completed_on: datetime | None
    canceled_on: datetime | None
    held: str | None
    items: ReviewItemCounts


class ReviewListItem(_Review, frozen=True, rename="camel"):
    """A review in a list. `held` says why closing the review needs a confirmation; it is null if none is needed."""


class ReviewDetail(_Review, frozen=True, rename="camel"):
    """A review with its settings, population and progress.

    `digest` is the SHA-256 of the sorted items, computed when the review was opened.
    """

    owner: PersonReference | None
    scope: ReviewScope
    stages: list[ReviewStage]
    fallback: ReviewStage | None
    period: ReviewPeriod
    explained: Explained
    on_silence: OnSilence
    statement: str
    digest: str | None
    population: list[ReviewPopulation]
    progress: ReviewProgress


class PreviewCount(msgspec.Struct, frozen=True):
    name: str
    items: int


class StaleSource(msgspec.Struct, frozen=True, rename="camel"):
    """An application whose data is old, or that has no data (`importNumber` is null)."""

    application: NamedReference
    import_number: int | None
    build_end: datetime | None


class ReviewPreview(msgspec.Struct, frozen=True, rename="camel"):
    """What a review would contain if it were opened now.

    Only administrators can decide the items counted in `withoutReviewer`. `moved` counts, for up to 100 reasons, the
    items whose reviewer is not the person that the stage names.
    """

    items: int
    digest: str
    population: list[ReviewPopulation]
    reviewers: list[PreviewCount]
    reasons: list[PreviewCount]
    moved: list[PreviewCount]
    stale_sources: list[StaleSource]
    without_reviewer: int


class ReviewItemAccount(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    username: str
    is_active: bool
    last_login: str


class ReviewItemPerson(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    name: str
    title: str
    department: str
    status: str


class ReviewItemEntitlement(msgspec.Struct, frozen=True, rename="camel"):
    """The group or permission of an item. `kind` is Group or Permission."""

    id: UUID
    kind: str
    header: str
    section: str
    name: str
    display_name: str
    description: str
    risk_rating: Level
    is_privileged: bool


class Recommendation(msgspec.Struct, frozen=True):
    """The known facts about an item. `verdict` is the decision that they recommend, or null."""

    verdict: Decision | None
    facts: list[ItemFact]


class ItemPeers(msgspec.Struct, frozen=True):
    """How many peers there are (`total`), and how many of them hold the access (`holding`). Both include the person.

    Peers are active and have the same title and department or, if one of these is unknown, the same supervisor.
    """

    total: int
    holding: int


class PreviousDecision(msgspec.Struct, frozen=True, rename="camel"):
    """The last decision about the same access of the same person in an earlier review."""

    item_number: int
    review_name: str
    decision: Decision | None
    decided_on: datetime | None
    reviewer: PersonReference


class ItemDrift(msgspec.Struct, frozen=True, rename="camel"):
    """What has happened to the access since the review was opened; `import` is the import that changed or ended it."""

    state: Drift
    access: Access | None
    application_import: int | None = msgspec.field(name="import")


class Acceptance(msgspec.Struct, frozen=True, rename="camel"):
    reason: str
    until: datetime
    accepted_by: PersonReference
    accepted_on: datetime


class ReviewItemRequest(msgspec.Struct, frozen=True):
    id: UUID
    kind: Literal["Access Request"]
    number: int
    status: str


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    kind: Literal["Review Item"]
    number: int
    review_id: UUID
    status: ReviewItemStatus
    subject: ItemSubject
    application: NamedReference | None
    identity: ReviewItemPerson | None
    account: ReviewItemAccount | None
    group: NamedReference | None
    entitlement: ReviewItemEntitlement | None
    model: NamedReference | None
    access: Access
    since: ImportReason | None
    why: Why
    reasons: list[ItemFact]
    recommendation: Recommendation
    peers: ItemPeers | None
    drift: ItemDrift
    stage: int
    reviewer: PersonReference
    moved: str
    is_carried: bool
    is_sample: bool
    decision: Decision | None
    until: datetime | None
    new_access: Access | None
    comment: str
    decided_on: datetime | None
    is_submitted: bool
    related_items: list[ReviewItemRequest]
    remediated_on: datetime | None
    remediated_import: int | None
    reopened_on: datetime | None
    reopened_import: int | None
    accepted_until: datetime | None


class ReviewItem(_Item, frozen=True, rename="camel"):
    """Access, an account or a model to decide about.

    `moved` says why the reviewer is not the person that the stage names. `reasons` are facts about the item, such as
    `Unused`; `why` has the requests and models that explained the access when the review was opened; `drift` says how
    imports have changed the access since. `isSample` marks an item that would be carried over but must be decided by
    hand.
    """


class DecisionEntry(msgspec.Struct, frozen=True, rename="camel"):
    """An entry in the history of an item: a decision, or its withdrawal if `decision` is null.

    `isBulk` marks a bulk decision.
    """

    stage: int
    reviewer: PersonReference
    decision: Decision | None
    until: datetime | None
    new_access: Access | None
    comment: str
    decided_by: str
    decided_on: datetime
    is_bulk: bool


class ReviewItemDetail(_Item, frozen=True, rename="camel"):
    previous: PreviousDecision | None
    decisions: list[DecisionEntry]
    acceptance: Acceptance | None
    activity: list[ActivityEntry]


class NewAccess(msgspec.Struct, frozen=True, rename="camel"):
    """Access that appeared after the review was opened, in the applications that it covers."""

    application: NamedReference
    account: NamedReference
    identity: PersonReference | None
    entitlement: ReviewItemEntitlement
    access: Access
    since: ImportReason


class SubmissionDetail(msgspec.Struct, frozen=True, rename="camel"):
    """A signed statement: who decided, how many items by decision, and a SHA-256 of the decisions."""

    id: UUID
    kind: Literal["Review Submission"]
    review_id: UUID
    reviewer: PersonReference
    statement: str
    counts: dict[str, int]
    digest: str
    submitted_by: str
    submitted_on: datetime


class BulkOutcome(msgspec.Struct, frozen=True):
    """How many items had this outcome; `reason` is `Decided`, or why the items were left unchanged."""

    reason: str
    items: int


class BulkDecision(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a bulk decision, with counts by reason. `digest` is a SHA-256 of the ids of the decided items."""

    id: UUID | None
    decided: int
    digest: str
    outcomes: list[BulkOutcome]


class PopulationCheck(msgspec.Struct, frozen=True, rename="camel"):
    """The population collected again from the same imports, compared with the one at the opening of the review.

    `isSame` is true if the digests of the new population (`again`) and of the stored items (`itemsDigest`) both equal
    the digest at the opening (`digest`).
    """

    digest: str
    again: str
    items_digest: str
    is_same: bool
