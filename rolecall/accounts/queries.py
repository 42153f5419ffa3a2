"""Read accounts, groups, permissions and who holds them, now or as of an import.

Each row is valid for an interval of imports, so that every query also works for the past (`as_of`).
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from msgspec.structs import replace

from rolecall.accounts.model import Match, pairs, valid
from rolecall.accounts.shapes import Account, AccountItem, GroupItem, HeldPermission, Membership, PermissionItem
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import LAST_KEY, FrozenListing, Page, fetch_frozen, fetch_page

AsOf = int | None
T = TypeVar("T")
# A time after every stored time, which means the present; Python has no infinite time.
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)

_ACCOUNT_ITEM = """
    a.id, a.username, v.name, v.email, v.is_active, v.is_locked, nullif(v.last_login, '') AS last_login,
    {match}.identity_id, {match}.match, v.metadata::json, {match}.matched_on"""
_ACCOUNT = "a.id, a.application_id, a.username, v.name, v.email, v.is_active, v.is_locked, v.metadata::json"


def _account_item(row: Sequence[Any]) -> AccountItem:
    *plain, metadata, matched_on = row
    return AccountItem(*(*plain, pairs(metadata), matched_on))


def _account(row: Sequence[Any]) -> Account:
    *plain, metadata = row
    return Account(*(*plain, pairs(metadata)))


def _group_item(row: Sequence[Any]) -> GroupItem:
    *plain, metadata = row
    return GroupItem(*(*plain, pairs(metadata)))


_THEN = "v.from_import <= %(as_of)s AND (v.until_import IS NULL OR v.until_import > %(as_of)s)"
# The list of an application's accounts changes only with an import, so its page starts can be stored.
ACCOUNTS = FrozenListing(
    columns=_ACCOUNT_ITEM.format(match="a"),
    rows=f"""FROM accounts a JOIN account_versions v ON v.account_number = a.number AND {_THEN}
             WHERE a.application_id = %(application)s""",
    key={"a.username": "text"},
    make=_account_item,
)
# Matches also change between imports, so stored pages are valid only until the next matching.
ACCOUNTS_BY_MATCH = replace(
    ACCOUNTS,
    rows=f"{ACCOUNTS.rows} AND a.match = %(match)s",
    version="(SELECT ', matched ' || coalesce(max(number), 0) FROM matchings WHERE application_id = %(application)s)",
)
# Like `ACCOUNTS`, but with the match that each account had at a past moment.
_PAST_ACCOUNTS = replace(
    ACCOUNTS,
    columns=_ACCOUNT_ITEM.format(match="m"),
    rows=f"""FROM accounts a JOIN account_versions v ON v.account_number = a.number AND {_THEN}
             CROSS JOIN LATERAL match_then(a, %(moment)s) AS m
             WHERE a.application_id = %(application)s""",
)
GROUPS = FrozenListing(
    columns="g.id, g.name, v.description, v.nomenclature, v.metadata::json",
    rows=f"""FROM groups g JOIN group_versions v ON v.group_number = g.number AND {_THEN}
             WHERE g.application_id = %(application)s""",
    key={"g.name": "text"},
    make=_group_item,
)
PERMISSIONS = FrozenListing(
    columns="p.id, p.header, p.section, p.permission, v.description, v.risk_rating",
    rows=f"""FROM permissions p JOIN permission_versions v ON v.permission_number = p.number AND {_THEN}
             WHERE p.application_id = %(application)s""",
    key={"p.header": "text", "p.section": "text", "p.permission": "text"},
    make=lambda row: PermissionItem(*row),
)


async def last_import(db: Db, application_id: UUID, as_of: datetime | None = None) -> int:
    """Return the number of the last finished import, now or at a past moment; 0 if there was none.

    Raise NotFound if the application does not exist.
    """
    rows = await fetch_rows(
        db,
        """SELECT (SELECT r.number FROM application_imports r
                   WHERE r.application_id = a.id AND r.status = 'Finished'
                     AND r.build_end <= %(moment)s ORDER BY r.number DESC LIMIT 1)
           FROM applications a WHERE a.id = %(application)s""",
        application=application_id,
        moment=as_of or _LAST_MOMENT,
    )
    if not rows:
        raise NotFound("Application", application_id)
    return rows[0][0] or 0


async def accounts_of(
    db: Db, application_id: UUID, page: int, as_of: datetime | None = None, match: Match | None = None
) -> Page[AccountItem]:
    """List an application's accounts, ordered by username, now or at a past moment; `match` is a filter."""
    if as_of is not None and match is not None:
        return await _matched_at(db, application_id, page, as_of, match)
    if as_of is not None:
        return await _after(db, "accounts", _PAST_ACCOUNTS, application_id, page, as_of, moment=as_of)
    if match is None:
        return await _after(db, "accounts", ACCOUNTS, application_id, page, as_of)
    return await _after(db, f"{match} accounts", ACCOUNTS_BY_MATCH, application_id, page, as_of, match=match)


async def _matched_at(db: Db, application_id: UUID, page: int, moment: datetime, match: Match) -> Page[AccountItem]:
    """List the accounts with this match at a past moment. Matches change between imports, so do not store pages."""
    rows = f"{_PAST_ACCOUNTS.rows} AND m.match = %(match)s"
    return await fetch_page(
        db,
        _account_item,
        page,
        total=f"SELECT count(*) {rows}",
        items=f"SELECT {_PAST_ACCOUNTS.columns} {rows} ORDER BY a.username",
        application=application_id,
        as_of=await last_import(db, application_id, moment),
        moment=moment,
        match=match,
    )


# SQL that is true if a username begins with %(beginning)s, ignoring case. The indexed skeleton also equates look-alike
# letters, so compare the letters too.
BEGINS = f"""username_skeleton(username) >= username_skeleton(%(beginning)s)
    AND username_skeleton(username) < username_skeleton(%(beginning)s) || {LAST_KEY}
    AND starts_with(username_key(username), username_key(%(beginning)s))"""


async def accounts_named(
    db: Db, application_id: UUID, page: int, beginning: str, match: Match | None = None
) -> Page[AccountItem]:
    """List the accounts whose username begins with `beginning`, ignoring case."""
    rows = f"""FROM (SELECT * FROM accounts WHERE application_id = %(application)s AND {BEGINS} OFFSET 0) AS a
               CROSS JOIN LATERAL (
                   SELECT * FROM account_versions v WHERE v.account_number = a.number AND {_THEN} LIMIT 1
               ) AS v
               WHERE a.match = coalesce(%(match)s, a.match)"""
    return await fetch_page(
        db,
        _account_item,
        page,
        total=f"SELECT count(*) {rows}",
        items=f"SELECT {ACCOUNTS.columns} {rows} ORDER BY a.username",
        application=application_id,
        as_of=await last_import(db, application_id),
        beginning=beginning,
        match=match,
    )


async def groups_of(db: Db, application_id: UUID, page: int, as_of: datetime | None = None) -> Page[GroupItem]:
    return await _after(db, "groups", GROUPS, application_id, page, as_of)


async def permissions_of(
    db: Db, application_id: UUID, page: int, as_of: datetime | None = None
) -> Page[PermissionItem]:
    return await _after(db, "permissions", PERMISSIONS, application_id, page, as_of)


async def _after(
    db: Db,
    kind: str,
    listing: FrozenListing[T],
    application_id: UUID,
    page: int,
    as_of: datetime | None,
    **params: object,
) -> Page[T]:
    number = await last_import(db, application_id, as_of)
    name = f"{kind} of {application_id} after {number}"
    return await fetch_frozen(db, listing, name, page, application=application_id, as_of=number, **params)


async def account_item(db: Db, id: UUID) -> AccountItem:
    """Return an account as of the last import that contains it."""
    rows = await fetch_rows(
        db,
        f"""SELECT {ACCOUNTS.columns} FROM accounts a JOIN account_versions v ON v.account_number = a.number
            WHERE a.id = %(id)s ORDER BY v.from_import DESC LIMIT 1""",
        id=id,
    )
    if rows:
        return _account_item(rows[0])
    raise NotFound("Account", id)


async def of_identity(db: Db, identity_id: UUID) -> list[Account]:
    """Return the identity's accounts in applications that are not archived, ordered by application and username."""
    return [account for _, account in await of_identities(db, [identity_id])]


async def of_identities(db: Db, identity_ids: Sequence[UUID]) -> list[tuple[UUID, Account]]:
    """Return the identities' accounts in applications that are not archived, each with its identity."""
    rows = await fetch_rows(
        db,
        f"""SELECT a.identity_id, {_ACCOUNT} FROM accounts a
            JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
            JOIN applications p ON p.id = a.application_id AND NOT p.is_archived
            WHERE a.identity_id = ANY(%(identities)s) ORDER BY p.name_key, p.id, a.username""",
        identities=list(identity_ids),
    )
    return [(identity_id, _account(row)) for identity_id, *row in rows]


async def of_identity_at(db: Db, identity_id: UUID, moment: datetime) -> list[tuple[Account, int]]:
    """Return the accounts of an identity at a past moment, each with the number of the last import by then.

    `match_then` (schema/accounts.sql) defines which identity an account belonged to.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT last.number, {_ACCOUNT} FROM accounts a
            JOIN applications p ON p.id = a.application_id
            JOIN LATERAL (SELECT max(r.number)::int AS number FROM application_imports r
                          WHERE r.application_id = p.id AND r.status = 'Finished'
                          AND r.build_end <= %(moment)s) AS last ON true
            JOIN account_versions v ON v.account_number = a.number AND v.from_import <= last.number
                 AND (v.until_import IS NULL OR v.until_import > last.number)
            -- An array, so that the match is not computed for every account.
            WHERE a.number = ANY (ARRAY(SELECT number FROM accounts WHERE identity_id = %(identity)s
                                        UNION SELECT account_number FROM past_matches WHERE identity_id = %(identity)s))
            AND identity_then(a, %(moment)s) = %(identity)s
            ORDER BY p.name_key, p.id, a.username""",
        identity=identity_id,
        moment=moment,
    )
    return [(_account(row[1:]), row[0]) for row in rows]


async def account_at(db: Db, id: UUID, moment: datetime | None) -> tuple[Account, int, UUID | None]:
    """Return an account, the number of the last import at a moment, and the id of the identity that it matched then.

    Without a moment, return the current state. The number is 0 if that import did not show the account, or if no import
    had finished at that moment.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT CASE WHEN v.from_import <= last.number AND (v.until_import IS NULL OR v.until_import > last.number)
                        THEN last.number ELSE 0 END,
                   identity_then(a, coalesce(%(moment)s::timestamptz, 'infinity')), {_ACCOUNT}
            FROM accounts a
            LEFT JOIN LATERAL (SELECT max(r.number)::int AS number FROM application_imports r
                               WHERE r.application_id = a.application_id AND r.status = 'Finished'
                               AND r.build_end <= coalesce(%(moment)s::timestamptz, 'infinity')) AS last ON true
            JOIN LATERAL (SELECT * FROM account_versions v WHERE v.account_number = a.number
                          ORDER BY v.from_import <= last.number DESC, v.from_import DESC LIMIT 1) AS v ON true
            WHERE a.id = %(id)s""",
        id=id,
        moment=moment,
    )
    if not rows:
        raise NotFound("Account", id)
    number, identity_id, *account = rows[0]
    return _account(account), number, identity_id


async def memberships(db: Db, account_ids: Sequence[UUID], as_of: AsOf = None) -> list[Membership]:
    """List the groups that accounts are in, directly and through nested groups, with their risk ratings."""
    return await fetch_all(
        db,
        Membership,
        f"""WITH {_walked(as_of)}, rated AS MATERIALIZED (
                SELECT above, group_risk_at(above, %(as_of)s) AS risk_rating
                FROM (SELECT DISTINCT above FROM walked) AS each
            )
            SELECT w.id AS account_id, g.name AS group, v.nomenclature, v.description, r.risk_rating,
                   w.since AS from_import, group_names(w.path) AS path
            FROM walked w JOIN rated r USING (above)
            JOIN groups g ON g.number = w.above
            JOIN group_versions v ON v.group_number = g.number AND {valid("v", as_of)}
            ORDER BY w.id, g.name, w.path""",
        ids=list(account_ids),
        as_of=as_of,
    )


def _walked(as_of: AsOf) -> str:
    """Return SQL for the WITH query `walked`: the groups that accounts are in, directly and through nested groups."""
    return f"""joined AS MATERIALIZED (
            SELECT a.id, a.number, m.group_number, m.from_import FROM accounts a
            JOIN memberships m ON m.account_number = a.number AND {valid("m", as_of)} WHERE a.id = ANY(%(ids)s)
        ), walked AS MATERIALIZED (
            -- Access through groups begins when the last link of the chain began (docs/decisions/0109).
            SELECT j.id, j.number, w.above, w.path, greatest(j.from_import, lower(w.during)) AS since
            FROM joined j JOIN groups_above(ARRAY(SELECT DISTINCT group_number FROM joined),
                                            coalesce(%(as_of)s::int, now_import())) AS w
                          ON w.number = j.group_number
        )"""


async def permissions_held(db: Db, account_ids: Sequence[UUID], as_of: AsOf = None) -> list[HeldPermission]:
    """List the permissions that accounts hold, directly or through their groups and the groups above."""
    return await _permissions(
        db,
        f"{_walked(as_of)}, ",
        """SELECT a.number, a.id, a.number, '{}'::int[], 0 FROM accounts a WHERE a.id = ANY(%(ids)s)
           UNION ALL
           SELECT w.number, w.id, w.above, w.path || w.above, w.since FROM walked w""",
        account_ids,
        as_of,
    )


async def permissions_of_groups(db: Db, group_ids: Sequence[UUID], as_of: AsOf = None) -> list[HeldPermission]:
    """List the permissions that groups give, directly or through the groups above them."""
    return await _permissions(
        db,
        "",
        # Leave out the first group of the path, which is the holder itself.
        """SELECT g.number, g.id, w.above, w.path[2:] || CASE WHEN w.above <> g.number THEN w.above END,
                  lower(w.during)
           FROM groups_above(ARRAY(SELECT number FROM groups WHERE id = ANY(%(ids)s)),
                             coalesce(%(as_of)s::int, now_import())) AS w
           JOIN groups g ON g.number = w.number""",
        group_ids,
        as_of,
    )


async def _permissions(db: Db, given: str, holders: str, ids: Sequence[UUID], as_of: AsOf) -> list[HeldPermission]:
    """List the assignments of holders. `holders` selects holder, id, number, path and since.

    `number` is the account or group that has the assignment. `path` lists the groups on the way from the holder to
    `number`, including `number` but not the holder. `given` contains the first queries of the WITH clause.
    """
    return await fetch_all(
        db,
        HeldPermission,
        # Materialize the holders, so that `group_names` runs once for each holder and path, not for each permission.
        f"""WITH {given}holders AS MATERIALIZED (
                SELECT h.*, group_names(h.path) AS names FROM ({holders}) AS h (holder, id, number, path, since)
            )
            SELECT h.id AS holder_id, p.header, p.section, p.permission, v.description,
                   coalesce(c.curated_risk, v.risk_rating) AS risk_rating, s.access::text AS access, s.value,
                   h.names AS path, greatest(s.from_import, h.since) AS from_import
            FROM holders h JOIN assignments s ON s.holder_number = h.number AND {valid("s", as_of)}
            JOIN permissions p ON p.number = s.permission_number
            JOIN permission_versions v ON v.permission_number = p.number AND {valid("v", as_of)}
            LEFT JOIN entitlements c ON c.id = p.id AND c.curated_risk IS NOT NULL
            ORDER BY h.holder, p.header, p.section, p.permission, h.names""",
        ids=list(ids),
        as_of=as_of,
    )
