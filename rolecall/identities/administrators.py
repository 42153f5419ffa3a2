"""Ensure that at least one active administrator of the console remains, so that someone can assign roles."""

from uuid import UUID

from rolecall.core.db import Db, execute, fetch_rows, fetch_value

LAST = "This is the last active administrator. Make another person an administrator first"


async def active(db: Db) -> dict[UUID, str]:
    """Return the names of active administrators by id."""
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.first_name || ' ' || i.last_name
           FROM console_roles r JOIN identities i ON i.id = r.identity_id
           WHERE r.role = 'Administrator' AND i.status = 'Active' ORDER BY i.list_key""",
    )
    return dict(rows)


async def is_one(db: Db, identity_id: UUID) -> bool:
    found = await fetch_value(
        db,
        """SELECT true FROM console_roles r JOIN identities i ON i.id = r.identity_id
           WHERE r.identity_id = %(id)s AND r.role = 'Administrator' AND i.status = 'Active'""",
        id=identity_id,
    )
    return bool(found)


async def has_role(db: Db, identity_id: UUID) -> bool:
    """Return whether a person, active or not, has the role Administrator."""
    sql = "SELECT true FROM console_roles WHERE identity_id = %(id)s AND role = 'Administrator'"
    return bool(await fetch_value(db, sql, id=identity_id))


async def lock_administrators(db: Db) -> None:
    """Serialize transactions that remove administrators, so that two of them cannot remove the last two administrators.

    To avoid deadlocks, the calling code must lock sessions and roles before this, never after: any write in the console
    locks the writer's own session first (docs/decisions/0105).
    """
    await execute(db, "SELECT pg_advisory_xact_lock(hashtext('administrators'), 0)")
