"""Test bulk moves of requests: which requests move, and what is recorded."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests import moving, opening
from rolecall.access_requests.model import CANCEL, NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import an_account, remove_account

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
SOON = NOON + timedelta(microseconds=1)


async def state_of(db: Db, *ids: UUID) -> list[tuple[Any, ...]]:
    """Return status, approved access and last activity of each request."""
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.status,
                  (SELECT string_agg(p.approved_access, ' ') FROM privileges p WHERE p.request_id = r.id),
                  (SELECT t.content FROM activity t WHERE t.item_id = r.id ORDER BY t.number DESC LIMIT 1)
           FROM access_requests r""",
    )
    found = {id: tuple(rest) for id, *rest in rows}
    return [found[id] for id in ids]


async def test_approved_requests_open_when_they_are_due(db: Db) -> None:
    starts = [None, NOON, SOON]
    ids = [await an_access_request(db, now=NOON, scheduled_start=start) for start in starts]
    bystander, overdue = await an_access_request(db, now=NOON), await an_access_request(db, now=NOON)
    await execute(
        db,
        "UPDATE access_requests SET status = 'Scheduled', scheduled_start = %(at)s WHERE id = %(id)s",
        at=NOON - timedelta(days=1),
        id=overdue,
    )

    assert sorted(await opening.approve(db, ids, SYSTEM, NOON, "Fine")) == sorted(ids)

    assert await state_of(db, *ids, bystander, overdue) == [
        ("Open", "Grant", "Provisioning may start"),
        ("Open", "Grant", "Provisioning may start"),
        ("Scheduled", "Grant", "Fine"),
        ("Pending", "None", "Access request created"),
        ("Scheduled", "None", "Access request created"),
    ]


async def test_only_requests_in_an_allowed_status_move(db: Db) -> None:
    ids = [await an_access_request(db, now=NOON) for _ in range(3)]
    await execute(db, "UPDATE access_requests SET status = 'Completed' WHERE id = %(id)s", id=ids[0])

    moved = await moving.move(db, CANCEL, ids[:2], SYSTEM, NOON, {ids[0]: "Not this", ids[1]: "No need"})

    assert moved == [ids[1]]
    assert await state_of(db, *ids) == [
        ("Completed", "None", "Access request created"),
        ("Canceled", "None", "No need"),
        ("Pending", "None", "Access request created"),
    ]
    assert await moving.move(db, CANCEL, [], SYSTEM, NOON) == []


async def test_start_cancels_requests_that_would_give_access_to_leavers(db: Db) -> None:
    ada, bo = await an_identity(db), await an_identity(db, "Bo", "Boss")
    asked = [("Add", ada), ("Remove", ada), ("Add", bo)]
    ids = [
        await an_access_request(db, action, identity_id=person, now=NOON, scheduled_start=SOON)
        for action, person in asked
    ]
    lower = [NewPrivilege(header="Group", permission="Readers", requested_access=Access.NONE)]
    ids.append(await an_access_request(db, "Change", identity_id=ada, now=NOON, scheduled_start=SOON, privileges=lower))
    waiting = await an_access_request(db, identity_id=ada, now=NOON)
    await opening.approve(db, [ids[0], *ids[2:]], SYSTEM, NOON, "Fine")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=ada)

    assert not await opening.move_due(db, SOON)

    why = "The identity is Disabled; only active identities can be given access"
    assert await state_of(db, *ids, waiting) == [
        ("Canceled", "Grant", why),
        ("Open", "Grant", "Provisioning may start"),
        ("Open", "Grant", "Provisioning may start"),
        ("Open", "None", "Provisioning may start"),
        ("Pending", "None", "Access request created"),
    ]


@pytest.mark.parametrize("action", ["Add", "Change", "Restore"])
async def test_start_cancels_requests_that_would_give_access_to_an_unmatched_account(db: Db, action: str) -> None:
    """Such an account is refused when a request is made; this one appeared afterwards."""
    ledger, ada = await an_application(db), await an_identity(db)
    asked: dict[str, Any] = {"application_id": ledger, "identity_id": ada, "now": NOON}
    names = ("orphan", "gone", "new", "hers")
    ids = [await an_access_request(db, action, target_name=name, scheduled_start=SOON, **asked) for name in names]
    opened = await an_access_request(db, action, target_name="orphan", **asked)
    removal = await an_access_request(db, "Remove", target_name="orphan", scheduled_start=SOON, **asked)
    await opening.approve(db, [*ids, opened], SYSTEM, NOON, "Fine")
    for name, owner in (("orphan", None), ("gone", None), ("hers", ada)):
        await an_account(db, ledger, name, owner)
    await remove_account(db, ledger, "gone")

    await opening.move_due(db, SOON)
    # The worker or a provisioner may have created the account, so it may be unmatched while the request is open.
    await execute(db, "INSERT INTO people_to_recheck VALUES (%(ada)s)", ada=ada)
    await opening.recheck_waiting(db, SOON)

    why = "Account orphan matches no identity; match it first, then request the access again"
    assert [row[::2] for row in await state_of(db, *ids, opened, removal)] == [
        ("Canceled", why),
        *[("Open", "Provisioning may start")] * 5,
    ]


async def test_more_requests_may_be_due_if_a_batch_is_full(db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_BATCH", 1)
    await opening.approve(db, [await an_access_request(db, now=NOON, scheduled_start=SOON)], SYSTEM, NOON, "Fine")

    assert [await opening.move_due(db, SOON) for _ in range(2)] == [True, False]
