"""The nouns of access reviews, and the tables of moves of a review and of its items."""

from datetime import timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.settings.policy import Level

# Wakes the worker's loop for reviews.
CHANNEL = "reviews"
# A decision to accept flagged access ends after a year at the latest.
LONGEST_ACCEPTANCE = timedelta(days=366)
# A reviewer can keep access until a date at most so far ahead.
LONGEST_KEEP = timedelta(days=5 * 366)
# A close that would flag more of an application's accounts than this is held until a person confirms it.
MOST_FLAGGED = 0.2
# The share of carried-over items of each reviewer that must be decided by hand.
SAMPLE = 0.05
# An account is unused after this time without a sign-in.
UNUSED_AFTER = timedelta(days=90)
# Peers are compared if there are at least this many; access is rare or common at these shares.
FEWEST_PEERS, RARE, COMMON = 4, 0.25, 0.75
# Access that returns within this time after its removal reopens its item.
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


# Items in these states can be decided, and decided again until they are submitted.
LEFT_TO_DECIDE = (ReviewItemStatus.PENDING, ReviewItemStatus.APPROVED, ReviewItemStatus.FLAGGED)

ITEM_MOVES = {
    # A decision can be withdrawn until it is submitted, and the next stage decides again.
    ReviewItemStatus.PENDING: {ReviewItemStatus.APPROVED, ReviewItemStatus.FLAGGED, ReviewItemStatus.WITHDRAWN},
    ReviewItemStatus.APPROVED: {ReviewItemStatus.PENDING, ReviewItemStatus.FLAGGED, ReviewItemStatus.WITHDRAWN},
    ReviewItemStatus.FLAGGED: {
        ReviewItemStatus.PENDING,
        ReviewItemStatus.APPROVED,
        ReviewItemStatus.REMEDIATED,
        ReviewItemStatus.WITHDRAWN,
    },
    # Access that returns.
    ReviewItemStatus.REMEDIATED: {ReviewItemStatus.FLAGGED},
    # Access that was missing for a while, or whose application was archived.
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


# Who reviews if the review names no stages.
USUAL_REVIEWERS = {
    ReviewType.SUPERVISOR: StageReviewer.SUPERVISOR,
    ReviewType.CHANGED: StageReviewer.SUPERVISOR,
    ReviewType.ENTITLEMENT: StageReviewer.ENTITLEMENT_OWNER,
    ReviewType.MODEL: StageReviewer.MODEL_OWNER,
}


class ReviewStage(msgspec.Struct, frozen=True, rename="camel"):
    """Who reviews in a stage; `identityId` is the person if the reviewer is `Identity`."""

    reviewer: StageReviewer
    identity_id: UUID | None = None


def usual_stages(type: ReviewType) -> list[ReviewStage]:
    return [ReviewStage(USUAL_REVIEWERS.get(type, StageReviewer.APPLICATION_OWNER))]


class Explained(StrEnum):
    """What happens to access that a model explains."""

    EACH = "each"
    BY_MODEL = "by model"
    CARRY_OVER = "carry over"


class OnSilence(StrEnum):
    """What happens to items without a decision when the due date has passed."""

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


# The status that a decision gives an item. The other two pass it on to another reviewer.
DECIDED = {
    Decision.KEEP: ReviewItemStatus.APPROVED,
    Decision.KEEP_UNTIL: ReviewItemStatus.APPROVED,
    Decision.CHANGE: ReviewItemStatus.FLAGGED,
    Decision.REVOKE: ReviewItemStatus.FLAGGED,
}
KEPT = (Decision.KEEP, Decision.KEEP_UNTIL)


class ItemFact(StrEnum):
    """A named fact about an item, from which its recommendation follows."""

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
    """What happened to an item since the review was opened."""

    UNCHANGED = "Unchanged"
    CHANGED = "Changed"
    GONE = "Gone"


class Exclusion(StrEnum):
    """Why something that is held is not an item."""

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
    """What a review covers; an empty part does not narrow it."""

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
    ReviewEvent.ITEM_FLAGGED: "Access must be removed or changed, by a decision or for lack of one",
    ReviewEvent.ITEM_REMEDIATED: "Flagged access was removed or changed",
    ReviewEvent.SUBMITTED: "A reviewer submitted their decisions",
    ReviewEvent.COMPLETED: "Every flagged item of a review is remediated or accepted",
}
