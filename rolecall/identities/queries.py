"""Read identities; `with_mentioned_identities` collects the facts that bodies are validated with."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.batching import get_one
from rolecall.core.checking import Facts, Json, mentioned_ids
from rolecall.core.cycles import cycles
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import Listing, Page, fetch_listed
from rolecall.identities.shapes import IdentityDetail

# The columns of IdentityDetail for an identity `i`, with its supervisor `s` from SUPERVISOR.
COLUMNS = """
    i.id, 'Identity' AS kind, i.first_name, i.last_name, i.email_address, i.type, i.title, i.company, i.division,
    i.department, i.office, coalesce(s.last_name || ', ' || s.first_name, '') AS supervisor_name, i.created_date,
    i.updated_date, i.first_seen_date, i.inactivated_date, i.status"""
SUPERVISOR = "LEFT JOIN identities s ON s.id = i.supervisor_id"
WIDTH = len(IdentityDetail.__struct_fields__)


def from_row(row: Sequence[Any]) -> IdentityDetail:
    return IdentityDetail(*row)


IDENTITIES = Listing(table="identities", row="i", columns=COLUMNS, joins=SUPERVISOR, make=from_row)


_BY_ID = f"SELECT {COLUMNS} FROM identities i {SUPERVISOR} WHERE i.id = ANY(%(ids)s)"


async def by_id(db: Db, ids: Sequence[UUID]) -> dict[UUID, IdentityDetail]:
    return {found.id: found for found in await fetch_all(db, IdentityDetail, _BY_ID, ids=list(ids))}


async def sign_in_email(db: Db, id: UUID) -> str:
    """Return the e-mail of a person or, while it is unconfirmed, the one with which they sign in instead."""
    found: str | None = await fetch_value(
        db,
        """SELECT coalesce(u.sign_in_email, i.email_address)
           FROM identities i LEFT JOIN unconfirmed_emails u ON u.identity_id = i.id WHERE i.id = %(id)s""",
        id=id,
    )
    if found is None:
        raise NotFound("Identity", id)
    return found


async def name_of(db: Db, id: UUID) -> str | None:
    """Return the first and last name of an identity, or None if it does not exist."""
    name: str | None = await fetch_value(
        db, "SELECT first_name || ' ' || last_name FROM identities WHERE id = %(id)s", id=id
    )
    return name


async def is_active(db: Db, id: UUID) -> bool:
    found: bool = await fetch_value(
        db, "SELECT EXISTS (SELECT FROM identities WHERE id = %(id)s AND status = 'Active')", id=id
    )
    return found


async def active_with_email(db: Db, email: str) -> set[UUID]:
    """Return the ids of the active identities that have this e-mail or sign in with it, ignoring case."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM identities WHERE lower(email_address) = lower(%(email)s) AND email_address <> ''
           AND status = 'Active'
           UNION SELECT i.id FROM unconfirmed_emails u JOIN identities i ON i.id = u.identity_id
           WHERE lower(u.sign_in_email) = lower(%(email)s) AND u.sign_in_email <> '' AND i.status = 'Active'""",
        email=email,
    )
    return {id for (id,) in rows}


async def get(db: Db, id: str) -> IdentityDetail:
    return await get_one(db, "Identity", by_id, id)


async def by_name(db: Db, page: int) -> Page[IdentityDetail]:
    return await fetch_listed(db, IDENTITIES, page)


_MOST_DEPARTMENTS = 500


async def departments(db: Db) -> list[str]:
    """List the first 500 departments that people are in, with one index lookup for each (a loose index scan)."""
    rows = await fetch_rows(
        db,
        f"""WITH RECURSIVE found (key, name) AS (
                (SELECT lower(department), department FROM identities WHERE department <> ''
                 ORDER BY lower(department), list_key LIMIT 1)
                UNION ALL
                SELECT n.key, n.name FROM found f CROSS JOIN LATERAL (
                    SELECT lower(department) AS key, department AS name FROM identities
                    WHERE department <> '' AND lower(department) > f.key
                    ORDER BY lower(department), list_key LIMIT 1) AS n
            ) SELECT name FROM found LIMIT {_MOST_DEPARTMENTS}""",
    )
    return [name for (name,) in rows]


async def supervisor_cycles(db: Db) -> list[list[str]]:
    """Return the cycles in which active people supervise each other, each as a list of names."""
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.supervisor_id, i.first_name || ' ' || i.last_name FROM identities i
           WHERE i.status = 'Active' AND i.supervisor_id IS NOT NULL
             AND EXISTS (SELECT FROM identities r WHERE r.supervisor_id = i.id AND r.status = 'Active')
           ORDER BY i.list_key""",
    )
    names = {id: name for id, _, name in rows}
    found = cycles({id: supervisor for id, supervisor, _ in rows})
    return [[names[id] for id in each] for each in found]


async def existing(db: Db, ids: Sequence[UUID]) -> frozenset[UUID]:
    if not ids:
        return frozenset()
    rows = await fetch_rows(db, "SELECT id FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids))
    return frozenset(row[0] for row in rows)


async def with_mentioned_identities(db: Db, facts: Facts, raw: Json) -> Facts:
    return msgspec.structs.replace(facts, identities=await existing(db, mentioned_ids(raw)))
