import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.sources.rest_server import RestServer, serving
from tests.sources.sourcing import Sourcing, a_sourced_application, allowing


@pytest.fixture
def config(config: Config, tmp_path: Path) -> Config:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    return allowing(config, source_secrets=secrets)


@pytest.fixture(autouse=True)
def end_of_threads() -> Iterator[None]:
    """Wait for the threads of LDAP connections, so that their warnings belong to the test that caused them."""
    yield
    for thread in [each for each in threading.enumerate() if each.name.startswith("ldap")]:
        thread.join()


@pytest.fixture
async def server() -> AsyncIterator[RestServer]:
    async with serving(25) as server:
        yield server


@pytest.fixture
async def sourcing(client: httpx2.AsyncClient, db: Db, config: Config) -> Sourcing:
    return await a_sourced_application(client, db, config)
