"""Test that the page of a request offers the permitted actions and explains why others are unavailable."""

from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.permitted import NOT_INVOLVED, PROVISIONED_IT
from rolecall.console import actions as console
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.builders import an_access_request, an_application, an_identity
from tests.console.conftest import ORIGIN


@pytest.fixture
async def reviewer(administrator: httpx2.AsyncClient, db: Db) -> httpx2.AsyncClient:
    """Return a client that is signed in as a Reviewer; another person is the administrator."""
    grace = await an_identity(db, "Grace", "Hopper")
    await execute(db, "UPDATE console_roles SET role = 'Reviewer'")
    await execute(
        db,
        "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, 'Administrator', 'g@example.com')",
        id=grace,
    )
    return administrator


async def me(db: Db) -> UUID:
    id: UUID = await fetch_value(db, "SELECT identity_id FROM console_sessions")
    return id


async def test_reviewer_sees_why_actions_on_a_request_are_unavailable(reviewer: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_request(db, "Remove")
    page = f"/requests/{id}"

    shown = (await reviewer.get(page)).text
    for verb in ("cancel", "resolve", "assign"):
        answer = await reviewer.post(f"{page}/{verb}", headers={"Referer": f"{ORIGIN}{page}"})
        assert (answer.status_code, answer.headers["location"]) == (303, page)
    told = (await reviewer.get(page)).text

    for verb in ("cancel", "resolve", "assign", "snooze"):
        assert f'action="{page}/{verb}"' not in shown
    assert shown.count(NOT_INVOLVED) == 1
    assert told.count(NOT_INVOLVED) == 2
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Open"


async def test_person_who_resolved_a_request_is_not_offered_to_verify_it(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    own = await me(db)
    other = await an_identity(db, "Grace", "Hopper")
    await console.set_role(db, other, Role.ADMINISTRATOR, "grace@example.com")
    ledger = await an_application(db, "Ledger", priority="High", ownerId=str(own), provisionerIds=[str(own)])
    id = await an_access_request(db, "Remove", application_id=ledger)
    page = f"/requests/{id}"
    assert (
        f'action="{page}/resolve"' in (await administrator.get(page)).text
        or "Resolve <kbd>a" in (await administrator.get(page)).text
    )
    await administrator.post(f"{page}/resolve", headers={"Referer": f"{ORIGIN}{page}"})

    shown = (await administrator.get(page)).text
    inbox = (await administrator.get("/requests?asks=Verify")).text
    bulk = {"id": str(id), "type": "Verify", "response": "Approved"}
    await administrator.post("/requests/respond", data=bulk)
    told = (await administrator.get(page)).text

    assert f'action="{page}/verify"' not in shown
    assert 'name="response" value="Approved"' not in shown
    assert PROVISIONED_IT.partition(";")[0] in shown.replace("&#39;", "'")
    assert f"/requests/{id}" not in inbox
    assert f"unchanged: {PROVISIONED_IT}" in told
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Resolved"


async def test_message_after_a_request_was_sent_names_who_must_act_next(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    grace = await an_identity(db, "Grace", "Hopper")
    await an_identity(db, "Bob", "Stone", supervisorId=str(await me(db)))
    ledger = await an_application(db, "Ledger", provisionerIds=[str(grace)])
    form = {"action": "Remove", "applicationId": str(ledger), "identityId": "Bob Stone"}

    sent = await administrator.post("/requests/new", data=form)
    told = (await administrator.get(sent.headers["location"])).text

    assert "Request #1 was sent. It waits for Grace Hopper to provision it" in told
