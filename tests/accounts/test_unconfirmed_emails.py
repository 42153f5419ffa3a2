"""Test that accounts belong to the people whose e-mail is confirmed, not to those whose e-mail an event set."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.console import signing_in
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.application_imports.running import Imports
from tests.builders import a_token, an_application, an_identity
from tests.personnel_events.bodies import EVENTS, day
from tests.working import let_the_worker_work


class Events:
    """Create personnel events with a token, and let the worker apply them."""

    def __init__(self, client: httpx2.AsyncClient, config: Config, secret: str) -> None:
        self.client = client
        self.config = config
        self.headers = {"Authorization": f"Bearer {secret}"}

    async def __call__(self, path: str, **body: Any) -> str:
        answer = await self.client.post(f"{EVENTS}/{path}", json=body, headers=self.headers)
        assert answer.status_code in (200, 201, 204), answer.text
        await let_the_worker_work(self.config)
        return str(answer.json()["id"]) if answer.content else ""

    async def onboard(self, email: str) -> str:
        newcomer = {"firstName": "New", "lastName": "Comer", "email": email}
        return await self("onboard", identity=newcomer, effectiveDate=day(30))

    async def change_email(self, id: UUID, email: str) -> None:
        await self("role-transition", identityId=str(id), effectiveDate=day(0), identity={"email": email})


@pytest.fixture
async def token(client: httpx2.AsyncClient, config: Config, db: Db) -> Events:
    return Events(client, config, (await a_token(db, "HR", scopes=["personnel-events:write"])).secret)


@pytest.fixture
async def trusted(client: httpx2.AsyncClient, config: Config, db: Db) -> Events:
    scopes = ["personnel-events:write", "identities:write"]
    return Events(client, config, (await a_token(db, "trusted", scopes=scopes)).secret)


@pytest.fixture
async def erin(client: httpx2.AsyncClient, config: Config, db: Db) -> UUID:
    """Create Erin with an account that has her e-mail."""
    id = await an_identity(db, "Erin", "Else", email="erin@x.test")
    await Imports(client, config).finish(await an_application(db), {"Users": "Username,Email\nerin,Erin@x.test\n"})
    return id


async def match(db: Db, username: str = "erin") -> tuple[str, UUID | None]:
    row = await fetch_value(
        db, "SELECT ARRAY[match, identity_id::text] FROM accounts WHERE username = %(username)s", username=username
    )
    return row[0], UUID(row[1]) if row[1] else None


async def test_newcomer_with_the_email_of_another_person_takes_no_account(token: Events, db: Db, erin: UUID) -> None:
    event = await token.onboard("erin@x.test")
    assert await match(db) == ("Email", erin)

    await token(f"{event}/cancel")
    assert await match(db) == ("Email", erin)


async def test_changed_email_takes_no_account_of_another_person(
    token: Events, trusted: Events, db: Db, erin: UUID
) -> None:
    eve = await an_identity(db, "Eve", "Moss", email="eve@x.test")

    await token.change_email(eve, "erin@x.test")
    assert await match(db) == ("Email", erin)

    await trusted.change_email(eve, "erin@x.test")
    assert await match(db) == ("Disputed", None)


async def test_accounts_follow_the_confirmed_email_until_another_one_is_confirmed(
    token: Events, trusted: Events, db: Db, erin: UUID
) -> None:
    eve = await an_identity(db, "Eve", "Moss", email="eve@x.test")

    await token.change_email(erin, "other@x.test")
    await token.change_email(eve, "erin@x.test")
    assert await match(db) == ("Email", erin)

    await trusted.change_email(erin, "other@x.test")
    assert await match(db) == ("Email", eve)


async def test_unconfirmed_email_counts_if_nobody_else_has_it(
    token: Events, client: httpx2.AsyncClient, config: Config, db: Db, erin: UUID
) -> None:
    await Imports(client, config).finish(
        await an_application(db, "Wiki"), {"Users": "Username,Email\nrenamed,new@x.test\n"}
    )

    await token.change_email(erin, "new@x.test")

    assert await match(db, "renamed") == ("Email", erin)
    assert await match(db) == ("Email", erin)


async def test_newcomer_cannot_get_the_email_with_which_another_person_still_signs_in(
    token: Events, db: Db, erin: UUID
) -> None:
    await token.change_email(erin, "other@x.test")

    await token.onboard("erin@x.test")

    assert await match(db) == ("Email", erin)
    person = await signing_in.person_with_email(db, "erin@x.test")
    assert person
    assert person.id == erin
