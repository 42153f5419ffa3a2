"""Read the sides of conflicts: each duty with the access that gives it, and the requests and models that explain it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from rolecall.conflicts.shapes import ConflictingGroup, ConflictItem, ConflictSide, SideAccess, Through, ThroughAccess
from rolecall.core.db import Db, fetch_rows
from rolecall.duties import queries as duties
from rolecall.duties.shapes import DutyAccess, DutyReference
from rolecall.effective_access.queries import Given, Reasons, at, reasons_in
from rolecall.effective_access.shapes import ImportReason, ModelReason, RequestReason
from rolecall.entitlements.model import EntitlementKind


async def sides_of(db: Db, items: Sequence[ConflictItem], as_of: datetime | None) -> list[list[ConflictSide]]:
    """Return the access on each side, now or at a past time. For an ended conflict, return the access when it ended.

    If a duty, the rule or the match of an account has changed since that time, return the sides stored before the
    change.
    """
    kept = await duties.kept_access(db, [item.id for item in items])
    named = await _duties_of(db, {item.rule.id for item in items})
    moments = [item.last_moment or as_of for item in items]
    # Group by moment: the conflicts that one import ended have the same moment and are read together.
    people = defaultdict[datetime | None, set[UUID]](set)
    for item, moment in zip(items, moments, strict=True):
        people[moment].add(item.identity.id)
    access = await duties.access_at(db, {duty.id for each in named.values() for duty in each}, people)
    reasons = await reasons_in(db, {at(moment): ids for moment, ids in people.items()})

    def sides(item: ConflictItem, moment: datetime | None) -> list[ConflictSide]:
        today = {duty: access[moment].get((item.identity.id, duty.id), []) for duty in named[item.rule.id]}
        held = (kept.get(item.id) or today).items()
        return [_side(item.identity.id, duty, entries, reasons[at(moment)]) for duty, entries in held if entries]

    return [sides(item, moment) for item, moment in zip(items, moments, strict=True)]


async def _duties_of(db: Db, rules: set[UUID]) -> dict[UUID, list[DutyReference]]:
    rows = await fetch_rows(
        db,
        # Read the definitions of the rules, because `duty_rule_duties` has only the rules in effect.
        """SELECT r.id, d.id, d.name FROM duty_rules r
           CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(r.definition, r.draft) -> 'conflicts') AS n (id)
           JOIN duties d ON d.id = n.id::uuid WHERE r.id = ANY(%(rules)s) ORDER BY d.name_key""",
        rules=list(rules),
    )
    found = defaultdict[UUID, list[DutyReference]](list)
    for rule_id, id, name in rows:
        found[rule_id].append(DutyReference(id, name))
    return found


def _side(identity_id: UUID, duty: DutyReference, entries: Sequence[DutyAccess], reasons: Reasons) -> ConflictSide:
    def why(entry: DutyAccess) -> SideAccess:
        since = ImportReason(entry.since.number, entry.since.build_end)
        return SideAccess(entry, reasons.why(identity_id, _given(entry), entry.account.username, since))

    return ConflictSide(duty, [why(entry) for entry in entries])


def _given(entry: DutyAccess) -> Given:
    """Return the key of the access in requests and models: for access through groups, the account's own group."""
    there = entry.application.id
    if entry.path or entry.kind is EntitlementKind.GROUP:
        return there, True, "", "", entry.path[0] if entry.path else entry.name
    return there, False, entry.header, entry.section, entry.name


def through_of(sides: Sequence[ConflictSide]) -> Through:
    """Return the requests and models of the side that began last, because this side completed the conflict.

    Also return, for each side, the access that gave the duty first.
    """
    firsts = {side.duty.id: min(each.access.since.build_end for each in side.access) for side in sides}
    last = max(firsts.values(), default=None)
    reasons = [each.why for side in sides if firsts[side.duty.id] == last for each in side.access]
    requests: dict[UUID, RequestReason] = {each.id: each for why in reasons for each in why.access_requests}
    models: dict[UUID, ModelReason] = {each.id: each for why in reasons for each in why.access_models}
    return Through(list(requests.values()), list(models.values()), [_first_access(side) for side in sides])


def _first_access(side: ConflictSide) -> ThroughAccess:
    first = min((each.access for each in side.access), key=lambda each: each.since.build_end)
    return ThroughAccess(side.duty, first.application, first.account.username, first.path, first.name)


def groups_in_conflict(sides: Sequence[ConflictSide]) -> list[ConflictingGroup]:
    """Return the groups that give several of the duties by themselves."""
    given = defaultdict[tuple[DutyReference, str], list[str]](list)
    for side in sides:
        for group in dict.fromkeys(_group_of(each.access) for each in side.access):
            if group:
                given[group].append(side.duty.name)
    return [ConflictingGroup(there, group, names) for (there, group), names in given.items() if len(names) > 1]


def _group_of(entry: DutyAccess) -> tuple[DutyReference, str] | None:
    """Return which of the account's groups gives this access, or None for a permission held directly."""
    if entry.path:
        return entry.application, entry.path[0]
    return (entry.application, entry.name) if entry.kind is EntitlementKind.GROUP else None
