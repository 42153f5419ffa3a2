"""What applications hold, now or as of an import."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.accounts.model import Match, pairs, valid
from rolecall.accounts.shapes import Account, AccountItem, GroupItem, Held, Membership, PermissionItem
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import Page, fetch_page

AsOf = int | None

_ACCOUNT_ITEM = """
    a.id, a.username, v.name, v.email, v.is_active, v.is_locked, nullif(v.last_login, '') AS last_login,
    a.identity_id, a.match, v.metadata, a.matched_on"""
_ACCOUNT = "a.id, a.application_id, a.username, v.name, v.email, v.is_active, v.is_locked, v.metadata"


def _account_item(row: Sequence[Any]) -> AccountItem:
    *plain, metadata, matched_on = row
    return AccountItem(*(*plain, pairs(metadata), matched_on))


def _account(row: Sequence[Any]) -> Account:
    *plain, metadata = row
    return Account(*(*plain, pairs(metadata)))


def _group_item(row: Sequence[Any]) -> GroupItem:
    *plain, metadata = row
    return GroupItem(*(*plain, pairs(metadata)))


async def import_at(db: Db, application_id: UUID, as_of: int | datetime | None) -> AsOf:
    """The import whose result was the state at that moment; 0 before the first."""
    if not isinstance(as_of, datetime):
        return as_of
    number: int | None = await fetch_value(
        db,
        """SELECT max(number) FROM application_imports
           WHERE application_id = %(application)s AND status = 'Finished' AND build_end <= %(moment)s""",
        application=application_id,
        moment=as_of,
    )
    return number or 0


async def accounts_of(
    db: Db, application_id: UUID, page: int, as_of: AsOf = None, match: Match | None = None
) -> Page[AccountItem]:
    """By username."""
    rows = f"""FROM accounts a JOIN account_versions v ON v.account_number = a.number AND {valid("v", as_of)}
               WHERE a.application_id = %(application)s"""
    if match:
        rows += " AND a.match = %(match)s"
    return await fetch_page(
        db,
        _account_item,
        page,
        total=_kept("accounts") if as_of is None and match is None else f"SELECT count(*) {rows}",
        items=f"SELECT {_ACCOUNT_ITEM} {rows} ORDER BY a.username",
        application=application_id,
        match=match,
    )


async def groups_of(db: Db, application_id: UUID, page: int, as_of: AsOf = None) -> Page[GroupItem]:
    """By name."""
    rows = f"""FROM groups g JOIN group_versions v ON v.group_number = g.number AND {valid("v", as_of)}
               WHERE g.application_id = %(application)s"""
    return await fetch_page(
        db,
        _group_item,
        page,
        total=_kept("groups") if as_of is None else f"SELECT count(*) {rows}",
        items=f"SELECT g.id, g.name, v.description, v.nomenclature, v.metadata {rows} ORDER BY g.name",
        application=application_id,
    )


async def permissions_of(db: Db, application_id: UUID, page: int, as_of: AsOf = None) -> Page[PermissionItem]:
    """By header, section and permission."""
    rows = f"""FROM permissions p JOIN permission_versions v ON v.permission_number = p.number AND {valid("v", as_of)}
               WHERE p.application_id = %(application)s"""
    return await fetch_page(
        db,
        lambda row: PermissionItem(*row),
        page,
        total=_kept("permissions") if as_of is None else f"SELECT count(*) {rows}",
        items=f"""SELECT p.id, p.header, p.section, p.permission, v.description, v.risk_rating {rows}
                  ORDER BY p.header, p.section, p.permission""",
        application=application_id,
    )


def _kept(kind: str) -> str:
    kept = f"SELECT {kind} FROM application_totals WHERE application_id = %(application)s"
    return f"SELECT coalesce(({kept}), 0)::bigint"


async def account_item(db: Db, id: UUID) -> AccountItem:
    """As it is now, or as it last was."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_ACCOUNT_ITEM} FROM accounts a JOIN account_versions v ON v.account_number = a.number
            WHERE a.id = %(id)s ORDER BY v.from_import DESC LIMIT 1""",
        id=id,
    )
    if rows:
        return _account_item(rows[0])
    raise NotFound("Account", id)


async def of_identity(db: Db, identity_id: UUID) -> list[Account]:
    """The identity's accounts now, in applications that are not archived; by application and username."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_ACCOUNT} FROM accounts a
            JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
            JOIN applications p ON p.id = a.application_id AND NOT p.is_archived
            WHERE a.identity_id = %(identity)s ORDER BY p.name_key, p.id, a.username""",
        identity=identity_id,
    )
    return [_account(row) for row in rows]


async def of_identity_at(db: Db, identity_id: UUID, moment: datetime) -> list[tuple[Account, int]]:
    """The identity's accounts at that moment, each with the import that was its application's last then."""
    rows = await fetch_rows(
        db,
        f"""SELECT last.number, {_ACCOUNT} FROM accounts a
            JOIN applications p ON p.id = a.application_id
            JOIN LATERAL (SELECT max(r.number)::int AS number FROM application_imports r
                          WHERE r.application_id = p.id AND r.status = 'Finished'
                          AND r.build_end <= %(moment)s) AS last ON true
            JOIN account_versions v ON v.account_number = a.number AND v.from_import <= last.number
                 AND (v.until_import IS NULL OR v.until_import > last.number)
            WHERE a.identity_id = %(identity)s ORDER BY p.name_key, p.id, a.username""",
        identity=identity_id,
        moment=moment,
    )
    return [(_account(row[1:]), row[0]) for row in rows]


async def find_account(db: Db, application_id: UUID, username: str) -> Account | None:
    rows = await fetch_rows(
        db,
        f"""SELECT {_ACCOUNT} FROM accounts a
            JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
            WHERE a.application_id = %(application)s AND a.username = %(username)s""",
        application=application_id,
        username=username,
    )
    return _account(rows[0]) if rows else None


async def find_group(db: Db, application_id: UUID, name: str) -> GroupItem | None:
    rows = await fetch_rows(
        db,
        """SELECT g.id, g.name, v.description, v.nomenclature, v.metadata FROM groups g
           JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
           WHERE g.application_id = %(application)s AND g.name = %(name)s""",
        application=application_id,
        name=name,
    )
    return _group_item(rows[0]) if rows else None


async def memberships(db: Db, account_ids: Sequence[UUID], as_of: AsOf = None) -> list[Membership]:
    return await fetch_all(
        db,
        Membership,
        f"""SELECT a.id AS account_id, g.name AS group, v.nomenclature, v.description, m.from_import
            FROM accounts a
            JOIN memberships m ON m.account_number = a.number AND {valid("m", as_of)}
            JOIN groups g ON g.number = m.group_number
            JOIN group_versions v ON v.group_number = g.number AND {valid("v", as_of)}
            WHERE a.id = ANY(%(ids)s) ORDER BY a.id, g.name""",
        ids=list(account_ids),
    )


async def permissions_held(db: Db, account_ids: Sequence[UUID], as_of: AsOf = None) -> list[Held]:
    """What accounts hold, directly and through their groups."""
    return await _held(
        db,
        f"""SELECT a.number AS account, a.id, a.number, '' AS name FROM accounts a WHERE a.id = ANY(%(ids)s)
            UNION ALL
            SELECT a.number, a.id, g.number, g.name FROM accounts a
            JOIN memberships m ON m.account_number = a.number AND {valid("m", as_of)}
            JOIN groups g ON g.number = m.group_number WHERE a.id = ANY(%(ids)s)""",
        account_ids,
        as_of,
    )


async def permissions_of_groups(db: Db, group_ids: Sequence[UUID], as_of: AsOf = None) -> list[Held]:
    return await _held(
        db, "SELECT number, id, number, '' AS name FROM groups WHERE id = ANY(%(ids)s)", group_ids, as_of
    )


async def _held(db: Db, holders: str, ids: Sequence[UUID], as_of: AsOf) -> list[Held]:
    return await fetch_all(
        db,
        Held,
        f"""SELECT h.id AS holder_id, p.header, p.section, p.permission, v.description, v.risk_rating,
                   s.access::text AS access, s.value, h.name AS group, s.from_import
            FROM ({holders}) AS h(holder, id, number, name)
            JOIN assignments s ON s.holder_number = h.number AND {valid("s", as_of)}
            JOIN permissions p ON p.number = s.permission_number
            JOIN permission_versions v ON v.permission_number = p.number AND {valid("v", as_of)}
            ORDER BY h.holder, p.header, p.section, p.permission, h.name""",
        ids=list(ids),
    )
