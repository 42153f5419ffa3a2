"""Measure tail latency at 60 % of saturation, with and without pauses of the machine.

    python -m bench.tail

Requests are due at a constant rate, whether or not earlier requests were answered (open loop), and latency is measured
from the due time. Two baselines run at 60 % of their own saturation: one prepared SELECT, and fixed responses.

The host may pause a virtual machine for a moment, and no program on it can prevent that. So a thousand times a second
the client measures the processor time of a small probe, which other programs do not increase; a probe that takes four
times as long as usual marks a pause. Requests that were due shortly after a pause or waited through one are excluded:
the bar applies to the rest, and the ratio of all requests is reported too. A slow response is more likely to overlap a
pause, so the excluded requests contain a higher share of slow responses than the rest.
"""

import asyncio
import ctypes
import gc
import math
import os
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from collections import deque
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.figures import MISSED, Found, tell
from bench.http import PROGRAMS, Connection, fetch, load, make_token, request_for, running, some_identities
from bench.seeding import company

BAR = 5
SHARE = 0.6
CONNECTIONS = 16
SECONDS = 3.0
ROUNDS = 4
ASKED = ("service", "select", "bytes")
# A probe that takes more than SLOW times the median marks a pause. Requests that are due within SOON_SECONDS after the
# pause may still wait in the queue that the pause caused.
SLOW, SOON_SECONDS = 4, 0.3
PIECE_EVERY = 0.001


class Answered(msgspec.Struct):
    due: float
    took: float


class Paced(Connection):
    """A connection that sends each request when it is due, but not before the previous one is answered."""

    def __init__(self, request: bytes) -> None:
        super().__init__(request)
        self.due = deque[float]()
        self.answered: list[Answered] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, due: float) -> None:
        self.due.append(due)
        if len(self.due) == 1:
            self.transport.write(self.request)

    def go_on(self) -> None:
        due = self.due.popleft()
        self.answered.append(Answered(due, time.perf_counter() - due))
        if self.due:
            self.transport.write(self.request)


class Machine:
    """Detect pauses of the machine by timing the same probe repeatedly."""

    def __init__(self) -> None:
        self.pieces: list[tuple[float, float]] = []
        self._next = 0.0

    def look(self, now: float) -> None:
        if now >= self._next:
            self._next = now + PIECE_EVERY
            started = time.thread_time()
            # The probe: a fixed amount of work.
            {str(n): [n] for n in range(100)}
            self.pieces.append((now, time.thread_time() - started))

    def slow_moments(self) -> list[float]:
        usual = statistics.median(took for _, took in self.pieces)
        return [moment for moment, took in self.pieces if took > SLOW * usual]


class Round(msgspec.Struct):
    answered: list[Answered]
    slow: list[float]

    def kept_pace(self) -> list[Answered]:
        """Return the requests that neither overlapped a pause nor were due within SOON_SECONDS after one."""

        def is_calm(one: Answered) -> bool:
            n = bisect_left(self.slow, one.due - SOON_SECONDS)
            return n == len(self.slow) or self.slow[n] > one.due + one.took

        return [one for one in self.answered if is_calm(one)]


def timer(period: float) -> int:
    """Return a timerfd that fires once per period; timers of the event loop are accurate only to milliseconds."""
    libc, monotonic, nonblocking = ctypes.CDLL(None), 1, os.O_NONBLOCK
    file = libc.timerfd_create(monotonic, nonblocking)
    seconds, nanoseconds = divmod(round(period * 1e9), 10**9)
    libc.timerfd_settime(file, 0, (ctypes.c_long * 4)(seconds, nanoseconds, seconds, nanoseconds), None)
    return int(file)


async def ask_evenly(port: int, paths: list[str], secret: str, rate: float) -> Round:
    loop, machine = asyncio.get_running_loop(), Machine()
    made = [
        await loop.create_connection(partial(Paced, request_for(path, secret)), "127.0.0.1", port)
        for _, path in zip(range(CONNECTIONS), cycle(paths))
    ]
    connections = cycle([connection for _, connection in made])
    started = due = time.perf_counter()
    # At most 10,000 ticks per second; each tick sends all requests that are due.
    ticks = timer(max(1 / rate, 0.0001))

    def tick() -> None:
        nonlocal due
        os.read(ticks, 8)
        now = time.perf_counter()
        while due <= now:
            next(connections).ask(due)
            due += 1 / rate
        machine.look(now)

    loop.add_reader(ticks, tick)
    await asyncio.sleep(SECONDS)
    loop.remove_reader(ticks)
    os.close(ticks)
    await asyncio.sleep(0.3)
    over = time.perf_counter()
    for transport, connection in made:
        transport.abort()
        # A request without a response counts with the time that it waited.
        connection.answered += [Answered(due, over - due) for due in connection.due]
    # Skip the warm-up, when the caches of each program are still cold.
    answered = [one for _, connection in made for one in connection.answered if one.due > started + 0.2]
    return Round(answered, machine.slow_moments())


def tail(answered: list[Answered]) -> tuple[float, float]:
    """Return the 99th percentile and the median of the latencies."""
    took = [one.took for one in answered]
    return statistics.quantiles(took, n=100)[-1], statistics.median(took)


def measure(url: str, secret: str) -> dict[str, list[Round]]:
    paths = some_identities(url, CONNECTIONS)
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        with running("service", url, answers) as (_, port):
            answers.write_bytes(msgspec.json.encode({path: fetch(port, path, secret) for path in paths}))
        ports = {name: stack.enter_context(running(name, url, answers))[1] for name in ASKED}
        rounds: dict[str, list[Round]] = {name: [] for name in ASKED}
        for name, port in list(ports.items()) * ROUNDS:
            # Measure the saturation again in each round, because the speed of the machine may change.
            rate = SHARE * uvloop.run(load(port, paths, secret, CONNECTIONS, 1))
            rounds[name].append(uvloop.run(ask_evenly(port, paths, secret, rate)))
            high, middle = tail(rounds[name][-1].answered)
            print(f"{name} at {rate:,.0f}/s: median {middle * 1e3:.2f} ms, 99 % in {high * 1e3:.2f} ms", flush=True)
    return rounds


def report(rounds: dict[str, list[Round]]) -> bool:
    what = f"p99 / median at {SHARE:.0%} of saturation"
    for name in reversed(ASKED):
        tell(Found("tail", f"{what}: {PROGRAMS[name]}", ratio([each.answered for each in rounds[name]]), "×"))
    calm = [calm for each in rounds["service"] if len(calm := each.kept_pace()) >= 100]
    share = sum(map(len, calm)) / sum(len(each.answered) for each in rounds["service"])
    tell(Found("tail", "requests that did not overlap a pause of the machine", 100 * share, "%"))
    found = Found("tail", f"{what}: {PROGRAMS['service']}, only those requests", ratio(calm), "×", BAR, at_most=True)
    return tell(found)


def ratio(rounds: list[list[Answered]]) -> float:
    """Divide p99 by the median in each round, and return the median quotient; without rounds, return infinity."""
    return statistics.median(high / middle for high, middle in map(tail, rounds)) if rounds else math.inf


def main() -> None:
    # Garbage collection in the client would add to the latencies.
    gc.freeze()
    gc.disable()
    with company() as urls:
        held = report(measure(urls["big"], make_token(urls["big"])))
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
