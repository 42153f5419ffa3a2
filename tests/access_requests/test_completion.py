"""Test how a new request is completed from imported data and access models."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.completion import complete
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.settings.policy import RequestAction
from tests.access_requests.walking import PATH, detail_of, events_of
from tests.application_imports.running import Files, Imports
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account


async def created(client: httpx2.AsyncClient, application: UUID, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"action": "Change", "applicationId": str(application), **body})
    assert answer.status_code == 201, answer.text
    request: dict[str, Any] = answer.json()
    return request


def privileges_of(request: dict[str, Any]) -> list[tuple[str, str, str, str, list[str]]]:
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


async def a_nested_ledger(db: Db, ada: UUID) -> UUID:
    """Nest Clerks in Staff in Officers, which has a Critical permission, and Officers in Clerks as a cycle."""
    ledger = await an_application(db)
    groups = ("Clerks", "Staff", "Officers", "Guests")
    await an_account(db, ledger, "root", None, groups=groups, permissions=(("Books", "Post", "Grant", "Critical"),))
    await db.execute("UPDATE assignments SET holder_number = (SELECT number FROM groups WHERE name = 'Officers')")
    for child, parent in (("Clerks", "STAFF"), ("Staff", "Officers"), ("Officers", "Clerks"), ("Guests", "Nowhere")):
        await db.execute(
            "UPDATE group_versions SET parent = %s WHERE group_number = (SELECT number FROM groups WHERE name = %s)",
            (parent, child),
        )
    await an_account(db, ledger, "ada01", ada, groups=("Clerks", "Guests"))
    return ledger


@pytest.mark.parametrize("action", ["Remove", "Suspend"])
async def test_whole_account_requests_rate_groups_through_their_parents(
    client: httpx2.AsyncClient, db: Db, action: str
) -> None:
    ada, olga = await an_identity(db), await an_identity(db, "Olga", "Owner")
    ledger = await a_nested_ledger(db, ada)
    await client.patch(f"/api/applications/{ledger}", json={"ownerId": str(olga)})
    rule = {"type": "Approve", "reason": "Critical", "responder": "Application Owner", "risks": ["Critical"]}
    await client.patch("/api/settings", json={"approvalPolicy": [rule]})

    request = await created(client, ledger, action=action, identityId=str(ada))

    assert privileges_of(request) == [
        ("Clerks", "Grant", "None", "Critical", ["Direct"]),
        ("Guests", "Grant", "None", "None", ["Direct"]),
    ]
    assert request["status"] == "Pending"


async def test_previews_and_effective_access_rate_groups_like_requests(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    await a_nested_ledger(db, ada)
    body = {"type": "Offboard", "identityId": str(ada), "effectiveDate": "2099-01-01"}

    preview = (await client.post("/api/personnel-events/preview", json=body)).json()
    access = (await client.get(f"/api/identities/{ada}/access")).json()

    previewed = preview["accessRequests"][0]["target"]["privileges"]
    assert [each["riskRating"] for each in previewed] == ["Critical", "None"]
    held = access["applications"][0]["accounts"][0]["access"]
    direct = [each for each in held if each["header"] == "Group" and not each["path"]]
    assert [each["riskRating"] for each in direct] == ["Critical", "None"]


async def test_requests_in_bulk_rate_each_group_once(db: Db) -> None:
    ada = await an_identity(db)
    ledger = await a_nested_ledger(db, ada)
    asked = [NewPrivilege(header="Group", permission=name) for name in ("Clerks", "Guests")]
    new = NewRequest(action=RequestAction.CHANGE, application_id=ledger, identity_id=ada, privileges=asked)
    calls = "SELECT sum(calls) FROM pg_stat_xact_user_functions WHERE funcname = 'known_risk'"

    async with db.transaction():
        await db.execute("SET LOCAL track_functions = 'all'")
        completed = await complete(db, [new] * 5)
        rated = await fetch_value(db, calls)

    assert [[privilege.risk_rating for privilege in each.privileges] for each in completed] == [
        ["Critical", "None"]
    ] * 5
    assert rated == 2


async def test_request_about_a_group_has_the_highest_risk_of_its_permissions(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_nested_ledger(db, await an_identity(db))
    rule = {"type": "Approve", "reason": "Critical", "responder": "Application Owner", "risks": ["Critical"]}
    await client.patch("/api/settings", json={"approvalPolicy": [rule]})

    risky = await created(client, ledger, action="Remove", group="clerks")
    harmless = await created(client, ledger, action="Remove", group="Guests")

    assert (risky["status"], harmless["status"]) == ("Pending", "Open")


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

    # Two of three holders have P9 now; the value stored with the request is kept.
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


async def test_active_account_is_preferred_as_the_target(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "ada-old", ada, is_active=False)
    await an_account(db, ledger, "ada-new", ada)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))

    by_default = await created(client, ledger, identityId=str(ada))
    by_name = await created(client, ledger, identityId=str(ada), targetName="ada-old")

    assert by_default["target"]["name"] == "ada-new"
    assert by_name["target"]["name"] == "ada-old"


async def test_request_lists_the_models_that_grant_its_privileges(client: httpx2.AsyncClient, db: Db) -> None:
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


async def test_membership_has_the_highest_risk_of_the_group(client: httpx2.AsyncClient, db: Db) -> None:
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

    assert privileges_of(request) == [
        ("Clerks", "Grant", "Grant", "Critical", ["Direct"]),
        ("Post", "Grant", "Grant", "Critical", ["Clerks"]),
    ]


async def test_group_target_shows_its_nomenclature_and_metadata(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db)
    await an_account(db, ledger, "ada01", await an_identity(db), groups=("Clerks",))
    await db.execute("UPDATE group_versions SET nomenclature = 'Role', metadata = '{\"Level\": \"2\"}'")

    request = await created(client, ledger, group="Clerks", privileges=[{"header": "Books", "permission": "Post"}])

    assert request["target"]["nomenclature"] == "Role"
    assert request["target"]["metadata"] == [{"key": "Level", "value": "2"}]


async def test_account_of_another_identity_is_rejected_as_target(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))
    asked = {"applicationId": str(ledger), "identityId": str(ada)}

    refused = await client.post(PATH, json={"action": "Nonsense", **asked, "targetName": "zoe"})
    unknown = await created(client, ledger, identityId=str(ada), targetName="ada.new")

    assert refused.status_code == 400
    assert [problem["field"] for problem in refused.json()["errors"]] == ["action", "targetName"]
    assert refused.json()["errors"][1]["message"] == "Account zoe belongs to another identity"
    assert unknown["target"]["name"] == "ada.new"


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


async def test_privileges_are_completed_from_current_access_and_catalogue(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    ada = await an_identity(db, email="ada@example.com")
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    for application, files in ((ledger, EARLIER), (ledger, CATALOGUE), (wiki, EARLIER)):
        await imports.finish(application, files)
    privileges = [NewPrivilege(header=h, section=s, permission=p) for h, s, p in COMPLETED]
    asked = NewRequest(action=RequestAction.CHANGE, application_id=ledger, identity_id=ada, privileges=privileges)

    (new,) = await complete(db, [asked])

    found = [
        (each.initial_access, each.value, each.sources, each.origins, each.description, each.risk_rating)
        for each in new.privileges
    ]
    assert dict(zip(COMPLETED, found, strict=True)) == COMPLETED


Target = tuple[UUID, UUID | None, str | None]


async def end_versions(db: Db, run: int) -> None:
    """Let an import change the metadata of every account and group."""
    for table in ("account_versions", "group_versions"):
        await execute(db, f"UPDATE {table} SET until_import = %(run)s", run=run)
        await execute(
            db,
            f"""INSERT INTO {table} SELECT (jsonb_populate_record(v, jsonb_build_object(
                    'from_import', %(run)s::int, 'until_import', NULL, 'metadata', '{{"of": "now"}}'::jsonb))).*
                FROM {table} v WHERE v.until_import = %(run)s""",
            run=run,
        )


async def test_target_is_the_account_or_group_that_is_meant(db: Db) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    ada, bo = await an_identity(db), await an_identity(db, "Bo", "Boss")
    run = await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada01", ada, is_active=False, groups=("Posters", "Others"), run=run)
    await an_account(db, ledger, "ada02", ada, run=run)
    await an_account(db, ledger, "ada03", ada, run=run)
    await an_account(db, wiki, "ada", ada, groups=("Wikis",), run=run)
    await an_account(db, ledger, "bo", bo, run=run)
    await end_versions(db, await a_finished_import(db, ledger))
    for table, key in (("account_versions", "account_number"), ("group_versions", "group_number")):
        await execute(
            db,
            f"""UPDATE {table} v SET metadata = jsonb_build_object('of', h.name) FROM (
                    SELECT number, username::text AS name FROM accounts UNION ALL SELECT number, name::text FROM groups
                ) AS h WHERE h.number = v.{key} AND v.until_import IS NULL""",
        )
    asked: list[Target]
    asked = [(ledger, ada, None), (ledger, ada, "ada01"), (wiki, ada, None), (ledger, bo, None), (ledger, ada, "bo")]
    asked += [(ledger, None, "Posters"), (wiki, None, "Wikis")]
    unknown: list[Target] = [
        (wiki, bo, None),
        (wiki, ada, "ada01"),
        (ledger, ada, "Posters"),
    ]
    groups: list[Target] = [(ledger, None, "Wikis"), (ledger, None, "ada02")]
    news = [
        NewRequest(action=RequestAction.CHANGE, application_id=application, identity_id=identity, target_name=name)
        for application, identity, name in asked + unknown + groups
    ]

    found = [(new.target_name, dict(new.metadata).get("of"), new.target_risk) for new in await complete(db, news)]

    names = ["ada02", "ada01", "ada", "bo", "bo", "Posters", "Wikis"]
    assert found[:7] == [(name, name, "None") for name in names]
    assert found[7:10] == [(name, None, "None") for name in ("Bo Boss", "ada01", "Posters")]
    assert found[10:] == [(name, None, "Critical") for name in ("Wikis", "ada02")]
