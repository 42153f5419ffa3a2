"""Test that a token is rejected as soon as it is revoked, and that concurrently added rules are all kept."""

import asyncio

import httpx2

from rolecall.core.caller import SCOPE_DESCRIPTIONS, Scope
from rolecall.core.db import Db, execute, fetch_value
from rolecall.settings import queries as settings
from tests.builders import a_token


async def test_token_revoked_in_the_console_is_rejected_on_the_next_request(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    token = await a_token(db, "leaving")
    theirs = {"Authorization": f"Bearer {token.secret}"}
    assert (await administrator.get("/api/identities", headers=theirs)).status_code == 200

    await administrator.post(f"/settings/tokens/{token.id}/revoke")

    assert (await administrator.get("/api/identities", headers=theirs)).status_code == 401


async def test_form_of_a_token_explains_every_scope_and_the_default(administrator: httpx2.AsyncClient) -> None:
    page = (await administrator.get("/settings/tokens")).text

    assert "By default, a token has all read scopes, and may import files and change personnel events." in page
    assert set(SCOPE_DESCRIPTIONS) == set(Scope)
    for scope, description in SCOPE_DESCRIPTIONS.items():
        assert f'{scope}<span class="quiet small block">{description}</span>' in page


async def test_e_mail_of_people_and_roles_has_a_heading_and_room(administrator: httpx2.AsyncClient) -> None:
    page = (await administrator.get("/settings/people")).text

    assert '<th scope="col">E-mail and role</th>' in page
    assert 'name="email" size="30"' in page


async def test_concurrently_added_rules_are_all_kept(administrator: httpx2.AsyncClient, db: Db) -> None:
    wanted = {"One looks", "Another looks"}
    rules = [{"type": "Approve", "reason": reason, "responder": "Supervisor"} for reason in wanted]
    async with db.transaction():
        await execute(db, "LOCK TABLE settings IN SHARE ROW EXCLUSIVE MODE")
        adding = asyncio.gather(*(administrator.post("/settings/policy", data=rule) for rule in rules))
        await _until_they_wait(db, len(rules))

    assert [answer.status_code for answer in await adding] == [303, 303]
    assert wanted <= {rule.reason for rule in (await settings.get(db)).approval_policy}


async def _until_they_wait(db: Db, many: int) -> None:
    sql = "SELECT count(*) FROM pg_locks WHERE relation = 'settings'::regclass AND NOT granted"
    async with asyncio.timeout(30):
        while await fetch_value(db, sql) < many:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
