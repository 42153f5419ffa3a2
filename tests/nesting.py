"""Create nested groups for tests as an import would, and walk them naively to compare results."""

from collections.abc import Mapping
from uuid import UUID

from rolecall.core.db import Db, execute, fetch_value
from tests.holdings import a_finished_import


async def some_groups(db: Db, application_id: UUID, parents: Mapping[str, str], run: int | None = None) -> int:
    """Create groups, each with the name of its parent or ''; return the number of the import that contains them."""
    if run is None:
        run = await a_finished_import(db, application_id)
    for name, parent in parents.items():
        number = await fetch_value(
            db,
            """WITH made AS (INSERT INTO groups (application_id, name) VALUES (%(application)s, %(name)s)
                             ON CONFLICT DO NOTHING RETURNING number)
               SELECT number FROM made
               UNION ALL SELECT number FROM groups WHERE application_id = %(application)s AND name = %(name)s""",
            application=application_id,
            name=name,
        )
        await execute(
            db,
            """UPDATE group_versions SET until_import = %(run)s
               WHERE group_number = %(number)s AND until_import IS NULL""",
            number=number,
            run=run,
        )
        await execute(
            db,
            """INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
               VALUES (%(number)s, %(run)s, '', '', %(parent)s, '{}')""",
            number=number,
            run=run,
            parent=parent,
        )
        await execute(db, "INSERT INTO group_listings VALUES (%(g)s, %(run)s, NULL)", g=number, run=run)
    await refresh(db, application_id, run)
    return run


async def only_groups(db: Db, application_id: UUID, parents: Mapping[str, str]) -> int:
    """Import these groups with their parents, and no others; return the number of the import."""
    run = await a_finished_import(db, application_id)
    await execute(
        db,
        """UPDATE group_versions v SET until_import = %(run)s FROM groups g
           WHERE g.number = v.group_number AND g.application_id = %(application)s AND v.until_import IS NULL
             AND g.name <> ALL(%(names)s)""",
        run=run,
        application=application_id,
        names=list(parents),
    )
    return await some_groups(db, application_id, parents, run)


async def give(
    db: Db,
    application_id: UUID,
    group: str,
    permission: str,
    run: int,
    *,
    header: str = "Wires",
    access: str = "Grant",
    risk: str = "Low",
) -> None:
    number = await fetch_value(
        db,
        """WITH made AS (INSERT INTO permissions (application_id, header, section, permission)
                         VALUES (%(application)s, %(header)s, '', %(permission)s)
                         ON CONFLICT DO NOTHING RETURNING number)
           SELECT number FROM made UNION ALL SELECT number FROM permissions
           WHERE application_id = %(application)s AND header = %(header)s AND permission = %(permission)s""",
        application=application_id,
        header=header,
        permission=permission,
    )
    await execute(
        db,
        "INSERT INTO permission_versions VALUES (%(p)s, %(run)s, NULL, '', %(risk)s) ON CONFLICT DO NOTHING",
        p=number,
        run=run,
        risk=risk,
    )
    await execute(
        db,
        """INSERT INTO assignments SELECT g.number, %(p)s, %(access)s::text::access, %(run)s, NULL, '' FROM groups g
           WHERE g.application_id = %(application)s AND g.name = %(group)s""",
        p=number,
        access=access,
        run=run,
        application=application_id,
        group=group,
    )
    await refresh(db, application_id, run)


async def refresh(db: Db, application_id: UUID, run: int) -> None:
    """Refresh derived data, as the end of an import does."""
    await execute(db, "SELECT refresh_entitlements(%(application)s, %(run)s)", application=application_id, run=run)


def ways_up(parents: Mapping[str, str], group: str) -> dict[str, list[str]]:
    """Return `group` and every group above it, each with the path of groups below it; stop at a visited group."""
    found, path, here = {group: list[str]()}, [], group
    while (parent := parents.get(here, "")) and parent in parents and parent not in found:
        path.append(here)
        found[parent] = list(path)
        here = parent
    return found
