"""Test the limits of a carrier: dry run, brake, rate limit, and changes while requests are carried out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from rolecall.carriers.carrying import carry_out_next
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, make_pool
from tests.access_requests.walking import done
from tests.carriers.carrying import LDAP, NOWHERE, SCIM, Carrying, a_removal
from tests.carriers.test_ldap import account, members
from tests.duties.separating import a_duty, a_rule
from tests.local_server import local_server
from tests.sources.peers import Directory
from tests.sources.rest_server import CONTENTS, RestServer, serving

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
_STATUSES = "SELECT status FROM application_imports ORDER BY number"


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.travel_to(NOON)


@pytest.fixture
async def server() -> AsyncIterator[RestServer]:
    async with serving(3) as server:
        yield server


async def test_dry_run_records_the_steps_and_sends_nothing(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, mode="Dry Run")
    id = await carrying.request("Add", await carrying.person("dry1"), gives=("Staff",))

    await carrying.work()
    await carrying.work()

    assert await carrying.said(id) == [
        ("Dry Run", "Dry run: the carrier would create the account dry1; add dry1 to the group Staff")
    ]
    assert (await carrying.detail(id))["status"] == "Open"
    assert account(directory, "dry1") is None


async def test_brake_holds_removals_until_a_person_releases_them(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, removalsPerHour=2)
    ids = [await a_removal(carrying, f"held{n}") for n in range(4)]

    await carrying.work()

    held = (await carrying.get())["brake"]
    assert (held["removalsInLastHour"], held["limit"], len(held["held"])) == (2, 2, 2)
    assert "a person must release the request" in (await carrying.said(ids[2]))[0][1]
    assert [account(directory, f"held{n}")["employeeType"] for n in range(4)] == [["No"]] * 2 + [["Yes"]] * 2  # type: ignore[index]

    released = await carrying.post("release", accessRequestIds=[ids[2]])
    await carrying.work()
    later = await a_removal(carrying, "held4")
    clock.travel_to(NOON + timedelta(hours=2))
    await carrying.work()

    assert released.status_code == 200
    assert (await carrying.detail(ids[2]))["status"] == "Completed"
    assert (await carrying.detail(ids[3]))["status"] == "Open"
    assert (await carrying.detail(later))["status"] == "Completed"
    actions = [each["action"] for each in (await carrying.detail(ids[2]))["activity"]]
    assert actions[-3:] == ["Released", "Carried Out", "Resolved"]


async def test_release_without_held_requests_is_a_conflict(carrying: Carrying) -> None:
    await carrying.put(NOWHERE, LDAP)

    assert (await carrying.post("release")).status_code == 409


async def test_brake_does_not_hold_requests_that_add_access(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, removalsPerHour=0)
    id = await carrying.request("Add", await carrying.person("brake1"), gives=("Staff",))

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Completed"


async def test_rate_limit_pauses_in_the_middle_of_a_request(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, stepsPerMinute=2)
    id = await carrying.request("Add", await carrying.person("rate1"), gives=("Staff", "Clerks"))
    await carrying.work()
    before = (await carrying.get())["waiting"][0]["reason"]
    clock.travel_to(NOON + timedelta(seconds=50))
    await carrying.work()
    early = members(directory, "Clerks")
    clock.travel_to(NOON + timedelta(minutes=5))

    await carrying.work()

    assert before == "the rate limit is reached"
    assert "rate1" not in early
    assert "rate1" in members(directory, "Clerks")
    assert (await carrying.detail(id))["status"] == "Completed"


async def test_canceled_request_is_not_continued(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, stepsPerMinute=1)
    id = await carrying.request("Add", await carrying.person("cancel1"), gives=("Staff",))
    await carrying.work()
    await done(carrying.client, id, "cancel")
    clock.travel_to(NOON + timedelta(minutes=2))

    await carrying.work()

    assert "cancel1" not in members(directory, "Staff")


async def test_two_concurrent_workers_repeat_no_change(
    carrying: Carrying, directory: Directory, config: Config
) -> None:
    await carrying.put(directory.url, LDAP)
    ids = [await carrying.request("Add", await carrying.person(f"two{n}"), gives=("Staff",)) for n in range(5)]

    async with make_pool(config) as one, make_pool(config) as other:
        for _ in range(3):
            await asyncio.gather(*(carry_out_next(pool, config, clock.now()) for pool in (one, other)))

    for n, id in enumerate(ids):
        assert [action for action, _ in await carrying.said(id)] == ["Carried Out", "Carried Out", "Resolved"]
        assert len(directory.find(f"(uid=two{n})")) == 1
    assert await fetch_value(carrying.db, "SELECT count(*) FROM carrier_steps") == 10


async def test_step_with_a_lost_response_is_checked_and_not_repeated(
    carrying: Carrying, directory: Directory, db: Db
) -> None:
    """The worker died after it sent the steps, so they are recorded without a response."""
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Add", await carrying.person("died1"), gives=("Staff",))
    await carrying.work()
    await execute(db, "DELETE FROM activity WHERE author = 'Carrier'")
    await execute(db, "UPDATE carrier_steps SET state = 'Sent', answer = ''")
    await execute(db, "UPDATE carried_requests SET state = 'Waiting'")
    await execute(db, "UPDATE access_requests SET status = 'Open' WHERE id = %(id)s", id=id)

    await carrying.work()

    assert [text for _, text in await carrying.said(id)][:2] == [
        "Create the account died1: it already existed, with these attributes",
        "Add died1 to the group Staff: it was already a member",
    ]


async def test_steps_are_planned_again_when_the_carrier_was_changed(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(NOWHERE, LDAP, onRemove="Delete")
    id = await a_removal(carrying, "delete8")
    await carrying.work()
    await carrying.put(directory.url, LDAP, onRemove="Disable")
    clock.travel_to(NOON + timedelta(minutes=1))

    await carrying.work()

    assert (await carrying.said(id))[0][1] == "Disable the account delete8: disabled"
    assert account(directory, "delete8") is not None


Turning = Callable[[], Awaitable[object]]


@asynccontextmanager
async def turning(turn: Turning) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve SCIM without accounts, and call `turn` at the first request."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.method)
        if len(asked) == 1:
            await turn()
        return web.json_response({"id": "1"} if request.method == "POST" else {"totalResults": 0}, status=200)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with local_server(app) as port:
        yield f"http://127.0.0.1:{port}", asked


async def two_additions(carrying: Carrying, url: str) -> list[str]:
    await carrying.put(url, SCIM)
    return [await carrying.request("Add", await carrying.person(f"turn{n}"), gives=("Clerks",)) for n in range(2)]


async def test_carrier_switched_off_during_a_batch_takes_up_no_more_requests(carrying: Carrying) -> None:
    async def switch_off() -> None:
        await carrying.put(url, SCIM, mode="Off")

    async with turning(switch_off) as (url, asked):
        ids = await two_additions(carrying, url)
        await carrying.work()
        clock.travel_to(NOON + timedelta(minutes=5))
        await carrying.put(url, SCIM)
        sent = asked.count("POST")
        await carrying.work()

        assert asked.count("POST") == sent == 1
    assert await carrying.said(ids[1]) == []


async def test_application_archived_during_a_batch_is_not_changed_further(carrying: Carrying) -> None:
    async def archive() -> None:
        await carrying.client.patch(f"/api/applications/{carrying.id}", json={"isArchived": True})

    async with turning(archive) as (url, asked):
        await two_additions(carrying, url)
        await carrying.work()

        assert asked.count("POST") == 1


async def test_request_waits_while_conflicts_of_its_person_are_checked(carrying: Carrying, db: Db) -> None:
    async def recheck() -> None:
        await execute(db, "INSERT INTO people_to_recheck (identity_id) SELECT id FROM identities")

    await a_rule(db, "Pay and approve", await a_duty(db, "Pay"), await a_duty(db, "Approve"))
    await execute(db, "DELETE FROM people_to_recheck")
    async with turning(recheck) as (url, asked):
        await two_additions(carrying, url)
        await carrying.work()

        assert asked.count("POST") == 1


async def test_finished_request_is_resolved_after_a_kill(carrying: Carrying, directory: Directory) -> None:
    """The worker died after the response to the last step, before it resolved the request."""
    await carrying.put(directory.url, LDAP, onRemove="Delete")
    id = await a_removal(carrying, "delete2")
    await carrying.work()
    await execute(carrying.db, "UPDATE carried_requests SET state = 'Waiting'")
    await execute(
        carrying.db,
        """UPDATE access_requests r SET status = 'Open', status_since = k.opened_on
           FROM carried_requests k WHERE k.request_id = r.id""",
    )

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Completed"
    assert [action for action, _ in await carrying.said(id)].count("Carried Out") == 1


async def test_sent_deletion_is_recognized_after_the_carrier_changed(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete")
    id = await a_removal(carrying, "delete9")
    await carrying.work()
    await execute(carrying.db, "UPDATE carrier_steps SET state = 'Sent', answer = ''")
    await execute(carrying.db, "UPDATE carried_requests SET state = 'Waiting'")
    await execute(
        carrying.db,
        """UPDATE access_requests r SET status = 'Open', status_since = k.opened_on
           FROM carried_requests k WHERE k.request_id = r.id""",
    )
    await carrying.put(directory.url, LDAP, onRemove="Delete", timeoutSeconds=30)

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Completed"
    said = [text for _, text in await carrying.said(id)]
    assert "Delete the account delete9: the account was already deleted" in said


async def test_verifying_import_is_repeated_until_it_finishes(carrying: Carrying, server: RestServer) -> None:
    refusals = [web.Response(status=404)]
    server.before = lambda _, __: refusals.pop() if refusals else None
    await carrying.source.put(server.url, CONTENTS["None"])
    await carrying.put(NOWHERE, LDAP)
    await execute(carrying.db, "UPDATE carriers SET unverified_on = %(now)s", now=NOON)
    runs = []

    for minutes in (1, 50, 62, 63, 200):
        clock.travel_to(NOON + timedelta(minutes=minutes))
        await carrying.work()
        await carrying.source.imports.work()
        runs.append([status for (status,) in await fetch_rows(carrying.db, _STATUSES)])

    assert runs == [["Failed"], ["Failed"], *[["Failed", "Finished"]] * 3]
    assert await fetch_value(carrying.db, "SELECT unverified_on FROM carriers") is None
