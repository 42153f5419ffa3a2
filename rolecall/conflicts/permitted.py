"""Decide who may see a conflict: the person, their supervisors, the owners of the rule and of the applications."""

from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.identities.authority import PersonRelation, relations_to_person


async def relations_to(db: Db, caller_id: UUID, conflict_id: UUID) -> frozenset[PersonRelation]:
    rows = await fetch_rows(
        db,
        """SELECT c.identity_id, (r.definition ->> 'ownerId')::uuid = %(me)s OR EXISTS (
                      SELECT FROM duty_access(ARRAY(SELECT duty_id FROM duty_rule_duties WHERE rule_id = c.rule_id),
                                              ARRAY[c.identity_id], NULL) AS h
                      JOIN accounts a ON a.number = h.account JOIN applications o ON o.id = a.application_id
                      WHERE o.owner_id = %(me)s)
           FROM conflicts c JOIN duty_rules r ON r.id = c.rule_id WHERE c.id = %(id)s""",
        me=caller_id,
        id=conflict_id,
    )
    if not rows:
        return frozenset()
    identity_id, owns = rows[0]
    owned = frozenset({PersonRelation.OWNER}) if owns else frozenset()
    return owned | await relations_to_person(db, caller_id, identity_id)


async def relations_to_exception(db: Db, caller_id: UUID, exception_id: UUID) -> frozenset[PersonRelation]:
    """Read the relations of a person to the conflict of an exception; the owner of its control owns it too."""
    rows = await fetch_rows(
        db,
        "SELECT conflict_id, control_owner_id = %(me)s FROM conflict_exceptions WHERE id = %(id)s",
        me=caller_id,
        id=exception_id,
    )
    if not rows:
        return frozenset()
    conflict_id, owns_control = rows[0]
    owned = frozenset({PersonRelation.OWNER}) if owns_control else frozenset()
    return owned | await relations_to(db, caller_id, conflict_id)
