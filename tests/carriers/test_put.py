"""Test setting, reading, previewing and removing the carrier of an application over HTTP."""

from typing import Any

import httpx2
import pytest

from rolecall.core.caller import Scope
from rolecall.core.db import Db, fetch_rows
from tests.builders import a_token, an_application
from tests.carriers.carrying import LDAP, SCIM, Carrying

URL = "http://127.0.0.1:9/scim/v2"
DIRECTORY = "ldap://127.0.0.1:9"


async def test_carrier_is_shown_without_its_secret(carrying: Carrying, db: Db) -> None:
    shown = await carrying.put(URL, SCIM, mode="dry run", removalsPerHour=5)

    assert (shown["mode"], shown["secretRef"], shown["removalsPerHour"]) == ("Dry Run", "sealed", 5)
    assert "scim-token" not in str(shown)
    assert await fetch_rows(db, "SELECT name, host FROM source_secrets") == [("carrier", "http://127.0.0.1:9")]
    audited = str((await carrying.client.get("/api/audit-events")).json())
    assert "removalsPerHour" in audited
    assert "scim-token" not in audited


async def test_carrier_is_off_unless_its_mode_is_set(carrying: Carrying) -> None:
    answer = await carrying.client.put(carrying.path, json={"url": URL, **SCIM})

    assert answer.json()["mode"] == "Off"


async def test_carrier_is_removed_with_its_secret(carrying: Carrying, db: Db) -> None:
    await carrying.put(URL, SCIM)

    removed = await carrying.client.delete(carrying.path)

    assert removed.status_code == 204
    assert (await carrying.client.get(carrying.path)).status_code == 404
    assert (await carrying.client.delete(carrying.path)).status_code == 404
    assert await fetch_rows(db, "SELECT * FROM source_secrets") == []


async def test_secrets_of_source_and_carrier_are_kept_apart(carrying: Carrying, db: Db) -> None:
    source = {"kind": "REST", "url": "http://127.0.0.1:9/", "contents": {"Users": {"path": "x"}}}
    await carrying.client.put(carrying.source.path, json={**source, "authentication": "Bearer", "secret": "reads"})
    await carrying.put(URL, SCIM)
    await carrying.client.delete(carrying.source.path)

    assert await fetch_rows(db, "SELECT name FROM source_secrets") == [("carrier",)]


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("a host that is not listed", {**SCIM, "url": "https://idp.example.com/"}, "url", "not in ROLECALL_SOURCE_HOSTS"),
    ("a kind that only sources have", {**SCIM, "kind": "REST"}, "kind", "must be one of"),
    ("an unknown field", {**SCIM, "accountName": "{salary}"}, "accountName", "{salary} is unknown"),
    ("an unknown form", {**SCIM, "accountName": "{email|rot13}"}, "accountName", "|rot13 is unknown"),
    ("an open brace", {**SCIM, "accountName": "{email"}, "accountName", "Braces must enclose"),
    ("a password", {**SCIM, "attributes": {"userPassword": "x"}}, "attributes", "looks like a secret"),
    ("a key of LDAP", {**SCIM, "memberAttribute": "member"}, "memberAttribute", "SCIM does not use"),
    ("a key of SCIM", {**LDAP, "authentication": "Bearer"}, "authentication", "LDAP does not use"),
    ("a missing path", {**LDAP, "groupsPath": ""}, "groupsPath", "LDAP needs groupsPath"),
    ("an attribute without value", {**SCIM, "changedAttributes": ["x"]}, "changedAttributes", "not among"),
    (
        "a second name",
        {**SCIM, "attributes": {"USERNAME": "{email}"}, "changedAttributes": []},
        "attributes",
        "accountName",
    ),
    (
        "a way around the brake",
        {**SCIM, "attributes": {"active": "false"}, "changedAttributes": ["active"]},
        "changedAttributes",
        "so a Change must not set it",
    ),
    ("no secret", {**SCIM, "secret": None}, "secretRef", "Enter the secret, or a secret reference such as env:"),
    ("a negative limit", {**SCIM, "removalsPerHour": -1}, "removalsPerHour", "at least 0"),
]


@pytest.mark.parametrize(("body", "field", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_invalid_field_is_reported(carrying: Carrying, body: dict[str, Any], field: str, message: str) -> None:
    answer = await carrying.client.put(
        carrying.path, json={"url": DIRECTORY if body["kind"] == "LDAP" else URL, **body}
    )

    assert answer.status_code == 400
    assert [(each["field"], message in each["message"]) for each in answer.json()["errors"]] == [(field, True)]


async def test_identity_source_cannot_have_a_carrier(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, "HR", isIdentitySource=True)

    answer = await client.put(f"/api/applications/{id}/carrier", json={"url": URL, **SCIM})

    assert "cannot have a carrier" in answer.json()["errors"][0]["message"]


async def test_application_with_a_carrier_cannot_become_an_identity_source(carrying: Carrying) -> None:
    await carrying.put("ldap://127.0.0.1:1", LDAP)

    answer = await carrying.client.patch(f"/api/applications/{carrying.id}", json={"isIdentitySource": True})

    assert answer.status_code == 400
    assert "cannot have a carrier" in answer.json()["errors"][0]["message"]


async def test_preview_shows_the_steps_and_sends_nothing(carrying: Carrying) -> None:
    await carrying.put(URL, SCIM, mode="Off")
    person = await carrying.account("ada", groups=("Staff", "Clerks"))
    id = await carrying.request("Change", person, gives=("Auditors",), takes=("Staff",), target_name="ada")

    shown = await carrying.post("preview", accessRequestId=id)

    assert shown.json() == {
        "accessRequestId": id,
        "steps": ["change the account ada", "add ada to the group Auditors", "remove ada from the group Staff"],
        "removals": 1,
        "reason": None,
    }


async def test_preview_explains_why_a_person_must_act(carrying: Carrying) -> None:
    await carrying.put(URL, SCIM)
    id = await carrying.request("Add", await carrying.person("ada", email=""), gives=("Staff",))

    shown = (await carrying.post("preview", accessRequestId=id)).json()

    assert (shown["steps"], "the person has no email" in shown["reason"]) == ([], True)


async def test_request_of_another_application_is_not_found(carrying: Carrying, db: Db) -> None:
    await carrying.put(URL, SCIM)
    other = Carrying(carrying.client, db, carrying.config, await an_application(db, "Other"), carrying.cast)
    id = await other.request("Add", await carrying.person("ada"), gives=("Staff",))

    for verb in ("preview", "carry-out"):
        assert (await carrying.post(verb, accessRequestId=id)).status_code == 404


async def test_preview_and_carry_out_also_need_the_scopes_of_requests(carrying: Carrying, db: Db) -> None:
    await carrying.put(URL, SCIM)
    token = await a_token(db, "configures", scopes=[Scope.CONFIG_MANAGE])
    carrying.client.headers["Authorization"] = f"Bearer {token.secret}"

    answers = [await carrying.post(verb, accessRequestId=str(carrying.id)) for verb in ("preview", "carry-out")]

    assert [answer.status_code for answer in answers] == [403, 403]
