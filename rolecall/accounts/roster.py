"""List accounts across applications, sorted by application and username.

Without filters, or with filters by application, match or `is_active`, concatenate one frozen list per application.
The starts of their pages are stored, so every page costs the same. With other filters, and for a past moment, one query
finds and counts the matching accounts.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.accounts.model import Match, pairs
from rolecall.accounts.moments import with_missing
from rolecall.accounts.shapes import AccountDetail, AccountIdentity, RosterItem
from rolecall.applications.queries import SUMMARY_COLUMNS, SUMMARY_WIDTH, summary_from_row
from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import (
    EVERYTHING,
    PAGE_SIZE,
    FrozenListing,
    Page,
    PastPage,
    all_of,
    fetch_page,
    fetch_stretch,
    frozen_rows,
)
from rolecall.identities.model import IdentityStatus

# An account `x` of application `a` as its version `v` shows it, with its identity `i`.
_COLUMNS = f"""x.id, {SUMMARY_COLUMNS}, x.username, v.name, v.email, v.is_active, v.is_locked,
    nullif(v.last_login, '') AS last_login, i.id, i.first_name || ' ' || i.last_name, i.status,
    i.inactivated_date, {{match}}.match, {{match}}.matched_on"""
_WIDTH = 1 + SUMMARY_WIDTH + 12


class RosterFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Which accounts to list; None means no filter."""

    application_id: UUID | None = None
    match: Match | None = None
    identity_id: UUID | None = None
    search: str | None = None
    is_active: bool | None = None
    leaver: bool | None = None
    dormant_days: int | None = None
    privileged: bool | None = None
    never_used: bool | None = None

    def are_versioned(self) -> bool:
        """Return whether each application's part of the list changes only when accounts are imported or matched."""
        others = (self.identity_id, self.search, self.leaver, self.dormant_days, self.privileged, self.never_used)
        return all(value is None for value in others)


def from_row(row: Sequence[Any]) -> RosterItem:
    id, *rest = row
    summary, rest = rest[:SUMMARY_WIDTH], rest[SUMMARY_WIDTH:]
    *plain, identity_id, name, status, left_on, match, matched_on = rest
    identity = AccountIdentity(identity_id, name, status, left_on) if identity_id else None
    return RosterItem(*(id, summary_from_row(summary), *plain, identity, match, matched_on, None))


_UTC = ZoneInfo("UTC")


def _aged(item: RosterItem, moment: datetime) -> RosterItem:
    """Set `age_days` as of this moment, and return the item."""
    since: datetime | None = None
    if item.identity and item.identity.status != IdentityStatus.ACTIVE:
        since = item.identity.inactivated_date
    elif item.match in (Match.UNMATCHED, Match.DISPUTED):
        since = item.matched_on
    elif item.last_login:
        # If an import could not parse the date of the last login, it stored the original text.
        with suppress(ValueError, OverflowError):
            since = clock.parse(item.last_login, _UTC)
    item.age_days = max((moment - since).days, 0) if since else None
    return item


# Matches also change between imports, so stored pages are valid only until the next matching.
_OF_ONE = FrozenListing(
    columns=_COLUMNS.format(match="x"),
    rows="""FROM accounts x JOIN applications a ON a.id = x.application_id
            JOIN account_versions v ON v.account_number = x.number
                 AND v.from_import <= %(as_of)s AND (v.until_import IS NULL OR v.until_import > %(as_of)s)
            LEFT JOIN identities i ON i.id = x.identity_id
            WHERE x.application_id = %(application)s AND x.match = coalesce(%(match)s::text, x.match)
              AND v.is_active = coalesce(%(is_active)s::boolean, v.is_active)""",
    key={"x.username": "text"},
    make=from_row,
    version="(SELECT ', matched ' || coalesce(max(number), 0) FROM matchings WHERE application_id = %(application)s)",
)


async def list_accounts(
    db: Db, page: int, filters: RosterFilters, as_of: datetime | None, now: datetime
) -> PastPage[RosterItem]:
    """List accounts, ordered by application and username.

    Accounts of archived applications are listed only for a past moment or with a filter by application.
    """
    if as_of is None and filters.are_versioned():
        found = await _one_after_the_other(db, page, filters)
    else:
        found = await _counted(db, page, filters, as_of, now)
    aged = found.map(partial(_aged, moment=as_of or now))
    return await with_missing(db, aged, filters.application_id, as_of)


async def _one_after_the_other(db: Db, page: int, filters: RosterFilters) -> Page[RosterItem]:
    applications = await fetch_rows(
        db,
        """SELECT a.id, t.import_number FROM applications a JOIN application_totals t ON t.application_id = a.id
           WHERE t.accounts > 0 AND (NOT a.is_archived AND %(id)s::uuid IS NULL OR a.id = %(id)s)
           ORDER BY a.list_key""",
        id=filters.application_id,
    )
    chosen = {"match": filters.match, "is_active": filters.is_active}
    if page == EVERYTHING:
        return all_of([frozen_rows(_OF_ONE, application=id, as_of=number, **chosen) for id, number in applications])
    items: list[RosterItem] = []
    before, total, start = 0, 0, (page - 1) * PAGE_SIZE
    # Visit all applications, because the total includes those before and after the page.
    for id, number in applications:
        wanted = PAGE_SIZE - len(items)
        of_this, found = await fetch_stretch(
            db,
            _OF_ONE,
            f"roster of {id} after {number}, {filters.match} {filters.is_active}",
            max(start - before, 0) if wanted else 0,
            wanted,
            application=id,
            as_of=number,
            **chosen,
        )
        items += found if start < before + of_this else []
        before += of_this
        total = before
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


# `last` is the last import of each application at that moment, `privileged` the accounts that held privileged
# entitlements after that import, and `with_logins` the applications that report logins.
# The conditions `IS NOT NULL` skip the parts whose filter is not given.
_GIVEN = """WITH last AS MATERIALIZED (
        SELECT r.application_id, max(r.number)::int AS number FROM application_imports r
        WHERE r.status = 'Finished' AND r.build_end <= %(moment)s GROUP BY 1
    ), privileged AS MATERIALIZED (
        SELECT DISTINCT h.account FROM entitlements e JOIN last USING (application_id)
        CROSS JOIN LATERAL holdings_of(e.id, last.number) AS h
        WHERE e.is_privileged AND %(privileged)s::boolean IS NOT NULL
    ), with_logins AS MATERIALIZED (
        SELECT DISTINCT y.application_id FROM account_versions l JOIN accounts y ON y.number = l.account_number
        WHERE l.last_login <> '' AND %(never_used)s::boolean IS NOT NULL
    )"""
_ROWS = """FROM applications a JOIN last ON last.application_id = a.id
    JOIN accounts x ON x.application_id = a.id
    JOIN account_versions v ON v.account_number = x.number
         AND v.from_import <= last.number AND (v.until_import IS NULL OR v.until_import > last.number)
    CROSS JOIN LATERAL match_then(x, %(moment)s) AS m LEFT JOIN identities i ON i.id = m.identity_id"""
_CONDITIONS = {
    "application_id": "a.id = %(application_id)s",
    "match": "m.match = %(match)s",
    "identity_id": "i.id = %(identity_id)s",
    "search": """(strpos(username_key(x.username), username_key(%(search)s)) > 0
                  OR strpos(username_key(v.name), username_key(%(search)s)) > 0
                  OR strpos(lower(v.email), lower(%(search)s)) > 0)""",
    "is_active": "v.is_active = %(is_active)s",
    "leaver": """(i.id IS NOT NULL AND (
                      i.status <> 'Active' AND coalesce(i.inactivated_date <= %(moment)s, true)
                      OR EXISTS (SELECT FROM past_departures d
                                 WHERE d.identity_id = i.id AND d.since <= %(moment)s AND d.until > %(moment)s)
                  )) = %(leaver)s""",
    "dormant_days": "v.last_login <> '' AND v.last_login < %(oldest)s",
    "never_used": "(v.last_login = '' AND a.id IN (SELECT application_id FROM with_logins)) = %(never_used)s",
    "privileged": "(x.number IN (SELECT account FROM privileged)) = %(privileged)s",
}


async def _counted(
    db: Db, page: int, filters: RosterFilters, as_of: datetime | None, now: datetime
) -> Page[RosterItem]:
    given: dict[str, Any] = msgspec.structs.asdict(filters)
    conditions = [sql for name, sql in _CONDITIONS.items() if given[name] is not None]
    if filters.application_id is None and as_of is None:
        conditions.append("NOT a.is_archived")
    rows, moment = f"{_ROWS} WHERE {' AND '.join(conditions) or 'true'}", as_of or now
    days = timedelta(days=filters.dormant_days or 0)
    return await fetch_page(
        db,
        from_row,
        page,
        given=_GIVEN,
        total=f"SELECT count(*) {rows}",
        items=f"SELECT {_COLUMNS.format(match='m')} {rows} ORDER BY a.list_key, x.username",
        **{**given, "search": " ".join((filters.search or "").split())},
        moment=moment,
        # Clamp to 1900: the difference could be before year 1, which datetime cannot represent.
        oldest=f"{max(moment, _FIRST_DAY + days) - days:%Y-%m-%dT%H:%M:%SZ}",
    )


_FIRST_DAY = datetime.fromisoformat("1900-01-01T00:00:00+00:00")


async def get(db: Db, id: UUID, now: datetime) -> AccountDetail:
    seen = "SELECT r.build_end FROM application_imports r WHERE r.application_id = a.id AND r.status = 'Finished'"
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS.format(match="x")}, v.employee_id, v.metadata::json, v.until_import IS NULL,
                   ({seen} AND r.number = (SELECT min(f.from_import) FROM account_versions f
                                           WHERE f.account_number = x.number)),
                   ({seen} AND r.number < coalesce(v.until_import, now_import()) ORDER BY r.number DESC LIMIT 1)
            FROM accounts x JOIN applications a ON a.id = x.application_id
            JOIN LATERAL (SELECT * FROM account_versions v WHERE v.account_number = x.number
                          ORDER BY v.from_import DESC LIMIT 1) AS v ON true
            LEFT JOIN identities i ON i.id = x.identity_id WHERE x.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("Account", id)
    employee_id, metadata, *rest = rows[0][_WIDTH:]
    item = _aged(from_row(rows[0][:_WIDTH]), now)
    return AccountDetail(*(*msgspec.structs.astuple(item), employee_id, pairs(metadata), *rest))
