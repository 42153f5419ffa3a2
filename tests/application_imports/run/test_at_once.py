"""Test imports that run beside other imports and changes: none fails or waits forever, and no change is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.application_imports.run.next_dry_run import run_next_dry_run
from rolecall.application_imports.run.next_import import run_next_import
from rolecall.applications.actions import change_application
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_value, make_pool
from rolecall.entitlements.actions import curate_entitlement
from tests.application_imports.running import Imports
from tests.builders import an_application, facts
from tests.duties.separating import a_duty
from tests.interleaving import Crew

HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
HEADER = "Employee ID,First Name,Last Name,Email,Status\n"
ADA = "E1,Ada,Lovelace,ada@x.test,Active\n"
GRACE = "E2,Grace,Hopper,grace@x.test,Active\n"
USERS = "Username,First Name,Last Name\nada,Ada,Lovelace\n"
Run = Callable[[Pool, Config, Any], Awaitable[bool]]


@pytest.fixture
def imports(client: httpx2.AsyncClient, config: Config) -> Imports:
    return Imports(client, config)


class Beside:
    """Builds that wait for the lock of matching, which `gate` holds."""

    def __init__(self, pool: Pool, config: Config, gate: Db, watcher: Db) -> None:
        self.pool, self.config, self.gate, self.crew = pool, config, gate, Crew(pool, watcher)

    async def begin(self, run: Run = run_next_import) -> None:
        """Start a build, and return when one more session waits for a lock."""
        waiting = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
        before = await fetch_value(self.crew.watcher, waiting)
        self.crew.tasks.append(asyncio.create_task(_run(run, self.pool, self.config)))
        async with asyncio.timeout(60):
            while await fetch_value(self.crew.watcher, waiting) <= before:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def _run(run: Run, pool: Pool, config: Config) -> None:
    await run(pool, config, clock.now())


@asynccontextmanager
async def builds_that_wait(db: Db, config: Config) -> AsyncIterator[Beside]:
    async with make_pool(config) as pool:
        async with pool.connection() as gate, gate.transaction():
            await execute(gate, "SELECT lock_matching()")
            beside = Beside(pool, config, gate, db)
            yield beside
        await beside.crew.end()


async def two_sources(db: Db) -> list[UUID]:
    return [await an_application(db, name, isIdentitySource=True, connector=HR) for name in ("HR one", "HR two")]


async def import_both(imports: Imports, db: Db, config: Config, sources: list[UUID], *files: str) -> list[str]:
    """Import both sources at the same time; return the status of each import."""
    runs = [await imports.upload(id, {"People": HEADER + file}) for id, file in zip(sources, files, strict=True)]
    async with builds_that_wait(db, config) as beside:
        await beside.begin()
        await beside.begin()
    return [(await imports.get(run["id"]))["status"] for run in runs]


async def test_person_who_is_new_in_two_sources_at_once_is_created_once(
    imports: Imports, db: Db, config: Config
) -> None:
    done = await import_both(imports, db, config, await two_sources(db), ADA + GRACE, GRACE + ADA)

    assert done == ["Finished"] * 2
    assert await fetch_value(db, "SELECT count(*) FROM identities") == 2


async def test_person_who_leaves_two_sources_at_once_is_removed(imports: Imports, db: Db, config: Config) -> None:
    sources = await two_sources(db)
    for id in sources:
        await imports.finish(id, {"People": HEADER + ADA + GRACE})

    await import_both(imports, db, config, sources, GRACE, GRACE)

    assert await fetch_value(db, "SELECT status FROM identities WHERE employee_id = 'E1'") == "Removed"


async def test_dry_run_of_a_source_waits_for_an_import_of_another_one(imports: Imports, db: Db, config: Config) -> None:
    one, two = await two_sources(db)
    await imports.upload(one, {"People": HEADER + ADA})
    trial = await imports.start_dry_run(two, {"People": HEADER + ADA})
    async with builds_that_wait(db, config) as beside:
        await beside.begin()
        await beside.begin(run_next_dry_run)

    assert (await imports.client.get(f"/api/dry-runs/{trial['id']}")).json()["status"] == "Finished"


async def test_renaming_an_application_does_not_deadlock_with_its_import(
    imports: Imports, db: Db, config: Config
) -> None:
    application = await an_application(db)
    run = await imports.upload(application, {"Users": USERS})
    async with builds_that_wait(db, config) as beside:
        await beside.begin()

        async def rename(db: Db) -> None:
            await change_application(db, application, {"name": "Wages"}, facts())

        await beside.crew.begin(rename)

    assert "Interrupted" not in (await imports.get(run["id"]))["log"]
    assert await fetch_value(db, "SELECT name FROM applications") == "Wages"


async def test_import_that_renames_a_person_does_not_deadlock_with_notifications_of_that_person(
    imports: Imports, db: Db, config: Config
) -> None:
    """Whoever ends conflicts or decides exceptions holds the lock of matching, and then notifies people."""
    source, _ = await two_sources(db)
    await imports.finish(source, {"People": HEADER + ADA})
    ada = await fetch_value(db, "SELECT id FROM identities")
    run = await imports.upload(source, {"People": HEADER + ADA.replace("Lovelace", "Byron")})
    async with builds_that_wait(db, config) as beside:
        await beside.begin()
        notify = "SELECT notify_people(ARRAY[%(ada)s]::uuid[], 'Conflict Opened', 'Duty Rule', %(ada)s)"
        await execute(beside.gate, notify, ada=ada)

    assert "Interrupted" not in (await imports.get(run["id"]))["log"]


async def test_import_of_the_same_files_does_not_deadlock_with_a_renamed_entitlement(
    imports: Imports, db: Db, config: Config
) -> None:
    application = await an_application(db)
    await a_duty(db, "Post", {"group": "Posters"})
    groups = "Group\nPosters\n"
    await imports.finish(application, {"Users": USERS, "Groups": groups})
    await imports.finish(application, {"Users": USERS, "Groups": groups.replace("Posters", "Bookers")})
    former, later = [
        await fetch_value(db, "SELECT id FROM entitlements WHERE name = %(name)s", name=name)
        for name in ("Posters", "Bookers")
    ]
    run = await imports.upload(application, {"Users": USERS, "Groups": groups.replace("Posters", "Bookers")})
    async with builds_that_wait(db, config) as beside:
        await beside.begin()
        await curate_entitlement(beside.gate, str(later), {"sameAs": str(former)}, facts())

    assert (await imports.get(run["id"]))["log"].count("Started") == 1
