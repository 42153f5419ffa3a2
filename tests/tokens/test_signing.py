"""A token is authorized again inside the transaction that writes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from rolecall.core.authors import AuthorKind, by
from rolecall.core.caller import Caller
from rolecall.core.db import Db, execute
from rolecall.core.errors import Unauthorized
from rolecall.tokens.actions import sign_as_token
from tests.builders import a_token, an_identity

MADE = datetime(2030, 1, 1, 12, tzinfo=UTC)


async def caller_with_a_token(db: Db, **fields: Any) -> Caller:
    await a_token(db, "another", now=MADE, expiresInDays=None)
    token = await a_token(db, "writing", now=MADE, scopes=["audit:read"], **fields)
    return Caller(token.id, "API Token - writing", frozenset())


async def sign(db: Db, caller: Caller, at: datetime) -> Caller:
    async with db.transaction():
        return await sign_as_token(db, caller, by(AuthorKind.TOKEN, caller, "test", at, "correlation"))


async def test_writing_token_has_its_scopes_until_the_moment_it_expires(db: Db) -> None:
    caller = await caller_with_a_token(db, expiresInDays=1)

    assert (await sign(db, caller, MADE + timedelta(days=1, microseconds=-1))).scopes == {"audit:read"}
    with pytest.raises(Unauthorized):
        await sign(db, caller, MADE + timedelta(days=1))


async def test_token_that_never_expires_may_write_until_it_is_revoked(db: Db) -> None:
    caller = await caller_with_a_token(db, expiresInDays=None)

    assert (await sign(db, caller, MADE + timedelta(days=9999))).scopes == {"audit:read"}
    await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=caller.id)
    with pytest.raises(Unauthorized):
        await sign(db, caller, MADE)


async def test_token_is_refused_after_its_owner_left(db: Db, anonymous: httpx2.AsyncClient) -> None:
    person = await an_identity(db)
    token = await a_token(db, "hers", owner=person, scopes=["notifications:own", "tokens:manage"])
    service = await a_token(db, "of no person", scopes=["tokens:manage"])
    caller = Caller(token.id, "API Token - hers", frozenset())
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=person)

    answers = [
        await anonymous.get(path, headers={"Authorization": f"Bearer {each.secret}"})
        for path, each in (("/api/notifications", token), ("/api/tokens", token), ("/api/tokens", service))
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 200]
    assert "is no longer active" in answers[0].json()["message"]
    with pytest.raises(Unauthorized):
        await sign(db, caller, datetime.now(UTC))
