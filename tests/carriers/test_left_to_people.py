"""Test which requests a carrier leaves to people, and when a person gives one back to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_rows
from tests.access_requests.walking import done
from tests.carriers.carrying import LDAP, NOWHERE, Carrying, a_removal
from tests.carriers.test_ldap import account
from tests.sources.peers import Directory

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.travel_to(NOON)


async def test_requests_opened_while_the_carrier_was_off_are_not_taken_up(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(directory.url, LDAP, mode="Off")
    id = await carrying.request("Add", await carrying.person("off1"), gives=("Staff",))
    await carrying.work()
    clock.travel_to(NOON + timedelta(minutes=1))
    await carrying.put(directory.url, LDAP)

    await carrying.work()

    assert await carrying.said(id) == []
    assert account(directory, "off1") is None


async def test_person_gives_an_earlier_request_to_the_carrier(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, mode="Dry Run")
    id = await carrying.request("Add", await carrying.person("given1"), gives=("Staff",))
    await carrying.work()
    refused = await carrying.post("carry-out", accessRequestId=id)
    await carrying.put(directory.url, LDAP)

    given = await carrying.post("carry-out", accessRequestId=id)
    await carrying.work()

    assert (refused.status_code, given.status_code) == (409, 200)
    assert (await carrying.detail(id))["status"] == "Completed"
    assert (await carrying.post("carry-out", accessRequestId=id)).status_code == 409


async def test_request_to_an_unreachable_system_is_left_to_a_person_after_retries(carrying: Carrying) -> None:
    await carrying.put(NOWHERE, LDAP)
    id = await carrying.request("Add", await carrying.person("lost1"), gives=("Staff",))
    states: list[Any] = []
    for minutes in (0, 1, 3, 9):
        clock.travel_to(NOON + timedelta(minutes=minutes))
        await carrying.work()
        states += await fetch_rows(carrying.db, "SELECT state, attempts FROM carried_requests")

    assert states == [("Waiting", 1), ("Waiting", 2), ("Waiting", 3), ("Left", 3)]
    assert (await carrying.detail(id))["assignee"]["name"] == "Peter Naur"
    assert "no connection to the directory" in (await carrying.said(id))[0][1]


async def test_request_assigned_to_a_person_is_not_taken_up(carrying: Carrying) -> None:
    await carrying.put(NOWHERE, LDAP)
    id = await carrying.request("Add", await carrying.person("mine1"), gives=("Staff",))
    await done(carrying.client, id, "assign", assigneeId=carrying.cast.peter)

    await carrying.work()

    assert (await carrying.said(id))[0][1] == "The carrier left the request to a person: it is assigned to Peter Naur"


async def test_reopened_request_is_left_to_a_person(carrying: Carrying, directory: Directory, db: Db) -> None:
    await execute(db, "UPDATE applications SET priority = 'High'")
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Add", await carrying.person("again1"), gives=("Staff",))
    await carrying.work()
    clock.travel_to(NOON + timedelta(minutes=1))
    await done(carrying.client, id, "reopen")

    await carrying.work()

    assert "carried out and then reopened" in (await carrying.said(id))[-2][1]


async def test_waiting_request_is_left_to_a_person_when_the_carrier_is_switched_off(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(NOWHERE, LDAP)
    id = await a_removal(carrying, "delete7")
    await carrying.work()
    await carrying.put(NOWHERE, LDAP, mode="Off")
    await carrying.put(directory.url, LDAP)
    clock.travel_to(NOON + timedelta(minutes=1))

    await carrying.work()

    assert "the mode of the carrier was set to Off" in (await carrying.said(id))[0][1]
    assert account(directory, "delete7") is not None
    assert (await carrying.post("carry-out", accessRequestId=id)).status_code == 200


async def test_removed_carrier_leaves_its_requests_to_people(carrying: Carrying, directory: Directory) -> None:
    """A carrier that is set up later takes up only requests that open after that."""
    await carrying.put(NOWHERE, LDAP, removalsPerHour=2)
    ids = [await a_removal(carrying, name) for name in ("delete3", "delete4", "delete5")]
    await carrying.work()
    assert [len((await carrying.get())[state]) for state in ("waiting", "left")] == [2, 0]

    assert (await carrying.client.delete(carrying.path)).status_code == 204
    clock.travel_to(NOON + timedelta(minutes=5))
    await carrying.put(directory.url, LDAP)
    await carrying.work()

    assert ["the carrier was removed" in (await carrying.said(id))[-2][1] for id in ids] == [True] * 3
    assert [account(directory, f"delete{n}")["employeeType"] for n in (3, 4, 5)] == [["Yes"]] * 3  # type: ignore[index]


async def test_waiting_request_that_a_person_takes_over_is_left_to_them(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(NOWHERE, LDAP)
    id = await a_removal(carrying, "delete6")
    await carrying.work()
    await done(carrying.client, id, "assign", assigneeId=carrying.cast.peter)
    await carrying.put(directory.url, LDAP)
    clock.travel_to(NOON + timedelta(minutes=1))

    await carrying.work()

    assert "it was assigned to Peter Naur" in (await carrying.said(id))[0][1]
    assert account(directory, "delete6") is not None
