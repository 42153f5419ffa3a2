"""Test carrying out and verifying requests on the SCIM server of the sample company."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.demo import live
from rolecall.demo.people import Employee, roster
from rolecall.demo.scim_peer import ScimPeer, serving
from tests.access_requests.walking import a_cast
from tests.builders import ADA, facts
from tests.carriers.carrying import Carrying


@pytest.fixture
def people() -> list[Employee]:
    return [person for person in roster(facts().now.date()) if person.department == "Accounting"]


@pytest.fixture
def peer(tmp_path: Path, people: list[Employee]) -> Iterator[ScimPeer]:
    with serving(ScimPeer(tmp_path / "peer.json")) as peer:
        live.fill(peer, people, people[2])
        yield peer


@pytest.fixture
async def carrying(client: httpx2.AsyncClient, db: Db, config: Config, peer: ScimPeer) -> Carrying:
    cast = await a_cast(db)
    people = {"ownerId": cast.grace, "provisionerIds": [cast.peter]}
    async with db.transaction():
        id = await live.create(db, ADA, people, peer, facts(), config)
    return Carrying(client, db, config, id, cast)


async def test_request_is_carried_out_and_verified(carrying: Carrying, peer: ScimPeer, people: list[Employee]) -> None:
    asker = people[2]
    person = await carrying.person("asker", email=asker.email)
    id = await carrying.request("Add", person, gives=(live.GROUP,))

    await carrying.work_on_everything()

    detail = await carrying.detail(id)
    assert detail["status"] == "Completed", detail["activity"]
    assert "shows the requested access" in detail["activity"][-1]["content"]
    assert asker.username in [user["userName"] for user in peer.state.resources["Users"].values()]


async def test_account_is_suspended_restored_and_changed(
    carrying: Carrying, peer: ScimPeer, people: list[Employee]
) -> None:
    name = people[1].username
    person = await carrying.account(name, groups=(live.GROUP,))

    def user() -> dict[str, object] | None:
        return next((each for each in peer.state.resources["Users"].values() if each["userName"] == name), None)

    def members() -> set[str]:
        (group,) = peer.state.resources["Groups"].values()
        return {each["display"] for each in group["members"]}

    for action, active in (("Suspend", False), ("Restore", True)):
        await carrying.request(action, person, target_name=name, privileges=[])
        await carrying.work()
        assert (user() or {}).get("active") is active
    await carrying.request("Change", person, takes=(live.GROUP,), target_name=name)
    await carrying.work()
    assert name not in members()


async def test_sample_server_keeps_its_resources_and_requires_its_token(peer: ScimPeer, tmp_path: Path) -> None:
    again = ScimPeer(tmp_path / "peer.json")

    assert again.state == peer.state
    assert httpx2.get(f"{peer.url}/Users").status_code == 401
