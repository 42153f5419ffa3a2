"""Finding people and records by what somebody types."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid
from rolecall.core.paging import Page, fetch_page
from rolecall.core.text import sort_key
from rolecall.identities import queries as identities
from rolecall.identities.shapes import IdentityDetail

_LAST = chr(1114111)
# As their indexes have them.
_KEYS = {"last": "i.list_key", "first": "left(i.first_name_key, 300)"}
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\s*$")


class Found(msgspec.Struct, frozen=True):
    kind: str
    name: str
    about: str
    address: str


def _people(words: str) -> tuple[str, dict[str, object]]:
    """SQL and its values for people whose names begin like this, whichever name comes first."""
    if "@" in words:
        return "lower(i.email_address) = lower(%(email)s) AND i.email_address <> ''", {"email": words.strip()}
    last, comma, first = (part.strip() for part in words.partition(","))
    if not comma:
        first, _, last = (part.strip() for part in words.strip().rpartition(" "))
    pairs = [(last, first)] if comma else [(last, first), (first or "", last)]
    values: dict[str, object] = {}
    either = []
    for n, pair in enumerate(pairs):
        both = []
        for key, name in zip(_KEYS, pair, strict=True):
            if beginning := _beginning(name):
                values |= {f"{key}_{n}": beginning, f"{key}_{n}_end": beginning + _LAST}
                both.append(f"{_KEYS[key]} >= %({key}_{n})s AND {_KEYS[key]} < %({key}_{n}_end)s")
        if both:
            either.append(f"({' AND '.join(both)})")
    return f"({' OR '.join(either)})" if either else "false", values


def _beginning(name: str) -> str:
    return sort_key(name).partition("\x02")[0].replace("\x00", "")


def _identity(row: Sequence[Any]) -> IdentityDetail:
    return identities.from_row(row)


async def identities_named(db: Db, words: str, page: int) -> Page[IdentityDetail]:
    condition, values = _people(words)
    return await fetch_page(
        db,
        _identity,
        page,
        total=f"SELECT count(*) FROM identities i WHERE {condition}",
        items=f"""SELECT {identities.COLUMNS} FROM identities i {identities.SUPERVISOR}
                  WHERE {condition} ORDER BY i.list_key""",
        **values,
    )


class Candidate(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    email: str
    title: str

    @property
    def label(self) -> str:
        """What a field for a person holds; `the_person` reads it back."""
        return f"{self.name} ({self.email or self.id})"


_CANDIDATE = "SELECT i.id, i.first_name || ' ' || i.last_name AS name, i.email_address AS email, i.title"


async def candidates(db: Db, words: str, limit: int = 10) -> list[Candidate]:
    condition, values = _people(words)
    return await fetch_all(
        db,
        Candidate,
        f"""{_CANDIDATE} FROM identities i WHERE {condition} AND i.status = 'Active'
            ORDER BY i.list_key LIMIT {limit:d}""",
        **values,
    )


async def label_of(db: Db, id: UUID | None) -> str:
    """The label of whoever has that id, or nothing."""
    rows = await fetch_all(db, Candidate, f"{_CANDIDATE} FROM identities i WHERE i.id = %(id)s", id=id)
    return rows[0].label if rows else ""


async def the_person(db: Db, field: str, words: str) -> str:
    """The id of the one person that the words name: a label, an id, an e-mail or a name."""
    inner = _IN_BRACKETS.search(words)
    said = inner[1].strip() if inner else words.strip()
    if found := guid(said):
        return str(found)
    among = await candidates(db, said, 2)
    if len(among) == 1:
        return str(among[0].id)
    problem = f"Several people are called {said}; give an e-mail" if among else f"Nobody is called {said}"
    raise Invalid.on(field, problem)


async def search(db: Db, words: str) -> list[Found]:
    """Requests, events and imports by number; else applications, access models and people by name."""
    number = words.strip().removeprefix("#")
    if number.isascii() and number.isdecimal() and len(number) < 18:
        return await _numbered(db, int(number))
    beginning = _beginning(words.strip())
    if not beginning:
        return []
    condition, values = _people(words)
    rows = await fetch_rows(
        db,
        f"""(SELECT 'Application', name, CASE WHEN is_archived THEN 'archived' ELSE 'priority ' || priority END,
                    '/applications/' || id FROM applications
             WHERE list_key >= %(beginning)s AND list_key < %(end)s ORDER BY list_key LIMIT 10)
            UNION ALL
            (SELECT 'Access model', name, 'version ' || version, '/access-models/' || id FROM access_models
             WHERE name_key >= %(beginning)s AND name_key < %(end)s ORDER BY name_key LIMIT 10)
            UNION ALL
            (SELECT 'Person', i.first_name || ' ' || i.last_name, concat_ws(', ', nullif(i.title, ''), i.status),
                    '/identities/' || i.id FROM identities i WHERE {condition} ORDER BY i.list_key LIMIT 20)""",
        beginning=beginning,
        end=beginning + _LAST,
        **values,
    )
    return [Found(*row) for row in rows]


async def _numbered(db: Db, number: int) -> list[Found]:
    rows = await fetch_rows(
        db,
        """SELECT 'Request', '#' || number || ' ' || action || ' ' || target_name, status, '/requests/' || id
           FROM access_requests WHERE number = %(number)s
           UNION ALL
           SELECT 'Event', '#' || e.number || ' ' || e.type || ' ' || i.first_name || ' ' || i.last_name, e.status,
                  '/events/' || e.id
           FROM personnel_events e JOIN identities i ON i.id = e.identity_id WHERE e.number = %(number)s
           UNION ALL
           SELECT 'Import', '#' || r.number || ' ' || a.name, r.status, '/imports/' || r.id
           FROM application_imports r JOIN applications a ON a.id = r.application_id WHERE r.number = %(number)s""",
        number=number,
    )
    return [Found(*row) for row in rows]
