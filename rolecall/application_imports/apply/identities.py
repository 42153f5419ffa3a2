"""What an identity source said last is shown in the identities: changed fields, removals, supervisors."""

from datetime import datetime
from uuid import UUID

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.text import sort_key
from rolecall.settings.model import CUSTOM_FIELDS

# The columns of an identity that show a field of the source as it is.
TEXTS = {
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
# Parse the JSON once for all fields: parsing it again for each field took most of an import.
_RECORD = ", ".join(
    f"{field} text"
    for field in (*TEXTS.values(), "status", "created", "updated", *(f"custom_field_{n}" for n in CUSTOM_FIELDS))
)
_MOST_NAMED = 10


async def prepare(db: Db) -> None:
    """Create the temporary table of the identities that this import makes, if it does not exist."""
    await execute(db, "CREATE TEMP TABLE IF NOT EXISTS made_people (identity_id uuid NOT NULL) ON COMMIT DROP")


async def show(db: Db, application_id: UUID, number: int, now: datetime) -> list[str]:
    """Update identities to what the source says and return log lines; a field it did not change stays as it is."""
    await prepare(db)
    named = await _show_changes(db, application_id, number, now)
    await _sort(db, named)
    await _show_removals(db, application_id, number, now)
    await _show_supervisors(db, application_id, number)
    return [
        *(await _own_told(db, application_id)),
        *(await _unknown_told(db, application_id)),
        *(await _circles_told(db, application_id, number)),
    ]


# New identities were inserted complete and need no update.
_NOT_MADE = "NOT EXISTS (SELECT FROM made_people p WHERE p.identity_id = v.identity_id)"


async def _show_changes(db: Db, application_id: UUID, number: int, now: datetime) -> list[UUID]:
    def changed(field: str) -> str:
        return f"said.{field} IS DISTINCT FROM former.{field} AND said.{field} IS NOT NULL"

    texts = [
        f"{column} = CASE WHEN {changed(field)} THEN said.{field} ELSE i.{column} END"
        for column, field in TEXTS.items()
    ]
    custom = [
        f"CASE WHEN {changed(field)} THEN jsonb_build_object('{n}', said.{field}) ELSE '{{}}' END"
        for n, field in ((n, f"custom_field_{n}") for n in CUSTOM_FIELDS)
    ]
    # Back in the source is back at work, unless the source says otherwise.
    status = f"""CASE WHEN {changed("status")} THEN said.status
                      WHEN i.status = 'Removed' THEN 'Active' ELSE i.status END"""
    # Fires triggers of other packages: schema/identities.sql lists them.
    rows = await fetch_rows(
        db,
        f"""WITH opened AS MATERIALIZED (
                SELECT v.identity_id, v.application_id, v.fields FROM identity_versions v
                WHERE v.application_id = %(application)s AND v.from_import = %(number)s AND {_NOT_MADE})
            UPDATE identities i SET {", ".join(texts)}, custom_fields = i.custom_fields || {" || ".join(custom)},
                created_date = coalesce(nullif(said.created, '')::timestamptz, i.created_date),
                updated_date = coalesce(nullif(said.updated, '')::timestamptz, %(now)s),
                status = {status},
                inactivated_date = CASE {status} WHEN 'Active' THEN NULL
                                   ELSE coalesce(i.inactivated_date, %(now)s) END
            FROM opened v CROSS JOIN LATERAL json_to_record(v.fields) AS said ({_RECORD})
            LEFT JOIN identity_versions w
            ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
            LEFT JOIN LATERAL json_to_record(w.fields) AS former ({_RECORD}) ON true
            WHERE v.identity_id = i.id
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


async def _show_supervisors(db: Db, application_id: UUID, number: int) -> None:
    """Set supervisors that the source changed or that became known; all identities must exist by now.

    A person who is their own supervisor gets none: many HR systems record the head of a company like that.
    """
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        f"""WITH said AS MATERIALIZED (
                SELECT v.identity_id, v.from_import, v.fields ->> 'supervisor_id' AS supervisor,
                       w.fields ->> 'supervisor_id' AS former
                FROM identity_versions v JOIN identities i ON i.id = v.identity_id
                LEFT JOIN identity_versions w
                ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
                WHERE v.application_id = %(application)s AND v.until_import IS NULL
                AND (i.supervisor_id IS NULL OR v.from_import = %(number)s) AND {_NOT_MADE})
            UPDATE identities i SET supervisor_id = s.id
            FROM said LEFT JOIN identities s ON s.employee_id = said.supervisor AND s.id <> said.identity_id
            WHERE said.identity_id = i.id AND said.supervisor IS NOT NULL AND i.supervisor_id IS DISTINCT FROM s.id
            AND (i.supervisor_id IS NULL OR (said.from_import = %(number)s AND
                 said.supervisor IS DISTINCT FROM said.former))""",
        application=application_id,
        number=number,
    )


async def _own_told(db: Db, application_id: UUID) -> list[str]:
    """Return log lines for people who are their own supervisor in the file; no supervisor is set for them."""
    named, more = await _supervisors_where(db, application_id, "said.supervisor = said.employee_id")
    told = [f"{employee} is their own supervisor in the file; no supervisor is set" for employee, _ in named]
    return [*told, f"{more:,} more are their own supervisors"] if more else told


async def _unknown_told(db: Db, application_id: UUID) -> list[str]:
    """Return log lines for supervisors whose employee ID no identity has."""
    unknown = "s.id IS NULL AND said.supervisor NOT IN ('', said.employee_id)"
    named, more = await _supervisors_where(db, application_id, unknown)
    told = [f"Supervisor {supervisor} of {employee} is not known" for employee, supervisor in named]
    return [*told, f"{more:,} more supervisors are not known"] if more else told


async def _supervisors_where(db: Db, application_id: UUID, condition: str) -> tuple[list[tuple[str, str]], int]:
    """Return some rows, as employee and supervisor, and how many more there are."""
    rows = await fetch_rows(
        db,
        f"""WITH said AS MATERIALIZED (
               SELECT v.employee_id, v.fields ->> 'supervisor_id' AS supervisor
               FROM identities i JOIN identity_versions v ON v.identity_id = i.id
               WHERE i.supervisor_id IS NULL AND v.application_id = %(application)s AND v.until_import IS NULL)
           SELECT said.employee_id, said.supervisor, count(*) OVER ()
           FROM said LEFT JOIN identities s ON s.employee_id = said.supervisor
           WHERE {condition} ORDER BY 1 LIMIT %(most)s""",
        application=application_id,
        most=_MOST_NAMED,
    )
    return [(employee, supervisor) for employee, supervisor, _ in rows], rows[0][2] - len(rows) if rows else 0


async def _circles_told(db: Db, application_id: UUID, number: int) -> list[str]:
    """Name the circles above people whom this import changed: a new circle goes through one of them."""
    rows = await fetch_rows(
        db,
        """WITH RECURSIVE up(id) AS (
               SELECT i.supervisor_id FROM identity_versions v JOIN identities i ON i.id = v.identity_id
               WHERE v.application_id = %(application)s AND v.from_import = %(number)s AND v.until_import IS NULL
               AND i.supervisor_id IS NOT NULL
               UNION
               SELECT i.supervisor_id FROM up JOIN identities i ON i.id = up.id WHERE i.supervisor_id IS NOT NULL)
           SELECT i.id, i.supervisor_id, v.employee_id FROM up JOIN identities i ON i.id = up.id
           JOIN identity_versions v
           ON v.identity_id = i.id AND v.application_id = %(application)s AND v.until_import IS NULL
           WHERE i.supervisor_id IS NOT NULL
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
        done.update(path)
    return found
