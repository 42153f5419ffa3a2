import psycopg

from rolecall.core.config import Config
from rolecall.core.db import fetch_value, make_pool


async def test_a_connection_that_the_server_closed_is_never_handed_out(config: Config) -> None:
    async with make_pool(config) as pool:
        async with pool.connection() as db:
            first = await fetch_value(db, "SELECT pg_backend_pid()")
        with psycopg.connect(config.database_url or "", autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))

        async with pool.connection() as db:
            assert await fetch_value(db, "SELECT pg_backend_pid()") != first
