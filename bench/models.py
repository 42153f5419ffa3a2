"""Measure access models in a whole company: simulate, commit, and update members when identities change.

    python -m bench.models [--rows 100000]

The database is embedded, with fsync on. Each figure is also measured with a tenth of the people.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from bench.figures import MISSED, Found, tell
from bench.seeding import company_of
from rolecall.access_models import actions
from rolecall.core.caller import SYSTEM
from rolecall.core.checking import Facts
from rolecall.core.db import ONE_PLAN_FOR_ALL, Db, session_options

BAR_COMMIT = 5.0
MODELS = 100
ENGINEERS = [[{"field": "title", "operator": "is", "value": "Engineer"}]]
HALF = [
    [{"field": "division", "operator": "is one of", "value": ["Division 0", "Division 1", "Division 2"]}],
    [
        {"field": "office", "operator": "starts with", "value": "Office 1"},
        {"field": "department", "operator": "is not", "value": "Department 7"},
    ],
]


def facts() -> Facts:
    return Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC"))


class Statements(psycopg.AsyncCursor[Any]):
    count = 0

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        Statements.count += 1
        return await super().execute(*args, **kwargs)


async def draft(db: Db, name: str, conditions: Any, application_id: str) -> str:
    access = [{"applicationId": application_id, "groups": ["Staff"], "permissions": [{"permission": f"Use {name}"}]}]
    raw = {"name": name, "conditions": conditions, "access": access}
    async with db.transaction():
        return str((await actions.create_model(db, raw, facts())).id)


async def commit(db: Db, id: str) -> int:
    async with db.transaction():
        return (await actions.commit_model(db, SYSTEM, id, datetime.now(UTC))).member_count


async def run(url: str, rows: int) -> dict[str, tuple[float, str]]:
    took: dict[str, tuple[float, str]] = {}

    async def step(name: str, work: Callable[[], Awaitable[Any]], say: Callable[[Any], str] = lambda _: "") -> Any:
        Statements.count, started = 0, time.perf_counter()
        result = await work()
        seconds = time.perf_counter() - started
        took[name] = seconds, f"{Statements.count} statements{say(result)}"
        return result

    options = session_options("http://127.0.0.1:8000", **ONE_PLAN_FOR_ALL)
    async with await psycopg.AsyncConnection.connect(
        url, autocommit=True, options=options, cursor_factory=Statements
    ) as db:
        found = await (await db.execute("SELECT id FROM applications LIMIT 1")).fetchone()
        assert found
        application_id = str(found[0])
        everyone = await draft(db, "Everyone", ENGINEERS, application_id)
        await step("simulate for everyone", lambda: actions.simulate_model(db, everyone, {}, facts()),
                   lambda told: f", {told.joining:,} would join")  # fmt: skip
        await step("commit for everyone", lambda: commit(db, everyone), lambda n: f", {n:,} members")
        half = await draft(db, "Half", HALF, application_id)
        await step("commit for about half", lambda: commit(db, half), lambda n: f", {n:,} members")
        for n in range(MODELS - 2):
            department = [[{"field": "department", "operator": "is", "value": f"Department {n}"}]]
            await commit(db, await draft(db, f"Department {n}", department, application_id))
        moved = rows // 10
        many = f"UPDATE identities SET office = 'Office 1' WHERE id IN (SELECT id FROM identities LIMIT {moved})"
        await step(f"a tenth moves, {MODELS} models", lambda: db.execute(many), lambda _: f", {moved:,} people")
        one = "UPDATE identities SET department = 'Department 1' WHERE id = (SELECT id FROM identities LIMIT 1)"
        await step(f"one person moves, {MODELS} models", lambda: db.execute(one))
    return took


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000)
    rows = options.parse_args().rows
    results = []
    for size in (rows, rows // 10):
        with company_of(identities=size, applications=10) as url:
            results.append(asyncio.run(run(url, size)))
    big, small = results
    print(f"{'':32} {rows:>10,} {rows // 10:>10,}")
    for name, (seconds, said) in big.items():
        print(f"{name:32} {seconds * 1000:>7.0f} ms {small[name][0] * 1000:>7.0f} ms  {said}")
    slowest = max(seconds for name, (seconds, _) in big.items() if name.startswith("commit"))
    what = f"the slowest commit of a model over {rows:,} identities"
    sys.exit(0 if tell(Found("models", what, slowest, "s", BAR_COMMIT, at_most=True)) else MISSED)


if __name__ == "__main__":
    main()
