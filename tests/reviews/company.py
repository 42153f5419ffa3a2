"""Create a company whose access is reviewed, and change its access and reviews as imports and the worker would."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from rolecall.core.db import Db, execute
from rolecall.reviews import comparing, following
from tests.builders import an_application, an_identity, facts
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, an_account


class Reviewed(msgspec.Struct):
    """Carla leads Joana and Emre, and Greta leads Carla.

    Owen owns the ledger. Carla, Joana and Emre have accounts there, and one account is unmatched.
    """

    ledger: UUID
    greta: UUID
    carla: UUID
    joana: UUID
    emre: UUID
    owen: UUID
    run: int


async def a_reviewed_company(db: Db) -> Reviewed:
    greta = await an_identity(db, "Greta", "Das")
    carla = await an_identity(db, "Carla", "Abadi", supervisorId=str(greta))
    people = {"supervisorId": str(carla), "title": "Clerk", "department": "Finance"}
    joana = await an_identity(db, "Joana", "Moreau", **people)
    emre = await an_identity(db, "Emre", "Berg", **people)
    owen = await an_identity(db, "Owen", "Park")
    ledger = await an_application(db, "Finance Ledger", ownerId=str(owen))
    run = await a_finished_import(db, ledger)
    held = (("Payments", "Release run", "Modify", "Critical"),)
    await an_account(db, ledger, "joana", joana, groups=("Bookkeeper",), permissions=held, run=run)
    await an_account(db, ledger, "emre", emre, groups=("Bookkeeper",), run=run)
    await an_account(db, ledger, "carla", carla, groups=("Approvers",), run=run)
    await an_account(db, ledger, "svc", None, groups=("Bookkeeper",), run=run)
    await execute(db, "UPDATE accounts SET pin = NULL, match = 'Unmatched' WHERE username = 'svc'")
    await execute(db, "UPDATE accounts SET matched_on = now() - interval '1 day'")
    return Reviewed(ledger, greta, carla, joana, emre, owen, run)


async def add_files(db: Db) -> None:
    """Add a file of each file group to finished imports that have no files."""
    await execute(
        db,
        """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size, location)
           SELECT gen_random_uuid(), r.id, g.position, g.id, g.name, lower(g.name) || '.csv',
                  sha256(r.id::text::bytea), 1, gen_random_uuid()
           FROM imports_to_review n JOIN application_imports r ON r.number = n.import_number
           JOIN connectors c ON c.application_id = r.application_id JOIN file_groups g ON g.connector_id = c.id
           WHERE NOT EXISTS (SELECT FROM import_files f WHERE f.import_id = r.id)""",
    )


async def follow(db: Db) -> None:
    """Update the reviews after imports and requests, as the worker does."""
    now = datetime.now(UTC)
    await add_files(db)
    for number in await comparing.imports_to_review(db):
        async with db.transaction():
            await comparing.follow_import(db, number, now)
    async with db.transaction():
        await following.follow_requests(db, now, facts().zone)
    for id in await following.due_reviews(db, now):
        async with db.transaction():
            await following.close_due(db, now, id, facts().zone)
    for step in (following.follow_due, following.replace_unavailable):
        async with db.transaction():
            await step(db, now)


async def take_away(db: Db, company: Reviewed, username: str, permission: str) -> int:
    """Import data in which an account no longer has a permission."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """UPDATE assignments SET until_import = %(run)s WHERE until_import IS NULL
           AND holder_number = (SELECT number FROM accounts WHERE username = %(username)s)
           AND permission_number = (SELECT number FROM permissions WHERE permission = %(permission)s)""",
        run=run,
        username=username,
        permission=permission,
    )
    await finish_again(db, run)
    return run


async def give_back(db: Db, company: Reviewed, username: str, permission: str) -> int:
    """Import data in which an account has a permission again."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """INSERT INTO assignments SELECT a.number, p.number, 'Modify', %(run)s, NULL, ''
           FROM accounts a, permissions p WHERE a.username = %(username)s AND p.permission = %(permission)s""",
        run=run,
        username=username,
        permission=permission,
    )
    await finish_again(db, run)
    return run
