"""Test that no operation removes the last active administrator of the console."""

import asyncio
from uuid import UUID

import httpx2
import psycopg
import pytest

from rolecall.console import actions as console
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool
from rolecall.core.errors import Conflict
from rolecall.core.roles import Role
from rolecall.identities import actions as identities
from rolecall.identities import administrators
from rolecall.personnel_events import actions as events
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity, facts
from tests.interleaving import Crew
from tests.personnel_events.bodies import EVENTS, created, day
from tests.working import let_the_worker_work

HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
HEADER = "Employee ID,First Name,Last Name,Email,Status\n"
ADA = "E1,Ada,Lovelace,ada@x.test,Active\n"
CHARLES = "E2,Charles,Babbage,cb@x.test,Active\n"


@pytest.fixture
async def ada(db: Db) -> UUID:
    id = await an_identity(db)
    await console.set_role(db, id, Role.ADMINISTRATOR, "ada@example.com")
    return id


async def another(db: Db, name: str = "Grace", role: Role = Role.ADMINISTRATOR) -> UUID:
    id = await an_identity(db, name, "Hopper")
    await console.set_role(db, id, role, f"{name}@example.com")
    return id


async def offboard(client: httpx2.AsyncClient, id: UUID, on: int) -> httpx2.Response:
    return await client.post(f"{EVENTS}/offboard", json={"identityId": str(id), "effectiveDate": day(on)})


async def status(db: Db, id: UUID) -> str:
    return str(await fetch_value(db, "SELECT status FROM identities WHERE id = %(id)s", id=id))


@pytest.mark.parametrize("on", [0, 30])
async def test_last_administrator_cannot_be_offboarded(client: httpx2.AsyncClient, db: Db, ada: UUID, on: int) -> None:
    await another(db, role=Role.OPERATOR)

    answer = await offboard(client, ada, on)

    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert answer.json()["message"] == administrators.LAST
    assert await fetch_value(db, "SELECT count(*) FROM personnel_events") == 0


async def test_administrator_with_an_open_offboarding_is_not_counted_as_remaining(
    client: httpx2.AsyncClient, db: Db, ada: UUID
) -> None:
    grace = await another(db)
    leaving = await offboard(client, grace, 30)

    refused = await offboard(client, ada, 60)
    await client.post(f"{EVENTS}/{leaving.json()['id']}/cancel", json={})
    allowed = await offboard(client, ada, 60)

    assert (leaving.status_code, refused.status_code, allowed.status_code) == (201, 409, 201)


async def test_administrator_on_leave_is_counted_as_remaining(client: httpx2.AsyncClient, db: Db, ada: UUID) -> None:
    await created(client, "leave-of-absence", identityId=str(await another(db)), effectiveDate=day(1))

    assert (await offboard(client, ada, 0)).status_code == 201


async def test_concurrent_offboardings_keep_one_of_the_last_two_administrators(
    client: httpx2.AsyncClient, db: Db, ada: UUID
) -> None:
    grace = await another(db)

    answers = await asyncio.gather(*(offboard(client, id, 0) for id in (ada, grace)))

    assert sorted(answer.status_code for answer in answers) == [201, 409]


async def test_offboarding_waits_until_the_offboarding_of_another_administrator_is_committed(
    client: httpx2.AsyncClient, db: Db, ada: UUID, clean_database: str
) -> None:
    grace = await another(db)
    async with await psycopg.AsyncConnection.connect(clean_database) as other:
        await events.offboard(other, SYSTEM, {"identityId": str(grace), "effectiveDate": day(30)}, facts())
        waiting = asyncio.create_task(offboard(client, ada, 0))
        async with asyncio.timeout(60):
            sql = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"
            while not waiting.done() and not await fetch_value(db, sql):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await other.commit()

        assert (await waiting).status_code == 409


async def test_offboarding_that_takes_effect_does_not_disable_the_last_administrator(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    grace = await another(db)
    event = await created(client, "offboard", identityId=str(ada), effectiveDate=day(0))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=grace)

    await let_the_worker_work(config, clock.now())

    assert await status(db, ada) == "Active"
    found = (await client.get(f"{EVENTS}/{event['id']}")).json()
    said = "The identity was not disabled: it is the last active administrator."
    assert found["status"] == "Completed"
    assert found["comments"][0]["content"].startswith(said)
    assert "Identity Not Disabled" in [entry["action"] for entry in found["activity"]]


async def test_administrator_is_disabled_if_another_remains(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    await another(db)
    await created(client, "offboard", identityId=str(ada), effectiveDate=day(0))

    await let_the_worker_work(config, clock.now())

    assert await status(db, ada) == "Disabled"


async def test_role_of_the_last_active_administrator_cannot_be_removed(db: Db, ada: UUID) -> None:
    grace = await another(db)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=grace)

    for role in (None, Role.OPERATOR):
        with pytest.raises(Conflict, match="last active administrator"):
            await console.set_role(db, ada, role)
    await console.set_role(db, grace, None)

    assert (await administrators.active(db)).keys() == {ada}


async def test_offboarding_of_an_administrator_does_not_deadlock_with_their_own_write(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, clean_database: str
) -> None:
    """A write by a person first locks the person's session, and may then wait for the lock of the administrators."""
    await another(db)
    link = await console.create_link(db, ada, clock.now())
    assert await console.sign_in_by_link(db, link, clock.now())
    await created(client, "offboard", identityId=str(ada), effectiveDate=day(0))
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as writing:
        async with writing.transaction():
            await execute(writing, "SELECT FROM console_sessions FOR KEY SHARE")
            working = asyncio.create_task(let_the_worker_work(config, clock.now()))
            async with asyncio.timeout(60):
                while not await fetch_value(db, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            await administrators.lock_administrators(writing)
        await working

    assert await status(db, ada) == "Disabled"


async def test_person_who_becomes_the_last_administrator_meanwhile_is_not_disabled(
    db: Db, ada: UUID, config: Config
) -> None:
    grace = await another(db, role=Role.OPERATOR)
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as gate, gate.transaction():
            await execute(gate, "SELECT FROM identities WHERE id = %(id)s FOR NO KEY UPDATE", id=grace)
            now = clock.now()
            task = await crew.begin(lambda db: identities.disable_unless_last(db, grace, now, now))
            # These changes are committed while the offboarding waits.
            await console.set_role(db, grace, Role.ADMINISTRATOR)
            await console.set_role(db, ada, None)

    assert await task is False
    assert (await administrators.active(db)).keys() == {grace}


async def test_concurrent_role_removals_keep_one_administrator(db: Db, ada: UUID, clean_database: str) -> None:
    grace = await another(db)
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as other:
        results = await asyncio.gather(
            console.set_role(db, ada, None), console.set_role(other, grace, None), return_exceptions=True
        )

    assert sorted(type(result).__name__ for result in results) == ["Conflict", "NoneType"]


@pytest.mark.parametrize("file", [CHARLES, ADA.replace("Active", "Disabled") + CHARLES], ids=["removed", "disabled"])
async def test_import_that_would_remove_the_last_administrator_fails(
    client: httpx2.AsyncClient, config: Config, db: Db, file: str
) -> None:
    imports = Imports(client, config)
    source = await an_application(db, "HR", isIdentitySource=True, connector=HR)
    await imports.finish(source, {"People": HEADER + ADA + CHARLES})
    ada = await fetch_value(db, "SELECT id FROM identities WHERE employee_id = 'E1'")
    await console.set_role(db, ada, Role.ADMINISTRATOR, "ada@example.com")

    refused = await imports.run(source, {"People": HEADER + file})
    before = await status(db, ada)
    await another(db)
    await imports.finish(source, {"People": HEADER + file})

    assert refused["status"] == "Failed"
    said = "without Ada Lovelace, no active administrator would be left; make another person an administrator first"
    assert refused["log"].endswith(f"Failed: {said}")
    assert before == "Active"
    assert await status(db, ada) in ("Removed", "Disabled")
