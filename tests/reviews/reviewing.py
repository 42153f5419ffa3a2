"""Helpers for tests of reviews: a company whose access is reviewed, and API calls."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec

from rolecall.core.db import Db, execute
from rolecall.reviews import comparing, following
from tests.builders import an_application, an_identity, facts
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, an_account

DUE = (datetime.now(UTC) + timedelta(days=14)).isoformat()


class Reviewed(msgspec.Struct):
    """Carla leads Joana and Emre, and Greta leads Carla.

    Owen owns the ledger, where everyone but Greta has an account.
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


async def post(client: httpx2.AsyncClient, path: str, body: Any = None, status: int = 200) -> Any:
    answer = await client.post(path, json=body or {})
    assert answer.status_code == status, answer.text
    return answer.json()


async def a_draft(client: httpx2.AsyncClient, type: str = "Supervisor", **fields: Any) -> str:
    body = {"name": "Finance systems", "type": type, "dueOn": DUE, **fields}
    return str((await post(client, "/api/reviews", body, 201))["id"])


async def an_open_review(client: httpx2.AsyncClient, type: str = "Supervisor", **fields: Any) -> str:
    id = await a_draft(client, type, **fields)
    await post(client, f"/api/reviews/{id}/open")
    return id


async def items_of(client: httpx2.AsyncClient, review: str, **filters: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"/api/reviews/{review}/items", params=filters)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def decide(client: httpx2.AsyncClient, item: dict[str, Any], decision: str, **fields: Any) -> Any:
    body = {"decision": decision, "reviewerId": item["reviewer"]["id"], "comment": "as agreed", **fields}
    return await post(client, f"/api/review-items/{item['id']}/decide", body)


async def submit_all(client: httpx2.AsyncClient, review: str) -> None:
    """Submit for every reviewer who has decisions to submit."""
    progress = (await client.get(f"/api/reviews/{review}")).json()["progress"]["reviewers"]
    for each in progress:
        if each["toSubmit"]:
            await post(client, f"/api/reviews/{review}/submit", {"reviewerId": each["reviewer"]["id"]})


async def add_files(db: Db) -> None:
    """Give imports that a test finished without files one file of each file group."""
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
    """Do what the worker does for reviews after requests and imports."""
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
