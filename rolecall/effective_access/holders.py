"""List who holds an entitlement, now or at a past moment, and who ever held it.

The keys and the order of all holdings are computed once and stored (`core/computed_lists.py`). A page then reads only
the accounts on it.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.accounts.moments import MATCHES_THEN, require_data
from rolecall.core.computed_lists import fetch_computed
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.paging import EVERYTHING, PAGE_SIZE, Page, Rows, all_of
from rolecall.effective_access.queries import FOREVER, Given, Reasons, Span, at, imports_by_number, reasons_in
from rolecall.effective_access.shapes import HolderAccount, HolderIdentity, Holding
from rolecall.entitlements.shapes import EntitlementItem
from rolecall.identities.model import IdentityStatus

# The key of a holding is unique within its entitlement. In the history, it also contains the start of the match (`m`).
_KEY = """concat_ws(' ', h.account, array_to_string(h.path, '>'), h.access, lower(h.during),
                    extract(epoch FROM lower(m.during)))"""


class _View(msgspec.Struct, frozen=True):
    """How to query a list of holdings.

    In `order`, `h.path` puts direct holdings, whose path is empty, before holdings through groups.
    """

    name: str
    during: str
    as_of: str
    order: str
    # SQL for the periods `m` in which the account belonged to an identity; in a list without history, one row of nulls.
    matches: str

    @property
    def all(self) -> str:
        return self._holdings(f"holdings_of(%(id)s, {self.as_of})")

    @property
    def of_accounts(self) -> str:
        return self._holdings(f"holdings_of_accounts(%(id)s, {self.as_of}, %(accounts)s)")

    def _holdings(self, source: str) -> str:
        return f"""(SELECT h.id, h.account, h.path, h.access, {self.during} AS during
                    FROM {source} AS h GROUP BY 1, 2, 3, 4)"""


_HOLDERS = _View(
    name="holders of {id} after {number}",
    during="int4range(min(lower(h.during)), NULL)",
    as_of="%(as_of)s",
    order="a.username, h.path, h.access",
    matches="(SELECT NULL::uuid AS identity_id, NULL::tstzrange AS during)",
)
_HISTORY = _View(
    name="history of {id} up to {number}",
    during="unnest(range_agg(h.during))",
    as_of="NULL",
    order="lower(h.during) DESC, a.username, h.path, h.access, lower(m.during) DESC NULLS LAST",
    # Only accounts with earlier matches can have belonged to another person. A pin applies to all times.
    matches="""(SELECT m.identity_id, m.during FROM matches_of(a) AS m, application_imports b
                WHERE EXISTS (SELECT FROM past_matches p WHERE p.account_number = a.number AND a.pin IS NULL)
                AND b.number = lower(h.during) AND m.during && tstzrange(b.build_end, r.build_end)
                AND coalesce(lower(m.during) <= %(moment)s, true))""",
)
_ENDED = """LEFT JOIN application_imports r ON r.number = upper(h.during) AND r.number <= %(as_of)s"""


class _Row(msgspec.Struct):
    key: str
    application_id: UUID
    is_group: bool
    header: str
    section: str
    name: str
    account_id: UUID
    username: str
    is_active: bool
    is_locked: bool
    identity_id: UUID | None
    identity_name: str | None
    title: str | None
    department: str | None
    status: str | None
    access: str
    since: int
    until: int | None
    path: list[str]
    matched_from: datetime | None
    matched_until: datetime | None

    @property
    def given(self) -> Given:
        """Return the key of the access in requests and models.

        For access through a group, the key names the group that the account is in directly.
        """
        if self.path or self.is_group:
            return self.application_id, True, "", "", self.path[0] if self.path else self.name
        return self.application_id, False, self.header, self.section, self.name


async def holders_of(
    db: Db, entitlement: EntitlementItem, page: int, as_of: datetime | None, now: datetime
) -> Page[Holding]:
    """List the holders of an entitlement, ordered by username."""
    return await _listed(db, _HOLDERS, entitlement, page, as_of, now)


async def history_of(
    db: Db, entitlement: EntitlementItem, page: int, as_of: datetime | None, now: datetime
) -> Page[Holding]:
    """List everyone who ever held an entitlement, newest first. With `as_of`, leave out holdings that began later."""
    return await _listed(db, _HISTORY, entitlement, page, as_of, now)


async def _listed(
    db: Db, view: _View, entitlement: EntitlementItem, page: int, as_of: datetime | None, now: datetime
) -> Page[Holding]:
    number = await _last_import(db, entitlement, as_of)
    given = {"id": entitlement.id, "as_of": number, "moment": as_of or now}
    if page == EVERYTHING:
        rows = f"{_select(view, view.all)} WHERE lower(h.during) <= %(as_of)s ORDER BY {view.order}"
        shown = partial(_shown, number, as_of)
        read: Rows[Any] = Rows(rows, given, lambda row: _Row(*row), shown)
        return all_of([read])
    gathered = await fetch_computed(
        db,
        f"{view.name.format(id=entitlement.id, number=number)}, {await _state(db, view, entitlement, as_of)}",
        f"""SELECT {_KEY} AS key, row_number() OVER (ORDER BY {view.order}) - 1 AS place
            FROM {view.all} AS h JOIN accounts a ON a.number = h.account {_ENDED}
            LEFT JOIN LATERAL {view.matches} AS m ON true WHERE lower(h.during) <= %(as_of)s""",
        page,
        now,
        **given,
    )
    # A key begins with the number of the account.
    accounts = [int(key.split(" ", 1)[0]) for key in gathered.keys]
    found = await fetch_all(db, _Row, _select(view, view.of_accounts), **given, accounts=accounts)
    by_key = {row.key: row for row in found}
    # The queries have separate snapshots, so a key may be gone by now.
    items = await _shown(number, as_of, db, [by_key[key] for key in gathered.keys if key in by_key])
    return Page(items, gathered.total, page, PAGE_SIZE, -(-gathered.total // PAGE_SIZE))


async def _last_import(db: Db, entitlement: EntitlementItem, as_of: datetime | None) -> int:
    await require_data(db, entitlement.application.id, as_of)
    number: int | None = await fetch_value(
        db,
        """SELECT max(number)::int FROM application_imports WHERE application_id = %(application)s
           AND status = 'Finished' AND build_end <= coalesce(%(as_of)s::timestamptz, 'infinity')""",
        application=entitlement.application.id,
        as_of=as_of,
    )
    return number or 0


async def _state(db: Db, view: _View, entitlement: EntitlementItem, as_of: datetime | None) -> str:
    """Return what a stored list depends on, as a string: former names and, for the history, matches."""
    rows = await fetch_rows(db, "SELECT id FROM former_selves(%(id)s)", id=entitlement.id)
    joined = f"joined {' '.join(sorted(str(id) for (id,) in rows))}"
    if view is _HOLDERS:
        return joined
    matched = await fetch_value(
        db,
        f"SELECT concat_ws(' ', (SELECT number FROM matchings WHERE application_id = %(application)s), {MATCHES_THEN})",
        application=entitlement.application.id,
        moment=as_of,
    )
    return f"{joined}, matched {matched}"


def _select(view: _View, holdings: str) -> str:
    """Return SQL that selects the columns of a `_Row`, without a WHERE clause."""
    return f"""SELECT {_KEY} AS key, e.application_id, e.kind = 'Group' AS is_group, e.header, e.section, e.name,
               a.id AS account_id, a.username, coalesce(v.is_active, false) AS is_active,
               coalesce(v.is_locked, false) AS is_locked, i.id AS identity_id,
               i.first_name || ' ' || i.last_name AS identity_name, i.title, i.department, i.status,
               h.access, lower(h.during) AS since, upper(h.during) AS until, group_names(h.path) AS path,
               lower(m.during) AS matched_from, upper(m.during) AS matched_until
        FROM {holdings} AS h JOIN accounts a ON a.number = h.account JOIN entitlements e ON e.id = h.id
        LEFT JOIN LATERAL (SELECT * FROM account_versions v WHERE v.account_number = a.number
                           AND v.from_import <= %(as_of)s ORDER BY v.from_import DESC LIMIT 1) AS v ON true
        {_ENDED} LEFT JOIN LATERAL {view.matches} AS m ON true
        -- The identity that the account belonged to until the holding ended.
        LEFT JOIN identities i ON i.id = CASE WHEN m.during IS NOT NULL THEN m.identity_id
            ELSE identity_then(a, coalesce(r.build_end - interval '1 us', %(moment)s)) END"""


def _seen_at(row: _Row, number: int, as_of: datetime | None) -> _Row:
    """Return the row as it was after the import `number` and at the time `as_of`: clear ends that were set later."""
    is_past = (row.matched_until or FOREVER) <= (as_of or FOREVER)
    until = None if (row.until or 0) > number else row.until
    return msgspec.structs.replace(row, until=until, matched_until=row.matched_until if is_past else None)


async def _shown(number: int, as_of: datetime | None, db: Db, rows: Sequence[_Row]) -> list[Holding]:
    """Return the holdings as of the import `number` with their reasons: for an ended holding, all that it ever had."""
    rows = [_seen_at(row, number, as_of) for row in rows]
    imports = await imports_by_number(db, {n for row in rows for n in (row.since, row.until) if n is not None})

    def span(row: _Row) -> Span:
        ends = [imports[row.until].build_end if row.until is not None else None, row.matched_until]
        if ended := [end for end in ends if end]:
            begins = [imports[row.since].build_end, row.matched_from]
            return max(begin for begin in begins if begin), min(ended)
        return at(as_of)

    people = defaultdict[Span, set[UUID]](set)
    for row in rows:
        if row.identity_id:
            people[span(row)].add(row.identity_id)
    reasons = await reasons_in(db, people)
    none = Reasons({}, {})

    def holding(row: _Row) -> Holding:
        since = imports[row.since]
        return Holding(
            _identity(row),
            HolderAccount(row.account_id, row.username, row.is_active, row.is_locked),
            Access(row.access),
            since,
            imports[row.until] if row.until is not None else None,
            row.path,
            reasons.get(span(row), none).why(row.identity_id, row.given, row.username, since),
            row.matched_from,
            row.matched_until,
        )

    return [holding(row) for row in rows]


def _identity(row: _Row) -> HolderIdentity | None:
    if row.identity_id is None or row.identity_name is None or row.status is None:
        return None
    status = IdentityStatus(row.status)
    return HolderIdentity(row.identity_id, row.identity_name, row.title or "", row.department or "", status)
