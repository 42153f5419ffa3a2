from datetime import UTC, datetime

import httpx2
import pytest

from rolecall.core.db import Db, execute
from tests.builders import an_identity


async def test_missing_text_fields_are_empty_strings_not_null(client: httpx2.AsyncClient, db: Db) -> None:
    identity = (await client.get(f"/api/identities/{await an_identity(db)}")).json()

    blank = ("emailAddress", "title", "company", "division", "department", "office", "supervisorName")
    assert {identity[name] for name in blank} == {""}
    assert (identity["type"], identity["status"], identity["inactivatedDate"]) == ("Employee", "Active", None)


async def test_response_has_the_current_name_of_the_supervisor(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Charles", "Babbage")
    ada = await an_identity(db, supervisorId=str(boss))

    async def supervisor() -> str:
        return str((await client.get(f"/api/identities/{ada}")).json()["supervisorName"])

    assert await supervisor() == "Babbage, Charles"
    await execute(db, "UPDATE identities SET last_name = 'Byron' WHERE id = %(id)s", id=boss)
    assert await supervisor() == "Byron, Charles"


@pytest.mark.parametrize(
    ("given", "shown"),
    [("ServiceAccount", "Service Account"), ("service account", "Service Account"), ("VENDOR", "Vendor")],
)
async def test_type_is_returned_with_spaces_for_every_accepted_spelling(
    client: httpx2.AsyncClient, db: Db, given: str, shown: str
) -> None:
    id = await an_identity(db, identityType=given)

    assert (await client.get(f"/api/identities/{id}")).json()["type"] == shown


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (datetime(2026, 12, 1, tzinfo=UTC), "2026-12-01T00:00:00Z"),
        (datetime(2026, 12, 1, 8, 30, 15, 250_000, tzinfo=UTC), "2026-12-01T08:30:15.250000Z"),
    ],
)
async def test_times_are_returned_in_utc_with_microseconds_only_if_they_have_any(
    client: httpx2.AsyncClient, db: Db, moment: datetime, shown: str
) -> None:
    id = await an_identity(db)
    await execute(db, "UPDATE identities SET created_date = %(moment)s WHERE id = %(id)s", id=id, moment=moment)

    assert (await client.get(f"/api/identities/{id}")).json()["createdDate"] == shown
