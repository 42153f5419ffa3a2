"""Test live sources of applications in configuration files."""

from typing import Any

import httpx2
import pytest

from rolecall.configuration.shapes import json_schema
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.sources.sourcing import CONNECTOR, allowing

SOURCE: dict[str, Any] = {
    "kind": "REST",
    "url": "https://127.0.0.1:9/v1",
    "secretRef": "env:ROLECALL_SOURCE_SECRET_HR",
    "authentication": "Bearer",
    "contents": {"Users": {"path": "users", "paging": "Link"}},
}


@pytest.fixture
def config(config: Config) -> Config:
    return allowing(config)


def a_file(source: Any) -> dict[str, Any]:
    return {"applications": [{"name": "HR", "connector": CONNECTOR, "source": source}]}


async def apply(client: httpx2.AsyncClient, source: Any) -> httpx2.Response:
    return await client.put("/api/configuration", json=a_file(source))


async def exported(client: httpx2.AsyncClient) -> Any:
    (application,) = (await client.get("/api/configuration")).json()["applications"]
    return application["source"]


async def test_source_is_planned_applied_and_exported(client: httpx2.AsyncClient, db: Db) -> None:
    planned = await client.post("/api/configuration/plan", json=a_file(SOURCE))
    assert planned.status_code == 200, planned.text
    assert await fetch_value(db, "SELECT count(*) FROM sources") == 0

    await apply(client, SOURCE)

    assert await exported(client) == SOURCE
    assert (await apply(client, SOURCE)).json()["changes"] == []
    changed = await apply(client, {**SOURCE, "contents": {"Users": {"path": "people", "paging": "Link"}}})
    assert changed.json()["changes"][0]["fields"] == [
        {"field": "source.contents.Users.path", "before": "users", "after": "people"}
    ]


async def test_null_removes_the_source(client: httpx2.AsyncClient, db: Db) -> None:
    await apply(client, SOURCE)

    await apply(client, None)

    assert await exported(client) is None
    assert await fetch_value(db, "SELECT count(*) FROM sources") == 0


async def test_problems_name_their_place_in_the_file(client: httpx2.AsyncClient) -> None:
    answer = await apply(client, {**SOURCE, "url": "https://elsewhere.example.com", "secret": "in the file"})

    found = {problem["field"]: problem["message"] for problem in answer.json()["errors"]}
    assert found.keys() == {"applications.0.source.secret"}
    answer = await apply(client, {**SOURCE, "url": "https://elsewhere.example.com"})
    assert [problem["field"] for problem in answer.json()["errors"]] == ["applications.0.source.url"]


def test_schema_describes_the_source() -> None:
    schema = json_schema()

    assert "secretRef" in schema["$defs"]["SourceDefinition"]["properties"]
    assert "secret" not in schema["$defs"]["SourceDefinition"]["properties"]
