"""Test that session, role and identity are checked again in the transaction that writes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.console import actions
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.builders import an_identity

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NEW_TOKEN = b"name=stolen&scopes=tokens%3Amanage&expiresInDays="


async def me(db: Db) -> UUID:
    id: UUID = await fetch_value(db, "SELECT identity_id FROM console_sessions")
    return id


async def slowly(body: bytes, meanwhile: Any) -> AsyncIterator[bytes]:
    yield body[:1]
    await meanwhile()
    yield body[1:]


async def take_role(db: Db) -> None:
    other = await an_identity(db, "Grace", "Hopper")
    await actions.set_role(db, other, Role.ADMINISTRATOR, "grace@example.com")
    await actions.set_role(db, await me(db), None)


async def end_session(db: Db) -> None:
    await execute(db, "DELETE FROM console_sessions")


async def disable(db: Db) -> None:
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=await me(db))


async def let_session_expire(db: Db) -> None:
    clock.travel_to(clock.now() + timedelta(hours=13))


LOSSES = (take_role, end_session, disable, let_session_expire)


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_form_is_refused_if_the_person_loses_the_right_while_it_arrives(
    administrator: httpx2.AsyncClient, db: Db, lose: Any
) -> None:
    answer = await administrator.post("/settings/tokens", content=slowly(NEW_TOKEN, lambda: lose(db)), headers=FORM)

    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/")
    assert await fetch_value(db, "SELECT count(*) FROM tokens") == 0


async def test_form_is_refused_if_the_role_is_reduced_while_it_arrives(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    async def shrink() -> None:
        await execute(db, "UPDATE console_roles SET role = 'Reviewer'")

    answer = await administrator.post("/settings/tokens", content=slowly(NEW_TOKEN, shrink), headers=FORM)

    assert answer.status_code == 403
    assert await fetch_value(db, "SELECT count(*) FROM tokens") == 0


async def test_double_click_on_sign_out_does_not_deadlock(administrator: httpx2.AsyncClient, db: Db) -> None:
    answers = await asyncio.gather(*(administrator.post("/sign-out") for _ in range(3)))

    assert {answer.headers["location"].partition("?")[0] for answer in answers} == {"/sign-in"}
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions") == 0


async def test_write_waits_until_its_person_is_disabled_and_is_then_refused(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts, clean_database: str
) -> None:
    async with db.transaction():
        await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=await me(db))
        writing = asyncio.create_task(
            administrator.post("/settings/tokens", data={"name": "late", "scopes": "tokens:manage"})
        )
        await asyncio.sleep(0.3)
        assert not writing.done()

    assert (await writing).headers["location"] == "/sign-in?next=/"
    assert await fetch_value(db, "SELECT count(*) FROM tokens") == 0
