"""Query the catalogue: groups and permissions of all applications, now or at a past moment."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.moments import with_missing
from rolecall.applications.queries import SUMMARY_COLUMNS, SUMMARY_WIDTH, summary_from_row
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import (
    EVERYTHING,
    FrozenListing,
    Listing,
    Page,
    PastPage,
    fetch_frozen,
    fetch_listed,
    fetch_page,
    whole,
)
from rolecall.entitlements.counting import LAST_IMPORTS, STATE_OF_IMPORTS, counts_now, holders_then, stored_holders_then
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.shapes import (
    Curated,
    EntitlementDetail,
    EntitlementItem,
    EntitlementReference,
    GivingGroup,
    HolderCounts,
    Owner,
)
from rolecall.settings.policy import Level

# An entitlement `e` with its application `a`, its curation `c`, its owner `o` and the application's owner `p`.
_JOINS = """JOIN applications a ON a.id = e.application_id
    LEFT JOIN curations c ON c.entitlement_id = latest_self(e.id)
    LEFT JOIN identities o ON o.id = e.owner_id
    LEFT JOIN identities p ON p.id = a.owner_id AND p.status = 'Active'"""
_SEEN = (
    "SELECT r.build_end FROM application_imports r WHERE r.application_id = e.application_id AND r.status = 'Finished'"
)
_COLUMNS = f"""e.id, e.kind, {SUMMARY_COLUMNS}, e.name, e.header, e.section, e.description, e.display_name,
    coalesce(c.explanation, ''), e.risk_rating, e.is_privileged, o.id, o.first_name || ' ' || o.last_name,
    o.status = 'Active', p.id, p.first_name || ' ' || p.last_name, e.tags,
    ({_SEEN} AND r.number = e.first_import),
    ({_SEEN} AND r.number < coalesce(e.gone_import, now_import()) ORDER BY r.number DESC LIMIT 1)"""


def from_row(row: Sequence[Any]) -> EntitlementItem:
    id, kind, *rest = row
    summary, rest = rest[:SUMMARY_WIDTH], rest[SUMMARY_WIDTH:]
    *said, owner_id, owner, is_active, stand_in_id, stand_in, tags, first, last = rest
    curated = Owner(owner_id, owner) if owner_id else None
    instead = Owner(stand_in_id, stand_in) if stand_in_id else None
    has_left = curated is not None and not is_active
    owners = (instead, curated) if has_left else (curated, None)
    return EntitlementItem(*(id, kind, summary_from_row(summary), *said, *owners, tags, HolderCounts(), first, last))


ENTITLEMENTS = Listing(
    table="entitlements",
    row="e",
    columns=_COLUMNS,
    joins=_JOINS,
    make=from_row,
    facets=("application_id", "kind", "risk_rating"),
)


class EntitlementFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Which entitlements to list; None means no filter."""

    application_id: UUID | None = None
    kind: EntitlementKind | None = None
    search: str | None = None
    risk_rating: Level | None = None
    is_privileged: bool | None = None
    owner_id: UUID | None = None
    tag: str | None = None

    def columns(self) -> dict[str, object]:
        """Return the filters that compare a column with a value, by column name."""
        given = msgspec.structs.asdict(self)
        others = ("search", "tag", "owner_id")
        return {name: given[name] for name in given if name not in others and given[name] is not None}

    def are_listed(self) -> bool:
        """Return whether an index can find the rows for these filters in the order of the list."""
        return self.search is None and self.tag is None and self.owner_id is None and self.is_privileged is not False

    def are_stored(self) -> bool:
        """Return whether pages of past moments are stored for these filters: not with a search, a tag or an owner."""
        return self.search is None and self.tag is None and self.owner_id is None


async def by_name(
    db: Db, page: int, filters: EntitlementFilters, as_of: datetime | None = None
) -> PastPage[EntitlementItem]:
    """List entitlements, ordered by name, with their holder counts, now or at a past moment."""
    if as_of is not None:
        found = await _at(db, page, filters, as_of)
    elif filters.are_listed() and (filters.application_id or not await _some_archived(db)):
        found = await fetch_listed(db, ENTITLEMENTS, page, **filters.columns())
    else:
        found = await _searched(db, page, filters)

    async def with_counts(db: Db, items: Sequence[EntitlementItem]) -> list[EntitlementItem]:
        # An export reads from a read-only snapshot, so it cannot store counts.
        ids, keep = [item.id for item in items], page != EVERYTHING
        if as_of is None:
            counts = await counts_now(db, ids, keep=keep)
            return [msgspec.structs.replace(item, holders=counts.get(item.id, HolderCounts())) for item in items]
        is_stored = keep and filters.are_stored()
        then = await (stored_holders_then if is_stored else holders_then)(db, ids, as_of)
        return [
            msgspec.structs.replace(
                item, holders=then[item.id].holders, risk_rating=then[item.id].risk_rating or item.risk_rating
            )
            for item in items
        ]

    return await with_missing(db, await found.completed(db, with_counts), filters.application_id, as_of)


async def are_totals_stored(db: Db, filters: EntitlementFilters) -> bool:
    """Return whether the total for these filters is stored, so that no rows need to be counted."""
    is_kept = set(filters.columns()) <= set(ENTITLEMENTS.facets)
    return filters.are_listed() and is_kept and (bool(filters.application_id) or not await _some_archived(db))


async def _some_archived(db: Db) -> bool:
    found: bool = await fetch_value(
        db,
        """SELECT EXISTS (SELECT FROM applications a JOIN entitlements e ON e.application_id = a.id
                          WHERE a.is_archived AND e.list_key IS NOT NULL)""",
    )
    return found


# SQL condition on the owner that the list shows: the curated owner or, if that person left, the application's owner.
_OWNED = """EXISTS (SELECT FROM identities o WHERE o.id = %(by_owner_id)s AND o.status = 'Active')
    AND (e.owner_id = %(by_owner_id)s
         OR EXISTS (SELECT FROM identities o WHERE o.id = e.owner_id AND o.status <> 'Active')
         AND e.application_id IN (SELECT a.id FROM applications a WHERE a.owner_id = %(by_owner_id)s))"""


def _conditions(filters: EntitlementFilters) -> tuple[str, dict[str, Any]]:
    """Return SQL conditions on `e` for all filters, and their values."""
    values: dict[str, Any] = {f"by_{name}": value for name, value in filters.columns().items()}
    conditions = [f"e.{name} = %(by_{name})s" for name in filters.columns()]
    if filters.tag is not None:
        conditions.append("e.tags @> ARRAY[%(by_tag)s::text] AND e.tags <> '{}'")
        values["by_tag"] = filters.tag
    if filters.owner_id is not None:
        conditions.append(_OWNED)
        values["by_owner_id"] = filters.owner_id
    if filters.search is not None:
        conditions.append(
            "strpos(username_key(concat_ws(' ', nullif(e.display_name, ''), e.header, nullif(e.section, ''), e.name)),"
            " username_key(%(by_search)s)) > 0"
        )
        values["by_search"] = " ".join(filters.search.split())
    return "".join(f" AND {condition}" for condition in conditions), values


async def _searched(db: Db, page: int, filters: EntitlementFilters) -> Page[EntitlementItem]:
    """Find entitlements without a stored list: for filters such as a part of the name, or to leave out applications.

    Archived applications are left out, unless the filter selects an application. The total is counted for each call,
    so the cost grows with the catalogue.
    """
    if page == EVERYTHING:
        rows, values = rows_that_match(filters, _JOINS)
        return whole(from_row, f"SELECT {_COLUMNS} {rows} ORDER BY e.list_key", **values)
    rows, values = rows_that_match(filters)
    ids = await fetch_page(
        db,
        lambda row: row[0],
        page,
        total=f"SELECT count(*) {rows}",
        items=f"SELECT e.id {rows} ORDER BY e.list_key",
        **values,
    )
    found = await by_id(db, ids.items)
    return Page([found[id] for id in ids.items], ids.total_count, page, ids.page_size, ids.total_pages)


def rows_that_match(filters: EntitlementFilters, joins: str = "") -> tuple[str, dict[str, Any]]:
    """Return FROM and WHERE clauses for the entitlements `e` that match the filters, and the parameter values."""
    conditions, values = _conditions(filters)
    if filters.application_id is None:
        conditions += " AND e.application_id NOT IN (SELECT id FROM applications WHERE is_archived)"
    return f"FROM entitlements e {joins} WHERE e.list_key IS NOT NULL{conditions}", values


MOST_SUGGESTED = 20


async def suggested(
    db: Db, application_ids: Collection[UUID], words: str, left_out: Collection[UUID] = ()
) -> list[EntitlementItem]:
    """Return the first 20 entitlements whose name contains `words` (without words: any), without holder counts.

    Search the given applications, or all if none is given. Skip the entitlements in `left_out`. Also skip those of
    archived applications, unless exactly one application is given.
    """
    # Compare a single application with `=`, which an index in the order of the list supports.
    one = next(iter(application_ids)) if len(application_ids) == 1 else None
    rows, values = rows_that_match(EntitlementFilters(application_id=one, search=words or None), _JOINS)
    several = "AND e.application_id = ANY(%(several)s)" if len(application_ids) > 1 else ""
    found = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} {rows} {several} AND NOT e.id = ANY(%(left_out)s)
            ORDER BY e.list_key LIMIT {MOST_SUGGESTED}""",
        several=list(application_ids),
        left_out=list(left_out),
        **values,
    )
    return [from_row(row) for row in found]


async def former_names(db: Db, entitlement: EntitlementDetail) -> list[EntitlementReference]:
    """List up to 200 entitlements of the same kind that may be former names of this one.

    The last import no longer shows them, and no other entitlement has them as former names.
    """
    return await fetch_all(
        db,
        EntitlementReference,
        """SELECT e.id, coalesce(nullif(e.name, ''), e.section) AS name FROM entitlements e
           WHERE e.application_id = %(application)s AND e.kind = %(kind)s AND NOT e.is_present AND e.id <> %(id)s
             AND NOT EXISTS (SELECT FROM curations c WHERE c.same_as = e.id AND c.entitlement_id <> %(id)s)
           ORDER BY e.gone_import DESC, e.name_key LIMIT 200""",
        application=entitlement.application.id,
        kind=entitlement.kind,
        id=entitlement.id,
    )


async def by_id(db: Db, ids: Sequence[UUID]) -> dict[UUID, EntitlementItem]:
    """Return entitlements by id, without holder counts."""
    rows = await fetch_rows(
        db, f"SELECT {_COLUMNS} FROM entitlements e {_JOINS} WHERE e.id = ANY(%(ids)s)", ids=list(ids)
    )
    return {row[0]: from_row(row) for row in rows}


_VALID = "v.from_import <= last.number AND (v.until_import IS NULL OR v.until_import > last.number)"
# The entitlements present at a past moment, as imported then, with today's curated fields. A renamed entitlement has
# the curated fields of its latest name.
ENTITLEMENTS_AT = f"""(
    SELECT e.id, e.kind, e.number, e.application_id, shown.header, e.section, e.name, shown.description,
           coalesce(k.display_name, '') AS display_name,
           coalesce(e.curated_risk, shown.risk_rating, given_risk_at(e.number, last.number)) AS risk_rating,
           coalesce(k.is_privileged, false) AS is_privileged, k.owner_id, coalesce(k.tags, '{{}}') AS tags, e.name_key,
           e.first_import, e.gone_import
    FROM entitlements e JOIN {LAST_IMPORTS} AS last ON last.application_id = e.application_id
    LEFT JOIN curations k ON k.entitlement_id = latest_self(e.id)
    CROSS JOIN LATERAL (
        SELECT e.header, v.description, v.risk_rating FROM permission_versions v
        WHERE e.kind = 'Permission' AND v.permission_number = e.number AND {_VALID}
        UNION ALL
        SELECT group_header(v.nomenclature), v.description, NULL FROM group_versions v
        WHERE e.kind = 'Group' AND v.group_number = e.number AND {_VALID}
    ) AS shown)"""


async def _at(db: Db, page: int, filters: EntitlementFilters, moment: datetime) -> Page[EntitlementItem]:
    """List the entitlements that were present at a past moment, including those of applications archived later."""
    conditions, values = _conditions(filters)
    rows = f"FROM {ENTITLEMENTS_AT} AS e {_JOINS} WHERE true{conditions}"
    # Do not compute the ratings of groups here: the query that counts the holders returns them.
    columns = _COLUMNS.replace("e.risk_rating", "CASE WHEN e.kind = 'Group' THEN 'None' ELSE e.risk_rating END")
    if not filters.are_stored():
        items = f"SELECT {columns} {rows} ORDER BY e.name_key"
        return await fetch_page(
            db, from_row, page, total=f"SELECT count(*) {rows}", items=items, moment=moment, **values
        )
    listing = FrozenListing(
        columns=columns,
        rows=rows,
        key={"e.name_key": "text"},
        make=from_row,
        version="coalesce((SELECT max(changed_on)::text FROM curations), '')",
    )
    # All moments between two consecutive imports share stored pages until a curation changes.
    last = await fetch_value(db, STATE_OF_IMPORTS, moment=moment)
    name = f"entitlements at {last} {sorted(values.items())} curated "
    return await fetch_frozen(db, listing, name, page, moment=moment, **values)


async def uncounted(db: Db, id: str | UUID) -> EntitlementItem:
    """Get one entitlement without holder counts, even if the last import no longer shows it."""
    known = known_guid("Entitlement", str(id))
    found = (await by_id(db, [known])).get(known)
    if found is None:
        raise NotFound("Entitlement", id)
    return found


async def get(db: Db, id: str | UUID) -> EntitlementDetail:
    """Get one entitlement, even if the last import no longer shows it."""
    found = await uncounted(db, id)
    known = found.id
    [(is_present, imported, cycle, parents, same_as, renamed_to)] = await fetch_rows(db, _MORE, id=known)
    counted = (await counts_now(db, [known]))[known]
    item = msgspec.structs.replace(found, holders=counted)
    joined = (msgspec.convert(other, EntitlementReference | None) for other in (same_as, renamed_to))
    above = msgspec.convert(parents, list[EntitlementReference])
    return EntitlementDetail(*(*msgspec.structs.astuple(item), is_present, imported, above, cycle, *joined))


_REFERENCE = "json_build_object('id', x.id, 'name', coalesce(nullif(x.name, ''), x.section))"
_MORE = f"""
    SELECT e.is_present, coalesce(s.risk_rating, given_risk_at(e.number, NULL)),
           CASE WHEN e.kind = 'Group' THEN group_names(group_cycle(e.number, now_import())) ELSE '{{}}' END,
           (SELECT coalesce(json_agg({_REFERENCE} ORDER BY cardinality(w.path)), '[]')
            FROM groups_above(ARRAY[e.number], now_import()) AS w JOIN entitlements x ON x.number = w.above
            WHERE e.kind = 'Group' AND x.kind = 'Group' AND w.above <> e.number),
           (SELECT {_REFERENCE} FROM curations c JOIN entitlements x ON x.id = c.same_as WHERE c.entitlement_id = e.id),
           (SELECT {_REFERENCE} FROM curations c JOIN entitlements x ON x.id = c.entitlement_id
            WHERE c.same_as = e.id LIMIT 1)
    FROM entitlements e JOIN shown_entitlements s ON s.id = e.id WHERE e.id = %(id)s"""


async def curation(db: Db, id: UUID) -> Curated:
    """Return the curated fields of an entitlement as stored, without fallbacks such as the application's owner."""
    found = await fetch_one(
        db,
        Curated,
        """SELECT display_name, explanation, owner_id, risk_rating, is_privileged, tags
           FROM curations WHERE entitlement_id = latest_self(%(id)s)""",
        id=id,
    )
    return found or Curated()


# How many groups `groups_that_give` returns at most; thousands of groups may give an entitlement.
_MOST_GROUPS = 30


async def groups_that_give(db: Db, id: UUID) -> list[GivingGroup]:
    """List the groups whose members hold an entitlement now, nearest first.

    For a permission: the groups it is assigned to, then groups nested in them. For a group: the groups nested in it.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT x.id, x.name, min(cardinality(b.path)) AS depth
            FROM entitlements e CROSS JOIN LATERAL (
                SELECT e.number AS giver WHERE e.kind = 'Group'
                UNION ALL
                SELECT g.number FROM assignments_of(e.number, now_import()) AS s
                JOIN groups g ON g.number = s.holder_number
                WHERE e.kind = 'Permission' AND s.access NOT IN ('None', 'Deny')
            ) AS given
            CROSS JOIN LATERAL groups_below(given.giver, now_import()) AS b
            JOIN entitlements x ON x.kind = 'Group' AND x.number = b.number AND x.id <> e.id
            WHERE e.id = %(id)s GROUP BY x.id, x.name ORDER BY depth, x.name_key LIMIT {_MOST_GROUPS}""",
        id=id,
    )
    counts = await counts_now(db, [id for id, _, _ in rows])
    return [GivingGroup(id, name, depth, counts.get(id, HolderCounts()).accounts) for id, name, depth in rows]


async def groups_named(db: Db, application_id: UUID, names: Iterable[str]) -> dict[str, UUID]:
    rows = await fetch_rows(
        db,
        "SELECT g.name, g.id FROM groups g WHERE g.application_id = %(application)s AND g.name = ANY(%(names)s)",
        application=application_id,
        names=list(set(names)),
    )
    return dict(rows)


Named = tuple[UUID, str, str, str]


async def ids_by_name(db: Db, named: Iterable[Named]) -> dict[Named, UUID]:
    keys = list(set(named))
    rows = await fetch_rows(
        db,
        """SELECT e.application_id, e.header, e.section, e.name, e.id
           FROM unnest(%(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[], %(names)s::text[])
                AS n (application_id, header, section, name)
           JOIN entitlements e USING (application_id, header, section, name)""",
        applications=[key[0] for key in keys],
        headers=[key[1] for key in keys],
        sections=[key[2] for key in keys],
        names=[key[3] for key in keys],
    )
    return {(application_id, header, section, name): id for application_id, header, section, name, id in rows}
