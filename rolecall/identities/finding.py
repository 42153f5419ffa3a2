"""Find people by name, e-mail, employee ID or id.

`search` lists all matches, `candidates` suggests people while someone types, and `meant` resolves a complete name.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all
from rolecall.core.ids import guid
from rolecall.core.paging import EVERYTHING, Page, fetch_page
from rolecall.core.paging import whole as everything
from rolecall.core.text import sort_key
from rolecall.identities import queries
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.identities.shapes import IdentityDetail

# SQL conditions for an exact match, keyed by the indexed expression that each condition uses.
_EXACTLY = {
    "i.id": "i.id = %(id)s::uuid",
    "lower(i.employee_id)": "lower(i.employee_id) IN (lower(%(said)s), lower(%(words)s)) AND i.employee_id <> ''",
    "lower(i.email_address)": "lower(i.email_address) IN (lower(%(said)s), lower(%(words)s)) AND i.email_address <> ''",
}
# The indexed expression of each name, and the order of its index.
_KEYS = {"last": "i.list_key", "first": "left(i.first_name_key, 300)"}
_ORDERS = {"last": "i.list_key", "first": "left(i.first_name_key, 300), i.list_key"}
# The length of the prefix that is indexed (`_KEYS`).
_LONGEST_KEY = 300
_EMAIL = 'lower(i.email_address) COLLATE "C"'
# Suffixes for upper bounds of range scans: a prefix with `_AFTER_ALL` sorts after all names that begin with it; a name
# with `_AFTER_WHOLE` sorts after all accented forms of the name.
_AFTER_ALL, _AFTER_WHOLE = chr(1114111), "\x03"
# A search text is split into at most this many words, because each word adds two subqueries.
_MOST_WORDS = 8
_MOST_NAMESAKES = 10


Values = dict[str, Any]


def people(words: str, limit: int | None = None, more: str = "", *, whole: bool = False) -> tuple[str, Values]:
    """Return a WITH clause `found` that selects the people who match the words, and its parameters.

    Ids, employee IDs and e-mails match exactly; names match by prefix. Words with `@` also match e-mails by prefix.
    With `whole`, names match exactly, and nothing matches by prefix. Each subquery scans one index in order, so that
    its cost does not depend on the planner's estimates.
    """
    # PostgreSQL refuses NUL characters. Employee IDs and e-mails are also compared with the spaces as typed.
    said = words.replace("\x00", "")
    words = " ".join(said.split())
    values: Values = {"id": guid(words.lower().removeprefix("urn:uuid:").strip("{}")), "said": said, "words": words}
    ways = [*_EXACTLY.items(), *_by_name(words, whole, values)]
    if "@" in words and not whole:
        values |= {"email": words.lower(), "email_end": words.lower() + _AFTER_ALL}
        ways.append((_EMAIL, f"{_EMAIL} >= %(email)s AND {_EMAIL} < %(email_end)s AND i.email_address <> ''"))
    parts = [
        f"(SELECT i.id, i.list_key FROM identities i WHERE {condition} {more}"
        f"{'' if limit is None else f' ORDER BY {order} LIMIT {limit:d}'})"
        for order, condition in ways
    ]
    return f"WITH found AS MATERIALIZED ({' UNION '.join(parts)})", values


def _by_name(words: str, whole: bool, values: Values) -> Iterator[tuple[str, str]]:
    """Yield ORDER BY and WHERE for each way to split the words into names; add the parameters to `values`."""
    end = _AFTER_WHOLE if whole else _AFTER_ALL
    for n, pair in enumerate(_as_names(words)):
        both = []
        for key, name in zip(_KEYS, pair, strict=True):
            if begins := beginning(name):
                values |= {f"{key}_{n}": begins, f"{key}_{n}_end": begins + end}
                both.append((_ORDERS[key], f"{_KEYS[key]} >= %({key}_{n})s AND {_KEYS[key]} < %({key}_{n}_end)s"))
        if len(both) == 2 or (both and not whole):
            yield both[0][0], " AND ".join(condition for _, condition in both)


def _as_names(words: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of last and first name: the parts around a comma, and each split of the words in both orders.

    Words from the eighth on stay together.
    """
    last, comma, first = words.partition(",")
    if comma:
        yield last.strip(), first.strip()
    parts = words.split(" ", _MOST_WORDS - 1)
    for cut in range(len(parts)):
        one, other = " ".join(parts[:cut]), " ".join(parts[cut:])
        yield from ((other, one), (one, other))


def beginning(name: str) -> str:
    """Return the common prefix of the sort keys of all names that start with `name`, ignoring accents."""
    return sort_key(name).partition("\x02")[0][:_LONGEST_KEY]


class PeopleFilters(msgspec.Struct, frozen=True):
    """Filters for a list or search of people; None means no filter. Departments are compared ignoring case."""

    status: IdentityStatus | None = None
    type: IdentityType | None = None
    department: str | None = None
    # Search only among these people.
    within: tuple[UUID, ...] | None = None

    def are_empty(self) -> bool:
        return self == PeopleFilters()

    def conditions(self) -> tuple[str, Values]:
        """Return SQL conditions on an identity `i`, each preceded by AND, and their parameters."""
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return "".join(f" AND {_FILTERED[name]}" for name in given), {
            f"by_{name}": list(value) if isinstance(value, tuple) else value for name, value in given.items()
        }


class PeopleOrder(StrEnum):
    NAME = "Name"
    DEPARTMENT = "Department"
    OFFICE = "Office"
    SUPERVISOR = "Supervisor"
    TYPE = "Type"
    STATUS = "Status"


class Sorting(msgspec.Struct, frozen=True):
    by: PeopleOrder = PeopleOrder.NAME
    is_descending: bool = False

    def of_names(self) -> bool:
        """Return whether this is the default order of the list of identities, by name."""
        return self == BY_NAME

    def order(self) -> str:
        """Return an ORDER BY clause on an identity `i`: empty values come last, and equal values are sorted by name."""
        way = "DESC" if self.is_descending else "ASC"
        empty = [f"{key} = ''" for key in _SORTED[self.by] if self.by in _MAY_BE_EMPTY]
        return ", ".join([*empty, *(f"{key} {way}" for key in (*_SORTED[self.by], "i.list_key"))])


BY_NAME = Sorting()
_SORTED: dict[PeopleOrder, tuple[str, ...]] = {
    PeopleOrder.NAME: (),
    PeopleOrder.DEPARTMENT: ("lower(i.department)",),
    PeopleOrder.OFFICE: ("lower(i.office)",),
    PeopleOrder.SUPERVISOR: ("coalesce(s.list_key, '')",),
    PeopleOrder.TYPE: ("i.type",),
    PeopleOrder.STATUS: ("i.status",),
}
_MAY_BE_EMPTY = (PeopleOrder.DEPARTMENT, PeopleOrder.OFFICE, PeopleOrder.SUPERVISOR)
_FILTERED = {
    "status": "i.status = %(by_status)s",
    "type": "i.type = %(by_type)s",
    "department": "lower(i.department) = lower(%(by_department)s)",
    "within": "i.id = ANY(%(by_within)s)",
}


async def listed(db: Db, page: int, filters: PeopleFilters, sorting: Sorting = BY_NAME) -> Page[IdentityDetail]:
    if filters.are_empty() and sorting.of_names():
        return await queries.by_name(db, page)
    conditions, values = filters.conditions()
    found = f"WITH found AS MATERIALIZED (SELECT i.id, i.list_key FROM identities i WHERE true{conditions})"
    return await _paged(db, found, values, page, sorting)


async def search(
    db: Db,
    words: str,
    page: int,
    *,
    whole: bool = False,
    filters: PeopleFilters | None = None,
    sorting: Sorting = BY_NAME,
) -> Page[IdentityDetail]:
    more, given = (filters or PeopleFilters()).conditions()
    found, values = people(words, more=more, whole=whole)
    return await _paged(db, found, {**values, **given}, page, sorting)


async def _paged(db: Db, found: str, values: dict[str, Any], page: int, sorting: Sorting) -> Page[IdentityDetail]:
    people_found = f"FROM found JOIN identities i USING (id) {queries.SUPERVISOR} ORDER BY {sorting.order()}"
    if page == EVERYTHING:
        return everything(queries.from_row, f"{found} SELECT {queries.COLUMNS} {people_found}", **values)
    ids = await fetch_page(
        db,
        _id_of,
        page,
        given=found,
        total="SELECT count(*) FROM found",
        items="SELECT id FROM found ORDER BY list_key" if sorting.of_names() else f"SELECT i.id {people_found}",
        **values,
    )
    # Use a second query, because the planner may misjudge the number of matches and scan all people.
    known = await queries.by_id(db, ids.items)
    return Page([known[id] for id in ids.items], ids.total_count, ids.page, ids.page_size, ids.total_pages)


def _id_of(row: Sequence[Any]) -> UUID:
    id: UUID = row[0]
    return id


class Candidate(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    email: str
    title: str
    status: IdentityStatus

    @property
    def label(self) -> str:
        """Return the text that a form field shows for this person."""
        return f"{self.name} ({self.email or self.id})"


_CANDIDATE = "SELECT i.id, i.first_name || ' ' || i.last_name AS name, i.email_address AS email, i.title, i.status"


async def candidates(db: Db, words: str, limit: int = 10, within: tuple[UUID, ...] | None = None) -> list[Candidate]:
    """Suggest active people who match the words (see `people`)."""
    conditions, given = PeopleFilters(status=IdentityStatus.ACTIVE, within=within).conditions()
    found, values = people(words, limit, conditions)
    return await _candidates(db, found, {**values, **given}, limit)


async def meant(db: Db, words: str) -> list[Candidate]:
    """Return at most 10 people with exactly this name, e-mail, employee ID or id."""
    return await _candidates(db, *people(words, _MOST_NAMESAKES, whole=True), _MOST_NAMESAKES)


async def bearers(db: Db, email: str) -> list[Candidate]:
    """Return at most 10 people with this e-mail. While an e-mail is unconfirmed, the previous one counts instead.

    Otherwise a person whose new e-mail is in fact someone else's could be taken for the owner of that e-mail.
    """
    return await fetch_all(
        db,
        Candidate,
        f"""{_CANDIDATE} FROM identities i WHERE lower(i.email_address) = lower(%(email)s) AND i.email_address <> ''
              AND NOT EXISTS (SELECT FROM unconfirmed_emails u WHERE u.identity_id = i.id)
            UNION {_CANDIDATE} FROM identities i JOIN unconfirmed_emails u ON u.identity_id = i.id
            WHERE lower(u.sign_in_email) = lower(%(email)s) AND u.sign_in_email <> '' LIMIT {_MOST_NAMESAKES}""",
        email=email,
    )


async def meant_by_confirmed(db: Db, words: str) -> list[Candidate]:
    """Return at most 20 people with exactly this name, confirmed e-mail, employee ID or id."""
    said = " ".join(words.replace("\x00", "").split())
    # Replace the matches by e-mail with the people from `bearers`, because an unconfirmed e-mail does not count.
    others = [each for each in await meant(db, words) if each.email.lower() != said.lower()]
    return others + [each for each in await bearers(db, said) if each not in others]


async def _candidates(db: Db, found: str, values: Values, limit: int) -> list[Candidate]:
    return await fetch_all(
        db,
        Candidate,
        f"{found} {_CANDIDATE} FROM found JOIN identities i USING (id) ORDER BY found.list_key LIMIT {limit:d}",
        **values,
    )


async def candidate(db: Db, id: UUID | None) -> Candidate | None:
    rows = await fetch_all(db, Candidate, f"{_CANDIDATE} FROM identities i WHERE i.id = %(id)s", id=id)
    return rows[0] if rows else None


def several(words: str, fits: Sequence[Candidate]) -> str:
    """Return the message for words that match several people."""
    named = "; ".join(", ".join(filter(None, (each.name, each.email, str(each.id)))) for each in fits)
    return f"{words} matches several people; choose one by id: {named}"
