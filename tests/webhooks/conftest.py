from collections.abc import AsyncIterator
from ipaddress import ip_network

import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import make_pool
from tests.webhooks.receivers import Receiver, receiving
from tests.webhooks.sending import Post


@pytest.fixture
def config(config: Config) -> Config:
    """Allow loopback, where the receivers listen."""
    return msgspec.structs.replace(config, webhook_allow=(ip_network("127.0.0.0/8"),))


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def post(config: Config) -> AsyncIterator[Post]:
    async with make_pool(config) as pool:
        yield Post(pool, config)
