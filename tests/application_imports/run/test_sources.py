"""Test that an import fails without a retry if its source fails, and that the log has the reason."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import fsspec
import httpx2
import msgspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from rolecall.application_imports.run import http_source
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def speaking(behave: Behaviour) -> AsyncIterator[str]:
    """Run a server on loopback whose raw response `behave` writes; yield its URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await behave(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def fetched(client: httpx2.AsyncClient, db: Db, config: Config, root: str, path: str) -> dict[str, Any]:
    schedule = {"cron": "0 6 * * *", "locations": {"Users": f"{root}{path}"}}
    application = await an_application(db, schedule=schedule)
    imports = Imports(client, msgspec.structs.replace(config, import_roots=(root,)))
    staged = await client.post("/api/application-imports/stage", json={"applicationId": str(application)})
    await imports.work()
    return await imports.get(staged.json()["id"])


def sending(*pieces: bytes) -> Behaviour:
    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        await writer.drain()

    return behave


OK = b"HTTP/1.1 200 OK\r\n"
CASES: dict[str, tuple[Behaviour, str]] = {
    "hangs up at once": (sending(), "the server closed the connection"),
    "hangs up in the head": (sending(b"HTTP/1.1 200 OK\r\nConte"), "the server closed the connection"),
    "hangs up before the body": (
        sending(OK, b"Content-Length: 5000\r\n\r\n"),
        "the server closed the connection after 0 of 5,000 bytes",
    ),
    "hangs up in the body": (
        sending(OK, b"Content-Length: 5000\r\n\r\n", b"x" * 1234),
        "the server closed the connection after 1,234 of 5,000 bytes",
    ),
    "hangs up in a chunk": (
        sending(OK, b"Transfer-Encoding: chunked\r\n\r\n", b"4\r\nUser\r\nff\r\nname"),
        "the server closed the connection after",
    ),
    "answers 500": (sending(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"), "the server responded with 500"),
    "answers a part": (sending(b"HTTP/1.1 206 P\r\nContent-Length: 1\r\n\r\nx"), "the server responded with 206"),
    "answers no HTTP": (sending(b"220 ftp ready\r\n\r\n"), "cannot be read: "),
    "redirects to no URL": (sending(b"HTTP/1.1 302 F\r\nLocation: http://[\r\n\r\n"), "cannot be read: "),
}


@pytest.mark.parametrize("case", CASES)
async def test_import_fails_without_a_retry_if_its_source_fails(
    client: httpx2.AsyncClient, db: Db, config: Config, case: str
) -> None:
    behave, reason = CASES[case]
    async with speaking(behave) as url:
        run = await fetched(client, db, config, url, "/users.csv")

    lines = [line[21:] for line in run["log"].splitlines()]
    assert run["status"] == "Failed"
    assert [lines[0], len(lines)] == ["Started", 2]
    assert lines[1].startswith(f"Failed: Users: {url}/users.csv cannot be read: ")
    assert reason in lines[1]


async def test_import_fails_if_its_source_stops_sending(
    client: httpx2.AsyncClient, db: Db, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_source, "_TIMEOUT", aiohttp.ClientTimeout(sock_read=0.2))

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: 50\r\n\r\nUser")
        await reader.read()

    async with speaking(behave) as url:
        run = await fetched(client, db, config, url, "/users.csv")

    assert run["log"].endswith("cannot be read: the server did not answer in time after 4 of 50 bytes")


class _Failing(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A store whose library raises an error that is not an `OSError`."""

    protocol = "failing"

    def _open(self, path: str, *_: object, **__: object) -> Any:
        raise LookupError("NoSuchBucket: hr\nFinished\x00")


async def test_import_fails_with_one_line_after_an_error_of_a_storage_library(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    fsspec.register_implementation("failing", _Failing, clobber=True)

    run = await fetched(client, db, config, "failing://hr", "/users.csv")

    assert run["status"] == "Failed"
    assert run["log"].endswith("Failed: Users: failing://hr/users.csv cannot be read: NoSuchBucket: hr Finished")
