"""Take back, with a new request, the access that a carrier gave for a request that was canceled afterwards.

A cancellation itself removes no access, and imports are not compared with canceled requests, so without the new request
nobody would notice that the access remains.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.access_requests import queries as access_requests
from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest, PriorApproval
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.accounts.model import Access
from rolecall.carriers import queries, recording
from rolecall.carriers.model import ALREADY_MEMBER, CARRIER, CarriedState, SentStep, StepVerb
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db
from rolecall.settings.policy import RequestAction
from rolecall.work_items.actions import record_activity

UNDONE = "Canceled After Steps"


async def undo(db: Db, request_id: UUID, now: datetime) -> None:
    """Delete the unsent steps of a canceled request. If sent steps gave access, record this and request its removal."""
    await recording.lock_canceled(db, request_id)
    await recording.drop_planned(db, request_id)
    reason = "the request was canceled"
    if steps := await queries.giving_steps(db, request_id):
        (request,) = await access_requests.details(db, [request_id])
        sent = "; ".join(f"{each.step.described()}: {each.answer}" for each in steps)
        reason = f"{reason}; {await _request_opposite(db, request, steps, now)}"
        said = f"The carrier had already sent steps that give access ({sent}); {reason}"
        await record_activity(db, request_id, author=CARRIER.name, action=UNDONE, content=said, now=now)
    await recording.set_state(db, request_id, CarriedState.LEFT, reason, now)


async def _request_opposite(db: Db, request: AccessRequestDetail, steps: Sequence[SentStep], now: datetime) -> str:
    new = await _opposite(db, request, steps)
    if new is None:
        return "the access stays: the account had it before or is another person's, or another request gives it"
    made = await access_requests.details(db, await create_requests(db, SYSTEM, [new], now))
    return f"access request #{made[0].number} takes the access back"


async def _opposite(db: Db, request: AccessRequestDetail, steps: Sequence[SentStep]) -> NewRequest | None:
    """Return the request that takes back what these steps gave, or None if there is nothing to take back.

    Remove an account that was created, or suspend one that was enabled. If other requests need the account, or it
    belongs to another person, take back only memberships.
    """
    account, verbs = steps[0].step.account, {each.step.verb for each in steps}
    identity = request.target.affected_identity
    owner = await queries.owner_of(db, request.target.application.id, account) or (identity and identity.id)
    others = await queries.given_by_others(db, request.id, account)
    target: dict[str, Any] = {
        "application_id": request.target.application.id,
        "identity_id": owner,
        "target_name": account,
        "comment": f"The carrier gave this access for access request #{request.number}, which was canceled",
        "approvals": [PriorApproval(f"Access request #{request.number} was canceled", SYSTEM.id, SYSTEM.name)],
    }
    if not others and identity and owner == identity.id:
        if StepVerb.CREATE in verbs:
            return NewRequest(action=RequestAction.REMOVE, **target)
        if StepVerb.ENABLE in verbs:
            return NewRequest(action=RequestAction.SUSPEND, **target)
    groups = {each.step.group for each in steps if each.step.group and each.answer != ALREADY_MEMBER} - others
    # Request a Change, because a Remove would also disable an account that has no other access.
    privileges = _taken(request, groups)
    return NewRequest(action=RequestAction.CHANGE, privileges=privileges, **target) if privileges else None


def _taken(request: AccessRequestDetail, groups: set[str]) -> list[NewPrivilege]:
    """Return privileges with the requested access None, for the memberships in `groups` that `request` added."""
    return [
        NewPrivilege(
            header=each.permission.header,
            permission=each.permission.permission,
            initial_access=each.approved_access,
            requested_access=Access.NONE,
        )
        for each in request.target.privileges
        if each.permission.permission in groups and each.initial_access == Access.NONE
    ]
