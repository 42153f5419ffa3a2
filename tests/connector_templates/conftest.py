import httpx2
import pytest

from rolecall.core.config import Config
from tests.application_imports.running import Imports


@pytest.fixture
def imports(client: httpx2.AsyncClient, config: Config) -> Imports:
    return Imports(client, config)
