"""Test the table of moves: every row, and every pair of status and verb."""

from collections import Counter
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import moving, opening
from rolecall.access_requests.model import MOVES, RequestEvent
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db
from rolecall.work_items.model import WorkStatus
from tests.access_requests.walking import a_cast, a_request_that_is, body_of, detail_of, do, done, events_of
from tests.builders import an_access_request

MILESTONES = ["startedOn", "approvedOn", "resolvedOn", "verifiedOn", "completedOn", "canceledOn"]

# Columns: status before, verb, application priority, status after, milestones, events, activity entries.
ROWS: list[tuple[str, str, str, str, set[str], list[str], list[str]]] = [
    ("Pending", "approve", "High", "Open", {"approvedOn", "startedOn"}, ["Approved", "Provisioning"],
     ["Approved", "Provisioning"]),
    ("Pending", "reject", "High", "Canceled", {"canceledOn"}, ["Canceled"], ["Rejected"]),
    ("Open", "resolve", "High", "Resolved", {"resolvedOn"}, ["Resolved"], ["Resolved"]),
    ("Open", "resolve", "Low", "Completed", {"resolvedOn", "completedOn"}, ["Resolved", "Completed"], ["Resolved"]),
    ("Resolved", "verify", "High", "Completed", {"verifiedOn", "completedOn"}, ["Completed"], ["Verified"]),
    ("Resolved", "reopen", "High", "Open", set(), ["Reopened"], ["Reopened"]),
    ("Open", "snooze", "High", "Snoozed", set(), [], ["Snoozed"]),
    ("Snoozed", "resume", "High", "Open", set(), [], ["Resumed"]),
    *[(status, "cancel", "High", "Canceled", {"canceledOn"}, ["Canceled"], ["Canceled"])
      for status in ("Pending", "Scheduled", "Open", "Snoozed", "Resolved")],
    *[(status, "assign", "High", status, set(), ["Assigned"], ["Assigned"])
      for status in ("Pending", "Scheduled", "Open", "Snoozed", "Resolved")],
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-{row[3]}")
async def test_move_sets_status_milestones_events_and_activity_of_its_row(
    client: httpx2.AsyncClient, db: Db, row: Any
) -> None:
    status, name, priority, to, milestones, events, entries = row
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, status, cast, priority=priority)
    before, events_before = await detail_of(client, id), await events_of(db, id)
    verb, body = body_of(name, cast)

    after = await done(client, id, verb, **body)

    assert after["status"] == to
    assert {m for m in MILESTONES if before[m] is None and after[m] is not None} == milestones
    lost = {m for m in MILESTONES if before[m] is not None and after[m] is None}
    assert lost == ({"resolvedOn"} if name == "reopen" else set())
    assert after["activity"][: len(before["activity"])] == before["activity"]
    assert [entry["action"] for entry in after["activity"][len(before["activity"]) :]] == entries
    new_events = (await events_of(db, id))[len(events_before) :]
    assert [event["name"] for event in new_events] == [f"AccessRequest{name}" for name in events]
    if new_events:
        assert without_identity_type(new_events[-1]["request"]) == without_identity_type(after)


def without_identity_type(request: dict[str, Any]) -> dict[str, Any]:
    identity = {**request["target"]["affectedIdentity"], "type": ""}
    return {**request, "target": {**request["target"], "affectedIdentity": identity}}


async def test_request_without_approval_is_created_approved_and_started_at_once(
    client: httpx2.AsyncClient, db: Db
) -> None:
    id = await an_access_request(db, "Remove")

    detail = await detail_of(client, id)

    assert detail["status"] == "Open"
    assert [(entry["author"], entry["action"]) for entry in detail["activity"]] == [
        ("System", "Created"),
        ("System", "Approved"),
        ("System", "Provisioning"),
    ]
    happened = await events_of(db, id)
    shown = [(event["name"], event["request"]["status"], len(event["request"]["activity"])) for event in happened]
    assert shown == [
        ("AccessRequestCreated", "Pending", 1),
        ("AccessRequestApproved", "Scheduled", 2),
        ("AccessRequestProvisioning", "Open", 3),
    ]
    created = happened[0]["request"]
    assert all(created[milestone] is None for milestone in ["scheduledStart", *MILESTONES])
    assert created["comments"] == []
    assert list(created) == list(detail)


VERBS = ["approve", "reject", "assign", "resolve", "verify", "reopen", "snooze", "resume", "cancel"]
ALLOWED = {(row[0], row[1]) for row in ROWS}


@pytest.mark.parametrize("status", WorkStatus)
async def test_move_that_the_table_forbids_is_a_conflict_and_changes_nothing(
    client: httpx2.AsyncClient, db: Db, status: str
) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, status, cast)
    before, events_before = await detail_of(client, id), await events_of(db, id)
    for name in VERBS:
        if (status, name) not in ALLOWED:
            verb, body = body_of(name, cast)

            answer = await do(client, id, verb, **body, comment="Never kept")

            assert (name, answer.status_code) == (name, 409)
            assert answer.json()["error"] == "conflict"
            assert await detail_of(client, id) == before
            assert await events_of(db, id) == events_before


def test_table_of_moves_has_exactly_the_specified_transitions() -> None:
    pairs = {(start, move.to) for move in MOVES for start in move.allowed if move.to}
    status = WorkStatus

    assert pairs == {
        (status.PENDING, status.SCHEDULED),
        (status.SCHEDULED, status.OPEN),
        (status.OPEN, status.RESOLVED),
        (status.OPEN, status.COMPLETED),
        (status.RESOLVED, status.COMPLETED),
        (status.RESOLVED, status.OPEN),
        (status.OPEN, status.SNOOZED),
        (status.SNOOZED, status.OPEN),
        *((start, status.PENDING) for start in (status.PENDING, status.SCHEDULED, status.OPEN, status.SNOOZED)),
        *((start, status.CANCELED) for start in status if start not in (status.COMPLETED, status.CANCELED)),
    }
    named = Counter(event for move in MOVES for event in move.events)
    assert named.keys() == set(RequestEvent) - {RequestEvent.CREATED}


@pytest.mark.parametrize(("status", "column"), [("Scheduled", "scheduled_start"), ("Snoozed", "snoozed_until")])
async def test_worker_opens_only_requests_that_are_due(
    client: httpx2.AsyncClient, db: Db, status: str, column: str
) -> None:
    id = await a_request_that_is(client, db, status, await a_cast(db))
    now = clock.now()

    await opening.move_due(db, now)
    assert (await detail_of(client, id))["status"] == status

    await db.execute(f"UPDATE access_requests SET {column} = %s", (now,))
    await opening.move_due(db, now)
    opened = await detail_of(client, id)
    assert opened["status"] == "Open"
    assert opened["startedOn"] is not None
    assert opened["activity"][-1]["author"] == "System"
    assert opened["activity"][-1]["action"] == {"Scheduled": "Provisioning", "Snoozed": "Resumed"}[status]


async def test_bulk_move_skips_requests_in_another_status(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    resolved = UUID(await a_request_that_is(client, db, "Resolved", cast))
    pending = UUID(await a_request_that_is(client, db, "Pending", cast))
    before = await detail_of(client, pending)

    moved = await moving.verify(db, [pending, resolved], SYSTEM, clock.now(), {resolved: "Seen in import 7"})

    assert moved == [resolved]
    assert await detail_of(client, pending) == before
    done = await detail_of(client, resolved)
    assert done["activity"][-1]["content"] == "Seen in import 7"
    verifying = next(requirement for requirement in done["requirements"] if requirement["type"] == "Verify")
    assert verifying["rules"][0]["responses"][-1]["reviewer"]["name"] == "System"
