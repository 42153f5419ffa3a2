"""Test which finished imports are compared with requests, and how often."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from rolecall.access_requests import moving
from rolecall.access_requests.closed_loop import close_loop, finished_imports
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, fetch_value
from tests.builders import an_access_request, an_application, an_import
from tests.holdings import an_account, finish_import

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


async def id_of(db: Db, number: int) -> UUID:
    id: UUID = await fetch_value(db, "SELECT id FROM application_imports WHERE number = %(n)s", n=number)
    return id


async def test_finished_imports_are_compared_in_the_order_of_their_numbers(db: Db) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    await an_import(db, ledger)
    numbers = [await finish_import(db, application, "Users", at=NOON) for application in (ledger, wiki, ledger)]
    # An updated row is stored after the others, so that a scan of the table finds it last.
    await db.execute(
        "UPDATE finished_imports SET import_id = import_id WHERE import_id = %s", (await id_of(db, numbers[0]),)
    )

    assert await finished_imports(db) == [await id_of(db, number) for number in numbers]


async def test_finished_import_is_compared_once_and_others_stay_queued(db: Db) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    first, second = [await id_of(db, await finish_import(db, each, "Users", at=NOON)) for each in (ledger, wiki)]

    for _ in range(2):
        await close_loop(db, first, NOON)
        assert await finished_imports(db) == [second]


@pytest.mark.parametrize(("created_at", "status"), [(NOON - timedelta(seconds=1), "Resolved"), (NOON, "Open")])
async def test_import_created_before_the_request_was_resolved_does_not_reopen_it(
    db: Db, created_at: datetime, status: str
) -> None:
    ledger = await an_application(db, "Ledger", priority="High")
    id = await an_access_request(db, "Remove", application_id=ledger, target_name="ada", privileges=[], now=NOON)
    assert await moving.resolve(db, [id], SYSTEM, NOON) == [id]
    await an_account(db, ledger, "ada", None)

    await close_loop(db, await id_of(db, await finish_import(db, ledger, "Users", at=created_at)), NOON)

    assert await fetch_value(db, "SELECT status FROM access_requests") == status
