"""Test that accounts of people who have left are listed until their removal is requested."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute
from tests.access_requests.walking import PATH, done
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account, remove_account


@pytest.fixture
async def ada(db: Db) -> UUID:
    id = await an_identity(db)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=id)
    return id


async def leftovers(client: httpx2.AsyncClient) -> list[tuple[str, str]]:
    page: Any = (await client.get(f"{PATH}/leftovers")).json()
    assert page["totalCount"] == len(page["items"])
    return [(item["application"]["name"], item["username"]) for item in page["items"]]


async def test_leftovers_are_active_accounts_ordered_by_application_and_username(
    client: httpx2.AsyncClient, db: Db, ada: UUID
) -> None:
    wiki, ledger, attic = [await an_application(db, name) for name in ("Wiki", "Ledger", "Attic")]
    for application, username in ((wiki, "ada"), (ledger, "b"), (ledger, "a"), (ledger, "gone"), (attic, "ada")):
        await an_account(db, application, username, ada)
    await an_account(db, ledger, "locked out", ada, is_active=False)
    await an_account(db, ledger, "grace", await an_identity(db, "Grace", "Hopper"))
    await remove_account(db, ledger, "gone")
    assert (await client.patch(f"/api/applications/{attic}", json={"isArchived": True})).status_code == 200

    assert await leftovers(client) == [("Ledger", "a"), ("Ledger", "b"), ("Wiki", "ada")]


async def test_only_an_unfinished_removal_takes_the_account_off_the_list(
    client: httpx2.AsyncClient, db: Db, ada: UUID
) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    await an_account(db, ledger, "ada", ada, groups=("ada",), run=await a_finished_import(db, ledger))
    asked: dict[str, Any] = {"application_id": ledger, "identity_id": ada, "target_name": "ada", "privileges": []}
    await an_access_request(db, "Suspend", **asked)
    await an_access_request(db, "Remove", **{**asked, "application_id": wiki})
    await an_access_request(db, "Remove", **{**asked, "target_name": "ada2"})
    await an_access_request(db, "Remove", **{**asked, "identity_id": None})
    canceled, resolved = [await an_access_request(db, "Remove", **asked) for _ in range(2)]
    await done(client, canceled, "cancel")
    assert await leftovers(client) == []

    await execute(db, "UPDATE access_requests SET is_whole = false WHERE id = %(id)s", id=resolved)
    assert await leftovers(client) == [("Ledger", "ada")], "a removal of some privileges leaves the account"
    await execute(db, "UPDATE access_requests SET is_whole = true WHERE id = %(id)s", id=resolved)

    assert (await done(client, resolved, "resolve"))["status"] == "Completed"
    assert await leftovers(client) == [("Ledger", "ada")]
