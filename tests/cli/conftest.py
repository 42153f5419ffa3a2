from collections.abc import Iterator

import pytest

from tests.cli.commands import Caller, Running, a_service, rolecall


@pytest.fixture(scope="session")
def called_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a service for all tests of client commands; each test uses its own records."""
    with a_service(tmp_path_factory.mktemp("called") / "here", "--workers", "1") as running:
        yield running


@pytest.fixture(scope="session")
def call(called_service: Running) -> Caller:
    made = rolecall("token", "create", "t", "--scope", "all", "--data-dir", called_service.data_dir)
    return Caller(called_service.url, made.stdout.strip())
