"""Test sign-in through an OpenID provider on loopback that signs with a real key."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import msgspec
import pytest
from joserfc.jwk import RSAKey

from rolecall.console import actions
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.config import Config, ConfigError, load
from rolecall.core.db import Db, execute, fetch_value
from tests.asgi import a_service
from tests.builders import an_identity
from tests.console.conftest import ORIGIN
from tests.console.openid import CLIENT_ID, CLIENT_SECRET, OpenIdProvider, providing

CALLBACK = "/sign-in/oidc/callback"


@pytest.fixture
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with providing() as provider:
        yield provider


@pytest.fixture
async def browser(config: Config, provider: OpenIdProvider, db: Db, facts: Facts) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client without a session; an administrator exists."""
    await actions.create_administrator(db, "ada.admin@example.com", facts)
    oidc = {"oidc_issuer": provider.url, "oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET}
    async with a_service(msgspec.structs.replace(config, base_url=ORIGIN, **oidc)) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield client


async def sent(browser: httpx2.AsyncClient, next: str = "/") -> str:
    answer = await browser.get("/sign-in/oidc", params={"next": next})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def is_in(browser: httpx2.AsyncClient) -> bool:
    return (await browser.get("/requests")).status_code == 200


async def test_provider_signs_a_person_in_and_its_metadata_is_cached(
    browser: httpx2.AsyncClient, provider: OpenIdProvider
) -> None:
    page = await browser.get("/sign-in?next=/requests")
    assert "Sign in with 127.0.0.1" in page.text
    assert 'href="/sign-in/oidc?next=%2Frequests"' in page.text or 'href="/sign-in/oidc?next=/requests"' in page.text

    for _ in range(2):
        answer = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser, "/requests")))

        assert (answer.status_code, answer.headers["location"]) == (303, "/requests")
        assert "Secure; HttpOnly; SameSite=Lax" in answer.headers["set-cookie"]
        assert await is_in(browser)
    assert provider.asked == ["discovery", "keys"]


async def test_email_from_userinfo_and_secret_in_the_body_are_supported(
    browser: httpx2.AsyncClient, provider: OpenIdProvider
) -> None:
    provider.email, provider.knows_clients_by = None, "client_secret_post"
    provider.about_the_person = {"sub": "1", "email": "ADA.admin@example.com", "email_verified": True}

    answer = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))

    assert answer.status_code == 303
    assert await is_in(browser)


async def test_rotated_provider_key_is_fetched(browser: httpx2.AsyncClient, provider: OpenIdProvider) -> None:
    await sent(browser)
    provider.key = provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})

    answer = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))

    assert answer.status_code == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "somebody-else"},
        {"aud": [CLIENT_ID, "somebody-else"], "azp": "somebody-else"},
        {"iss": "https://evil.example"},
        {"nonce": "another"},
        {"exp": 1_600_000_000},
        {"email_verified": False},
        {"email_verified": "no"},
    ],
    ids=str,
)
async def test_id_token_with_wrong_claims_is_rejected(
    browser: httpx2.AsyncClient, provider: OpenIdProvider, claims: dict[str, Any]
) -> None:
    provider.says |= claims

    answer = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))

    assert answer.status_code == 401
    assert "Ask Ada Admin for help" in answer.text
    assert not await is_in(browser)


async def test_forged_signature_is_rejected(browser: httpx2.AsyncClient, provider: OpenIdProvider) -> None:
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})

    answer = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))

    assert answer.status_code == 401
    assert "is not signed by your provider" in answer.text
    assert not await is_in(browser)


async def test_state_is_valid_once_for_ten_minutes_in_the_browser_that_started(
    browser: httpx2.AsyncClient, provider: OpenIdProvider, db: Db, facts: Facts
) -> None:
    back = provider.sign_in(await sent(browser))
    cookie = browser.cookies["__Host-rolecall-attempt"]
    browser.cookies.clear()
    elsewhere = await browser.get(CALLBACK, params=back)
    browser.cookies.set("__Host-rolecall-attempt", cookie)
    first = await browser.get(CALLBACK, params=back)
    browser.cookies.delete("__Host-rolecall")
    again = await browser.get(CALLBACK, params=back)
    late = provider.sign_in(await sent(browser))
    clock.travel_to(facts.now + timedelta(minutes=10, seconds=1))
    too_late = await browser.get(CALLBACK, params=late)

    answers = (elsewhere, first, again, too_late)
    assert [answer.status_code for answer in answers] == [401, 303, 401, 401]
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions") == 1


async def test_provider_signs_in_people_without_a_role_but_no_strangers_or_disabled_people(
    browser: httpx2.AsyncClient, provider: OpenIdProvider, db: Db
) -> None:
    bob = await an_identity(db, "Bob", "Stone", email="bob@example.com")
    provider.email = "bob@example.com"
    known = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))
    provider.email = "carl@example.com"
    stranger = await browser.get(CALLBACK, params=provider.sign_in(await sent(browser)))
    provider.email = "ada.admin@example.com"
    back = provider.sign_in(await sent(browser))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE email_address = 'ada.admin@example.com'")
    disabled = await browser.get(CALLBACK, params=back)

    assert (known.status_code, stranger.status_code, disabled.status_code) == (303, 403, 403)
    assert "No active person signs in with carl@example.com. Ask Ada Admin for help" in stranger.text
    assert await fetch_value(db, "SELECT array_agg(identity_id) FROM console_sessions") == [bob]


async def test_unavailable_provider_is_reported_above_the_password_form(config: Config) -> None:
    async with providing() as gone:
        url = gone.url
    oidc = {"oidc_issuer": url, "oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET}
    async with (
        a_service(msgspec.structs.replace(config, base_url=ORIGIN, **oidc)) as app,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN) as client,
    ):
        answer = await client.get("/sign-in/oidc")

    assert answer.status_code == 503
    assert "is not available: it does not respond" in answer.text
    assert 'name="password"' in answer.text


async def test_sign_in_page_offers_no_provider_if_none_is_configured(visitor: httpx2.AsyncClient) -> None:
    page = await visitor.get("/sign-in")

    assert "Sign in with" not in page.text
    assert (await visitor.get("/sign-in/oidc")).status_code == 404
    assert (await visitor.get(CALLBACK)).status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        {"ROLECALL_OIDC_ISSUER": "https://idp.example.com"},
        {
            "ROLECALL_OIDC_ISSUER": "http://idp.example.com",
            "ROLECALL_OIDC_CLIENT_ID": "a",
            "ROLECALL_OIDC_CLIENT_SECRET": "b",
        },
    ],
)
def test_incomplete_or_unencrypted_provider_setting_is_rejected(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="ROLECALL_OIDC_"):
        load(given)
