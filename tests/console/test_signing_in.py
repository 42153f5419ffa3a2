import asyncio
import threading
from datetime import timedelta
from typing import Any

import httpx2
import msgspec
import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from rolecall.console import actions, model, signing_in
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.roles import Role
from rolecall.web import limits
from tests.asgi import a_service
from tests.builders import a_token, an_identity
from tests.console.conftest import ORIGIN

PASSWORD = "correct horse battery"


async def test_screens_require_sign_in(visitor: httpx2.AsyncClient) -> None:
    answer = await visitor.get("/requests?status=Open")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=/requests%3Fstatus%3DOpen"


async def test_link_signs_in_once(visitor: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    link = await actions.create_administrator(db, "ada@example.com", facts)

    looked = await visitor.get(f"/sign-in/{link}")
    first = await visitor.post(f"/sign-in/{link}")
    home = await visitor.get("/requests")
    visitor.cookies.clear()
    second = await visitor.post(f"/sign-in/{link}")

    assert (looked.status_code, first.status_code, home.status_code, second.status_code) == (200, 303, 200, 401)
    assert "Secure; HttpOnly; SameSite=Lax" in first.headers["set-cookie"]
    assert "This link was already used, has expired or is not valid" in second.text


async def test_only_the_right_password_signs_in(administrator: httpx2.AsyncClient) -> None:
    await administrator.post("/account", data={"password": PASSWORD})
    await administrator.post("/sign-out")
    assert (await administrator.get("/requests")).status_code == 303

    wrong = await administrator.post("/sign-in", data={"email": "ada.admin@example.com", "password": "x" * 20})
    right = await administrator.post(
        "/sign-in", data={"email": "ADA.admin@example.com", "password": PASSWORD, "next": "//evil.example"}
    )

    assert wrong.status_code == 401
    assert right.headers["location"] == "/"
    assert (await administrator.get("/requests")).status_code == 200


async def test_hashing_a_password_does_not_block_other_requests(
    administrator: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash takes 0.1 s of CPU time, which must not block the event loop."""
    threads = []

    def watched(**costs: Any) -> Argon2id:
        threads.append(threading.current_thread())
        return Argon2id(**costs)

    monkeypatch.setattr(model, "Argon2id", watched)
    await administrator.post("/account", data={"password": PASSWORD})

    assert threads
    assert threading.current_thread() not in threads


async def test_changing_a_password_requires_the_current_one(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    await administrator.post("/account", data={"password": PASSWORD})

    thief = await administrator.post("/account", data={"password": "the thief's own"})
    again = await administrator.get("/account")
    await administrator.post("/account", data={"password": "another horse battery", "current": PASSWORD})

    assert thief.headers["location"] == "/"
    assert "The current password is wrong" in again.text
    assert not await actions.sign_in_by_password(db, "ada.admin@example.com", PASSWORD, facts.now)
    assert await actions.sign_in_by_password(db, "ada.admin@example.com", "another horse battery", facts.now)


async def test_first_password_requires_a_recent_sign_in(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts
) -> None:
    clock.travel_to(facts.now + timedelta(minutes=11))

    page = (await administrator.get("/account")).text
    sent = await administrator.post("/account", data={"password": PASSWORD}, headers={"Referer": f"{ORIGIN}/account"})
    told = (await administrator.get("/account")).text
    count = await fetch_value(db, "SELECT count(*) FROM console_passwords")
    link = await actions.create_link(db, await fetch_value(db, "SELECT identity_id FROM console_roles"), clock.now())
    await administrator.post(f"/sign-in/{link}")
    await administrator.post("/account", data={"password": PASSWORD})

    assert 'name="password"' not in page
    assert sent.status_code == 303
    assert told.count(actions.SIGN_IN_AGAIN) == 2
    assert count == 0
    assert await fetch_value(db, "SELECT count(*) FROM console_passwords") == 1


async def test_disabled_passwords_cannot_be_used_or_set(
    config: Config, administrator: httpx2.AsyncClient, facts: Facts, db: Db
) -> None:
    await administrator.post("/account", data={"password": PASSWORD})
    async with a_service(msgspec.structs.replace(config, base_url=ORIGIN, passwords=False)) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as browser:
            page = (await browser.get("/sign-in")).text
            right = await browser.post("/sign-in", data={"email": "ada.admin@example.com", "password": PASSWORD})
            link = await actions.create_administrator(db, "ada.admin@example.com", facts)
            await browser.post(f"/sign-in/{link}")
            account = (await browser.get("/account")).text
            another = {"current": PASSWORD, "password": "another horse battery"}
            await browser.post("/account", data=another, headers={"Referer": f"{ORIGIN}/account"})
            told = (await browser.get("/account")).text

    assert "/sign-in" not in page.partition("<form")[2]
    assert (right.status_code, "set-cookie" in right.headers) == (403, False)
    assert "Passwords are turned off" in right.text
    assert 'name="password"' not in account
    assert "Passwords are turned off" in told
    assert await actions.sign_in_by_password(db, "ada.admin@example.com", PASSWORD, facts.now)


async def test_new_password_ends_all_other_sessions(administrator: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
    other = await actions.sign_in_by_link(
        db, await actions.create_administrator(db, "ada.admin@example.com", facts), facts.now
    )

    await administrator.post("/account", data={"password": PASSWORD})

    assert other
    assert await signing_in.session(db, other, facts.now) is None
    assert (await administrator.get("/requests")).status_code == 200


async def test_right_password_is_rejected_beyond_the_rate_limit(
    administrator: httpx2.AsyncClient, facts: Facts
) -> None:
    await administrator.post("/account", data={"password": PASSWORD})
    await administrator.post("/sign-out")
    # The limit applies per minute, so set the clock to the next minute.
    clock.travel_to(facts.now.replace(second=0) + timedelta(minutes=2))
    email = "ada.admin@example.com"

    wrong = [
        (await administrator.post("/sign-in", data={"email": email, "password": f"guess {n}"})).status_code
        for n in range(limits.SIGN_INS_OF_A_PERSON)
    ]
    right = await administrator.post("/sign-in", data={"email": email.upper(), "password": PASSWORD})

    assert set(wrong) == {401}
    assert right.status_code == 429
    assert "set-cookie" not in right.headers


async def test_email_that_looks_like_a_network_address_is_counted_as_an_email(
    visitor: httpx2.AsyncClient, facts: Facts
) -> None:
    clock.travel_to(facts.now.replace(second=0) + timedelta(minutes=2))

    tried = [await visitor.post("/sign-in", data={"email": "127.0.0.1", "password": "guess"}) for _ in range(11)]

    assert [answer.status_code for answer in tried] == [401] * limits.SIGN_INS_OF_A_PERSON + [429]


@pytest.mark.parametrize("given", ["KATE@example.com", "\u212aate@example.com", "k\u0130m@example.com"])
async def test_emails_with_similar_letters_are_different_in_every_locale(db: Db, given: str) -> None:
    stored = """(VALUES ('kate@example.com' COLLATE "pg_c_utf8"), ('kim@example.com')) AS stored (email)"""
    rows = await fetch_rows(db, f"SELECT email FROM {stored} WHERE {signing_in.same_email('email')}", email=given)

    assert rows == ([("kate@example.com",)] if given.isascii() else [])


async def test_concurrent_password_checks_are_limited(visitor: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(visitor.post("/sign-in", data={"email": f"{n}@example.com", "password": "guess"}) for n in range(8))
    )

    assert {answer.status_code for answer in answers} == {401, 429}


async def test_session_expires_after_inactivity(administrator: httpx2.AsyncClient, facts: Facts) -> None:
    clock.travel_to(facts.now + timedelta(hours=12, minutes=1))

    shown = await administrator.get("/requests?status=Open")
    sent = await administrator.post("/settings", headers={"Referer": f"{ORIGIN}/settings?from=here"})

    assert (shown.status_code, shown.headers["location"]) == (303, "/sign-in?next=/requests%3Fstatus%3DOpen")
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=/settings%3Ffrom%3Dhere")


async def test_disabled_person_is_signed_out_on_the_next_request(administrator: httpx2.AsyncClient, db: Db) -> None:
    await execute(db, "UPDATE identities SET status = 'Disabled'")

    assert (await administrator.get("/requests")).status_code == 303


async def test_form_from_another_site_is_rejected(administrator: httpx2.AsyncClient, db: Db) -> None:
    answers = [
        await administrator.post("/sign-out", headers=headers)
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"})
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions") == 1


async def test_secret_of_a_session_is_not_stored(administrator: httpx2.AsyncClient, db: Db) -> None:
    cookie = next(iter(administrator.cookies.values()))

    stored = await fetch_value(db, "SELECT string_agg(t::text, '') FROM console_sessions t")

    assert cookie not in stored


@pytest.mark.parametrize("status", ["Disabled", "Removed"])
async def test_person_who_returns_has_neither_their_old_role_nor_password(
    administrator: httpx2.AsyncClient, db: Db, status: str
) -> None:
    bo = await an_identity(db, "Bo", "Boss", email="bo@example.com")
    token = await a_token(db, "of Bo", owner=bo, scopes=["config:manage"])
    await actions.set_role(db, bo, Role.ADMINISTRATOR, "bo@example.com")
    await actions.set_password(db, bo, "a long old password", clock.now())
    bearer = {"Authorization": f"Bearer {token.secret}"}
    before = (await administrator.patch("/api/settings", headers=bearer, json={})).status_code

    for became in (status, "Active"):
        await execute(db, "UPDATE identities SET status = %(status)s WHERE id = %(id)s", status=became, id=bo)

    role = await fetch_value(db, "SELECT role FROM console_roles WHERE identity_id = %(id)s", id=bo)
    session = await actions.sign_in_by_password(db, "bo@example.com", "a long old password", clock.now())
    after = (await administrator.patch("/api/settings", headers=bearer, json={})).status_code
    assert (role, session, before, after) == (None, None, 200, 403)
