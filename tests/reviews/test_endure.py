"""Kill processes at random times while they open, decide or close a review: each change is complete or absent.

`ROLECALL_REVIEW_KILLS=60` kills more often.
"""

import asyncio
import os
import random
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.cli.commands import environment
from tests.evidence.test_genuine_reviews import problems
from tests.figures import measured
from tests.reviews.company import Reviewed, a_reviewed_company
from tests.reviews.reviewing import a_draft, post
from tests.reviews.test_kill import ROOT

KILLS = int(os.environ.get("ROLECALL_REVIEW_KILLS", "3"))
ACCOUNTS = 300
VERBS = ("open", "decide", "close")
_HELD = [
    """INSERT INTO accounts (application_id, username, identity_id, match, matched_on)
       SELECT %(there)s, 'user ' || n, %(holder)s, 'Email', now() - interval '1 day'
       FROM generate_series(1, %(accounts)s) AS n""",
    """INSERT INTO account_versions
       SELECT number, %(run)s, NULL, username, '', '', '', '', true, false, '', '', '{}', '', '' FROM accounts
       WHERE username LIKE 'user %%'""",
    """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a, groups g
       WHERE a.username LIKE 'user %%'""",
]
_FACTS = """
    SELECT r.status, r.item_count, (SELECT count(*) FROM review_items i WHERE i.review_id = r.id),
           (SELECT count(*) FROM review_populations p WHERE p.review_id = r.id),
           (SELECT count(*) FROM review_items i WHERE i.review_id = r.id AND i.decision IS NOT NULL),
           (SELECT count(*) FROM review_decisions d WHERE d.review_id = r.id),
           (SELECT coalesce(sum(b.item_count), 0) FROM review_bulks b WHERE b.review_id = r.id),
           (SELECT count(*) FROM review_items i WHERE i.review_id = r.id AND i.status = 'Flagged'),
           (SELECT count(DISTINCT i.request_id) FROM review_items i WHERE i.review_id = r.id),
           (SELECT count(DISTINCT l.request_id) FROM related_items l JOIN review_items i ON i.id = l.item_id
            WHERE i.review_id = r.id)
    FROM reviews r WHERE r.id = %(id)s"""


class Killing:
    """Change reviews in processes that are killed, and check each review afterwards."""

    def __init__(self, client: httpx2.AsyncClient, db: Db, config: Config, company: Reviewed) -> None:
        self.client, self.db, self.config, self.company = client, db, config, company
        self.usual: dict[str, float] = {}
        self.found: Counter[str] = Counter()

    async def _start(self, verb: str, review: str) -> tuple[Process, int]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.reviews.killed", self.config.database_url or "", verb, review,
            str(self.company.owen), "never", cwd=ROOT, env=environment(), stdout=PIPE,
        )  # fmt: skip
        assert process.stdout
        return process, int(await process.stdout.readline())

    async def run(self, verb: str, review: str) -> None:
        """Run a process to its end, and store how long it took."""
        process, _ = await self._start(verb, review)
        started = time.monotonic()
        assert await process.wait() == 0
        self.usual[verb] = time.monotonic() - started

    async def kill_during(self, verb: str, review: str, chance: random.Random) -> None:
        """Kill a process at a random time, wait until its database session has ended, and check the review."""
        process, backend = await self._start(verb, review)
        await asyncio.sleep(chance.uniform(0, self.usual[verb]))
        if process.returncode is None:
            process.kill()
        await process.wait()
        sql = "SELECT true FROM pg_stat_activity WHERE pid = %(pid)s"
        while await fetch_value(self.db, sql, pid=backend):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        self.found[f"{verb} {'done' if await self.is_done(verb, review) else 'not done'}"] += 1

    async def is_done(self, verb: str, review: str) -> bool:
        """Return whether the change was made; fail if only a part of it was."""
        [row] = await fetch_rows(self.db, _FACTS, id=UUID(review))
        status, count, items, populations, decided, decisions, in_bulk, flagged, requests, related = row
        if verb == "open":
            assert (status, items > 0, populations, count) in (("Draft", False, 0, 0), ("Open", True, 1, items)), row
            return bool(status == "Open")
        if verb == "decide":
            assert (decided, decisions, in_bulk) in ((0, 0, 0), (items, items, items)), row
            return bool(decided)
        assert (status, flagged, requests, related) in (("Open", 0, 0, 0), ("Closed", items, requests, requests)), row
        assert status == "Open" or requests >= ACCOUNTS, row
        return bool(status == "Closed")

    async def a_review(self, verb: str) -> str:
        """Prepare a review for a process that opens, decides or closes it; `verb` is the operation."""
        draft = await a_draft(self.client, "Application", onSilence="flag", scope={"identityIds": [self.holder]})
        if verb != "open":
            await post(self.client, f"/api/reviews/{draft}/open")
        if verb == "close":
            # Closing would flag too many accounts, so this call only holds the review. The process confirms the close.
            await execute(self.db, "UPDATE reviews SET due_on = now() - interval '1 hour' WHERE status = 'Open'")
            await post(self.client, f"/api/reviews/{draft}/close")
        return draft

    @property
    def holder(self) -> str:
        return str(self.company.emre)

    async def cancel_requests(self) -> None:
        """Cancel all requests, so that the next review makes requests of its own."""
        sql = "UPDATE access_requests SET status = 'Canceled' WHERE status <> 'Canceled'"
        await execute(self.db, sql)


async def hold_much(db: Db, company: Reviewed) -> None:
    given: dict[str, Any] = {"there": company.ledger, "run": company.run, "holder": company.emre, "accounts": ACCOUNTS}
    for statement in _HELD:
        await execute(db, statement, **given)


@pytest.mark.timeout(300 + KILLS * 30)
async def test_kill_leaves_no_partial_change_of_a_review(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    await hold_much(db, company)
    killing, chance = Killing(client, db, config, company), random.Random()
    for verb in VERBS:
        await killing.run(verb, await killing.a_review(verb))
        await killing.cancel_requests()
    for n in range(KILLS):
        verb = VERBS[n % len(VERBS)]
        review = await killing.a_review(verb)
        await killing.kill_during(verb, review, chance)
        if not await killing.is_done(verb, review):
            await killing.run(verb, review)
        assert await killing.is_done(verb, review)
        assert (await post(client, f"/api/reviews/{review}/check"))["isSame"] is True
        if verb == "close":
            assert await problems(db, review, tmp_path) == []
        await killing.cancel_requests()
    said = ", ".join(f"{what} {count}" for what, count in sorted(killing.found.items()))
    measured(f"{KILLS} kills in reviews of {2 * ACCOUNTS:,} items: {said}; every digest and every decision whole")
