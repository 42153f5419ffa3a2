"""Kill a process with SIGKILL before it commits: no partial population or decision remains."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import own_tokens
from tests.cli.commands import environment
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import a_draft, an_open_review, items_of, post

ROOT = Path(__file__).parents[2]


async def kill_during(config: Config, verb: str, review: str, reviewer: object) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.reviews.killed", config.database_url or "", verb, review, str(reviewer),
        cwd=ROOT, env=environment(), stdout=PIPE,
    )  # fmt: skip
    assert process.stdout
    assert await process.stdout.readline() == b"changed\n"
    process.kill()
    await process.wait()


async def test_a_killed_open_leaves_a_draft_that_can_be_opened(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_reviewed_company(db)
    draft = await a_draft(client)

    await kill_during(config, "open", draft, company.carla)
    left = (await client.get(f"/api/reviews/{draft}")).json()
    await post(client, f"/api/reviews/{draft}/open")

    assert (left["status"], left["digest"], left["items"]["pending"]) == ("Draft", None, 0)
    assert len(await items_of(client, draft)) == 5
    assert (await post(client, f"/api/reviews/{draft}/check"))["isSame"] is True


async def test_a_killed_bulk_decision_leaves_no_decision(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    await kill_during(config, "decide", review, company.carla)
    before = {item["status"] for item in await items_of(client, review)}
    body = {"decision": "Keep", "filters": {}, "reviewerId": str(company.carla), "comment": "as agreed"}
    result = await post(client, f"/api/reviews/{review}/decide", body)

    assert before == {"Pending"}
    assert result["decided"] == 3


async def test_a_killed_close_leaves_the_review_open_without_requests(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="flag")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await own_tokens(db, company.greta)

    await post(client, f"/api/reviews/{review}/close")
    await kill_during(config, "close", review, company.carla)
    left = (await client.get(f"/api/reviews/{review}")).json()
    requests = (await client.get("/api/access-requests")).json()["totalCount"]
    closed = await post(client, f"/api/reviews/{review}/close", {"confirm": True})

    assert (left["status"], left["items"]["pending"], requests) == ("Open", 5, 0)
    assert (closed["status"], closed["items"]["flagged"]) == ("Closed", 5)
