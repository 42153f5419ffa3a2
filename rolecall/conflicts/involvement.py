"""Keep the parts of an exception apart: the person in conflict, asking for it, and each approval."""

from uuid import UUID

from rolecall.conflicts.shapes import ConflictDetail, ConflictException
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict
from rolecall.tokens.queries import own_id


async def require_uninvolved(
    db: Db, caller: Caller, conflict: ConflictDetail, asked: ConflictException, approvers: set[UUID]
) -> None:
    """Refuse approvers, or the person or token that records the approval, with another part in the exception.

    `approvers` are the person who approves and the one who stands in for them. A token acts for its owner.
    """
    ((requester, recorders),) = await fetch_rows(
        db,
        """SELECT e.requester_id, ARRAY(SELECT recorder_id FROM exception_approvals p WHERE p.exception_id = e.id)
           FROM conflict_exceptions e WHERE e.id = %(id)s""",
        id=asked.id,
    )
    acting = approvers | {await own_id(db, caller)}
    approved = {id for each in asked.approvals for id in (each.approver.id, each.stand_in and each.stand_in.id)}
    if conflict.identity.id in acting:
        raise Conflict("You cannot approve your own exception; another person must decide")
    if approvers & approved:
        raise Conflict("This person has approved already; the other approval must come from another person")
    if requester in acting:
        raise Conflict("Those who ask for an exception, or their tokens, cannot approve it; another person must decide")
    if not acting.isdisjoint({*recorders, *approved}):
        raise Conflict("The other approval was recorded by the same person or token; another one must record this")
