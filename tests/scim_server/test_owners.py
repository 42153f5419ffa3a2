"""Test that SCIM tokens record who created them, and that they stay valid, with a warning, when that person leaves."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from rolecall.console.attention import push_tokens_to_look_at
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.operate import doctor
from rolecall.operate.check_results import CheckResult, CheckState
from rolecall.scim_server.actions import create_push_token
from rolecall.scim_server.health import tokens_of_leavers
from tests.builders import a_token, an_identity, facts, own_tokens
from tests.scim_server.pushing import Pushing, a_push

LEAVES = "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s"


async def _owners(client: httpx2.AsyncClient, push: Pushing) -> dict[str, Any]:
    detail = (await client.get(f"/api/applications/{push.id}/scim")).json()
    return {each["name"]: (each["owner"], each["hasOwnerLeft"]) for each in detail["tokens"]}


async def _checked(db: Db, config: Config) -> CheckResult:
    return next(each for each in await doctor.examine(db, config) if each.check == "SCIM tokens")


async def _warned(db: Db) -> list[tuple[int, str, str]]:
    return [(each.count, each.label, each.address) for each in await push_tokens_to_look_at(db, clock.now())]


async def test_token_belongs_to_the_person_who_created_it_directly_or_with_an_api_token(
    client: httpx2.AsyncClient, db: Db, push: Pushing
) -> None:
    ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")
    hers, nobodys = await a_token(db, "hers", owner=grace), await a_token(db, "nobody's")
    for name, caller in (("by Ada", ada), ("by a token", hers.id), ("by a program", nobodys.id)):
        await create_push_token(db, Caller(caller, "Somebody", frozenset(Scope)), push.id, {"name": name}, facts())

    assert await _owners(client, push) == {
        "Okta": (None, False),
        "by Ada": ({"id": str(ada), "name": "Ada Lovelace"}, False),
        "by a token": ({"id": str(grace), "name": "Grace Hopper"}, False),
        "by a program": (None, False),
    }
    entries = (await client.get("/api/audit-events")).json()["items"]
    assert str(ada) in str(next(each for each in entries if "scimToken.by Ada" in str(each)))


async def test_push_goes_on_with_a_warning_when_the_owner_of_its_token_leaves(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada = await an_identity(db)
    await own_tokens(db, ada)
    push = await a_push(client, db)
    assert (await _checked(db, config), await _warned(db)) == (
        CheckResult("SCIM tokens", CheckState.OK, "no valid SCIM token was created by a person who left"),
        [],
    )
    await own_tokens(db, await an_identity(db, "Grace", "Hopper"))

    await execute(db, LEAVES, id=ada)

    assert (await push.send("POST", "Users", {"userName": "bob"})).status_code == 201
    assert await _owners(client, push) == {"Okta": ({"id": str(ada), "name": "Ada Lovelace"}, True)}
    checked = await _checked(db, config)
    assert checked.state is CheckState.WARNING
    assert checked.detail == (
        "created by people who left, who may still know the secrets: Payroll: Okta by Ada Lovelace"
    )
    assert checked.advice.startswith("create another token (`rolecall source create-token")
    assert await _warned(db) == [(1, "SCIM tokens of people who left: Payroll", f"/applications/{push.id}/source")]


async def test_one_warning_names_the_first_applications(client: httpx2.AsyncClient, db: Db) -> None:
    pushes = {name: await a_push(client, db, name) for name in ("Wiki", "Tracker", "Payroll", "Chat")}
    again = await client.post(f"/api/applications/{pushes['Chat'].id}/scim/tokens", json={"name": "Entra"})
    assert again.status_code == 201
    await _departed(db)

    label = "SCIM tokens of people who left: Chat, Payroll, Tracker and 1 more"
    assert await _warned(db) == [(5, label, f"/applications/{pushes['Chat'].id}/source")]


async def _departed(db: Db) -> None:
    """Make a person who left the owner of all SCIM tokens."""
    ada = await an_identity(db)
    await execute(db, "UPDATE scim_tokens SET owner_id = %(id)s", id=ada)
    await execute(db, LEAVES, id=ada)


ENDED = {
    "revoked": "UPDATE scim_tokens SET revoked_at = now()",
    "expired": "UPDATE scim_tokens SET expires_at = now()",
    "of an archived application": "UPDATE applications SET is_archived = true",
    "without a known owner": "UPDATE scim_tokens SET owner_id = NULL",
    "of a person who came back": "UPDATE identities SET status = 'Active'",
}


@pytest.mark.parametrize("case", ENDED)
async def test_only_valid_tokens_of_people_who_left_are_reported(db: Db, push: Pushing, case: str) -> None:
    await _departed(db)
    assert [each.name for each in await tokens_of_leavers(db, clock.now())] == ["Okta"]

    await execute(db, ENDED[case])

    assert await tokens_of_leavers(db, clock.now() + timedelta(seconds=1)) == []
