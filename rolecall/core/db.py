"""Access PostgreSQL through psycopg.

`make_pool` creates a connection pool, and `transaction` runs one atomic step. `fetch_all` and `fetch_one` map rows to
msgspec structs by position, `fetch_rows` returns tuples, and `fetch_value` returns a single value. All queries use
named parameters.
"""

import select
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

import msgspec
from psycopg import AsyncConnection, AsyncCursor, OperationalError, capabilities
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from rolecall.core.config import Config
from rolecall.core.faults import fault

Db = AsyncConnection[TupleRow]
T = TypeVar("T", bound=msgspec.Struct)

PATIENCE_SECONDS = 5.0
# Notice within about ten seconds that the other host is cut off; the system's defaults take minutes or hours.
_NOTICE_LOSS = {
    "connect_timeout": 3,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_AT_ONCE = 1000

set_json_loads(msgspec.json.decode)


def session_options(base_url: str, **more: str) -> str:
    """Return the session settings as connection options."""
    settings = {
        "timezone": "UTC",
        "jit": "off",
        # Durability: a 2xx response means the row is on disk.
        "synchronous_commit": "on",
        # The planner underestimates the cost of incremental sorts, and would read all matching rows to return 50.
        "enable_incremental_sort": "off",
        # Triggers write the base URL into webhook bodies.
        "rolecall.base_url": base_url,
        "plan_cache_mode": "auto",
        # Let the server notice when this process is cut off, and release its locks.
        "tcp_keepalives_idle": "4",
        "tcp_keepalives_interval": "2",
        "tcp_keepalives_count": "3",
        "tcp_user_timeout": "10s",
        **more,
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def reachable(url: str) -> str:
    """Return the database URL with timeouts and keepalives; parameters that the URL already has are kept."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in _NOTICE_LOSS.items() if name not in given})


def connecting(config: Config, **settings: str) -> dict[str, Any]:
    """Return the arguments for a connection. Prepared statements can be off, for poolers that do not support them."""
    options = session_options(config.base_url, **settings)
    return {"autocommit": True, "options": options, "prepare_threshold": 1 if config.prepared_statements else None}


class Pool(AsyncConnectionPool[Db]):
    @cached_property
    def lookups(self) -> dict[Any, Any]:
        """Return the batched lookups of this pool (`batching.py`), keyed by query function."""
        return {}


# Force generic plans for requests, because many statements take longer to plan than to run. With a low
# random_page_cost, even a plan that was made on an empty table uses indexes, so it stays good when the table grows.
ONE_PLAN_FOR_ALL = {"plan_cache_mode": "force_generic_plan", "random_page_cost": "1.1"}


def make_pool(config: Config, url: str | None = None, **settings: str) -> Pool:
    """Create a closed pool. The calling code must open it inside the event loop that uses it."""
    url = url or config.database_url
    assert url
    return Pool(
        reachable(url),
        kwargs=connecting(config, **settings),
        min_size=1,
        max_size=config.pool_size,
        timeout=PATIENCE_SECONDS,
        # Give up soon, so that the next request tries again: the pool's exponential back-off would outlast the outage.
        reconnect_timeout=1.0,
        configure=partial(_check_settings, config.base_url),
        check=_is_open,
        open=False,
    )


async def _check_settings(base_url: str, db: Db) -> None:
    """Refuse a connection without the right `rolecall.base_url`, because triggers write it into webhook bodies.

    Without the setting, the triggers would fail in the middle of a request.
    """
    in_force = await fetch_value(db, "SELECT current_setting('rolecall.base_url', true)")
    if in_force != base_url:
        raise OperationalError(
            f"the pooler drops session settings, and the role's rolecall.base_url is {in_force or 'not set'} instead of"
            f" {base_url}; see docs/scaling.md"
        )


async def _is_open(db: Db) -> None:
    """Raise if the connection is closed. This needs no round trip: input on an idle socket means the server hung up."""
    socket = select.poll()
    socket.register(db.pgconn.socket, select.POLLIN)
    if socket.poll(0):
        await db.close()
        raise OperationalError("the server has closed the connection")


@asynccontextmanager
async def transaction(db: Db, name: str) -> AsyncGenerator[None]:
    """Run one atomic step; `name` is the prefix of its fault points."""
    async with db.transaction():
        yield
        fault(f"{name}.before-commit")
    fault(f"{name}.after-commit")


# The cache is bounded, because some statements contain an import number.
@lru_cache(maxsize=1024)
def struct_row(struct: type[T], sql: str) -> Callable[[AsyncCursor[Any]], Callable[[Sequence[Any]], T]]:
    """Return a row factory that maps columns to struct fields by position and checks once that the names agree."""
    agreed = False

    def make(values: Sequence[Any]) -> T:
        return struct(*values)

    def factory(cursor: AsyncCursor[Any]) -> Callable[[Sequence[Any]], T]:
        nonlocal agreed
        if not agreed and cursor.description:
            names, columns = list(struct.__struct_fields__), [column.name for column in cursor.description]
            if columns != names:
                raise TypeError(f"{struct.__name__} has {names}, the query gives {columns}")
            agreed = True
        return make

    return factory


# Client-side cursors keep nothing on the server, so they need no closing.
async def fetch_all(db: Db, struct: type[T], sql: str, **params: object) -> list[T]:
    cursor = db.cursor(binary=True, row_factory=struct_row(struct, sql))
    await cursor.execute(sql, params)
    return await cursor.fetchall()


async def fetch_one(db: Db, struct: type[T], sql: str, **params: object) -> T | None:
    cursor = db.cursor(binary=True, row_factory=struct_row(struct, sql))
    await cursor.execute(sql, params)
    return await cursor.fetchone()


async def fetch_rows(db: Db, sql: str, **params: object) -> list[TupleRow]:
    cursor = db.cursor(binary=True)
    await cursor.execute(sql, params)
    return await cursor.fetchall()


async def stream_rows(db: Db, sql: str, **params: object) -> AsyncGenerator[TupleRow]:
    """Yield any number of rows from one snapshot, without keeping them all in memory."""
    # libpq 17 and newer can fetch in chunks.
    size = _AT_ONCE if capabilities.has_stream_chunked() else 1
    async with db.cursor(binary=True) as cursor:
        async for row in cursor.stream(sql, params, size=size):
            yield row


async def fetch_value(db: Db, sql: str, **params: object) -> Any:
    """Return the first column of the first row, or None."""
    cursor = db.cursor(binary=True)
    await cursor.execute(sql, params)
    row = await cursor.fetchone()
    return row[0] if row else None


async def execute(db: Db, sql: str, **params: object) -> int:
    """Run a statement and return the number of affected rows."""
    cursor = db.cursor()
    await cursor.execute(sql, params)
    return cursor.rowcount


def json_rows(select: str) -> str:
    """Return SQL that nests rows as a JSON array, so that a record and its parts are read in one snapshot."""
    return f"(SELECT coalesce(json_agg(part), '[]') FROM (SELECT {select}) AS part)"


async def insert_rows(db: Db, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows with the same columns, in order and in one statement, so that statement triggers fire once."""
    if not rows:
        return
    columns = ", ".join(rows[0])
    await execute(
        db,
        f"INSERT INTO {table} ({columns})"
        f" SELECT {columns} FROM jsonb_populate_recordset(NULL::{table}, %(rows)s::jsonb)",
        rows=msgspec.json.encode(rows).decode(),
    )
