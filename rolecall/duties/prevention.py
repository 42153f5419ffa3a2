"""Check access before it is given: find the conflicts that it would create under the rules in effect.

An `AccessProposal` contains what a person would gain and lose, and what other open requests would give and take away.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from uuid import UUID

import msgspec

from rolecall.accounts.model import GROUP_HEADER, Access
from rolecall.core.db import Db, fetch_rows
from rolecall.duties import queries
from rolecall.duties.model import RuleDefinition, RuleResponse
from rolecall.duties.shapes import DutyAccess
from rolecall.entitlements.model import EntitlementKind
from rolecall.settings.policy import Level


class ProposedAccess(msgspec.Struct, frozen=True):
    """A privilege and the access to it. For a membership, `header` is what the application calls groups, or None.

    `holder` is the account, or the group if `is_group`. It matters only for losses: another holder may keep the access.
    """

    application_id: UUID
    header: str | None
    section: str
    permission: str
    access: Access
    holder: str = ""
    is_group: bool = False


# For each access that a person gains or loses, the duties that the access gives.
AccessDuties = Mapping[ProposedAccess, AbstractSet[UUID]]
_NOTHING: AccessDuties = {}


class AccessProposal(msgspec.Struct, frozen=True):
    """The access that a person would gain and lose. Without an identity, the person is new and holds nothing.

    - `waiting`, `leaving`: the gains and losses of other open requests
    - `returning`: access that other requests of the same event restore
    - `repeated`: requested access that the person already holds, which counts as a gain if the person would otherwise
      lose the duty that it gives
    - `controls`: the gains that no earlier open request removes

    A control duty prevents a conflict if the person keeps it despite `losses` and `leaving`, or if `controls` or
    `returning` give it. `waiting` does not count, because those requests may be canceled.
    """

    identity_id: UUID | None
    gains: AccessDuties
    waiting: AccessDuties = _NOTHING
    losses: AccessDuties = _NOTHING
    leaving: AccessDuties = _NOTHING
    returning: AccessDuties = _NOTHING
    repeated: AccessDuties = _NOTHING
    controls: AccessDuties = _NOTHING


class PotentialConflict(msgspec.Struct, frozen=True, rename="camel"):
    """A conflict that access would create. `duties` names the conflicting duties that the person would hold."""

    rule_id: UUID
    rule: str
    risk: Level
    response: RuleResponse
    owner_id: UUID | None
    duties: list[str]

    def __str__(self) -> str:
        return f"{self.rule} ({' and '.join(self.duties)})"


class FoundConflict(msgspec.Struct, frozen=True):
    """A conflict with the gains that would create it, and the losses that would remove its control duty.

    `people` maps each person who would be in conflict to the ids of the duties that they would hold.
    """

    conflict: PotentialConflict
    gains: frozenset[ProposedAccess]
    losses: frozenset[ProposedAccess] = frozenset()
    people: Mapping[UUID, frozenset[UUID]] = {}

    def __str__(self) -> str:
        return str(self.conflict)


async def conflicts_of(db: Db, proposals: Sequence[AccessProposal]) -> list[list[FoundConflict]]:
    """Return, for each proposal, the conflicts that its gains, or the loss of control duties, would create."""
    gained = {duty for proposal in proposals for duty in _all(proposal.gains) | _all(proposal.repeated)}
    lost = {duty for proposal in proposals for duty in _all(proposal.losses)}
    people = {proposal.identity_id for proposal in proposals if proposal.identity_id}
    rules = await _rules_with(db, gained, lost, people)
    held = await _held(db, proposals, rules)
    return [
        [found for id in rules.rules if (found := _conflict(id, rules, proposal, duties)) is not None]
        for proposal, duties in zip(proposals, held, strict=True)
    ]


def _all(access: AccessDuties) -> set[UUID]:
    return {duty for duties in access.values() for duty in duties}


class _HeldDuties(msgspec.Struct, frozen=True):
    """The duties that a person holds `before`, those `kept` after the losses, and those `certain` to be kept.

    `certain` excludes duties that the person would lose through other open requests.
    """

    before: set[UUID]
    kept: set[UUID]
    certain: set[UUID]


def _conflict(id: UUID, rules: "_Rules", proposal: AccessProposal, held: _HeldDuties) -> FoundConflict | None:
    rule = rules.rules[id]
    apart = set(rule.conflicts)
    controls = held.certain | _all(proposal.controls) | _all(proposal.returning)
    given = {**proposal.gains, **proposal.repeated}
    together = rule.joined(held.kept | _all(given) | _all(proposal.waiting), controls)
    # If another open request removes a duty that the person holds, access that gives the duty again counts as a gain.
    new = frozenset(each for each, duties in given.items() if duties & apart - held.certain)
    lost = _lost_controls(rule.without, proposal, held) if rule.without not in controls else frozenset()
    # Report only conflicts to which the proposal itself contributes.
    if not together or not (new or lost):
        return None
    names = [rules.names[duty] for duty in together]
    conflict = PotentialConflict(id, rule.name, rule.risk, rule.response, rule.owner_id, names)
    who = {proposal.identity_id: frozenset(together)} if proposal.identity_id else {}
    return FoundConflict(conflict, new, lost, who)


def _lost_controls(control: UUID | None, proposal: AccessProposal, held: _HeldDuties) -> frozenset[ProposedAccess]:
    """Return the losses that remove the control duty, if the person holds it or another open request would give it.

    If only another request would give it, the loss of a group always counts, and the loss of an account counts only if
    that request gives the same access.
    """
    promised = {key_of(each) for each, duties in proposal.waiting.items() if control in duties}
    return frozenset(
        each
        for each, duties in proposal.losses.items()
        if control in duties and (control in held.before or key_of(each) in promised or (each.is_group and promised))
    )


async def duties_given(db: Db, access: Iterable[ProposedAccess]) -> dict[ProposedAccess, set[UUID]]:
    """Return, with one query, the duties that each access would give. Leave out duties that no rule in effect uses."""
    asked = list(access)
    found: dict[ProposedAccess, set[UUID]] = {each: set() for each in asked}
    if not asked:
        return found
    rows = await fetch_rows(
        db,
        """SELECT n, duty_id FROM duties_given_by(%(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[],
                                                  %(permissions)s::text[], %(accesses)s::text[])""",
        applications=[each.application_id for each in asked],
        headers=[each.header for each in asked],
        sections=[each.section for each in asked],
        permissions=[each.permission for each in asked],
        accesses=[each.access for each in asked],
    )
    for n, duty_id in rows:
        found[asked[n - 1]].add(duty_id)
    return found


async def control_duties(db: Db) -> dict[UUID, set[UUID]]:
    """Return the control duties of rules in effect, each with the duties that it controls."""
    rows = await fetch_rows(
        db,
        """SELECT c.duty_id, array_agg(d.duty_id) FROM duty_rule_duties c
           JOIN duty_rule_duties d ON d.rule_id = c.rule_id AND NOT d.is_control
           WHERE c.is_control GROUP BY c.duty_id""",
    )
    return {id: set(controlled) for id, controlled in rows}


class _Rules(msgspec.Struct, frozen=True):
    """Rules in effect, the names of their duties, and which of these duties each person holds."""

    rules: dict[UUID, RuleDefinition]
    names: dict[UUID, str]
    held: dict[UUID, set[UUID]]


async def _rules_with(db: Db, gained: set[UUID], lost: set[UUID], people: set[UUID]) -> _Rules:
    """Return the rules that the changes affect, and which duties of these rules each person holds.

    A rule is affected if it keeps a gained duty apart from other duties, or if its control duty is lost.
    """
    rows = await fetch_rows(
        db,
        """SELECT rule_id, definition, duty_id, name, holders
           FROM rules_concerned(%(gained)s::uuid[], %(lost)s::uuid[], %(people)s::uuid[])""",
        gained=list(gained),
        lost=list(lost),
        people=list(people),
    )
    found = _Rules({}, {}, {id: set() for id in people})
    for id, definition, duty_id, name, holders in rows:
        if id not in found.rules:
            found.rules[id] = msgspec.convert(definition, RuleDefinition)
        found.names[duty_id] = name
        for holder in holders:
            found.held[holder].add(duty_id)
    return found


async def _held(db: Db, proposals: Sequence[AccessProposal], rules: _Rules) -> list[_HeldDuties]:
    """Return for each proposal the duties that the person holds and those that they would keep."""
    # Read access only for people who would lose something; all other people keep their duties.
    losing = {
        each.identity_id
        for each in proposals
        if each.identity_id and (each.losses or each.leaving) and rules.held[each.identity_id]
    }
    access = await queries.access_by(db, set(rules.names), losing, None) if losing else {}

    def staying(proposal: AccessProposal, before: set[UUID], *taken: AccessDuties) -> set[UUID]:
        if proposal.identity_id not in losing:
            return before
        keys = {
            duty: {key for lost in taken for each, duties in lost.items() if duty in duties for key in _lost(each)}
            for duty in before
        }
        entries = {duty: access.get((proposal.identity_id, duty), []) for duty in before}
        # A person keeps a duty if at least one entry that gives it is not taken away.
        return {duty for duty in before if any(not keys[duty] & _keys(entry) for entry in entries[duty])}

    def of(proposal: AccessProposal) -> _HeldDuties:
        before = rules.held[proposal.identity_id] if proposal.identity_id else set[UUID]()
        kept = staying(proposal, before, proposal.losses)
        return _HeldDuties(before, kept, staying(proposal, before, proposal.losses, proposal.leaving))

    return [of(proposal) for proposal in proposals]


_Key = tuple[UUID, bool, str, str | None, str, str]


def key_of(access: ProposedAccess) -> _Key:
    """Return a key for a privilege and its holder.

    If the holder is a group and the privilege has no section, ignore the header: the privilege may be membership in
    another group, whose header is not known.
    """
    header = None if access.is_group and not access.section else access.header
    return access.application_id, access.is_group, access.holder, header, access.section, access.permission


def _lost(access: ProposedAccess) -> set[_Key]:
    """Return the keys of lost access, to compare with `_keys`.

    One key has the header. If the access may be a group's membership in a group, a second key has no header.
    """
    exact = access.application_id, access.is_group, access.holder, access.header, access.section, access.permission
    return {exact, key_of(access)}


def _keys(entry: DutyAccess) -> set[_Key]:
    """Return the keys of all removals that would take this access away.

    A removal may remove a whole group, the account's membership, the nesting of a group, or a grant to a group.
    """
    there, username = entry.application.id, entry.account.username
    groups = [*entry.path, *([entry.name] if entry.kind is EntitlementKind.GROUP else [])]
    whole: set[_Key] = {(there, True, group, None, "", group) for group in groups}
    if not entry.path:
        # Accept `Group` too: a request that was made before an import showed the group has this header.
        headers = {entry.header, *([GROUP_HEADER] if entry.kind is EntitlementKind.GROUP else [])}
        return whole | {(there, False, username, header, entry.section, entry.name) for header in headers}
    nested: set[_Key] = {(there, True, below, None, "", above) for below, above in pairwise(groups)}
    through = {(there, False, username, header, "", entry.path[0]) for header in (entry.path_header, GROUP_HEADER)}
    given = there, True, entry.path[-1], entry.header, entry.section, entry.name
    return whole | nested | through | {given}


class ModelConflicts(msgspec.Struct, frozen=True, rename="camel"):
    """How many people a model would put in conflict under a rule.

    `people` is 0 if the model combines duties that the rule keeps apart, but puts nobody newly in conflict.
    """

    rule_id: UUID
    rule: str
    risk: Level
    response: RuleResponse
    people: int


async def conflicts_among(db: Db, people: Sequence[UUID], gains: Sequence[ProposedAccess]) -> list[ModelConflicts]:
    """Return for each rule how many of these people would be newly in conflict if all of them had this access.

    Omit rules without new conflicts, unless this access alone combines their duties.
    """
    given = _all(await duties_given(db, set(gains)))
    found = await _rules_with(db, given, set(), set())
    if not found.rules:
        return []
    # Count people with the same duties together, because there are few combinations.
    rows = await fetch_rows(
        db,
        """SELECT held, count(*) FROM (
               SELECT array_agg(h.duty_id ORDER BY h.duty_id) FILTER (WHERE h.duty_id IS NOT NULL) AS held
               FROM unnest(%(people)s::uuid[]) AS p (id)
               LEFT JOIN duty_holders h ON h.identity_id = p.id AND h.duty_id = ANY(%(duties)s)
               GROUP BY p.id) AS people GROUP BY held""",
        people=list(people),
        duties=list(found.names),
    )
    counts = Counter[UUID]()
    for duties, count in rows:
        held = set(duties or ())
        after = held | given
        new = [id for id, rule in found.rules.items() if rule.joined(after, after) and not rule.joined(held, held)]
        counts.update(dict.fromkeys(new, count))
    return [
        ModelConflicts(id, rule.name, rule.risk, rule.response, counts[id])
        for id, rule in found.rules.items()
        if counts[id] or rule.joined(given, given)
    ]
