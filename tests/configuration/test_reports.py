from typing import Any

import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity

MOVERS = {"name": "Movers", "list": "access-changes", "period": "LastMonth", "filters": {"privileged": True}}


async def apply(client: httpx2.AsyncClient, *reports: dict[str, Any], path: str = "/api/configuration") -> Any:
    method = "PUT" if path == "/api/configuration" else "POST"
    return (await client.request(method, path, json={"reports": list(reports)})).json()


async def test_reports_are_created_changed_and_exported_by_name(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Ada", "Lovelace", email="ada@example.com")

    made = await apply(client, {**MOVERS, "owner": "ada@example.com"})
    again = await apply(client, {**MOVERS, "owner": "ada@example.com"})
    changed = await apply(client, {"name": "Movers", "format": "xlsx"}, path="/api/configuration/plan")

    assert made["changes"] == [{"section": "reports", "name": "Movers", "change": "New", "fields": []}]
    assert again["changes"] == []
    assert changed["changes"][0]["fields"] == [{"field": "format", "before": "csv", "after": "xlsx"}]
    [entry] = (await client.get("/api/configuration")).json()["reports"]
    assert entry == {
        "name": "Movers",
        "description": "",
        "list": "access-changes",
        "filters": {"privileged": "true"},
        "columns": [],
        "period": "Last Month",
        "format": "csv",
        "schedule": None,
        "owner": "ada@example.com",
        "recipients": [],
    }
    assert (await apply(client, entry))["changes"] == []


async def test_problems_of_reports_name_their_place_in_the_file(client: httpx2.AsyncClient) -> None:
    answer = await apply(client, {**MOVERS, "filters": {"colour": "red"}}, {**MOVERS, "owner": "nobody"})

    assert {problem["field"] for problem in answer["errors"]} == {
        "reports.0.filters.colour", "reports.1.name", "reports.1.owner",
    }  # fmt: skip
