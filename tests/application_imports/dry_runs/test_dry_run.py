"""Test that a dry run reports exactly what an import of the same files would do, and changes nothing."""

import re
from typing import Any
from uuid import UUID

import httpx2

from rolecall.application_imports.dry_runs.actions import delete_old_dry_runs
from rolecall.application_imports.dry_runs.queries import drafts_of
from rolecall.core import clock
from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.builders import CONNECTOR, FILES, a_token, an_application, an_identity

USERS = "Username,Name,Email\nada,Ada Lovelace,ada@example.com\nbob,Bob Kahn,\ncyd,Jo Smith,\n"
LATER = "Username,Name,Email\nada,Ada King,ada@example.com\nbob,Bob Kahn,\ndee,Dee Hock,\n"
MEMBERS = "Username,Group\nada,Clerks\nbob,Clerks\n"
GRANTS = "Username,Permission,Access\nada,Post,Grant\n"
LENIENT: dict[str, Any] = {"name": "Lenient", "files": [{**file, "allowRejects": True} for file in FILES]}


async def contents(db: Db) -> dict[str, list[Any]]:
    """Return the rows of the tables that an import writes, as text."""
    tables = (
        "applications", "connectors", "file_groups", "accounts", "account_versions", "groups", "group_versions",
        "memberships", "permissions", "assignments", "application_imports", "import_runs", "import_files",
        "identities", "finished_imports", "application_totals", "audit_events", "entitlements", "list_changes",
    )  # fmt: skip
    return {
        table: await fetch_rows(db, f'SELECT t::text FROM {table} t ORDER BY t::text COLLATE "C"') for table in tables
    }


async def test_dry_run_lists_the_changes_that_the_import_then_makes(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await an_identity(db, "Ada", "Lovelace", email="ada@example.com")
    await imports.finish(application, {"Users": USERS, "Memberships": MEMBERS})
    later = {"Users": LATER, "Memberships": MEMBERS.replace("bob", "dee"), "Permissions": GRANTS}

    tried = await imports.dry_run(application, later)

    foreseen = await imports.items(f"/api/dry-runs/{tried['id']}/changes")
    run = await imports.finish(application, later)
    assert foreseen == await imports.items(f"/api/application-imports/{run['id']}/changes")
    assert len(foreseen) > 6
    assert tried["metrics"] == run["metrics"]
    assert (tried["problem"], tried["held"]) == (None, None)
    assert [(file["name"], file["read"], file["applied"], file["unchanged"]) for file in tried["files"]] == [
        ("users.csv", 3, 2, 1), ("memberships.csv", 2, 1, 1), ("permissions.csv", 1, 1, 0),
    ]  # fmt: skip
    assert tried["matches"] == {"matched": 1, "unmatched": 2, "disputed": 0, "never": 0}
    assert {count["kind"]: count["new"] for count in tried["changes"]}["Account"] == 1


async def test_log_of_a_dry_run_says_that_nothing_is_applied(imports: Imports, db: Db) -> None:
    log = (await imports.dry_run(await an_application(db), {"Users": USERS}))["log"]

    assert "users.csv: 3 rows read = 3 would be applied + 0 unchanged + 0 rejected" in log
    assert any(re.fullmatch(r"Changes computed in [\d.]+ s, none applied", line) for line in log)


async def test_dry_run_of_the_api_is_not_listed_as_a_draft(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    tried = await imports.dry_run(application, {"Users": USERS})

    by = await fetch_value(db, "SELECT caller_id FROM dry_runs WHERE id = %(id)s", id=UUID(tried["id"]))

    assert await drafts_of(db, Caller(by, "API Token", frozenset())) == []


async def test_dry_run_changes_nothing(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": USERS})
    before = await contents(db)

    await imports.dry_run(application, {"Users": LATER, "Memberships": MEMBERS, "Permissions": GRANTS})

    assert await contents(db) == before


async def test_dry_run_of_people_changes_nobody(imports: Imports, db: Db) -> None:
    source = await an_application(
        db,
        "HR",
        isIdentitySource=True,
        connector={"name": "HR", "files": [{"name": "People", "content": "identities"}]},
    )
    await imports.finish(source, {"People": "Employee ID,First Name,Last Name\n1,Ada,Lovelace\n"})
    before = await contents(db)

    tried = await imports.dry_run(source, {"People": "Employee ID,First Name,Last Name\n1,Ada,King\n2,Bob,Kahn\n"})

    assert await contents(db) == before
    assert tried["metrics"]["users"] == {"total": 2, "new": 1, "altered": 1, "removed": 0}


async def test_every_bad_row_is_listed_although_the_import_would_fail(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    bad = "".join(f"u{n},perhaps\n" for n in range(120))

    tried = await imports.dry_run(
        application, {"Users": f"Username,Active\nada,Yes\n{bad}", "Memberships": "Username,Group\nada,a\nnobody,a\n"}
    )

    assert tried["status"] == "Finished"
    assert tried["problem"].startswith("users.csv, line 3: Active is perhaps")
    answer = (await imports.client.get(f"/api/dry-runs/{tried['id']}/rejects")).json()
    assert answer["totalCount"] == 121
    assert answer["items"][0]["row"] == ["u0", "perhaps"]
    whole = await imports.client.get(f"/api/dry-runs/{tried['id']}/rejects", params={"format": "csv"})
    assert len(whole.text.splitlines()) == 122
    assert "Username nobody is not among the users" in whole.text


async def test_all_rejects_of_a_failed_import_are_stored(imports: Imports, db: Db) -> None:
    bad = "".join(f"u{n},perhaps\n" for n in range(120))

    run = await imports.run(await an_application(db), {"Users": f"Username,Active\nada,Yes\n{bad}"})

    assert run["status"] == "Failed"
    path = f"/api/application-imports/{run['id']}/rejects"
    assert (await imports.client.get(path)).json()["totalCount"] == 120
    assert len((await imports.client.get(path, params={"format": "csv"})).text.splitlines()) == 121


async def test_dry_run_reports_that_the_guard_would_hold_the_import(imports: Imports, db: Db) -> None:
    application = await an_application(db, guard={"minCount": 2, "maxRemovedPercent": 0})
    await imports.finish(application, {"Users": USERS})

    tried = await imports.dry_run(application, {"Users": LATER})

    assert tried["held"] == "it would remove 1 of 3 accounts, more than 0 %"
    assert tried["problem"] is None


async def test_held_import_lists_all_its_changes(imports: Imports, db: Db) -> None:
    application = await an_application(db, guard={"minCount": 2, "maxRemovedPercent": 0})
    await imports.finish(application, {"Users": USERS})
    held = await imports.run(application, {"Users": LATER})
    path = f"/api/application-imports/{held['id']}/changes"

    foreseen = await imports.items(path)

    assert [(item["change"], item["name"]) for item in foreseen] == [
        ("New", "dee"), ("Altered", "ada"), ("Removed", "cyd"),
    ]  # fmt: skip
    assert [item["name"] for item in await imports.items(path, change="removed")] == ["cyd"]
    assert "cyd" in (await imports.client.get(path, params={"format": "csv"})).text
    await imports.client.post(f"/api/application-imports/{held['id']}/continue")
    await imports.work()
    assert await imports.items(path) == foreseen
    await delete_old_dry_runs(db, imports.config.store, clock.now())
    assert await fetch_value(db, "SELECT count(*) FROM previews") == 0


async def test_dry_run_names_the_people_of_disputed_matches(imports: Imports, db: Db) -> None:
    for _ in range(2):
        await an_identity(db, "Jo", "Smith")

    tried = await imports.dry_run(await an_application(db), {"Users": USERS})

    assert [(one["username"], [person["name"] for person in one["people"]]) for one in tried["disputes"]] == [
        ("cyd", ["Jo Smith", "Jo Smith"])
    ]
    assert tried["matches"]["disputed"] == 1


async def test_connector_can_be_tried_before_it_is_saved(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    connector = {"name": "Export", "files": [{"name": "Export", "content": "users", "columns": {"Uid": "Username"}}]}

    tried = await imports.dry_run(application, {"Export": "Uid\nada\n"}, connector=connector)

    assert tried["metrics"]["users"]["new"] == 1
    detail = (await imports.client.get(f"/api/applications/{application}")).json()
    assert detail["connector"]["name"] == CONNECTOR["name"]


async def test_broken_file_fails_the_dry_run_with_its_reason(imports: Imports, db: Db) -> None:
    tried = await imports.dry_run(await an_application(db), {"Users": "Nothing\nthat fits\n"})

    assert tried["status"] == "Failed"
    assert "the column Username is missing" in tried["problem"]


async def test_dry_run_of_unchanged_files_reports_no_changes(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": USERS})

    tried = await imports.dry_run(application, {"Users": USERS})

    assert tried["metrics"]["users"] == {"total": 3, "new": 0, "altered": 0, "removed": 0}
    assert tried["files"][0]["unchanged"] == 3


async def test_invalid_dry_runs_are_refused(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    path = f"/api/applications/{application}/dry-run"

    def message(answer: httpx2.Response) -> Any:
        return [problem["message"] for problem in answer.json()["errors"]]

    empty = await client.post(path, files=[("Users", ("users.csv", b""))])
    unknown = await client.post(path, files=[("Nobody", ("users.csv", b"x"))])
    broken = await client.post(path, files=[("Users", ("users.csv", b"x"))], data={"connector": "{"})
    wrong = await client.post(path, files=[("Users", ("u.csv", b"x"))], data={"connector": '{"name": ""}'})

    assert message(empty) == ["File is empty"]
    other = "The connector has no file group Nobody; use one of Users, Groups, Memberships, Permissions"
    assert message(unknown) == [other, "Required file missing: Users"]
    assert message(broken) == ["Connector must be a JSON object, as in the body of an application"]
    assert message(wrong) == ["Name is required"]
    assert (
        await client.post(f"/api/applications/{UUID(int=1)}/dry-run", files=[("Users", ("u", b"x"))])
    ).status_code == 404
    assert await fetch_value(db, "SELECT count(*) FROM dry_runs") == 0


async def test_draft_needs_the_right_to_configure(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    token = (await a_token(db, scopes=["imports:read", "imports:write"])).secret
    sent = {"files": [("Users", ("u.csv", b"Username\nada\n"))], "headers": {"Authorization": f"Bearer {token}"}}
    path = f"/api/applications/{application}/dry-run"

    assert (await client.post(path, data={"connector": "{}"}, **sent)).status_code == 403  # type: ignore[arg-type]
    mine = await client.post(path, **sent)  # type: ignore[arg-type]
    assert mine.status_code == 201
    assert (await client.get(f"/api/dry-runs/{mine.json()['id']}")).status_code == 404


async def test_dry_run_is_deleted_after_a_day_with_its_files(imports: Imports, db: Db, config: Config) -> None:
    tried = await imports.dry_run(await an_application(db), {"Users": USERS})
    location = await fetch_value(db, "SELECT location FROM dry_run_files")
    assert config.store.read(location).decode() == USERS

    await execute(db, "UPDATE dry_runs SET created_at = created_at - interval '25 hours'")
    await delete_old_dry_runs(db, config.store, clock.now())

    assert (await imports.client.get(f"/api/dry-runs/{tried['id']}")).status_code == 404
    assert not (config.store.folder / location).exists()
    assert await fetch_value(db, "SELECT count(*) FROM previewed_changes") == 0


async def test_interrupted_dry_run_is_tried_again(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    id = (await imports.start_dry_run(application, {"Users": USERS}))["id"]
    await execute(db, "UPDATE dry_runs SET status = 'Running', attempts = 1, log = ARRAY['half']")

    await imports.work_on_dry_runs()

    tried = (await imports.client.get(f"/api/dry-runs/{id}")).json()
    assert tried["status"] == "Finished"
    assert "half" not in tried["log"]
