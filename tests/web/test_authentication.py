from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.db import Db
from rolecall.tokens import actions as tokens
from rolecall.tokens.model import new_secret
from rolecall.web.limits import FAILED_AUTHENTICATIONS
from tests.builders import a_token


async def ask(client: httpx2.AsyncClient, authorization: str | None) -> httpx2.Response:
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    return await client.get("/api/identities", headers=headers)


async def refused_authorizations(db: Db) -> dict[str, str | None]:
    long_ago = datetime.now(UTC) - timedelta(days=8)
    revoked = await a_token(db, "revoked")
    await tokens.revoke_token(db, revoked.id, datetime.now(UTC))
    good = (await a_token(db, "good")).secret
    typo = good[:-1] + ("a" if good[-1] != "a" else "b")
    return {
        "missing": None,
        "empty": "",
        "no scheme": good,
        "another scheme": f"Basic {good}",
        "no token": "Bearer ",
        "not our form": "Bearer swordfish",
        "a typo": f"Bearer {typo}",
        "unknown": f"Bearer {new_secret()}",
        "another secret with a known public id": f"Bearer {good[:17]}{new_secret()[17:]}",
        "expired": f"Bearer {(await a_token(db, 'expired', now=long_ago, expiresInDays=7)).secret}",
        "revoked": f"Bearer {revoked.secret}",
        "not ASCII": "Bearer rct_\xe9",
    }


async def test_every_invalid_token_gets_the_same_response(anonymous: httpx2.AsyncClient, db: Db) -> None:
    for what, authorization in (await refused_authorizations(db)).items():
        answer = await ask(anonymous, authorization)

        assert answer.status_code == 401, what
        assert answer.headers["www-authenticate"] == "Bearer", what
        assert answer.json() == {
            "error": "unauthorized",
            "message": "A valid API token is required",
            "correlationId": answer.headers["x-correlation-id"],
        }, what


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_authentication_scheme_ignores_case(anonymous: httpx2.AsyncClient, db: Db, scheme: str) -> None:
    assert (await ask(anonymous, f"{scheme} {(await a_token(db)).secret}")).status_code == 200


async def test_token_without_the_scope_is_refused_with_403(anonymous: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, scopes=["applications:read"])

    answer = await ask(anonymous, f"Bearer {token.secret}")

    assert answer.status_code == 403
    assert answer.json() == {
        "error": "forbidden",
        "message": "The token lacks the scope identities:read",
        "correlationId": answer.headers["x-correlation-id"],
    }


async def test_unauthorized_body_is_not_read(anonymous: httpx2.AsyncClient) -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    answer = await anonymous.post("/api/tokens", content=never(), headers={"Content-Type": "application/json"})

    assert answer.status_code == 401


async def test_failed_authentications_are_limited_per_address_and_minute(anonymous: httpx2.AsyncClient, db: Db) -> None:
    clock.stop_at(datetime(2030, 1, 1, 12, 0, 30, tzinfo=UTC))
    good = f"Bearer {(await a_token(db, now=clock.now())).secret}"
    for _ in range(FAILED_AUTHENTICATIONS):
        assert (await ask(anonymous, None)).status_code == 401

    limited = await ask(anonymous, None)

    assert limited.status_code == 429
    assert limited.json()["error"] == "rate_limited"
    assert 0 < int(limited.headers["retry-after"]) <= 30
    assert (await ask(anonymous, good)).status_code == 200
    clock.stop_at(datetime(2030, 1, 1, 12, 1, 0, tzinfo=UTC))
    assert (await ask(anonymous, None)).status_code == 401
