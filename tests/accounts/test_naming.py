"""Permissions and groups by names in other letters' case, in requests and in access models."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute
from tests.builders import an_application, an_identity
from tests.holdings import an_account

REQUESTS, MODELS = "/api/access-requests", "/api/access-models"
# As the application has them; the last two differ in case alone.
HELD = (("Books", "Post", "Modify", "High"), ("Books", "Read", "Grant", "None"), ("Books", "read", "Grant", "None"))


@pytest.fixture
async def ledger(db: Db) -> UUID:
    application = await an_application(db)
    ada = await an_identity(db, "Ada", supervisorId=str(await an_identity(db, "Grace")))
    await an_account(db, application, "ada01", ada, groups=("Clerks", "Auditors", "auditors"), permissions=HELD)
    return application


async def asked(client: httpx2.AsyncClient, application: UUID, *names: tuple[str, str]) -> httpx2.Response:
    people = (await client.get("/api/identities/search", params={"q": "Ada"})).json()["items"]
    privileges = [{"header": header, "permission": permission, "access": "Grant"} for header, permission in names]
    body = {"action": "Change", "applicationId": str(application), "identityId": people[0]["id"]}
    return await client.post(REQUESTS, json={**body, "privileges": privileges})


def told(answer: httpx2.Response) -> list[tuple[str, str, str]]:
    assert answer.status_code == 201, answer.text
    return [
        (each["permission"]["header"], each["permission"]["permission"], each["initialAccess"])
        for each in answer.json()["target"]["privileges"]
    ]


async def test_a_request_means_what_exists_in_other_case(client: httpx2.AsyncClient, ledger: UUID) -> None:
    answer = await asked(client, ledger, ("BOOKS", "post"), ("group", "CLERKS"), ("books", "Void"))

    assert told(answer) == [("Books", "Post", "Modify"), ("Group", "Clerks", "Grant"), ("books", "Void", "None")]


async def test_an_exact_spelling_wins_and_of_several_none_is_meant(client: httpx2.AsyncClient, ledger: UUID) -> None:
    groups = [("Group", "auditors"), ("Group", "AUDITORS")]

    answer = await asked(client, ledger, ("Books", "read"), ("Books", "Read"), ("Books", "READ"), *groups)

    assert told(answer) == [
        ("Books", "read", "Grant"),
        ("Books", "Read", "Grant"),
        ("Books", "READ", "None"),
        ("Group", "auditors", "Grant"),
        ("Group", "AUDITORS", "None"),
    ]


async def test_what_is_gone_is_not_meant(client: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    await execute(
        db,
        """UPDATE permission_versions SET until_import = from_import + 1
           WHERE permission_number = (SELECT number FROM permissions WHERE permission = 'read')""",
    )

    assert told(await asked(client, ledger, ("Books", "READ"))) == [("Books", "Read", "Grant")]


async def test_other_applications_spell_for_themselves(client: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    other = await an_application(db, "Other")

    assert told(await asked(client, other, ("BOOKS", "post"))) == [("BOOKS", "post", "None")]


async def test_two_spellings_of_one_permission_name_it_twice(client: httpx2.AsyncClient, ledger: UUID) -> None:
    answer = await asked(client, ledger, ("Books", "Post"), ("Books", "POST"))

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "privileges", "message": "Privileges must name each permission once"}]


async def test_a_group_that_is_the_target_is_spelled_as_stored(client: httpx2.AsyncClient, ledger: UUID) -> None:
    body = {"action": "Change", "applicationId": str(ledger), "group": "clerks"}
    answer = await client.post(REQUESTS, json={**body, "privileges": [{"header": "Books", "permission": "Post"}]})

    assert (answer.status_code, answer.json()["target"]["name"]) == (201, "Clerks")


async def test_approved_access_names_a_privilege_as_it_was_asked_for(client: httpx2.AsyncClient, ledger: UUID) -> None:
    request = (await asked(client, ledger, ("BOOKS", "post"), ("Books", "Void"))).json()
    reviewer = request["requirements"][0]["rules"][0]["responses"][0]["reviewer"]["id"]
    body = {"type": "Approve", "response": "Approved", "reviewerId": reviewer}
    lowered = {"header": "BOOKS", "permission": "post", "access": "None"}
    path = f"{REQUESTS}/{request['id']}/respond"

    twice = await client.post(path, json={**body, "approvedAccess": [lowered, {**lowered, "header": "Books"}]})
    answer = await client.post(path, json={**body, "approvedAccess": [lowered]})

    assert [each["field"] for each in twice.json()["errors"]] == ["approvedAccess.1"]
    assert answer.status_code == 200, answer.text


async def test_a_model_means_what_exists_in_other_case(client: httpx2.AsyncClient, ledger: UUID) -> None:
    permissions = [{"header": "books", "permission": name} for name in ("POST", "READ", "Void")]
    access: dict[str, Any] = {
        "applicationId": str(ledger),
        "groups": ["CLERKS", "AUDITORS", "Nobody"],
        "permissions": permissions,
    }

    made = await client.post(MODELS, json={"name": "Clerks", "access": [access]})

    assert made.status_code == 201, made.text
    (drafted,) = made.json()["draft"]["access"]
    assert drafted["groups"] == ["Clerks", "AUDITORS", "Nobody"]
    names = [(each["header"], each["permission"]) for each in drafted["permissions"]]
    assert names == [("Books", "Post"), ("books", "READ"), ("books", "Void")]

    access |= {"groups": ["Clerks", "clerks"], "permissions": [*permissions, {"header": "Books", "permission": "Post"}]}
    changed = await client.patch(f"{MODELS}/{made.json()['id']}", json={"access": [access]})
    assert changed.json()["errors"] == [
        {"field": "access.0.groups", "message": "Groups must name each group once"},
        {"field": "access.0.permissions", "message": "Permissions must name each permission once"},
    ]


async def test_every_name_of_a_large_model_is_found(client: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    names = [f"Task {n}" for n in range(1000)]
    await execute(
        db,
        """WITH made AS (INSERT INTO permissions (application_id, header, section, permission)
                         SELECT %(ledger)s, 'Tasks', '', name FROM unnest(%(names)s::text[]) AS name RETURNING number)
           INSERT INTO permission_versions SELECT number, 1, NULL, '', 'None' FROM made""",
        ledger=ledger,
        names=names,
    )
    permissions = [{"header": "TASKS", "permission": name.upper()} for name in names]

    made = await client.post(
        MODELS, json={"name": "Clerks", "access": [{"applicationId": str(ledger), "permissions": permissions}]}
    )

    assert [each["permission"] for each in made.json()["draft"]["access"][0]["permissions"]] == names
