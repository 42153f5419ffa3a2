"""Connect an application to a live source in a browser, and follow a request until it is verified."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from playwright.async_api import expect

from rolecall.access_requests.model import NewPrivilege
from rolecall.core.db import Db
from rolecall.demo import live
from rolecall.demo.people import Employee, roster
from rolecall.demo.scim_peer import ScimPeer, serving
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.console.browser.conftest import Visit
from tests.console.browser.test_wizard import shoot

CONTENTS = {"Users": {"path": "Users"}, "Memberships": {"path": "Groups", "each": "members"}}
ATTRIBUTES = {"displayName": "{firstName} {lastName}", "emails[type=work].value": "{email}"}


@pytest.fixture
def people() -> list[Employee]:
    return [person for person in roster(facts().now.date()) if person.department == live.GROUP]


@pytest.fixture
def peer(tmp_path: Path, people: list[Employee]) -> Iterator[ScimPeer]:
    with serving(ScimPeer(tmp_path / "peer.json")) as peer:
        live.fill(peer, people, people[2])
        yield peer


async def fill(visit: Visit, **fields: str) -> None:
    for name, text in fields.items():
        control = visit.page.locator(f"main #{name}")
        if await control.evaluate("each => each.tagName") == "SELECT":
            await control.select_option(text)
        else:
            await control.fill(text)


async def connect(visit: Visit, id: UUID, peer: ScimPeer, username: str) -> None:
    """Set up the source, first with a wrong secret, and the carrier; then import the data."""
    access = {"kind": "SCIM", "url": peer.url, "authentication": "Bearer"}
    await visit.go(f"/applications/{id}/source")
    await fill(visit, **access, secret="wrong", contents=msgspec.json.encode(CONTENTS).decode())
    await visit.press("Save source")
    await visit.sees("The source was saved.")
    await visit.press("Test connection")
    await visit.sees("the server refuses the credentials (401)")
    await shoot(visit.page, "source-fails")
    await fill(visit, secret=peer.state.token)
    await visit.press("Save source")
    await visit.sees("The source was saved.")
    await visit.press("Test connection")
    await visit.sees("Works")
    await visit.sees(username)
    await shoot(visit.page, "source-works")
    await visit.go(f"/applications/{id}/carrier")
    await fill(visit, **access, mode="On", secret=peer.state.token, accountName="{email|local}")
    await fill(visit, attributes=msgspec.json.encode(ATTRIBUTES).decode())
    await visit.press("Save carrier")
    await visit.sees("The carrier was saved.")
    await visit.go(f"/applications/{id}")
    await visit.press("Fetch now")
    await expect(visit.page.locator(".status.finished")).to_be_visible()


async def test_application_is_connected_and_a_request_is_verified(
    scripted: Visit, site_db: Db, peer: ScimPeer, people: list[Employee]
) -> None:
    me, boss = scripted.site.company.administrator, scripted.site.company.ids["people"]
    fields = {"connector": live.CONNECTOR, "ownerId": str(me), "provisionerIds": [str(boss)]}
    id = await an_application(site_db, live.NAME, **fields)
    await connect(scripted, id, peer, people[0].username)
    page, new = scripted.page, people[2]
    person = await an_identity(site_db, new.first, new.last, email=new.email, supervisorId=str(me))
    group = [NewPrivilege(header="Group", permission=live.GROUP)]
    request = await an_access_request(site_db, application_id=id, identity_id=person, privileges=group)

    await scripted.go(f"/requests/{request}")
    await scripted.sees("No person has to provision it.")
    await shoot(page, "request-pending")
    await scripted.press("Approve")

    # The page refreshes itself while the carrier works.
    await expect(page.get_by_text("Proven", exact=True).first).to_be_visible()
    await scripted.sees("The carrier made the change in Team Chat")
    await scripted.sees(f"Create the account {new.username}")
    await scripted.sees("shows the requested access")
    await expect(page.locator(".status.completed").first).to_be_visible()
    await shoot(page, "request-proven")
