"""Test how a new request is enriched from imported data and access models."""

from typing import Any

import httpx2

from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.settings.policy import RequestAction
from tests.access_requests.enriching import created, privileges_of
from tests.access_requests.walking import PATH, detail_of, events_of
from tests.application_imports.running import Files, Imports
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.holdings import an_account


async def test_initial_access_is_the_current_access_of_the_account(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    held = (("Books", "Post", "Modify", "High"), ("Books", "Read", "Grant", "None"))
    await an_account(db, ledger, "ada01", ada, groups=("Clerks",), permissions=held)
    asked = [
        {"header": "Books", "permission": "Post", "access": "Grant"},
        {"header": "Group", "permission": "Clerks", "access": "None"},
        {"header": "Books", "permission": "Read", "access": "Modify"},
    ]

    request = await created(client, ledger, identityId=str(ada), privileges=asked)

    assert request["target"]["name"] == "ada01"
    assert privileges_of(request) == [
        ("Post", "Modify", "Grant", "High", ["Direct"]),
        ("Clerks", "Grant", "None", "None", ["Direct"]),
        ("Read", "Grant", "Modify", "None", ["Direct"]),
    ]
    assert request["target"]["privileges"][0]["origins"] == ["Import 1"]
    # The risk is High, so the application owner must approve too.
    assert len(request["requirements"][0]["rules"]) == 2


async def test_remove_without_privileges_lists_all_access_of_the_account(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "ada01", ada, groups=("Clerks",), permissions=(("Books", "Post", "Modify", "High"),))

    request = await created(client, ledger, action="Remove", identityId=str(ada))

    assert privileges_of(request) == [
        ("Clerks", "Grant", "None", "None", ["Direct"]),
        ("Post", "Modify", "None", "High", ["Direct"]),
    ]


FILES: Files = {
    "Users": "Username,Employee ID\nada,\nbo,\ncy,\ndi,\n",
    "Groups": "Group,Nomenclature,Description,Cost Centre\nClerks,Role,Keeps the books,4711\n",
    "Memberships": "Username,Group\nbo,Clerks\n",
    "Permissions": (
        "Username,Header,Section,Permission,Access,Value\n"
        "bo,Books,,Post,Grant,P1\ncy,Books,,Post,Grant,P1\ndi,Books,,Post,Grant,P9\n"
        "ada,Books,,Close,None,N\nbo,Books,,Close,Modify,C7\ncy,Books,,Read,Grant,\n"
    ),
}


def catalogued(request: dict[str, Any]) -> list[tuple[str, str, list[dict[str, str]]]]:
    return [
        (each["permission"]["permission"], each["permission"]["value"], each["permission"]["metadata"])
        for each in request["target"]["privileges"]
    ]


async def test_privilege_gets_value_and_metadata_from_the_catalogue(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    ledger, eve = await an_application(db, "Ledger"), await an_identity(db, "Eve", "Newcomer")
    assert (await imports.run(ledger, FILES))["status"] == "Finished"
    asked = [
        {"header": "Books", "permission": "Post"},
        {"header": "Books", "permission": "Close", "access": "Unrestricted"},
        {"header": "Books", "permission": "Read"},
        {"header": "Role", "permission": "Clerks"},
    ]
    cost_centre = [{"key": "Cost Centre", "value": "4711"}]

    request = await created(client, ledger, action="Add", identityId=str(eve), privileges=asked)
    (event, *_) = await events_of(db, request["id"])

    expected = [("Post", "P1", []), ("Close", "C7", []), ("Read", "", []), ("Clerks", "", cost_centre)]
    assert catalogued(request) == catalogued(event["request"]) == expected

    # Two of three holders now have the value P9. The first request keeps the value P1.
    changed = str(FILES["Permissions"]).replace("cy,Books,,Post,Grant,P1", "cy,Books,,Post,Grant,P9")
    files: Files = {**FILES, "Permissions": changed}
    assert (await imports.run(ledger, files))["status"] == "Finished"
    later = await created(client, ledger, action="Add", identityId=str(eve), privileges=asked[:1])

    assert catalogued(later) == [("Post", "P9", [])]
    assert catalogued(await detail_of(client, request["id"])) == expected


async def test_whole_account_request_lists_values_and_metadata_of_the_account(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    ledger, bo = await an_application(db, "Ledger"), await an_identity(db, "Bo", "Boss", email="bo@example.com")
    users = "Username,Email\nada,\nbo,bo@example.com\ncy,\ndi,\n"
    assert (await imports.run(ledger, {**FILES, "Users": users}))["status"] == "Finished"

    request = await created(client, ledger, action="Suspend", identityId=str(bo))

    cost_centre = [{"key": "Cost Centre", "value": "4711"}]
    assert catalogued(request) == [("Clerks", "", cost_centre), ("Close", "C7", []), ("Post", "P1", [])]


async def test_request_lists_the_models_that_grant_its_privileges(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, crm, ada = await an_application(db), await an_application(db, "CRM"), await an_identity(db, title="Clerk")
    post = {"applicationId": str(ledger), "permissions": [{"header": "Books", "permission": "Post"}]}
    await an_identity(db, "Bo", "Boss", department="Finance")
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


async def test_caller_can_state_which_models_will_be_in_effect(client: httpx2.AsyncClient, db: Db) -> None:
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


CATALOGUE: Files = {
    "Users": "Username,Email\nada,ada@example.com\nbo,bo@example.com\n",
    "Groups": "Group,Nomenclature,Description,Parent\n"
    "Clerks,Role,Keep the books,Staff\nLeads,Role,,\nStaff,Role,,\nPast,Role,,\n",
    "Memberships": "Username,Group\nada,Clerks\nada,Leads\nbo,Staff\nbo,Past\n",
    "Permissions": "Username,Group,Header,Section,Permission,Access,Value,Description,Risk Rating\n"
    "ada,,Books,Main,Post,Modify,own,Post entries,High\n"
    ",Clerks,Books,Main,Post,Unrestricted,clerk,,High\n"
    ",Clerks,Books,,Read,Grant,reader,,Low\n"
    ",Leads,Books,,Read,Modify,lead,,Low\n"
    ",Staff,Books,,Close,Grant,staff,,None\n"
    "bo,,Books,,Void,Grant,bo,,None\n",
}
# The same names with other values, for an earlier import and another application.
EARLIER: Files = {
    "Users": CATALOGUE["Users"],
    "Groups": "Group,Nomenclature,Description\nClerks,Role,Old words\nPast,Role,\n",
    "Memberships": "Username,Group\nada,Past\n",
    "Permissions": "Username,Group,Header,Section,Permission,Access,Value,Description,Risk Rating\n"
    "ada,,Books,Main,Post,Unrestricted,before,Old words,Low\nada,,Books,,Void,Grant,before,,None\n"
    ",Past,Books,,Read,Unrestricted,before,,None\n",
}
Completed = tuple[str | None, str, list[str], list[str], str, str | None]
COMPLETED: dict[tuple[str, str, str], Completed] = {
    ("Books", "Main", "Post"): ("Modify", "own", ["Clerks", "Direct"], ["Import 2"], "Post entries", "High"),
    ("Books", "", "Read"): ("Modify", "lead", ["Clerks", "Leads"], ["Import 2"], "", "Low"),
    ("Books", "", "Close"): ("Grant", "staff", ["Clerks > Staff"], ["Import 2"], "", "None"),
    ("Books", "", "Void"): ("None", "bo", [], [], "", "None"),
    ("Role", "", "Clerks"): ("Grant", "", ["Direct"], ["Import 2"], "Keep the books", "High"),
    ("Role", "", "Past"): ("None", "", [], [], "", "None"),
    ("Group", "", "Clerks"): ("None", "", [], [], "", "Critical"),
    ("Role", "Main", "Clerks"): ("None", "", [], [], "", "Critical"),
    ("Books", "", "Post"): ("None", "", [], [], "", "Critical"),
}


async def test_privileges_are_enriched_from_current_access_and_catalogue(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    ada = await an_identity(db, email="ada@example.com")
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    for application, files in ((ledger, EARLIER), (ledger, CATALOGUE), (wiki, EARLIER)):
        await imports.finish(application, files)
    privileges = [NewPrivilege(header=h, section=s, permission=p) for h, s, p in COMPLETED]
    asked = NewRequest(action=RequestAction.CHANGE, application_id=ledger, identity_id=ada, privileges=privileges)

    (new,) = await enrich(db, [asked])

    found = [
        (each.initial_access, each.value, each.sources, each.origins, each.description, each.risk_rating)
        for each in new.privileges
    ]
    assert dict(zip(COMPLETED, found, strict=True)) == COMPLETED
