"""Test which actions people cannot take on requests and events about themselves."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import permitted
from rolecall.access_requests import queries as requests
from rolecall.console import actions as console
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from rolecall.personnel_events import actions as events
from rolecall.personnel_events import permitted as event_rules
from tests.builders import an_access_request, an_identity
from tests.console.conftest import ORIGIN


async def me(db: Db) -> UUID:
    id: UUID = await fetch_value(db, "SELECT identity_id FROM console_roles")
    return id


async def status_of(db: Db, table: str, id: UUID) -> str:
    return str(await fetch_value(db, f"SELECT status FROM {table} WHERE id = %(id)s", id=id))


async def post(browser: httpx2.AsyncClient, page: str, verb: str, **form: str) -> str:
    """Send a form and return the page that follows."""
    answer = await browser.post(f"{page}/{verb}", data=form, headers={"Referer": f"{ORIGIN}{page}"})
    assert answer.headers["location"] == page
    return (await browser.get(page)).text


async def test_person_cannot_cancel_or_snooze_a_request_that_others_made_about_them(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    id = await an_access_request(db, "Remove", identity_id=await me(db))
    await execute(db, "UPDATE access_requests SET status = 'Open' WHERE id = %(id)s", id=id)
    page = f"/requests/{id}"

    shown = (await administrator.get(page)).text
    canceled = await post(administrator, page, "cancel")
    snoozed = await post(administrator, page, "snooze", until="2099-01-01")

    assert f"{permitted.REPORTED_BY_OTHERS}.</p>" in shown
    assert f'action="{page}/cancel"' not in shown
    assert f'action="{page}/snooze"' not in shown
    for said in (canceled, snoozed):
        assert said.count(permitted.REPORTED_BY_OTHERS) == 2
    assert await status_of(db, "access_requests", id) == "Open"


@pytest.mark.parametrize(
    ("reports", "is_affected", "words"),
    [
        (True, False, "You made this request, so another person must decide."),
        (False, True, "This request affects you, so another person must decide."),
        (True, True, "You made this request, which affects you, so another person must decide."),
    ],
)
async def test_page_of_an_own_request_says_why_another_person_must_decide(
    administrator: httpx2.AsyncClient, db: Db, *, reports: bool, is_affected: bool, words: str
) -> None:
    affected: dict[str, Any] = {"identity_id": await me(db)} if is_affected else {}
    id = await an_access_request(db, **affected)
    if reports:
        await execute(db, "UPDATE access_requests SET reporter_id = %(me)s WHERE id = %(id)s", me=await me(db), id=id)

    assert words in (await administrator.get(f"/requests/{id}")).text


async def test_person_can_cancel_their_own_requests_and_requests_about_others(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    mine = await an_access_request(db, identity_id=await me(db))
    await execute(db, "UPDATE access_requests SET reporter_id = identity_id WHERE id = %(id)s", id=mine)
    others = await an_access_request(db)

    for id in (mine, others):
        assert f'action="/requests/{id}/cancel"' in (await administrator.get(f"/requests/{id}")).text
        await post(administrator, f"/requests/{id}", "cancel")
        assert (await requests.get(db, id)).status == "Canceled"


async def test_person_cannot_cancel_their_own_offboarding(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    ada = await me(db)
    grace = await an_identity(db, "Grace", "Hopper")
    await console.set_role(db, grace, Role.ADMINISTRATOR, "grace@example.com")
    body = {"identityId": str(ada), "effectiveDate": "2099-01-01"}
    known = Facts(now=facts.now, zone=facts.zone, approval_lead_days=7)
    theirs = await events.offboard(db, Caller(UUID(int=7), "API Token - hr", frozenset()), body, known)
    own = await events.offboard(db, Caller(ada, "Ada Admin", frozenset()), body, known)

    shown = (await administrator.get(f"/events/{theirs}")).text
    said = await post(administrator, f"/events/{theirs}", "cancel")
    await post(administrator, f"/events/{own}", "cancel")

    assert f"{event_rules.REPORTED_BY_OTHERS}.</p>" in shown
    assert f'action="/events/{theirs}/cancel"' not in shown
    assert said.count(event_rules.REPORTED_BY_OTHERS) == 2
    assert await status_of(db, "personnel_events", theirs) == "Scheduled"
    assert await status_of(db, "personnel_events", own) == "Canceled"


async def test_person_cannot_set_the_return_date_of_their_own_leave(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    ada = await me(db)
    body = {"identityId": str(ada), "effectiveDate": "2099-01-01"}
    known = Facts(now=facts.now, zone=facts.zone, approval_lead_days=7)
    leave = await events.begin_absence(db, Caller(UUID(int=7), "API Token - hr", frozenset()), body, known)

    shown = (await administrator.get(f"/events/{leave}")).text
    said = await post(administrator, f"/events/{leave}", "return-date", endDate="2099-02-01")

    assert f"{event_rules.OWN_LEAVE}.</p>" in shown
    assert f'action="/events/{leave}/return-date"' not in shown
    assert said.count(event_rules.OWN_LEAVE) == 2
    assert await fetch_value(db, "SELECT needed_until FROM personnel_events") is None


async def test_person_cannot_assign_a_request_about_themselves_to_themselves(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await an_identity(db, "Other", "Admin")
    own = await an_access_request(db, identity_id=await me(db))
    other = await an_access_request(db)

    shown = [(await administrator.get(f"/requests/{id}")).text for id in (own, other)]
    said = await post(administrator, f"/requests/{own}", "assign")

    assert ["Assign to me" in page for page in shown] == [False, True]
    assert "another person must carry it out" in said
    assert await fetch_value(db, "SELECT assignee_id FROM access_requests WHERE id = %(id)s", id=own) is None
