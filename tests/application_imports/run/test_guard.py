from uuid import UUID

import httpx2

from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application


def users(*numbers: int) -> str:
    return "\n".join(["Username,Name", *(f"user{n},Number {n}" for n in numbers)])


async def test_import_that_would_remove_too_much_is_held(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": users(*range(100))})

    held = await imports.run(application, {"Users": users(*range(79))})

    assert held["status"] == "Running"
    assert held["metrics"] is None
    assert "Held: it would remove 21 of 100 accounts, more than 20 %" in held["log"]
    assert (await client.get(f"/api/applications/{application}/accounts")).json()["totalCount"] == 100


async def test_import_that_would_empty_the_groups_is_held(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    files = {"Users": users(*range(100)), "Groups": "Group\nStaff\n"}
    members = "\n".join(["Username,Group", *(f"user{n},Staff" for n in range(100))])
    await imports.finish(application, {**files, "Memberships": members})

    held = await imports.run(application, {**files, "Memberships": "Username,Group\nuser1,Staff\n"})

    assert "Held: it would remove 99 of 100 memberships, more than 20 %" in held["log"]


async def test_import_within_the_limits_is_not_held(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": users(*range(100))})

    await imports.finish(application, {"Users": users(*range(80))})


async def test_import_that_would_add_too_much_is_held(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": users(*range(100))})

    held = await imports.run(application, {"Users": users(*range(151), 150)})

    assert "it would add 51 accounts to 100, more than 50 %" in held["log"]
    assert "Users: 1 repeated row merged" in held["log"]


async def test_one_page_of_several_does_not_remove_the_other_records(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    first = '{"totalResults": %d, "Resources": [{"Username": "ada"}, {"Username": "bob"}]}'
    await imports.finish(application, {"Users": "Username\nada\nbob\ncem\n"})

    held = await imports.run(application, {"Users": first % 3})

    assert held["status"] == "Running"
    assert "Held: it would remove 1 account, and users.csv: it looks like one page of several" in held["log"]
    assert "because totalResults is 3, but the number of records is 2" in held["log"]


async def test_import_of_a_whole_api_list_is_not_held(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": "Username\nada\nbob\ncem\n"})

    await imports.finish(application, {"Users": '{"totalResults": 1, "Resources": [{"Username": "ada"}]}'})


async def test_log_of_a_first_import_reports_missing_pages(imports: Imports, db: Db) -> None:
    text = '{"value": [{"Username": "ada"}], "@odata.nextLink": "https://example.com/users?$skiptoken=x"}'

    run = await imports.finish(await an_application(db), {"Users": text})

    why = "@odata.nextLink of the last exported page says that more pages follow"
    assert f"one page of several, because {why}; export all pages" in run["log"]


async def test_open_questions_of_a_proposal_hold_every_import(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    question = "status is blank in 1 row. Does a blank cell mean active?"
    shape = {"openQuestions": [question]}
    group = {"name": "Users", "content": "users", "shape": shape}
    body = {"name": "Travel", "connector": {"name": "Files", "files": [group]}}
    application = UUID((await client.post("/api/applications", json=body)).json()["id"])

    held = await imports.run(application, {"Users": "Username,Status\nada,Active\nbob,\n"})

    assert held["status"] == "Running"
    assert f"Held: its connector has open questions: {question}" in held["log"]
    await client.post(f"/api/application-imports/{held['id']}/continue")
    await imports.work()
    assert (await client.get(f"/api/application-imports/{held['id']}")).json()["status"] == "Finished"


async def test_more_rejected_rows_than_before_do_not_remove_accounts(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    group = {"name": "Users", "content": "users", "allowRejects": True}
    body = {"name": "Travel", "connector": {"name": "Files", "files": [group]}}
    application = UUID((await client.post("/api/applications", json=body)).json()["id"])
    run = await imports.finish(application, {"Users": "Username,Active\nada,Yes\nbob,Yes\nTotal,2 users\n"})
    assert "1 rejected" in run["log"]
    # One rejected row, as before: the row with the total.
    await imports.finish(application, {"Users": "Username,Active\nada,Yes\nTotal,1 users\n"})

    held = await imports.run(application, {"Users": "Username,Active\nada,Dormant\nTotal,1 users\ncy,Yes\n"})

    assert "Held: it would remove 1 account, and it rejects 2 rows (previous import: 1)" in held["log"]


async def test_small_applications_are_not_guarded(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": users(*range(99))})

    await imports.finish(application, {"Users": users(1)})


async def test_guard_of_the_application_takes_precedence_over_the_settings(imports: Imports, db: Db) -> None:
    application = await an_application(db, guard={"minCount": 2, "maxRemovedPercent": 0})
    await imports.finish(application, {"Users": users(1, 2)})

    held = await imports.run(application, {"Users": users(1)})

    assert held["status"] == "Running"


async def test_application_without_a_guard_uses_the_settings(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    plain = await an_application(db)
    own = await an_application(db, "Ledger", guard={"minCount": 100})
    answer = await client.patch("/api/settings", json={"guard": {"minCount": 2, "maxRemovedPercent": 10}})
    assert answer.json()["guard"] == {"maxRemovedPercent": 10, "maxNewPercent": 50, "minCount": 2}
    for application in (plain, own):
        await imports.finish(application, {"Users": users(*range(8))})

    held = await imports.run(plain, {"Users": users(*range(7))})
    await imports.finish(own, {"Users": users(*range(7))})

    assert "Held: it would remove 1 of 8 accounts, more than 10 %" in held["log"]


async def test_application_whose_guard_is_removed_uses_the_settings(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db, guard={"minCount": 2, "maxRemovedPercent": 0})
    await imports.finish(application, {"Users": users(1, 2)})

    assert (await client.patch(f"/api/applications/{application}", json={"guard": None})).status_code == 200
    await imports.finish(application, {"Users": users(1)})

    shown = (await client.get(f"/api/applications/{application}/configuration")).json()
    assert shown["guard"] is None


async def a_held_import(imports: Imports, db: Db) -> tuple[UUID, str]:
    application = await an_application(db)
    await imports.finish(application, {"Users": users(*range(100))})
    return application, (await imports.run(application, {"Users": users(1)}))["id"]


async def test_person_can_continue_a_held_import(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    _, id = await a_held_import(imports, db)

    answer = await client.post(f"/api/application-imports/{id}/continue")
    await imports.work()

    assert (answer.status_code, answer.json()["status"]) == (200, "Running")
    run = await imports.get(id)
    assert run["status"] == "Finished"
    assert run["metrics"]["users"] == {"total": 1, "new": 0, "altered": 0, "removed": 99}


async def test_only_a_held_import_can_be_continued(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    run = await imports.finish(await an_application(db), {"Users": users(1)})

    answer = await client.post(f"/api/application-imports/{run['id']}/continue")

    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")


async def test_held_import_can_be_canceled(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application, id = await a_held_import(imports, db)

    answer = await client.post("/api/application-imports/cancel", json={"applicationImportId": id})
    await imports.work()

    assert answer.json()["status"] == "Canceling"
    run = await imports.get(id)
    assert (run["status"], run["log"].splitlines()[-1][21:]) == ("Canceled", "Canceled")
    await imports.finish(application, {"Users": users(*range(100))})


async def test_later_imports_wait_for_a_held_import(imports: Imports, db: Db) -> None:
    application, _ = await a_held_import(imports, db)

    run = await imports.run(application, {"Users": users(*range(100))})

    assert run["status"] == "Pending"
