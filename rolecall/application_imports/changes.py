"""List the changes of an import, or the changes that a held import or a dry run would make."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.model import RELATIONS, ChangeType, RecordKind, Relation, Tallies
from rolecall.application_imports.shapes import ChangeItem
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import (
    EVERYTHING,
    PAGE_SIZE,
    FrozenListing,
    Page,
    Rows,
    all_of,
    fetch_stretch,
    frozen_rows,
)

# SQL for the name of a row `r` in the change list, and the joins that it needs.
_NAMES: dict[RecordKind, tuple[str, str]] = {
    RecordKind.ACCOUNT: ("a.username", "JOIN accounts a ON a.number = r.account_number"),
    RecordKind.GROUP: ("g.name", "JOIN groups g ON g.number = r.group_number"),
    RecordKind.MEMBERSHIP: (
        "a.username || ' in ' || g.name",
        "JOIN accounts a ON a.number = r.account_number JOIN groups g ON g.number = r.group_number",
    ),
    RecordKind.PERMISSION: (
        "concat_ws(' / ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, ''))",
        "JOIN permissions p ON p.number = r.permission_number",
    ),
    RecordKind.ASSIGNMENT: (
        """coalesce(a.username, g.name) || ': '
           || concat_ws(' / ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, ''))""",
        """LEFT JOIN accounts a ON a.number = r.holder_number LEFT JOIN groups g ON g.number = r.holder_number
           JOIN permissions p ON p.number = r.permission_number""",
    ),
    RecordKind.IDENTITY: ("i.last_name || ', ' || i.first_name", "JOIN identities i ON i.id = r.identity_id"),
}
_INTERNAL = {"firstNameKey", "lastNameKey"}
_JSON = {"metadata": "::json"}

# For each type of change by import n: the condition for the rows `r`, and the join condition for `o`, the version that
# `r` replaced. For a removed row, `o` is a version that replaced `r`: there must be none. The number n is a literal to
# avoid a generic plan: one import has millions of rows, the next has ten. With `IS NULL` instead of `coalesce`, the
# planner would expect no rows, and sort all rows of the import.
_ROWS = {
    ChangeType.NEW: ("r.from_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.until_import = {n:d}"),
    ChangeType.ALTERED: ("r.from_import = {n:d} AND o.from_import IS NOT NULL", "o.until_import = {n:d}"),
    ChangeType.REMOVED: ("r.until_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.from_import = {n:d}"),
}


async def changes_of(
    db: Db, import_id: UUID, page: int, kind: RecordKind | None, change: ChangeType | None
) -> Page[ChangeItem]:
    """Return a page of changes, sorted by kind, then new, altered and removed.

    For a held import, return the changes that it would make. The counts of changes, from which the total and the pages
    are computed, were stored when the import finished or was held.
    """
    rows = await fetch_rows(
        db,
        """SELECT i.number, r.changes, r.held IS NOT NULL AND i.status = 'Running'
           FROM application_imports i LEFT JOIN import_runs r ON r.import_id = i.id WHERE i.id = %(id)s""",
        id=import_id,
    )
    if not rows:
        raise NotFound("ApplicationImport", import_id)
    number, counts, is_held = rows[0]
    if is_held:
        return await previewed_changes(db, import_id, page, kind, change)
    parts = _parts(counts, kind, change)
    if page == EVERYTHING:
        return all_of([frozen_rows(changes_listing(relation, type, number)) for relation, type, _ in parts])
    total = sum(count for *_, count in parts)
    items = [
        item
        for relation, type, skip, take in _within(parts, (page - 1) * PAGE_SIZE)
        for item in await _stretch(db, import_id, number, relation, type, skip, take)
    ]
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


def _parts(
    counts: dict[str, dict[str, int]] | None, kind: RecordKind | None, change: ChangeType | None
) -> list[tuple[Relation, ChangeType, int]]:
    return [
        (relation, type, counts[relation.kind][type.lower()])
        for relation in RELATIONS
        for type in ChangeType
        if counts and relation.kind and kind in (None, relation.kind) and change in (None, type)
    ]


async def previewed_changes(
    db: Db, id: UUID, page: int, kind: RecordKind | None, change: ChangeType | None
) -> Page[ChangeItem]:
    """Return a page of the changes that a held import or a dry run would make, sorted as in `changes_of`."""
    counts = await fetch_value(db, "SELECT counts FROM previews WHERE id = %(id)s", id=id)
    starts, position = dict[tuple[str, ChangeType], int](), 0
    for relation, type, count in _parts(counts, None, None):
        starts[relation.table, type] = position
        position += count
    parts = _parts(counts, kind, change)
    every = ((relation, type, 0, count) for relation, type, count in parts)
    stretches = every if page == EVERYTHING else _within(parts, (page - 1) * PAGE_SIZE)
    ranges = [(starts[relation.table, type] + skip, take) for relation, type, skip, take in stretches]
    read = [Rows(_PREVIEWED, {"id": id, "first": first, "end": first + take}, _previewed) for first, take in ranges]
    if page == EVERYTHING:
        return all_of(read)
    total = sum(count for *_, count in parts)
    rows = [row for part in read for row in await fetch_rows(db, part.statement, **part.params)]
    return Page([_previewed(row) for row in rows], total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


async def previewed_counts(db: Db, id: UUID) -> Tallies:
    """Return how many changes a held import or a dry run would make; empty if there is no preview."""
    counts = await fetch_value(db, "SELECT counts FROM previews WHERE id = %(id)s", id=id)
    return msgspec.convert(counts or {}, Tallies)


async def counts_of(db: Db, import_id: UUID) -> Tallies:
    """Return how many changes a finished import made; empty if it is not finished."""
    counts = await fetch_value(db, "SELECT changes FROM import_runs WHERE import_id = %(id)s", id=import_id)
    return msgspec.convert(counts or {}, Tallies)


_PREVIEWED = """SELECT kind, change, name, row, other FROM previewed_changes
    WHERE preview_id = %(id)s AND position >= %(first)s AND position < %(end)s ORDER BY position"""


def _previewed(row: Sequence[Any]) -> ChangeItem:
    kind, change, *rest = row
    return _change(RecordKind(kind), ChangeType(change), rest)


async def _stretch(
    db: Db, import_id: UUID, number: int, relation: Relation, type: ChangeType, skip: int, take: int
) -> list[ChangeItem]:
    name = f"{type} of {relation.table} by {import_id}"
    _, items = await fetch_stretch(db, changes_listing(relation, type, number), name, skip, take)
    return items


def _within(
    parts: Sequence[tuple[Relation, ChangeType, int]], offset: int
) -> Iterator[tuple[Relation, ChangeType, int, int]]:
    """For each relation and type of change on a page, yield how many changes to skip and how many to take."""
    wanted = PAGE_SIZE
    for relation, type, count in parts:
        if offset < count and wanted:
            take = min(count - offset, wanted)
            yield relation, type, offset, take
            wanted -= take
        offset = max(offset - count, 0)


def changes_listing(relation: Relation, type: ChangeType, number: int) -> FrozenListing[ChangeItem]:
    """Return the list of changes of one type that import `number` made in one relation."""
    assert relation.kind
    name, joins = _NAMES[relation.kind]
    which, other = (part.format(n=number) for part in _ROWS[type])
    shown = relation.values
    return FrozenListing(
        columns=f"{name}, {_object('r', shown)}, {_object('o', shown)}",
        rows=f"""FROM {relation.table} r
                 LEFT JOIN {relation.table} o ON {relation.same_key("r", "o")} AND {other} {joins} WHERE {which}""",
        key={f"r.{column}": "uuid" if column.endswith("_id") else "int" for column in relation.key},
        make=partial(_change, relation.kind, type),
    )


def _object(row: str, columns: Sequence[str]) -> str:
    pairs = ", ".join(f"'{_camel(column)}', {row}.{column}{_JSON.get(column, '')}" for column in columns)
    return f"json_build_object({pairs})"


def _camel(column: str) -> str:
    first, *rest = column.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _change(kind: RecordKind, type: ChangeType, row: Sequence[Any]) -> ChangeItem:
    name, new, old = row
    after, before = _flat(new), _flat(old)
    match type:
        case ChangeType.NEW:
            return ChangeItem(kind, type, name, None, after)
        case ChangeType.REMOVED:
            return ChangeItem(kind, type, name, after, None)
        case ChangeType.ALTERED:
            differ = [field for field in {**before, **after} if before.get(field) != after.get(field)]
            were = {field: before.get(field) for field in differ}
            return ChangeItem(kind, type, name, were, {field: after.get(field) for field in differ})


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without internal fields. For an identity, the entries of `fields` become fields of the row."""
    fields = {_camel(name): value for name, value in (row.get("fields") or {}).items()}
    return {name: value for name, value in row.items() if name not in _INTERNAL | {"fields"}} | fields
