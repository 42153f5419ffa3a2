"""Read the rows of SQL queries: from PostgreSQL with COPY, or from a SQLite file inside an import root.

All queries of a source run in one read-only transaction, so that they see the same snapshot of the database.
"""

import asyncio
import re
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import msgspec
from psycopg import AsyncConnection, Error, IsolationLevel, OperationalError
from psycopg.conninfo import make_conninfo

from rolecall.core.config import Config
from rolecall.core.roots import is_below
from rolecall.core.text import in_one_line
from rolecall.sources.model import (
    FetchedRecord,
    RecordPage,
    SourceAccess,
    SourceConnection,
    SourceContent,
    SourceFailed,
)
from rolecall.sources.peers import checked_addresses, peer_of

PORTS = {"postgresql": 5432}
SQLITE = "sqlite"
# The query string of a PostgreSQL URL that turns off encryption.
UNENCRYPTED = "sslmode=disable"
_ROWS = 1000
# The longest value in bytes that a SQLite query may compute.
_LONGEST_VALUE = 64 * 1024 * 1024
# Read decimals as text: as 64-bit floats, different values could become equal.
_RECORD = msgspec.json.Decoder(FetchedRecord, float_hook=str)
# How many instructions SQLite executes between checks of the time limit.
_STEPS = 10_000
# A query must begin with one of these words. EXPLAIN, which checks queries, would run one that begins with ANALYZE.
_IS_QUERY = re.compile(r"(?:\s|--[^\n]*\n|\()*(?:select|with|values|table)\b", re.IGNORECASE)
# The only actions that a SQLite query may perform: read tables and call functions.
_MAY = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    if urlsplit(access.source.url).scheme == SQLITE:
        async with _open_sqlite(access) as connection:
            yield connection
        return
    async with _open_postgres(access) as connection:
        yield connection


@asynccontextmanager
async def _open_postgres(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    source = access.source
    peer = peer_of(source.url, PORTS)
    assert peer
    parts = urlsplit(source.url)
    encrypted = parts.query != UNENCRYPTED
    addresses = await checked_addresses(peer.host, access.config.source_hosts, encrypted=encrypted)
    trust = {"sslmode": "verify-full", "sslrootcert": str(access.config.source_ca or "system")}
    target = make_conninfo(
        host=peer.host,
        # libpq connects to this address without resolving a name; `host` is only compared with the certificate.
        hostaddr=addresses[0],
        port=peer.port,
        dbname=unquote(parts.path.lstrip("/")),
        user=source.username,
        password=access.secret,
        connect_timeout=source.timeout_seconds,
        application_name="rolecall-source",
        # Detect a server that is gone: it can no longer enforce statement_timeout.
        keepalives_idle=30,
        keepalives_interval=10,
        keepalives_count=3,
        tcp_user_timeout=source.timeout_seconds * 1000,
        **(trust if encrypted else {"sslmode": "disable"}),
    )
    try:
        db = await AsyncConnection.connect(target)
    except OperationalError as error:
        raise SourceFailed(_said(error)) from None
    async with db:
        await db.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await db.set_read_only(True)
        yield PostgresConnection(db, source.timeout_seconds)


class PostgresConnection(SourceConnection):
    is_snapshot = True

    def __init__(self, db: AsyncConnection, seconds: int) -> None:
        self._db, self._seconds = db, seconds

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        query = content.query.strip().rstrip(";")
        if not _IS_QUERY.match(query):
            raise SourceFailed("the query must begin with SELECT, WITH, VALUES or TABLE")
        try:
            # Set the limit before each query, because a query could have changed it with set_config.
            await self._db.execute(f"SET LOCAL statement_timeout = {self._seconds * 1000}")
            # Prevent SQL injection into COPY: with binary results, PostgreSQL rejects a query of several statements.
            await self._db.execute(f"EXPLAIN {query}", binary=True)
            # Put line breaks around the query, because it may end with a comment.
            columns = await self._db.execute(f"SELECT * FROM (\n{query}\n) AS r LIMIT 0")
            _refuse_same_names(columns.description or ())
            statement = f"COPY (SELECT to_jsonb(r) FROM (\n{query}\n) AS r) TO STDOUT"
            async with self._db.cursor() as cursor, cursor.copy(statement) as copy:
                records: list[FetchedRecord] = []
                async for row in copy:
                    records.append(_row(bytes(row)))
                    if len(records) >= _ROWS:
                        yield RecordPage(records)
                        records = []
                yield RecordPage(records)
        except Error as error:
            raise SourceFailed(_said(error)) from None

    async def login(self) -> str:
        cursor = await self._db.execute("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user")
        found = await cursor.fetchone()
        assert found
        warning = ", a superuser; use a login that may only read" if found[1] else ""
        return f"signed in as {found[0]}{warning}"


def _row(line: bytes) -> FetchedRecord:
    """Decode a line of COPY output. Backslashes are the only characters in JSON that COPY escapes."""
    return _RECORD.decode(line.replace(b"\\\\", b"\\"))


def _refuse_same_names(columns: Iterable[Sequence[object]]) -> None:
    """Reject a query with two columns of the same name, because only one of them would be read."""
    counted = Counter(str(column[0]) for column in columns)
    if twice := [name for name, count in counted.items() if count > 1]:
        raise SourceFailed(f"the query has two columns named {twice[0]}; rename one of them with AS")


def _said(error: Exception) -> str:
    return f"the database says: {in_one_line(' '.join(str(error).split()))[:300]}"


@asynccontextmanager
async def _open_sqlite(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    path = _database_file(access)
    try:
        db = await asyncio.to_thread(_opened, path, access.source.timeout_seconds)
    except sqlite3.Error as error:
        raise SourceFailed(_said(error)) from None
    try:
        yield SqliteConnection(db, access.source.timeout_seconds)
    finally:
        await asyncio.to_thread(db.close)


def _database_file(access: SourceAccess) -> Path:
    path = sqlite_path(access.source.url)
    if not is_inside_roots(path, access.config):
        raise SourceFailed(f"{path} is outside of ROLECALL_IMPORT_ROOTS; move the file, or add its folder to the roots")
    if not path.is_file():
        raise SourceFailed(f"there is no file {path}; check the URL")
    return path.resolve()


def sqlite_path(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


def is_inside_roots(path: Path, config: Config) -> bool:
    roots = [Path(root).resolve() for root in config.import_roots if "://" not in root]
    return is_below(roots, path)


def _opened(path: Path, seconds: float) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro", uri=True, timeout=seconds, check_same_thread=False, isolation_level=None
    )
    # Begin before the authorizer is set, because it denies BEGIN.
    db.execute("BEGIN")
    db.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _MAY else sqlite3.SQLITE_DENY)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    db.row_factory = sqlite3.Row
    return db


class SqliteConnection(SourceConnection):
    is_snapshot = True

    def __init__(self, db: sqlite3.Connection, seconds: float) -> None:
        self._db, self._seconds = db, seconds

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        until = time.monotonic() + self._seconds
        self._db.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            rows = await asyncio.to_thread(self._db.execute, content.query.strip().rstrip(";"))
            _refuse_same_names(rows.description or ())
            while batch := await asyncio.to_thread(rows.fetchmany, _ROWS):
                yield RecordPage([dict(_members(row)) for row in batch])
        except sqlite3.Error as error:
            late = f"the query took longer than {self._seconds:g} s; simplify it or raise timeoutSeconds"
            raise SourceFailed(late if "interrupted" in str(error) else _said(error)) from None


def _members(row: sqlite3.Row) -> Iterator[tuple[str, object]]:
    for name in row.keys():  # noqa: SIM118
        value = row[name]
        yield name, value.hex() if isinstance(value, bytes) else value


def is_sql_url(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == SQLITE:
        return not parts.netloc and not parts.query and parts.path.startswith("/") and len(parts.path) > 1
    return peer_of(url, PORTS) is not None and parts.query in ("", UNENCRYPTED)
