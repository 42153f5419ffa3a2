from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from rolecall.core.config import Config
from tests.asgi import serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    return folder


@pytest.fixture
def scheduled(config: Config, folder: Path) -> Config:
    return replace(config, report_roots=(str(folder.parent),))


@pytest.fixture
async def service(scheduled: Config, token: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(scheduled) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client
