"""Update identities after an import of their source: changed fields, removals, supervisors.

The calling code must write the versions of the identities first. This module reads only the database, not the files, so
that a rollback can use it too.
"""

from datetime import datetime
from uuid import UUID

from rolecall.core.cycles import cycles
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.text import sort_key
from rolecall.settings.model import CUSTOM_FIELDS

# Columns of an identity that are copied from a field of the source.
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
# Columns for json_to_record, which parses the JSON once for all fields. Parsing it once for each field was too slow.
_RECORD = ", ".join(
    f"{field} text"
    for field in (*TEXTS.values(), "status", "created", "updated", *(f"custom_field_{n}" for n in CUSTOM_FIELDS))
)
_MOST_NAMED = 10


# A lock for imports that change people: two sources may list the same people, and neither sees uncommitted changes of
# the other. Both would insert a person who is new, and neither would remove a person who is gone from both.
PEOPLE_LOCK = "hashtextextended('imports of people', 0)"


async def take_turn(db: Db) -> None:
    """Take the lock until the transaction ends; call this before people or their versions are read or written."""
    await execute(db, f"SELECT pg_advisory_xact_lock({PEOPLE_LOCK})")


async def create_made_people(db: Db) -> None:
    """Create the temporary table for the ids of identities that this import inserts, unless the table exists."""
    await execute(db, "CREATE TEMP TABLE IF NOT EXISTS made_people (identity_id uuid NOT NULL) ON COMMIT DROP")


async def update_identities(db: Db, application_id: UUID, number: int, now: datetime) -> list[str]:
    """Update identities with the changed data of their source, and return lines for the log."""
    await create_made_people(db)
    named = await _update_fields(db, application_id, number, now)
    await _confirm_emails(db, application_id, number)
    await _update_sort_keys(db, named)
    await _mark_removed(db, application_id, number, now)
    await _update_supervisors(db, application_id, number)
    return [
        *(await _own_supervisors(db, application_id)),
        *(await _unknown_supervisors(db, application_id)),
        *(await _supervisor_cycles(db, application_id, number)),
    ]


# New identities were inserted with all their fields and need no update.
_NOT_MADE = "NOT EXISTS (SELECT FROM made_people p WHERE p.identity_id = v.identity_id)"


async def _update_fields(db: Db, application_id: UUID, number: int, now: datetime) -> list[UUID]:
    def changed(field: str) -> str:
        return f"given.{field} IS DISTINCT FROM previous.{field} AND given.{field} IS NOT NULL"

    texts = [
        f"{column} = CASE WHEN {changed(field)} THEN given.{field} ELSE i.{column} END"
        for column, field in TEXTS.items()
    ]
    custom = [
        f"CASE WHEN {changed(field)} THEN jsonb_build_object('{n}', given.{field}) ELSE '{{}}' END"
        for n, field in ((n, f"custom_field_{n}") for n in CUSTOM_FIELDS)
    ]
    # Reactivate a removed identity that is in the source again, unless the source gives a new status.
    status = f"""CASE WHEN {changed("status")} THEN given.status
                      WHEN i.status = 'Removed' THEN 'Active' ELSE i.status END"""
    # Fires triggers of other packages: schema/identities.sql lists them.
    rows = await fetch_rows(
        db,
        f"""WITH opened AS MATERIALIZED (
                SELECT v.identity_id, v.application_id, v.fields FROM identity_versions v
                WHERE v.application_id = %(application)s AND v.from_import = %(number)s AND {_NOT_MADE})
            UPDATE identities i SET {", ".join(texts)}, custom_fields = i.custom_fields || {" || ".join(custom)},
                created_date = coalesce(nullif(given.created, '')::timestamptz, i.created_date),
                updated_date = coalesce(nullif(given.updated, '')::timestamptz, %(now)s),
                status = {status},
                inactivated_date = CASE {status} WHEN 'Active' THEN NULL
                                   ELSE coalesce(i.inactivated_date, %(now)s) END
            FROM opened v CROSS JOIN LATERAL json_to_record(v.fields) AS given ({_RECORD})
            LEFT JOIN identity_versions w
            ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
            LEFT JOIN LATERAL json_to_record(w.fields) AS previous ({_RECORD}) ON true
            WHERE v.identity_id = i.id
            RETURNING i.id""",
        application=application_id,
        number=number,
        now=now,
    )
    return [row[0] for row in rows]


async def _confirm_emails(db: Db, application_id: UUID, number: int) -> None:
    """Confirm the e-mails that the source changed, even if an event had set the same e-mail before."""
    # Fires note_to_match (schema/accounts.sql).
    await execute(
        db,
        """DELETE FROM unconfirmed_emails u USING identity_versions v
           LEFT JOIN identity_versions w
           ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
           WHERE v.identity_id = u.identity_id AND v.application_id = %(application)s AND v.from_import = %(number)s
           AND v.fields ->> 'email' IS DISTINCT FROM w.fields ->> 'email' AND v.fields ->> 'email' IS NOT NULL""",
        application=application_id,
        number=number,
    )


async def _update_sort_keys(db: Db, ids: list[UUID]) -> None:
    """Compute the sort keys of changed names."""
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


async def _mark_removed(db: Db, application_id: UUID, number: int, now: datetime) -> None:
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


async def _update_supervisors(db: Db, application_id: UUID, number: int) -> None:
    """Set the supervisors that the source changed, and missing supervisors whose identity now exists.

    A person who is their own supervisor gets no supervisor: many HR systems record the head of a company like that.
    """
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        f"""WITH given AS MATERIALIZED (
                SELECT v.identity_id, v.from_import, v.fields ->> 'supervisor_id' AS supervisor,
                       w.fields ->> 'supervisor_id' AS previous
                FROM identity_versions v JOIN identities i ON i.id = v.identity_id
                LEFT JOIN identity_versions w
                ON w.identity_id = v.identity_id AND w.application_id = v.application_id AND w.until_import = %(number)s
                WHERE v.application_id = %(application)s AND v.until_import IS NULL
                AND (i.supervisor_id IS NULL OR v.from_import = %(number)s) AND {_NOT_MADE})
            UPDATE identities i SET supervisor_id = s.id
            FROM given LEFT JOIN identities s ON s.employee_id = given.supervisor AND s.id <> given.identity_id
            WHERE given.identity_id = i.id AND given.supervisor IS NOT NULL AND i.supervisor_id IS DISTINCT FROM s.id
            AND (i.supervisor_id IS NULL OR (given.from_import = %(number)s AND
                 given.supervisor IS DISTINCT FROM given.previous))""",
        application=application_id,
        number=number,
    )


async def _own_supervisors(db: Db, application_id: UUID) -> list[str]:
    """Return log lines for people who are their own supervisor in the file; no supervisor is set for them."""
    named, more = await _supervisors_where(db, application_id, "given.supervisor = given.employee_id")
    lines = [f"{employee} is their own supervisor in the file; no supervisor is set" for employee, _ in named]
    return [*lines, f"Further people who are their own supervisors: {more:,}"] if more else lines


async def _unknown_supervisors(db: Db, application_id: UUID) -> list[str]:
    """Return log lines for supervisors whose employee ID does not belong to any identity."""
    unknown = "s.id IS NULL AND given.supervisor NOT IN ('', given.employee_id)"
    named, more = await _supervisors_where(db, application_id, unknown)
    lines = [f"Supervisor {supervisor} of {employee} is not known" for employee, supervisor in named]
    return [*lines, f"Further unknown supervisors: {more:,}"] if more else lines


async def _supervisors_where(db: Db, application_id: UUID, condition: str) -> tuple[list[tuple[str, str]], int]:
    """Return the first employees without a supervisor for whom the condition is true, and how many more there are.

    Each employee ID is paired with the supervisor ID in the file.
    """
    rows = await fetch_rows(
        db,
        f"""WITH given AS MATERIALIZED (
               SELECT v.employee_id, v.fields ->> 'supervisor_id' AS supervisor
               FROM identities i JOIN identity_versions v ON v.identity_id = i.id
               WHERE i.supervisor_id IS NULL AND v.application_id = %(application)s AND v.until_import IS NULL)
           SELECT given.employee_id, given.supervisor, count(*) OVER ()
           FROM given LEFT JOIN identities s ON s.employee_id = given.supervisor
           WHERE {condition} ORDER BY 1 LIMIT %(most)s""",
        application=application_id,
        most=_MOST_NAMED,
    )
    return [(employee, supervisor) for employee, supervisor, _ in rows], rows[0][2] - len(rows) if rows else 0


async def _supervisor_cycles(db: Db, application_id: UUID, number: int) -> list[str]:
    """Return at most ten log lines about cycles of supervisors above the people whom this import changed."""
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
    found = cycles({id: supervisor for id, supervisor, _ in rows})
    lines = [f"Supervisors form a cycle: {' → '.join(names[id] for id in [*ids, ids[0]])}" for ids in found]
    return lines[:_MOST_NAMED]
