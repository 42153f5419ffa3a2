"""Find people and records by the text that a user types."""

import re
from uuid import UUID

import msgspec

from rolecall.accounts.queries import BEGINS
from rolecall.console import record_access
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid
from rolecall.identities import finding
from rolecall.identities.authority import RecordType, visible_people
from rolecall.identities.model import IdentityStatus
from rolecall.identities.queries import departments

# The highest code point, for the upper bound of a search by prefix.
_LAST = chr(1114111)
_MOST_PEOPLE = 20
# Labels of people end with their e-mail or id in brackets.
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\s*$")


class SearchResult(msgspec.Struct, frozen=True):
    kind: str
    name: str
    about: str
    address: str


async def label_of(db: Db, id: UUID | None) -> str:
    """Return the label of a person, or an empty string if nobody has this id."""
    found = await finding.candidate(db, id)
    return found.label if found else ""


async def known_departments(db: Db, caller: Caller) -> list[str]:
    """Return the departments to suggest; none to a person who sees only their own records."""
    return [] if caller.is_limited else await departments(db)


async def the_person(db: Db, field: str, words: str, caller: Caller | None = None) -> str:
    """Return the id of the person whom the words identify. If the words are an id, return it without a lookup.

    Otherwise look for exact matches, then for active people by a prefix. Among several matches, choose the only active
    one. Raise Invalid if there is no match, or if several remain. Consider only people whom the caller may see; without
    a caller, consider everyone.
    """
    inner = _IN_BRACKETS.search(words)
    said = inner[1].strip() if inner else words.strip()
    within = await visible_people(db, caller, None) if caller else None
    if (found := guid(said)) and (within is None or found in within):
        return str(found)
    fits = [each for each in await finding.meant(db, said) if within is None or each.id in within]
    fits = fits or await finding.candidates(db, said, within=within)
    # Active people take precedence over others with the same name.
    among = [each for each in fits if each.status == IdentityStatus.ACTIVE] or fits
    if len(among) == 1:
        return str(among[0].id)
    raise Invalid.on(
        field, finding.several(said, among) if among else f"No person matches {said}. Enter a name or an e-mail"
    )


async def the_colleague(db: Db, field: str, words: str, caller: Caller) -> str:
    """Return the id of the only active person with this complete e-mail; without one, use `the_person`."""
    inner = _IN_BRACKETS.search(words)
    email = (inner[1] if inner else words).strip()
    # Find hidden people by complete e-mails only: with prefixes, the caller could list them.
    bearers = await finding.bearers(db, email) if "@" in email else []
    active = [each for each in bearers if each.status == IdentityStatus.ACTIVE]
    return str(active[0].id) if len(active) == 1 else await the_person(db, field, words, caller)


async def search(db: Db, words: str, caller: Caller) -> list[SearchResult]:
    """Find records that the caller may see: by number or name, and people also by e-mail, employee ID or id."""
    within = await visible_people(db, caller)
    found = await _search(db, words, None if within is None else _Sight(caller.id, within))
    if within is None:
        return found
    # Search again among the visible people: hidden people may have taken all places in `found`.
    people = await finding.candidates(db, words, _MOST_PEOPLE, within) if finding.beginning(words) else []
    own = [SearchResult("Person", each.name, each.title, f"/identities/{each.id}") for each in people]
    others = [one for one in found if one.kind in _TYPES and one.kind != "Person"]
    return own + [one for one in others if await _sees(db, caller, one)]


class _Sight(msgspec.Struct, frozen=True):
    """A person (`me`) who sees only their own records, and the people whose accounts they may see."""

    me: UUID
    people: tuple[UUID, ...]


_TYPES = {
    "Request": RecordType.REQUEST,
    "Event": RecordType.EVENT,
    "Import": RecordType.IMPORT,
    "Application": RecordType.APPLICATION,
    "Access model": RecordType.MODEL,
    "Group": RecordType.ENTITLEMENT,
    "Permission": RecordType.ENTITLEMENT,
    "Account": RecordType.ACCOUNT,
    "Review": RecordType.REVIEW,
    "Review item": RecordType.REVIEW_ITEM,
}


async def _sees(db: Db, caller: Caller, one: SearchResult) -> bool:
    return await record_access.sees(db, caller, _TYPES[one.kind], UUID(one.address.rpartition("/")[2]))


async def _search(db: Db, words: str, sight: _Sight | None) -> list[SearchResult]:
    number = words.strip().removeprefix("#")
    # A longer number can be too large for bigint.
    is_number = number.isascii() and number.isdecimal() and len(number) < 18
    numbered = await _numbered(db, int(number)) if is_number else []
    # PostgreSQL accepts no NUL characters in text.
    said = " ".join(words.replace("\x00", "").split())
    return [
        *numbered,
        *await _named(db, said),
        *await _configured(db, said),
        *(
            SearchResult(one.kind, one.name, one.application, f"/access/{one.id}")
            for one in await entitlements_like(db, said, sight.me if sight else None)
        ),
        *await _accounts(db, said, sight),
    ]


async def _configured(db: Db, words: str) -> list[SearchResult]:
    """Find records that people configure, such as reports and duties, by any part of their names."""
    if not words:
        return []
    rows = await fetch_rows(
        db,
        f"""SELECT kind, name, about, address FROM (
                SELECT 'Report' AS kind, name, list AS about, '/reports/' || id AS address
                FROM reports WHERE deleted_on IS NULL
                UNION ALL SELECT 'Duty', name, description, '/duties/' || id FROM duties
                UNION ALL (SELECT 'Review', name, '#' || number || ', ' || status, '/reviews/' || id FROM reviews
                           WHERE position(lower(%(words)s) IN lower(name)) > 0 ORDER BY number DESC LIMIT 10)
                UNION ALL SELECT 'Review template', name, 'every ' || every_months || ' months',
                                 '/review-templates/' || id || '/edit' FROM review_templates
                UNION ALL SELECT 'Rule', name, 'version ' || version, '/rules/' || id FROM duty_rules
                UNION ALL SELECT 'Webhook', name, CASE WHEN enabled THEN 'enabled' ELSE 'disabled' END,
                                 '/webhooks/' || id FROM webhooks WHERE deleted_on IS NULL) AS found
            WHERE position(lower(%(words)s) IN lower(name)) > 0 ORDER BY kind, lower(name) LIMIT {_MOST_PEOPLE}""",
        words=words,
    )
    return [SearchResult(*row) for row in rows]


_THEIRS = "(%(me)s::uuid IS NULL OR a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids) OR {other})"


async def _accounts(db: Db, words: str, sight: _Sight | None) -> list[SearchResult]:
    if not words:
        return []
    # The index on usernames begins with the application, so each application is searched on its own.
    rows = await fetch_rows(
        db,
        f"""SELECT 'Account', x.username, concat_ws(', ', a.name, i.first_name || ' ' || i.last_name),
                   '/accounts/' || x.id
            FROM applications a CROSS JOIN LATERAL (
                SELECT id, username, identity_id FROM accounts WHERE application_id = a.id AND {BEGINS}
                AND {_THEIRS.format(other="identity_id = ANY(%(people)s)")}
                ORDER BY username_skeleton(username) LIMIT {_MOST_PEOPLE}) AS x
            LEFT JOIN identities i ON i.id = x.identity_id
            WHERE NOT a.is_archived ORDER BY x.username, a.list_key LIMIT {_MOST_PEOPLE}""",
        beginning=words,
        me=sight.me if sight else None,
        people=list(sight.people) if sight else [],
    )
    return [SearchResult(*row) for row in rows]


class EntitlementMatch(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    name: str
    application: str
    is_present: bool

    @property
    def label(self) -> str:
        return f"{self.name} ({self.application})"


_SHOWN_NAME = "coalesce(nullif(e.display_name, ''), nullif(e.name, ''), e.section)"
_MATCHES = f"""SELECT e.id, e.kind, {_SHOWN_NAME} AS name, a.name AS application, e.is_present
               FROM entitlements e JOIN applications a ON a.id = e.application_id"""


async def entitlements_like(db: Db, words: str, me: UUID | None = None) -> list[EntitlementMatch]:
    """Find entitlements by their complete label or a part of their names; names that begin with the words come first.

    Entitlements that are gone, or whose application is archived, are found only by the label.
    With `me`, find only entitlements that this person owns, and those of applications that they own or provision.
    """
    if not words.strip():
        return []
    # chr(1) separates the names, so that no match spans two of them.
    return await fetch_all(
        db,
        EntitlementMatch,
        f"""{_MATCHES} CROSS JOIN (SELECT username_key(%(words)s) AS key) AS asked
            WHERE (username_key({_SHOWN_NAME} || ' (' || a.name || ')') = asked.key
                   OR e.is_present AND NOT a.is_archived
                   AND strpos(username_key(concat_ws(chr(1), {_SHOWN_NAME}, e.name)), asked.key) > 0)
                  AND {_THEIRS.format(other="e.owner_id = %(me)s")}
            ORDER BY starts_with(e.name_key, asked.key) DESC, e.name_key LIMIT {_MOST_PEOPLE}""",
        words=" ".join(words.split()),
        me=me,
    )


async def label_of_entitlement(db: Db, id: UUID) -> str:
    """Return the label of an entitlement, or an empty string if none has this id."""
    found = await fetch_all(db, EntitlementMatch, f"{_MATCHES} WHERE e.id = %(id)s", id=id)
    return found[0].label if found else ""


async def _named(db: Db, words: str) -> list[SearchResult]:
    beginning = finding.beginning(words)
    if not beginning:
        return []
    found, values = finding.people(words, _MOST_PEOPLE)
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
    return [SearchResult(*row) for row in rows]


async def _numbered(db: Db, number: int) -> list[SearchResult]:
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
           FROM application_imports r JOIN applications a ON a.id = r.application_id WHERE r.number = %(number)s
           UNION ALL
           SELECT 'Review', '#' || number || ' ' || name, status, '/reviews/' || id
           FROM reviews WHERE number = %(number)s
           UNION ALL
           SELECT 'Review item', '#' || c.number || ' ' || r.name, c.status, '/review-items/' || c.id
           FROM review_items c JOIN reviews r ON r.id = c.review_id WHERE c.number = %(number)s""",
        number=number,
    )
    return [SearchResult(*row) for row in rows]
