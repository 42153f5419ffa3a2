"""Requests a second and CPU a request: the service against bare ASGI and against a conventional program, in one run.

    python -m bench.http [--rows 100000] [--seconds 5] [--connections 16]

Every program runs alone, in one process, in the same server (granian) on the same PostgreSQL (embedded, fsync on). The
service is `rolecall api` as it is deployed: token check, correlation id, safe headers and a log line for each request.
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
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import uvloop

from bench.seeding import TABLES, seed
from rolecall.core.migrate import migrate
from rolecall.core.postgres import embedded
from rolecall.tokens.model import new_secret, public_id, sha256

BAR = 5.0
ROUNDS = 3
TICK = os.sysconf("SC_CLK_TCK")
PROGRAMS = {
    "bytes": "bare ASGI, the bytes ready",
    "select": "bare ASGI, one prepared SELECT",
    "service": "this service",
    "conventional": "FastAPI, ORM, response model",
}


class Figure(msgspec.Struct):
    """Of one program and one path: each of the rounds."""

    per_second: list[float] = []
    program_us: list[float] = []
    database_us: list[float] = []


class Connection(asyncio.Protocol):
    """Asks again when it has as many bytes as the first answer had; cheap, so that it takes little from the server."""

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
            self.transport.write(self.request)


async def load(port: int, path: str, secret: str, connections: int, seconds: float) -> float:
    """Requests a second."""
    lines = [f"GET {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {secret}", "Accept: application/json"]
    request = "\r\n".join([*lines, "", ""]).encode()
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Connection(request), "127.0.0.1", port) for _ in range(connections)]
    started, before = time.perf_counter(), sum(each.count for _, each in made)
    await asyncio.sleep(seconds)
    done = sum(each.count for _, each in made) - before
    took = time.perf_counter() - started
    for transport, _ in made:
        transport.abort()
    return done / took


def cpu_seconds(pid: int) -> float:
    """Of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def database_seconds(url: str) -> float:
    """Of the server's processes for the program; one that has just ended has nothing more to tell."""
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
    """The program's process and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = ["-m", "rolecall", "api", "--port", str(port)]
    theirs = ["-m", "bench.rivals", name, str(port), str(answers)]
    settings = {"ROLECALL_DATABASE_URL": url, "ROLECALL_LOG": "json", "BENCH_DATABASE_URL": url}
    command = [sys.executable, *(ours if name == "service" else theirs)]
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


def measure(url: str, secret: str, paths: dict[str, str], options: argparse.Namespace) -> dict[tuple[str, str], Figure]:
    figures = {(name, what): Figure() for name in PROGRAMS for what in paths}
    answers = Path(options.folder) / "answers.json"
    with running("service", url, answers) as (_, port):
        answers.write_bytes(msgspec.json.encode({path: fetch(port, path, secret) for path in paths.values()}))
    for _ in range(ROUNDS):
        for name in PROGRAMS:
            with running(name, url, answers) as (pid, port):
                for what, path in paths.items():
                    uvloop.run(load(port, path, secret, options.connections, 1))
                    program, database = cpu_seconds(pid), database_seconds(url)
                    rate = uvloop.run(load(port, path, secret, options.connections, options.seconds))
                    figure, requests = figures[name, what], rate * options.seconds
                    figure.per_second.append(rate)
                    figure.program_us.append((cpu_seconds(pid) - program) / requests * 1e6)
                    figure.database_us.append((database_seconds(url) - database) / requests * 1e6)
    return figures


def fetch(port: int, path: str, secret: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def report(figures: dict[tuple[str, str], Figure], paths: dict[str, str]) -> bool:
    for what in paths:
        rates = {name: statistics.median(figures[name, what].per_second) for name in PROGRAMS}
        print(f"\n{what:32} {'requests/s':>10} {'program µs':>11} {'database µs':>12} {'service is':>11}")
        for name, title in PROGRAMS.items():
            figure = figures[name, what]
            program, database = statistics.median(figure.program_us), statistics.median(figure.database_us)
            ratio = rates["service"] / rates[name]
            print(f"{title:32} {rates[name]:10,.0f} {program:11,.0f} {database:12,.0f} {ratio:10.2f}x")
    rates = {name: statistics.median(figures[name, "page 1"].per_second) for name in PROGRAMS}
    held = rates["service"] >= BAR * rates["conventional"]
    print(f"\npage 1 at {BAR:.0f} times the conventional program: {'held' if held else 'NOT HELD'}")
    return held


def make_token(url: str) -> str:
    secret = new_secret()
    with psycopg.connect(url) as db:
        db.execute(
            "INSERT INTO tokens (id, public_id, secret_sha256, name, scopes, created_at)"
            " VALUES (gen_random_uuid(), %s, %s, 'bench', '{identities:read}', now())",
            (public_id(secret), sha256(secret)),
        )
    return secret


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded(Path(folder) / "data") as url:
        options.folder = folder
        migrate(url)
        seed(url, {**dict.fromkeys(TABLES, 1), "identities": options.rows})
        secret = make_token(url)
        with psycopg.connect(url) as db:
            (id,) = db.execute("SELECT id FROM identities ORDER BY list_key OFFSET 1000 LIMIT 1").fetchone() or ("",)
        paths = {"get one": f"/api/identities/{id}", "page 1": "/api/identities"}
        held = report(measure(url, secret, paths, options), paths)
    sys.exit(not held)


if __name__ == "__main__":
    main()
