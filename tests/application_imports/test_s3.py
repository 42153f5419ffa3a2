"""Test files in an S3 store that may be unreachable for a while."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import fsspec
import httpx2
import msgspec
import pytest
from moto.server import ThreadedMotoServer

from rolecall.application_imports.run.build import build
from rolecall.application_imports.run.job import BuildOutcome, Job
from rolecall.application_imports.run.next_import import _start, run_next_import
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value, make_pool
from tests.application_imports.run.test_schedule import an_application_with, staged
from tests.application_imports.running import Imports
from tests.asgi import serving
from tests.builders import an_application
from tests.cli.commands import free_port


class Store:
    """An S3 server that keeps its files while it is stopped."""

    def __init__(self) -> None:
        self.port = free_port()
        self._server: Any = None

    def start(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    store = Store()
    impatient = {"connect_timeout": 1, "read_timeout": 5, "retries": {"max_attempts": 1}}
    settings = {
        "endpoint_url": f"http://127.0.0.1:{store.port}", "key": "k", "secret": "s", "config_kwargs": impatient
    }  # fmt: skip
    monkeypatch.setitem(fsspec.config.conf, "s3", settings)
    store.start()
    fsspec.filesystem("s3").makedirs("bucket", exist_ok=True)
    yield store
    store.stop()


@pytest.fixture
def shared(config: Config, store: Store) -> Config:
    return msgspec.structs.replace(config, files_url="s3://bucket/files", import_roots=("s3://bucket/exports",))


@pytest.fixture
async def imports(shared: Config, token: str) -> AsyncIterator[Imports]:
    async with serving(shared) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield Imports(client, shared)


@pytest.fixture
async def fetched(config: Config, store: Store, token: str) -> AsyncIterator[Imports]:
    """Return imports that fetch from the S3 store into the data folder, where a child process can find the files."""
    async with serving(config) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield Imports(client, msgspec.structs.replace(config, import_roots=("s3://bucket/exports",)))


async def an_upload(imports: Imports, db: Db, application: UUID) -> httpx2.Response:
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    return await imports.client.post(
        "/api/application-imports/upload",
        params={"applicationId": str(application)},
        files={str(group): ("users.csv", b"Username\nada\n")},
    )


async def test_upload_is_unavailable_while_the_store_is_unreachable(imports: Imports, db: Db, store: Store) -> None:
    application = await an_application(db)
    store.stop()
    answer = await an_upload(imports, db, application)
    store.start()

    assert (answer.status_code, answer.json()["message"]) == (503, "The file store is unreachable")
    assert answer.headers["retry-after"] == "5"
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 0
    assert (await an_upload(imports, db, application)).status_code == 201


async def test_build_is_postponed_while_the_store_is_unreachable(
    imports: Imports, shared: Config, db: Db, store: Store
) -> None:
    id = UUID((await an_upload(imports, db, await an_application(db))).json()["id"])
    await _start(db, id)
    job = Job(id, shared.database_url or "", shared.base_url, shared.store, "UTC", 0, clock.now())
    store.stop()
    result = await build(job)
    store.start()

    assert result.outcome == BuildOutcome.POSTPONED


async def test_import_waits_for_the_store_however_long_it_takes(
    imports: Imports, shared: Config, db: Db, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "users.csv").write_text("Username\nada\n")
    local = msgspec.structs.replace(shared, import_roots=(str(tmp_path),))
    application = await an_application_with(db, tmp_path / "users.csv")
    answer = await imports.client.post("/api/application-imports/stage", json={"applicationId": str(application)})
    store.stop()
    async with make_pool(local) as pool:
        for _ in range(5):
            assert not await run_next_import(pool, local, clock.now())
    store.start()

    assert (await imports.get(answer.json()["id"]))["status"] == "Running"
    assert await fetch_value(db, "SELECT attempts FROM import_runs") == 0


async def test_replaced_export_is_read_with_its_new_content(fetched: Imports, db: Db) -> None:
    application = await an_application_with(db, "s3://bucket/exports/*.csv")
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    files.pipe_file("bucket/exports/users-1.csv", b"Username\nada\n")
    first = await staged(fetched, application)
    files.pipe_file("bucket/exports/users-1.csv", b"Username\nada\ngrace\njoan\n")
    second = await staged(fetched, application)

    assert (first["status"], second["status"]) == ("Finished", "Finished"), second["log"]
    assert await fetch_value(db, "SELECT count(*) FROM accounts") == 3
