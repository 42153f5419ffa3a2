from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.builders import CONNECTOR, FILES, an_application, an_identity

SCHEDULE = {"cron": "0 6 * * *", "locations": {"Users": "users.csv"}}


async def change(client: httpx2.AsyncClient, id: object, **fields: Any) -> httpx2.Response:
    return await client.patch(f"/api/applications/{id}", json=fields)


def problems(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]


async def schedule_of(db: Db, id: UUID) -> list[Any]:
    return await fetch_rows(db, "SELECT cron, locations FROM schedules WHERE application_id = %(id)s", id=id)


async def test_only_given_fields_change(client: httpx2.AsyncClient, db: Db) -> None:
    owner = await an_identity(db)
    id = await an_application(db, priority="Low", schedule=SCHEDULE, ownerId=str(owner), guard={"minCount": 7})
    before = (await client.get(f"/api/applications/{id}")).json()
    later = datetime.now(UTC) + timedelta(days=1)
    clock.travel_to(later)

    answer = await change(client, id, name="Wages", guard={"maxNewPercent": 80})

    assert answer.status_code == 200
    assert later <= datetime.fromisoformat(answer.json()["lastUpdated"]) < later + timedelta(minutes=1)
    assert answer.json() == {**before, "name": "Wages", "lastUpdated": answer.json()["lastUpdated"]}
    row = await fetch_rows(db, "SELECT owner_id, guard FROM applications")
    assert row == [(owner, {"maxRemovedPercent": 20, "maxNewPercent": 80, "minCount": 7})]
    assert await schedule_of(db, id) == [("0 6 * * *", {"Users": "users.csv"})]


async def test_archiving_can_be_undone(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)

    assert (await change(client, id, isArchived=True)).json()["isArchived"] is True
    assert (await change(client, id, isArchived=False)).json()["isArchived"] is False


async def test_file_group_keeps_its_id_as_long_as_it_keeps_its_name(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    before = (await client.get(f"/api/applications/{id}")).json()["connector"]
    ids = {file["name"]: file["fileGroupId"] for file in before["files"]}
    files = [
        {"name": "Roles", "content": "groups"},
        {**FILES[3], "isOptional": False},
        {**FILES[0], "isMultiple": True, "columns": {"Logon": "Username"}},
    ]

    after = (await change(client, id, connector={"name": "New", "vendor": "Acme", "files": files})).json()["connector"]

    assert (after["id"], after["name"], after["vendor"]) == (before["id"], "New", "Acme")
    assert [(file["name"], file["isOptional"], file["isMultiple"]) for file in after["files"]] == [
        ("Roles", False, False),
        ("Permissions", False, True),
        ("Users", False, True),
    ]
    kept = {file["name"]: file["fileGroupId"] for file in after["files"]}
    assert (kept["Users"], kept["Permissions"]) == (ids["Users"], ids["Permissions"])
    assert kept["Roles"] not in ids.values()
    assert await fetch_value(db, "SELECT count(*) FROM file_groups") == 3


async def test_null_removes_connector_schedule_and_owner(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, schedule=SCHEDULE, ownerId=str(await an_identity(db)))

    answer = await change(client, id, connector=None, schedule=None, ownerId=None)

    assert answer.json()["connector"] is None
    assert await schedule_of(db, id) == []
    assert await fetch_value(db, "SELECT owner_id FROM applications") is None
    assert await fetch_value(db, "SELECT count(*) FROM file_groups") == 0


async def test_null_keeps_required_fields(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, "Payroll", priority="High")

    answer = await change(client, id, name=None, priority=None, isArchived=None)

    assert (answer.json()["name"], answer.json()["priority"], answer.json()["isArchived"]) == ("Payroll", "High", False)


async def test_new_connector_must_fit_the_schedule(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, schedule=SCHEDULE)
    renamed = {**CONNECTOR, "files": [{**FILES[0], "name": "People"}]}

    alone = await change(client, id, connector=renamed)
    gone = await change(client, id, connector=None)
    both = await change(client, id, connector=renamed, schedule={**SCHEDULE, "locations": {"People": "users.csv"}})

    assert problems(gone) == [("connector", "The schedule has a location for Users; remove the location first")]
    missing = ("connector", "The schedule has no location for People; change the schedule too")
    assert problems(alone) == [*problems(gone), missing]
    assert both.status_code == 200
    assert await schedule_of(db, id) == [("0 6 * * *", {"People": "users.csv"})]


async def test_new_schedule_must_fit_the_connector(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)

    unknown = await change(client, id, schedule={**SCHEDULE, "locations": {"Badges": "x"}})

    assert problems(unknown) == [
        (
            "schedule.locations.Badges",
            "The connector has no file group Badges; use one of Users, Groups, Memberships, Permissions",
        ),
        ("schedule.locations.Users", "Required location missing: Users"),
    ]
    assert (await change(client, id, schedule=SCHEDULE)).status_code == 200


async def test_application_with_an_identities_file_must_stay_an_identity_source(
    client: httpx2.AsyncClient, db: Db
) -> None:
    files = [{"name": "People", "content": "identities"}]
    id = await an_application(db, isIdentitySource=True, connector={**CONNECTOR, "files": files})

    answer = await change(client, id, isIdentitySource=False)

    message = "A file of identities requires an identity source; mark the application as one"
    assert problems(answer) == [("isIdentitySource", message)]


async def test_invalid_change_reports_all_errors_and_changes_nothing(client: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db, "Ledger")
    id = await an_application(db, "Payroll")
    unknown = str(uuid4())

    blank = await change(client, id, name=" ", ownerId=unknown, isArchived="yes")
    taken = await change(client, id, name="Ledger", priority="High")

    assert problems(blank) == [
        ("ownerId", f"Identity with id {unknown} not found"),
        ("name", "Name must not be blank"),
        ("isArchived", "Is archived must be true or false"),
    ]
    assert problems(taken) == [("name", "An application named Ledger already exists; choose another name")]
    assert (await client.get(f"/api/applications/{id}")).json()["priority"] == "None"
    assert (await change(client, id, name="Payroll")).status_code == 200


async def test_unknown_application_is_not_found(client: httpx2.AsyncClient) -> None:
    for id in (str(uuid4()), "nonsense"):
        answer = await change(client, id, name="X")

        assert answer.status_code == 404
        assert answer.json()["message"] == f"Application with id {id} not found"
