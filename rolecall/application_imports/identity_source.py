"""What an identity source said last is shown in the identities: changed fields, removals, supervisors."""

from datetime import datetime
from uuid import UUID

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.text import sort_key
from rolecall.settings.model import CUSTOM_FIELDS

_TEXTS = {
    "first_name": "first_name",
    "last_name": "last_name",
    "email_address": "email",
    "type": "type",
    "title": "title",
    "company": "company",
    "division": "division",
    "department": "department",
    "office": "office",
}
_MOST_NAMED = 10


async def show(db: Db, application_id: UUID, number: int, now: datetime) -> list[str]:
    """What to say in the log. A field that the source did not change keeps what people made of it since."""
    named = await _show_changes(db, application_id, number, now)
    await _sort(db, named)
    await _show_removals(db, application_id, number, now)
    await _show_supervisors(db, application_id, number)
    return [*(await _unknown_told(db, application_id)), *(await _circles_told(db, application_id, number))]


async def _show_changes(db: Db, application_id: UUID, number: int, now: datetime) -> list[UUID]:
    def changed(field: str) -> str:
        return (
            f"(v.fields ->> '{field}') IS DISTINCT FROM (w.fields ->> '{field}') AND v.fields ->> '{field}' IS NOT NULL"
        )

    texts = [
        f"{column} = CASE WHEN {changed(field)} THEN v.fields ->> '{field}' ELSE i.{column} END"
        for column, field in _TEXTS.items()
    ]
    custom = [
        f"CASE WHEN {changed(f'custom_field_{n}')} THEN jsonb_build_object('{n}', v.fields ->> 'custom_field_{n}')"
        " ELSE '{}' END"
        for n in CUSTOM_FIELDS
    ]
    # Back in the source is back at work, unless the source says otherwise.
    status = f"""CASE WHEN {changed("status")} THEN v.fields ->> 'status'
                      WHEN i.status = 'Removed' THEN 'Active' ELSE i.status END"""
    # Fires triggers of other packages: schema/identities.sql lists them.
    rows = await fetch_rows(
        db,
        f"""UPDATE identities i SET {", ".join(texts)}, custom_fields = i.custom_fields || {" || ".join(custom)},
                created_date = coalesce(nullif(v.fields ->> 'created', '')::timestamptz, i.created_date),
                updated_date = coalesce(nullif(v.fields ->> 'updated', '')::timestamptz, %(now)s),
                status = {status},
                inactivated_date = CASE {status} WHEN 'Active' THEN NULL
                                   ELSE coalesce(i.inactivated_date, %(now)s) END
            FROM identity_versions v LEFT JOIN identity_versions w
            ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
            WHERE v.identity_id = i.id AND v.application_id = %(application)s AND v.from_import = %(number)s
            RETURNING i.id""",
        application=application_id,
        number=number,
        now=now,
    )
    return [row[0] for row in rows]


async def _sort(db: Db, ids: list[UUID]) -> None:
    """Names that changed get the keys they sort by."""
    rows = await fetch_rows(
        db,
        "SELECT id, first_name, last_name, first_name_key, last_name_key FROM identities WHERE id = ANY(%(ids)s)",
        ids=ids,
    )
    keyed = [
        (id, sort_key(first), sort_key(last), first_key, last_key) for id, first, last, first_key, last_key in rows
    ]
    wrong = [(id, first, last) for id, first, last, *were in keyed if [first, last] != were]
    if not wrong:
        return
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        """UPDATE identities i SET first_name_key = k.first, last_name_key = k.last
           FROM unnest(%(ids)s::uuid[], %(firsts)s::text[], %(lasts)s::text[]) AS k(id, first, last)
           WHERE k.id = i.id""",
        ids=[id for id, _, _ in wrong],
        firsts=[first for _, first, _ in wrong],
        lasts=[last for _, _, last in wrong],
    )


async def _show_removals(db: Db, application_id: UUID, number: int, now: datetime) -> None:
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        """UPDATE identities i SET status = 'Removed', inactivated_date = %(now)s
           FROM identity_versions w
           WHERE w.identity_id = i.id AND w.application_id = %(application)s AND w.until_import = %(number)s
           AND i.status <> 'Removed' AND NOT EXISTS (
               SELECT FROM identity_versions v WHERE v.identity_id = i.id AND v.until_import IS NULL)""",
        application=application_id,
        number=number,
        now=now,
    )


_SAID = "identity_versions v LEFT JOIN identities s ON s.employee_id = v.fields ->> 'supervisor_id'"


async def _show_supervisors(db: Db, application_id: UUID, number: int) -> None:
    """Everyone is there by now, whatever the order of the file."""
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        f"""UPDATE identities i SET supervisor_id = s.id FROM {_SAID}
            LEFT JOIN identity_versions w
            ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
            WHERE v.identity_id = i.id AND v.application_id = %(application)s AND v.until_import IS NULL
            AND v.fields ->> 'supervisor_id' IS NOT NULL AND i.supervisor_id IS DISTINCT FROM s.id
            AND (i.supervisor_id IS NULL OR (v.from_import = %(number)s AND
                 (v.fields ->> 'supervisor_id') IS DISTINCT FROM (w.fields ->> 'supervisor_id')))""",
        application=application_id,
        number=number,
    )


async def _unknown_told(db: Db, application_id: UUID) -> list[str]:
    rows = await fetch_rows(
        db,
        f"""SELECT v.employee_id, v.fields ->> 'supervisor_id', count(*) OVER () FROM {_SAID}
            WHERE v.application_id = %(application)s AND v.until_import IS NULL AND s.id IS NULL
            AND v.fields ->> 'supervisor_id' <> '' ORDER BY 1 LIMIT %(most)s""",
        application=application_id,
        most=_MOST_NAMED,
    )
    told = [f"Supervisor {supervisor} of {employee} is not known" for employee, supervisor, _ in rows]
    more = rows[0][2] - len(rows) if rows else 0
    return [*told, f"{more:,} more supervisors are not known"] if more else told


async def _circles_told(db: Db, application_id: UUID, number: int) -> list[str]:
    """Above whom this import changed: a new circle goes through one of them. Who is above nobody is in none."""
    rows = await fetch_rows(
        db,
        """WITH RECURSIVE up(id) AS (
               SELECT identity_id FROM identity_versions
               WHERE application_id = %(application)s AND from_import = %(number)s AND until_import IS NULL
               UNION
               SELECT i.supervisor_id FROM up JOIN identities i ON i.id = up.id WHERE i.supervisor_id IS NOT NULL)
           SELECT i.id, i.supervisor_id, v.employee_id FROM up JOIN identities i ON i.id = up.id
           JOIN identity_versions v
           ON v.identity_id = i.id AND v.application_id = %(application)s AND v.until_import IS NULL
           WHERE i.supervisor_id IS NOT NULL AND EXISTS (SELECT FROM identities o WHERE o.supervisor_id = i.id)
           ORDER BY v.employee_id""",
        application=application_id,
        number=number,
    )
    names = {id: name for id, _, name in rows}
    found = circles({id: supervisor for id, supervisor, _ in rows})
    told = [f"Supervisors go in a circle: {' → '.join(names[id] for id in [*ids, ids[0]])}" for ids in found]
    return told[:_MOST_NAMED]


def circles(above: dict[UUID, UUID]) -> list[list[UUID]]:
    """Each circle once, from the member met first."""
    found: list[list[UUID]] = []
    done: set[UUID] = set()
    for start in above:
        path: dict[UUID, None] = {}
        at: UUID | None = start
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = above.get(at)
        if at in path:
            ids = list(path)
            found.append(ids[ids.index(at) :])
        done |= path.keys()
    return found
