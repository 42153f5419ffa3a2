"""Provide HTTP clients that keep cookies and act as browsers of the console."""

from collections.abc import AsyncIterator

import httpx2
import msgspec
import pytest

from rolecall.console import actions
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.asgi import a_service

ORIGIN = "https://rolecall.test"


@pytest.fixture
async def visitor(config: Config) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield an HTTP client that acts as a browser without a session."""
    async with a_service(msgspec.structs.replace(config, base_url=ORIGIN)) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
            yield client


@pytest.fixture
async def administrator(visitor: httpx2.AsyncClient, db: Db, facts: Facts) -> httpx2.AsyncClient:
    link = await actions.create_administrator(db, "ada.admin@example.com", facts)
    answer = await visitor.post(f"/sign-in/{link}")
    assert answer.status_code == 303
    return visitor
