"""Look up the relations of a person to a record, and check what they allow the person to do."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import msgspec

from rolecall.access_models import permitted as models
from rolecall.access_requests import permitted as requests
from rolecall.accounts import permitted as accounts
from rolecall.applications import permitted as applications
from rolecall.conflicts import permitted as conflicts
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, NotFound
from rolecall.core.ids import known_guid
from rolecall.entitlements import permitted as entitlements
from rolecall.identities import authority
from rolecall.identities.authority import COMMENT, EVENT, REQUEST, SEE, GovernedRecord, PersonRelation, RecordType, may
from rolecall.personnel_events import permitted as events
from rolecall.reviews import permitted as reviews

_Relations = Awaitable[frozenset[PersonRelation]]
_READ: Mapping[RecordType, Callable[[Db, UUID, UUID], _Relations]] = {
    RecordType.PERSON: authority.relations_to_person,
    RecordType.EVENT: events.relations_to,
    RecordType.APPLICATION: applications.relations_to,
    RecordType.IMPORT: applications.relations_to_import,
    RecordType.ACCOUNT: accounts.relations_to,
    RecordType.ENTITLEMENT: entitlements.relations_to,
    RecordType.MODEL: models.relations_to,
}
# Types of records for which stand-ins can decide.
_READ_WITH_STAND_INS: Mapping[RecordType, Callable[[Db, Caller, UUID], _Relations]] = {
    RecordType.REQUEST: requests.relations_to,
    RecordType.CONFLICT: conflicts.relations_to,
    RecordType.REVIEW: reviews.relations_to,
    RecordType.REVIEW_ITEM: reviews.relations_to_item,
}
NOT_ALLOWED = "You can see this record, but you cannot do this. Ask an administrator or the person responsible for it"

# The scopes that the forms on a record's page need, and the verb that a relation must allow to grant each scope.
_FORMS = {
    RecordType.PERSON: {Scope.ACCESS_REQUESTS_WRITE: REQUEST, Scope.PERSONNEL_EVENTS_WRITE: EVENT},
    RecordType.REQUEST: {Scope.ACCESS_REQUESTS_WRITE: COMMENT},
    RecordType.EVENT: {Scope.PERSONNEL_EVENTS_WRITE: COMMENT},
}


async def scopes_on(db: Db, caller: Caller, type: RecordType, id: UUID) -> frozenset[str]:
    """Return the scopes of a caller for one record: from the role and from the relations to the record."""
    forms = {scope: verb for scope, verb in _FORMS[type].items() if scope in caller.own_scopes}
    if not forms:
        return caller.scopes
    # Mark the caller as limited, because `record_for` reads relations only for limited callers.
    limited = msgspec.structs.replace(caller, is_limited=True)
    record = await record_for(db, limited, type, id)
    return caller.scopes | {scope for scope, verb in forms.items() if may(limited, verb, record)}


async def record_for(db: Db, caller: Caller, type: RecordType, id: UUID) -> GovernedRecord:
    """Return the type of a record and the caller's relations to it; omit relations if the caller sees every record."""
    if not caller.is_limited:
        return GovernedRecord(type, frozenset())
    if read := _READ_WITH_STAND_INS.get(type):
        return GovernedRecord(type, await read(db, caller, id))
    return GovernedRecord(type, await _READ[type](db, caller.id, id))


async def sees(db: Db, caller: Caller, type: RecordType, id: UUID) -> bool:
    return may(caller, SEE, await record_for(db, caller, type, id))


async def require(db: Db, caller: Caller, type: RecordType, id: str, verb: str = SEE) -> None:
    """Raise an error if a caller who sees only their own records has no relation to this record that allows the verb.

    A record that the caller must not see is reported as not found.
    """
    if not caller.is_limited:
        return
    record = await record_for(db, caller, type, known_guid(type, id))
    if not may(caller, SEE, record):
        raise NotFound(type, id)
    if not may(caller, verb, record):
        raise Conflict(NOT_ALLOWED)
