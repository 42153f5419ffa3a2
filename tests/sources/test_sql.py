"""Test that SQL sources fetch rows from PostgreSQL and SQLite, read-only and in one snapshot."""

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import msgspec
import psycopg
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources.kinds import connect
from rolecall.sources.model import Source, SourceAccess, SourceContent, SourceFailed, SourceKind
from tests.external import a_server
from tests.sources.sourcing import Sourcing, a_sourced_application

CONNECTOR: dict[str, Any] = {"name": "SQL", "files": [{"name": "Users", "content": "users"}]}
QUERY = 'SELECT login AS "Username", name AS "Name", active AS "Active", note FROM people ORDER BY login'
ROWS = [("ada", "Ada Lovelace", True, 'a "quoted" \\ back\nslash'), ("bob", "Bob 100 % sure", False, "ü\t{}")]
FOUND = [dict(zip(("Username", "Name", "Active", "note"), row, strict=True)) for row in ROWS]
TABLE = "CREATE TABLE people (login text, name text, active boolean, note text)"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    file = tmp_path / "hr records.db"
    made = sqlite3.connect(file)
    made.execute(TABLE)
    made.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", ROWS)
    made.commit()
    made.close()
    return f"sqlite://{file}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    with (
        tempfile.TemporaryDirectory(prefix="rolecall-source-") as folder,
        a_server(Path(folder)) as url,
        psycopg.connect(url, autocommit=True) as db,
    ):
        db.execute(TABLE)
        db.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", ROWS)
        db.execute("CREATE ROLE reader LOGIN PASSWORD 'only reads'")
        db.execute("GRANT SELECT ON people TO reader")
        yield db


@pytest.fixture
def postgres_url(postgres: psycopg.Connection) -> str:
    return f"postgresql://127.0.0.1:{postgres.info.port}/postgres?sslmode=disable"


@pytest.fixture
def config(config: Config, tmp_path: Path) -> Config:
    return msgspec.structs.replace(config, import_roots=(str(tmp_path),))


@pytest.fixture
async def sourcing(client: httpx2.AsyncClient, db: Db, config: Config) -> Sourcing:
    return await a_sourced_application(client, db, config, CONNECTOR)


async def rows(config: Config, url: str, query: str, user: str = "reader", secret: str = "only reads") -> list[Any]:
    """Return the rows of a query on a new connection."""
    source = Source(SourceKind.SQL, url, {}, username=user if "postgresql" in url else "", timeout_seconds=2)
    async with connect(SourceAccess(source, secret, config, 1)) as connection:
        pages = [page async for page in connection.pages(SourceContent(query=query))]
    return [record for page in pages for record in page.records]


async def test_postgres_rows_are_fetched_unchanged(config: Config, postgres_url: str) -> None:
    assert await rows(config, postgres_url, QUERY) == FOUND
    assert await rows(config, postgres_url, f"{QUERY} -- the last line;") == FOUND
    assert await rows(config, postgres_url, "SELECT n FROM generate_series(1, 2500) AS n;") == [
        {"n": n} for n in range(1, 2501)
    ]


async def test_sqlite_rows_are_fetched_unchanged(config: Config, sqlite_url: str) -> None:
    assert await rows(config, sqlite_url, QUERY) == FOUND
    assert await rows(config, sqlite_url, "SELECT x'00ff' AS photo") == [{"photo": "00ff"}]


async def test_decimals_keep_their_digits(config: Config, postgres_url: str) -> None:
    query = "SELECT id FROM (VALUES (12345678901234567.8), (12345678901234567.9), (1.10), (1.1)) AS made(id)"

    found = [row["id"] for row in await rows(config, postgres_url, query)]

    assert found == ["12345678901234567.8", "12345678901234567.9", "1.10", "1.1"]


async def test_columns_with_the_same_name_are_refused(config: Config, postgres_url: str, sqlite_url: str) -> None:
    for url in (postgres_url, sqlite_url):
        with pytest.raises(SourceFailed, match="two columns named login; rename one of them with AS"):
            await rows(config, url, "SELECT p.*, q.login FROM people p JOIN people q ON q.login = p.login")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DELETE FROM people", "must begin with SELECT"),
        ("ANALYZE SELECT pg_sleep(9)", "must begin with SELECT"),
        ("(ANALYZE) SELECT 1", "must begin with SELECT"),
        ("SELECT 1; DELETE FROM people", "cannot insert multiple commands"),
        ("SELECT 1) AS r) TO PROGRAM 'true' --", "syntax error"),
        ("SELECT pg_sleep(30)", "statement timeout"),
        ("SELECT nothing FROM people", 'column "nothing" does not exist'),
        ("SELECT lo_create(0)", "read-only transaction"),
    ],
)
async def test_postgres_query_can_only_read(config: Config, postgres_url: str, query: str, reason: str) -> None:
    with pytest.raises(SourceFailed, match=reason):
        await rows(config, postgres_url, query)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT hex(zeroblob(100000000)) AS x", "too big"),
        ("DELETE FROM people", "not authorized"),
        ("ATTACH '/etc/hostname' AS other", "not authorized"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("PRAGMA writable_schema = 1", "not authorized"),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0",
            "took longer than",
        ),
    ],
)
async def test_sqlite_query_can_only_read(config: Config, sqlite_url: str, query: str, reason: str) -> None:
    with pytest.raises(SourceFailed, match=reason):
        await rows(config, sqlite_url, query)


async def test_query_cannot_change_the_time_limit_of_the_next_query(config: Config, postgres_url: str) -> None:
    source = Source(SourceKind.SQL, postgres_url, {}, username="reader", timeout_seconds=2)
    queries = ["SELECT set_config('statement_timeout', '0', false) AS x", "SELECT pg_sleep(30)"]
    async with connect(SourceAccess(source, "only reads", config, 1)) as connection:
        lifted, endless = [connection.pages(SourceContent(query=query)) for query in queries]
        assert [len(page) async for page in lifted] == [1]
        with pytest.raises(SourceFailed, match="statement timeout"):
            _ = [page async for page in endless]


async def test_wrong_password_is_reported(config: Config, postgres_url: str) -> None:
    with pytest.raises(SourceFailed, match="password authentication failed"):
        await rows(config, postgres_url, QUERY, secret="expired")


async def test_server_without_tls_is_refused(config: Config, postgres_url: str) -> None:
    with pytest.raises(SourceFailed, match="does not support SSL"):
        await rows(config, postgres_url.removesuffix("?sslmode=disable"), QUERY)


async def test_import_reads_both_databases(sourcing: Sourcing, postgres_url: str, sqlite_url: str) -> None:
    put = await sourcing.put(postgres_url, {"query": QUERY}, kind="SQL", username="reader", secret="only reads")
    assert put.status_code == 200, put.text
    first = await sourcing.fetch()
    assert first["status"] == "Finished", first["log"]

    await sourcing.put(sqlite_url, {"query": QUERY}, kind="SQL")
    second = await sourcing.fetch()

    assert second["status"] == "Finished", second["log"]
    assert await sourcing.usernames() == ["ada", "bob"]


async def test_connection_test_names_the_login_and_warns_of_a_superuser(
    sourcing: Sourcing, postgres_url: str, postgres: psycopg.Connection
) -> None:
    await sourcing.put(postgres_url, {"query": QUERY}, kind="SQL", username="reader", secret="only reads")
    assert (await sourcing.test())["login"] == "signed in as reader"
    url = urlsplit(postgres.info.dsn)
    password = postgres.info.password or unquote(url.password or "")
    await sourcing.put(postgres_url, {"query": QUERY}, kind="SQL", username="tester", secret=password)

    assert "a superuser; use a login that may only read" in (await sourcing.test())["login"]


async def test_file_outside_the_import_roots_is_refused(sourcing: Sourcing, config: Config, sqlite_url: str) -> None:
    refused = await sourcing.put("sqlite:///etc/hr.db", {"query": QUERY}, kind="SQL")
    link = config.data_dir / "link.db"
    link.symlink_to("/etc/hostname")
    followed = await sourcing.put(f"sqlite://{link}", {"query": QUERY}, kind="SQL")

    for answer in (refused, followed):
        assert answer.json()["errors"] == [
            {"field": "url", "message": "URL must refer to a file inside ROLECALL_IMPORT_ROOTS"}
        ]
