"""The child process of a run: reads files, finds what changed, writes it, all in one transaction.

It has limits of its own, so that no file can take the worker with it, and it ends when the worker does: the worker
holds the other end of its pipe. What happened is said there.
"""

import asyncio
import os
import resource
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
from psycopg import AsyncConnection, InterfaceError, OperationalError
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions, connectors, deltas, people_file
from rolecall.application_imports.broken import BrokenFile
from rolecall.application_imports.deltas import Delta, Doubt
from rolecall.application_imports.finish import Canceled, FileTotals, Held, Run, finish
from rolecall.application_imports.holdings import MANY, Draft
from rolecall.application_imports.job import TOO_MUCH_MEMORY, Ended, Job, Outcome, application_lock, find_run
from rolecall.application_imports.sources import (
    FileGroup,
    Source,
    Sources,
    StoredFile,
    files_of,
    groups_of,
    is_unchanged,
    settings_of,
    sources_after,
)
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.db import Db, execute, session_options

GIB = 1024**3
_MEMORY = 1 * GIB
# What comparing and reading files takes, as a multiple of their size.
_MEMORY_PER_BYTE = 6
_CPU_SECONDS = 300
_LOOK_AT_MEMORY = 0.05
_STATM = Path("/proc/self/statm")
# Until it knows what new pages hold, an index of ranges has all of them read.
_SUMMARIZE = """
    SELECT brin_summarize_new_values(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = %(table)s::regclass AND a.amname = 'brin'"""

Tell = Callable[[str], Awaitable[None]]


def main(job: Job, worker: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    limit = _MEMORY + _MEMORY_PER_BYTE * job.input_bytes
    threading.Thread(target=_end_with_the_worker, args=(worker,), daemon=True).start()
    threading.Thread(target=_limit_memory, args=(limit, worker), daemon=True).start()
    _say(worker, asyncio.run(build(job)))
    # All is committed; tidying up a gigabyte would only keep the next import waiting.
    os._exit(0)


def _say(worker: Connection, ended: Ended) -> None:
    worker.send_bytes(msgspec.json.encode(ended))


def _end_with_the_worker(worker: Connection) -> None:
    worker.poll(None)
    os._exit(1)


def _memory() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        # Where there is no /proc, the peak must do; on Linux it would begin with that of the worker.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory(limit: int, worker: Connection) -> None:
    """Watched, because the kernel limits only address space, of which polars reserves many times what it uses."""
    while _memory() < limit:
        time.sleep(_LOOK_AT_MEMORY)
    _say(worker, Ended(Outcome.FAILED, TOO_MUCH_MEMORY))
    os._exit(1)


async def build(job: Job) -> Ended:
    try:
        options = session_options(job.base_url)
        db = await AsyncConnection.connect(job.database_url, autocommit=True, options=options)
        log = await AsyncConnection.connect(job.database_url, autocommit=True, options=options)
        async with db, log:

            async def tell(message: str) -> None:
                await actions.log_line(log, job.import_id, message, clock.now())

            async with written_by(db, "import-build", by_system("run_import", clock.now(), bulk=True)):
                grown = await _Build(db, job, tell).run()
            # For the next import and for readers of this one, before autovacuum comes by.
            for table in grown:
                await execute(db, f"ANALYZE {table}")
                await execute(db, _SUMMARIZE, table=table)
        return Ended(Outcome.FINISHED)
    except BrokenFile as broken:
        return Ended(Outcome.FAILED, str(broken))
    except MemoryError:
        return Ended(Outcome.FAILED, TOO_MUCH_MEMORY)
    except Held as held:
        return Ended(Outcome.HELD, str(held))
    except Canceled:
        return Ended(Outcome.CANCELED)
    except (OperationalError, InterfaceError) as error:
        return Ended(Outcome.LOST, str(error))


class _Build:
    def __init__(self, db: Db, job: Job, tell: Tell) -> None:
        self.db = db
        self.job = job
        self.zone = ZoneInfo(job.timezone)
        self.store = job.store
        self.tell = tell
        self.groups: dict[Content, FileGroup] = {}
        self.files: dict[Content, list[StoredFile]] = {}
        self.deltas: dict[Content, Delta] = {}
        self.unchanged: set[Content] = set()
        self.reader: connectors.Reader | None = None
        self.people: people_file.PeopleDraft | None = None

    async def run(self) -> list[str]:
        """The tables that grew a lot."""
        run = await find_run(self.db, self.job.import_id)
        # The worker's lock keeps others from starting; this one keeps a build whose worker died from overlapping.
        await execute(self.db, "SELECT pg_advisory_xact_lock(%(key)s)", key=application_lock(run.application_id) ^ 1)
        before = await sources_after(self.db, run.application_id)
        await self._read(run, before)
        draft = await self._draw_up(run)
        started = time.perf_counter()
        await draft.write(clock.now())
        if sum(delta.after.height for delta in self.deltas.values()) >= MANY:
            # The planner takes what this transaction wrote for a row or two, and would go through it in nested loops.
            await execute(self.db, "SET LOCAL enable_nestloop = off")
        if self.people:
            draft.applied[Content.IDENTITIES] = self.people.applied
            await people_file.write(self.db, run, self.people, clock.now())
        await self._keep_rejects(run)
        written = time.perf_counter() - started
        sources = self._sources(run, before, draft)
        said = await finish(self.db, run, clock.now(), sources, self._totals(before, draft))
        for line in [f"Changes written in {written:.1f} s", *said, "Finished"]:
            await actions.log_line(self.db, run.id, line, clock.now())
        return draft.grown()

    async def _read(self, run: Run, before: Sources) -> None:
        connector = connectors.installed().get(run.connector)
        self.reader = connector.read if connector else None
        sent = await files_of(self.db, run.id)
        for group in await groups_of(self.db, run.application_id):
            if files := sent.get(group.id):
                self.groups[group.content], self.files[group.content] = group, files
        for content, group in self.groups.items():
            source = before.get(content)
            settings = settings_of(group, run.connector, self.job.timezone)
            if is_unchanged(source, settings, self.files[content]):
                await self.tell(f"{group.name}: the same files as before")
                self.unchanged.add(content)
                continue
            await self._read_group(content, source if source and source.settings == settings else None)

    async def _read_group(self, content: Content, source: Source | None) -> None:
        started = time.perf_counter()
        group, files = self.groups[content], self.files[content]
        delta = None
        if source and source.is_by_line and not source.is_stale and self.reader is None:
            delta = deltas.read_lines(group, files, source.locations, self.store, self.zone)
        if delta is None:
            delta = deltas.read_whole(group, files, self.store, self.zone, self.reader)
        self.deltas[content] = delta
        took = time.perf_counter() - started
        how = f"{delta.after.height:,} rows" if delta.is_whole else f"{delta.after.height:,} changed lines"
        await self.tell(f"{group.name}: {sum(delta.rows):,} rows in {len(files)} file(s), {how} read in {took:.1f} s")

    async def _draw_up(self, run: Run) -> Draft:
        """A doubt about what lines mean is settled by reading the files whole."""
        while True:
            draft = Draft(self.db, run.application_id, run.number, self.deltas, self.unchanged)
            try:
                if people := self.deltas.get(Content.IDENTITIES):
                    self.people = await people_file.draw_up(self.db, run, people)
                await draft.draw_up()
            except Doubt as doubt:
                await self.tell(f"{self.groups[doubt.content].name}: read whole, because {doubt.reason}")
                self.unchanged.discard(doubt.content)
                await self._read_group(doubt.content, None)
            else:
                return draft

    async def _keep_rejects(self, run: Run) -> None:
        for delta in self.deltas.values():
            async with self.db.cursor() as cursor:
                await cursor.executemany(
                    """INSERT INTO import_rejects (import_id, file_id, line, reason, row)
                       VALUES (%s, %s, %s, %s, %s)""",
                    [(run.id, *reject[:3], Jsonb(reject.row)) for reject in delta.rejected_rows()],
                )
            if delta.repeats:
                await self.tell(f"{delta.group.name}: {delta.repeats:,} repeated rows merged")

    def _sources(self, run: Run, before: Sources, draft: Draft) -> Sources:
        """Of contents that were left out, those of before."""
        after = dict(before)
        for content in draft.stale & after.keys():
            after[content] = msgspec.structs.replace(after[content], is_stale=True)
        for content, delta in self.deltas.items():
            after[content] = Source(
                settings_of(delta.group, run.connector, self.job.timezone),
                [file.sha256.hex() for file in delta.files],
                [file.location for file in delta.files],
                delta.rows,
                is_by_line=delta.is_by_line and not delta.repeats,
                is_stale=bool(delta.rejects),
            )
        return after

    def _totals(self, before: Sources, draft: Draft) -> list[FileTotals]:
        totals = []
        for content, files in self.files.items():
            delta = self.deltas.get(content)
            applied = draft.applied.get(content, {})
            known = dict(zip(before[content].digests, before[content].rows, strict=True)) if delta is None else {}
            for i, file in enumerate(files):
                read = delta.rows[i] if delta else known[file.sha256.hex()]
                rejected = sum(reject.file == i for reject in delta.rejects) if delta else 0
                changed = applied.get(i, 0)
                totals.append(FileTotals(file.id, file.name, read, changed, read - changed - rejected, rejected))
        return totals
