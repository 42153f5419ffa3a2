"""Measure access reviews: open them, list their items, and decide many at once.

    python -m bench.reviews [--rows 100000]

`--rows` is the number of people; each has an account with ten permissions, so that a review of the application has ten
times as many items. The same items are also copied by INSERT … SELECT into a table with the same columns and indexes.
The database is embedded.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import psycopg

from bench.duties import CALLER, seed, timed
from bench.figures import Found, tell
from bench.seeding import measure
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value, session_options
from rolecall.evidence.review_bundle import write_review_bundle
from rolecall.reviews import actions, deciding, item_queries
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.shapes import ReviewDetail

BAR_COPY, BAR_REASONS, BAR_BULK, BAR_PAGE, BAR_COMPANY, BAR_EVIDENCE = 6.0, 10.0, 1.0, 1.5, 1.3, 60.0
ROUNDS = 40


def facts() -> Facts:
    return Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC"))


async def opened(db: Db, type: str, **fields: Any) -> tuple[float, ReviewDetail]:
    """Open a review in one transaction; return the seconds that it took."""
    due = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    async with db.transaction():
        draft = await actions.create_review(db, CALLER, {"name": type, "type": type, "dueOn": due, **fields}, facts())

    async def work() -> ReviewDetail:
        async with db.transaction():
            return await actions.open_review(db, CALLER, draft.id, datetime.now(UTC))

    return await timed(work)


_SECOND = [
    """INSERT INTO application_imports
           (id, application_id, type, status, created_by, created_at, build_start, build_end, metrics)
       SELECT gen_random_uuid(), %(there)s, 'API', 'Finished', 'bench', now(), now(), now() - interval '1 day', '{}'""",
    """INSERT INTO accounts (application_id, username, identity_id, match, matched_on)
       SELECT %(there)s, 'user ' || row_number() OVER (ORDER BY id), id, 'Email', now() - interval '1 day'
       FROM (SELECT id FROM identities ORDER BY id LIMIT %(people)s) AS some""",
    """INSERT INTO account_versions
       SELECT number, %(run)s, NULL, username, '', '', '', '', true, false, '', '', '{}', '', '' FROM accounts
       WHERE application_id = %(there)s""",
    """INSERT INTO groups (application_id, name) SELECT %(there)s, 'Group ' || n FROM generate_series(1, 100) AS n""",
    """INSERT INTO group_versions SELECT number, %(run)s, NULL, '', '', '', '{}' FROM groups
       WHERE application_id = %(there)s""",
    """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a
       JOIN (SELECT number, row_number() OVER () AS n FROM groups WHERE application_id = %(there)s) AS g
            ON g.n %% 10 = a.number %% 10 WHERE a.application_id = %(there)s""",
    "SELECT refresh_entitlements(%(there)s, %(run)s)",
]


async def a_second_application(db: Db, people: int) -> UUID:
    """Give a tenth of the people an account with ten groups in another application."""
    there: UUID = await fetch_value(db, "SELECT id FROM applications ORDER BY id OFFSET 1 LIMIT 1")
    run = None
    for statement in _SECOND:
        await execute(db, statement, there=there, run=run, people=people)
        run = run or await fetch_value(db, "SELECT max(number)::int FROM application_imports")
    await execute(db, "ANALYZE")
    return there


async def copied(db: Db, review_id: UUID) -> float:
    """Return the seconds of an INSERT … SELECT of the same rows into a table with the same indexes."""
    await execute(db, "CREATE TABLE copied_items (LIKE review_items INCLUDING ALL)")
    sql = "INSERT INTO copied_items OVERRIDING SYSTEM VALUE SELECT * FROM review_items WHERE review_id = %(id)s"
    seconds, _ = await timed(lambda: execute(db, sql, id=review_id))
    await execute(db, "DROP TABLE copied_items")
    return seconds


async def median(work: Callable[[], Awaitable[Any]]) -> float:
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await work()
        took.append(time.perf_counter() - started)
    return sorted(took)[ROUNDS // 2]


async def bulk(db: Db, review: ReviewDetail) -> float:
    """Return the seconds of a decision about a thousand items of one reviewer."""
    reviewer = max(review.progress.reviewers, key=lambda each: each.items.pending).reviewer.id
    rows = await db.execute(
        "SELECT id FROM review_items WHERE review_id = %s AND reviewer_id = %s ORDER BY list_key LIMIT 1000",
        (review.id, reviewer),
    )
    ids = [str(id) for (id,) in await rows.fetchall()]
    raw = {"decision": "Keep", "itemIds": ids, "reviewerId": str(reviewer), "comment": "as agreed"}

    async def work() -> None:
        async with db.transaction():
            result = await deciding.decide_several(db, CALLER, str(review.id), raw, facts())
            assert result.decided == len(ids), result

    seconds, _ = await timed(work)
    return seconds


async def evidence(db: Db, review: ReviewDetail) -> float:
    """Return the seconds that the evidence bundle of a review takes."""
    with TemporaryFile() as file:
        seconds, _ = await timed(lambda: write_review_bundle(db, file, review.id, datetime.now(UTC)))
    return seconds


async def pages(db: Db, review: ReviewDetail, small: ReviewDetail) -> tuple[float, float]:
    """Return how much slower the last page is than the first, and the first than that of a small review."""
    last = review.items.total // 50
    first = await median(lambda: item_queries.items(db, review.id, 1, ItemFilters()))
    end = await median(lambda: item_queries.items(db, review.id, last, ItemFilters()))
    other = await median(lambda: item_queries.items(db, small.id, 1, ItemFilters()))
    return end / first, first / other


async def run(url: str, rows: int) -> bool:
    async with await psycopg.AsyncConnection.connect(
        url, autocommit=True, options=session_options("http://127.0.0.1:8000")
    ) as db:
        there = await seed(db)
        await execute(db, "UPDATE applications SET owner_id = (SELECT id FROM identities ORDER BY id LIMIT 1)")
        _, small = await opened(db, "Supervisor", scope={"departments": ["Department 0"]})
        second = await a_second_application(db, rows // 10)
        reasons, middle = await opened(db, "Supervisor", scope={"applicationIds": [str(second)]})
        whole, large = await opened(db, "Application", scope={"applicationIds": [str(there)]})
        copy = await copied(db, large.id)
        again, check = await timed(lambda: checked(db, large))
        assert check, "the population taken again has another digest"
        print(f"opened {large.items.total:,} items in {whole:.1f} s; the copy took {copy:.1f} s; again {again:.1f} s")
        far, company = await pages(db, large, small)
        reviewers = len(middle.progress.reviewers)
        figures = [
            (f"open {large.items.total:,} items beside a copy of them", whole / copy, "×", BAR_COPY),
            (f"open {middle.items.total:,} items of {reviewers:,} reviewers", reasons, "s", BAR_REASONS),
            ("last page of the items beside the first", far, "×", BAR_PAGE),
            ("first page beside that of a small review", company, "×", BAR_COMPANY),
            ("decide 1,000 items at once", await bulk(db, large), "s", BAR_BULK),
            (f"evidence of {middle.items.total:,} items", await evidence(db, middle), "s", BAR_EVIDENCE),
        ]
    held = [tell(Found("reviews", *figure, at_most=True)) for figure in figures]
    return all(held)


async def checked(db: Db, review: ReviewDetail) -> bool:
    async with db.transaction():
        return (await actions.check_population(db, str(review.id))).is_same


if __name__ == "__main__":
    measure(run, __doc__)
