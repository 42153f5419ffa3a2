"""Compare exports with `COPY TO` of the same query: rows per second, and the memory of the process."""

import asyncio
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars  # noqa: F401  loaded before anything is measured
import psycopg

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.exporting import Outcome, Plan, snapshot, write
from rolecall.core.formats.formats import Format
from rolecall.core.ids import new_id
from rolecall.core.migrate import migrate
from rolecall.core.paging import EVERYTHING, Whole
from rolecall.core.postgres import embedded
from rolecall.identities import queries
from rolecall.identities.routes import list_identities  # noqa: F401  registers the list in LISTS
from rolecall.web.lists import LISTS

ROWS = 200_000
_FILL = """
    INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, email_address, title, department,
                            created_date, updated_date, first_seen_date)
    SELECT gen_random_uuid(), 'First' || n, 'Last' || n, 'first' || n, 'last' || n, n || '@example.com', 'Clerk',
           'Finance', now(), now(), now() FROM generate_series(1, %s) AS n"""


async def copied(db: Db, whole: Whole[Any]) -> float:
    started = time.perf_counter()
    async with db.cursor() as cursor, cursor.copy(f"COPY ({whole.parts[0].statement}) TO STDOUT (FORMAT csv)") as copy:
        async for _ in copy:
            pass
    return time.perf_counter() - started


async def exported(db: Db, whole: Whole[Any], format: Format) -> float:
    source, outcome = LISTS["identities"], Outcome()
    plan = Plan(id=new_id(), list=source.name, filters={}, columns=source.columns, format=format)
    started = time.perf_counter()
    async for _ in write(db, whole, plan, outcome, "bench", datetime.now(UTC)):
        pass
    assert outcome.row_count == ROWS
    return time.perf_counter() - started


async def measure(url: str) -> None:
    config = Config(database_url=url)
    async with snapshot(config) as db:
        whole = await queries.by_name(db, EVERYTHING)
        assert isinstance(whole, Whole)
        least = min([await copied(db, whole) for _ in range(2)])
    print(f"COPY TO        {ROWS / least:>10,.0f} rows/s")
    for format in Format:
        async with snapshot(config) as db:
            seconds = await exported(db, whole, format)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{format:<14} {ROWS / seconds:>10,.0f} rows/s  {seconds / least:.1f} x COPY TO  peak {peak} MiB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, embedded(Path(folder)) as url:
        migrate(url)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(_FILL, (ROWS,))
            db.execute("VACUUM ANALYZE identities")
        asyncio.run(measure(url))


if __name__ == "__main__":
    main()
