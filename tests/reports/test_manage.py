import subprocess
import sys
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.reports.lists import known_lists
from tests.asgi import serving
from tests.builders import a_token, an_identity
from tests.reports.reporting import a_report, rows_of, shipped

SHIPPED = [
    "Application roster",
    "Approvals of a period",
    "Changes of a period",
    "Dormant accounts",
    "Everyone's access",
    "Exceptions of conflicts",
    "Leavers' accounts",
    "Open conflicts of duties",
    "Privileged access",
    "Unexplained access",
    "Unmatched accounts",
]


def problems(answer: httpx2.Response) -> dict[str, str]:
    assert answer.status_code == 400, answer.text
    return {problem["field"]: problem["message"] for problem in answer.json()["errors"]}


async def test_every_shipped_report_runs(client: httpx2.AsyncClient, db: Db) -> None:
    found = await shipped(client, db)

    assert sorted(found) == SHIPPED
    for report in found.values():
        assert await rows_of(client, report["id"]) == []


async def test_shipping_again_does_not_restore_deleted_reports(client: httpx2.AsyncClient, db: Db) -> None:
    found = await shipped(client, db)
    await client.delete(f"/api/reports/{found['Dormant accounts']['id']}")

    assert "Dormant accounts" not in await shipped(client, db)


async def test_run_applies_the_filters_and_columns_of_the_report(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Ada", "Lovelace", department="Finance")
    await an_identity(db, "Grace", "Hopper")
    report = await a_report(client, "search-identities", filters={"q": "Lovelace"}, columns=["lastName", "department"])

    answer = await client.post(f"/api/reports/{report['id']}/run")

    assert answer.text == "lastName,department\r\nLovelace,Finance\r\n"
    assert answer.headers["content-disposition"].startswith('attachment; filename="people.csv"')
    run = (await client.get(f"/api/exports/{answer.headers['x-export-id']}")).json()
    assert (run["reportId"], run["status"], run["rowCount"], run["location"]) == (report["id"], "Finished", 1, None)
    runs = (await client.get(f"/api/reports/{report['id']}/runs")).json()
    assert runs["items"] == [run]
    assert (await client.get(f"/api/reports/{report['id']}")).json()["lastRun"] == run


async def test_run_can_override_filters_and_format(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Ada", "Lovelace")
    report = await a_report(client, "search-identities", filters={"q": "Nobody"})

    assert await rows_of(client, report["id"]) == []
    assert len(await rows_of(client, report["id"], q="Lovelace")) == 1


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"list": "unicorns"}, "list", "There is no list named unicorns; use one of access, access-changes, "),
        ({"filters": {"colour": "red"}}, "filters.colour", "The list access-requests has no filter colour; use "),
        ({"filters": {"status": "odd"}}, "filters.status", "Status must be one of "),
        ({"columns": ["colour"]}, "columns", "The list access-requests has no column colour"),
        ({"columns": ["id", "id"]}, "columns", "Columns must not contain duplicates"),
        ({"period": "Tomorrow"}, "period", "Period must be one of Now, Yesterday, "),
        ({"period": "LastMonth"}, "period", "The list access-requests has no history; set the period to Now"),
        ({"format": "pdf"}, "format", "Format must be one of csv, xlsx, jsonl, parquet"),
        ({"list": "access-changes"}, "filters.from", "From is required"),
        ({"list": "accounts"}, "filters.id", "ID is required"),
        ({"schedule": {"cron": "often", "location": "/x"}}, "schedule.cron", "Cron must be a cron expression such as "),
        ({"schedule": {"cron": "0 6 * * *"}}, "schedule.location", "Location is required"),
        (
            {"schedule": {"cron": "0 6 * * *", "location": "/srv"}},
            "schedule.location",
            "No location for reports is allowed yet",
        ),
        ({"ownerId": "00000000-0000-4000-8000-000000000000"}, "ownerId", "Identity with id "),
        ({"name": " "}, "name", "Name is required"),
    ],
)
async def test_invalid_report_is_refused(
    client: httpx2.AsyncClient, db: Db, fields: dict[str, Any], field: str, message: str
) -> None:
    answer = await client.post("/api/reports", json={"name": "Odd", "list": "access-requests", **fields})

    assert problems(answer)[field].startswith(message)
    assert await fetch_value(db, "SELECT count(*) FROM reports") == 0


async def test_names_are_unique_ignoring_case(client: httpx2.AsyncClient) -> None:
    first = await a_report(client)
    answer = await client.post("/api/reports", json={"name": "PEOPLE", "list": "identities"})

    assert problems(answer) == {"name": "A report named PEOPLE already exists; choose another name"}
    await client.delete(f"/api/reports/{first['id']}")
    await a_report(client)


async def test_change_keeps_omitted_fields(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    report = await a_report(client, "search-identities", filters={"q": "Ada"}, ownerId=str(ada), description="All")
    path = f"/api/reports/{report['id']}"

    changed = (await client.patch(path, json={"format": "xlsx", "name": "Adas"})).json()

    assert changed == {**report, "format": "xlsx", "name": "Adas"}
    assert changed["owner"] == {"id": str(ada), "name": "Ada Lovelace"}
    assert (await client.patch(path, json={"ownerId": None})).json()["owner"] is None


async def test_deleted_report_is_not_found_but_its_runs_remain(client: httpx2.AsyncClient) -> None:
    report = await a_report(client)
    path = f"/api/reports/{report['id']}"
    run = (await client.post(f"{path}/run")).headers["x-export-id"]

    assert (await client.delete(path)).status_code == 204

    for method, end in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/run"),
        ("POST", "/write"),
        ("GET", "/runs"),
    ):
        json: dict[str, Any] | None = {} if method == "PATCH" else None
        assert (await client.request(method, path + end, json=json)).status_code == 404
    assert (await client.get(f"/api/exports/{run}")).json()["reportId"] == report["id"]


async def test_running_and_saving_need_the_scope_of_the_list(client: httpx2.AsyncClient, db: Db) -> None:
    report = await a_report(client, "audit-events", "Who did what")
    some = await a_token(db, "some", scopes=["applications:read", "config:manage"])
    headers = {"Authorization": f"Bearer {some.secret}"}

    answers = [
        await client.post(f"/api/reports/{report['id']}/run", headers=headers),
        await client.post("/api/reports", json={"name": "Mine", "list": "audit-events"}, headers=headers),
        await client.patch(f"/api/reports/{report['id']}", json={"name": "Mine"}, headers=headers),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert answers[0].json()["message"] == "The token lacks the scope audit:read"
    assert await fetch_value(db, "SELECT count(*) FROM exports") == 0
    assert (await client.get(f"/api/reports/{report['id']}", headers=headers)).json()["name"] == "Who did what"


async def test_revoked_token_cannot_run_a_report(client: httpx2.AsyncClient, db: Db) -> None:
    report = await a_report(client)
    await execute(db, "UPDATE tokens SET revoked_at = now()")

    assert (await client.post(f"/api/reports/{report['id']}/run")).status_code == 401


@pytest.mark.parametrize("name", known_lists())
async def test_every_list_can_be_saved_as_a_report_or_names_its_required_filters(
    client: httpx2.AsyncClient, name: str
) -> None:
    answer = await client.post("/api/reports", json={"name": name, "list": name})

    if answer.status_code != 201:
        assert set(problems(answer)) <= {"filters.id", "filters.from", "filters.q"}


def test_a_worker_knows_every_list_that_the_api_knows() -> None:
    known = "from rolecall.reports.lists import known_lists; print(*known_lists())"
    lists = [
        subprocess.run(
            [sys.executable, "-c", f"import rolecall.{process}; {known}"], capture_output=True, text=True, check=True
        ).stdout.split()
        for process in ("worker", "app")
    ]

    assert lists[0] == lists[1]


@pytest.mark.parametrize(
    ("list", "filters", "field", "message"),
    [
        ("access", {"asOf": "2999-01-01"}, "filters.asOf", "As of must not be in the future"),
        ("access", {"asOf": "99"}, "filters.asOf", "No import has the number 99; write a date as 2026-03-01"),
        (
            "access-changes",
            {"from": "2026-05-01", "until": "2026-04-30"},
            "filters.until",
            "Until must be after the start of the period (from)",
        ),
        ("holders", {"id": "nonsense"}, "filters.id", "Entitlement with id nonsense not found"),
    ],
)
async def test_report_with_impossible_filters_is_not_saved(
    client: httpx2.AsyncClient, list: str, filters: dict[str, str], field: str, message: str
) -> None:
    answer = await client.post("/api/reports", json={"name": "Never", "list": list, "filters": filters})

    assert problems(answer) == {field: message}
    assert (await client.get("/api/reports")).json()["items"] == []


async def test_a_location_must_be_inside_the_roots(db: Db, config: Config, token: str, tmp_path: Any) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "out").symlink_to("/")
    roots = (str(tmp_path / "reports"), "s3://bucket/reports")
    async with serving(replace(config, report_roots=roots)) as client:
        client.headers["Authorization"] = f"Bearer {token}"

        async def said(location: str) -> str | None:
            schedule = {"cron": "0 6 * * *", "location": location}
            body = {"name": location[-60:], "list": "tokens", "schedule": schedule}
            answer = await client.post("/api/reports", json=body)
            return None if answer.status_code == 201 else problems(answer)["schedule.location"]

        outside = (
            "Location is outside of ROLECALL_REPORT_ROOTS; choose a folder inside, or ask the operator to add this one"
        )
        assert await said(str(tmp_path / "reports")) is None
        monthly = tmp_path / "reports" / "monthly"
        assert await said(str(monthly)) == "Location must be a folder that exists; create it first"
        assert await said(str(monthly / ("x" * 400))) == "Location must be a folder that exists; create it first"
        monthly.mkdir()
        assert await said(str(monthly)) is None
        for location in ("/etc", str(tmp_path / "reports/../out"), str(tmp_path / "reportsx"), "s3://bucket/other"):
            assert await said(location) == outside
        assert await said("file:///etc") == outside
        assert await said("s3://user:secret@bucket/reports") == "Location must not contain a password"
