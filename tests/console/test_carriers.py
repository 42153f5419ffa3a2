"""Test the screen of a carrier: save it, show planned and sent steps, release held requests, remove it."""

from html import unescape
from urllib.parse import unquote
from uuid import UUID

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.carriers.carrying import LDAP, SCIM, Carrying, an_application_to_carry
from tests.sources.sourcing import allowing

URL = "http://127.0.0.1:9/scim/v2"


@pytest.fixture
def config(config: Config) -> Config:
    return allowing(config)


@pytest.fixture
async def carrying(client: httpx2.AsyncClient, db: Db, config: Config) -> Carrying:
    return await an_application_to_carry(client, db, config)


def form_of(settings: dict[str, object], **fields: str) -> dict[str, str]:
    texts = {name: value for name, value in settings.items() if isinstance(value, str)}
    return {"mode": "On", "stepsPerMinute": "60", "removalsPerHour": "20", "timeoutSeconds": "5", **texts, **fields}


async def page(browser: httpx2.AsyncClient, id: UUID) -> str:
    return unescape((await browser.get(f"/applications/{id}/carrier")).text)


async def test_application_links_to_its_carrier(administrator: httpx2.AsyncClient, carrying: Carrying) -> None:
    linked = (await administrator.get(f"/applications/{carrying.id}")).text
    empty = await page(administrator, carrying.id)

    assert f'href="/applications/{carrying.id}/carrier"' in linked
    assert "This application has no carrier. People carry out its requests." in empty


async def test_saved_carrier_is_shown_on_its_page(
    administrator: httpx2.AsyncClient, carrying: Carrying, db: Db
) -> None:
    attributes = {"attributes": '{"cn": "{firstName} {lastName}", "title": "{title}"}', "changedAttributes": "title"}
    fields = form_of(LDAP, url="ldap://127.0.0.1:9", objectClasses="inetOrgPerson, person", **attributes)

    saved = await administrator.post(f"/applications/{carrying.id}/carrier", data=fields)

    assert saved.status_code == 303, saved.text
    (stored,) = await fetch_rows(db, "SELECT definition FROM carriers")
    assert stored[0]["objectClasses"] == ["inetOrgPerson", "person"]
    assert stored[0]["attributes"] == {"cn": "{firstName} {lastName}", "title": "{title}"}
    shown = await page(administrator, carrying.id)
    assert "inetOrgPerson, person" in shown
    assert "directory secret" not in shown
    again = await administrator.post(f"/applications/{carrying.id}/carrier", data={**fields, "secretRef": "sealed"})
    assert again.status_code == 303


async def test_carrier_form_shows_problems_next_to_their_fields(
    administrator: httpx2.AsyncClient, carrying: Carrying
) -> None:
    fields = form_of(SCIM, url="http://elsewhere.example.com", accountName="{salary}", attributes="[")

    broken = await administrator.post(f"/applications/{carrying.id}/carrier", data=fields)
    wrong = await administrator.post(f"/applications/{carrying.id}/carrier", data={**fields, "attributes": ""})

    assert "Attributes must be a JSON object" in unescape(broken.text)
    assert wrong.status_code == 400
    assert "not in ROLECALL_SOURCE_HOSTS" in unescape(wrong.text)
    assert "{salary} is unknown" in unescape(wrong.text)


async def test_planned_steps_and_held_requests_are_shown_and_released(
    administrator: httpx2.AsyncClient, carrying: Carrying, db: Db
) -> None:
    await carrying.put(URL, SCIM, removalsPerHour=0)
    id = await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    planned = await page(administrator, carrying.id)
    await carrying.work()
    held = await page(administrator, carrying.id)

    released = await administrator.post(f"/applications/{carrying.id}/carrier/release", data={"accessRequestId": id})

    assert "Disable the account ada" in planned
    assert "Held by the brake" in held
    assert "a person must release the request" in held
    assert released.status_code == 303
    assert await fetch_value(db, "SELECT state FROM carried_requests") == "Waiting"
    assert "Held by the brake" not in await page(administrator, carrying.id)


async def test_request_can_be_given_to_the_carrier(
    administrator: httpx2.AsyncClient, carrying: Carrying, db: Db
) -> None:
    id = await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    await carrying.put(URL, SCIM)

    given = await administrator.post(f"/applications/{carrying.id}/carrier/carry-out", data={"accessRequestId": id})
    await carrying.work()

    assert given.status_code == 303
    assert "cannot be reached" in await page(administrator, carrying.id)


async def test_carrier_can_be_removed(administrator: httpx2.AsyncClient, carrying: Carrying, db: Db) -> None:
    await carrying.put(URL, SCIM)

    form = await page(administrator, carrying.id)
    removed = await administrator.post(f"/applications/{carrying.id}/carrier/remove")

    assert "Its settings and its stored secret are deleted" in form
    assert removed.status_code == 303
    assert await fetch_value(db, "SELECT count(*) FROM carriers") == 0


async def shown_request(browser: httpx2.AsyncClient, id: str) -> str:
    return " ".join(unescape((await browser.get(f"/requests/{id}")).text).split())


async def test_request_shows_the_carrier_instead_of_a_provisioner(
    administrator: httpx2.AsyncClient, carrying: Carrying
) -> None:
    by_hand = await carrying.request("Remove", await carrying.account("bob"), target_name="bob", privileges=[])
    await carrying.put(URL, SCIM)
    id = await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    taken = await shown_request(administrator, id)
    await carrying.work()
    waiting = await shown_request(administrator, id)

    earlier = await shown_request(administrator, by_hand)

    followed = unquote(taken.partition(f'data-stream="/requests/{id}/log?')[2].partition('"')[0])
    changed = await administrator.get(f"/requests/{id}/log?{followed}")

    assert followed == "shown=Open"
    assert "event: look" in changed.text
    assert "data-stream" not in earlier
    assert "The request is approved." in taken
    assert "Waiting for the carrier to provision it." in taken
    assert "<strong>The carrier</strong> provisions it" in taken
    assert "If it cannot make the change, the request is left to Peter Naur" in taken
    assert "cannot be reached" in waiting
    assert "Disable the account ada" in waiting
    assert "Waiting for Peter Naur to provision it." in earlier
    assert "Carry out request" in earlier


async def test_request_that_the_brake_holds_can_be_released_on_its_page(
    administrator: httpx2.AsyncClient, carrying: Carrying, db: Db
) -> None:
    await carrying.put(URL, SCIM, removalsPerHour=0)
    id = await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    await carrying.work()
    held = await shown_request(administrator, id)

    form = {"accessRequestId": id, "back": f"/requests/{id}"}
    released = await administrator.post(f"/applications/{carrying.id}/carrier/release", data=form)

    assert "Held by the brake" in held
    assert "Release request" in held
    assert released.headers["location"] == f"/requests/{id}"
    assert await fetch_value(db, "SELECT state FROM carried_requests") == "Waiting"


async def test_dry_run_is_shown_on_the_request(administrator: httpx2.AsyncClient, carrying: Carrying) -> None:
    await carrying.put(URL, SCIM, mode="Dry Run")
    id = await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    await carrying.work()

    shown = await shown_request(administrator, id)

    assert "Nothing was changed. The carrier would disable the account ada." in shown
    assert "Waiting for Peter Naur to provision it." in shown
    assert "Carry out request" not in shown
