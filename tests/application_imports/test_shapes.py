"""Test shapes end to end, from the API to the imported data."""

from typing import Any

import httpx2
import pytest

from rolecall.application_imports.apply.purge import purge_secrets
from rolecall.applications.actions import change_application
from rolecall.core.db import Db, execute, fetch_rows
from tests.application_imports.running import Imports
from tests.builders import an_application, facts

MEMBERS: dict[str, Any] = {
    "content": "memberships",
    "columns": {"login": "Username"},
    "shape": {"headerLine": 2, "split": {"teams": ";"}, "join": {"Group": "{teams}"}},
}
STAFF: dict[str, Any] = {
    "name": "Staff",
    "content": "users",
    "columns": {"login": "Username", "state": "Active"},
    "shape": {"headerLine": 2, "ignore": ["teams"], "contents": [MEMBERS]},
}


def staff(*rows: str) -> str:
    return "\n".join(["Staff of March;;;", "login;state;pwd;teams", *rows, ""])


ADA, OLD = 'ada;Active;hush1;"sales;ops"', "old;Former employee;hush2;"


def connector(*files: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Files", "files": list(files)}


async def test_one_file_feeds_users_and_memberships(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector(STAFF))

    run = await imports.finish(application, {"Staff": staff(ADA, OLD)})

    accounts = await imports.items(f"/api/applications/{application}/accounts")
    assert {(each["username"], each["isActive"]) for each in accounts} == {("ada", True), ("old", False)}
    assert [each["metadata"] for each in accounts] == [[], []]
    groups = await imports.items(f"/api/applications/{application}/groups")
    assert {each["name"] for each in groups} == {"sales", "ops"}
    assert "Staff: staff.csv: pwd looks like a secret and is not kept; name it in shape.keep to keep it" in run["log"]


async def test_only_changed_lines_of_a_shaped_file_are_read(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector(STAFF))
    rows = [ADA, OLD, *(f"user{n};Active;x;sales" for n in range(20))]
    await imports.finish(application, {"Staff": staff(*rows)})

    same = await imports.finish(application, {"Staff": staff(*rows)})
    rows[2] = "user0;Suspended;x;ops"
    changed = await imports.finish(application, {"Staff": staff(*rows)})

    assert "The same files as before" in same["log"]
    assert "Staff: 22 rows in 1 file, 1 changed line read" in changed["log"]
    assert changed["metrics"]["users"] == {"total": 22, "new": 0, "altered": 1, "removed": 0}
    changes = await imports.items(f"/api/application-imports/{changed['id']}/changes", kind="membership")
    assert {(each["name"], each["change"]) for each in changes} == {
        ("user0 in sales", "Removed"),
        ("user0 in ops", "New"),
    }


async def test_derived_user_is_removed_with_the_last_membership(imports: Imports, db: Db) -> None:
    roles = {"name": "Roles", "content": "memberships", "columns": {"USER": "Username", "ROLE": "Group"}}
    application = await an_application(db, connector=connector({**roles, "shape": {"deriveUsers": True}}))
    await imports.finish(application, {"Roles": "USER,ROLE\nADA,R1\nADA,R2\nBOB,R1\n"})

    run = await imports.finish(application, {"Roles": "USER,ROLE\nADA,R1\nADA,R2\n"})

    assert run["metrics"]["users"] == {"total": 1, "new": 0, "altered": 0, "removed": 1}


async def test_rejected_rows_of_a_split_line_are_stored_once(imports: Imports, db: Db) -> None:
    users = {"name": "Users", "content": "users"}
    shape = {"split": {"members": ";"}, "join": {"Username": "{members}"}}
    groups = {"name": "Teams", "content": "memberships", "allowRejects": True, "shape": shape}
    application = await an_application(db, connector=connector(users, groups))

    run = await imports.finish(application, {"Users": "Username\nada\n", "Teams": "Group,members\nops,bob;ada;cyd\n"})

    rejects = await imports.items(f"/api/application-imports/{run['id']}/rejects")
    assert [(each["line"], each["row"]) for each in rejects] == [(2, ["ops", "bob;ada;cyd"])]
    changes = await imports.items(f"/api/application-imports/{run['id']}/changes", kind="membership")
    assert [each["name"] for each in changes] == ["ada in ops"]


async def test_shape_is_exported_planned_and_applied(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, "Payroll", connector=connector(STAFF))
    exported = (await client.get("/api/configuration")).json()
    entry = exported["applications"][0]

    again = (await client.put("/api/configuration", json=exported)).json()
    entry["connector"]["files"][0]["shape"]["headerLine"] = 3
    planned = (await client.post("/api/configuration/plan", json={"applications": [entry]})).json()

    assert (await client.get(f"/api/applications/{id}/configuration")).json()["connector"]["files"][0]["shape"] == {
        "headerLine": 2,
        "ignore": ["teams"],
        "contents": [MEMBERS],
    }
    assert again == {"changes": []}
    assert planned["changes"][0]["fields"] == [
        {"field": "connector.files.0.shape.headerLine", "before": 2, "after": 3},
    ]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"join": {"Name": "both"}}, "both names no column"),
        ({"join": {"Name": "{a|shout}"}}, "shout is not a filter"),
        ({"join": {"Username": "{a}"}}, "Username is also mapped in columns"),
        ({"values": {"Active": {"gone": "perhaps"}}}, "perhaps (for gone) is not a value of Active"),
        ({"invert": ["Name"]}, "Invert accepts only the fields Active, Locked"),
        ({"dates": {"Last Login": "someday"}}, "must be one of iso, year first, day first"),
        ({"deriveUsers": True}, "deriveUsers is only for memberships and permissions"),
        ({"headerLine": 2, "headers": ["a"]}, "must not have both headerLine and headers"),
        ({"contents": [{"content": "users"}]}, "Two file groups contain users"),
        ({"contents": [{"content": "identities"}]}, "must be the content of the file group itself"),
        ({"skipRowsWhere": [{"column": "a"}]}, "needs exactly one of is, isNot, startsWith"),
    ],
)
async def test_malformed_shape_is_refused(client: httpx2.AsyncClient, shape: dict[str, Any], message: str) -> None:
    files = [{"name": "Users", "content": "users", "columns": {"login": "Username"}, "shape": shape}]

    answer = await client.post("/api/applications", json={"name": "Payroll", "connector": connector(*files)})

    assert answer.status_code == 400
    assert message in answer.text


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('[{"login": "ada", "keys": [{"id": "k1", "password": "hush"}]}, {"login": "bob", "keys": []}]', {}),
        ('login,keys\nada,"[{""id"": ""k1"", ""password"": ""hush""}]"\nbob,[]\n', {}),
        ('[{"login": "ada", "keys": [{"id": "k1", "password": "hush"}]}]', {"keep": ["Keys"]}),
    ],
)
async def test_secrets_inside_cells_are_kept_only_by_name(
    imports: Imports, db: Db, text: str, shape: dict[str, Any]
) -> None:
    users = {"name": "Users", "content": "users", "columns": {"login": "Username"}, "shape": shape}
    application = await an_application(db, connector=connector(users))

    run = await imports.finish(application, {"Users": text})

    (stored,) = await fetch_rows(db, "SELECT metadata FROM account_versions WHERE metadata LIKE '%%k1%%'")
    assert ("hush" in stored[0], "•••" in stored[0]) == (bool(shape), not shape)
    assert ("keys looks like JSON" in run["log"], "hush" in run["log"]) == (True, False)


async def test_purge_removes_secrets_from_the_history_and_the_next_import_finds_no_difference(
    imports: Imports, db: Db
) -> None:
    keeping = {"name": "Users", "content": "users", "shape": {"keep": ["pwd"]}}
    application = await an_application(db, connector=connector(keeping))
    text = """Username,pwd,Café\nada,hush1,naïve / x\nbob,hush2,"{""pin"": 1}"\n"""
    await imports.finish(application, {"Users": text})
    # Earlier versions of the service stored secrets inside JSON values.
    await execute(db, "UPDATE account_versions SET metadata = replace(metadata, '•••', '1')")
    plain = {"connector": connector({"name": "Users", "content": "users"})}
    await change_application(db, application, plain, facts())

    removed = await purge_secrets(db, application)
    run = await imports.finish(application, {"Users": text})

    assert removed == {"pwd": 2, "Café": 1}
    entries = await fetch_rows(
        db,
        """SELECT entry::jsonb -> 'entity' ->> 'name', entry::jsonb -> 'after' -> 'purgedSecrets' FROM audit_events
           WHERE entry::jsonb -> 'after' ? 'purgedSecrets'""",
    )
    assert entries == [("Payroll", {"records": {"Café": 1, "pwd": 2}})]
    stored = await fetch_rows(db, "SELECT metadata FROM account_versions ORDER BY metadata")
    assert stored == [('{"Café":"naïve / x"}',), (r'{"Café":"{\"pin\":\"•••\"}"}',)]
    assert run["metrics"]["users"] == {"total": 2, "new": 0, "altered": 0, "removed": 0}
