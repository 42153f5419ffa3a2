"""Test with which e-mail address a person can sign in, and what invalidates links and sessions."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from rolecall.console import actions, signing_in
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.roles import Role
from tests.builders import an_identity
from tests.console.conftest import ORIGIN

PASSWORD = "correct horse battery"


async def a_reviewer(db: Db, facts: Facts, email: str = "grace@example.com") -> UUID:
    id = await an_identity(db, "Grace", "Hopper", email=email)
    await actions.set_role(db, id, Role.REVIEWER)
    await actions.set_password(db, id, PASSWORD, facts.now)
    return id


async def change_email(db: Db, id: UUID, email: str) -> None:
    await execute(db, "UPDATE identities SET email_address = %(email)s WHERE id = %(id)s", id=id, email=email)


async def test_person_with_a_role_signs_in_only_with_the_email_of_the_role(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    grace = await a_reviewer(db, facts)
    await change_email(db, grace, "new@example.com")

    assert not await actions.sign_in_by_password(db, "new@example.com", PASSWORD, facts.now)
    assert not await actions.sign_in_by_email(db, "new@example.com", facts.now)
    assert await actions.sign_in_by_password(db, "Grace@example.com", PASSWORD, facts.now)
    assert await actions.sign_in_by_email(db, "GRACE@example.com", facts.now)


async def test_identity_that_takes_over_an_administrators_email_gets_no_access(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    grace = await a_reviewer(db, facts)
    before = await fetch_value(
        db, "UPDATE identities SET email_address = 'gone@example.com' WHERE first_name = 'Ada' RETURNING id"
    )
    await change_email(db, grace, "ada.admin@example.com")

    session = await actions.sign_in_by_email(db, "ada.admin@example.com", facts.now)

    assert session
    found = await signing_in.session(db, session, facts.now)
    assert found
    assert found.identity_id == before


async def test_two_people_cannot_sign_in_with_the_same_email(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    await a_reviewer(db, facts)
    twin = await an_identity(db, "Gracie", "Hopper", email="GRACE@example.com")

    with pytest.raises(Invalid) as refused:
        await actions.set_role(db, twin, Role.AUDITOR)
    await actions.set_role(db, twin, Role.AUDITOR, "gracie@example.com")

    assert (
        refused.value.problems[0].message
        == "Grace Hopper already signs in with GRACE@example.com. Enter another e-mail"
    )
    assert await actions.sign_in_by_email(db, "gracie@example.com", facts.now)


async def test_unknown_role_is_rejected(administrator: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    grace = await a_reviewer(db, facts)

    await administrator.post("/settings/people", data={"identityId": str(grace), "role": "reviewer"})
    said = (await administrator.get("/settings/people")).text
    missing = await administrator.post("/settings/people", data={"identityId": str(UUID(int=0)), "role": ""})

    assert "Role must be one of Administrator" in said
    assert missing.status_code == 404
    assert await fetch_value(db, "SELECT role FROM console_roles WHERE identity_id = %(id)s", id=grace) == "Reviewer"


async def test_administrator_can_change_the_sign_in_email(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    grace = await a_reviewer(db, facts)
    form = {"identityId": str(grace), "role": "Reviewer"}

    refused = await administrator.post(
        "/settings/people",
        data={**form, "email": "ADA.admin@example.com"},
        headers={"Referer": f"{ORIGIN}/settings/people"},
    )
    said = (await administrator.get("/settings/people")).text
    await administrator.post("/settings/people", data={**form, "email": "g.hopper@example.com"})
    shown = (await administrator.get("/settings/people")).text

    assert refused.headers["location"] == "/settings/people"
    assert "Ada Admin already signs in with ADA.admin@example.com" in said
    assert 'value="g.hopper@example.com"' in shown
    assert not await actions.sign_in_by_password(db, "grace@example.com", PASSWORD, facts.now)
    assert await actions.sign_in_by_password(db, "g.hopper@example.com", PASSWORD, facts.now)


async def test_admin_create_replaces_the_sign_in_email(administrator: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    ada = await fetch_value(db, "SELECT identity_id FROM console_roles")
    await change_email(db, ada, "countess@example.com")

    await actions.create_administrator(db, "countess@example.com", facts)

    assert await actions.sign_in_by_email(db, "countess@example.com", facts.now)
    assert not await actions.sign_in_by_email(db, "ada.admin@example.com", facts.now)
    assert await fetch_value(db, "SELECT count(*) FROM console_roles") == 1


async def lose_the_role(db: Db, id: UUID, facts: Facts) -> None:
    await actions.set_role(db, id, None)
    await actions.set_role(db, id, Role.REVIEWER)


async def get_another_role(db: Db, id: UUID, facts: Facts) -> None:
    await actions.set_role(db, id, Role.AUDITOR)


async def get_another_address(db: Db, id: UUID, facts: Facts) -> None:
    await actions.set_role(db, id, Role.REVIEWER, "other@example.com")


async def get_a_password(db: Db, id: UUID, facts: Facts) -> None:
    await actions.set_password(db, id, "another horse battery", facts.now)


async def leave_and_come_back(db: Db, id: UUID, facts: Facts) -> None:
    for status in ("Disabled", "Active"):
        await execute(db, "UPDATE identities SET status = %(status)s WHERE id = %(id)s", status=status, id=id)


@pytest.mark.parametrize(
    "change", [lose_the_role, get_another_role, get_another_address, get_a_password, leave_and_come_back]
)
async def test_change_of_role_email_password_or_status_ends_links_and_sessions(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts, change: Any
) -> None:
    grace = await a_reviewer(db, facts)
    session = await actions.sign_in_by_link(db, await actions.create_link(db, grace, facts.now), facts.now)
    link = await actions.create_link(db, grace, facts.now)
    assert session
    assert await signing_in.session(db, session, facts.now)

    await change(db, grace, facts)

    assert await signing_in.session(db, session, facts.now) is None
    assert await actions.sign_in_by_link(db, link, facts.now) is None
    assert (await administrator.get("/settings/people")).status_code == 200


async def test_setting_the_same_role_keeps_sessions(administrator: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    grace = await a_reviewer(db, facts)
    session = await actions.sign_in_by_email(db, "grace@example.com", facts.now)
    assert session

    await actions.set_role(db, grace, Role.REVIEWER)

    assert await signing_in.session(db, session, facts.now)


async def test_disabled_person_gets_no_link(administrator: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    grace = await a_reviewer(db, facts)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=grace)

    with pytest.raises(NotFound):
        await actions.create_link(db, grace, facts.now)


async def test_link_used_twice_concurrently_signs_in_once(visitor: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    link = await actions.create_administrator(db, "ada@example.com", facts)

    answers = await asyncio.gather(*(visitor.post(f"/sign-in/{link}") for _ in range(4)))

    assert sorted(answer.status_code for answer in answers) == [303] + [401] * 3
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions") == 1


async def test_link_used_while_the_role_is_removed_leaves_no_session(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts, clean_database: str
) -> None:
    grace = await a_reviewer(db, facts)
    link = await actions.create_link(db, grace, facts.now)

    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as other:
        async with other.transaction():
            assert await actions.sign_in_by_link(other, link, facts.now)
            taking = asyncio.create_task(actions.set_role(db, grace, None))
            waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = %(pid)s AND NOT granted)"
            async with asyncio.timeout(30):
                while not await fetch_value(other, waits, pid=db.info.backend_pid):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await taking

    sessions = "SELECT count(*) FROM console_sessions WHERE identity_id = %(id)s"
    assert await fetch_value(db, sessions, id=grace) == 0
