"""Test that the token cache avoids queries, is bounded, and expires its entries."""

import httpx2
import pytest

from rolecall.core.db import Db
from rolecall.tokens import keyring
from tests.builders import a_token


async def test_tokens_are_cached_up_to_a_limit(
    anonymous: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KNOWN_FOR_SECONDS", 3600)
    monkeypatch.setattr(keyring, "_MOST", 2)
    secrets = {name: (await a_token(db, name)).secret for name in ("first", "second", "third")}

    async def statuses(*names: str) -> list[int]:
        headers = [{"Authorization": f"Bearer {secrets[name]}"} for name in names]
        return [(await anonymous.get("/api/identities", headers=header)).status_code for header in headers]

    assert await statuses("first", "second") == [200, 200]
    await db.execute("DELETE FROM tokens WHERE name <> 'third'")

    assert await statuses("first", "second") == [200, 200]
    assert await statuses("third", "first", "second") == [200, 401, 401]


async def test_cached_token_expires(anonymous: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "KNOWN_FOR_SECONDS", 0)
    anonymous.headers["Authorization"] = f"Bearer {(await a_token(db)).secret}"
    assert (await anonymous.get("/api/identities")).status_code == 200

    await db.execute("DELETE FROM tokens")

    assert (await anonymous.get("/api/identities")).status_code == 401
