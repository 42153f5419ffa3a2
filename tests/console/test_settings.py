"""What administrators set in the browser."""

import httpx2

from rolecall.core.db import Db
from tests.builders import a_token


async def test_a_token_revoked_in_the_console_is_refused_on_the_next_request(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    token = await a_token(db, "leaving")
    theirs = {"Authorization": f"Bearer {token.secret}"}
    assert (await administrator.get("/api/identities", headers=theirs)).status_code == 200

    await administrator.post(f"/settings/tokens/{token.id}/revoke")

    assert (await administrator.get("/api/identities", headers=theirs)).status_code == 401
