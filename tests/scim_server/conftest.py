import httpx2
import pytest

from rolecall.core.db import Db
from tests.scim_server.pushing import Pushing, a_push


@pytest.fixture
async def push(client: httpx2.AsyncClient, db: Db) -> Pushing:
    return await a_push(client, db)
