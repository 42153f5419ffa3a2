"""Run a review through the API: draft, open, decide, submit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

DUE = (datetime.now(UTC) + timedelta(days=14)).isoformat()


async def post(client: httpx2.AsyncClient, path: str, body: Any = None, status: int = 200) -> Any:
    answer = await client.post(path, json=body or {})
    assert answer.status_code == status, answer.text
    return answer.json()


async def a_draft(client: httpx2.AsyncClient, type: str = "Supervisor", **fields: Any) -> str:
    body = {"name": "Finance systems", "type": type, "dueOn": DUE, **fields}
    return str((await post(client, "/api/reviews", body, 201))["id"])


async def an_open_review(client: httpx2.AsyncClient, type: str = "Supervisor", **fields: Any) -> str:
    id = await a_draft(client, type, **fields)
    await post(client, f"/api/reviews/{id}/open")
    return id


async def items_of(client: httpx2.AsyncClient, review: str, **filters: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"/api/reviews/{review}/items", params=filters)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def decide(client: httpx2.AsyncClient, item: dict[str, Any], decision: str, **fields: Any) -> Any:
    body = {"decision": decision, "reviewerId": item["reviewer"]["id"], "comment": "as agreed", **fields}
    return await post(client, f"/api/review-items/{item['id']}/decide", body)


async def submit_all(client: httpx2.AsyncClient, review: str) -> None:
    """Submit for every reviewer who has decisions to submit."""
    progress = (await client.get(f"/api/reviews/{review}")).json()["progress"]["reviewers"]
    for each in progress:
        if each["toSubmit"]:
            await post(client, f"/api/reviews/{review}/submit", {"reviewerId": each["reviewer"]["id"]})


async def keep_all(client: httpx2.AsyncClient, review: str) -> None:
    """Keep every item, and submit all decisions."""
    for item in await items_of(client, review):
        await decide(client, item, "Keep")
    await submit_all(client, review)
