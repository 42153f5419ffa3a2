"""Measure access reviews: open them, list their items with every filter, decide one item or many, and write evidence.

    python -m bench.reviews [--rows 100000]

`--rows` is the number of people; each has an account with ten permissions, so that a review of the application has ten
times as many items, all of one reviewer. The same items are also copied by INSERT … SELECT into a table with the same
columns and indexes. A tenth of the people have ten groups each in another application, which their supervisors review;
models, requests, conflicts, sign-ins and an earlier review give these items reasons. Lists are measured with a prepared
plan, as medians. Chromium talks to `rolecall serve`, as in `bench.console`. The database is embedded.
"""

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

import psycopg

from bench.console import signed_in
from bench.console import timed as painted
from bench.duties import CALLER, seed, timed
from bench.figures import Found, tell
from bench.models import facts
from bench.review_company import a_second_application, close_as_decided
from bench.seeding import measure
from rolecall.console import actions as console
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, session_options
from rolecall.evidence.review_bundle import write_review_bundle
from rolecall.reviews import actions, deciding, item_queries, reason_lists
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.model import ItemFact, ReviewItemStatus
from rolecall.reviews.shapes import ReviewDetail
from tests.cli.commands import a_service

BAR_COPY, BAR_REASONS, BAR_BULK, BAR_PAGE, BAR_COMPANY = 6.0, 10.0, 1.0, 1.5, 1.3
BAR_EVIDENCE, BAR_MEMORY, BAR_PAINT = 60.0, 300.0, 150.0
ROUNDS, DECISIONS, BULK = 41, 40, 1000
# The time that a reviewer takes to read an item, in seconds.
READING = 1.0
Figure = tuple[str, float, str, float]


async def opened(db: Db, type: str, **fields: Any) -> tuple[float, ReviewDetail]:
    """Open a review in one transaction; return the seconds that it took, and the review."""
    due = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    async with db.transaction():
        draft = await actions.create_review(db, CALLER, {"name": type, "type": type, "dueOn": due, **fields}, facts())

    async def work() -> ReviewDetail:
        async with db.transaction():
            return await actions.open_review(db, CALLER, draft.id, datetime.now(UTC))

    return await timed(work)


async def copied(db: Db, review_id: UUID) -> float:
    """Return how many seconds it takes to copy the items of a review into a table with the same indexes."""
    await execute(db, "CREATE TABLE copied_items (LIKE review_items INCLUDING ALL)")
    sql = "INSERT INTO copied_items OVERRIDING SYSTEM VALUE SELECT * FROM review_items WHERE review_id = %(id)s"
    seconds, _ = await timed(lambda: execute(db, sql, id=review_id))
    await execute(db, "DROP TABLE copied_items")
    return seconds


async def medians(*works: Callable[[], Awaitable[Any]]) -> list[float]:
    """Return the median seconds of each function. Run them in turn, so that other programs slow them down equally."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for times, work in zip(took, works, strict=True):
            started = time.perf_counter()
            await work()
            times.append(time.perf_counter() - started)
    # The first five rounds warm up the caches and are not counted.
    return [statistics.median(times[5:]) for times in took]


async def filters_of(db: Db, review: ReviewDetail) -> dict[str, ItemFilters]:
    """Return every combination of four filters, with one typical value for each."""
    common: dict[str, Any] = {
        "status": ReviewItemStatus.PENDING,
        "reviewer_id": max(review.progress.reviewers, key=lambda each: each.items.pending).reviewer.id,
        "application_id": await fetch_value(
            db, "SELECT application_id FROM review_items WHERE review_id = %(id)s LIMIT 1", id=review.id
        ),
        "reason": ItemFact.NO_RECORD,
    }
    return {
        " and ".join(name.removesuffix("_id") for name in chosen) or "no filter": ItemFilters(
            **{name: common[name] for name in chosen}
        )
        for size in range(5)
        for chosen in combinations(common, size)
    }


async def pages(db: Db, review: ReviewDetail, small: ReviewDetail) -> list[Figure]:
    """Compare the last full page with the first, and the first page with that of a small review, for every filter."""
    far, wide = dict[str, float](), dict[str, float]()
    own, others = await filters_of(db, review), await filters_of(db, small)
    for name, filters in own.items():
        found = await item_queries.items(db, review.id, 1, filters)
        assert found.total_count > 0.5 * review.items.total, name
        first, last, other = await medians(
            partial(item_queries.items, db, review.id, 1, filters),
            partial(item_queries.items, db, review.id, found.total_pages - 1, filters),
            partial(item_queries.items, db, small.id, 1, others[name]),
        )
        far[name], wide[name] = last / first, first / other
        print(f"{name}: first page {first * 1000:.1f} ms, last {last * 1000:.1f}, small {other * 1000:.1f}", flush=True)
    slowest, widest = max(far, key=far.__getitem__), max(wide, key=wide.__getitem__)
    return [
        (f"last page of the items, relative to the first, worst filter ({slowest})", far[slowest], "×", BAR_PAGE),
        (f"first page, relative to that of {small.items.total:,} items, worst filter ({widest})", wide[widest], "×",
         BAR_COMPANY),
    ]  # fmt: skip


async def bulk(db: Db, review: ReviewDetail) -> float:
    """Return the median seconds of a bulk decision about a thousand items of one reviewer."""
    reviewer = max(review.progress.reviewers, key=lambda each: each.items.pending).reviewer.id
    rows = await fetch_rows(
        db,
        f"""SELECT id FROM review_items WHERE review_id = %(id)s AND reviewer_id = %(reviewer)s AND status = 'Pending'
            ORDER BY list_key LIMIT {5 * BULK}""",
        id=review.id,
        reviewer=reviewer,
    )
    took = []
    for n in range(0, len(rows), BULK):
        ids = [str(id) for (id,) in rows[n : n + BULK]]
        raw = {"decision": "Keep", "itemIds": ids, "reviewerId": str(reviewer), "comment": "as agreed"}
        seconds, result = await timed(partial(decided, db, review, raw))
        assert result == len(ids), result
        took.append(seconds)
    return statistics.median(took)


async def decided(db: Db, review: ReviewDetail, raw: Any) -> int:
    async with db.transaction():
        return (await deciding.decide_several(db, CALLER, str(review.id), raw, facts())).decided


async def decide_most(db: Db, review: ReviewDetail) -> None:
    """Decide the items of every second reviewer; all items of one reviewer are decided at once."""
    for each in review.progress.reviewers[::2]:
        raw = {"decision": "Keep", "filters": {}, "reviewerId": str(each.reviewer.id), "comment": "as agreed"}
        await decided(db, review, raw)


async def evidence(db: Db, review: ReviewDetail) -> list[Figure]:
    """Measure the time to write the evidence bundle of a review, and the growth of memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with TemporaryFile() as file:
        seconds, _ = await timed(lambda: write_review_bundle(db, file, review.id, datetime.now(UTC)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    what = f"evidence of {review.items.total:,} items"
    return [(what, seconds, "s", BAR_EVIDENCE), (f"{what}, growth of memory", grown, "MB", BAR_MEMORY)]


async def list_reasons(db: Db) -> None:
    more = True
    while more:
        async with db.transaction():
            more = await reason_lists.list_next(db)


async def checked(db: Db, review: ReviewDetail) -> bool:
    async with db.transaction():
        return (await actions.check_population(db, str(review.id))).is_same


async def prepare(db: Db, review: ReviewDetail) -> str:
    """Create a sign-in link for a reviewer who has enough items to decide; return its secret."""
    reviewer = next(each.reviewer.id for each in review.progress.reviewers[1::2] if each.items.pending > DECISIONS + 5)
    return await console.create_link(db, reviewer, datetime.now(UTC))


async def decide_in_browser(url: str, link: str, review_id: UUID) -> tuple[list[float], list[float]]:
    """Decide items with the key for the recommended decision, one each second.

    Return the milliseconds from each key to the next painted item, and to the response of the service.
    """
    async with signed_in(url, link) as page:
        await page.goto(f"/reviews/{review_id}/work")
        took, answered = [], []
        for _ in range(DECISIONS):
            await asyncio.sleep(READING)
            key = await page.locator("#detail [data-choice]:checked").get_attribute("data-choice")
            started = time.perf_counter()
            took.append(await painted(page, key or "a", "#detail .hint a"))
            await page.locator("#detail:not([inert])").wait_for()
            answered.append((time.perf_counter() - started) * 1000)
    return took[3:], answered[3:]


async def run(url: str, rows: int) -> bool:
    options = session_options("http://127.0.0.1:8000")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, options=options) as db:
        there = await seed(db)
        await execute(db, "UPDATE applications SET owner_id = (SELECT id FROM identities ORDER BY id LIMIT 1)")
        _, small = await opened(db, "Application", scope={"departments": ["Department 0"]})
        second = await a_second_application(db, rows // 10)
        scope = {"applicationIds": [str(second)]}
        _, earlier = await opened(db, "Supervisor", scope=scope)
        await close_as_decided(db, earlier.id)
        reasons, middle = await opened(db, "Supervisor", scope=scope)
        whole, large = await opened(db, "Application", scope={"applicationIds": [str(there)]})
        copy = await copied(db, large.id)
        again, check = await timed(lambda: checked(db, large))
        assert check, "the population was taken again and has a different digest"
        print(f"opened {large.items.total:,} items in {whole:.1f} s; the copy took {copy:.1f} s; again {again:.1f} s")
        listing, _ = await timed(partial(list_reasons, db))
        print(f"the worker listed all items by reason in {listing:.1f} s", flush=True)
        await execute(db, "VACUUM ANALYZE")
        reviewers = len(middle.progress.reviewers)
        figures = [
            (f"open {large.items.total:,} items, relative to a copy of them", whole / copy, "×", BAR_COPY),
            (f"open {middle.items.total:,} items of {reviewers:,} reviewers", reasons, "s", BAR_REASONS),
            *await pages(db, large, small),
            (f"decide {BULK:,} of {large.items.total:,} items at once", await bulk(db, large), "s", BAR_BULK),
        ]
        await decide_most(db, middle)
        figures += await evidence(db, middle)
        link = await prepare(db, middle)
    figures.append(await painting(url, link, middle))
    held = [tell(Found("reviews", *figure, at_most=True)) for figure in figures]
    return all(held)


async def painting(database_url: str, link: str, review: ReviewDetail) -> Figure:
    with (
        tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder,
        a_service(Path(folder), "--workers", "2", ROLECALL_DATABASE_URL=database_url) as service,
    ):
        took, answered = await asyncio.wait_for(decide_in_browser(service.url, link, review.id), 180)
    print(f"the service answered a decision with the whole page in {statistics.median(answered):.0f} ms", flush=True)
    what = f"key to the next painted item, of {review.items.total:,}, median"
    return what, statistics.median(took), "ms", BAR_PAINT


if __name__ == "__main__":
    measure(run, __doc__)
