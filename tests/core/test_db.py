import msgspec
import psycopg

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_all, fetch_value, make_pool, reachable, struct_row


async def test_pool_never_returns_a_connection_closed_by_the_server(config: Config) -> None:
    async with make_pool(config) as pool:
        async with pool.connection() as db:
            first = await fetch_value(db, "SELECT pg_backend_pid()")
        with psycopg.connect(config.database_url or "", autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))

        async with pool.connection() as db:
            assert await fetch_value(db, "SELECT pg_backend_pid()") != first


class Number(msgspec.Struct):
    number: int


async def test_cache_of_row_factories_is_bounded(db: Db) -> None:
    for number in range(3000):
        struct_row(Number, f"SELECT {number} AS number")

    assert struct_row.cache_info().currsize < 2000
    assert await fetch_all(db, Number, "SELECT 1 AS number") == [Number(1)]


def test_database_url_gets_timeouts_unless_it_has_its_own() -> None:
    completed = psycopg.conninfo.conninfo_to_dict(reachable("postgresql://db/rolecall?connect_timeout=20"))

    assert completed["connect_timeout"] == "20"
    assert {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"} <= completed.keys()
