"""Finding people and records by what somebody types."""

import re
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
# As their indexes have them, and in which order.
_KEYS = {"last": "i.list_key", "first": "left(i.first_name_key, 300)"}
_ORDERS = {"last": "i.list_key", "first": "left(i.first_name_key, 300), i.list_key"}
_EMAIL = "lower(i.email_address)"
_MOST_PEOPLE = 20
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\s*$")


class Found(msgspec.Struct, frozen=True):
    kind: str
    name: str
    about: str
    address: str


def _people(words: str, limit: int | None = None, more: str = "") -> tuple[str, dict[str, object]]:
    """SQL that begins a statement with `found`, and its values: people whose names begin like this, in either order.

    Each way of finding them reads one index as it goes: the planner cannot know how many there are, and need not guess.
    """
    ways, values = _ways(words)
    parts = [
        f"(SELECT i.id, i.list_key FROM identities i WHERE {condition} {more}"
        f"{'' if limit is None else f' ORDER BY {order} LIMIT {limit:d}'})"
        for order, condition in ways
    ]
    nobody = "SELECT id, list_key FROM identities WHERE false"
    return f"WITH found AS MATERIALIZED ({' UNION '.join(parts) or nobody})", values


def _ways(words: str) -> tuple[list[tuple[str, str]], dict[str, object]]:
    """The order of an index, and what is asked of it; with the values."""
    if "@" in words:
        return [(_EMAIL, f"{_EMAIL} = lower(%(email)s) AND i.email_address <> ''")], {"email": words.strip()}
    last, comma, first = (part.strip() for part in words.partition(","))
    if not comma:
        first, _, last = (part.strip() for part in words.strip().rpartition(" "))
    pairs = [(last, first)] if comma else [(last, first), (first, last)]
    values: dict[str, object] = {}
    ways = []
    for n, pair in enumerate(pairs):
        both = []
        for key, name in zip(_KEYS, pair, strict=True):
            if beginning := _beginning(name):
                values |= {f"{key}_{n}": beginning, f"{key}_{n}_end": beginning + _LAST}
                both.append((_ORDERS[key], f"{_KEYS[key]} >= %({key}_{n})s AND {_KEYS[key]} < %({key}_{n}_end)s"))
        if both:
            ways.append((both[0][0], " AND ".join(condition for _, condition in both)))
    return ways, values


def _beginning(name: str) -> str:
    return sort_key(name).partition("\x02")[0].replace("\x00", "")


async def identities_named(db: Db, words: str, page: int) -> Page[IdentityDetail]:
    found, values = _people(words)
    return await fetch_page(
        db,
        identities.from_row,
        page,
        given=found,
        total="SELECT count(*) FROM found",
        items=f"""SELECT {identities.COLUMNS} FROM found JOIN identities i USING (id) {identities.SUPERVISOR}
                  ORDER BY found.list_key""",
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
    found, values = _people(words, limit, "AND i.status = 'Active'")
    return await fetch_all(
        db,
        Candidate,
        f"{found} {_CANDIDATE} FROM found JOIN identities i USING (id) ORDER BY found.list_key LIMIT {limit:d}",
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
    found, values = _people(words, _MOST_PEOPLE)
    rows = await fetch_rows(
        db,
        f"""{found}
            (SELECT 'Application', name, CASE WHEN is_archived THEN 'archived' ELSE 'priority ' || priority END,
                    '/applications/' || id FROM applications
             WHERE list_key >= %(beginning)s AND list_key < %(end)s ORDER BY list_key LIMIT 10)
            UNION ALL
            (SELECT 'Access model', name, 'version ' || version, '/access-models/' || id FROM access_models
             WHERE name_key >= %(beginning)s AND name_key < %(end)s ORDER BY name_key LIMIT 10)
            UNION ALL
            (SELECT 'Person', i.first_name || ' ' || i.last_name, concat_ws(', ', nullif(i.title, ''), i.status),
                    '/identities/' || i.id
             FROM found JOIN identities i USING (id) ORDER BY found.list_key LIMIT {_MOST_PEOPLE})""",
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
