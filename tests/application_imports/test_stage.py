from uuid import uuid4

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_application

PATH = "/api/application-imports/stage"
SCHEDULE = {"cron": "0 6 * * *", "locations": {"Users": "users.csv"}}


def problems(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]


async def test_staging_returns_the_pending_import_without_files_and_application(
    client: httpx2.AsyncClient, db: Db
) -> None:
    id = await an_application(db, schedule=SCHEDULE)

    answer = await client.post(PATH, json={"applicationId": str(id)})

    assert answer.status_code == 201
    run = answer.json()
    assert {**run, "id": "…"} == {
        "id": "…",
        "kind": "Application Import",
        "number": 1,
        "type": "API",
        "status": "Pending",
        "createdBy": "API Token - tests",
        "buildStart": None,
        "buildEnd": None,
        "log": None,
        "files": [],
        "metrics": None,
    }
    assert list(run) == [
        "id", "kind", "number", "type", "status", "createdBy", "buildStart", "buildEnd", "log", "files", "metrics",
    ]  # fmt: skip


async def test_imports_of_all_applications_are_numbered_together(client: httpx2.AsyncClient, db: Db) -> None:
    ids = [await an_application(db, name, schedule=SCHEDULE) for name in ("A", "B")]

    answers = [await client.post(PATH, json={"applicationId": str(id)}) for id in (*ids, *ids)]

    assert [answer.json()["number"] for answer in answers] == [1, 2, 3, 4]


async def test_all_problems_are_reported_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, isArchived=True)

    answer = await client.post(PATH, json={"applicationId": str(id)})

    assert problems(answer) == [
        ("applicationId", "Application is archived"),
        ("applicationId", "Application has no import schedule; add a schedule or a live source"),
    ]


async def test_archived_application_is_refused(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, isArchived=True, schedule=SCHEDULE)

    answer = await client.post(PATH, json={"applicationId": str(id)})

    assert answer.json() == {
        "error": "validation_error",
        "message": "One or more validation errors occurred",
        "correlationId": answer.headers["X-Correlation-Id"],
        "errors": [{"field": "applicationId", "message": "Application is archived"}],
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Application ID is required"),
        ({"applicationId": None}, "Application ID is required"),
        ({"applicationId": ""}, "Application ID is required"),
        ({"applicationId": "nonsense"}, "Application ID must be a GUID"),
        ({"applicationId": 7}, "Application ID must be a GUID"),
    ],
)
async def test_application_id_is_required_and_must_be_a_guid(
    client: httpx2.AsyncClient, body: dict[str, object], message: str
) -> None:
    assert problems(await client.post(PATH, json=body)) == [("applicationId", message)]


async def test_application_must_exist(client: httpx2.AsyncClient) -> None:
    unknown = str(uuid4())

    answer = await client.post(PATH, json={"applicationId": unknown})

    assert problems(answer) == [("applicationId", f"Application with id {unknown} not found")]
