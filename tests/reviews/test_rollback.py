"""Test a rollback during a review: it proves no removal, and it restores items that a wrong file withdrew."""

from uuid import UUID

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_application, an_identity
from tests.reviews.company import follow
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all
from tests.working import let_the_worker_work

USERS = "Username\nada\nbob\n"
BEFORE, AFTER = "Username,Group\nbob,Readers\n", "Username,Group\nada,Payers\nbob,Readers\n"


class Ledger:
    """An application whose files are uploaded and rolled back through the API."""

    def __init__(self, client: httpx2.AsyncClient, db: Db, config: Config, id: UUID) -> None:
        self.client, self.db, self.config, self.id = client, db, config, id

    async def upload(self, memberships: str | None, users: str | None = USERS) -> int:
        files = {}
        for name, content in (("Users", users), ("Memberships", memberships)):
            if content is None:
                continue
            group = await fetch_value(self.db, "SELECT id FROM file_groups WHERE name = %(name)s", name=name)
            files[str(group)] = (f"{name.lower()}.csv", content.encode())
        made = await self.client.post(
            "/api/application-imports/upload", params={"applicationId": str(self.id)}, files=files
        )
        assert made.status_code == 201, made.text
        await self._work()
        await execute(self.db, "UPDATE accounts SET matched_on = now() - interval '1 day'")
        return int(made.json()["number"])

    async def roll_back(self, number: int) -> None:
        await post(self.client, f"/api/applications/{self.id}/rollback", {"importNumber": number}, 201)
        await self._work()

    async def _work(self) -> None:
        await let_the_worker_work(self.config)
        await follow(self.db)

    async def statuses(self, review: str) -> dict[str, str]:
        return {item["entitlement"]["name"]: item["status"] for item in await items_of(self.client, review)}


@pytest.fixture
async def ledger(client: httpx2.AsyncClient, db: Db, config: Config) -> Ledger:
    owner = await an_identity(db, "Owen", "Park")
    return Ledger(client, db, config, await an_application(db, "Ledger", ownerId=str(owner)))


async def test_rollback_withdraws_and_remediates_nothing(client: httpx2.AsyncClient, ledger: Ledger) -> None:
    first = await ledger.upload(BEFORE)
    await ledger.upload(AFTER)
    open_review = await an_open_review(client, "Application")
    decided = await an_open_review(client, "Application")
    for item in await items_of(client, decided):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Payers" else "Keep")
    await submit_all(client, decided)

    await ledger.roll_back(first)
    undecided, flagged = await ledger.statuses(open_review), await ledger.statuses(decided)
    await ledger.upload(BEFORE + "bob,Staff\n")

    assert undecided == {"Payers": "Pending", "Readers": "Pending"}
    assert flagged == {"Payers": "Flagged", "Readers": "Approved"}
    assert await ledger.statuses(open_review) == {"Payers": "Withdrawn", "Readers": "Pending"}
    assert (await client.get(f"/api/reviews/{decided}")).json()["status"] == "Completed"


async def test_rollback_of_a_wrong_file_restores_the_items_that_it_withdrew(
    client: httpx2.AsyncClient, ledger: Ledger
) -> None:
    good = await ledger.upload(AFTER)
    review = await an_open_review(client, "Application")
    await ledger.upload(BEFORE)
    withdrawn = await ledger.statuses(review)

    await ledger.roll_back(good)

    assert withdrawn == {"Payers": "Withdrawn", "Readers": "Pending"}
    assert await ledger.statuses(review) == {"Payers": "Pending", "Readers": "Pending"}
