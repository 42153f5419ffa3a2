"""Measure personnel events: an onboarding with 20 requests, a leaver with 5,000 accounts, and ticks over many stages.

    python -m bench.workflow

It uses the HTTP API and the worker's own loops, on the embedded database with fsync on. In each tick 100 stages are
due, among 1,000 or 100,000 others: its cost must depend only on the 100.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2
import structlog

from bench.figures import MISSED, Found, tell
from rolecall.access_models import actions as access_models
from rolecall.app import create_app
from rolecall.applications import actions as applications
from rolecall.core import clock
from rolecall.core.caller import SYSTEM, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value, make_pool
from rolecall.core.migrate import migrate
from rolecall.core.postgres import embedded
from rolecall.tokens import actions as tokens
from rolecall.worker import follow_events, open_due_requests
from tests.asgi import running

ACCOUNTS = 5_000
APPLICATIONS = 20
DUE = 100
FEW, MANY = 1_000, 100_000
ROUNDS = 10
# The maximum slowdown of a tick when there are 100 times as many stages.
BAR = 1.5
START = datetime(2026, 11, 2, 8, tzinfo=UTC)


async def took(work: Awaitable[Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    answer = await work
    return time.perf_counter() - started, answer


async def drain(pool: Pool, config: Config) -> None:
    for loop in (follow_events, open_due_requests):
        while await loop(pool, config, clock.now()):
            pass


async def make_accounts(db: Db, identity_id: str, count: int) -> None:
    """Create accounts as imports would, in several applications, each in two groups."""
    await execute(
        db,
        """WITH made AS (
               INSERT INTO accounts (application_id, username, identity_id, match)
               SELECT a.id, 'account' || n, %(identity)s, 'Email'
               FROM (SELECT id, row_number() OVER (ORDER BY id) AS m FROM applications) a
               JOIN generate_series(1, %(count)s) n ON n %% %(applications)s = a.m - 1
               RETURNING number, application_id
           ), described AS (
               INSERT INTO account_versions
               SELECT number, 1, NULL, '', '', '', '', '', true, false, '', '', '{}', '', '' FROM made
           ), grouped AS (
               INSERT INTO groups (application_id, name)
               SELECT a.id, g FROM applications a, unnest(ARRAY['Readers', 'Writers']) AS g
               ON CONFLICT DO NOTHING RETURNING number, application_id
           ), listed AS (
               INSERT INTO group_versions SELECT number, 1, NULL, '', '', '', '{}' FROM grouped
           )
           INSERT INTO memberships
           SELECT m.number, g.number, 1, NULL FROM made m JOIN grouped g USING (application_id)""",
        identity=identity_id,
        count=count,
        applications=APPLICATIONS,
    )
    await execute(db, "ANALYZE")


async def a_leaver(client: httpx2.AsyncClient, pool: Pool, config: Config) -> None:
    person = await onboarded(client, "Leaving")
    async with pool.connection() as db:
        await make_accounts(db, person, ACCOUNTS)
    day = (clock.now() + timedelta(days=3)).date().isoformat()
    posted, answer = await took(
        client.post("/api/personnel-events/offboard", json={"identityId": person, "effectiveDate": day})
    )
    event = answer.json()["id"]
    opened, _ = await took(drain(pool, config))
    read, answer = await took(client.get(f"/api/personnel-events/{event}"))
    requests = answer.json()["stages"][0]["accessRequests"]
    assert len(requests) == ACCOUNTS
    clock.travel_to(clock.now() + timedelta(days=4))
    started, _ = await took(drain(pool, config))
    canceled, answer = await took(client.post(f"/api/personnel-events/{event}/cancel"))
    assert answer.status_code == 200
    print(f"leaver of {ACCOUNTS:,} accounts")
    print(f"  created in                 {posted * 1000:8.1f} ms")
    print(f"  approval: requests made in {opened:8.2f} s   {ACCOUNTS / opened:8,.0f} a second")
    print(f"  effective date: opened in  {started:8.2f} s   {ACCOUNTS / started:8,.0f} a second")
    print(f"  event with all of them read in {read * 1000:.0f} ms; canceled with all of them in {canceled:.2f} s")


async def a_joiner(client: httpx2.AsyncClient, pool: Pool, config: Config, facts: Facts) -> None:
    """Time the onboarding of a person who matches 20 models, each with access in its own application."""
    async with pool.connection() as db:
        rows = await fetch_rows(db, "SELECT id FROM applications ORDER BY name_key")
        for n, (id,) in enumerate(rows):
            async with db.transaction():
                model = await access_models.create_model(db, a_model(n, id), facts)
                await access_models.commit_model(db, SYSTEM, str(model.id), clock.now())
    created, opened = [], []
    for _ in range(ROUNDS):
        seconds, person = await took(onboarded(client, "Joining"))
        created.append(seconds)
        seconds, _ = await took(follow_events(pool, config, clock.now()))
        opened.append(seconds)
        found = (await client.get("/api/access-requests", params={"identityId": person})).json()
        assert found["totalCount"] == APPLICATIONS
    print(f"onboarding with {APPLICATIONS} requests, median of {ROUNDS}")
    print(f"  created in                 {median(created) * 1000:8.1f} ms")
    print(f"  approval: requests made in {median(opened) * 1000:8.1f} ms")


def a_model(n: int, application_id: UUID) -> dict[str, Any]:
    permission = {"header": "Books", "permission": f"Permission {n}"}
    access = {"applicationId": str(application_id), "groups": ["Readers"], "permissions": [permission]}
    conditions = [[{"field": "title", "operator": "is", "value": "Joining"}]]
    return {"name": f"Model {n}", "conditions": conditions, "access": [access]}


async def onboarded(client: httpx2.AsyncClient, title: str) -> str:
    answer = await client.post(
        "/api/personnel-events/onboard",
        json={
            "identity": {"firstName": "Ada", "lastName": "Lovelace", "title": title},
            "effectiveDate": clock.now().date().isoformat(),
        },
    )
    assert answer.status_code == 201, answer.text
    id: str = answer.json()["affectedIdentity"]["id"]
    return id


async def _add_stages(pool: Pool, people: list[str], waiting: int) -> None:
    """Add `waiting` stages that start in three days or later, and an account for each of the people."""
    async with pool.connection() as db:
        await execute(
            db,
            """WITH far AS (
                   INSERT INTO personnel_events (id, type, reporter_id, reporter_name, identity_id, needed_on)
                   SELECT gen_random_uuid(), 'Offboard', %(person)s, 'bench', %(person)s,
                          %(now)s + (10 + n %% 300) * interval '1 day'
                   FROM generate_series(1, %(events)s) n RETURNING id, needed_on
               )
               INSERT INTO stages (event_id, sequence, name, status, scheduled_start)
               SELECT id, m, name, 'Scheduled', start FROM far CROSS JOIN LATERAL (
                   VALUES (1, 'Approval', needed_on - interval '7 days'), (2, 'Provision', needed_on)
               ) AS s (m, name, start)""",
            person=people[0],
            now=clock.now(),
            events=waiting // 2,
        )
        await execute(
            db,
            """WITH made AS (
                   INSERT INTO accounts (application_id, username, identity_id, match)
                   SELECT (SELECT id FROM applications LIMIT 1), 'due' || gen_random_uuid(), id, 'Email'
                   FROM unnest(%(people)s::uuid[]) AS id RETURNING number)
               INSERT INTO account_versions
               SELECT number, 1, NULL, '', '', '', '', '', true, false, '', '', '{}', '', '' FROM made""",
            people=people,
        )
        await execute(db, "ANALYZE")


async def a_tick(client: httpx2.AsyncClient, pool: Pool, config: Config, waiting: int) -> float:
    """Return the time of a tick with 100 due stages, each with an account to remove, and `waiting` later stages."""
    people = [await onboarded(client, "Leaving") for _ in range(DUE)]
    await drain(pool, config)
    await _add_stages(pool, people, waiting)
    day = (clock.now() + timedelta(days=2)).date().isoformat()
    for person in people:
        await client.post("/api/personnel-events/offboard", json={"identityId": person, "effectiveDate": day})
    seconds, _ = await took(follow_events(pool, config, clock.now()))
    async with pool.connection() as db:
        stages = await fetch_value(db, "SELECT count(*) FROM stages WHERE status = 'Scheduled'")
    print(
        f"tick, {DUE} due of {stages:,} scheduled stages: {seconds * 1000:.0f} ms, {seconds / DUE * 1000:.1f} ms each"
    )
    idle, _ = await took(follow_events(pool, config, clock.now()))
    nothing, _ = await took(follow_events(pool, config, clock.now()))
    print(f"  next tick, request changes: {idle * 1000:.0f} ms; a tick with nothing due: {nothing * 1000:.1f} ms")
    return seconds


async def main() -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    clock.travel_to(START)
    with tempfile.TemporaryDirectory() as folder, embedded(Path(folder)) as url:
        migrate(url)
        config = Config(database_url=url, data_dir=Path(folder))
        facts = Facts(now=clock.now(), zone=ZoneInfo("UTC"))
        pool = make_pool(config)
        async with pool, running(create_app(config)) as app:
            async with pool.connection() as db:
                token = await tokens.create_token(db, None, {"name": "bench", "scopes": list(Scope)}, facts)
                for n in range(APPLICATIONS):
                    await applications.create_application(db, {"name": f"Application {n}"}, facts)
            transport = httpx2.ASGITransport(app)
            headers = {"Authorization": f"Bearer {token.secret}"}
            async with httpx2.AsyncClient(
                transport=transport, base_url=config.base_url, headers=headers, timeout=600
            ) as client:
                await a_joiner(client, pool, config, facts)
                await a_leaver(client, pool, config)
                few = await a_tick(client, pool, config, FEW)
                many = await a_tick(client, pool, config, MANY)
    what = f"a tick among {MANY:,} stages, relative to {FEW:,}"
    return 0 if tell(Found("workflow", what, many / few, "×", BAR, at_most=True)) else MISSED


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
