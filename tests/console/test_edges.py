"""Test details of screens: the actions and problems that they show, confirmations and dates."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2
import msgspec
import pytest

from rolecall.console import actions as console
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.asgi import a_service
from tests.builders import an_application, an_identity, an_import, facts
from tests.console.conftest import ORIGIN
from tests.console.pages import filled, forms_of

HELD = "it would remove 90 of 100 accounts, more than 20 %"


async def troubled(administrator: httpx2.AsyncClient) -> int:
    page = (await administrator.get("/")).text
    (count,) = re.findall(r'only=troubled" class="[^"]*"><strong>(\d+)</strong>', page)
    listed = len(re.findall(r'href="/imports/[0-9a-f-]{36}"', (await administrator.get("/imports?only=troubled")).text))
    assert listed == int(count)
    return listed


async def test_failed_imports_are_counted_until_the_application_has_a_success(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    payroll, crm = await an_application(db, "Payroll"), await an_application(db, "CRM")
    for application in (payroll, payroll, crm):
        await an_import(db, application, "Failed")
    assert await troubled(administrator) == 3

    await an_import(db, payroll, "Canceled")
    assert await troubled(administrator) == 3
    await an_import(db, payroll, "Finished")
    assert await troubled(administrator) == 1
    await an_import(db, payroll, "Failed")
    assert await troubled(administrator) == 2


async def test_continuing_a_held_import_asks_for_confirmation_with_the_reason(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    run = await an_import(db, status="Running")
    await execute(db, "INSERT INTO import_runs (import_id, held) VALUES (%(id)s, %(held)s)", id=run, held=HELD)

    page = unescape((await administrator.get(f"/imports/{run}")).text)

    (question,) = re.findall(r'<div id="continue" popover role="dialog".*?</div>', page, re.DOTALL)
    assert HELD in question
    assert "The import is applied without the guard" in question
    assert f'action="/imports/{run}/continue"' in question
    assert page.count(f'action="/imports/{run}/continue"') == 1
    assert '<button class="second" type="button" popovertarget="continue">Continue anyway</button>' in page


@pytest.mark.parametrize(("status", "offered"), [("Active", True), ("Disabled", False), ("Removed", False)])
async def test_events_are_offered_only_for_active_people(
    administrator: httpx2.AsyncClient, db: Db, status: str, offered: bool
) -> None:
    person = await an_identity(db)
    await execute(db, "UPDATE identities SET status = %(status)s WHERE id = %(id)s", status=status, id=person)

    page = unescape((await administrator.get(f"/identities/{person}")).text)

    for type in ("Offboard", "Absence", "Role%20Transition"):
        assert (f"/events/new?type={type}&identityId={person}" in page) is offered
    assert f"/requests/new?identityId={person}" in page


async def test_inactive_since_is_the_effective_date_in_the_time_zone_of_the_service(config: Config, db: Db) -> None:
    """In time zones east of UTC, midnight is on the previous day in UTC."""
    person = await an_identity(db)
    away = msgspec.structs.replace(config, base_url=ORIGIN, timezone=config.timezone.__class__("Asia/Tokyo"))
    since = datetime(2026, 11, 14, 15, tzinfo=UTC)
    assert since.astimezone(away.timezone).isoformat() == "2026-11-15T00:00:00+09:00"
    await execute(
        db,
        "UPDATE identities SET status = 'Disabled', inactivated_date = %(since)s WHERE id = %(id)s",
        since=since,
        id=person,
    )
    async with a_service(away) as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as browser:
            link = await console.create_administrator(db, "ada.admin@example.com", facts())
            await browser.post(f"/sign-in/{link}")
            page = (await browser.get(f"/identities/{person}")).text

    assert '<dt>Inactive since</dt><dd><time datetime="2026-11-15">15 Nov 2026</time></dd>' in page


async def test_role_transition_can_remove_the_supervisor(
    administrator: httpx2.AsyncClient, db: Db, client: httpx2.AsyncClient
) -> None:
    boss = await an_identity(db, "Charles", "Babbage")
    person = await an_identity(db, supervisorId=str(boss))
    url = f"/events/new?type=Role%20Transition&identityId={person}"
    page = (await administrator.get(url)).text
    assert 'name="noSupervisor"' in page
    form = next(form for form in forms_of(url, page) if form.action == "/events/new")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()

    data = filled(form, None, {"effectiveDate": tomorrow}) | {"noSupervisor": "yes"}
    answer = await administrator.post("/events/new", data=data)

    assert answer.status_code == 303, answer.text
    event = await fetch_value(db, "SELECT id FROM personnel_events WHERE identity_id = %(id)s", id=person)
    shown = (await client.get(f"/api/personnel-events/{event}")).json()["affectedIdentity"]
    assert shown["supervisorName"] == ""


async def test_event_says_when_its_requests_are_created(administrator: httpx2.AsyncClient, db: Db) -> None:
    person = await an_identity(db, "Lea", "Ver")
    day = (datetime.now(UTC) + timedelta(days=60)).date()

    form = {"type": "Offboard", "identityId": str(person), "effectiveDate": day.isoformat()}
    made = await administrator.post("/events/new", data=form)
    page = unescape((await administrator.get(made.headers["location"])).text)

    assert re.search(r"Offboard is scheduled. Its requests are created on \d+ \w+ \d{4}\.", page)
    assert "The requests of this event are created on" in page


async def test_stand_in_is_shown_with_the_dates_that_were_entered(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Stan", "Din", email="stan@example.com")
    day = (datetime.now(UTC) + timedelta(days=9)).date().isoformat()

    await administrator.post("/stand-ins", data={"standInId": "stan@example.com", "endsOn": day})
    page = (await administrator.get("/stand-ins")).text

    assert f'<time datetime="{day}">' in page
