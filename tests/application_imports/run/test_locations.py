"""Test that nothing outside the import roots is read, regardless of spelling, links and redirects."""

import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from aiohttp import web
from psycopg.types.json import Jsonb
from yarl import URL

from rolecall.application_imports.run.http_source import is_never_a_source, matching_links
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.application_imports.running import Imports
from tests.builders import CONNECTOR, an_application
from tests.local_server import local_server

USERS, SECRET = "Username\nada\n", "Username\nsecret\n"
OUTSIDE = "it is outside of ROLECALL_IMPORT_ROOTS"
# The headers that a client library may follow.
REDIRECTING = ("Location", "URI", "Refresh", "Content-Location", "Link")


class Server(msgspec.Struct):
    """A server with a file inside an import root and a file outside it; `asked` are the requested paths."""

    url: str
    asked: list[str]


@asynccontextmanager
async def listening(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with local_server(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    asked = list[str]()

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.raw_path)
        headers = {name: value for name, value in request.query.items() if name in REDIRECTING}
        if "to" in request.query:
            headers["Location"] = request.query["to"]
        status = int(request.query.get("status", "302" if headers else "200"))
        return web.Response(text=USERS if request.path.startswith("/root/") else SECRET, status=status, headers=headers)

    async with listening(answer) as url:
        yield Server(url, asked)


async def fetched(client: httpx2.AsyncClient, db: Db, config: Config, root: str, location: str) -> dict[str, Any]:
    """Run an import of a location that was not checked when it was saved; return the import."""
    application = await an_application(
        db, f"Of {location!a}", schedule={"cron": "0 6 * * *", "locations": {"Users": "/x"}}
    )
    await execute(db, "UPDATE schedules SET locations = %(told)s", told=Jsonb({"Users": location}))
    imports = Imports(client, msgspec.structs.replace(config, import_roots=(root,)))
    staged = await client.post("/api/application-imports/stage", json={"applicationId": str(application)})
    await imports.work()
    return await imports.get(staged.json()["id"])


@pytest.mark.parametrize("path", ["users.csv", "users.csv?to=/root/other.csv", "a%20b.csv", "sub//users.csv"])
async def test_location_inside_a_root_is_read(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server, path: str
) -> None:
    run = await fetched(client, db, config, f"{server.url}/root/", f"{server.url}/root/{path}")

    assert run["status"] == "Finished", run["log"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "%2e%2e/secret.csv",
        "%2E./secret.csv",
        "%252e%252e/secret.csv",
        "..%2fsecret.csv",
        "..\\secret.csv",
        "%2e%2e%5csecret.csv",
        "./%2e%2e/secret.csv",
        "users.csv\t",
        "x?to=/secret.csv",
        "x?to=//127.0.0.1:1/root/users.csv",
        "x?to=/root/%2e%2e/secret.csv",
    ],
)
async def test_location_outside_the_roots_is_refused(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server, path: str
) -> None:
    run = await fetched(client, db, config, f"{server.url}/root", f"{server.url}/root/{path}")

    assert run["status"] == "Failed"
    assert OUTSIDE in run["log"]
    assert all(asked.startswith("/root/x?") for asked in server.asked)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("header", ["URI", "Refresh", "Content-Location", "Link"])
async def test_redirect_without_a_location_header_is_not_followed(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server, header: str, status: int
) -> None:
    path = f"/root/x?status={status}&{header}=/secret.csv"

    run = await fetched(client, db, config, f"{server.url}/root", server.url + path)

    assert run["status"] == "Failed"
    assert f"the server responded with {status} without a Location header" in run["log"]
    assert server.asked == [path]


@pytest.mark.parametrize("query", ["to=/root/users.csv&URI=/secret.csv", "status=200&Refresh=0;url=/secret.csv"])
async def test_only_the_location_header_is_followed(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server, query: str
) -> None:
    run = await fetched(client, db, config, f"{server.url}/root", f"{server.url}/root/x?{query}")

    assert run["status"] == "Finished", run["log"]
    assert all(asked.startswith("/root/") for asked in server.asked)


async def test_number_of_redirects_is_limited(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server
) -> None:
    run = await fetched(client, db, config, f"{server.url}/root", f"{server.url}/root/x?to=%23")

    assert run["status"] == "Failed"
    assert "the server redirects more than 10 times" in run["log"]


async def test_newest_matching_link_inside_the_root_is_read(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    page = """<a href="users-1.csv">1</a> <A class='x' HREF='/root/users-2.csv'>2</A> <a href="../users-9.csv">9</a>
              <a href="http://127.0.0.2:1/root/users-8.csv">8</a> <a href="sub/users-7.csv">7</a>"""
    ages = {"/root/users-1.csv": "Wed, 01 Apr 2026 00:00:00 GMT", "/root/users-2.csv": "Thu, 02 Apr 2026 00:00:00 GMT"}

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/root/":
            return web.Response(text=page, content_type="text/html")
        return web.Response(text=f"Username\n{request.path}\n", headers={"Last-Modified": ages[request.path]})

    async with listening(answer) as url:
        run = await fetched(client, db, config, f"{url}/root", f"{url}/root/users-*.csv?sig=1")
        none = await fetched(client, db, config, f"{url}/root", f"{url}/root/nobody-*.csv")

    assert [file["name"] for file in run["files"]] == ["users-2.csv"], run["log"]
    assert "there is no such file" in none["log"]


@pytest.mark.parametrize("part", ["<a ", '<a href="', "<a href='x ", "<a\t\t\t"])
def test_page_of_unclosed_tags_is_read_in_linear_time(part: str) -> None:
    root, start = URL("http://example.com/root/"), time.process_time()

    found = matching_links(part * 400_000 + '<a href="users.csv">', root, root, "*.csv")

    assert found == {URL("http://example.com/root/users.csv")}
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("address", "never"),
    [
        ("169.254.169.254", True),
        ("::ffff:169.254.169.254", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("fe80::1%eth0", True),
        ("168.63.129.16", True),
        ("0.0.0.0", True),
        ("::", True),
        ("224.0.0.1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("2001:db8::1", False),
    ],
)
def test_link_local_and_metadata_addresses_are_refused(address: str, never: bool) -> None:
    assert is_never_a_source(address) is never


async def test_host_name_of_a_metadata_service_is_not_connected_to(
    client: httpx2.AsyncClient, db: Db, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("169.254.169.254", 80))])

    run = await fetched(client, db, config, "http://files.test/", "http://files.test/users.csv")

    assert run["status"] == "Failed"
    assert OUTSIDE in run["log"]


async def test_user_name_in_a_url_does_not_match_the_root(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server
) -> None:
    host = server.url.removeprefix("http://")

    run = await fetched(client, db, config, f"{server.url}/root/", f"http://ada:secret@{host}/root/users.csv")

    assert OUTSIDE in run["log"]
    assert server.asked == []


async def test_symlink_out_of_a_file_url_root_is_not_followed(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.csv").write_text(SECRET)
    (tmp_path / "root" / "users.csv").symlink_to(tmp_path / "secret.csv")
    root = f"file://{tmp_path}/root"

    plain = await fetched(client, db, config, root, f"{root}/users.csv")

    assert plain["status"] == "Failed"
    assert OUTSIDE in plain["log"]


async def test_log_redacts_the_query_of_a_url(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server
) -> None:
    run = await fetched(client, db, config, "http://127.0.0.1:1/", "http://127.0.0.1:1/users.csv?sig=s3cr3t")

    assert run["status"] == "Failed"
    assert "http://127.0.0.1:1/users.csv?… cannot be read" in run["log"]
    assert "s3cr3t" not in run["log"]


async def test_fetched_file_gets_a_printable_name(
    client: httpx2.AsyncClient, db: Db, config: Config, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "users\r\nSet-Cookie: a=b\udc80.csv").write_text(USERS)

    here = await fetched(client, db, config, str(tmp_path), f"{tmp_path}/users*")
    there = await fetched(client, db, config, server.url, f"{server.url}/root/users.csv?sig=s3cr3t")

    (file,) = here["files"]
    sent = await client.get(f"/api/application-imports/{here['id']}/files/{file['id']}")
    assert file["name"] == "usersSet-Cookie: a=b.csv"
    assert sent.text == USERS
    assert 'filename="usersSet-Cookie: a=b.csv";' in sent.headers["content-disposition"]
    assert [file["name"] for file in there["files"]] == ["users.csv"]
    assert "s3cr3t" not in there["log"]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        (
            "https://files.example.com/hr/%2e%2e/x.csv",
            "Location must not contain .. or \\ or unprintable characters, encoded or not",
        ),
        (
            "https://files.example.com\\@evil.example/x.csv",
            "Location must not contain .. or \\ or unprintable characters, encoded or not",
        ),
        ("https://ada:secret@files.example.com/x.csv", "Location must not contain a password"),
        ("sftp://ada:secret@files.example.com/x.csv", "Location must not contain a password"),
    ],
)
async def test_ambiguous_url_cannot_be_saved_as_a_location(
    client: httpx2.AsyncClient, location: str, message: str
) -> None:
    schedule = {"cron": "0 6 * * *", "locations": {"Users": location}}

    answer = await client.post("/api/applications", json={"name": "P", "connector": CONNECTOR, "schedule": schedule})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "schedule.locations.Users", "message": message}]


@pytest.mark.parametrize(
    "location",
    [
        "/srv/exports/../hr/u*.csv",
        "s3://bucket/hr//users@day.csv",
        "sftp://ada@files.example.com/hr.csv",
        "C:\\hr\\users.csv",
    ],
)
async def test_unambiguous_locations_are_saved_unchanged(client: httpx2.AsyncClient, location: str) -> None:
    schedule = {"cron": "0 6 * * *", "locations": {"Users": location}}

    answer = await client.post("/api/applications", json={"name": "P", "connector": CONNECTOR, "schedule": schedule})

    assert answer.status_code == 201
