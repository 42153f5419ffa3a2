"""The approval policy: rules that say who must respond to which requests, and the default rules."""

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

import msgspec


class RequirementType(StrEnum):
    APPROVE = "Approve"
    RESOLVE = "Resolve"
    VERIFY = "Verify"


class Responder(StrEnum):
    SUPERVISOR = "Supervisor"
    OWNER = "Application Owner"
    PROVISIONER = "Application Provisioner"
    IDENTITY = "Identity"


class RequestAction(StrEnum):
    ADD = "Add"
    CHANGE = "Change"
    REMOVE = "Remove"
    SUSPEND = "Suspend"
    RESTORE = "Restore"


class EventType(StrEnum):
    ONBOARD = "Onboard"
    OFFBOARD = "Offboard"
    ROLE_TRANSITION = "Role Transition"
    ABSENCE = "Absence"


class Level(StrEnum):
    """The priority of an application or the risk of access, from lowest to highest."""

    NONE = "None"
    LOW = "Low"
    MODERATE = "Moderate"
    HIGH = "High"
    CRITICAL = "Critical"


class ApprovalRule(msgspec.Struct, frozen=True, rename="camel"):
    """A rule that applies if all its conditions hold; an empty condition always holds."""

    type: RequirementType
    reason: str
    responder: Responder
    identity_id: UUID | None = None
    actions: Sequence[RequestAction] = ()
    event_types: Sequence[EventType] = ()
    priorities: Sequence[Level] = ()
    risks: Sequence[Level] = ()

    def applies(self, *, action: str, raises: bool, event_type: str | None, priority: str, risk: str) -> bool:
        """Return whether the rule applies.

        If a request `raises` access, the Approve rules for Add apply too.
        """
        as_add = raises and self.type is RequirementType.APPROVE and RequestAction.ADD in self.actions
        conditions: list[tuple[Sequence[str], str | None]] = [
            (() if as_add else self.actions, action),
            (self.event_types, event_type),
            (self.priorities, priority),
            (self.risks, risk),
        ]
        return all(not wanted or value in wanted for wanted, value in conditions)


_GROWING = (RequestAction.ADD, RequestAction.CHANGE)
_HIGH = (Level.HIGH, Level.CRITICAL)

DEFAULT_POLICY = (
    ApprovalRule(
        RequirementType.APPROVE,
        "The supervisor approves added and changed access",
        Responder.SUPERVISOR,
        actions=_GROWING,
    ),
    ApprovalRule(
        RequirementType.APPROVE,
        "The application owner approves added and changed access of high risk",
        Responder.OWNER,
        actions=_GROWING,
        risks=_HIGH,
    ),
    ApprovalRule(RequirementType.RESOLVE, "The provisioner makes the change", Responder.PROVISIONER),
    ApprovalRule(
        RequirementType.VERIFY,
        "The application owner verifies changes in an application of high priority",
        Responder.OWNER,
        priorities=_HIGH,
    ),
)
