"""Fetch a complete snapshot of a source: one file of JSON lines for each file group."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.core.files import UploadedFile, Writing
from rolecall.core.text import byte_size, counted
from rolecall.sources import queries
from rolecall.sources.kinds import connect, host_of, place_of
from rolecall.sources.model import (
    RecordPage,
    Source,
    SourceAccess,
    SourceChanged,
    SourceConnection,
    SourceContent,
    SourceFailed,
)
from rolecall.sources.secrets import find_secret
from rolecall.sources.snapshot import complete

# The maximum number of times that a list is read if it changes during the read.
_ATTEMPTS = 3
# The maximum total wait before retries, for all lists of a fetch.
MAX_WAIT_SECONDS = 1800.0
NO_RECORDS = "the source returned no records; an empty list would remove everything, so it is not imported"


class FetchedFile(msgspec.Struct, frozen=True):
    file: UploadedFile
    records: int
    seconds: float
    # The number of times that the list was read again because it changed during the read.
    repeated: int
    notes: Sequence[str] = ()

    def described(self, source: Source) -> str:
        place = host_of(source.url) or source.url or "pushed records"
        again = f"; read {self.repeated + 1} times, because the list changed meanwhile" if self.repeated else ""
        notes = "".join(f"; {note}" for note in self.notes)
        records = counted(self.records, "record")
        return f"fetched {records} from {place} by {source.kind}, {self.file.size:,} bytes{again}{notes}"


async def accessed(pool: Pool, config: Config, application_id: UUID, source: Source, max_wait: float) -> SourceAccess:
    async with pool.connection() as db:
        secret = await find_secret(db, config, source.secret_ref, application_id, queries.FETCHING, place_of(source))
    return SourceAccess(source, secret.text, config, max_wait, pool, application_id)


@asynccontextmanager
async def open_source(
    pool: Pool, config: Config, application_id: UUID, source: Source
) -> AsyncIterator[SourceConnection]:
    access = await accessed(pool, config, application_id, source, MAX_WAIT_SECONDS)
    async with connect(access) as connection:
        yield connection


async def fetch_file(
    connection: SourceConnection,
    content: SourceContent,
    field: str,
    name: str,
    config: Config,
    *,
    may_be_empty: bool = False,
) -> FetchedFile:
    """Write all records of a file group to a file in the incoming folder of the store, and return the file."""
    started = time.monotonic()
    for attempt in range(_ATTEMPTS):
        writing = Writing(config.store)
        try:
            count = await _write(writing, complete(connection, content), config.max_snapshot_bytes)
            if not count and not may_be_empty:
                raise SourceFailed(NO_RECORDS)
            file = UploadedFile(field, f"{name}.jsonl", writing.path, writing.size, await writing.finish())
        except SourceChanged:
            writing.abandon()
            if attempt + 1 == _ATTEMPTS:
                raise
        # A canceled fetch, too, must not leave an incomplete file behind.
        except BaseException:
            writing.abandon()
            raise
        else:
            return FetchedFile(file, count, time.monotonic() - started, attempt, connection.notes)
    raise AssertionError("unreachable")


async def _write(writing: Writing, pages: AsyncIterator[RecordPage], most_bytes: int) -> int:
    count, held = 0, b""
    async for page in pages:
        count += len(page)
        held += page.lines()
        # Do not write the first record before a second one follows: a single record is written differently.
        if count > 1:
            await writing.write(held)
            held = b""
        if writing.size > most_bytes:
            raise SourceFailed(
                f"the first {count:,} records are already larger than {byte_size(most_bytes)}; "
                "fetch only the attributes that are needed, or raise ROLECALL_MAX_SNAPSHOT_BYTES"
            )
    if count < 2:
        # Write a single record as a list, because an object that contains a list could be read as an envelope.
        await writing.write(b"[" + held.rstrip() + b"]\n")
    return count
