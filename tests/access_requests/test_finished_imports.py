"""Test which finished imports are compared with requests, and how often."""

from datetime import UTC, datetime
from uuid import UUID

from rolecall.access_requests.closed_loop import close_loop, finished_imports
from rolecall.core.db import Db, fetch_value
from tests.builders import an_application, an_import
from tests.holdings import finish_import

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
