"""Decide which notifications a person may still read: the person's relation to the record may have ended."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from rolecall.access_requests import permitted as requests
from rolecall.applications import permitted as applications
from rolecall.conflicts import permitted as conflicts
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.roles import LIMITED, Role
from rolecall.identities.authority import SEE, GovernedRecord, PersonRelation, RecordType, may
from rolecall.personnel_events import permitted as events
from rolecall.reviews import permitted as reviews
from rolecall.stand_ins import permitted as stand_ins

_Relations = Callable[[Db, Caller, UUID], Awaitable[frozenset[PersonRelation]]]
# For each kind of item: the record type, and the function that reads a person's relations to the record.
READ: Mapping[str, tuple[RecordType, _Relations]] = {
    "Access Request": (RecordType.REQUEST, requests.relations_to),
    "Personnel Event": (RecordType.EVENT, lambda db, caller, item: events.relations_to(db, caller.id, item)),
    "Exception": (RecordType.CONFLICT, conflicts.relations_to_exception),
    "Duty Rule": (RecordType.CONFLICT, lambda db, caller, item: conflicts.relations_to_rule(db, caller.id, item)),
    "Review": (RecordType.REVIEW, reviews.relations_to),
    "Stand-In": (RecordType.STAND_IN, lambda db, caller, item: stand_ins.relations_to(db, caller.id, item)),
    "Application": (
        RecordType.APPLICATION,
        lambda db, caller, item: applications.relations_to(db, caller.id, item),
    ),
    "Import": (RecordType.IMPORT, lambda db, caller, item: applications.relations_to_import(db, caller.id, item)),
}
# For each kind of item that is not in `READ`: the roles that may see it.
ROLES = {
    "Webhook": frozenset({Role.ADMINISTRATOR, Role.PEOPLE, Role.OPERATOR}),
    "Channel": frozenset({Role.ADMINISTRATOR}),
    "Report": frozenset(Role) - frozenset(LIMITED),
    "Review Template": frozenset(Role) - frozenset(LIMITED),
}


async def hidden_from(db: Db, identity_id: UUID, ids: Sequence[UUID], now: datetime) -> set[UUID]:
    """Return the notifications of a person about records that the person must not see now."""
    caller, role = await _reader(db, identity_id, now)
    rows = await fetch_rows(
        db, "SELECT id, item_kind, item_id FROM notifications WHERE id = ANY(%(ids)s)", ids=list(ids)
    )
    seen: dict[UUID, bool] = {}
    for _, kind, item in rows:
        if item not in seen or kind in ROLES:
            seen[item] = role in ROLES[kind] if kind in ROLES else await _sees(db, caller, kind, item)
    return {id for id, _, item in rows if not seen[item]}


async def _reader(db: Db, identity_id: UUID, now: datetime) -> tuple[Caller, Role | None]:
    found = await fetch_value(db, "SELECT role FROM console_roles WHERE identity_id = %(id)s", id=identity_id)
    role = Role(found) if found else None
    rows = await fetch_rows(db, "SELECT * FROM responds_for(%(id)s, %(now)s)", id=identity_id, now=now)
    pairs = frozenset((id, type) for id, type in rows)
    caller = Caller(identity_id, "", frozenset(), is_limited=role in LIMITED, is_person=True, stands_in_for=pairs)
    return caller, role


async def _sees(db: Db, caller: Caller, kind: str, item: UUID) -> bool:
    type, relations = READ[kind]
    return not caller.is_limited or may(caller, SEE, GovernedRecord(type, await relations(db, caller, item)))
