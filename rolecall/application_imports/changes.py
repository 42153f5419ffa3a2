"""What an import changed, read from the intervals that opened and closed at it."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.relations import RELATIONS, Kind, Relation
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import EVERYTHING, PAGE_SIZE, Page, Settled, all_of, fetch_stretch, settled_rows


class ChangeType(StrEnum):
    NEW = "New"
    ALTERED = "Altered"
    REMOVED = "Removed"


class ChangeItem(msgspec.Struct):
    kind: Kind
    change: ChangeType
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


# The name that a row `r` of a relation is known by, and what it takes to say it.
_NAMES: dict[Kind, tuple[str, str]] = {
    Kind.ACCOUNT: ("a.username", "JOIN accounts a ON a.number = r.account_number"),
    Kind.GROUP: ("g.name", "JOIN groups g ON g.number = r.group_number"),
    Kind.MEMBERSHIP: (
        "a.username || ' in ' || g.name",
        "JOIN accounts a ON a.number = r.account_number JOIN groups g ON g.number = r.group_number",
    ),
    Kind.PERMISSION: (
        "concat_ws(' / ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, ''))",
        "JOIN permissions p ON p.number = r.permission_number",
    ),
    Kind.ASSIGNMENT: (
        """coalesce(a.username, g.name) || ': '
           || concat_ws(' / ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, ''))""",
        """LEFT JOIN accounts a ON a.number = r.holder_number LEFT JOIN groups g ON g.number = r.holder_number
           JOIN permissions p ON p.number = r.permission_number""",
    ),
    Kind.IDENTITY: ("i.last_name || ', ' || i.first_name", "JOIN identities i ON i.id = r.identity_id"),
}
_INTERNAL = {"firstNameKey", "lastNameKey"}
_JSON = {"metadata": "::json"}

# Which rows `r` make a change of import n, and the row before it. The number is written out: one import has millions of
# rows, the next has ten, and no plan serves both. Not `IS NULL`, which the planner takes for no row: it would sort all.
_ROWS = {
    ChangeType.NEW: ("r.from_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.until_import = {n:d}"),
    ChangeType.ALTERED: ("r.from_import = {n:d} AND o.from_import IS NOT NULL", "o.until_import = {n:d}"),
    ChangeType.REMOVED: ("r.until_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.from_import = {n:d}"),
}


async def changes_of(
    db: Db, import_id: UUID, page: int, kind: Kind | None, change: ChangeType | None
) -> Page[ChangeItem]:
    """By kind, then new, altered, removed. The counts were kept when the import finished."""
    rows = await fetch_rows(
        db,
        """SELECT i.number, r.changes FROM application_imports i LEFT JOIN import_runs r ON r.import_id = i.id
           WHERE i.id = %(id)s""",
        id=import_id,
    )
    if not rows:
        raise NotFound("ApplicationImport", import_id)
    number, counts = rows[0]
    parts = [
        (relation, type, counts[relation.kind][type.lower()])
        for relation in RELATIONS
        for type in ChangeType
        if counts and relation.kind and kind in (None, relation.kind) and change in (None, type)
    ]
    if page == EVERYTHING:
        return all_of([settled_rows(_changes(relation, type, number)) for relation, type, _ in parts])
    total = sum(count for *_, count in parts)
    items = [
        item
        for relation, type, skip, take in _within(parts, (page - 1) * PAGE_SIZE)
        for item in await _stretch(db, import_id, number, relation, type, skip, take)
    ]
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


async def _stretch(
    db: Db, import_id: UUID, number: int, relation: Relation, type: ChangeType, skip: int, take: int
) -> list[ChangeItem]:
    name = f"{type} of {relation.table} by {import_id}"
    _, items = await fetch_stretch(db, _changes(relation, type, number), name, skip, take)
    return items


def _within(
    parts: Sequence[tuple[Relation, ChangeType, int]], offset: int
) -> Iterator[tuple[Relation, ChangeType, int, int]]:
    """The stretches of the parts that a page covers."""
    wanted = PAGE_SIZE
    for relation, type, count in parts:
        if offset < count and wanted:
            take = min(count - offset, wanted)
            yield relation, type, offset, take
            wanted -= take
        offset = max(offset - count, 0)


def _changes(relation: Relation, type: ChangeType, number: int) -> Settled[ChangeItem]:
    assert relation.kind
    name, joins = _NAMES[relation.kind]
    which, other = (part.format(n=number) for part in _ROWS[type])
    shown = relation.values
    return Settled(
        columns=f"{name}, {_object('r', shown)}, {_object('o', shown)}",
        rows=f"""FROM {relation.table} r
                 LEFT JOIN {relation.table} o ON {relation.same_key("r", "o")} AND {other} {joins} WHERE {which}""",
        key={f"r.{column}": "uuid" if column.endswith("_id") else "int" for column in relation.key},
        make=partial(_item, relation.kind, type),
    )


def _object(row: str, columns: Sequence[str]) -> str:
    pairs = ", ".join(f"'{_camel(column)}', {row}.{column}{_JSON.get(column, '')}" for column in columns)
    return f"json_build_object({pairs})"


def _camel(column: str) -> str:
    first, *rest = column.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _item(kind: Kind, type: ChangeType, row: Sequence[Any]) -> ChangeItem:
    name, new, old = row
    said, was = _flat(new), _flat(old)
    match type:
        case ChangeType.NEW:
            return ChangeItem(kind, type, name, None, said)
        case ChangeType.REMOVED:
            return ChangeItem(kind, type, name, said, None)
        case ChangeType.ALTERED:
            differ = [field for field in {**was, **said} if was.get(field) != said.get(field)]
            before = {field: was.get(field) for field in differ}
            return ChangeItem(kind, type, name, before, {field: said.get(field) for field in differ})


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """What a source said of an identity is shown as fields of it."""
    fields = {_camel(name): value for name, value in (row.get("fields") or {}).items()}
    return {name: value for name, value in row.items() if name not in _INTERNAL | {"fields"}} | fields
