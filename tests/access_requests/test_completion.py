"""What a new request knows of its target and privileges from imports and access models."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.db import Db
from tests.access_requests.walking import PATH
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.holdings import an_account


async def created(client: httpx2.AsyncClient, application: UUID, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"action": "Change", "applicationId": str(application), **body})
    assert answer.status_code == 201, answer.text
    request: dict[str, Any] = answer.json()
    return request


def told(request: dict[str, Any]) -> list[tuple[str, str, str, str, list[str]]]:
    return [
        (
            each["permission"]["permission"],
            each["initialAccess"],
            each["requestedAccess"],
            each["permission"]["riskRating"],
            each["sources"],
        )
        for each in request["target"]["privileges"]
    ]


async def test_initial_access_is_what_the_account_has_now(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    held = (("Books", "Post", "Modify", "High"), ("Books", "Read", "Grant", "None"))
    await an_account(db, ledger, "ada01", ada, groups=("Clerks",), permissions=held)
    asked = [
        {"header": "Books", "permission": "Post", "access": "Grant"},
        {"header": "Group", "permission": "Clerks", "access": "None"},
        {"header": "Books", "permission": "Void"},
    ]

    request = await created(client, ledger, identityId=str(ada), privileges=asked)

    assert request["target"]["name"] == "ada01"
    assert told(request) == [
        ("Post", "Modify", "Grant", "High", ["Direct"]),
        ("Clerks", "Grant", "None", "None", ["Direct"]),
        ("Void", "None", "Grant", "None", []),
    ]
    assert request["target"]["privileges"][0]["origins"] == ["Import 1"]
    # The risk is High: the application's owner is asked as well.
    assert len(request["requirements"][0]["rules"]) == 2


async def test_what_is_removed_without_a_word_is_everything(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "ada01", ada, groups=("Clerks",), permissions=(("Books", "Post", "Modify", "High"),))

    request = await created(client, ledger, action="Remove", identityId=str(ada))

    assert told(request) == [
        ("Clerks", "Grant", "None", "None", ["Direct"]),
        ("Post", "Modify", "None", "High", ["Direct"]),
    ]


async def test_an_active_account_is_meant_rather_than_another(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "ada-old", ada, is_active=False)
    await an_account(db, ledger, "ada-new", ada)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))

    by_default = await created(client, ledger, identityId=str(ada))
    by_name = await created(client, ledger, identityId=str(ada), targetName="ada-old")

    assert by_default["target"]["name"] == "ada-new"
    assert by_name["target"]["name"] == "ada-old"


async def test_a_request_names_the_models_that_give_what_is_asked(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, crm, ada = await an_application(db), await an_application(db, "CRM"), await an_identity(db, title="Clerk")
    post = {"applicationId": str(ledger), "permissions": [{"header": "Books", "permission": "Post"}]}
    clerks = [[{"field": "title", "operator": "is", "value": "Clerk"}]]
    a = await an_access_model(db, "A", conditions=clerks, access=[post], description="For clerks")
    b = await an_access_model(db, "B", access=[{"applicationId": str(ledger), "groups": ["Clerks"]}])
    await an_access_model(db, "Off", conditions=clerks, access=[post], enabled=False)
    await an_access_model(db, "Draft", conditions=clerks, access=[post], committed=False)
    await an_access_model(db, "Elsewhere", conditions=clerks, access=[{**post, "applicationId": str(crm)}])
    asked = [{"header": "Books", "permission": "Post"}, {"header": "Group", "permission": "Clerks"}]

    request = await created(client, ledger, identityId=str(ada), privileges=asked)

    assert request["accessModels"] == [
        {"id": str(a), "name": "A", "description": "For clerks", "willBeInEffect": True},
        {"id": str(b), "name": "B", "description": "", "willBeInEffect": False},
    ]


async def test_whoever_makes_a_request_may_know_which_models_will_match(client: httpx2.AsyncClient, db: Db) -> None:
    from rolecall.access_requests.model import NewPrivilege

    ledger, ada = await an_application(db), await an_identity(db, title="Clerk")
    post = {"applicationId": str(ledger), "permissions": [{"header": "Books", "permission": "Post"}]}
    clerks = [[{"field": "title", "operator": "is", "value": "Clerk"}]]
    await an_access_model(db, "A", conditions=clerks, access=[post])
    b = await an_access_model(db, "B", access=[post])

    id = await an_access_request(
        db,
        identity_id=ada,
        application_id=ledger,
        privileges=[NewPrivilege(header="Books", permission="Post")],
        models_in_effect=frozenset({b}),
    )

    models = (await client.get(f"{PATH}/{id}")).json()["accessModels"]
    assert [(model["name"], model["willBeInEffect"]) for model in models] == [("A", False), ("B", True)]


async def test_a_group_is_as_risky_as_what_it_holds(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(
        db, ledger, "ada01", ada, groups=("Clerks",), permissions=(("Books", "Post", "Grant", "Critical"),)
    )
    await db.execute("UPDATE assignments SET holder_number = (SELECT number FROM groups)")

    request = await created(
        client,
        ledger,
        identityId=str(ada),
        privileges=[{"header": "Group", "permission": "Clerks"}, {"header": "Books", "permission": "Post"}],
    )

    assert told(request) == [
        ("Clerks", "Grant", "Grant", "Critical", ["Direct"]),
        ("Post", "Grant", "Grant", "Critical", ["Clerks"]),
    ]


async def test_a_group_target_shows_its_nomenclature_and_what_it_holds(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db)
    await an_account(db, ledger, "ada01", await an_identity(db), groups=("Clerks",))
    await db.execute("UPDATE group_versions SET nomenclature = 'Role', metadata = '{\"Level\": \"2\"}'")

    request = await created(client, ledger, group="Clerks", privileges=[{"header": "Books", "permission": "Post"}])

    assert request["target"]["nomenclature"] == "Role"
    assert request["target"]["metadata"] == [{"key": "Level", "value": "2"}]


async def test_an_account_of_somebody_else_is_not_asked_for(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))
    await an_account(db, ledger, "shared", None)
    asked = {"applicationId": str(ledger), "identityId": str(ada)}

    refused = await client.post(PATH, json={"action": "Nonsense", **asked, "targetName": "zoe"})
    unmatched = await created(client, ledger, identityId=str(ada), targetName="shared")
    unknown = await created(client, ledger, identityId=str(ada), targetName="ada.new")

    assert refused.status_code == 400
    assert [problem["field"] for problem in refused.json()["errors"]] == ["action", "targetName"]
    assert refused.json()["errors"][1]["message"] == "Account zoe belongs to somebody else"
    assert (unmatched["target"]["name"], unknown["target"]["name"]) == ("shared", "ada.new")
