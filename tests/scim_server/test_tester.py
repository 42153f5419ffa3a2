"""Check the running service with scim2-tester against RFC 7643 and RFC 7644."""

import asyncio

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import CheckResult, Status, check_server

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.figures import measured
from tests.listening import an_api
from tests.scim_server.pushing import a_push


def _checked(url: str, secret: str) -> list[CheckResult]:
    with httpx2.Client(base_url=f"{url}/scim/v2", headers={"Authorization": f"Bearer {secret}"}) as http:
        return list(check_server(SyncSCIMClient(http)))


async def test_scim2_tester_finds_no_errors(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    push = await a_push(client, db)
    async with an_api(config) as api:
        results = await asyncio.to_thread(_checked, api.url, push.secret)

    wrong = [f"{each.title} {each.resource_type}: {each.reason}" for each in results if each.status is Status.ERROR]
    skipped = [f"{each.title}: {each.reason}" for each in results if each.status is Status.SKIPPED]
    assert (wrong, skipped) == ([], [])
    assert len(results) > 100
    measured(f"{len(results)} checks of scim2-tester")
