"""Write pushed resources, and create and revoke the tokens of a push.

Every write of a resource begins with a lock on the push of its application, so that writes run one after another.
"""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.applications.permitted import require_import_right
from rolecall.applications.queries import lock_application
from rolecall.core.authors import SIGN, Author, signature
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Invalid, NotFound, Unauthorized
from rolecall.core.ids import new_id
from rolecall.core.text import name_key
from rolecall.scim_server import queries
from rolecall.scim_server.filters import matches
from rolecall.scim_server.member_changes import MemberChange, PatchVerb
from rolecall.scim_server.model import PREFIX, PushToken, Resource, ScimError, ScimErrorType, StoredResource
from rolecall.scim_server.patching import PatchWork, apply_patch
from rolecall.scim_server.resources import checked_resource, invalid_value, member_ids, pushed_members, without_core
from rolecall.scim_server.schema import MEMBERS, ResourceType
from rolecall.scim_server.shapes import NewPushToken, PushTokenBody
from rolecall.tokens.model import new_secret, public_id, sha256
from rolecall.tokens.queries import OWNER_OF_CALLER

MOST_TOKENS = 20
# A token may be used thousands of times a minute; do not write its row each time.
_LAST_USE_PRECISION = timedelta(minutes=1)


class PushTarget(msgspec.Struct, frozen=True):
    """The context of a SCIM write: the application, the kind of resource, the time and the configuration."""

    application_id: UUID
    kind: ResourceType
    now: datetime
    config: Config


async def begin_push(db: Db, application_id: UUID, now: datetime) -> None:
    """Allow identity providers to push into an application."""
    await execute(
        db,
        "INSERT INTO scim_pushes (application_id, began_at) VALUES (%(id)s, %(now)s) ON CONFLICT DO NOTHING",
        id=application_id,
        now=now,
    )


async def end_push(db: Db, application_id: UUID, now: datetime) -> None:
    """Revoke the tokens of an application and delete its pushed resources; keep imported data."""
    # Delete the push first: the deletion waits for running writes, and later ones find no push.
    if not await execute(db, "DELETE FROM scim_pushes WHERE application_id = %(id)s", id=application_id):
        return
    await execute(
        db,
        "UPDATE scim_tokens SET revoked_at = %(now)s WHERE application_id = %(id)s AND revoked_at IS NULL",
        id=application_id,
        now=now,
    )
    await execute(db, "DELETE FROM scim_resources WHERE application_id = %(id)s", id=application_id)


async def create_push_token(db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts) -> NewPushToken:
    """Create a token. For an identity source the caller needs `identities:write`, because its users become people."""
    await _require_right(db, caller, application_id)
    # A token without expiry needs an explicit null; an omitted field means the default.
    never = "expiresInDays" in raw and raw["expiresInDays"] is None
    body = check(PushTokenBody, raw, facts)
    sql = "SELECT count(*) FROM scim_tokens WHERE application_id = %(id)s AND revoked_at IS NULL"
    if await fetch_value(db, sql, id=application_id) >= MOST_TOKENS:
        raise Invalid.on("name", f"An application can have at most {MOST_TOKENS} tokens; revoke one that is not used")
    secret, id = new_secret(PREFIX), new_id()
    made = await execute(
        db,
        f"""INSERT INTO scim_tokens
                   (id, application_id, public_id, secret_sha256, name, created_at, expires_at, owner_id)
            VALUES (%(id)s, %(application_id)s, %(public_id)s, %(sha256)s, %(name)s, %(now)s, %(expires_at)s,
                    {OWNER_OF_CALLER})
            ON CONFLICT (application_id, name) DO NOTHING""",
        id=id,
        application_id=application_id,
        public_id=public_id(secret, PREFIX),
        sha256=sha256(secret),
        name=body.name,
        now=facts.now,
        caller=caller.id,
        expires_at=None if never else facts.now + timedelta(days=body.expires_in_days or 0),
    )
    if not made:
        # Revoked tokens keep their names, because audit entries refer to a token by its name.
        taken = f"A token named {body.name} already exists; choose another name (revoked tokens keep theirs)"
        raise Invalid.on("name", taken)
    return NewPushToken(**msgspec.structs.asdict(await queries.token(db, id)), secret=secret)


async def revoke_push_token(db: Db, caller: Caller, id: UUID, now: datetime) -> UUID:
    """Revoke a token and return the id of its application. Wait for writes that use the token; reject later ones."""
    sql = "SELECT application_id FROM scim_tokens WHERE id = %(id)s"
    application_id: UUID | None = await fetch_value(db, sql, id=id)
    if application_id is None:
        raise NotFound("SCIM token", id)
    # This locks the application before its tokens, as `end_push` does, to avoid deadlocks.
    await _require_right(db, caller, application_id, is_revoked=True)
    await execute(db, f"{sql} FOR UPDATE", id=id)
    await execute(
        db, "UPDATE scim_tokens SET revoked_at = coalesce(revoked_at, %(now)s) WHERE id = %(id)s", id=id, now=now
    )
    return application_id


async def _require_right(db: Db, caller: Caller, application_id: UUID, *, is_revoked: bool = False) -> None:
    # Lock until the commit: the application must not become an identity source, nor its push end, before the token is
    # stored. The statement after the lock reads what others committed during the wait.
    await lock_application(db, application_id)
    rows = await fetch_rows(
        db,
        """SELECT a.is_identity_source, EXISTS (SELECT FROM scim_pushes p WHERE p.application_id = a.id)
           FROM applications a WHERE a.id = %(id)s""",
        id=application_id,
    )
    if not rows:
        raise NotFound("Application", application_id)
    is_identity_source, has_push = rows[0]
    require_import_right(caller, is_identity_source=is_identity_source)
    # A token can still be revoked after its push has ended, because revoking it again must succeed.
    if not has_push and not is_revoked:
        raise NotFound("SCIM push of application", application_id)


async def keep_last_use(db: Db, token: PushToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at > _LAST_USE_PRECISION:
        await execute(db, "UPDATE scim_tokens SET last_used_at = %(now)s WHERE id = %(id)s", id=token.id, now=now)


async def sign_as_push(db: Db, token: PushToken, author: Author) -> None:
    """Check the token inside the writing transaction, record the author, and lock the push until the commit."""
    # KEY SHARE conflicts with the FOR UPDATE of a revocation, but not with an update of `last_used_at`.
    found = await fetch_value(
        db,
        f"""SELECT true, {SIGN} FROM scim_tokens t JOIN scim_pushes p ON p.application_id = t.application_id
            JOIN applications a ON a.id = t.application_id AND NOT a.is_archived
            WHERE t.id = %(id)s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %(now)s)
            FOR KEY SHARE OF t FOR UPDATE OF p""",
        id=token.id,
        now=author.created_date,
        author=signature(author),
    )
    if not found:
        raise Unauthorized


async def create_resource(db: Db, target: PushTarget, raw: Resource) -> StoredResource:
    raw = without_core(raw, target.kind)
    resource = checked_resource(raw, target.kind)
    id = new_id()
    await _require_free_name(db, target, id, resource)
    await execute(
        db,
        """INSERT INTO scim_resources (id, application_id, kind, name_key, resource, is_active, created_at, changed_at)
           VALUES (%(id)s, %(application_id)s, %(kind)s, %(name_key)s, %(resource)s::jsonb, %(is_active)s,
                   %(now)s, %(now)s)""",
        id=id,
        application_id=target.application_id,
        kind=target.kind.kind,
        name_key=_name_key(target, resource),
        resource=msgspec.json.encode(resource).decode(),
        is_active=_active(target, resource) is not False,
        now=target.now,
    )
    if MEMBERS in target.kind.attributes:
        members = member_ids(pushed_members(raw))
        await _require_members(db, target, list(members))
        await _add_members(db, id, members)
    await _keep_change(db, target)
    return await _stored(db, target, id)


async def replace_resource(db: Db, target: PushTarget, id: UUID, raw: Resource, if_match: str) -> StoredResource:
    found = await _current(db, target, id, if_match)
    raw = without_core(raw, target.kind)
    resource = checked_resource(raw, target.kind)
    is_changed = await _write(db, target, found, resource)
    if MEMBERS in target.kind.attributes:
        # A PUT replaces the whole group: without members in the body, it removes all of them.
        change = MemberChange(PatchVerb.REPLACE, member_ids(pushed_members(raw)))
        await _require_members(db, target, list(change.ids))
        is_changed |= await _change_members(db, id, change, PatchWork())
    await _finish(db, target, id, is_changed)
    return await _stored(db, target, id)


async def patch_resource(db: Db, target: PushTarget, id: UUID, raw: object, if_match: str) -> StoredResource:
    found = await _current(db, target, id, if_match)
    patched = apply_patch(found.attributes(), raw, target.kind)
    is_changed = await _write(db, target, found, patched.resource)
    await _require_members(db, target, patched.added)
    for change in patched.members:
        is_changed |= await _change_members(db, id, change, patched.work)
    await _finish(db, target, id, is_changed)
    # Do not read the members: the response to a PATCH of a group has no body.
    return await _stored(db, target, id, with_members=False)


async def delete_resource(db: Db, target: PushTarget, id: UUID, if_match: str) -> None:
    await _current(db, target, id, if_match)
    # Update the groups first: the deletion also deletes the rows that show in which groups the resource is.
    await execute(
        db,
        """UPDATE scim_resources SET version = version + 1, changed_at = %(now)s
           WHERE id IN (SELECT group_id FROM scim_members WHERE member_id = %(id)s)""",
        id=id,
        now=target.now,
    )
    await execute(db, "DELETE FROM scim_resources WHERE id = %(id)s", id=id)
    await _keep_change(db, target)


async def _current(db: Db, target: PushTarget, id: UUID, if_match: str) -> StoredResource:
    found = await _stored(db, target, id, with_members=False)
    if if_match and not is_among(found.etag, if_match):
        raise ScimError(f"{target.kind.kind} {id} has changed: its version is {found.etag}", status=412)
    return found


async def _stored(db: Db, target: PushTarget, id: UUID, *, with_members: bool = True) -> StoredResource:
    found = await queries.find_resource(
        db, target.application_id, target.kind, id, target.config, with_members=with_members
    )
    if found is None:
        raise ScimError(f"{target.kind.kind} {id} does not exist", status=404)
    return found


def is_among(etag: str, header: str) -> bool:
    """Return whether a header such as If-Match lists the ETag or `*`, by weak comparison."""
    # Our ETags are weak, so the strong comparison that HTTP requires for If-Match would never match.
    given = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in given or etag.removeprefix("W/") in given


async def _write(db: Db, target: PushTarget, found: StoredResource, resource: Resource) -> bool:
    if resource == found.attributes():
        return False
    await _require_free_name(db, target, found.id, resource)
    await execute(
        db,
        # Keep the active state of a user whose `active` is left out or removed.
        """UPDATE scim_resources SET resource = %(resource)s::jsonb, name_key = %(name_key)s,
                  is_active = coalesce(%(is_active)s, is_active) WHERE id = %(id)s""",
        id=found.id,
        resource=msgspec.json.encode(resource).decode(),
        is_active=_active(target, resource),
        name_key=_name_key(target, resource),
    )
    return True


async def _finish(db: Db, target: PushTarget, id: UUID, is_changed: bool) -> None:
    # Identity providers repeat requests; one that changes nothing must not start an import.
    if is_changed:
        sql = "UPDATE scim_resources SET version = version + 1, changed_at = %(now)s WHERE id = %(id)s"
        await execute(db, sql, id=id, now=target.now)
        await _keep_change(db, target)


async def _keep_change(db: Db, target: PushTarget) -> None:
    await execute(
        db,
        # Keep the time of the first change, because the longest wait before an import is counted from it.
        """UPDATE scim_pushes SET changed_at = %(now)s, waiting_since = coalesce(waiting_since, %(now)s)
           WHERE application_id = %(id)s""",
        id=target.application_id,
        now=target.now,
    )


async def lock_push(db: Db, application_id: UUID) -> None:
    await execute(db, "SELECT FROM scim_pushes WHERE application_id = %(id)s FOR UPDATE", id=application_id)


async def take_changes(db: Db, application_id: UUID) -> bool:
    """Mark the pending changes of a push as taken by an import; return whether there were any."""
    sql = "UPDATE scim_pushes SET waiting_since = NULL WHERE application_id = %(id)s AND waiting_since IS NOT NULL"
    return bool(await execute(db, sql, id=application_id))


def _active(target: PushTarget, resource: Resource) -> bool | None:
    # Groups have no such attribute: one that is pushed is stored unchecked, like any that no schema declares.
    found: bool | None = resource.get("active") if "active" in target.kind.attributes else None
    return found


def _name_key(target: PushTarget, resource: Resource) -> str:
    """Return the normalized name, which must be unique among the pushed users or groups of an application.

    It ignores at least the differences that an import ignores, so that two pushed users never become one account.
    """
    return name_key(str(resource[target.kind.naming]))


async def _require_free_name(db: Db, target: PushTarget, id: UUID, resource: Resource) -> None:
    # The lock on the push prevents two requests from taking the same name at once.
    taken = await fetch_value(
        db,
        """SELECT id FROM scim_resources WHERE application_id = %(application_id)s AND kind = %(kind)s
           AND name_key = %(name_key)s AND id <> %(id)s""",
        id=id,
        application_id=target.application_id,
        kind=target.kind.kind,
        name_key=_name_key(target, resource),
    )
    if taken:
        name = resource[target.kind.naming]
        detail = f"A {target.kind.kind} with the {target.kind.naming} {name!r} already exists: {taken}"
        raise ScimError(detail, ScimErrorType.UNIQUENESS, 409)


async def _change_members(db: Db, id: UUID, change: MemberChange, work: PatchWork) -> bool:
    match change.verb:
        case PatchVerb.ADD:
            return await _add_members(db, id, change.ids)
        case PatchVerb.REPLACE:
            # Delete only members that are not sent again, so that an unchanged list counts as no change.
            gone = await execute(
                db,
                "DELETE FROM scim_members WHERE group_id = %(id)s AND member_id <> ALL(%(ids)s::uuid[])",
                id=id,
                ids=list(change.ids),
            )
            return await _add_members(db, id, change.ids) or bool(gone)
        case PatchVerb.REMOVE:
            ids = await _fitting_members(db, id, change, work) if change.fitting else list(change.ids)
            sql = "DELETE FROM scim_members WHERE group_id = %(id)s AND (%(all)s OR member_id = ANY(%(ids)s::uuid[]))"
            return bool(await execute(db, sql, id=id, ids=ids, all=change.is_all))


async def _fitting_members(db: Db, id: UUID, change: MemberChange, work: PatchWork) -> list[str]:
    assert change.fitting
    rows = await fetch_rows(
        db,
        """SELECT m.member_id::text, m.display, u.kind FROM scim_members m JOIN scim_resources u ON u.id = m.member_id
           WHERE m.group_id = %(id)s""",
        id=id,
    )
    members = [
        {"value": value, "type": kind, **({"display": display} if display else {})} for value, display, kind in rows
    ]
    work.count_filtered(change.fitting, members)
    return [member["value"] for member in members if matches(change.fitting, member)]


async def _require_members(db: Db, target: PushTarget, ids: list[str]) -> None:
    # The foreign key of members alone would accept the resources of other applications.
    missing = ids and await fetch_value(
        db,
        """SELECT g.id FROM unnest(%(ids)s::uuid[]) AS g (id) WHERE NOT EXISTS (
               SELECT FROM scim_resources r WHERE r.id = g.id AND r.application_id = %(application_id)s) LIMIT 1""",
        ids=ids,
        application_id=target.application_id,
    )
    if missing:
        raise invalid_value(f"The member {missing} does not exist")


async def _add_members(db: Db, id: UUID, members: dict[str, str]) -> bool:
    if not members:
        return False
    # Update a display name only if it differs, so that the row count tells whether the group changed.
    added = await execute(
        db,
        """INSERT INTO scim_members (group_id, member_id, display)
           SELECT %(group)s, g.id, g.display FROM unnest(%(ids)s::uuid[], %(displays)s::text[]) AS g (id, display)
           ON CONFLICT (group_id, member_id) DO UPDATE SET display = EXCLUDED.display
           WHERE EXCLUDED.display NOT IN ('', scim_members.display)""",
        ids=list(members),
        displays=list(members.values()),
        group=id,
    )
    return added > 0
