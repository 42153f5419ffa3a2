"""Create, run and read reports in tests."""

import json
from pathlib import Path
from typing import Any

import httpx2

from rolecall.core.db import Db, execute


async def a_report(client: httpx2.AsyncClient, list: str = "identities", name: str = "People", **fields: Any) -> Any:
    answer = await client.post("/api/reports", json={"name": name, "list": list, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def rows_of(client: httpx2.AsyncClient, id: str, **filters: Any) -> list[Any]:
    """Run a report as JSON lines."""
    answer = await client.post(f"/api/reports/{id}/run", json={"format": "jsonl", "filters": filters})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def shipped(client: httpx2.AsyncClient, db: Db) -> dict[str, Any]:
    """Insert the shipped reports, which each test begins without, and return them by name."""
    await execute(db, "SELECT ship_reports()")
    items = (await client.get("/api/reports")).json()["items"]
    return {item["name"]: item for item in items}


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
