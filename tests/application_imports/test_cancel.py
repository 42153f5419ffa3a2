import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from rolecall.application_imports.actions import finish_canceling
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value, make_pool
from tests.builders import an_application, an_import

PATH = "/api/application-imports/cancel"
FIELDS = [
    "id", "kind", "number", "type", "status", "createdBy", "buildStart", "buildEnd", "log", "files", "metrics",
    "application",
]  # fmt: skip


async def cancel(client: httpx2.AsyncClient, id: object) -> httpx2.Response:
    return await client.post(PATH, json={"applicationImportId": str(id)})


def problems(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]


@pytest.mark.parametrize("status", ["Pending", "Running"])
async def test_canceling_an_unfinished_import_moves_it_to_canceling(
    client: httpx2.AsyncClient, db: Db, status: str
) -> None:
    application_id = await an_application(db, "Payroll")
    id = await an_import(db, application_id, status)

    answer = await cancel(client, id)

    assert answer.status_code == 200
    run = answer.json()
    assert list(run) == FIELDS
    assert (run["id"], run["status"], run["buildEnd"], run["metrics"]) == (str(id), "Canceling", None, None)
    assert list(run["application"]) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    assert (run["application"]["id"], run["application"]["name"]) == (str(application_id), "Payroll")


@pytest.mark.parametrize("status", ["Finished", "Failed", "Canceled", "Canceling"])
async def test_ended_or_canceling_import_cannot_be_canceled(client: httpx2.AsyncClient, db: Db, status: str) -> None:
    id = await an_import(db, status=status)

    answer = await cancel(client, id)

    assert problems(answer) == [("applicationImportId", f"Application import is already {status}")]
    assert await fetch_value(db, "SELECT status FROM application_imports") == status


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Application import ID is required"),
        ({"applicationImportId": None}, "Application import ID is required"),
        ({"applicationImportId": ""}, "Application import ID is required"),
        ({"applicationImportId": "nonsense"}, "Application import ID must be a GUID"),
    ],
)
async def test_cancel_requires_an_import_id(client: httpx2.AsyncClient, body: dict[str, object], message: str) -> None:
    assert problems(await client.post(PATH, json=body)) == [("applicationImportId", message)]


async def test_cancel_of_an_unknown_import_is_refused(client: httpx2.AsyncClient) -> None:
    unknown = str(uuid4())

    answer = await cancel(client, unknown)

    assert problems(answer) == [("applicationImportId", f"ApplicationImport with id {unknown} not found")]


async def test_only_one_of_many_concurrent_cancels_succeeds(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_import(db)

    answers = await asyncio.gather(*(cancel(client, id) for _ in range(20)))

    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) == 19
    assert {tuple(problems(answer)) for answer in refused} == {
        (("applicationImportId", "Application import is already Canceling"),)
    }


async def finish(config: Config, now: datetime) -> None:
    async with make_pool(config) as pool:
        await finish_canceling(pool, config, now)


async def test_worker_ends_an_import_that_was_canceled_before_it_started(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    id, other = await an_import(db), await an_import(db)
    await cancel(client, id)

    await finish(config, datetime(2026, 12, 1, 8, 0, tzinfo=UTC))

    run = (await client.get(f"/api/application-imports/{id}")).json()
    assert (run["status"], run["buildStart"], run["buildEnd"]) == ("Canceled", None, "2026-12-01T08:00:00Z")
    assert run["log"] == "2026-12-01T08:00:00Z Canceled before it started"
    assert (await client.get(f"/api/application-imports/{other}")).json()["status"] == "Pending"


async def test_running_import_is_not_ended_by_the_canceling_job(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    id = await an_import(db, status="Running")
    await cancel(client, id)

    await finish(config, datetime.now(UTC))

    assert (await client.get(f"/api/application-imports/{id}")).json()["status"] == "Canceling"


async def test_cancel_wakes_the_worker(client: httpx2.AsyncClient, db: Db, clean_database: str) -> None:
    id: UUID = await an_import(db)
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as listening:
        await listening.execute("LISTEN imports")

        await cancel(client, id)

        notices = [notice.channel async for notice in listening.notifies(timeout=60, stop_after=1)]
    assert notices == ["imports"]
