"""Create, run and read reports in tests."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from rolecall.console.signing_in import scopes_of
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, make_pool
from rolecall.reports.running import run_reports

START = datetime.fromisoformat("2026-03-01T05:30:00+00:00")
DUE = START + timedelta(hours=1)


async def a_report(client: httpx2.AsyncClient, list: str = "identities", name: str = "People", **fields: Any) -> Any:
    answer = await client.post("/api/reports", json={"name": name, "list": list, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def rows_of(client: httpx2.AsyncClient, id: str, **filters: Any) -> list[Any]:
    """Run a report as JSON lines and return its rows."""
    answer = await client.post(f"/api/reports/{id}/run", json={"format": "jsonl", "filters": filters})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def shipped(client: httpx2.AsyncClient, db: Db) -> dict[str, Any]:
    """Insert the shipped reports, because tests begin with empty tables, and return all reports by name."""
    await execute(db, "SELECT ship_reports()")
    items = (await client.get("/api/reports")).json()["items"]
    return {item["name"]: item for item in items}


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


async def work(config: Config, now: datetime) -> None:
    clock.travel_to(now)
    async with make_pool(config) as pool:
        await run_reports(pool, config, now, scopes_of)


async def daily(client: httpx2.AsyncClient, folder: Path, **fields: Any) -> Any:
    schedule = {"cron": "0 6 * * *", "location": str(folder)}
    return await a_report(client, fields.pop("list", "identities"), schedule=schedule, **fields)


async def runs_of(client: httpx2.AsyncClient, report: Any) -> list[Any]:
    items: list[Any] = (await client.get(f"/api/reports/{report['id']}/runs")).json()["items"]
    return items
