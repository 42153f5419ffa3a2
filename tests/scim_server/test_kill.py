"""Kill the API with SIGKILL at the commit of a push, and the worker when it begins to import one."""

import asyncio
import signal
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.listening import an_api
from tests.reports.test_kill import a_worker
from tests.scim_server.pushing import Pushing


@pytest.mark.parametrize(("moment", "stored"), [("before", []), ("after", ["ada"])])
async def test_killed_push_is_stored_completely_or_not_at_all(
    push: Pushing, config: Config, tmp_path: Path, moment: str, stored: list[str]
) -> None:
    faults = tmp_path / "faults"
    faults.mkdir()
    (faults / f"scim.{moment}-commit").touch()

    async with an_api(config, ROLECALL_FAULTS=str(faults)) as api, httpx2.AsyncClient(base_url=api.url) as outside:
        with pytest.raises(httpx2.TransportError):
            await Pushing(outside, push.id, push.secret).user("ada")

    assert not list(faults.iterdir())
    assert await push.names('userName eq "ada"') == stored


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_push_is_imported_once_although_the_worker_is_killed(
    push: Pushing, config: Config, db: Db, tmp_path: Path, moment: str
) -> None:
    faults = tmp_path / "faults"
    faults.mkdir()
    (faults / f"pushes.{moment}-commit").touch()
    await push.user("ada")
    long_ago = "now() - interval '1 day'"
    await execute(db, f"UPDATE scim_pushes SET waiting_since = {long_ago}, changed_at = {long_ago}")

    async with a_worker(config, faults) as killed, asyncio.timeout(120):
        assert await killed.wait() == -signal.SIGKILL
    async with a_worker(config, faults), asyncio.timeout(120):
        ended = "SELECT status FROM application_imports WHERE build_end IS NOT NULL"
        while not (runs := await fetch_rows(db, ended)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    assert runs == [("Finished",)]
    assert await fetch_rows(db, "SELECT count(*) FROM application_imports") == [(1,)]
