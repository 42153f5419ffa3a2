"""Test reviews whose reviewers or holders change, renamed access, canceled removals, and concurrent completion."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from rolecall.console import actions as console
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict
from rolecall.core.roles import Role
from rolecall.reviews import accepting, closing
from tests.builders import facts
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import
from tests.reviews.company import Reviewed, a_reviewed_company, follow, take_away
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all
from tests.reviews.test_following import RISKY, decide_all, risky_item, status_of
from tests.reviews.test_independence import decide_as, items_about, submit_as
from tests.stand_ins.standing_in import a_leave, a_stand_in, caller_of

ACCEPTED = {"reason": "Needed", "until": (datetime.now(UTC) + timedelta(days=9)).isoformat()}


async def test_stand_in_whom_the_holder_named_does_not_review_their_account(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    sql = "UPDATE applications SET owner_id = %(owner)s WHERE id = %(id)s"
    await execute(db, sql, owner=company.joana, id=company.ledger)
    await a_stand_in(db, company.joana, company.emre)
    await a_leave(db, company.joana)

    review = await an_open_review(client, "Application")

    own, *_ = await items_about(client, review, company.joana)
    [other] = await items_about(client, review, company.carla)
    assert own["moved"] == "Joana Moreau holds the account; the supervisor's supervisor reviews it instead"
    assert (own["reviewer"]["name"], other["reviewer"]["name"]) == ("Greta Das", "Emre Berg")


async def test_item_is_not_given_to_a_previous_reviewer(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    last = {"reviewer": "Identity", "identityId": str(company.carla)}
    review = await an_open_review(client, stages=[{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}, last])
    for person in (company.carla, company.owen):
        for item in await items_of(client, review, reviewerId=str(person)):
            await decide_as(db, person, item, "Keep")
        await submit_as(db, person, review)

    [item] = await items_about(client, review, company.emre)
    assert (item["stage"], item["reviewer"]["name"]) == (3, "Greta Das")
    await decide(client, item, "Unsure")
    [item] = await items_about(client, review, company.emre)
    assert item["reviewer"]["name"] == "Administrators"


async def test_access_that_an_import_proved_to_be_gone_stays_remediated(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["account"]["username"] == "joana" else "Keep")
    await submit_all(client, review)
    run = await take_away(db, company, "joana", RISKY)
    await follow(db)
    [request] = (await client.get("/api/access-requests")).json()["items"]

    await post(client, f"/api/access-requests/{request['id']}/cancel")
    await follow(db)

    item = await risky_item(client, review)
    assert (item["status"], item["remediatedImport"]) == ("Remediated", run)


async def accept_as(db: Db, person: UUID, item: dict[str, Any]) -> None:
    async with db.transaction():
        await accepting.accept(db, await caller_of(db, person), item["id"], ACCEPTED, facts())


async def test_person_who_holds_the_account_now_cannot_accept(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    item = await risky_item(client, review)
    await execute(db, "UPDATE accounts SET identity_id = %(id)s WHERE username = 'joana'", id=company.owen)
    await console.set_role(db, company.greta, Role.ADMINISTRATOR)

    with pytest.raises(Conflict, match="own account"):
        await accept_as(db, company.owen, item)
    await accept_as(db, company.greta, item)

    assert (await risky_item(client, review))["acceptedUntil"]


async def test_reviewer_who_can_no_longer_sign_in_is_replaced(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    await execute(db, "UPDATE identities SET type = 'Shared' WHERE id = %(id)s", id=company.carla)
    await follow(db)

    [item] = await items_about(client, review, company.emre)
    assert item["reviewer"]["name"] == "Greta Das"


async def rename(client: httpx2.AsyncClient, db: Db, company: Reviewed, permission: str, name: str) -> None:
    """Import data in which Joana has the permission under another name, and record that both are the same."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """WITH made AS (INSERT INTO permissions (application_id, header, section, permission)
                         VALUES (%(ledger)s, 'Payments', '', %(name)s) RETURNING number),
                ended AS (UPDATE permission_versions SET until_import = %(run)s),
                listed AS (INSERT INTO permission_versions SELECT number, %(run)s, NULL, '', 'Critical' FROM made)
           INSERT INTO assignments SELECT a.number, p.number, 'Modify', %(run)s, NULL, ''
           FROM accounts a, made p WHERE a.username = 'joana'""",
        ledger=company.ledger,
        name=name,
        run=run,
    )
    await finish_again(db, run)
    sql = "SELECT id FROM entitlements WHERE name = %(name)s"
    old, new = [await fetch_value(db, sql, name=each) for each in (permission, name)]
    joined = await client.patch(f"/api/entitlements/{new}", json={"sameAs": str(old)})
    assert joined.status_code == 200, joined.text


async def test_renamed_access_does_not_count_as_removed(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    await take_away(db, company, "joana", RISKY)
    await follow(db)
    assert await status_of(client, review) == "Completed"

    await rename(client, db, company, RISKY, "Run payments")
    await follow(db)

    item = await risky_item(client, review)
    assert (item["status"], item["drift"]["state"]) == ("Flagged", "Changed")


async def test_review_completes_after_two_concurrent_changes(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Two transactions each finish one of the last two items; the later one completes the review."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        is_risky = item["identity"] and item["identity"]["id"] == str(company.joana)
        await decide(client, item, "Revoke" if is_risky else "Keep")
    await submit_all(client, review)
    first, second = await items_about(client, review, company.joana)
    now = datetime.now(UTC)
    sql = "UPDATE review_items SET accepted_until = now() + interval '1 day' WHERE id = %(id)s"
    async with await psycopg.AsyncConnection.connect(config.database_url or "", autocommit=True) as other:
        async with db.transaction():
            await execute(db, sql, id=first["id"])

            async def finish_second() -> None:
                async with other.transaction():
                    await execute(other, sql, id=second["id"])
                    await closing.complete_if_done(other, UUID(review), now)

            waiting = asyncio.create_task(finish_second())
            await closing.complete_if_done(db, UUID(review), now)
            while not await fetch_value(db, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await waiting

    assert await status_of(client, review) == "Completed"
