"""Test how files are stored, and that a failure leaves neither rows without a file nor files without a row."""

import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from rolecall.application_imports.actions import sweep_files
from rolecall.core.config import MIB, Config
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_application

PATH = "/api/application-imports/upload"


def kept(config: Config) -> list[Path]:
    return [path for path in config.store.folder.rglob("*") if path.is_file()]


async def upload(client: httpx2.AsyncClient, db: Db, content: Any = b"Username\nada\n") -> httpx2.Response:
    application_id = await an_application(db)
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    return await client.post(
        PATH, params={"applicationId": str(application_id)}, files={str(group): ("users.csv", content)}
    )


@asynccontextmanager
async def at_commit(db: Db, statement: str) -> AsyncIterator[None]:
    """Run `statement` during the commit of every transaction that creates an import."""
    body = f"CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statement}; RETURN NULL; END $$"
    await execute(db, body)
    await execute(
        db,
        "CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON application_imports DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION fault()",
    )
    try:
        yield
    finally:
        await execute(db, "DROP FUNCTION fault CASCADE")


async def test_files_of_a_rolled_back_transaction_are_removed(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    async with at_commit(db, "RAISE EXCEPTION 'no'"):
        answer = await upload(client, db)

    assert answer.status_code == 500
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 0
    assert kept(config) == []


async def test_files_stay_until_the_sweep_if_the_commit_is_uncertain(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    async with at_commit(db, "PERFORM pg_terminate_backend(pg_backend_pid())"):
        answer = await upload(client, db)

    assert answer.status_code == 503
    assert len(kept(config)) == 1
    now = datetime.now(UTC)
    await sweep_files(db, config.store, now + timedelta(days=1))
    assert len(kept(config)) == 1
    await sweep_files(db, config.store, now + timedelta(days=3))
    assert kept(config) == []


async def test_sweep_keeps_files_that_have_a_database_row(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    await upload(client, db)
    (config.store.folder / "incoming" / "unfinished").write_bytes(b"half a fi")

    for days in range(5):
        await sweep_files(db, config.store, datetime.now(UTC) + timedelta(days=days))

    assert [path.read_bytes() for path in kept(config)] == [b"Username\nada\n"]


async def test_sweep_ignores_a_file_that_vanishes_meanwhile(db: Db, config: Config) -> None:
    incoming = config.store.folder / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    # The store lists this file, but cannot open it.
    (incoming / "gone").symlink_to(incoming / "nowhere")
    (incoming / "unfinished").write_bytes(b"half a fi")

    await sweep_files(db, config.store, datetime.now(UTC) + timedelta(days=2))

    assert not (incoming / "unfinished").exists()


async def test_interrupted_upload_leaves_no_file(client: httpx2.AsyncClient, config: Config) -> None:
    seen = []

    async def body() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n' + b"x" * 3 * MIB
        seen.extend(kept(config))
        raise ConnectionError("gone")

    await client.post(PATH, content=body(), headers={"Content-Type": "multipart/form-data; boundary=x"})

    assert len(seen) == 1
    assert kept(config) == []


async def test_upload_is_not_buffered_in_memory(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    application_id = await an_application(db)
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    piece, pieces = b"x" * 64 * 1024, 48 * 16

    async def body() -> AsyncIterator[bytes]:
        yield f'--x\r\nContent-Disposition: form-data; name="{group}"; filename="b"\r\n\r\n'.encode()
        for _ in range(pieces):
            yield piece
        yield b"\r\n--x--\r\n"

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    tracemalloc.start()
    try:
        answer = await client.post(PATH, params={"applicationId": str(application_id)}, content=body(), headers=headers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert answer.status_code == 201
    assert kept(config)[0].stat().st_size == len(piece) * pieces == 48 * MIB
    assert peak < 8 * MIB


async def test_stored_files_are_readable_by_the_service_only(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await upload(client, db)

    (file,) = kept(config)

    assert file.stat().st_mode & 0o777 == 0o600
    assert config.store.folder.stat().st_mode & 0o077 == 0
