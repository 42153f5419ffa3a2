"""The child process of a run: reads files, finds what changed, writes it, all in one transaction.

It has limits of its own, so that no file can take the worker with it, and it ends when the worker does: the worker
holds the other end of its pipe. What happened is said there.
"""

import asyncio
import os
import resource
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from psycopg import AsyncConnection, InterfaceError, OperationalError
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions
from rolecall.application_imports.compare import people as people_file
from rolecall.application_imports.compare.accounts import AccountDraft
from rolecall.application_imports.compare.change_set import MANY
from rolecall.application_imports.compare.holdings import HoldingDraft
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import Source, Sources
from rolecall.application_imports.run.finish import Canceled, FileTotals, Held, finish
from rolecall.application_imports.run.job import (
    DISK_FULL,
    TOO_MUCH_MEMORY,
    Ended,
    Job,
    Outcome,
    application_lock,
    find_run,
)
from rolecall.application_imports.run.pipeline import Findings
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.db import Db, execute, session_options
from rolecall.core.files import is_disk_full

GIB = 1024**3
_MEMORY = 1 * GIB
# What comparing and reading files takes, as a multiple of their size.
_MEMORY_PER_BYTE = 6
_CPU_SECONDS = 300
_LOOK_AT_MEMORY = 0.05
# A message may quote a file, and a header may have a mebibyte: more than anyone reads, or than a pipe holds.
_LONGEST_MESSAGE = 4000
_STATM = Path("/proc/self/statm")
# Until it knows what new pages hold, an index of ranges has all of them read.
_SUMMARIZE = """
    SELECT brin_summarize_new_values(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = %(table)s::regclass AND a.amname = 'brin'"""


def main(job: Job, worker: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    limit = _MEMORY + _MEMORY_PER_BYTE * job.input_bytes
    threading.Thread(target=_end_with_the_worker, args=(worker,), daemon=True).start()
    threading.Thread(target=_limit_memory, args=(limit, worker), daemon=True).start()
    _say(worker, asyncio.run(build(job)))
    # All is committed; tidying up a gigabyte would only keep the next import waiting.
    os._exit(0)


def _say(worker: Connection, ended: Ended) -> None:
    message = ended.message
    if len(message) > _LONGEST_MESSAGE:
        ended = Ended(ended.outcome, message[:_LONGEST_MESSAGE] + "…")
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
        async with _connection(job) as db:
            async with written_by(db, "import-build", by_system("run_import", clock.now(), bulk=True)):
                grown = await _build(db, job)
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
        return Ended(Outcome.FAILED, DISK_FULL) if is_disk_full(error) else Ended(Outcome.LOST, str(error))


@asynccontextmanager
async def _connection(job: Job) -> AsyncIterator[Db]:
    options = session_options(job.base_url)
    async with await AsyncConnection.connect(job.database_url, autocommit=True, options=options) as db:
        yield db


async def _build(db: Db, job: Job) -> list[str]:
    """The tables that grew a lot."""
    run = await find_run(db, job.import_id)
    # The worker's lock keeps others from starting; this one keeps a build whose worker died from overlapping.
    await execute(db, "SELECT pg_advisory_xact_lock(%(key)s)", key=application_lock(run.application_id) ^ 1)
    steps = Steps(job.started)
    findings = Findings(job, run, steps)
    await findings.sort(db)
    accounts, holdings = await _write(db, job, findings)
    if sum(delta.after.height for delta in findings.deltas.values()) >= MANY:
        # The planner takes what this transaction wrote for a row or two, and would go through it in nested loops.
        await execute(db, "SET LOCAL enable_nestloop = off")
        # Matching a hundred thousand accounts sorts several times what PostgreSQL keeps in memory by itself.
        await execute(db, "SET LOCAL work_mem = '64MB'")
    if findings.people:
        await people_file.write(db, run, findings.people, clock.now())
    await _keep_rejects(db, findings)
    written = steps.done("Changes written")
    totals = _totals(findings, accounts.applied | holdings.applied)
    said = await finish(db, run, steps, _sources(findings, holdings.stale), totals)
    for line in [written, *said, "Finished"]:
        await actions.log_line(db, run.id, line, clock.now())
    return [*accounts.grown(), *holdings.grown(), *(findings.people.grown() if findings.people else [])]


async def _write(db: Db, job: Job, findings: Findings) -> tuple[AccountDraft, HoldingDraft]:
    """Accounts are written while a thread finds out what they hold: the database and this process are busy at once."""
    async with _connection(job) as beside:
        await findings.tell(beside, findings.steps.done("Prepared"))
        accounts = await findings.accounts(beside)
    writing = asyncio.create_task(accounts.write(db))
    try:
        holdings = await asyncio.to_thread(asyncio.run, _find_holdings(job, findings, accounts))
    except BaseException:
        # What was written will be undone, which takes a connection that is free.
        await asyncio.wait({writing})
        raise
    await writing
    await holdings.write(db)
    return accounts, holdings


async def _find_holdings(job: Job, findings: Findings, accounts: AccountDraft) -> HoldingDraft:
    async with _connection(job) as beside:
        return await findings.holdings(beside, accounts)


async def _keep_rejects(db: Db, findings: Findings) -> None:
    for delta in findings.deltas.values():
        async with db.cursor() as cursor:
            await cursor.executemany(
                """INSERT INTO import_rejects (import_id, file_id, line, reason, row)
                   VALUES (%s, %s, %s, %s, %s)""",
                [(findings.run.id, *reject[:3], Jsonb(reject.row)) for reject in delta.rejected_rows()],
            )


def _sources(findings: Findings, stale: set[Content]) -> Sources:
    """Of contents that were left out, those of before."""
    after = dict(findings.before)
    for content in stale & after.keys():
        after[content] = msgspec.structs.replace(after[content], is_stale=True)
    for content, delta in findings.deltas.items():
        after[content] = Source(
            findings.settings(delta.group),
            [file.sha256.hex() for file in delta.files],
            [file.location for file in delta.files],
            delta.rows,
            is_by_line=delta.is_by_line and not delta.repeats,
            is_stale=bool(delta.rejects),
        )
    return after


def _totals(findings: Findings, applied: dict[Content, dict[int, int]]) -> list[FileTotals]:
    totals = []
    for content, files in findings.files.items():
        delta = findings.deltas.get(content)
        # Files that were not read are the same as before.
        source = findings.before[content] if delta is None else None
        known = dict(zip(source.digests, source.rows, strict=True)) if source else {}
        for i, file in enumerate(files):
            read = delta.rows[i] if delta else known[file.sha256.hex()]
            rejected = sum(reject.file == i for reject in delta.rejects) if delta else 0
            changed = applied.get(content, {}).get(i, 0)
            totals.append(FileTotals(file.id, file.name, read, changed, read - changed - rejected, rejected))
    return totals
