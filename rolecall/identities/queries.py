from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.checking import Facts, Json, mentioned_ids
from rolecall.core.db import Db, Pool, fetch_one, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed
from rolecall.core.together import fetch_by_id
from rolecall.identities.shapes import IdentityDetail

# An identity `i` with its supervisor `s`, in the order of IdentityDetail; for every query that shows a person.
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


async def get(db: Db, id: str) -> IdentityDetail:
    return _there(id, await fetch_one(db, IdentityDetail, _BY_ID, ids=[known_guid("Identity", id)]))


async def get_with_others(pool: Pool, id: str) -> IdentityDetail:
    """In one query with everyone who is asked for at the same time."""
    return _there(id, await fetch_by_id(pool, IdentityDetail, _BY_ID, known_guid("Identity", id)))


def _there(id: str, found: IdentityDetail | None) -> IdentityDetail:
    if found:
        return found
    raise NotFound("Identity", id)


async def by_name(db: Db, page: int) -> Page[IdentityDetail]:
    return await fetch_listed(db, IDENTITIES, page)


async def existing(db: Db, ids: Sequence[UUID]) -> frozenset[UUID]:
    if not ids:
        return frozenset()
    rows = await fetch_rows(db, "SELECT id FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids))
    return frozenset(row[0] for row in rows)


async def with_mentioned_identities(db: Db, facts: Facts, raw: Json) -> Facts:
    return msgspec.structs.replace(facts, identities=await existing(db, mentioned_ids(raw)))
