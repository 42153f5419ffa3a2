"""Test that within a chain no entry is earlier than the one before it."""

from datetime import timedelta

import httpx2

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows


async def test_entry_is_never_earlier_than_the_one_before_it(client: httpx2.AsyncClient, db: Db) -> None:
    began = clock.now()
    for hours, days in ((2, 10), (1, 11), (3, 12)):
        clock.travel_to(began + timedelta(hours=hours))
        answer = await client.patch("/api/settings", json={"approvalLeadDays": days})
        assert answer.status_code == 200

    rows = await fetch_rows(
        db,
        """SELECT chain, created_key, entry::jsonb #>> '{after,approvalLeadDays,value}' FROM audit_events
           WHERE entry::jsonb #>> '{entity,kind}' = 'Settings' ORDER BY number""",
    )
    assert len({chain for chain, *_ in rows}) == 1
    first, second, third = [created for _, created, _ in rows]
    assert first == second < third
    assert [days for *_, days in rows] == ["10", "11", "12"]
    verdict = (await client.get("/api/audit-events/verify")).json()
    assert verdict["ok"]
