"""Measure how the service scales: API processes, memory over many requests, two workers, bytes per row.

    [ROLECALL_BENCH_REQUESTS=100000] python -m bench.scaling

The client and the database share the cores with the measured processes, which limits the gain from more processes. How
many cores are busy while one process answers, and the largest possible gain, are reported too. Ratios are medians of
all turns.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from operator import truediv
from pathlib import Path
from typing import Any

import psycopg
import uvloop

from bench import import_files, import_service, other_imports
from bench.figures import MISSED, Found, busy_seconds, tell
from bench.http import load, load_all, make_token, running, some_identities
from bench.seeding import ROWS, company
from rolecall.core.postgres import embedded

BAR_PROCESSES, BAR_MEMORY, BAR_WORKERS = 1.6, 1.05, 1.3
REQUESTS = int(os.environ.get("ROLECALL_BENCH_REQUESTS", "100000"))
PROCESSES = (1, 2, 4)
# Enough connections to keep four processes busy.
CONNECTIONS = 128
TURNS, TURN_SECONDS = 10, 0.7
ACCOUNTS, ASSIGNMENTS = 50_000, 500_000
ROUNDS = 2


@contextmanager
def processes(count: int, url: str) -> Iterator[tuple[list[int], list[int]]]:
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        made = []
        for n in range(count):
            (Path(folder) / str(n)).mkdir()
            made.append(stack.enter_context(running("service", url, Path(folder) / str(n) / "answers")))
        yield [pid for pid, _ in made], [port for _, port in made]


@contextmanager
def busy_cores() -> Iterator[list[float]]:
    """Measure how many cores are busy during the block; further processes could use only the other cores."""
    found: list[float] = []
    started, before = time.perf_counter(), busy_seconds()
    yield found
    found.append((busy_seconds() - before) / (time.perf_counter() - started))


def more_processes(url: str, paths: list[str], secret: str) -> bool:
    """Load one, two and four API processes in turn; return whether the bar is met."""
    rates: dict[int, list[float]] = {count: [] for count in PROCESSES}
    busy: list[float] = []
    with processes(1 + PROCESSES[-1], url) as (_, [first, *others]):
        for count in (*PROCESSES, *PROCESSES * TURNS):
            ports = others[:count] if count > 1 else [first]
            with busy_cores() as cores:
                rates[count].append(uvloop.run(load_all(ports, paths, secret, CONNECTIONS, TURN_SECONDS)))
            if count == 1:
                busy.append(cores[0])
    # Skip the first turn of each process count, because its caches are cold.
    warm = {count: each[1:] for count, each in rates.items()}
    for count in PROCESSES:
        tell(Found("scaling", f"get one, API processes: {count}", statistics.median(warm[count]), "/s"))
    alone = statistics.median(busy[1:])
    tell(Found("scaling", "cores busy while one API process answers, client and database included", alone))
    tell(Found("scaling", "most that more API processes can gain on these cores", (os.cpu_count() or 1) / alone, "×"))
    _, two, four = (statistics.median(map(truediv, warm[count], warm[1])) for count in PROCESSES)
    tell(Found("scaling", "two API processes, relative to one", two, "×"))
    return tell(Found("scaling", "four API processes, relative to one", four, "×", BAR_PROCESSES))


def memory(url: str, kinds: list[tuple[list[str], float]], secret: str) -> bool:
    """Compare the memory of a process after a tenth and after all of the requests; return whether the bar is met."""
    with processes(1, url) as ([pid], [port]):
        done, sizes = 0.0, [0, 0]
        for n, share in enumerate((0.1, 1)):
            while done < share * REQUESTS:
                for paths, seconds in kinds:
                    done += seconds * uvloop.run(load(port, paths, secret, 16, seconds))
            sizes[n] = import_service.resident(pid)
    print(f"memory {sizes[0] / 2**20:.0f} MiB after a tenth, {sizes[1] / 2**20:.0f} MiB after {done:,.0f} requests")
    grown = Found(
        "scaling", f"memory after {REQUESTS:,} requests / a tenth", sizes[1] / sizes[0], "×", BAR_MEMORY, True
    )
    return tell(grown)


def two_workers() -> bool:
    """Compare one import with two concurrent ones, and one bare COPY with two; return whether the bar is met."""
    with tempfile.TemporaryDirectory() as folder:
        files = import_files.make_files(Path(folder), ACCOUNTS, ASSIGNMENTS)
        data_dir = Path(folder) / "rolecall"
        with import_service.service(data_dir) as (address, token, _), embedded(data_dir) as url:
            environ = os.environ | {"ROLECALL_DATABASE_URL": url, "ROLECALL_DATA_DIR": str(data_dir)}
            command = [sys.executable, "-m", "rolecall", "worker"]
            second = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
            try:
                ours, bare = asyncio.run(_side_by_side(address, token, files, url))
            finally:
                second.terminate()
                second.wait()
            with psycopg.connect(url) as db:
                tell(Found("scaling", "an assignment with its indexes", _bytes_a_row(db, "assignments"), "B"))
    tell(Found("scaling", "two concurrent bare COPYs into indexed tables, relative to one", bare, "×"))
    return tell(Found("scaling", "two concurrent imports, relative to one", ours, "×", BAR_WORKERS, at_most=True))


async def _side_by_side(address: str, token: str, files: Any, url: str) -> tuple[float, float]:
    """Return the median time of two concurrent imports, and of two bare COPYs, as multiples of the time of one."""

    async def imported() -> float:
        results = await import_service.run_imports(address, token, files, {"first": "first"})
        return float(results["first"]["import"])

    async def copied() -> float:
        return await asyncio.to_thread(indexed_copy, url, files["first"])

    async def more(one: Callable[[], Awaitable[float]]) -> float:
        with busy_cores() as cores:
            alone = await one()
        busy.append(cores[0])
        together = max(await asyncio.gather(one(), one()))
        print(f"{one.__name__}: one {alone:.1f} s, two side by side {together:.1f} s", flush=True)
        return together / alone

    busy: list[float] = []
    await imported()
    ours = [await more(imported) for _ in range(ROUNDS)]
    tell(Found("scaling", "cores busy while one import runs", statistics.median(busy)))
    bare = [await more(copied) for _ in range(ROUNDS)]
    return statistics.median(ours), statistics.median(bare)


def indexed_copy(url: str, files: dict[str, Path]) -> float:
    """Return the seconds of a COPY into a table with a primary key and an index: the minimum cost of storing."""
    name = f"lines_{threading.get_ident()}"
    with psycopg.connect(url) as db:
        db.execute(f"CREATE TABLE {name} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, line text)")
        db.execute(f"CREATE INDEX ON {name} (line)")
        db.commit()
        started = time.perf_counter()
        other_imports.copy_lines(db, f"{name} (line)", files)
        db.commit()
        took = time.perf_counter() - started
        db.execute(f"DROP TABLE {name}")
    return took


def _bytes_a_row(db: psycopg.Connection, table: str) -> float:
    row = db.execute(f"SELECT pg_total_relation_size('{table}')::float / count(*) FROM {table}").fetchone()
    return float(row[0]) if row else 0


def main() -> None:
    with company() as urls:
        url = urls["big"]
        secret = make_token(url)
        with psycopg.connect(url) as db:
            for table in ("identities", "access_requests", "personnel_events"):
                tell(Found("scaling", f"a row of {table} with its indexes", _bytes_a_row(db, table), "B"))
        ones, deep = some_identities(url, CONNECTIONS), f"/api/identities?page={ROWS // 100}"
        held = [
            more_processes(url, ones, secret),
            memory(url, [(ones, 8), (["/api/identities"], 1), ([deep], 1)], secret),
        ]
    held.append(two_workers())
    sys.exit(0 if all(held) else MISSED)


if __name__ == "__main__":
    main()
