from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_application
from tests.holdings import a_finished_import


async def test_application_without_imports_is_empty(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)

    for kind in ("accounts", "groups", "permissions"):
        answer = await client.get(f"/api/applications/{id}/{kind}")
        assert answer.json() == {"items": [], "totalCount": 0, "page": 1, "pageSize": 50, "totalPages": 0}


async def test_an_unknown_application_is_not_found(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/applications/nonsense/accounts")

    assert answer.status_code == 404
    assert answer.json()["message"] == "Application with id nonsense not found"


@pytest.mark.parametrize(
    "list", ["accounts", "groups", "permissions", "accounts?match=Email", "accounts?asOf=2026-01-01"]
)
async def test_list_of_an_application_that_does_not_exist_is_not_found(client: httpx2.AsyncClient, list: str) -> None:
    id = uuid4()

    answer = await client.get(f"/api/applications/{id}/{list}")

    assert answer.status_code == 404
    assert answer.json()["message"] == f"Application with id {id} not found"


async def test_invalid_as_of_and_invalid_match_are_both_reported(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)

    answer = await client.get(f"/api/applications/{id}/accounts", params={"asOf": "yesterday", "match": "perhaps"})

    assert answer.status_code == 400
    assert [problem["field"] for problem in answer.json()["errors"]] == ["asOf", "match"]


@pytest.mark.parametrize("list", ["accounts", "groups", "permissions"])
async def test_as_of_must_not_be_in_the_future(client: httpx2.AsyncClient, db: Db, list: str) -> None:
    path, now = f"/api/applications/{await an_application(db)}/{list}", datetime.now(UTC)

    for ahead in (timedelta(minutes=6), timedelta(days=400)):
        answer = await client.get(path, params={"asOf": (now + ahead).isoformat()})
        assert (answer.status_code, answer.json()["errors"]) == (
            400,
            [{"field": "asOf", "message": "As of must not be in the future"}],
        )
    # A small clock skew is allowed.
    assert (await client.get(path, params={"asOf": (now + timedelta(minutes=4)).isoformat()})).status_code == 200


async def test_as_of_accepts_any_past_moment_or_import_number(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)

    await a_finished_import(db, await an_application(db, "Other"))

    for as_of in ("2025-12-01", "2025-12-01T10:00:00+02:00", "1"):
        answer = await client.get(f"/api/applications/{id}/groups", params={"asOf": as_of})
        assert (answer.status_code, answer.json()["items"]) == (200, [])
