from datetime import UTC, datetime
from uuid import uuid4

import httpx2
import pytest
from psycopg.types.json import Jsonb

from rolecall.application_imports.actions import log_line
from rolecall.core.db import Db
from tests.builders import an_application, an_import

METRICS = {
    "users": {"total": 4, "new": 3, "altered": 2, "removed": 1},
    "groups": {"total": 8, "new": 7, "altered": 6, "removed": 5},
    "permissions": {"total": 10, "new": 9},
}


async def test_import_has_exactly_the_specified_fields_in_order(client: httpx2.AsyncClient, db: Db) -> None:
    application_id = await an_application(db, "Payroll")
    start, end = datetime(2026, 12, 1, 8, 0, tzinfo=UTC), datetime(2026, 12, 1, 8, 0, 0, 250_000, tzinfo=UTC)
    id = await an_import(db, application_id, "Finished", build_start=start, build_end=end, metrics=Jsonb(METRICS))
    await log_line(db, id, "Started", start)
    await log_line(db, id, "Finished", end)

    answer = await client.get(f"/api/application-imports/{id}")

    assert answer.status_code == 200
    run = answer.json()
    application = run.pop("application")
    assert run == {
        "id": str(id),
        "kind": "Application Import",
        "number": 1,
        "type": "API",
        "status": "Finished",
        "createdBy": "Ada",
        "buildStart": "2026-12-01T08:00:00Z",
        "buildEnd": "2026-12-01T08:00:00.250000Z",
        "log": "2026-12-01T08:00:00Z Started\n2026-12-01T08:00:00Z Finished",
        "files": [],
        "metrics": METRICS,
    }
    assert list(answer.json()) == [*run, "application"]
    assert [list(run["metrics"]), *(list(part) for part in run["metrics"].values())] == [
        ["users", "groups", "permissions"],
        ["total", "new", "altered", "removed"],
        ["total", "new", "altered", "removed"],
        ["total", "new"],
    ]
    assert list(application) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    assert application["id"] == str(application_id)


@pytest.mark.parametrize("status", ["Pending", "Running", "Failed", "Canceled", "Canceling"])
async def test_only_a_finished_import_has_metrics(client: httpx2.AsyncClient, db: Db, status: str) -> None:
    id = await an_import(db, status=status)

    run = (await client.get(f"/api/application-imports/{id}")).json()

    assert (run["status"], run["metrics"]) == (status, None)


async def test_unknown_import_is_not_found(client: httpx2.AsyncClient) -> None:
    for id in (str(uuid4()), "nonsense"):
        answer = await client.get(f"/api/application-imports/{id}")

        assert answer.status_code == 404
        assert answer.json() == {
            "error": "not_found",
            "message": f"ApplicationImport with id {id} not found",
            "correlationId": answer.headers["X-Correlation-Id"],
        }
