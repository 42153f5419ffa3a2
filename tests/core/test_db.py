import msgspec
import psycopg

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_all, fetch_value, make_pool, struct_row


async def test_a_connection_that_the_server_closed_is_never_handed_out(config: Config) -> None:
    async with make_pool(config) as pool:
        async with pool.connection() as db:
            first = await fetch_value(db, "SELECT pg_backend_pid()")
        with psycopg.connect(config.database_url or "", autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))

        async with pool.connection() as db:
            assert await fetch_value(db, "SELECT pg_backend_pid()") != first


class Number(msgspec.Struct):
    number: int


async def test_statements_with_a_number_in_them_take_no_more_memory_the_more_there_are(db: Db) -> None:
    for number in range(3000):
        struct_row(Number, f"SELECT {number} AS number")

    assert struct_row.cache_info().currsize < 2000
    assert await fetch_all(db, Number, "SELECT 1 AS number") == [Number(1)]
