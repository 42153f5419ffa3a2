"""Decide who may act on a personnel event. Actions and console both use these functions.

The scope of the caller is checked before; these rules concern the person whom an event is about, and the last
administrator of the console.
"""

from enum import StrEnum
from uuid import UUID

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.core.errors import Conflict
from rolecall.identities import administrators
from rolecall.identities.shapes import IdentityChanges
from rolecall.personnel_events import queries

OWN_LEAVE = "This is your own leave, so another person must set the return date"
OWN_SUPERVISION = "You cannot make yourself a supervisor or change your own supervisor; ask an administrator"
REPORTED_BY_OTHERS = "Another person reported this event about you, so you cannot cancel it"


class EventVerb(StrEnum):
    ASSIGN = "assign"
    RETURN_DATE = "return-date"
    CANCEL = "cancel"
    COMMENT = "comment"


def refusal(verb: EventVerb, caller_id: UUID, *, identity_id: UUID, reporter_id: UUID) -> str | None:
    """Return why a caller may not apply a verb to the event of this identity, or None."""
    if caller_id != identity_id:
        return None
    match verb:
        case EventVerb.RETURN_DATE:
            return OWN_LEAVE
        case EventVerb.CANCEL:
            return REPORTED_BY_OTHERS if reporter_id != caller_id else None
        case EventVerb.ASSIGN | EventVerb.COMMENT:
            return None


def require(verb: EventVerb, caller: Caller, *, identity_id: UUID, reporter_id: UUID) -> None:
    if reason := refusal(verb, caller.id, identity_id=identity_id, reporter_id=reporter_id):
        raise Conflict(reason)


def require_no_own_supervision(caller: Caller, identity_id: UUID, changes: IdentityChanges | None) -> None:
    """Refuse callers who make themselves a supervisor or change their own, because supervisors approve access."""
    if changes is None or "supervisor_id" not in changes.model_fields_set or Scope.IDENTITIES_WRITE in caller.scopes:
        return
    if caller.id in (identity_id, changes.supervisor_id):
        raise Conflict(OWN_SUPERVISION)


async def require_may_be_offboarded(db: Db, identity_id: UUID) -> None:
    """Refuse to plan the offboarding of the last active administrator."""
    if await administrators.is_one(db, identity_id):
        await require_another_administrator(db, identity_id)


async def require_another_administrator(db: Db, identity_id: UUID) -> None:
    """Refuse if no active administrator remains; administrators who are being offboarded do not count."""
    await administrators.take_turns(db)
    others = (await administrators.active(db)).keys() - {identity_id}
    if not others - await queries.leaving(db, others):
        raise Conflict(administrators.LAST)
