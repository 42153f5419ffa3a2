"""Test access that comes back after a completed request removed it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests.closed_loop import close_loop
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_access_request, an_application
from tests.holdings import a_finished_import, an_account, finish_import

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NO_POSTERS = NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)
NO_CLOSE = NewPrivilege(header="Books", permission="Close", requested_access=Access.NONE)
FILES = ("Users", "Memberships", "Permissions")


@pytest.fixture
async def ledger(db: Db) -> UUID:
    return await an_application(db, "Ledger")


async def a_request(db: Db, application: UUID, name: str, action: str = "Remove", **fields: Any) -> UUID:
    """Create a request, completed two hours before noon unless `status` and `at` say otherwise."""
    status, at = fields.pop("status", "Completed"), fields.pop("at", NOON - 2 * HOUR)
    fields = {"privileges": [], **fields}
    id = await an_access_request(
        db, action, application_id=application, target_name=name, now=NOON - 3 * HOUR, **fields
    )
    # The access is approved as requested.
    await execute(db, "UPDATE privileges SET approved_access = requested_access WHERE request_id = %(id)s", id=id)
    await execute(
        db, "UPDATE access_requests SET status = %(s)s, completed_on = %(at)s WHERE id = %(id)s", s=status, at=at, id=id
    )
    return id


async def drifted(db: Db, run: int) -> list[UUID]:
    """Run the closed loop for an import; return the ids of all requests with drift on record."""
    id = await fetch_value(db, "SELECT id FROM application_imports WHERE number = %(n)s", n=run)
    await close_loop(db, id, NOON + HOUR)
    return [
        id for (id,) in await fetch_rows(db, "SELECT item_id FROM activity WHERE action = 'Drift' ORDER BY item_id")
    ]


async def test_drift_is_reported_for_what_the_import_changed(db: Db, ledger: UUID) -> None:
    removed = await a_request(db, ledger, "removed")
    suspended = await a_request(db, ledger, "suspended", "Suspend")
    left_group = await a_request(db, ledger, "member", "Change", privileges=[NO_POSTERS])
    lost_right = await a_request(db, ledger, "closer", "Change", privileges=[NO_CLOSE])
    await a_request(db, ledger, "unchanged")
    old = await a_finished_import(db, ledger)
    run = await finish_import(db, ledger, *FILES, at=NOON)
    for name in ("removed", "suspended"):
        await an_account(db, ledger, name, None, run=run)
    await an_account(
        db, ledger, "unchanged", None, groups=("Others",), permissions=(("Books", "Open", "Grant", "None"),), run=old
    )
    await an_account(db, ledger, "member", None, groups=("Posters",), run=old)
    await an_account(db, ledger, "closer", None, permissions=(("Books", "Close", "Grant", "None"),), run=old)
    by_name = "(SELECT number FROM accounts WHERE username = %(name)s)"
    for table, column, name in (
        ("memberships", "account_number", "member"),
        ("assignments", "holder_number", "closer"),
    ):
        await execute(db, f"UPDATE {table} SET from_import = %(run)s WHERE {column} = {by_name}", run=run, name=name)

    assert await drifted(db, run) == sorted([removed, suspended, left_group, lost_right])


@pytest.mark.parametrize("action", ["Change", "Remove", "Suspend"])
async def test_each_action_that_takes_access_away_can_drift(db: Db, ledger: UUID, action: str) -> None:
    taken = [NO_POSTERS] if action == "Change" else []
    id = await a_request(db, ledger, "ada", action, privileges=taken)
    run = await finish_import(db, ledger, *FILES, at=NOON)
    await an_account(db, ledger, "ada", None, groups=("Posters",), run=run)

    assert await drifted(db, run) == [id]


async def test_access_that_stays_removed_is_not_reported(db: Db, ledger: UUID) -> None:
    await a_request(db, ledger, "ada", "Change", privileges=[NO_POSTERS])
    run = await finish_import(db, ledger, *FILES, at=NOON)
    await an_account(db, ledger, "ada", None, groups=("Others",), run=run)

    assert await drifted(db, run) == []


async def test_drift_depends_on_the_last_request_that_was_not_canceled(db: Db, ledger: UUID) -> None:
    await a_request(db, ledger, "regained")
    await a_request(db, ledger, "regained", "Add", status="Open")
    removed = await a_request(db, ledger, "removed")
    await a_request(db, ledger, "removed", "Add", status="Canceled")
    # This request is about a group with the name of the account.
    await a_request(db, ledger, "removed", "Add", status="Open", identity_id=None)
    await a_request(db, ledger, "added", "Add", privileges=[NO_POSTERS])
    run = await finish_import(db, ledger, *FILES, at=NOON)
    for name in ("regained", "removed", "added"):
        await an_account(db, ledger, name, None, groups=("Posters",), run=run)

    assert await drifted(db, run) == [removed]


async def test_drift_is_not_reported_for_a_request_completed_after_the_import_began(db: Db, ledger: UUID) -> None:
    at_once = await a_request(db, ledger, "at once", at=NOON)
    await a_request(db, ledger, "later", at=NOON + timedelta(seconds=1))
    await a_request(db, ledger, "open", status="Open")
    run = await finish_import(db, ledger, *FILES, at=NOON)
    for name in ("at once", "later", "open"):
        await an_account(db, ledger, name, None, run=run)

    assert await drifted(db, run) == [at_once]


async def test_drift_of_other_targets_with_the_same_name_is_not_reported(db: Db, ledger: UUID) -> None:
    wiki = await an_application(db, "Wiki")
    await a_request(db, wiki, "ada")
    await a_request(db, ledger, "ada", identity_id=None)
    await a_request(db, ledger, "somebody else")
    run = await finish_import(db, ledger, *FILES, at=NOON)
    await an_account(db, ledger, "ada", None, run=run)
    await an_account(db, wiki, "ada", None)

    assert await drifted(db, run) == []


async def test_drift_is_reported_once(db: Db, ledger: UUID) -> None:
    removed = await a_request(db, ledger, "removed")
    for hours in (1, 2):
        run = await finish_import(db, ledger, *FILES, at=NOON + hours * HOUR)
        if hours == 1:
            await an_account(db, ledger, "removed", None, run=run)
        else:
            await execute(db, "UPDATE account_versions SET from_import = %(run)s", run=run)

        assert await drifted(db, run) == [removed]


async def test_drift_of_one_request_does_not_hide_drift_of_another(db: Db, ledger: UUID) -> None:
    ids = []
    for hours, name in enumerate(("first", "second"), 1):
        ids.append(await a_request(db, ledger, name))
        run = await finish_import(db, ledger, *FILES, at=NOON + hours * HOUR)
        await an_account(db, ledger, name, None, run=run)

        assert await drifted(db, run) == sorted(ids)
