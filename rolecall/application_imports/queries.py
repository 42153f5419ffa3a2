from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.model import (
    RELATIONS,
    ChangeType,
    DownloadableFile,
    EndedImports,
    FailingSchedule,
    ImportNumbers,
    ImportStatus,
    ImportTarget,
    RecordKind,
    Relation,
    Tallies,
)
from rolecall.application_imports.shapes import ChangeItem, ImportDetail, ImportItem, RejectItem
from rolecall.applications.queries import (
    IMPORT_COLUMNS,
    IMPORT_WIDTH,
    SUMMARY_COLUMNS,
    SUMMARY_WIDTH,
    import_from_row,
    summary_from_row,
)
from rolecall.applications.shapes import FileGroup, Import
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import (
    EVERYTHING,
    PAGE_SIZE,
    FrozenListing,
    Listing,
    Page,
    Rows,
    all_of,
    fetch_frozen,
    fetch_listed,
    fetch_stretch,
    frozen_rows,
)


async def get(db: Db, id: UUID) -> ImportDetail:
    rows = await fetch_rows(
        db,
        f"""SELECT {IMPORT_COLUMNS}, {SUMMARY_COLUMNS}
            FROM application_imports r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("ApplicationImport", id)
    run = import_from_row(rows[0][:IMPORT_WIDTH])
    return ImportDetail(**msgspec.structs.asdict(run), application=summary_from_row(rows[0][IMPORT_WIDTH:]))


async def get_alone(db: Db, id: UUID) -> Import:
    """Return an import without its application, as the responses of upload and stage have it."""
    rows = await fetch_rows(db, f"SELECT {IMPORT_COLUMNS} FROM application_imports r WHERE r.id = %(id)s", id=id)
    return import_from_row(rows[0])


def _item(row: Sequence[Any]) -> ImportItem:
    return ImportItem(*(*row[:-SUMMARY_WIDTH], summary_from_row(row[-SUMMARY_WIDTH:])))


IMPORTS = Listing(
    table="application_imports",
    row="r",
    columns=f"r.id, 'Application Import', r.number, r.type, r.status, r.build_start, r.build_end, {SUMMARY_COLUMNS}",
    joins="JOIN applications a ON a.id = r.application_id",
    make=_item,
    facets=("application_id",),
    newest_first=True,
)


async def newest_first(db: Db, page: int, application_id: UUID | None) -> Page[ImportItem]:
    """List imports by start, those not started yet first."""
    return await fetch_listed(db, IMPORTS, page, application_id=application_id)


async def status_of(db: Db, id: UUID) -> ImportStatus | None:
    status = await fetch_value(db, "SELECT status FROM application_imports WHERE id = %(id)s", id=id)
    return status and ImportStatus(status)


async def failure_of(db: Db, id: UUID) -> str | None:
    """Return why an import failed, or None if it did not."""
    reason: str | None = await fetch_value(db, "SELECT failure FROM application_imports WHERE id = %(id)s", id=id)
    return reason


# Include an application that is no longer marked as the source: a rollback would still change people.
_IS_IDENTITY_SOURCE = """(a.is_identity_source OR EXISTS (
    SELECT FROM identity_versions v WHERE v.application_id = a.id AND v.until_import IS NULL))"""


async def is_of_identity_source(db: Db, import_id: UUID) -> bool:
    found = await fetch_value(
        db,
        f"""SELECT {_IS_IDENTITY_SOURCE} FROM application_imports r JOIN applications a ON a.id = r.application_id
            WHERE r.id = %(id)s""",
        id=import_id,
    )
    return bool(found)


async def target(db: Db, application_id: UUID) -> ImportTarget | None:
    rows = await fetch_rows(
        db,
        f"""SELECT a.is_archived, {_IS_IDENTITY_SOURCE}, EXISTS (SELECT FROM schedules s WHERE s.application_id = a.id),
                  coalesce(c.is_file_based, false),
                  (SELECT json_agg(json_build_array(g.id, g.name, g.is_optional, g.is_multiple) ORDER BY g.position)
                   FROM file_groups g WHERE g.connector_id = c.id)
           FROM applications a LEFT JOIN connectors c ON c.application_id = a.id WHERE a.id = %(id)s""",
        id=application_id,
    )
    if not rows:
        return None
    is_archived, is_identity_source, has_schedule, is_file_based, groups = rows[0]
    files = [FileGroup(UUID(id), *rest) for id, *rest in groups or ()]
    return ImportTarget(is_archived, is_identity_source, has_schedule, files if is_file_based else None)


class Hold(msgspec.Struct, frozen=True):
    """Why the guard holds an import. `is_own`: the person who asks, or a token of theirs, supplied its data."""

    reason: str
    lowers_risk: bool
    is_own: bool


async def hold_of(db: Db, import_id: UUID, caller_id: UUID) -> Hold | None:
    return await fetch_one(
        db,
        Hold,
        """SELECT u.held AS reason, u.lowers_risk,
                  coalesce(coalesce(supplier.owner_id, i.supplied_by) = coalesce(asking.owner_id, %(caller)s), false)
                  AS is_own
           FROM import_runs u JOIN application_imports i ON i.id = u.import_id
           LEFT JOIN tokens supplier ON supplier.id = i.supplied_by LEFT JOIN tokens asking ON asking.id = %(caller)s
           WHERE u.import_id = %(id)s AND u.held IS NOT NULL AND i.status = 'Running'""",
        id=import_id,
        caller=caller_id,
    )


async def file_of(db: Db, import_id: UUID, file_id: UUID) -> DownloadableFile:
    found = await fetch_one(
        db,
        DownloadableFile,
        "SELECT name, size, location FROM import_files WHERE import_id = %(import)s AND id = %(file)s",
        **{"import": import_id, "file": file_id},
    )
    if found:
        return found
    raise NotFound("ImportFile", file_id)


_REJECTS = FrozenListing(
    columns="r.file_id, f.name, r.line, r.reason, r.row",
    rows="FROM import_rejects r JOIN import_files f ON f.id = r.file_id WHERE r.import_id = %(id)s",
    key={"f.position": "int", "r.line": "int"},
    make=lambda row: RejectItem(*row),
)


async def rejects_of(db: Db, import_id: UUID, page: int) -> Page[RejectItem]:
    """List rejected rows by file and line; they are stored when the import ends."""
    run = await get(db, import_id)
    name = f"rejects of {import_id}, {run.status}"
    return await fetch_frozen(db, _REJECTS, name, page, id=import_id)


async def is_finished(db: Db, application_id: UUID, number: int) -> bool:
    found = await fetch_value(
        db,
        """SELECT true FROM application_imports
           WHERE application_id = %(application)s AND number = %(number)s AND status = 'Finished'""",
        application=application_id,
        number=number,
    )
    return found is True


async def failing_schedules(db: Db) -> list[FailingSchedule]:
    """List applications whose last three scheduled imports all failed."""
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.name FROM applications a JOIN schedules s ON s.application_id = a.id
           WHERE NOT a.is_archived AND (
               SELECT count(*) FILTER (WHERE status = 'Failed') FROM (
                   SELECT i.status FROM application_imports i
                   WHERE i.application_id = a.id AND i.type = 'Scheduled' AND i.status IN ('Finished', 'Failed')
                   ORDER BY i.number DESC LIMIT 3) AS last) = 3
           ORDER BY a.name_key, a.id""",
    )
    return [FailingSchedule(*row) for row in rows]


async def count_failing_schedules(db: Db) -> int:
    return len(await failing_schedules(db))


async def numbers(db: Db, now: datetime) -> ImportNumbers:
    at_work = await fetch_rows(
        db,
        """SELECT s.status, count(i.id), count(r.held), min(i.created_at)
           FROM unnest(ARRAY['Pending', 'Running', 'Canceling']) AS s (status)
           LEFT JOIN application_imports i ON i.status = s.status AND i.status IN ('Pending', 'Running', 'Canceling')
           LEFT JOIN import_runs r ON r.import_id = i.id AND i.status = 'Running'
           GROUP BY s.status""",
    )
    ended = await fetch_all(
        db,
        EndedImports,
        """SELECT s.status, count(i.id) AS count,
                  coalesce(sum(extract(epoch FROM i.build_end - coalesce(i.build_start, i.build_end))), 0)::float8
                  AS seconds
           FROM unnest(ARRAY['Canceled', 'Failed', 'Finished']) AS s (status)
           LEFT JOIN application_imports i ON i.status = s.status GROUP BY s.status ORDER BY s.status""",
    )
    rows = await fetch_rows(
        db,
        """SELECT outcome, coalesce(sum((file ->> outcome)::bigint), 0)::bigint
           FROM unnest(ARRAY['applied', 'rejected', 'unchanged']) AS outcome
           LEFT JOIN (import_runs r CROSS JOIN jsonb_array_elements(r.totals) AS file) ON true
           GROUP BY outcome ORDER BY outcome""",
    )
    oldest = {status: since for status, _, _, since in at_work}["Pending"]
    return ImportNumbers(
        {status: count for status, count, _, _ in at_work},
        sum(held for _, _, held, _ in at_work),
        max((now - oldest).total_seconds(), 0.0) if oldest else 0.0,
        ended,
        dict(rows),
        await fetch_value(db, "SELECT coalesce(sum(skipped), 0)::bigint FROM schedule_firings"),
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

# The rows `r` that import n changed, and the condition for the other version `o` of the same row. The number is a
# literal to avoid a generic plan: one import has millions of rows, the next has ten. `coalesce` instead of `IS NULL`
# because the planner would estimate no row and sort all of them.
_ROWS = {
    ChangeType.NEW: ("r.from_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.until_import = {n:d}"),
    ChangeType.ALTERED: ("r.from_import = {n:d} AND o.from_import IS NOT NULL", "o.until_import = {n:d}"),
    ChangeType.REMOVED: ("r.until_import = {n:d} AND coalesce(o.from_import, 0) < 1", "o.from_import = {n:d}"),
}


async def changes_of(
    db: Db, import_id: UUID, page: int, kind: RecordKind | None, change: ChangeType | None
) -> Page[ChangeItem]:
    """List changes by kind, then new, altered, removed; for a held import, the changes that it would make.

    Their counts were stored when the import finished or was held.
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
    """List what a held import or a dry run would change, in the order of `changes_of`."""
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
    """Yield the part, offset and length of each stretch that a page covers."""
    wanted = PAGE_SIZE
    for relation, type, count in parts:
        if offset < count and wanted:
            take = min(count - offset, wanted)
            yield relation, type, offset, take
            wanted -= take
        offset = max(offset - count, 0)


def changes_listing(relation: Relation, type: ChangeType, number: int) -> FrozenListing[ChangeItem]:
    """Return the changes of one relation and type by import `number`."""
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
    """Show the fields that a source gives for an identity as fields of the identity."""
    fields = {_camel(name): value for name, value in (row.get("fields") or {}).items()}
    return {name: value for name, value in row.items() if name not in _INTERNAL | {"fields"}} | fields
