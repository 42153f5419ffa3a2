"""Test carriers of applications in configuration files."""

from typing import Any

import httpx2
import pytest

from rolecall.configuration.shapes import json_schema
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.sources.sourcing import CONNECTOR, allowing

CARRIER: dict[str, Any] = {
    "kind": "SCIM",
    "url": "https://127.0.0.1:9/scim/v2",
    "mode": "Dry Run",
    "secretRef": "env:ROLECALL_SOURCE_SECRET_IDP",
    "authentication": "Bearer",
    "attributes": {"name.familyName": "{lastName}"},
}


@pytest.fixture
def config(config: Config) -> Config:
    return allowing(config)


def a_file(carrier: Any) -> dict[str, Any]:
    return {"applications": [{"name": "Directory", "connector": CONNECTOR, "carrier": carrier}]}


async def apply(client: httpx2.AsyncClient, carrier: Any) -> httpx2.Response:
    return await client.put("/api/configuration", json=a_file(carrier))


async def exported(client: httpx2.AsyncClient) -> Any:
    (application,) = (await client.get("/api/configuration")).json()["applications"]
    return application["carrier"]


async def test_carrier_is_planned_applied_and_exported(client: httpx2.AsyncClient, db: Db) -> None:
    planned = await client.post("/api/configuration/plan", json=a_file(CARRIER))
    assert planned.status_code == 200, planned.text
    assert await fetch_value(db, "SELECT count(*) FROM carriers") == 0

    await apply(client, CARRIER)

    assert await exported(client) == CARRIER
    assert (await apply(client, CARRIER)).json()["changes"] == []
    changed = await apply(client, {**CARRIER, "mode": "On"})
    assert changed.json()["changes"][0]["fields"] == [{"field": "carrier.mode", "before": "Dry Run", "after": "On"}]
    await apply(client, None)
    assert await exported(client) is None


async def test_problems_name_their_place_in_the_file(client: httpx2.AsyncClient) -> None:
    answer = await apply(client, {**CARRIER, "url": "https://elsewhere.example.com"})

    assert [problem["field"] for problem in answer.json()["errors"]] == ["applications.0.carrier.url"]


def test_schema_describes_the_carrier_without_a_secret() -> None:
    fields = json_schema()["$defs"]["CarrierDefinition"]["properties"]

    assert "removalsPerHour" in fields
    assert "secret" not in fields
