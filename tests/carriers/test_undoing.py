"""Test that access which a carrier gave for a canceled request is taken back by another request."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from rolecall.core import clock
from rolecall.core.db import execute, fetch_rows, fetch_value
from tests.access_requests.walking import done
from tests.builders import an_identity
from tests.carriers.carrying import LDAP, NOWHERE, Carrying

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.travel_to(NOON)


async def a_begun_request(
    carrying: Carrying,
    action: str,
    person: UUID,
    gives: tuple[str, ...],
    sent: str,
    answer: str = "added",
    **fields: Any,
) -> str:
    """Create a request whose steps with the text `sent` were carried out before the connection was lost."""
    await carrying.put(NOWHERE, LDAP)
    id = await carrying.request(action, person, gives=gives, **fields)
    await carrying.work()
    changed = await execute(
        carrying.db,
        """UPDATE carrier_steps SET state = 'Done', answer = %(answer)s, sent_on = now()
           WHERE request_id = %(id)s AND step::text LIKE %(sent)s""",
        id=id,
        answer=answer,
        sent=f"%{sent}%",
    )
    assert changed
    return id


async def cancel(carrying: Carrying, id: str) -> list[tuple[Any, ...]]:
    """Cancel the request and let the worker work; return the further requests with their privileges."""
    await done(carrying.client, id, "cancel")
    await carrying.work()
    return await fetch_rows(
        carrying.db,
        """SELECT action, status, target_name, is_whole,
                  array(SELECT p.permission || ' ' || p.initial_access || ' ' || p.approved_access FROM privileges p
                        WHERE p.request_id = r.id)
           FROM access_requests r WHERE id <> %(id)s ORDER BY number""",
        id=id,
    )


async def test_membership_that_was_given_for_a_canceled_request_is_taken_back(carrying: Carrying) -> None:
    person = await carrying.account("half")
    id = await a_begun_request(carrying, "Add", person, ("Staff", "Clerks"), "Staff", target_name="half")

    made = await cancel(carrying, id)
    again = await cancel_again(carrying)

    assert made == [("Change", "Open", "half", False, ["Staff Grant None"])]
    assert again == 2, "the opposite request is made once"
    said = [text for action, text in await carrying.said(id) if action == "Canceled After Steps"]
    number = await fetch_value(carrying.db, "SELECT number FROM access_requests WHERE action = 'Change'")
    assert said == [
        "The carrier had already sent steps that give access (add half to the group Staff: added); "
        f"the request was canceled; access request #{number} takes the access back"
    ]
    states = "SELECT state FROM carried_requests WHERE request_id = %(id)s"
    assert await fetch_value(carrying.db, states, id=id) == "Left"
    assert await fetch_rows(carrying.db, "SELECT state FROM carrier_steps WHERE request_id = %(id)s", id=id) == [
        ("Done",)
    ]


async def cancel_again(carrying: Carrying) -> int:
    """Update canceled requests once more and let the worker work; return how many requests there are."""
    await execute(carrying.db, "UPDATE access_requests SET status_since = status_since WHERE status = 'Canceled'")
    await carrying.work()
    count: int = await fetch_value(carrying.db, "SELECT count(*) FROM access_requests")
    return count


async def test_request_that_a_carrier_left_to_a_person_is_taken_back_too(carrying: Carrying) -> None:
    person = await carrying.account("left")
    id = await a_begun_request(carrying, "Add", person, ("Staff", "Clerks"), "Staff", target_name="left")
    await carrying.put(NOWHERE, LDAP, mode="Off")
    assert (await carrying.client.delete(carrying.path)).status_code == 204

    assert await cancel(carrying, id) == [("Change", "Open", "left", False, ["Staff Grant None"])]


async def test_account_that_was_created_for_a_canceled_request_is_removed(carrying: Carrying) -> None:
    person = await carrying.person("fresh")
    id = await a_begun_request(carrying, "Add", person, ("Staff",), "Create Account", answer="created")

    assert await cancel(carrying, id) == [("Remove", "Open", "fresh", True, [])]


async def test_account_that_was_enabled_for_a_canceled_request_is_suspended(carrying: Carrying) -> None:
    person = await carrying.account("back", is_active=False, groups=("Staff",))
    suspended = await carrying.request("Suspend", person, target_name="back", privileges=[])
    await done(carrying.client, suspended, "resolve")
    fields = {"target_name": "back", "privileges": []}
    id = await a_begun_request(carrying, "Restore", person, (), "Enable Account", answer="enabled", **fields)

    made = await cancel(carrying, id)

    assert made[1:] == [("Suspend", "Open", "back", True, ["Staff Grant None"])]


async def test_access_that_others_gave_is_not_taken_back(carrying: Carrying) -> None:
    person = await carrying.account("kept")
    id = await a_begun_request(
        carrying, "Add", person, ("Staff", "Clerks"), "Clerks", answer="it was already a member", target_name="kept"
    )
    other = await a_begun_request(carrying, "Add", person, ("Staff",), "Staff", target_name="kept")
    await execute(carrying.db, "UPDATE carrier_steps SET state = 'Done', answer = 'added' WHERE state = 'Planned'")

    assert [row[0] for row in await cancel(carrying, id)] == ["Add"]
    assert "the access stays" in (await carrying.said(id))[-1][1]
    # The first request does not give the access any more.
    assert await cancel(carrying, other) != []
    assert await fetch_value(carrying.db, "SELECT count(*) FROM access_requests WHERE action = 'Change'") == 1


async def test_account_that_belongs_to_another_person_now_keeps_everything_else(carrying: Carrying) -> None:
    id = await a_begun_request(carrying, "Add", await carrying.person("swap"), ("Staff",), "%")
    bo = await an_identity(carrying.db, "Bo", "Boss")
    await carrying.account("swap", bo, groups=("Clerks",))

    assert await cancel(carrying, id) == [("Change", "Open", "swap", False, ["Staff Grant None"])]
    found = await fetch_value(carrying.db, "SELECT identity_id FROM access_requests WHERE action = 'Change'")
    assert found == bo


async def test_canceled_request_without_sent_steps_is_not_undone(carrying: Carrying) -> None:
    person = await carrying.account("unsent")
    await carrying.put(NOWHERE, LDAP)
    id = await carrying.request("Add", person, gives=("Staff",), target_name="unsent")
    await carrying.work()

    assert await cancel(carrying, id) == []
    assert await fetch_rows(carrying.db, "SELECT state, reason FROM carried_requests") == [
        ("Left", "the request was canceled")
    ]
    assert await fetch_rows(carrying.db, "SELECT FROM carrier_steps") == []
