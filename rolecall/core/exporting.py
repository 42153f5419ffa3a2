"""Export a whole list: read it with a cursor in one snapshot, and write it batch by batch.

The snapshot has a connection of its own, so that slow downloads do not occupy the pool for requests. Closing
that connection always ends the cursor and the snapshot.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection
from psycopg.types.string import TextLoader

from rolecall.core.config import Config
from rolecall.core.db import Db, connecting, fetch_value, reachable
from rolecall.core.errors import Invalid
from rolecall.core.formats.columns import Column
from rolecall.core.formats.formats import KINDS, Format, new_file
from rolecall.core.formats.manifest import ExportManifest
from rolecall.core.paging import Rows, Whole, WithoutData

_BATCH = 4000
_SETTINGS = {
    # Plan for reading everything, not for the first rows.
    "cursor_tuple_fraction": "1.0",
    # Memory for sorting: reports sort all rows.
    "work_mem": "64MB",
    # Let the server end a snapshot that a stuck process holds.
    "idle_in_transaction_session_timeout": "5min",
}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """An export that is about to begin; `filters` are not parsed yet.

    `report_id` is the report that the export runs, if any. `location` is set only for scheduled reports: to the path
    of the file when the run is recorded, and to the folder while the file is written.
    """

    id: UUID
    list: str
    filters: dict[str, Any]
    columns: tuple[Column, ...]
    format: Format
    is_chosen: bool = False
    report_id: UUID | None = None
    location: str | None = None
    name: str | None = None

    @property
    def file_name(self) -> str:
        return f"{self.name or self.list}.{self.format}"


class Outcome(msgspec.Struct):
    """The progress of an export, and how it ended."""

    status: str = "Running"
    reason: str | None = None
    row_count: int = 0
    byte_count: int = 0
    sha256: bytes = b""
    no_data_before: list[WithoutData] = []


@asynccontextmanager
async def snapshot(config: Config) -> AsyncGenerator[Db]:
    """Open a connection with one read-only snapshot; always close it on exit."""
    assert config.database_url
    db: Db = await AsyncConnection.connect(reachable(config.database_url), **connecting(config, **_SETTINGS))
    try:
        # The first query takes the snapshot.
        await db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT")
        yield db
    finally:
        await db.close()


async def check_size(db: Db, whole: Whole[Any], format: Format) -> None:
    """Refuse a list that is too long for the format."""
    most = KINDS[format].most_rows
    if most is None:
        return
    count = 0
    for part in whole.parts:
        sql = f"SELECT count(*) FROM (SELECT FROM ({part.statement}) AS list LIMIT {most + 1:d}) AS counted"
        count += await fetch_value(db, sql, **part.params)
    if count > most:
        others = ", ".join(other for other in Format if KINDS[other].most_rows is None)
        raise Invalid.on("format", f"A list of more than {most:,} rows does not fit into {format}; use one of {others}")


async def write(
    db: Db, whole: Whole[Any], plan: Plan, outcome: Outcome, by: str, now: datetime
) -> AsyncGenerator[bytes]:
    """Yield the file piece by piece; record rows, bytes and digest in `outcome`."""
    digest = hashlib.sha256()
    outcome.no_data_before = whole.no_data_before
    # Write in a thread, because writing uses CPU time; use one thread, so that closing waits for a running write.
    thread = ThreadPoolExecutor(1, "export")
    run = partial(asyncio.get_running_loop().run_in_executor, thread)

    def counted(piece: bytes) -> bytes:
        outcome.byte_count += len(piece)
        digest.update(piece)
        return piece

    file = await run(partial(new_file, plan.format, plan.columns, is_chosen=plan.is_chosen))
    try:
        for number, part in enumerate(whole.parts):
            async with aclosing(_batches(db, f"export_{number}", part)) as batches:
                async for rows in batches:
                    outcome.row_count += len(rows)
                    items = await run(_made, part, rows)
                    if part.complete:
                        items = await part.complete(db, items)
                    if piece := await run(file.feed, items):
                        yield counted(piece)
        last = counted(await run(file.end, _manifest(plan, outcome, by, now)))
        outcome.sha256 = digest.digest()
        yield last
    finally:
        thread.submit(file.close)
        thread.shutdown(wait=False)


def _manifest(plan: Plan, outcome: Outcome, by: str, now: datetime) -> ExportManifest:
    return ExportManifest(
        id=plan.id,
        list=plan.list,
        filters=plan.filters,
        created_by=by,
        started_on=now,
        row_count=outcome.row_count,
        no_data_before={one.application: one.no_data_before for one in outcome.no_data_before},
    )


def _made(part: Rows[Any], rows: Sequence[Any]) -> list[Any]:
    return [part.make(row) for row in rows]


async def _batches(db: Db, name: str, part: Rows[Any]) -> AsyncGenerator[Sequence[Any]]:
    # Fetch in text format: psycopg parses times from text twice as fast as from binary.
    async with db.cursor(name) as cursor:
        if part.complete is None:
            # Ids are only written out, so load them as text instead of creating a UUID for each.
            cursor.adapters.register_loader("uuid", TextLoader)
        await cursor.execute(part.statement, part.params)
        # The server reads the next batch while this one is written.
        coming = asyncio.ensure_future(cursor.fetchmany(_BATCH))
        try:
            while rows := await coming:
                coming = asyncio.ensure_future(cursor.fetchmany(_BATCH))
                yield rows
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
