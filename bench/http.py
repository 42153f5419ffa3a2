"""Compare requests per second and CPU per request of the service, bare ASGI and a conventional program, in one run.

    [ROLECALL_BENCH_ROWS=1000000] python -m bench.http [--seconds 1] [--connections 16]

Every program is one process in the same server (granian) on the same PostgreSQL (embedded, fsync on). They are loaded
one at a time, for a second in each of several rounds; a ratio is the median of the rounds. The conventional program is
loaded last and only once, because its unfinished queries would slow down the others. The service is `rolecall api` as
deployed: token check, correlation id, security headers and a log line in JSON for each request. A second process of the
service has only default settings, so its log is text.
"Page 1 while others write" is the service while up to a thousand other transactions per second commit.
"""

import argparse
import asyncio
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import cycle
from operator import truediv
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import uvloop

from bench.figures import MISSED, Found, tell
from bench.seeding import ROWS, company
from rolecall.tokens.model import new_secret, public_id, sha256

# The minimum request rate, as a multiple of that of the bare program.
BAR_BARE = 0.7
# The minimum request rates on page 1 and on page 10,000, as multiples of those of the conventional program.
BAR_PAGE, BAR_DEEP = 8, 500
ROUNDS = 7
# Load the conventional program for this many seconds, because its page 10,000 is slow.
PATIENCE = 3
GET, FIRST, WRITTEN, DEEP = "get one", "page 1", "page 1 while others write", "page 10,000"
TICK = os.sysconf("SC_CLK_TCK")
PROGRAMS = {
    "bytes": "bare ASGI, fixed responses",
    "select": "bare ASGI, one prepared SELECT",
    "service": "this service",
    "defaults": "this service, default settings",
    "conventional": "FastAPI, ORM, response model",
}


class Figure(msgspec.Struct):
    """The measurements of one program for one kind of request, one for each round."""

    per_second: list[float] = []
    program_us: list[float] = []
    database_us: list[float] = []


class Connection(asyncio.Protocol):
    """A connection that repeats a request. It counts responses by their length, because parsing takes CPU time."""

    def __init__(self, request: bytes) -> None:
        self.request, self.count, self.expected, self.received = request, 0, 0, 0
        self.first = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if not self.expected:
            self.first += data
            head, found, body = self.first.partition(b"\r\n\r\n")
            if not found:
                return
            assert head.startswith(b"HTTP/1.1 200"), self.first
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            if len(body) < length:
                return
            self.expected = self.received = len(self.first)
        else:
            self.received += len(data)
        if self.received >= self.expected:
            self.received -= self.expected
            self.count += 1
            self.go_on()

    def go_on(self) -> None:
        self.transport.write(self.request)


def request_for(path: str, secret: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {secret}", "Accept: application/json"]
    return "\r\n".join([*lines, "", ""]).encode()


async def load(port: int, paths: Sequence[str], secret: str, connections: int, seconds: float) -> float:
    """Return requests per second; each connection requests one of the paths repeatedly."""
    return await load_all([port], paths, secret, connections, seconds)


async def load_all(ports: Sequence[int], paths: Sequence[str], secret: str, connections: int, seconds: float) -> float:
    """Return the total requests per second of several server processes."""
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(partial(Connection, request_for(path, secret)), "127.0.0.1", port)
        for _, port, path in zip(range(connections), cycle(ports), cycle(paths))
    ]
    started, before = time.perf_counter(), sum(each.count for _, each in made)
    await asyncio.sleep(seconds)
    done = sum(each.count for _, each in made) - before
    took = time.perf_counter() - started
    for transport, _ in made:
        transport.abort()
    return done / took


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def database_seconds(url: str) -> float:
    """Return the CPU time of the PostgreSQL backends of this database; ignore backends that have just ended."""
    with psycopg.connect(url) as db:
        others = """SELECT pid FROM pg_stat_activity WHERE datname = current_database()
                    AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
        seconds = 0.0
        for (pid,) in db.execute(others):
            with suppress(FileNotFoundError):
                seconds += cpu_seconds(pid)
        return seconds


@contextmanager
def running(name: str, url: str, answers: Path) -> Iterator[tuple[int, int]]:
    """Run the service or one of the programs in rivals.py on a free port; yield its process id and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = ["-m", "rolecall", "api", "--port", str(port)]
    theirs = ["-m", "bench.rivals", name, str(port), str(answers)]
    settings = {"ROLECALL_DATABASE_URL": url, "BENCH_DATABASE_URL": url} | LOGS.get(name, {})
    command = [sys.executable, *(ours if name in ("service", "defaults") else theirs)]
    with answers.with_name(f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stderr=log, stdout=log)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, answers.with_name(f"{name}.log").read_text()
            time.sleep(0.1)
        yield process.pid, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


LOGS = {"service": {"ROLECALL_LOG": "json"}}
# The measured requests of each program. The bare programs serve only page 1 of the list.
ASKED = {
    "bytes": (GET, FIRST),
    "select": (GET, FIRST),
    "service": (GET, FIRST, WRITTEN, DEEP),
    "defaults": (GET, FIRST),
    "conventional": (GET, FIRST, DEEP),
}


@contextmanager
def others_writing(url: str) -> Iterator[None]:
    over = threading.Event()

    def write() -> None:
        with psycopg.connect(url, autocommit=True) as db:
            while not over.wait(0.001):
                db.execute("SELECT pg_current_xact_id()")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def measure(
    url: str, secret: str, paths: dict[str, list[str]], options: argparse.Namespace
) -> dict[tuple[str, str], Figure]:
    figures = {(name, what): Figure() for name, asked in ASKED.items() for what in asked}
    elsewhere = psycopg.conninfo.make_conninfo(url, dbname="postgres")
    answers = Path(options.folder) / "answers.json"
    with running("service", url, answers) as (_, port):
        ready = {path: fetch(port, path, secret) for path in (*paths[GET], *paths[FIRST])}
        answers.write_bytes(msgspec.json.encode(ready))
    *rivals, slow = ASKED
    with ExitStack() as stack:
        ready_ones = {name: stack.enter_context(running(name, url, answers)) for name in rivals}
        for what in (GET, FIRST, WRITTEN, DEEP) * ROUNDS:
            for name, (pid, port) in ready_ones.items():
                if what in ASKED[name]:
                    with others_writing(elsewhere) if what == WRITTEN else nullcontext():
                        load_once(url, pid, port, paths[what], secret, options, figures[name, what])
    options.seconds = PATIENCE
    with running(slow, url, answers) as (pid, port):
        for what in ASKED[slow]:
            load_once(url, pid, port, paths[what], secret, options, figures[slow, what])
    return figures


def load_once(
    url: str, pid: int, port: int, paths: list[str], secret: str, options: argparse.Namespace, figure: Figure
) -> None:
    # Warm up before reading the CPU times from which the measurement begins.
    uvloop.run(load(port, paths, secret, options.connections, 0.2))
    program, database = cpu_seconds(pid), database_seconds(url)
    rate = uvloop.run(load(port, paths, secret, options.connections, options.seconds))
    requests = max(rate * options.seconds, 1)
    figure.per_second.append(rate)
    figure.program_us.append((cpu_seconds(pid) - program) / requests * 1e6)
    figure.database_us.append((database_seconds(url) - database) / requests * 1e6)


def fetch(port: int, path: str, secret: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def report(figures: dict[tuple[str, str], Figure]) -> bool:
    rates = {asked: max(figure.per_second) for asked, figure in figures.items()}
    print(f"{'':28} {'':32} {'requests/s':>10} {'program µs':>11} {'database µs':>12}")
    for (name, what), figure in figures.items():
        program, database = min(figure.program_us), min(figure.database_us)
        print(f"{what:28} {PROGRAMS[name]:32} {rates[name, what]:10,.1f} {program:11,.0f} {database:12,.0f}")

    def ratio(what: str, rival: str, bar: float | None, same: str = "") -> bool:
        # If no response arrives within PATIENCE, assume one, to avoid a division by zero.
        theirs = [max(rate, 1 / PATIENCE) for rate in figures[rival, same or what].per_second]
        times = statistics.median(map(truediv, figures["service", what].per_second, cycle(theirs)))
        return tell(Found("http", f"{what}, relative to {PROGRAMS[rival]}", times, "×", bar))

    def cost(name: str, what: str) -> float:
        both = figures[name, what]
        return min(program + database for program, database in zip(both.program_us, both.database_us, strict=True))

    for what in (GET, FIRST, DEEP):
        tell(Found("http", what, rates["service", what], "/s"))
    for what in (GET, FIRST):
        # CPU time is reported too, because other programs on the machine affect it less than elapsed time.
        less = cost("select", what) / cost("service", what)
        tell(Found("http", f"{what}, relative to {PROGRAMS['select']}, by CPU time", less, "×"))
        same = cost("service", what) / cost("defaults", what)
        tell(Found("http", f"{what} with default settings (text log), relative to a JSON log, by CPU time", same, "×"))
    return all(
        [
            ratio(GET, "select", BAR_BARE),
            ratio(FIRST, "select", BAR_BARE),
            ratio(WRITTEN, "select", None, FIRST),
            ratio(FIRST, "conventional", BAR_PAGE),
            ratio(DEEP, "conventional", BAR_DEEP),
        ]
    )


def some_identities(url: str, count: int) -> list[str]:
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT id FROM identities ORDER BY id LIMIT %s", (count,)).fetchall()
    return [f"/api/identities/{id}" for (id,) in rows]


def make_token(url: str) -> str:
    secret = new_secret()
    with psycopg.connect(url) as db:
        db.execute("DELETE FROM tokens WHERE name = 'bench'")
        db.execute(
            "INSERT INTO tokens (id, public_id, secret_sha256, name, scopes, created_at)"
            " VALUES (gen_random_uuid(), %s, %s, 'bench', '{identities:read}', now())",
            (public_id(secret), sha256(secret)),
        )
    return secret


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, company() as urls:
        options.folder, url = folder, urls["big"]
        secret = make_token(url)
        page = "/api/identities"
        paths = {
            GET: some_identities(url, options.connections),
            FIRST: [page],
            WRITTEN: [page],
            DEEP: [f"{page}?page={min(10_000, ROWS // 50)}"],
        }
        held = report(measure(url, secret, paths, options))
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
