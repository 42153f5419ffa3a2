from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

BACK = datetime(2026, 12, 1, 1, tzinfo=UTC)


class Leave:
    """Ada is on leave until December; her ledger account is in two groups."""

    ada: UUID
    ledger: UUID
    event: Any


@pytest.fixture
async def leave(client: httpx2.AsyncClient, db: Db, config: Config) -> Leave:
    clock.travel_to(datetime(2026, 11, 2, 9, tzinfo=UTC))
    leave = Leave()
    leave.ada, leave.ledger = await an_identity(db), await an_application(db, "Ledger")
    await an_account(db, leave.ledger, "ada", leave.ada, groups=("Posters", "Readers"))
    leave.event = await created(
        client, "leave-of-absence", identityId=str(leave.ada), effectiveDate="2026-11-02", endDate="2026-12-01"
    )
    await let_the_worker_work(config)
    return leave


async def suspended(client: httpx2.AsyncClient, leave: Leave) -> None:
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    [request] = event["stages"][0]["accessRequests"]
    answer = await client.post(f"/api/access-requests/{request['id']}/resolve")
    assert answer.json()["status"] == "Completed"


async def back(client: httpx2.AsyncClient, config: Config, leave: Leave) -> tuple[Any, list[str], list[str]]:
    """End the leave; return the event, the restored access and the comments on differences."""
    await let_the_worker_work(config, BACK)
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    restored = []
    for request in event["stages"][2]["accessRequests"]:
        assert request["action"] == "Restore"
        detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
        restored += [p["permission"]["permission"] for p in detail["target"]["privileges"]]
    return event, restored, [comment["content"] for comment in event["comments"]]


async def test_end_of_a_leave_restores_everything_that_was_suspended(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored, comments) == ("Open", ["Posters", "Readers"], [])


async def test_unfinished_suspension_is_canceled_at_the_end_of_the_leave(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored, comments) == ("Completed", [], [])
    [request] = event["stages"][0]["accessRequests"]
    assert request["status"] == "Canceled"


async def test_inactive_identity_gets_no_access_back(client: httpx2.AsyncClient, config: Config, leave: Leave) -> None:
    await suspended(client, leave)
    await created(client, "offboard", identityId=str(leave.ada), effectiveDate="2026-11-20")
    await let_the_worker_work(config, datetime(2026, 11, 20, 1, tzinfo=UTC))

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored) == ("Completed", [])
    assert comments == ["Nothing is restored: the identity is Disabled"]


async def test_access_in_an_archived_application_is_not_restored(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    assert (await client.patch(f"/api/applications/{leave.ledger}", json={"isArchived": True})).status_code == 200

    _, restored, comments = await back(client, config, leave)

    assert restored == []
    assert comments == ["ada is not restored: Ledger is archived"]


async def test_access_removed_by_another_request_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    gone = NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)
    id = await an_access_request(
        db, "Change", application_id=leave.ledger, identity_id=leave.ada, privileges=[gone], now=clock.now()
    )
    number = (await client.get(f"/api/access-requests/{id}")).json()["number"]

    _, restored, comments = await back(client, config, leave)

    assert restored == ["Readers"]
    assert comments == [f"Group Posters of ada in Ledger is not restored: access request {number} removes it"]


@pytest.mark.parametrize(("seconds", "stays_away"), [(-1, False), (0, False), (1, True), (None, True)])
async def test_removal_that_an_import_already_reflects_is_not_a_limit(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, seconds: int | None, stays_away: bool
) -> None:
    await suspended(client, leave)
    rows = await fetch_rows(db, "SELECT created_at FROM access_requests WHERE action = 'Suspend'")
    last_import = rows[0][0] - timedelta(days=1)
    await execute(db, "UPDATE application_imports SET build_end = %(at)s", at=last_import)
    taken = NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)
    earlier = await an_access_request(
        db, "Change", application_id=leave.ledger, identity_id=leave.ada, privileges=[taken],
        now=rows[0][0] - timedelta(days=2),
    )  # fmt: skip
    resolved = None if seconds is None else last_import + timedelta(seconds=seconds)
    await execute(db, "UPDATE access_requests SET resolved_on = %(at)s WHERE id = %(id)s", at=resolved, id=earlier)

    _, restored, _ = await back(client, config, leave)

    assert restored == (["Readers"] if stays_away else ["Posters", "Readers"])


async def test_access_lowered_during_the_leave_is_restored_lowered(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await execute(db, "UPDATE privileges SET initial_access = 'Unrestricted' WHERE permission = 'Posters'")
    await suspended(client, leave)
    lower = NewPrivilege(header="Group", permission="Posters", requested_access=Access.GRANT)
    await an_access_request(
        db, "Change", application_id=leave.ledger, identity_id=leave.ada, privileges=[lower],
        now=datetime(2026, 11, 10, tzinfo=UTC),
    )  # fmt: skip

    event, _, said = await back(client, config, leave)

    [request] = event["stages"][2]["accessRequests"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    assert detail["target"]["privileges"][0]["requestedAccess"] == "Grant"
    assert "is restored as Grant, not as Unrestricted: access request" in said[0]


async def test_end_of_a_leave_restores_nothing_during_another_leave(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    other = await created(client, "leave-of-absence", identityId=str(leave.ada), effectiveDate="2026-11-02")
    await let_the_worker_work(config)

    _, restored, said = await back(client, config, leave)

    assert restored == []
    assert f"leave {other['number']} of the same person has not ended" in said[0]


async def test_restore_at_the_end_of_a_leave_needs_no_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    adds = {"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]}
    await client.patch("/api/settings", json={"approvalPolicy": [adds]})

    event, restored, _ = await back(client, config, leave)

    (request,) = event["stages"][2]["accessRequests"]
    assert (request["status"], restored) == ("Open", ["Posters", "Readers"])


async def test_membership_in_a_removed_group_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    number = await a_finished_import(db, leave.ledger)
    for table in ("group_versions", "group_listings"):
        await db.execute(
            f"UPDATE {table} SET until_import = %s"
            " WHERE group_number = (SELECT number FROM groups WHERE name = 'Posters')",
            (number,),
        )

    _, restored, comments = await back(client, config, leave)

    assert restored == ["Readers"]
    assert comments == ["Group Posters of ada in Ledger is not restored: the group no longer exists"]
