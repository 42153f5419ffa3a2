"""Enumerations and limits of access reviews, and the status changes that a review and its items allow."""

from datetime import timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.settings.policy import Level

# The NOTIFY channel that wakes the worker's loop for reviews.
CHANNEL = "reviews"
# An acceptance of flagged access ends after a year at the latest.
LONGEST_ACCEPTANCE = timedelta(days=366)
# The longest time for which a reviewer can keep access with Keep Until.
LONGEST_KEEP = timedelta(days=5 * 366)
# If closing an overdue review would flag more than this share of an application's accounts, the review stays open until
# a person confirms.
MOST_FLAGGED = 0.2
# The share of each reviewer's carried-over items that must be decided by hand. It is at least one item.
SAMPLE = 0.05
# An account counts as unused if its last sign-in is longer ago than this, but not if no sign-in is recorded.
UNUSED_AFTER = timedelta(days=90)
# Peers are compared if there are at least four. Access is rare if at most a quarter of them hold it, and common if at
# least three quarters do.
FEWEST_PEERS, RARE, COMMON = 4, 0.25, 0.75
# Imports are watched for the return of access this long after its removal or, if nobody decided about it, after the end
# of its review.
WATCHED_AFTER = timedelta(days=366)


class ReviewType(StrEnum):
    APPLICATION = "Application"
    SUPERVISOR = "Supervisor"
    ENTITLEMENT = "Entitlement"
    GROUP_CONTENTS = "Group Contents"
    PRIVILEGED = "Privileged"
    UNEXPLAINED = "Unexplained"
    CHANGED = "Changed"
    UNMATCHED = "Unmatched"
    LEAVERS = "Leavers"
    MODEL = "Model"


class ReviewStatus(StrEnum):
    DRAFT = "Draft"
    OPEN = "Open"
    CLOSED = "Closed"
    COMPLETED = "Completed"
    CANCELED = "Canceled"


MOVES = {
    ReviewStatus.DRAFT: {ReviewStatus.OPEN, ReviewStatus.CANCELED},
    ReviewStatus.OPEN: {ReviewStatus.CLOSED, ReviewStatus.CANCELED},
    ReviewStatus.CLOSED: {ReviewStatus.COMPLETED, ReviewStatus.CANCELED},
    ReviewStatus.COMPLETED: set[ReviewStatus](),
    ReviewStatus.CANCELED: set[ReviewStatus](),
}


class ReviewItemStatus(StrEnum):
    PENDING = "Pending"
    APPROVED = "Approved"
    FLAGGED = "Flagged"
    REMEDIATED = "Remediated"
    WITHDRAWN = "Withdrawn"


# Items with these statuses can be decided, and decided again until they are submitted.
LEFT_TO_DECIDE = (ReviewItemStatus.PENDING, ReviewItemStatus.APPROVED, ReviewItemStatus.FLAGGED)

ITEM_MOVES = {
    ReviewItemStatus.PENDING: {ReviewItemStatus.APPROVED, ReviewItemStatus.FLAGGED, ReviewItemStatus.WITHDRAWN},
    # A decided item becomes Pending again if its decision is undone or the item is given to another reviewer.
    ReviewItemStatus.APPROVED: {ReviewItemStatus.PENDING, ReviewItemStatus.FLAGGED, ReviewItemStatus.WITHDRAWN},
    ReviewItemStatus.FLAGGED: {
        ReviewItemStatus.PENDING,
        ReviewItemStatus.APPROVED,
        ReviewItemStatus.REMEDIATED,
        ReviewItemStatus.WITHDRAWN,
    },
    # An item is flagged again if the access returned, or if its model gives the access again.
    ReviewItemStatus.REMEDIATED: {ReviewItemStatus.FLAGGED},
    # An item becomes Pending again if the access returned, or if the application is no longer archived.
    ReviewItemStatus.WITHDRAWN: {ReviewItemStatus.PENDING},
}


class ItemSubject(StrEnum):
    """What an item is about: an entitlement of an account, a whole account, an entitlement of a group, or a model."""

    ACCESS = "Access"
    ACCOUNT = "Account"
    GROUP = "Group"
    MODEL = "Model"


SUBJECTS = {
    ReviewType.GROUP_CONTENTS: ItemSubject.GROUP,
    ReviewType.UNMATCHED: ItemSubject.ACCOUNT,
    ReviewType.LEAVERS: ItemSubject.ACCOUNT,
    ReviewType.MODEL: ItemSubject.MODEL,
}


def subject_of(type: ReviewType) -> ItemSubject:
    return SUBJECTS.get(type, ItemSubject.ACCESS)


class StageReviewer(StrEnum):
    SUPERVISOR = "Supervisor"
    APPLICATION_OWNER = "Application Owner"
    ENTITLEMENT_OWNER = "Entitlement Owner"
    MODEL_OWNER = "Model Owner"
    IDENTITY = "Identity"


# The reviewers of a review without stages; for types that are not listed, the application's owner.
USUAL_REVIEWERS = {
    ReviewType.SUPERVISOR: StageReviewer.SUPERVISOR,
    ReviewType.CHANGED: StageReviewer.SUPERVISOR,
    ReviewType.ENTITLEMENT: StageReviewer.ENTITLEMENT_OWNER,
    ReviewType.MODEL: StageReviewer.MODEL_OWNER,
}


class ReviewStage(msgspec.Struct, frozen=True, rename="camel"):
    """The reviewer of a stage; `identityId` is the person if the reviewer is `Identity`."""

    reviewer: StageReviewer
    identity_id: UUID | None = None


def usual_stages(type: ReviewType) -> list[ReviewStage]:
    return [ReviewStage(USUAL_REVIEWERS.get(type, StageReviewer.APPLICATION_OWNER))]


class Explained(StrEnum):
    """How access that a model explains is decided: one by one, with its model, or carried over if kept before."""

    EACH = "each"
    BY_MODEL = "by model"
    CARRY_OVER = "carry over"


class OnSilence(StrEnum):
    """What happens to items without a decision when the due date passes."""

    ESCALATE = "escalate"
    FLAG = "flag"
    APPROVE = "approve"


class Decision(StrEnum):
    KEEP = "Keep"
    KEEP_UNTIL = "Keep Until"
    CHANGE = "Change"
    REVOKE = "Revoke"
    NOT_MINE = "Not Mine"
    UNSURE = "Unsure"


# The status of an item after a decision. Decisions that are not listed pass the item on to another reviewer.
DECIDED = {
    Decision.KEEP: ReviewItemStatus.APPROVED,
    Decision.KEEP_UNTIL: ReviewItemStatus.APPROVED,
    Decision.CHANGE: ReviewItemStatus.FLAGGED,
    Decision.REVOKE: ReviewItemStatus.FLAGGED,
}
KEPT = (Decision.KEEP, Decision.KEEP_UNTIL)


class ItemFact(StrEnum):
    """A fact about an item. Some facts decide its recommendation; the others only inform the reviewer."""

    MODEL = "Explained by Model"
    REQUEST = "Explained by Request"
    NO_RECORD = "No Record"
    CONFLICT = "Conflict"
    UNUSED = "Unused"
    NEW = "New Since Last Review"
    RARE = "Rare Among Peers"
    COMMON = "Common Among Peers"
    KEPT_BEFORE = "Kept Before"
    REVOKED_BEFORE = "Revoked Before"
    LEAVER = "Person Left"
    UNMATCHED = "Unmatched Account"
    PRIVILEGED = "Privileged"


class Drift(StrEnum):
    """How imports have changed the access of an item since the review was opened."""

    UNCHANGED = "Unchanged"
    CHANGED = "Changed"
    GONE = "Gone"


class Exclusion(StrEnum):
    """Why access, an account or a model is not an item of the review."""

    INACTIVE = "Disabled account"
    DEPARTMENT = "Other department"
    PERSON = "Other person"
    ACCOUNT = "Other account"
    TYPE = "Other kind of account"
    RISK = "Risk too low"
    ENTITLEMENT = "Access not in scope"
    PRIVILEGED = "Not privileged"
    EXPLAINED = "Explained by a model or a request"
    UNCHANGED = "Unchanged since the last review"
    MATCHED = "Account of a person"
    ACTIVE_PERSON = "Account of an active person"
    MODEL = "Model not in scope"
    UNMATCHED = "Account without a person"


class ReviewScope(msgspec.Struct, frozen=True, rename="camel"):
    """What a review covers; an empty field does not narrow it."""

    application_ids: list[UUID] = []
    min_risk: Level | None = None
    departments: list[str] = []
    identity_types: list[str] = []
    entitlement_ids: list[UUID] = []
    entitlement_owner_ids: list[UUID] = []
    model_ids: list[UUID] = []
    identity_ids: list[UUID] = []
    account_ids: list[UUID] = []


class ReviewEvent(StrEnum):
    OPENED = "ReviewOpened"
    ITEM_FLAGGED = "ReviewItemFlagged"
    ITEM_REMEDIATED = "ReviewItemRemediated"
    SUBMITTED = "ReviewSubmitted"
    COMPLETED = "ReviewCompleted"


# `event.description` of the webhook payload.
REVIEW_CONDITIONS = {
    ReviewEvent.OPENED: "A review is opened",
    ReviewEvent.ITEM_FLAGGED: "Access must be removed or changed, because a reviewer decided so or nobody decided",
    ReviewEvent.ITEM_REMEDIATED: "Flagged access was removed or changed",
    ReviewEvent.SUBMITTED: "A reviewer submitted their decisions",
    ReviewEvent.COMPLETED: "Every flagged item of a review is remediated or accepted",
}
