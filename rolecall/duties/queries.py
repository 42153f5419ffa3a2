"""Read duties and the entitlements that they match, rules, and the holders of duties."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_page, totals_by
from rolecall.duties.model import ConflictStatus, Pattern, RuleDefinition
from rolecall.duties.shapes import (
    DutyAccess,
    DutyAccount,
    DutyDetail,
    DutyHolder,
    DutyItem,
    DutyPerson,
    DutyReference,
    MatchedPattern,
    RuleDetail,
    RuleItem,
    SideImport,
)
from rolecall.duties.unmatched import warnings_of
from rolecall.entitlements.model import EntitlementKind
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import Level


async def by_name(db: Db, page: int) -> Page[DutyItem]:
    found = await fetch_page(
        db,
        # The number of holders is a stored total, which is read below for the whole page.
        lambda row: DutyItem(*(*row, 0)),
        page,
        total="SELECT count(*) FROM duties",
        items="""SELECT d.id, 'Duty' AS kind, d.name, d.description,
                        (SELECT count(*) FROM duty_entitlements e WHERE e.duty_id = d.id) AS entitlements
                 FROM duties d ORDER BY d.name_key, d.id""",
    )

    async def with_holders(db: Db, items: Sequence[DutyItem]) -> list[DutyItem]:
        counts = await holder_counts(db, [item.id for item in items])
        return [msgspec.structs.replace(item, holders=counts[item.id]) for item in items]

    return await found.completed(db, with_holders)


async def holder_counts(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    counts = await totals_by(db, "duty_holders", "duty_id", [str(id) for id in ids])
    return {id: counts[str(id)] for id in ids}


async def get(db: Db, id: str | UUID) -> DutyDetail:
    known = known_guid("Duty", str(id))
    rows = await fetch_rows(
        db, "SELECT name, description, patterns, created_at, changed_at FROM duties WHERE id = %(id)s", id=known
    )
    if not rows:
        raise NotFound("Duty", id)
    name, description, stored, created, changed = rows[0]
    patterns = await matched(db, msgspec.convert(stored, list[Pattern]))
    rules = await rules_naming(db, known)
    holders = (await holder_counts(db, [known]))[known]
    warnings = await warnings_of(db, patterns)
    return DutyDetail(known, "Duty", name, description, patterns, holders, rules, warnings, created, changed)


async def matched(db: Db, patterns: Sequence[Pattern]) -> list[MatchedPattern]:
    """Return each pattern with the number of entitlements that it matches, except those that imports no longer show."""
    rows = await fetch_rows(
        db,
        """SELECT m.place, count(*) FROM entitlements_matching(%(patterns)s, NULL) AS m
           JOIN entitlements e ON e.kind = m.kind AND e.number = m.number WHERE e.is_present GROUP BY m.place""",
        patterns=Jsonb(msgspec.to_builtins(patterns)),
    )
    counts: dict[int, int] = dict(rows)
    return [
        MatchedPattern(*(*msgspec.structs.astuple(pattern), counts.get(place, 0)))
        for place, pattern in enumerate(patterns)
    ]


async def rules_naming(db: Db, id: UUID) -> list[DutyReference]:
    """Return the rules whose committed version or draft uses a duty."""
    return await fetch_all(
        db,
        DutyReference,
        """SELECT id, name FROM duty_rules
           WHERE definition -> 'conflicts' @> %(names)s OR draft -> 'conflicts' @> %(names)s
              OR definition ->> 'without' = %(id)s::text OR draft ->> 'without' = %(id)s::text ORDER BY name_key""",
        id=id,
        names=Jsonb([str(id)]),
    )


async def is_on_record(db: Db, id: UUID) -> bool:
    """Return whether the stored access of any past conflict refers to this duty."""
    found: bool = await fetch_value(db, "SELECT EXISTS (SELECT FROM past_sides WHERE duty_id = %(id)s)", id=id)
    return found


async def names(db: Db) -> list[DutyReference]:
    """Return all duties, ordered by name."""
    return await fetch_all(db, DutyReference, "SELECT id, name FROM duties ORDER BY name_key, id")


async def rule_names(db: Db) -> list[DutyReference]:
    """Return all rules, ordered by name."""
    return await fetch_all(db, DutyReference, "SELECT id, name FROM duty_rules ORDER BY name_key, id")


async def names_of(db: Db, ids: Iterable[UUID]) -> dict[UUID, str]:
    return dict(await fetch_rows(db, "SELECT id, name FROM duties WHERE id = ANY(%(ids)s)", ids=list(ids)))


# The columns of a DutyPerson for an identity `i`.
PERSON = "i.id, i.first_name || ' ' || i.last_name, i.title, i.department, i.status"


def a_person(row: Sequence[Any]) -> DutyPerson:
    id, name, title, department, status = row
    return DutyPerson(id, name, title, department, IdentityStatus(status))


def _a_holder(row: Sequence[Any]) -> DutyHolder:
    return DutyHolder(a_person(row), [])


_HOLDERS = Listing(
    table="duty_holders",
    row="h",
    columns=PERSON,
    joins="JOIN identities i ON i.id = h.identity_id",
    make=_a_holder,
    facets=("duty_id",),
)

# The people who held a duty at a past time.
_HELD_THEN = """WITH held AS MATERIALIZED (
        SELECT DISTINCT identity_then(a, %(moment)s) AS id
        FROM duty_entitlements d JOIN entitlements e ON e.kind = d.kind AND e.number = d.number
        CROSS JOIN LATERAL (
            SELECT max(r.number)::int AS number FROM application_imports r
            WHERE r.application_id = e.application_id AND r.status = 'Finished' AND r.build_end <= %(moment)s) AS last
        CROSS JOIN LATERAL holdings_of(e.id, last.number) AS h JOIN accounts a ON a.number = h.account
        WHERE d.duty_id = %(id)s AND last.number IS NOT NULL AND h.id = e.id AND access_rank(h.access) >= d.lowest
    )"""


async def holders(db: Db, id: str, page: int, as_of: datetime | None) -> Page[DutyHolder]:
    """List the people who hold a duty, ordered by name, with the access that gives it."""
    duty = await get(db, id)
    if as_of is None:
        found = await fetch_listed(db, _HOLDERS, page, duty_id=duty.id)
    else:
        found = await fetch_page(
            db,
            _a_holder,
            page,
            given=_HELD_THEN,
            total="SELECT count(*) FROM held WHERE id IS NOT NULL",
            items=f"SELECT {PERSON} FROM held JOIN identities i ON i.id = held.id ORDER BY i.list_key",
            id=duty.id,
            moment=as_of,
        )

    async def with_access(db: Db, items: Sequence[DutyHolder]) -> list[DutyHolder]:
        access = await access_by(db, [duty.id], [item.identity.id for item in items], as_of)
        return [msgspec.structs.replace(item, access=access[item.identity.id, duty.id]) for item in items]

    return await found.completed(db, with_access)


# SQL for the access at a single time. PostgreSQL plans it better than a join with a list of times.
_HELD_ONCE = """SELECT 0 AS n, d.* FROM duty_access(
    %(duties)s, %(people)s::uuid[], (%(moments)s::timestamptz[])[1]) AS d WHERE cardinality(%(places)s::int[]) > 0"""
# All entries with the same `n` have the same moment, so `max` returns it; null means now.
_HELD_AT_MOMENTS = """SELECT at.n, d.* FROM (
        SELECT n, max(moment) AS moment, array_agg(identity_id) AS people
        FROM unnest(%(places)s::int[], %(moments)s::timestamptz[], %(people)s::uuid[]) AS u (n, moment, identity_id)
        GROUP BY n) AS at
    CROSS JOIN LATERAL duty_access(%(duties)s, at.people, at.moment) AS d"""
# The columns of a DutyAccess for access `h`.
_ACCESS = """e.id, e.kind, o.id, o.name, e.header, e.section, e.name, e.risk_rating, h.access, a.id, a.username,
    group_names(h.path), lower(h.during), r.build_end,
    (SELECT group_header(v.nomenclature) FROM group_versions v WHERE v.group_number = h.path[1]
     ORDER BY v.from_import DESC LIMIT 1)"""
_ACCESS_JOINS = """JOIN entitlements e ON e.kind = h.kind AND e.number = h.number
    JOIN applications o ON o.id = e.application_id JOIN accounts a ON a.number = h.account
    JOIN application_imports r ON r.number = lower(h.during)"""
HeldAccess = dict[tuple[UUID, UUID], list[DutyAccess]]


async def access_by(db: Db, duties: Iterable[UUID], people: Iterable[UUID], as_of: datetime | None) -> HeldAccess:
    """Return the access that gives people these duties, for each person and duty, now or at a past time."""
    return (await access_at(db, duties, {as_of: people}))[as_of]


async def access_at(
    db: Db, duties: Iterable[UUID], people: Mapping[datetime | None, Iterable[UUID]]
) -> dict[datetime | None, HeldAccess]:
    """Return the access that gives people these duties, for each person and duty, at several times; None means now."""
    entries = [(n, moment, id) for n, (moment, ids) in enumerate(people.items()) for id in set(ids)]
    places, moments, identities = zip(*entries, strict=True) if entries else ((), (), ())
    rows = await fetch_rows(
        db,
        f"""SELECT h.n, h.identity_id, h.duty_id, {_ACCESS}
           FROM ({_HELD_ONCE if len(people) == 1 else _HELD_AT_MOMENTS}) AS h {_ACCESS_JOINS}
           ORDER BY o.name_key, e.name_key, a.username, h.path""",
        duties=list(set(duties)),
        places=list(places),
        moments=list(moments),
        people=list(identities),
    )
    found = [defaultdict[tuple[UUID, UUID], list[DutyAccess]](list) for _ in people]
    for n, identity_id, duty_id, *columns in rows:
        found[n][identity_id, duty_id].append(_an_access(columns))
    return dict(zip(people, found, strict=True))


async def kept_access(db: Db, conflicts: Sequence[UUID]) -> dict[UUID, dict[DutyReference, list[DutyAccess]]]:
    """Return the access that gave each duty in these conflicts, as stored before a duty, rule or match was changed."""
    rows = await fetch_rows(
        db,
        f"""SELECT h.conflict_id, d.id, d.name, {_ACCESS}
            FROM past_sides h JOIN duties d ON d.id = h.duty_id {_ACCESS_JOINS}
            WHERE h.conflict_id = ANY(%(ids)s) ORDER BY d.name_key, o.name_key, e.name_key, a.username, h.path""",
        ids=list(conflicts),
    )
    found = defaultdict[UUID, dict[DutyReference, list[DutyAccess]]](dict)
    for conflict_id, duty_id, name, *columns in rows:
        found[conflict_id].setdefault(DutyReference(duty_id, name), []).append(_an_access(columns))
    return found


def _an_access(row: Sequence[Any]) -> DutyAccess:
    id, kind, there, application, *names, risk, access, account, username, path, number, end, group_header = row
    application, rated = DutyReference(there, application), (Level(risk), Access(access))
    way = DutyAccount(account, username), path, group_header or "", SideImport(number, end)
    return DutyAccess(*(id, EntitlementKind(kind), application, *names, *rated, *way))


async def rules_by_name(db: Db, page: int) -> Page[RuleItem]:
    found = await fetch_page(
        db,
        # The items are built below, when the names of all duties on the page are known.
        lambda row: row,
        page,
        total="SELECT count(*) FROM duty_rules",
        items="""SELECT r.id, coalesce(r.definition, r.draft), r.version, r.draft IS NOT NULL,
                        o.id, o.first_name || ' ' || o.last_name
                 FROM duty_rules r
                 LEFT JOIN identities o ON o.id = (coalesce(r.definition, r.draft) ->> 'ownerId')::uuid
                 ORDER BY r.name_key, r.id""",
    )

    async def as_items(db: Db, rows: Sequence[Sequence[Any]]) -> list[Any]:
        read = [(row, msgspec.convert(row[1], RuleDefinition)) for row in rows]
        names = await names_of(db, {id for _, rule in read for id in rule.duties})
        counts = await conflict_counts(db, [row[0] for row in rows])
        return [_an_item(row, rule, names, counts) for row, rule in read]

    return await found.completed(db, as_items)  # type: ignore[return-value]


def _an_item(
    row: Sequence[Any], rule: RuleDefinition, names: dict[UUID, str], counts: dict[UUID, tuple[int, int]]
) -> RuleItem:
    id, _, version, has_draft, owner_id, owner = row
    return RuleItem(
        id,
        "Duty Rule",
        rule.name,
        rule.description,
        rule.risk,
        rule.response,
        DutyReference(owner_id, owner) if owner_id else None,
        [DutyReference(duty, names[duty]) for duty in rule.conflicts],
        DutyReference(rule.without, names[rule.without]) if rule.without else None,
        rule.enabled and version > 0,
        version,
        has_draft,
        *counts[id],
    )


async def conflict_counts(db: Db, ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """Count the open and the excepted conflicts of rules."""
    texts = [str(id) for id in ids]
    open = await totals_by(db, "conflicts", "rule_id", texts, status=ConflictStatus.OPEN)
    excepted = await totals_by(db, "conflicts", "rule_id", texts, status=ConflictStatus.EXCEPTED)
    return {id: (open[str(id)], excepted[str(id)]) for id in ids}


async def get_rule(db: Db, id: str | UUID) -> RuleDetail:
    known = known_guid("Duty rule", str(id))
    rows = await fetch_rows(
        db,
        "SELECT version, definition, draft, created_at, changed_at FROM duty_rules WHERE id = %(id)s",
        id=known,
    )
    if not rows:
        raise NotFound("Duty rule", id)
    version, definition, draft, created, changed = rows[0]
    committed, drafted = _definition(definition), _definition(draft)
    mentioned = {duty for rule in (committed, drafted) if rule for duty in rule.duties}
    names = await names_of(db, mentioned)
    duties = [DutyReference(duty, name) for duty, name in sorted(names.items(), key=lambda entry: entry[1])]
    counts = (await conflict_counts(db, [known]))[known]
    return RuleDetail(known, "Duty Rule", version, committed, drafted, duties, *counts, created, changed)


def _definition(stored: Any) -> RuleDefinition | None:
    return stored and msgspec.convert(stored, RuleDefinition)


async def definitions(db: Db, name: str | None = None) -> list[tuple[bool, RuleDefinition]]:
    """Return whether each rule was committed, and its definition or first draft. `name` selects one rule."""
    rows = await fetch_rows(
        db,
        """SELECT definition IS NOT NULL, coalesce(definition, draft) FROM duty_rules
           WHERE %(name)s::text IS NULL OR name = %(name)s ORDER BY name_key, id""",
        name=name,
    )
    return [(is_committed, msgspec.convert(definition, RuleDefinition)) for is_committed, definition in rows]


async def rules_in_effect(db: Db) -> dict[UUID, RuleDefinition]:
    rows = await fetch_rows(db, "SELECT id, definition FROM duty_rules WHERE is_in_effect ORDER BY name_key, id")
    return {id: msgspec.convert(definition, RuleDefinition) for id, definition in rows}
