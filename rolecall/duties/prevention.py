"""The one check of access before it is given: which conflicts would it create, by rules in effect.

Requests, events, access models and restores ask here. A proposal says what a person would gain and lose, and what other
open requests would give them; the answer names the rules.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from rolecall.duties import queries
from rolecall.duties.model import RuleDefinition, RuleResponse
from rolecall.duties.shapes import DutyAccess
from rolecall.settings.policy import Level


class ProposedAccess(msgspec.Struct, frozen=True):
    """A privilege by name: for a membership, the header is what the application calls groups, or None.

    `account` is the username; it matters for losses, because another account may keep the same access.
    """

    application_id: UUID
    header: str | None
    section: str
    permission: str
    access: Access
    account: str = ""


class AccessProposal(msgspec.Struct, frozen=True):
    """What a person would gain; `waiting` is what other open requests would give them, `losses` what they would lose.

    Without an identity the person does not exist yet and holds nothing. A control duty must be held or be among the
    gains: one that another request would give may never come.
    """

    identity_id: UUID | None
    gains: Sequence[ProposedAccess]
    waiting: Sequence[ProposedAccess] = ()
    losses: Sequence[ProposedAccess] = ()


class WouldConflict(msgspec.Struct, frozen=True, rename="camel"):
    """A conflict that access would create. `duties` are those that the person would hold."""

    rule_id: UUID
    rule: str
    risk: Level
    response: RuleResponse
    owner_id: UUID | None
    duties: list[str]

    def __str__(self) -> str:
        return f"{self.rule} ({' and '.join(self.duties)})"


class FoundConflict(msgspec.Struct, frozen=True):
    """A conflict with the places of the gains that would create it."""

    conflict: WouldConflict
    gains: frozenset[int]


async def conflicts_of(
    db: Db, proposals: Sequence[AccessProposal], given: dict[ProposedAccess, set[UUID]]
) -> list[list[FoundConflict]]:
    """Return the conflicts that each proposal would create; `given` are the duties that the gains would give."""
    rules, names = await _rules_with(db, {duty for duties in given.values() for duty in duties})
    given = given | await duties_given(db, {each for proposal in proposals for each in proposal.waiting} - given.keys())
    held = await _held(db, proposals, set(names))
    return [
        [
            found
            for id, rule in rules.items()
            if (found := _conflict(id, rule, proposal, before, given, names)) is not None
        ]
        for proposal, before in zip(proposals, held, strict=True)
    ]


def _conflict(
    id: UUID,
    rule: RuleDefinition,
    proposal: AccessProposal,
    held: set[UUID],
    given: dict[ProposedAccess, set[UUID]],
    names: dict[UUID, str],
) -> FoundConflict | None:
    apart = set(rule.conflicts)
    new = {place: given[each] & apart - held for place, each in enumerate(proposal.gains)}
    after = held.union(*(given[each] for each in (*proposal.gains, *proposal.waiting)))
    together = [duty for duty in rule.conflicts if duty in after]
    is_controlled = rule.without in held.union(*(given[each] for each in proposal.gains))
    if not any(new.values()) or len(together) < 2 or is_controlled:
        return None
    conflict = WouldConflict(id, rule.name, rule.risk, rule.response, rule.owner_id, [names[duty] for duty in together])
    return FoundConflict(conflict, frozenset(place for place, duties in new.items() if duties))


async def duties_given(db: Db, access: Iterable[ProposedAccess]) -> dict[ProposedAccess, set[UUID]]:
    """Return the duties of rules in effect that access would give; one query, and none for most access."""
    asked = list(access)
    found: dict[ProposedAccess, set[UUID]] = {each: set() for each in asked}
    if not asked:
        return found
    rows = await fetch_rows(
        db,
        """SELECT asked.n, d.duty_id FROM unnest(%(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[],
                  %(permissions)s::text[], %(accesses)s::text[]) WITH ORDINALITY
                  AS asked (application_id, header, section, permission, access, n)
           CROSS JOIN LATERAL duties_given(application_id, header, section, permission, access) AS d
           WHERE d.duty_id IN (SELECT duty_id FROM duty_rule_duties)""",
        applications=[each.application_id for each in asked],
        headers=[each.header for each in asked],
        sections=[each.section for each in asked],
        permissions=[each.permission for each in asked],
        accesses=[each.access for each in asked],
    )
    for n, duty_id in rows:
        found[asked[n - 1]].add(duty_id)
    return found


async def _rules_with(db: Db, duties: set[UUID]) -> tuple[dict[UUID, RuleDefinition], dict[UUID, str]]:
    """Return the rules in effect that keep one of these duties apart, and the names of all duties of these rules."""
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.definition, array_agg(d.id), array_agg(d.name) FROM duty_rules r
           JOIN duty_rule_duties x ON x.rule_id = r.id JOIN duties d ON d.id = x.duty_id
           WHERE r.is_in_effect AND r.id IN (
               SELECT rule_id FROM duty_rule_duties WHERE duty_id = ANY(%(duties)s) AND NOT is_control)
           GROUP BY r.id ORDER BY r.name_key, r.id""",
        duties=list(duties),
    )
    rules = {id: msgspec.convert(definition, RuleDefinition) for id, definition, *_ in rows}
    return rules, {id: name for _, _, ids, names in rows for id, name in zip(ids, names, strict=True)}


async def _held(db: Db, proposals: Sequence[AccessProposal], duties: set[UUID]) -> list[set[UUID]]:
    """Return the duties that each person holds and would not lose."""
    people = {proposal.identity_id for proposal in proposals if proposal.identity_id}
    rows = await fetch_rows(
        db,
        """SELECT identity_id, duty_id FROM duty_holders
           WHERE identity_id = ANY(%(people)s) AND duty_id = ANY(%(duties)s)""",
        people=list(people),
        duties=list(duties),
    )
    held = defaultdict[UUID | None, set[UUID]](set)
    for identity_id, duty_id in rows:
        held[identity_id].add(duty_id)
    losing = {each.identity_id for each in proposals if each.losses and each.identity_id and held[each.identity_id]}
    access = await queries.access_by(db, duties, losing, None) if losing else {}
    return [
        {
            duty
            for duty in held[proposal.identity_id]
            if not (proposal.losses and proposal.identity_id)
            or any(_key(entry) not in _keys(proposal.losses) for entry in access.get((proposal.identity_id, duty), []))
        }
        for proposal in proposals
    ]


_Key = tuple[UUID, str, str | None, str, str]


def _key(entry: DutyAccess) -> _Key:
    """Return how a request names the access: by the group that the account is in, if it is not direct."""
    account = entry.application.id, entry.account.username
    if entry.path:
        return *account, entry.path_header, "", entry.path[0]
    return *account, entry.header, entry.section, entry.name


def _keys(losses: Sequence[ProposedAccess]) -> set[_Key]:
    return {(each.application_id, each.account, each.header, each.section, each.permission) for each in losses}


class ModelConflicts(msgspec.Struct, frozen=True, rename="camel"):
    """How many people a model would put in conflict by a rule."""

    rule_id: UUID
    rule: str
    risk: Level
    response: RuleResponse
    people: int


async def conflicts_among(db: Db, people: Sequence[UUID], gains: Sequence[ProposedAccess]) -> list[ModelConflicts]:
    """Count the people who would be newly in conflict if all of them had this access, by rule."""
    given = {duty for duties in (await duties_given(db, set(gains))).values() for duty in duties}
    rules, _ = await _rules_with(db, given)
    if not rules:
        return []
    rows = await fetch_rows(
        db,
        """WITH people AS MATERIALIZED (SELECT unnest(%(people)s::uuid[]) AS id), after AS (
               SELECT p.id, d.id AS duty_id FROM people p CROSS JOIN unnest(%(given)s::uuid[]) AS d (id)
               UNION SELECT h.identity_id, h.duty_id FROM duty_holders h JOIN people p ON p.id = h.identity_id
           ), found AS (
               SELECT r.rule_id, a.id FROM duty_rule_duties r JOIN after a ON a.duty_id = r.duty_id
               WHERE r.rule_id = ANY(%(rules)s) GROUP BY r.rule_id, a.id
               HAVING count(*) FILTER (WHERE NOT r.is_control) > 1 AND count(*) FILTER (WHERE r.is_control) = 0
               EXCEPT SELECT rule_id, identity_id FROM conflicts WHERE until IS NULL
           )
           SELECT rule_id, count(*) FROM found GROUP BY rule_id""",
        people=list(people),
        given=list(given),
        rules=list(rules),
    )
    counts: dict[UUID, int] = dict(rows)
    return [
        ModelConflicts(id, rule.name, rule.risk, rule.response, counts[id])
        for id, rule in rules.items()
        if id in counts
    ]
