import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from rolecall.core.db import Db, fetch_rows
from tests.builders import CONNECTOR, FILES, a_token, an_application, an_identity

PATH = "/api/applications"


def problems(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]


def with_file(**fields: Any) -> dict[str, Any]:
    return {"name": "Payroll", "connector": {**CONNECTOR, "files": [{**FILES[0], **fields}]}}


async def test_all_given_fields_are_stored(client: httpx2.AsyncClient, db: Db) -> None:
    owner, provisioner = await an_identity(db), await an_identity(db, "Grace", "Hopper")
    users = {
        "name": "People",
        "content": "Users",
        "columns": {"LOGON": "user_name", "Mail": "E-Mail"},
        "encoding": "Windows-1252",
        "allowRejects": True,
    }

    answer = await client.post(
        PATH,
        json={
            "name": "Ledger",
            "priority": "critical",
            "isIdentitySource": False,
            "connector": {"name": "Ledger export", "vendor": "Acme", "files": [users, FILES[3]]},
            "schedule": {"cron": "0 6 * * 1-5", "locations": {"People": "exports/users-*.csv"}},
            "ownerId": str(owner),
            "provisionerIds": [str(provisioner)],
            "guard": {"maxRemovedPercent": 12.5, "minCount": 10},
        },
    )

    assert answer.status_code == 201, answer.text
    application = answer.json()
    assert list(application) == [
        "id", "kind", "name", "priority", "isArchived", "lastUpdated", "connector", "lastImport",
    ]  # fmt: skip
    assert (application["name"], application["priority"], application["isArchived"]) == ("Ledger", "Critical", False)
    assert application["connector"]["vendor"] == "Acme"
    assert [file["name"] for file in application["connector"]["files"]] == ["People", "Permissions"]
    assert application["lastImport"] is None
    assert (await client.get(f"{PATH}/{application['id']}")).json() == application
    row = await fetch_rows(
        db,
        """SELECT a.owner_id, a.provisioner_ids, a.guard, s.cron, s.locations, g.content, g.columns, g.encoding,
                  g.allow_rejects
           FROM applications a JOIN schedules s ON s.application_id = a.id JOIN connectors c ON c.application_id = a.id
           JOIN file_groups g ON g.connector_id = c.id AND g.name = 'People' WHERE a.id = %(id)s""",
        id=UUID(application["id"]),
    )
    assert row == [
        (
            owner,
            [provisioner],
            {"maxRemovedPercent": 12.5, "maxNewPercent": 50, "minCount": 10},
            "0 6 * * 1-5",
            {"People": "exports/users-*.csv"},
            "users",
            {"LOGON": "Username", "Mail": "Email"},
            "cp1252",
            True,
        )
    ]


async def test_only_the_name_is_required(client: httpx2.AsyncClient) -> None:
    answer = await client.post(PATH, json={"name": "Badges", "priority": None, "connector": None})

    assert answer.status_code == 201
    assert (answer.json()["priority"], answer.json()["connector"]) == ("None", None)


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    unknown = str(uuid4())

    answer = await client.post(
        PATH,
        json={
            "name": " ",
            "priority": "Urgent",
            "isIdentitySource": "perhaps",
            "connector": {
                "vendor": "v" * 257,
                "files": [
                    {"name": "Users", "content": "people"},
                    {"content": "identities", "isOptional": 1, "encoding": "klingon"},
                    {"name": "Groups", "content": "groups", "columns": {"Boss": "Supervisor"}},
                ],
            },
            "schedule": {"cron": "every day", "locations": {"Users": " ", "Badges": "x"}},
            "ownerId": unknown,
            "provisionerIds": [unknown, "nonsense"],
            "guard": {"maxRemovedPercent": 101, "maxNewPercent": "many", "minCount": -1},
        },
    )

    assert sorted(problems(answer)) == sorted(
        [
            ("name", "Name is required"),
            ("priority", "Priority must be one of None, Low, Moderate, High, Critical"),
            ("isIdentitySource", "Is identity source must be true or false"),
            ("connector.name", "Name is required"),
            ("connector.vendor", "Vendor must be at most 256 characters"),
            (
                "connector.files.0.content",
                "Content must be one of users, groups, memberships, permissions, identities",
            ),
            ("connector.files.1.name", "Name is required"),
            ("connector.files.1.isOptional", "Is optional must be true or false"),
            ("connector.files.1.encoding", "Encoding must be a character encoding such as windows-1252"),
            (
                "connector.files.2.columns",
                "Supervisor is not a field of groups; use one of Group, Description, Nomenclature, Parent",
            ),
            ("schedule.cron", "Cron must be a cron expression such as 0 6 * * 1-5"),
            ("schedule.locations.Users", "Users must not be blank"),
            ("schedule.locations.Badges", "The connector has no file group Badges; use one of Users, Groups"),
            ("schedule.locations.Groups", "Required location missing: Groups"),
            ("isIdentitySource", "A file of identities requires an identity source; mark the application as one"),
            ("ownerId", f"Identity with id {unknown} not found"),
            ("provisionerIds.0", f"Identity with id {unknown} not found"),
            ("provisionerIds.1", "Provisioner ids must be a GUID"),
            ("guard.maxRemovedPercent", "Max removed percent must be at most 100"),
            ("guard.maxNewPercent", "Max new percent must be a number"),
            ("guard.minCount", "Min count must be at least 0"),
        ]
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"columns": {"A": "Username", "B": "USERNAME"}},
            ("columns", "Two headers are mapped to Username; remove one of them"),
        ),
        (
            {"columns": {"Log On": "Username", "log-on": "Name"}},
            ("columns", "Header logon is mapped twice; remove one"),
        ),
        ({"columns": {"A\x00": "Username"}}, ("columns", "Columns must not contain NUL characters")),
        ({"columns": ["Username"]}, ("columns", "Columns must be an object")),
        ({"columns": {"": 1}}, ("columns.", "Columns must be a string")),
        ({"encoding": "zip"}, ("encoding", "Encoding must be a character encoding such as windows-1252")),
        ({"encoding": "utf-8\x00"}, ("encoding", "Encoding must be a character encoding such as windows-1252")),
    ],
)
async def test_file_group_accepts_only_known_contents_and_columns(
    client: httpx2.AsyncClient, fields: dict[str, Any], problem: tuple[str, str]
) -> None:
    answer = await client.post(PATH, json=with_file(**fields))

    assert problems(answer) == [(f"connector.files.0.{problem[0]}", problem[1])]


async def test_headers_of_a_field_may_differ_between_several_files(client: httpx2.AsyncClient) -> None:
    columns = {"UNAME": "Username", "BNAME": "Username", "AGR_NAME": "Group", "PROFILE": "Group"}
    fields = {"content": "memberships", "columns": columns}

    refused = await client.post(PATH, json=with_file(**fields, isMultiple=False))
    made = await client.post(PATH, json=with_file(**fields, isMultiple=True))

    said = "Two headers are mapped to Username; remove one of them"
    assert problems(refused) == [("connector.files.0.columns", said)]
    assert made.status_code == 201


async def test_two_file_groups_cannot_have_the_same_name_or_content(client: httpx2.AsyncClient) -> None:
    named = await client.post(PATH, json={"name": "A", "connector": {"name": "C", "files": [FILES[0], FILES[0]]}})
    others = [FILES[0], {**FILES[0], "name": "More users"}]
    held = await client.post(PATH, json={"name": "A", "connector": {"name": "C", "files": others}})

    assert problems(named) == [("connector.files", "Two file groups are named Users; rename one")]
    said = "Two file groups contain users; allow several files in one group instead"
    assert problems(held) == [("connector.files", said)]


async def test_names_are_unique(client: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db, "Payroll")

    answer = await client.post(PATH, json={"name": "Payroll", "priority": "Urgent"})

    assert problems(answer) == [
        ("priority", "Priority must be one of None, Low, Moderate, High, Critical"),
        ("name", "An application named Payroll already exists; choose another name"),
    ]


async def test_concurrent_requests_with_the_same_name_create_one_application(client: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(client.post(PATH, json={"name": "Payroll"}) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [201] + [400] * 7
    refused = [answer for answer in answers if answer.status_code == 400]
    assert {tuple(problems(answer)) for answer in refused} == {
        (("name", "An application named Payroll already exists; choose another name"),)
    }


async def test_identity_source_accepts_an_identities_file(client: httpx2.AsyncClient) -> None:
    files = [{"name": "People", "content": "identities", "columns": {"Kostenstelle": "custom field 9"}}]

    answer = await client.post(
        PATH, json={"name": "HR", "isIdentitySource": True, "connector": {"name": "HR file", "files": files}}
    )

    assert answer.status_code == 201, answer.text


async def test_creating_needs_the_scope(client: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, scopes=["applications:read"])

    answer = await client.post(PATH, json={"name": "X"}, headers={"Authorization": f"Bearer {token.secret}"})

    assert answer.status_code == 403


@pytest.mark.parametrize("cron", ["0 6 31 2 *", "0 6 30 2 *", "0 6 31 4,6,9,11 *"])
async def test_schedule_that_never_fires_is_rejected(client: httpx2.AsyncClient, cron: str) -> None:
    answer = await client.post(PATH, json={"name": "Payroll", "schedule": {"cron": cron}})

    said = "Cron never fires: there is no such day in that month; choose another day"
    assert problems(answer) == [("schedule.cron", said)]


@pytest.mark.parametrize("cron", ["0 6 29 2 *", "0 6 31 2 1", "0 6 * * 1#5"])
async def test_schedule_that_fires_rarely_is_accepted(client: httpx2.AsyncClient, cron: str) -> None:
    assert (await client.post(PATH, json={"name": "Payroll", "schedule": {"cron": cron}})).status_code == 201


async def test_schedule_needs_a_location_for_every_required_file(client: httpx2.AsyncClient, db: Db) -> None:
    files = [FILES[0], {**FILES[1], "isOptional": False}, FILES[2]]
    body = {"name": "Payroll", "connector": {**CONNECTOR, "files": files}}
    part = {"cron": "0 6 * * *", "locations": {"Users": "users.csv"}}

    some = await client.post(PATH, json={**body, "schedule": part})
    none = await client.post(PATH, json={**body, "schedule": {"cron": "0 6 * * *"}})
    wiki = await an_application(db, "Wiki", schedule=part)
    grown = await client.patch(f"{PATH}/{wiki}", json={"connector": body["connector"]})
    other = await client.patch(f"{PATH}/{wiki}", json={"priority": "High"})

    assert problems(some) == [("schedule.locations.Groups", "Required location missing: Groups")]
    assert problems(grown) == [("connector", "The schedule has no location for Groups; change the schedule too")]
    assert (none.status_code, other.status_code) == (201, 200)


async def test_names_cannot_differ_only_by_surrounding_spaces(client: httpx2.AsyncClient) -> None:
    groups = [{**FILES[0], "name": " People "}, {**FILES[1], "name": "People"}]
    first = await client.post(PATH, json={"name": " Payroll\t"})
    assert first.json()["name"] == "Payroll"

    again = await client.post(PATH, json={"name": "Payroll ", "connector": {**CONNECTOR, "files": groups}})

    assert sorted(problems(again)) == [
        ("connector.files", "Two file groups are named People; rename one"),
        ("name", "An application named Payroll already exists; choose another name"),
    ]


async def test_location_ignores_spaces_around_its_file_group(client: httpx2.AsyncClient, db: Db) -> None:
    connector = {**CONNECTOR, "files": [{**FILES[0], "name": "People "}]}
    schedule = {"cron": "0 6 * * *", "locations": {" People": "people.csv"}}

    answer = await client.post(PATH, json={"name": "Payroll", "connector": connector, "schedule": schedule})

    assert answer.status_code == 201, answer.text
    assert await fetch_rows(db, "SELECT locations FROM schedules") == [({"People": "people.csv"},)]
