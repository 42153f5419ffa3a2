"""Check who may act on a personnel event. Actions and console both use these functions.

The scope of the caller is checked earlier; these rules limit what a caller with the scope may do.
"""

from enum import StrEnum
from uuid import UUID

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.identities import administrators, authority
from rolecall.identities.authority import GovernedRecord, PersonRelation, RecordType
from rolecall.identities.model import NOT_PEOPLE, IdentityType
from rolecall.identities.queries import active_with_email
from rolecall.identities.queries import get as get_identity
from rolecall.identities.shapes import IdentityChanges, IdentityFields
from rolecall.personnel_events import queries
from rolecall.tokens.queries import own_id, owner_of

OWN_LEAVE = "This is your own leave, so another person must set the return date"
OWN_SUPERVISION = "You cannot make yourself a supervisor or change your own supervisor; ask an administrator"
REPORTED_BY_OTHERS = "Another person reported this event about you, so you cannot cancel it"
ONLY_OWN_PEOPLE = "You can create events only for people who report to you"
ONLY_OWN_LINE = "The supervisor must be you or a person who reports to you"
NOT_EMAIL = (
    "People sign in with their e-mail, so only administrators, the role People and the identity source can change it"
)
NOT_TYPE = (
    "People can sign in; service accounts, shared accounts and mailboxes cannot."
    " Only administrators, the role People and the identity source can change one kind into the other"
)
NOT_INVOLVED = (
    "You are not allowed to do this. Ask the reporter of the event, or a person with the role Administrator, People or"
    " Operator"
)


class EventVerb(StrEnum):
    ASSIGN = "assign"
    RETURN_DATE = "return-date"
    CANCEL = "cancel"
    COMMENT = "comment"


def refusal(verb: EventVerb, caller_id: UUID, *, identity_id: UUID, reporter_id: UUID) -> str | None:
    """Return why a caller must not apply a verb to the event of this identity, or None."""
    if caller_id != identity_id:
        return None
    match verb:
        case EventVerb.RETURN_DATE:
            return OWN_LEAVE
        case EventVerb.CANCEL:
            return REPORTED_BY_OTHERS if reporter_id != caller_id else None
        case EventVerb.ASSIGN | EventVerb.COMMENT:
            return None


async def refusal_of(db: Db, verb: EventVerb, caller: Caller, *, identity_id: UUID, reporter_id: UUID) -> str | None:
    """Return why a caller must not take this action on an event, or None. A token is treated as its owner."""
    reporter = await owner_of(db, reporter_id) or reporter_id
    return refusal(verb, await own_id(db, caller), identity_id=identity_id, reporter_id=reporter)


async def require(db: Db, verb: EventVerb, caller: Caller, *, identity_id: UUID, reporter_id: UUID) -> None:
    if reason := await refusal_of(db, verb, caller, identity_id=identity_id, reporter_id=reporter_id):
        raise Conflict(reason)


async def require_no_own_supervision(
    db: Db, caller: Caller, identity_id: UUID, changes: IdentityChanges | None
) -> None:
    """Refuse callers without `identities:write` who make themselves a supervisor or change their own supervisor.

    Supervisors approve access, so callers must not become approvers or choose their own approver in this way.
    """
    if changes is None or "supervisor_id" not in changes.model_fields_set or Scope.IDENTITIES_WRITE in caller.scopes:
        return
    if await own_id(db, caller) in (identity_id, changes.supervisor_id):
        raise Conflict(OWN_SUPERVISION)


async def relations_to(db: Db, caller_id: UUID, event_id: UUID) -> frozenset[PersonRelation]:
    """Return every relation of a person to an event.

    Return no relation to their own offboarding if another person reported it.
    """
    rows = await fetch_rows(
        db,
        """SELECT identity_id, reporter_id = %(me)s, coalesce(assignee_id = %(me)s, false), type = 'Offboard'
           FROM personnel_events WHERE id = %(id)s""",
        me=caller_id,
        id=event_id,
    )
    if not rows:
        return frozenset()
    identity_id, reporter, assignee, is_offboarding = rows[0]
    about = await authority.relations_to_person(db, caller_id, identity_id)
    if PersonRelation.SELF in about and is_offboarding and not reporter:
        return frozenset()
    held = {PersonRelation.REPORTER: reporter, PersonRelation.ASSIGNEE: assignee}
    return about | {each for each, holds in held.items() if holds}


async def require_own_people(
    db: Db, caller: Caller, identity_id: UUID | None, fields: IdentityFields | None = None
) -> None:
    """Refuse to create an event if the caller must not create it for this person, or must not set the e-mail or type.

    A caller who `is_limited` may create events only about people who report to them, or about a new person (without
    `identity_id`). The supervisor that such a caller sets must be the caller or a person who reports to the caller.
    """
    if fields is not None and fields.email:
        await _require_free_email(db, caller, identity_id, fields.email)
    if identity_id is not None and fields is not None and fields.identity_type:
        await _require_same_sign_in(db, caller, identity_id, fields.identity_type)
    if not caller.is_limited:
        return
    if identity_id is not None and not await _may_start_event(db, caller, identity_id):
        raise Invalid.on("identityId", ONLY_OWN_PEOPLE)
    if fields is not None and (identity_id is None or "supervisor_id" in fields.model_fields_set):
        supervisor = fields.supervisor_id
        if supervisor != caller.id and not (supervisor and await _may_start_event(db, caller, supervisor)):
            raise Invalid.on("identity.supervisorId", ONLY_OWN_LINE)


async def _require_free_email(db: Db, caller: Caller, identity_id: UUID | None, email: str) -> None:
    """Prevent people without `identities:write` from taking over another person's sign-in.

    Tokens may set any e-mail, as the API promises. If a token without this scope gives a new person an e-mail that is
    taken, or an existing person another e-mail, nobody can sign in with it until it is confirmed.
    """
    if not caller.is_person or Scope.IDENTITIES_WRITE in caller.scopes:
        return
    bearers = await active_with_email(db, email)
    if identity_id is not None and identity_id not in bearers:
        raise Invalid.on("identity.email", NOT_EMAIL)
    if bearers - {identity_id}:
        raise Invalid.on("identity.email", f"Another person already has the e-mail {email}; enter another one")


async def _require_same_sign_in(db: Db, caller: Caller, identity_id: UUID, new: IdentityType) -> None:
    """Refuse a change of type that would allow or prevent signing in, unless the caller has `identities:write`.

    Tokens are not restricted here.
    """
    if not caller.is_person or Scope.IDENTITIES_WRITE in caller.scopes:
        return
    known = await get_identity(db, str(identity_id))
    if (known.type in NOT_PEOPLE) is not (new in NOT_PEOPLE):
        raise Invalid.on("identity.identityType", NOT_TYPE)


async def _may_start_event(db: Db, caller: Caller, identity_id: UUID) -> bool:
    relations = await authority.relations_to_person(db, caller.id, identity_id)
    return authority.may(caller, authority.EVENT, GovernedRecord(RecordType.PERSON, relations))


async def require_may_be_offboarded(db: Db, identity_id: UUID) -> None:
    """Refuse to plan the offboarding of the last active administrator."""
    if await administrators.is_one(db, identity_id):
        await require_another_administrator(db, identity_id)


async def require_another_administrator(db: Db, identity_id: UUID) -> None:
    """Raise Conflict if no other active administrator remains. Administrators being offboarded do not count."""
    # Lock before reading, so that two offboardings cannot each count on the other administrator.
    await administrators.lock_administrators(db)
    others = (await administrators.active(db)).keys() - {identity_id}
    if not others - await queries.leaving(db, others):
        raise Conflict(administrators.LAST)
