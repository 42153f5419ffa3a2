"""Create accounts, groups and permissions as an import would."""

from datetime import datetime
from uuid import UUID

from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.ids import new_id


async def a_finished_import(db: Db, application_id: UUID, *file_groups: str) -> int:
    """Create a finished import with a file for each of these file groups."""
    number: int = await fetch_value(
        db,
        """INSERT INTO application_imports
               (id, application_id, type, status, created_by, created_at, build_start, build_end, metrics)
           VALUES (%(id)s, %(application)s, 'API', 'Finished', 'tests', now(), now(), now(), '{}') RETURNING number""",
        id=new_id(),
        application=application_id,
    )
    await execute(
        db,
        """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size, location)
           SELECT gen_random_uuid(), r.id, g.position, g.id, g.name, lower(g.name) || '.csv', '', 1, gen_random_uuid()
           FROM application_imports r JOIN connectors c USING (application_id)
           JOIN file_groups g ON g.connector_id = c.id WHERE r.number = %(number)s AND g.name = ANY(%(names)s)""",
        number=number,
        names=list(file_groups),
    )
    return number


async def a_rollback(db: Db, application_id: UUID, *, to: int = 1) -> int:
    number = await a_finished_import(db, application_id)
    await execute(
        db,
        """INSERT INTO import_runs (import_id, rollback_to)
           SELECT id, %(to)s FROM application_imports WHERE number = %(number)s""",
        number=number,
        to=to,
    )
    return number


async def finish_import(db: Db, application_id: UUID, *file_groups: str, at: datetime) -> int:
    """Create a finished import with a file for each of these file groups, queued for reconciliation."""
    number = await a_finished_import(db, application_id, *file_groups)
    await execute(
        db, "UPDATE application_imports SET created_at = %(at)s WHERE number = %(number)s", at=at, number=number
    )
    await execute(
        db,
        "INSERT INTO finished_imports SELECT id, application_id FROM application_imports WHERE number = %(number)s",
        number=number,
    )
    return number


async def an_account(
    db: Db,
    application_id: UUID,
    username: str,
    identity_id: object,
    *,
    is_active: bool = True,
    groups: tuple[str, ...] = (),
    permissions: tuple[tuple[str, str, str, str], ...] = (),
    run: int | None = None,
) -> None:
    """Create an account that the import `run` shows; without `run`, create an import too.

    Each of the `permissions` consists of header, permission, access and risk.
    """
    if run is None:
        run = await a_finished_import(db, application_id)
    account = await fetch_value(
        db,
        """INSERT INTO accounts (application_id, username, identity_id, pin, match)
           VALUES (%(application)s, %(username)s, %(identity)s, 'Pinned', 'Pinned') RETURNING number""",
        application=application_id,
        username=username,
        identity=identity_id,
    )
    await execute(
        db,
        """INSERT INTO account_versions VALUES
               (%(account)s, %(run)s, NULL, %(name)s, '', '', '', '', %(active)s, false, '', '', '{}', '', '')""",
        account=account,
        run=run,
        name=username,
        active=is_active,
    )
    for group in groups:
        number = await _a_group(db, application_id, group, run)
        await execute(db, "INSERT INTO memberships VALUES (%(a)s, %(g)s, %(run)s, NULL)", a=account, g=number, run=run)
    for header, permission, access, risk in permissions:
        number = await fetch_value(
            db,
            """INSERT INTO permissions (application_id, header, section, permission)
               VALUES (%(application)s, %(header)s, '', %(permission)s) RETURNING number""",
            application=application_id,
            header=header,
            permission=permission,
        )
        await execute(
            db,
            "INSERT INTO permission_versions VALUES (%(p)s, %(run)s, NULL, '', %(risk)s)",
            p=number,
            run=run,
            risk=risk,
        )
        await execute(
            db,
            "INSERT INTO assignments VALUES (%(account)s, %(p)s, %(access)s::text::access, %(run)s, NULL, '')",
            account=account,
            p=number,
            access=access,
            run=run,
        )
    await execute(db, "SELECT refresh_entitlements(%(application)s, %(run)s)", application=application_id, run=run)


async def _a_group(db: Db, application_id: UUID, name: str, run: int) -> int:
    number: int | None = await fetch_value(
        db,
        """INSERT INTO groups (application_id, name) VALUES (%(application)s, %(name)s)
           ON CONFLICT DO NOTHING RETURNING number""",
        application=application_id,
        name=name,
    )
    if number is not None:
        await execute(
            db, "INSERT INTO group_versions VALUES (%(g)s, %(run)s, NULL, '', '', '', '{}')", g=number, run=run
        )
        await execute(db, "INSERT INTO group_listings VALUES (%(g)s, %(run)s, NULL)", g=number, run=run)
        return number
    found: int = await fetch_value(
        db, "SELECT number FROM groups WHERE application_id = %(a)s AND name = %(n)s", a=application_id, n=name
    )
    return found


async def remove_account(db: Db, application_id: UUID, username: str) -> None:
    await execute(
        db,
        """UPDATE account_versions SET until_import = %(run)s WHERE until_import IS NULL AND account_number =
               (SELECT number FROM accounts WHERE application_id = %(application)s AND username = %(username)s)""",
        run=await a_finished_import(db, application_id),
        application=application_id,
        username=username,
    )
