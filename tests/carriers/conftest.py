from collections.abc import Iterator

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.carriers.carrying import Carrying, an_application_to_carry, entries
from tests.sources.peers import Directory, a_directory, a_scim_server, needs_ldap, needs_scim
from tests.sources.sourcing import allowing


@pytest.fixture
def config(config: Config) -> Config:
    return allowing(config)


@pytest.fixture
async def carrying(client: httpx2.AsyncClient, db: Db, config: Config) -> Carrying:
    return await an_application_to_carry(client, db, config)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    needs_ldap()
    people = [f"{verb}{n}" for verb in ("change", "disable", "enable", "delete", "leave", "held") for n in range(10)]
    with a_directory(tmp_path_factory.mktemp("slapd"), entries(*people)) as directory:
        yield directory


@pytest.fixture(scope="module")
def scim() -> Iterator[str]:
    needs_scim()
    with a_scim_server() as url:
        yield url
