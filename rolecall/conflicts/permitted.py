"""Check who may see a conflict: the person, their supervisors, the owners of the rule, applications and controls.

A stand-in of an owner sees the conflict while an exception is pending, and afterwards if they approved one and still
stand in.
"""

from uuid import UUID

from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.identities.authority import PersonRelation, relations_to_person
from rolecall.settings.policy import RequirementType


async def relations_to(db: Db, caller: Caller, conflict_id: UUID) -> frozenset[PersonRelation]:
    # The owner of a control sees the conflict while the exception is pending or in force, and afterwards if it was in
    # force during the conflict.
    rows = await fetch_rows(
        db,
        """SELECT c.identity_id, (r.definition ->> 'ownerId')::uuid || ARRAY(
                      SELECT o.owner_id
                      FROM duty_access(ARRAY(SELECT duty_id FROM duty_rule_duties WHERE rule_id = c.rule_id),
                                       ARRAY[c.identity_id], NULL) AS h
                      JOIN accounts a ON a.number = h.account JOIN applications o ON o.id = a.application_id),
                  EXISTS (SELECT FROM conflict_exceptions e LEFT JOIN exception_approvals p ON p.exception_id = e.id
                          WHERE e.rule_id = c.rule_id AND e.identity_id = c.identity_id
                            AND (e.status = 'Pending' OR p.stand_in_id = %(me)s)),
                  EXISTS (SELECT FROM conflict_exceptions e WHERE e.rule_id = c.rule_id
                            AND e.identity_id = c.identity_id AND e.control_owner_id = %(me)s
                            AND (e.status IN ('Pending', 'Approved')
                                 OR e.approved_on < coalesce(c.until, 'infinity') AND e.ended_on > c.since))
           FROM conflicts c JOIN duty_rules r ON r.id = c.rule_id WHERE c.id = %(id)s""",
        me=caller.id,
        id=conflict_id,
    )
    if not rows:
        return frozenset()
    identity_id, owners, is_requested, owns_control = rows[0]
    # Deciding on an exception is an approval, so stand-ins for other types of response do not count.
    represented = {id for id, type in caller.stands_in_for if type == RequirementType.APPROVE}
    held = {
        PersonRelation.OWNER: owns_control or caller.id in owners,
        PersonRelation.STAND_IN: is_requested and bool(represented.intersection(owners)),
    }
    found = frozenset(each for each, holds in held.items() if holds)
    return found | await relations_to_person(db, caller.id, identity_id)


async def relations_to_exception(db: Db, caller: Caller, exception_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to the conflict of an exception."""
    rows = await fetch_rows(db, "SELECT conflict_id FROM conflict_exceptions WHERE id = %(id)s", id=exception_id)
    return await relations_to(db, caller, rows[0][0]) if rows else frozenset()


async def relations_to_rule(db: Db, caller_id: UUID, rule_id: UUID) -> frozenset[PersonRelation]:
    """Return the relation Owner if a person owns the rule, which lets them see its conflicts."""
    # Do not read the draft: a new owner gets this right only when the draft is committed.
    owner = "SELECT true FROM duty_rules WHERE id = %(id)s AND (definition ->> 'ownerId')::uuid = %(me)s"
    return frozenset({PersonRelation.OWNER}) if await fetch_value(db, owner, id=rule_id, me=caller_id) else frozenset()
