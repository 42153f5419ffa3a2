"""Read pushed resources and the tokens of a push."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.config import MIB, Config
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound, Unauthorized
from rolecall.scim_server.discovery import root_of
from rolecall.scim_server.filter_sql import SqlFilter
from rolecall.scim_server.filters import Filter
from rolecall.scim_server.model import PREFIX, PushToken, ResourceKind, StoredResource, next_snapshot
from rolecall.scim_server.schema import ResourceType
from rolecall.scim_server.shapes import PushDetail, PushTokenItem
from rolecall.tokens.model import public_id, sha256
from rolecall.tokens.queries import OWNER_LEFT
from rolecall.tokens.shapes import TokenOwner

_TOKEN = "id, application_id, secret_sha256, name, expires_at, last_used_at, revoked_at"  # noqa: S105
_ITEM = f"""t.id, t.name, t.created_at, t.expires_at, t.last_used_at, t.revoked_at,
    t.owner_id, coalesce(o.first_name || ' ' || o.last_name, ''), {OWNER_LEFT}"""
_WITH_OWNERS = "scim_tokens t LEFT JOIN identities o ON o.id = t.owner_id"
_COLUMNS = "r.number, r.id, r.resource::text AS resource, r.version, r.created_at, r.changed_at"
_MEMBERS = """(SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'value', m.member_id, 'type', u.kind, 'display', nullif(m.display, ''),
                   '$ref', %(root)s::text || '/' || u.kind || 's/' || m.member_id)) ORDER BY m.member_id), '[]')::text
               FROM scim_members m JOIN scim_resources u ON u.id = m.member_id WHERE m.group_id = r.id) AS members"""
_NO_MEMBERS = "NULL::text AS members"
# The characters of a page of a list, apart from its last resource.
LARGEST_PAGE = 16 * MIB


async def token_with_secret(db: Db, secret: str) -> PushToken:
    """Return the token with this secret; raise Unauthorized if there is none, or if its application is archived.

    The calling code must check whether the token is revoked or expired.
    """
    public = public_id(secret, PREFIX)
    sql = f"""SELECT {_TOKEN} FROM scim_tokens t WHERE public_id = %(id)s AND secret_sha256 = %(sha256)s
              AND NOT EXISTS (SELECT FROM applications a WHERE a.id = t.application_id AND a.is_archived)"""
    found = await fetch_one(db, PushToken, sql, id=public, sha256=sha256(secret)) if public else None
    if found is None:
        raise Unauthorized
    return found


class ResourceList(msgspec.Struct, frozen=True):
    """A request for one page of resources: from `offset`, or after the resource with the number `after`."""

    application_id: UUID
    kind: ResourceType
    filter: Filter | None
    limit: int
    offset: int = 0
    after: int | None = None
    with_members: bool = True


async def find_resource(
    db: Db, application_id: UUID, kind: ResourceType, id: UUID | None, config: Config, *, with_members: bool
) -> StoredResource | None:
    return await fetch_one(
        db,
        StoredResource,
        f"""SELECT {_columns(kind, with_members)} FROM scim_resources r
            WHERE r.id = %(id)s AND r.application_id = %(application_id)s AND r.kind = %(kind)s""",
        id=id,
        application_id=application_id,
        kind=kind.kind,
        root=root_of(config),
    )


def _columns(kind: ResourceType, with_members: bool) -> str:
    has_members = with_members and kind.kind is ResourceKind.GROUP
    return f"{_COLUMNS}, {_MEMBERS if has_members else _NO_MEMBERS}"


class ResourcePage(msgspec.Struct, frozen=True):
    """One page of the resources that match; `is_cut` if it has fewer than were asked for because they are large."""

    total: int
    resources: list[StoredResource]
    is_cut: bool = False


async def list_resources(db: Db, asked: ResourceList, config: Config) -> ResourcePage:
    """Return how many resources match the filter, and one page of them in the order of creation."""
    compiled = SqlFilter(asked.kind)
    where = "r.application_id = %(application_id)s AND r.kind = %(kind)s"
    where += f" AND {compiled.compile(asked.filter)}" if asked.filter else ""
    params = {**compiled.params, "application_id": asked.application_id, "kind": asked.kind.kind}
    total = await fetch_value(db, f"SELECT count(*) FROM scim_resources r WHERE {where}", **params)
    sql = f"""SELECT {_columns(asked.kind, asked.with_members)} FROM scim_resources r
              WHERE {where} AND r.number > %(last)s ORDER BY r.number LIMIT %(limit)s OFFSET %(offset)s"""
    found, size = list[StoredResource](), 0
    last, offset, at_once = asked.after or 0, asked.offset, _at_once(asked)
    # Read in parts, and end the page early: a user may have 256 KiB, and a group 200,000 members.
    while len(found) < asked.limit:
        limit = min(at_once, asked.limit - len(found))
        part = await fetch_all(
            db, StoredResource, sql, **params, last=last, limit=limit, offset=offset, root=root_of(config)
        )
        for each in part:
            found.append(each)
            size += len(each.resource) + len(each.members or "")
            if size >= LARGEST_PAGE:
                return ResourcePage(total, found, is_cut=len(found) < asked.limit)
        if len(part) < limit:
            break
        last, offset = part[-1].number, 0
    return ResourcePage(total, found)


def _at_once(asked: ResourceList) -> int:
    return 10 if asked.with_members and asked.kind.kind is ResourceKind.GROUP else 100


async def detail(db: Db, application_id: UUID, config: Config) -> PushDetail:
    rows = await fetch_rows(
        db,
        """SELECT p.changed_at, p.waiting_since, c.users, c.active, c.groups FROM scim_pushes p
           CROSS JOIN LATERAL (
               SELECT count(*) FILTER (WHERE kind = 'User') AS users, count(*) FILTER (WHERE kind = 'Group') AS groups,
                      count(*) FILTER (WHERE kind = 'User' AND is_active) AS active
               FROM scim_resources r WHERE r.application_id = p.application_id) AS c
           WHERE p.application_id = %(id)s""",
        id=application_id,
    )
    if not rows:
        raise NotFound("SCIM push of application", application_id)
    changed_at, waiting_since, users, active, groups = rows[0]
    sql = f"""SELECT {_ITEM} FROM {_WITH_OWNERS} WHERE t.application_id = %(id)s
              ORDER BY t.revoked_at IS NOT NULL, t.created_at, t.id"""
    tokens = [_token_item(row) for row in await fetch_rows(db, sql, id=application_id)]
    return PushDetail(
        address=root_of(config),
        users=users,
        active_users=active,
        groups=groups,
        last_request=max((token.last_used_at for token in tokens if token.last_used_at), default=None),
        last_change=changed_at,
        next_snapshot=next_snapshot(changed_at, waiting_since, _quiet(config)) if waiting_since else None,
        tokens=tokens,
    )


def _quiet(config: Config) -> timedelta:
    return timedelta(seconds=config.scim_quiet_seconds)


async def token(db: Db, id: UUID) -> PushTokenItem:
    if rows := await fetch_rows(db, f"SELECT {_ITEM} FROM {_WITH_OWNERS} WHERE t.id = %(id)s", id=id):
        return _token_item(rows[0])
    raise NotFound("SCIM token", id)


def _token_item(row: Sequence[Any]) -> PushTokenItem:
    *described, owner_id, owner_name, has_owner_left = row
    return PushTokenItem(*(*described, TokenOwner(owner_id, owner_name) if owner_id else None, has_owner_left))


async def due_pushes(db: Db, config: Config, now: datetime) -> list[UUID]:
    """Return the applications whose pushed changes are due for import."""
    rows = await fetch_rows(
        db,
        """SELECT p.application_id, p.changed_at, p.waiting_since FROM scim_pushes p
           JOIN applications a ON a.id = p.application_id AND NOT a.is_archived WHERE p.waiting_since IS NOT NULL
           ORDER BY p.waiting_since""",
    )
    return [id for id, changed_at, since in rows if next_snapshot(changed_at, since, _quiet(config)) <= now]


async def count_resources(db: Db, application_id: UUID, kind: ResourceType) -> int:
    sql = "SELECT count(*) FROM scim_resources WHERE application_id = %(id)s AND kind = %(kind)s"
    found: int = await fetch_value(db, sql, id=application_id, kind=kind.kind)
    return found


# The direct and nested users of a group. UNION removes duplicates, so that the recursion stops if groups form a cycle.
_USERS_OF_GROUP = """(WITH RECURSIVE held (id) AS (
        SELECT m.member_id FROM scim_members m WHERE m.group_id = r.id
        UNION SELECT m.member_id FROM held h JOIN scim_members m ON m.group_id = h.id)
    SELECT coalesce(jsonb_agg(jsonb_build_object('value', u.id, 'display', u.resource ->> 'userName') ORDER BY u.id),
                    '[]')
    FROM held h JOIN scim_resources u ON u.id = h.id AND u.kind = 'User')"""
# The direct and nested groups of a user.
_GROUPS_OF_USER = """(WITH RECURSIVE holding (id) AS (
        SELECT m.group_id FROM scim_members m WHERE m.member_id = r.id
        UNION SELECT m.group_id FROM holding h JOIN scim_members m ON m.member_id = h.id)
    SELECT coalesce(jsonb_agg(jsonb_build_object('value', g.id, 'display', g.resource ->> 'displayName') ORDER BY g.id),
                    '[]')
    FROM holding h JOIN scim_resources g ON g.id = h.id)"""
_SNAPSHOT = {
    ResourceKind.USER: f"'groups', {_GROUPS_OF_USER}, 'active', r.is_active",
    ResourceKind.GROUP: f"'members', {_USERS_OF_GROUP}",
}


async def snapshot_pages(
    db: Db, application_id: UUID, kind: ResourceType, size: int
) -> AsyncIterator[list[dict[str, object]]]:
    """Yield all resources with their memberships.

    The calling code must use a REPEATABLE READ transaction, so that pages agree.
    """
    # The right operand of `||` wins, so pushed attributes cannot replace the id or the computed values.
    last = 0
    while True:
        rows = await fetch_rows(
            db,
            f"""SELECT r.number, r.resource || jsonb_build_object('id', r.id, {_SNAPSHOT[kind.kind]})
                FROM scim_resources r
                WHERE r.application_id = %(id)s AND r.kind = %(kind)s AND r.number > %(last)s
                ORDER BY r.number LIMIT %(size)s""",
            id=application_id,
            kind=kind.kind,
            last=last,
            size=size,
        )
        if not rows:
            return
        last = rows[-1][0]
        yield [record for _, record in rows]
