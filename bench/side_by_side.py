"""Compare a durable sender with a bare loop that sends the same bytes; both take turns in one process."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from rolecall.access_requests import creation
from rolecall.access_requests.model import NewRequest
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_rows
from rolecall.core.migrate import migrate
from rolecall.core.postgres import embedded


class Comparison(msgspec.Struct):
    messages: int
    bytes_each: int
    bare_per_second: float
    bare_cpu_ms: float
    durable_per_second: float
    durable_cpu_ms: float
    database_cpu_ms: float
    ratio: float


class Work(msgspec.Struct, frozen=True):
    """The work to compare: `bare` sends messages directly; `ask` creates requests, and `send` sends their messages."""

    bytes_each: int
    bare: Callable[[int], Awaitable[None]]
    ask: Callable[[Db, int], Awaitable[None]]
    send: Callable[[], Awaitable[None]]


@contextmanager
def a_receiver(receive: Callable[[Connection], None]) -> Iterator[Connection]:
    """Run the receiver in its own process; yield the connection to it."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    receiver = spawn.Process(target=receive, args=(there,), daemon=True)
    receiver.start()
    yield here
    receiver.terminate()


@contextmanager
def a_database() -> Iterator[Config]:
    with tempfile.TemporaryDirectory() as folder, embedded(Path(folder)) as url:
        migrate(url)
        yield Config(database_url=url, data_dir=Path(folder), webhook_allow=(ip_network("127.0.0.0/8"),))


async def ask(db: Db, asked: NewRequest, times: int) -> None:
    async with db.transaction():
        await creation.create_requests(db, SYSTEM, [asked] * times, clock.now())
    await db.execute("VACUUM ANALYZE")


async def compare(pool: Pool, work: Work, count: int, rounds: int) -> Comparison:
    each, spent = count // rounds, []
    # The first round is a warm-up. The senders take turns, because the load of other programs changes over time.
    for _ in range(rounds + 1):
        bare_spent = await _timed(lambda: work.bare(each))
        async with pool.connection() as db:
            await work.ask(db, each)
            before = await _database_seconds(db)
        durable_spent = await _timed(work.send)
        async with pool.connection() as db:
            spent.append((*bare_spent, *durable_spent, await _database_seconds(db) - before))
    bare, bare_cpu, durable, durable_cpu, database_cpu = (sum(column) for column in zip(*spent[1:], strict=True))
    return Comparison(
        messages=count,
        bytes_each=work.bytes_each,
        bare_per_second=round(count / bare, 1),
        bare_cpu_ms=round(bare_cpu / count * 1000, 3),
        durable_per_second=round(count / durable, 1),
        durable_cpu_ms=round(durable_cpu / count * 1000, 3),
        database_cpu_ms=round(database_cpu / count * 1000, 3),
        ratio=round(bare / durable, 3),
    )


async def _database_seconds(db: Db) -> float:
    """Return the CPU time that the open client connections of the server have used so far."""
    rows = await fetch_rows(db, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
    return sum(_process_seconds(pid) for (pid,) in rows)


def _process_seconds(pid: int) -> float:
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(int(ticks) for ticks in used) / os.sysconf("SC_CLK_TCK")


async def _timed(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Return the elapsed seconds and the CPU seconds of this process."""
    started, busy = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - started, time.process_time() - busy
