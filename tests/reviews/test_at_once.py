"""Test concurrent transactions that change a review: no change is lost, and they do not deadlock."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import httpx2
import psycopg

from rolecall.applications.actions import change_application
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.reviews import deciding, following, item_queries, submitting
from tests.builders import facts
from tests.evidence.test_genuine_reviews import a_model
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import an_open_review, decide, items_of
from tests.reviews.test_following import archive

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))
WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"


async def test_item_is_not_restored_in_a_review_that_is_being_closed(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """The last decisions are submitted while the application of withdrawn items is restored from the archive."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    first, *_ = await items_of(client, review)
    await decide(client, first, "Keep")
    await archive(db, company, True)
    await change_application(db, company.ledger, {"isArchived": False}, facts())
    body = {"reviewerId": first["reviewer"]["id"]}
    async with await psycopg.AsyncConnection.connect(config.database_url or "", autocommit=True) as other:
        async with db.transaction():
            await submitting.submit(db, CLERK, review, body, facts())

            async def restore() -> None:
                async with other.transaction():
                    await following.withdraw_archived(other, datetime.now(UTC))

            restoring = asyncio.create_task(restore())
            while not restoring.done() and not await fetch_value(db, WAITS):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await restoring

    assert await items_of(client, review, status="Pending") == []


async def test_two_tabs_that_decide_a_model_and_all_items_do_not_deadlock(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """One tab decides the model and the items below it, which come earlier in the list; the other decides all items."""
    company = await a_reviewed_company(db)
    await a_model(db, company)
    review = await an_open_review(client, explained="by model")
    [model] = [item for item in await items_of(client, review) if item["subject"] == "Model"]
    body = {"decision": "Keep", "comment": "as agreed", "reviewerId": model["reviewer"]["id"]}
    async with await psycopg.AsyncConnection.connect(config.database_url or "", autocommit=True) as other:
        async with db.transaction():
            await item_queries.get_item(db, model["id"], lock=True)

            async def decide_all() -> None:
                async with other.transaction():
                    await deciding.decide_several(other, CLERK, review, {**body, "filters": {}}, facts())

            deciding_all = asyncio.create_task(decide_all())
            while not deciding_all.done() and not await fetch_value(db, WAITS):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await deciding.decide(db, CLERK, model["id"], body, facts())
        await deciding_all

    assert {item["status"] for item in await items_of(client, review) if item["why"]["accessModels"]} == {"Approved"}
