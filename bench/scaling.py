"""One API process and four, how late answers come below saturation, memory over many requests, two workers, and sizes.

    [ROLECALL_BENCH_REQUESTS=100000] python -m bench.scaling

The client and the database share the cores with the processes that are measured. Latency is counted from the moment a
request was due, at 60 % of what the process can do, whether or not the one before had been answered.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg
import uvloop

from bench import imports
from bench.figures import MISSED, Found, tell
from bench.http import PROGRAMS, TICK, Connection, load, load_all, make_token, request_for, running, some_identities
from bench.seeding import ROWS, company
from rolecall.core.postgres import embedded

BAR_PROCESSES, BAR_TAIL, BAR_MEMORY, BAR_WORKERS = 1.6, 5, 1.05, 1.3
REQUESTS = int(os.environ.get("ROLECALL_BENCH_REQUESTS", "100000"))
PROCESSES = (1, 2, 4)
CONNECTIONS = 16
# So many that each of four processes has enough to do.
MANY_CONNECTIONS = 128
SECONDS = 3.0
ROUNDS = 3
# One that nothing else disturbs is enough, and on a busy machine rare.
QUIET_ROUNDS = 5
SHARE = 0.6
ACCOUNTS, ASSIGNMENTS = 50_000, 500_000


class Paced(Connection):
    """Asks when the next request is due, or at once if the answer before came too late."""

    def __init__(self, request: bytes, period: float, first: float) -> None:
        super().__init__(request)
        self.period, self.due = period, first
        self.took: list[float] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._wait()

    def go_on(self) -> None:
        self.took.append(time.perf_counter() - self.due)
        self.due += self.period
        self._wait()

    def _wait(self) -> None:
        wait = self.due - time.perf_counter()
        asyncio.get_running_loop().call_later(max(wait, 0), self._ask)

    def _ask(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.request)


async def latencies(port: int, paths: list[str], secret: str, rate: float, seconds: float) -> list[float]:
    loop = asyncio.get_running_loop()
    period, start = CONNECTIONS / rate, time.perf_counter() + 0.2
    made = [
        await loop.create_connection(
            partial(Paced, request_for(path, secret), period, start + n * period / CONNECTIONS), "127.0.0.1", port
        )
        for n, path in zip(range(CONNECTIONS), cycle(paths))
    ]
    await asyncio.sleep(seconds)
    for transport, _ in made:
        transport.abort()
    # The first answers of each find caches cold.
    return [took for _, each in made for took in each.took[10:]]


@contextmanager
def processes(count: int, url: str) -> Iterator[tuple[list[int], list[int]]]:
    """The ids and ports of so many API processes."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        made = []
        for n in range(count):
            (Path(folder) / str(n)).mkdir()
            made.append(stack.enter_context(running("service", url, Path(folder) / str(n) / "answers")))
        yield [pid for pid, _ in made], [port for _, port in made]


@contextmanager
def busy_cores() -> Iterator[list[float]]:
    """How many cores the whole machine kept busy meanwhile: what is left of two is all that more processes can win."""
    found: list[float] = []
    started, before = time.perf_counter(), busy_seconds()
    yield found
    found.append((busy_seconds() - before) / (time.perf_counter() - started))


def busy_seconds() -> float:
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + soft) / TICK


def more_processes(url: str, paths: list[str], secret: str) -> bool:
    rates: dict[int, list[float]] = {count: [] for count in PROCESSES}
    busy: dict[int, list[float]] = {count: [] for count in PROCESSES}
    for _ in range(ROUNDS):
        for count in PROCESSES:
            with processes(count, url) as (_, ports):
                uvloop.run(load_all(ports, paths, secret, MANY_CONNECTIONS, 1))
                with busy_cores() as cores:
                    rates[count].append(uvloop.run(load_all(ports, paths, secret, MANY_CONNECTIONS, SECONDS)))
                busy[count].append(cores[0])
    for count in PROCESSES:
        tell(Found("scaling", f"get one, API processes: {count}", max(rates[count]), "/s"))
    tell(Found("scaling", "cores busy while one API process answers, client and database included", max(busy[1])))
    return tell(
        Found("scaling", "four API processes, of one", max(rates[PROCESSES[-1]]) / max(rates[1]), "×", BAR_PROCESSES)
    )


def below_saturation(url: str, paths: list[str], secret: str) -> bool:
    """Beside the service, a bare program at the same rate: what of the tail is the machine's."""
    seen: dict[str, list[tuple[float, float]]] = {"service": [], "select": []}
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        answers.write_text("{}")
        ports = {name: stack.enter_context(running(name, url, answers))[1] for name in seen}
        full = max(uvloop.run(load(ports["service"], paths, secret, CONNECTIONS, SECONDS)) for _ in range(ROUNDS))
        for name, port in list(ports.items()) * QUIET_ROUNDS:
            took = uvloop.run(latencies(port, paths, secret, SHARE * full, SECONDS))
            *_, high = statistics.quantiles(took, n=100)
            middle = statistics.median(took)
            print(f"{name} at {SHARE * full:,.0f}/s: median {middle * 1000:.2f} ms, 99 % in {high * 1000:.2f} ms")
            seen[name].append((high, middle))
    tails = {name: high / middle for name, (high, middle) in ((name, min(each)) for name, each in seen.items())}
    what = f"p99 at {SHARE:.0%} of saturation, of the median"
    tell(Found("scaling", f"{what}: {PROGRAMS['select']}", tails["select"], "×"))
    return tell(Found("scaling", what, tails["service"], "×", BAR_TAIL, at_most=True))


def memory(url: str, kinds: list[list[str]], secret: str) -> bool:
    """Of one process, after a tenth of the requests and after all of them."""
    with processes(1, url) as ([pid], [port]):
        done, sizes = 0.0, [0, 0]
        for n, share in enumerate((0.1, 1)):
            while done < share * REQUESTS:
                for paths in kinds:
                    done += 2 * uvloop.run(load(port, paths, secret, CONNECTIONS, 2))
            sizes[n] = imports.resident(pid)
    print(f"memory {sizes[0] / 2**20:.0f} MiB after a tenth, {sizes[1] / 2**20:.0f} MiB after {done:,.0f} requests")
    grown = Found(
        "scaling", f"memory after {REQUESTS:,} requests, of a tenth", sizes[1] / sizes[0], "×", BAR_MEMORY, True
    )
    return tell(grown)


def two_workers() -> bool:
    """The same import for one application, then for two at once; a second worker stands by."""
    with tempfile.TemporaryDirectory() as folder:
        files = imports.make_files(Path(folder), ACCOUNTS, ASSIGNMENTS)
        data_dir = Path(folder) / "rolecall"
        with imports.service(data_dir) as (address, token, _), embedded(data_dir) as url:
            environ = os.environ | {"ROLECALL_DATABASE_URL": url, "ROLECALL_DATA_DIR": str(data_dir)}
            command = [sys.executable, "-m", "rolecall", "worker"]
            second = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
            try:
                alone, together = asyncio.run(_side_by_side(address, token, files))
            finally:
                second.terminate()
                second.wait()
            with psycopg.connect(url) as db:
                tell(Found("scaling", "an assignment with its indexes", _bytes_a_row(db, "assignments"), "B"))
    print(f"one import {alone:.1f} s, two side by side {together:.1f} s")
    return tell(Found("scaling", "two imports side by side, of one", together / alone, "×", BAR_WORKERS, True))


async def _side_by_side(address: str, token: str, files: Any) -> tuple[float, float]:
    async def one() -> float:
        results = await imports.run_imports(address, token, files, {"first": "first"})
        return float(results["first"]["import"])

    with busy_cores() as cores:
        alone = min([await one() for _ in range(2)])
    tell(Found("scaling", "cores busy while one import runs", cores[0]))
    return alone, max(await asyncio.gather(one(), one()))


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
        ones, deep = some_identities(url, MANY_CONNECTIONS), f"/api/identities?page={ROWS // 100}"
        held = [
            more_processes(url, ones, secret),
            below_saturation(url, ones, secret),
            memory(url, [ones, ["/api/identities"], [deep]], secret),
        ]
    held.append(two_workers())
    sys.exit(0 if all(held) else MISSED)


if __name__ == "__main__":
    main()
