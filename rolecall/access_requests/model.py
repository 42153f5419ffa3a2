"""Define the enumerations and structs of access requests, and the moves that change their status.

`MOVES` is the only definition of which status leads to which; `moving.py` makes the moves, `permitted.py` says who may
make them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.access_models.model import RANK
from rolecall.accounts.model import Access, Pair
from rolecall.settings.policy import EventType, Level, RequestAction, RequirementType
from rolecall.work_items.model import WorkStatus


class TargetType(StrEnum):
    USER = "User"
    GROUP = "Group"


class Response(StrEnum):
    PENDING = "Pending"
    APPROVED = "Approved"
    REJECTED = "Rejected"


class RequestEvent(StrEnum):
    CREATED = "AccessRequestCreated"
    ASSIGNED = "AccessRequestAssigned"
    APPROVED = "AccessRequestApproved"
    PROVISIONING = "AccessRequestProvisioning"
    RESOLVED = "AccessRequestResolved"
    REOPENED = "AccessRequestReopened"
    COMPLETED = "AccessRequestCompleted"
    CANCELED = "AccessRequestCanceled"


# `event.description` of the webhook payload. `event.display` is the name with spaces (webhooks/payload.py).
CONDITIONS = {
    RequestEvent.CREATED: "An access request is created",
    RequestEvent.ASSIGNED: "An access request is assigned to a person",
    RequestEvent.APPROVED: "Approved by all required reviewers",
    RequestEvent.PROVISIONING: "A request to automate a provision step is made",
    RequestEvent.RESOLVED: "Resolved by a provision engineer",
    RequestEvent.REOPENED: "Reopened for provisioning",
    RequestEvent.COMPLETED: "Successfully completed",
    RequestEvent.CANCELED: "Canceled",
}

DESCRIPTIONS = {
    RequirementType.APPROVE: "Must be approved before the access is provisioned",
    RequirementType.RESOLVE: "Must be provisioned in the application",
    RequirementType.VERIFY: "Must be verified after it is provisioned",
}


class Move(msgspec.Struct, frozen=True):
    """A change of status with its activity entry and events. Without `to`, the status stays the same."""

    name: str
    text: str
    allowed: frozenset[WorkStatus]
    to: WorkStatus | None
    sets: tuple[str, ...] = ()
    clears: tuple[str, ...] = ()
    events: tuple[RequestEvent, ...] = ()


_PENDING, _SCHEDULED = frozenset({WorkStatus.PENDING}), frozenset({WorkStatus.SCHEDULED})
_OPEN, _SNOOZED = frozenset({WorkStatus.OPEN}), frozenset({WorkStatus.SNOOZED})
_RESOLVED = frozenset({WorkStatus.RESOLVED})
# Statuses in which a request can still be stopped before it is provisioned, as in `is_to_recheck` of
# schema/access_requests.sql.
TO_RECHECK = _PENDING | _SCHEDULED | _OPEN | _SNOOZED
_NOT_DONE = frozenset(WorkStatus) - {WorkStatus.COMPLETED, WorkStatus.CANCELED}

APPROVE = Move(
    "Approved",
    "No approval is required",
    _PENDING,
    WorkStatus.SCHEDULED,
    sets=("approved_on",),
    events=(RequestEvent.APPROVED,),
)
REJECT = Move(
    "Rejected",
    "A reviewer rejected the request",
    _PENDING,
    WorkStatus.CANCELED,
    sets=("canceled_on",),
    events=(RequestEvent.CANCELED,),
)
START = Move(
    "Provisioning",
    "Provisioning may start",
    _SCHEDULED,
    WorkStatus.OPEN,
    sets=("started_on",),
    clears=("postponed_until",),
    events=(RequestEvent.PROVISIONING,),
)
RESOLVE = Move(
    "Resolved",
    "The access was provisioned",
    _OPEN,
    WorkStatus.RESOLVED,
    sets=("resolved_on",),
    events=(RequestEvent.RESOLVED,),
)
# Resolve and complete a request that needs no verification.
FINISH = Move(
    "Resolved",
    "The access was provisioned; no verification is required",
    _OPEN,
    WorkStatus.COMPLETED,
    sets=("resolved_on", "completed_on"),
    events=(RequestEvent.RESOLVED, RequestEvent.COMPLETED),
)
VERIFY = Move(
    "Verified",
    "The access was verified",
    _RESOLVED,
    WorkStatus.COMPLETED,
    sets=("verified_on", "completed_on"),
    events=(RequestEvent.COMPLETED,),
)
REOPEN = Move(
    "Reopened",
    "The access must be provisioned again",
    _RESOLVED,
    WorkStatus.OPEN,
    clears=("resolved_on",),
    events=(RequestEvent.REOPENED,),
)
SNOOZE = Move("Snoozed", "Provisioning is postponed", _OPEN, WorkStatus.SNOOZED)
RESUME = Move(
    "Resumed", "Provisioning continues", _SNOOZED, WorkStatus.OPEN, clears=("snoozed_until", "postponed_until")
)
# Wait until another request has removed access or restored a control duty.
POSTPONE = Move("Postponed", "Provisioning waits for another request", _SCHEDULED | _SNOOZED, None)
# Ask the owner of a duty rule to approve, even if the request was approved before.
ASK_AGAIN = Move(
    "Conflict Found",
    "The owner of a rule must approve the request",
    TO_RECHECK,
    WorkStatus.PENDING,
    clears=("approved_on", "started_on", "snoozed_until", "postponed_until"),
)
CANCEL = Move(
    "Canceled",
    "The request was canceled",
    _NOT_DONE,
    WorkStatus.CANCELED,
    sets=("canceled_on",),
    events=(RequestEvent.CANCELED,),
)
ASSIGN = Move("Assigned", "The request was assigned", _NOT_DONE, None, events=(RequestEvent.ASSIGNED,))

MOVES = (APPROVE, REJECT, START, RESOLVE, FINISH, VERIFY, REOPEN, SNOOZE, RESUME, POSTPONE, ASK_AGAIN, CANCEL, ASSIGN)

# The status in which a request waits for responses of each type.
AWAITED = {
    RequirementType.APPROVE: WorkStatus.PENDING,
    RequirementType.RESOLVE: WorkStatus.OPEN,
    RequirementType.VERIFY: WorkStatus.RESOLVED,
}
# The verb for each response in an activity entry.
RESPONSE_VERBS = {
    (RequirementType.APPROVE, Response.APPROVED): "approved",
    (RequirementType.APPROVE, Response.REJECTED): "rejected",
    (RequirementType.RESOLVE, Response.APPROVED): "resolved",
    (RequirementType.VERIFY, Response.APPROVED): "verified",
    (RequirementType.VERIFY, Response.REJECTED): "did not verify",
}


_TAKEN_AWAY = frozenset({Access.NONE, Access.DENY})


def gives_access(action: str, accesses: Iterable[str]) -> bool:
    match RequestAction(action):
        case RequestAction.ADD | RequestAction.RESTORE:
            return True
        case RequestAction.CHANGE:
            return not _TAKEN_AWAY.issuperset(accesses)
        case RequestAction.REMOVE | RequestAction.SUSPEND:
            return False


def raises(held: str, asked: str) -> bool:
    """Return whether more access is requested than is held.

    Removing a Deny also raises access, because access through groups then applies again.
    """
    return RANK[asked] > RANK[held] or (held == Access.DENY and asked == Access.NONE)


class NewPrivilege(msgspec.Struct, frozen=True, kw_only=True):
    """A privilege of a new request. Imported data fills in omitted fields, except section and requested access.

    `risk_rating` is used only for a privilege that is not in the catalogue; without it, such a privilege is rated
    Critical.
    `is_through_groups` means that the initial access comes only through groups: any other access is given in addition.
    """

    header: str
    permission: str
    section: str = ""
    requested_access: Access = Access.GRANT
    initial_access: Access | None = None
    description: str = ""
    risk_rating: Level | None = None
    metadata: Sequence[Pair] = ()
    value: str = ""
    sources: Sequence[str] = ()
    origins: Sequence[str] = ()
    is_through_groups: bool = False

    @property
    def adds_to_groups(self) -> bool:
        """Return whether access is requested that the target has only through groups, and would keep without them."""
        return self.is_through_groups and RANK[self.requested_access] > 0

    def raises_access(self) -> bool:
        return self.adds_to_groups or raises(self.initial_access or Access.NONE, self.requested_access)


class RelatedItem(msgspec.Struct, frozen=True, kw_only=True):
    """The event or review item that a new request belongs to. The approval policy may depend on `event_type`."""

    id: UUID
    kind: str
    number: int
    status: str
    stage: str | None = None
    event_type: str | None = None


class PriorApproval(msgspec.Struct, frozen=True):
    """An approval that was given before the request was made, for example in a review."""

    reason: str
    reviewer_id: UUID
    reviewer_name: str


class NewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to create. Without an identity it is about the group `target_name`.

    For an identity, `target_name` defaults to the username of its account, its e-mail or its name. `models_in_effect`
    are the models that will match the identity when the request is fulfilled, by default those that match it now.
    `target_risk` is the risk of the group, for a request about a whole group. `returning_risk` is the risk of what the
    request brings back without naming it, because it enables the account or group. `is_unmatched` means that the
    account is not known to belong to the identity. `approvals` were given before the request, and replace those that
    the approval policy requires. `also_related` are related items besides `related`. `is_whole` means that a Remove or
    Suspend is about the account or group itself, not only about the listed privileges; `enrich` sets it. `is_doubted`
    means that the end of a leave must be approved like a Restore by hand.
    """

    action: RequestAction
    application_id: UUID
    identity_id: UUID | None = None
    target_name: str | None = None
    nomenclature: str = ""
    privileges: Sequence[NewPrivilege] = ()
    metadata: Sequence[tuple[str, str]] = ()
    scheduled_start: datetime | None = None
    related: RelatedItem | None = None
    models_in_effect: frozenset[UUID] | None = None
    comment: str | None = None
    target_risk: Level = Level.NONE
    returning_risk: Level = Level.NONE
    is_unmatched: bool = False
    approvals: Sequence[PriorApproval] = ()
    also_related: Sequence[RelatedItem] = ()
    is_whole: bool = False
    is_doubted: bool = False

    def raises_access(self) -> bool:
        """Return whether the request must be approved like an Add, because it asks for more access than the target has.

        The end of a leave needs no new approval, because it only gives back what the leave took away, unless it is
        doubted that the person had that access.
        """
        match self.action:
            case RequestAction.ADD:
                return True
            case RequestAction.RESTORE:
                is_of_leave = self.related is not None and self.related.event_type == EventType.ABSENCE
                return self.is_doubted or not is_of_leave
            case RequestAction.CHANGE:
                return any(each.raises_access() for each in self.privileges)
            case RequestAction.REMOVE | RequestAction.SUSPEND:
                return False

    def risk(self) -> Level:
        """Return the highest risk rating of the privileges, or `returning_risk` if that is higher.

        If the request has no privileges, `target_risk` takes the place of their ratings.
        """
        ratings = [privilege.risk_rating or Level.NONE for privilege in self.privileges] or [self.target_risk]
        return max(*ratings, self.returning_risk, key=list(Level).index)
