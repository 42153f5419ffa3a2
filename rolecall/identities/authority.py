"""Decide what a caller may do with a record, with one function: `may(caller, verb, record)`.

The scopes of an API token decide what it may do. What a person may do depends on their role and on their relations to
the record: for example, a request is about them or needs their response (or that of a person they stand in for), a
person reports to them, or they own or provision the application. A person without a role, or with the role Provisioner,
sees only their own records (`is_limited`): a record to which they have no relation is reported as not found. Each
package reads the relations to its records in `permitted.py`; `ALLOWED` says which relation allows which verb.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.roles import Role


class PersonRelation(StrEnum):
    """The relation of a person to a record, computed from current data and never stored."""

    SELF = "self"
    SUPERVISOR = "supervisor"
    REPORTER = "reporter"
    ASSIGNEE = "assignee"
    APPROVER = "approver"
    RESOLVER = "resolver"
    VERIFIER = "verifier"
    OWNER = "owner"
    PROVISIONER = "provisioner"
    # The person is the stand-in of a reviewer or owner: named by them, or automatic while they are on leave.
    STAND_IN = "stand-in"
    # The person decides items of a review.
    REVIEWER = "reviewer"


class RecordType(StrEnum):
    PERSON = "Identity"
    REQUEST = "AccessRequest"
    EVENT = "PersonnelEvent"
    APPLICATION = "Application"
    ACCOUNT = "Account"
    IMPORT = "ApplicationImport"
    ENTITLEMENT = "Entitlement"
    MODEL = "AccessModel"
    CONFLICT = "Conflict"
    STAND_IN = "StandIn"
    REVIEW = "Review"
    REVIEW_ITEM = "ReviewItem"


class GovernedRecord(msgspec.Struct, frozen=True):
    """The type of a record, and the relations of one caller to the record."""

    type: RecordType
    relations: frozenset[PersonRelation]


SEE, COMMENT, REQUEST, EVENT, IMPORT = "see", "comment", "request", "event", "import"
_SEEN = frozenset({SEE})
_FOLLOWED = frozenset({SEE, COMMENT})
_PROVISIONING = frozenset({"assign", "resolve", "snooze", "resume", "reopen"})
EVERY_MOVE = _PROVISIONING | {"verify", "cancel"}
_EVENT_VERBS = frozenset({"assign", "return-date", "cancel"})
_R = PersonRelation
# The verbs that each relation or role allows. `respond` is missing, because it depends on the reviewers of a request.
ALLOWED: Mapping[RecordType, Mapping[PersonRelation | Role, frozenset[str]]] = {
    RecordType.PERSON: {_R.SELF: _SEEN | {REQUEST}, _R.SUPERVISOR: _SEEN | {REQUEST, EVENT}},
    RecordType.REQUEST: {
        Role.ADMINISTRATOR: EVERY_MOVE,
        Role.PEOPLE: EVERY_MOVE,
        Role.OPERATOR: EVERY_MOVE,
        _R.SELF: _FOLLOWED,
        _R.SUPERVISOR: _FOLLOWED,
        _R.OWNER: _FOLLOWED,
        _R.REPORTER: _FOLLOWED | EVERY_MOVE,
        _R.ASSIGNEE: _FOLLOWED | _PROVISIONING,
        _R.PROVISIONER: _FOLLOWED | _PROVISIONING,
        _R.APPROVER: _FOLLOWED | {"assign", "cancel"},
        _R.RESOLVER: _FOLLOWED | _PROVISIONING | {"cancel"},
        _R.VERIFIER: _FOLLOWED | {"verify", "reopen"},
        _R.STAND_IN: _FOLLOWED,
    },
    RecordType.EVENT: {
        _R.SELF: _FOLLOWED,
        _R.SUPERVISOR: _FOLLOWED | _EVENT_VERBS,
        _R.REPORTER: _FOLLOWED | _EVENT_VERBS,
        _R.ASSIGNEE: _FOLLOWED | {"assign"},
    },
    RecordType.APPLICATION: {_R.OWNER: _SEEN, _R.PROVISIONER: _SEEN | {IMPORT}},
    RecordType.IMPORT: {_R.OWNER: _SEEN, _R.PROVISIONER: _SEEN | {IMPORT}},
    RecordType.ACCOUNT: {_R.SELF: _SEEN, _R.SUPERVISOR: _SEEN, _R.OWNER: _SEEN, _R.PROVISIONER: _SEEN},
    RecordType.ENTITLEMENT: {_R.OWNER: _SEEN, _R.PROVISIONER: _SEEN},
    RecordType.MODEL: {_R.OWNER: _SEEN},
    RecordType.CONFLICT: {_R.SELF: _SEEN, _R.SUPERVISOR: _SEEN, _R.OWNER: _SEEN, _R.STAND_IN: _SEEN},
    RecordType.STAND_IN: {_R.SELF: _SEEN, _R.STAND_IN: _SEEN},
    RecordType.REVIEW: {_R.OWNER: _SEEN, _R.REVIEWER: _SEEN, _R.STAND_IN: _SEEN},
    RecordType.REVIEW_ITEM: {_R.OWNER: _SEEN, _R.REVIEWER: _SEEN, _R.STAND_IN: _SEEN},
}


def allowed(type: RecordType, by: Iterable[PersonRelation | Role]) -> frozenset[str]:
    table = ALLOWED[type]
    return frozenset[str]().union(*(table.get(each, frozenset()) for each in by))


def may(caller: Caller, verb: str, record: GovernedRecord) -> bool:
    """Return whether a caller's relations to a record allow a verb; callers who see every record need no relation.

    Scopes and separation of duties are checked separately.
    """
    return not caller.is_limited or verb in allowed(record.type, record.relations)


# The people who report to %(me)s, directly or through others, breadth first, so that a limit keeps the nearest ones.
# UNION ends the search at a cycle. ARRAY prevents the planner from scanning or hashing all identities at every level.
LINE = """
    line AS (SELECT unnest(ARRAY(SELECT i.id FROM identities i WHERE i.supervisor_id = %(me)s)) AS id
             UNION SELECT unnest(ARRAY(SELECT b.id FROM identities b WHERE b.supervisor_id = l.id)) FROM line l)"""
# If a caller sees only their own records, a page covers at most this many of the people who report to them. Exports,
# and lists of identities in the API, have no maximum.
MOST_PEOPLE = 1000


async def relations_to_person(db: Db, caller_id: UUID, identity_id: UUID) -> frozenset[PersonRelation]:
    """Return the relation of the caller to a person: self, direct or indirect supervisor, or none.

    Nobody is their own supervisor, even in a cycle of supervisors.
    """
    if caller_id == identity_id:
        return frozenset({PersonRelation.SELF})
    found = await fetch_value(
        db,
        """WITH RECURSIVE above AS (
               SELECT supervisor_id FROM identities WHERE id = %(id)s
               UNION SELECT i.supervisor_id FROM identities i JOIN above a ON i.id = a.supervisor_id)
           SELECT EXISTS (SELECT FROM above WHERE supervisor_id = %(caller)s)""",
        id=identity_id,
        caller=caller_id,
    )
    return frozenset({PersonRelation.SUPERVISOR}) if found else frozenset()


async def people_of(db: Db, person_id: UUID, most: int | None = MOST_PEOPLE) -> list[UUID]:
    """Return the people who report to a person, directly or through others, nearest first.

    Return at most `most` people; None means all.
    """
    limit = "ALL" if most is None else f"{most:d}"
    rows = await fetch_rows(
        db, f"WITH RECURSIVE {LINE} SELECT id FROM line WHERE id <> %(me)s LIMIT {limit}", me=person_id
    )
    return [id for (id,) in rows]


async def visible_people(db: Db, caller: Caller, most: int | None = MOST_PEOPLE) -> tuple[UUID, ...] | None:
    """Return the people whom a caller may see; None means everyone.

    A caller who sees only their own records sees themselves and at most `most` people who report to them.
    """
    return (caller.id, *await people_of(db, caller.id, most)) if caller.is_limited else None
