"""Test concurrent decisions: the history of each request is one legal path, and every response agrees with it."""

import asyncio
import os
import random
from collections import Counter
from typing import Any

import httpx2
import msgspec
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.settings.policy import Level
from tests.access_requests.walking import TOMORROW, a_cast, detail_of, do, events_of
from tests.asgi import serving
from tests.builders import an_access_request, an_application, an_identity
from tests.figures import measured

DECISIONS = int(os.environ.get("ROLECALL_DECISIONS", "1000"))
REQUESTS, CONNECTIONS = DECISIONS // 10, 16

NOT_DONE = {"Pending", "Scheduled", "Open", "Snoozed", "Resolved"}
# For each activity entry: the possible statuses before it, the status after it (None if unchanged), and the
# webhook event (None if there is none).
ENTRIES: dict[str, tuple[set[str], str | None, str | None]] = {
    "Response": ({"Pending"}, None, None),
    "Approved": ({"Pending"}, "Scheduled", "Approved"),
    "Rejected": ({"Pending"}, "Canceled", "Canceled"),
    "Provisioning": ({"Scheduled"}, "Open", "Provisioning"),
    "Resolved": ({"Open"}, "Resolved", "Resolved"),
    "Verified": ({"Resolved"}, "Completed", "Completed"),
    "Reopened": ({"Resolved"}, "Open", "Reopened"),
    "Snoozed": ({"Open"}, "Snoozed", None),
    "Resumed": ({"Snoozed"}, "Open", None),
    "Canceled": (NOT_DONE, "Canceled", "Canceled"),
    "Assigned": (NOT_DONE, None, "Assigned"),
}


def status_after(actions: list[str]) -> str:
    assert actions[0] == "Created"
    status = "Pending"
    for action in actions[1:]:
        allowed, to, _ = ENTRIES[action]
        assert status in allowed, (status, action, actions)
        status = to or status
    return status


@pytest.mark.timeout(900 + DECISIONS // 10)
async def test_concurrent_decisions_leave_each_request_with_a_legal_history(config: Config, db: Db, token: str) -> None:
    cast, olga = await a_cast(db), str(await an_identity(db, "Olga", "Owner"))
    crm = await an_application(db, priority="High", ownerId=olga, provisionerIds=[cast.peter])
    risky = [NewPrivilege(header="H", permission="P", risk_rating=Level.HIGH)]
    ids = [
        str(await an_access_request(db, identity_id=cast.ada_id, application_id=crm, privileges=risky))
        for _ in range(REQUESTS)
    ]
    answer = {"response": "Approved"}
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("respond", {"type": "Approve", "reviewerId": cast.grace, **answer}),
        ("respond", {"type": "Approve", "reviewerId": olga, **answer}),
        ("respond", {"type": "Approve", "reviewerId": olga, "response": "Rejected"}),
        ("respond", {"type": "Resolve", "reviewerId": cast.peter, **answer}),
        ("respond", {"type": "Verify", "reviewerId": olga, **answer}),
        ("respond", {"type": "Verify", "reviewerId": olga, "response": "Rejected"}),
        ("resolve", {}),
        ("verify", {}),
        ("reopen", {}),
        ("snooze", {"until": TOMORROW}),
        ("resume", {}),
        ("assign", {"assigneeId": cast.peter}),
        ("cancel", {}),
    ]
    chance = random.Random(16)
    weights = [9, 9, 1, 3, 2, 2, 3, 2, 3, 3, 3, 3, 1]
    # Queue ten decisions per request next to each other, so that concurrent ones hit the same request.
    queue = [(ids[n // (DECISIONS // REQUESTS)], *chance.choices(decisions, weights)[0]) for n in range(DECISIONS)]
    answers: dict[str, list[httpx2.Response]] = {id: [] for id in ids}

    async with serving(msgspec.structs.replace(config, pool_size=CONNECTIONS)) as client:
        client.headers["Authorization"] = f"Bearer {token}"

        async def decide() -> None:
            while queue:
                id, verb, body = queue.pop()
                answers[id].append(await do(client, id, verb, **body))

        await asyncio.gather(*(decide() for _ in range(CONNECTIONS)))
        final = {id: await detail_of(client, id) for id in ids}

    codes = Counter(answer.status_code for each in answers.values() for answer in each)
    assert codes.keys() == {200, 409}
    assert codes[200] > DECISIONS / 10
    for id in ids:
        actions = [entry["action"] for entry in final[id]["activity"]]
        assert status_after(actions) == final[id]["status"]
        dates = [entry["createdDate"] for entry in final[id]["activity"]]
        assert dates == sorted(dates)
        done = [answer.json() for answer in answers[id] if answer.status_code == 200]
        # Each decision adds one entry; an approval that starts the request adds another.
        assert len(actions) - 1 - actions.count("Provisioning") == len(done)
        lengths = [len(detail["activity"]) for detail in done]
        assert len(set(lengths)) == len(lengths)
        for detail in done:
            assert detail["activity"] == final[id]["activity"][: len(detail["activity"])]
            assert detail["status"] == status_after([entry["action"] for entry in detail["activity"]])
        named = [ENTRIES[action][2] for action in actions[1:]]
        events = [event["name"].removeprefix("AccessRequest") for event in await events_of(db, id)]
        assert events == ["Created", *(name for name in named if name)]
    measured(
        f"{DECISIONS:,} decisions on {REQUESTS:,} requests, {CONNECTIONS} at once: {codes[200]:,} done, "
        f"{codes[409]:,} refused, every history one legal path"
    )
