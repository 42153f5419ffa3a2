"""Test concurrent transactions that change a review: no change is lost, and they do not deadlock."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import psycopg

from rolecall.access_requests import moving
from rolecall.accounts.actions import pin_account
from rolecall.applications.actions import change_application
from rolecall.core.caller import SYSTEM, Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, make_pool
from rolecall.reviews import deciding, following, item_queries, submitting
from tests.builders import an_identity, facts
from tests.evidence.test_genuine_reviews import a_model
from tests.interleaving import Crew, Work
from tests.reviews.company import Reviewed, a_reviewed_company
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


async def decided(client: httpx2.AsyncClient, review: str, person: UUID | None) -> dict[str, Any]:
    """Revoke the access of this person, or of accounts without a person; keep all other access."""
    [revoked] = [
        item for item in await items_of(client, review) if item["identity"] == person or about(item) == str(person)
    ]
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["id"] == revoked["id"] else "Keep")
    return revoked


def about(item: dict[str, Any]) -> str | None:
    return item["identity"] and str(item["identity"]["id"])


def submitting_for(review: str, item: dict[str, Any]) -> Work:
    async def submit(db: Db) -> None:
        await submitting.submit(db, CLERK, review, {"reviewerId": item["reviewer"]["id"]}, facts())

    return submit


async def two_decided_reviews(client: httpx2.AsyncClient, company: Reviewed) -> list[Work]:
    reviews = [await an_open_review(client) for _ in range(2)]
    return [submitting_for(review, await decided(client, review, company.emre)) for review in reviews]


async def test_request_that_is_canceled_meanwhile_carries_out_no_other_review(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    first, second = await two_decided_reviews(client, await a_reviewed_company(db))
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        await crew.begin(first)
        await crew.end()
        async with pool.connection() as other, other.transaction():
            [(request,)] = await fetch_rows(other, "SELECT id FROM access_requests")
            await moving.cancel(other, [request], SYSTEM, datetime.now(UTC))
            await crew.begin(second)
        await crew.end()

    assert await fetch_rows(db, "SELECT status FROM access_requests ORDER BY number") == [("Canceled",), ("Open",)]


async def test_two_reviews_that_revoke_the_same_access_at_once_make_one_request(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    first, second = await two_decided_reviews(client, await a_reviewed_company(db))
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as other, other.transaction():
            await first(other)
            await crew.begin(second)
        await crew.end()

    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 1
    assert await fetch_value(db, "SELECT count(*) FROM related_items") == 2


async def test_submission_locks_access_models_before_matching(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """An import of people takes the two locks in this order; so does an account that gets an Unknown identity."""
    await a_reviewed_company(db)
    review = await an_open_review(client)
    submit = submitting_for(review, await decided(client, review, None))
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as other, other.transaction():
            await execute(other, "SELECT pg_advisory_xact_lock(access_model_lock())")
            await crew.begin(submit)
            await execute(other, "SELECT lock_matching()")
        await crew.end()

    assert await fetch_value(db, "SELECT count(*) FROM identities WHERE type = 'Unknown'") == 1


async def test_account_that_is_pinned_meanwhile_keeps_its_pin(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    submit = submitting_for(review, await decided(client, review, None))
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        await crew.begin(submit)
        await crew.end()
        await an_identity(db, "Known", "Now", email="svc@example.com")
        number, account = (await fetch_rows(db, "SELECT number, id FROM accounts WHERE username = 'svc'"))[0]
        sql = "UPDATE account_versions SET email = 'svc@example.com' WHERE account_number = %(number)s"
        await execute(db, sql, number=number)
        async with pool.connection() as other, other.transaction():
            await pin_account(other, account, {"never": True}, facts())
            await crew.begin(lambda db: following.retire_unknown(db, datetime.now(UTC)))
        await crew.end()

    [row] = await fetch_rows(db, "SELECT pin, match, identity_id FROM accounts WHERE username = 'svc'")
    assert row == ("Never", "Never", None)
