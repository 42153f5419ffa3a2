"""Create hooks, list their deliveries and send those that are due."""

from datetime import timedelta
from typing import Any

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Pool, fetch_rows
from rolecall.webhooks.sender import Sender

EVENTS = [
    "AccessRequestCreated", "AccessRequestAssigned", "AccessRequestApproved", "AccessRequestProvisioning",
    "AccessRequestResolved", "AccessRequestReopened", "AccessRequestCompleted", "AccessRequestCanceled",
]  # fmt: skip


class Post:
    """A sender that stops when nothing more is due."""

    def __init__(self, pool: Pool, config: Config) -> None:
        self.pool, self.config = pool, config

    async def deliver(self) -> None:
        async with Sender(self.pool, self.config, lambda: None) as sender:
            while await self._due():
                await sender.turn(self.pool, self.config, clock.now())
                await sender.rest()

    async def deliver_in(self, wait: timedelta) -> None:
        clock.travel_to(clock.now() + wait)
        await self.deliver()

    async def _due(self) -> bool:
        async with self.pool.connection() as db:
            due = await fetch_rows(
                db,
                """SELECT d.id FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id
                   WHERE d.status = 'Pending' AND d.next_attempt_on <= %(now)s
                     AND (h.enabled OR d.access_request_id IS NULL)""",
                now=clock.now(),
            )
            return bool(due)


async def a_hook(client: httpx2.AsyncClient, url: str, **fields: Any) -> dict[str, Any]:
    body = {"name": "Ticketing", "url": url, "events": EVENTS, **fields}
    answer = await client.post("/api/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    hook: dict[str, Any] = answer.json()
    return hook


async def deliveries(client: httpx2.AsyncClient, **filters: Any) -> list[dict[str, Any]]:
    """Return deliveries in full, oldest first."""
    answer = await client.get("/api/webhook-deliveries", params=filters)
    assert answer.status_code == 200, answer.text
    return [await delivery(client, item["id"]) for item in reversed(answer.json()["items"])]


async def delivery(client: httpx2.AsyncClient, id: object) -> dict[str, Any]:
    answer = await client.get(f"/api/webhook-deliveries/{id}")
    assert answer.status_code == 200, answer.text
    detail: dict[str, Any] = answer.json()
    return detail


async def outcomes(client: httpx2.AsyncClient, id: object) -> list[str]:
    return [attempt["outcome"] for attempt in (await delivery(client, id))["attempts"]]
