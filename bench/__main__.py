"""Run all benchmarks, or the named benchmarks, and print one table of results: `python -m bench http lists`.

A run of all benchmarks writes the table to docs/performance.md. ROLECALL_BENCH_ROWS sets the number of identities and
requests.
"""

import ctypes
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.figures import FILE, MISSED, Found, busy_seconds, gathered
from bench.seeding import FOLDER, ROWS, SMALL
from rolecall.core.postgres import BIN

# Each benchmark is a module of this package that can also be run alone; `http` runs the programs of `rivals`.
NAMES = [
    "http",
    "tail",
    "lists",
    "scoped",
    "scaling",
    "imports",
    "workflow",
    "models",
    "webhooks",
    "notifications",
    "audit",
    "catalogue",
    "duties",
    "reviews",
    "sources",
    "console",
]
# Runs only if it is named as an argument: it takes about an hour and 40 GB of disk.
LONG = ["large"]
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def main() -> None:
    names = sys.argv[1:] or NAMES
    if unknown := set(names) - {*NAMES, *LONG}:
        sys.exit(f"No benchmark is named {', '.join(sorted(unknown))}; choose from {', '.join([*NAMES, *LONG])}")
    ended: dict[str, int] = {}
    started, busy = time.monotonic(), busy_seconds()
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder:
        file = Path(folder) / "figures"
        # All benchmarks share one company, because creating a million rows per table takes minutes.
        company = os.environ.get(FOLDER) or str(Path(folder) / "company")
        environ = os.environ | {FILE: str(file), FOLDER: company}
        for name in names:
            print(f"\n== {name}", flush=True)
            began = time.monotonic()
            ended[name] = subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False, env=environ).returncode
            reap()
            print(f"== {name} took {time.monotonic() - began:.0f} s", flush=True)
        found = gathered(file)
    minutes = (time.monotonic() - started) / 60
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    others = max(0, 1 - used / (busy_seconds() - busy))
    print(f"\n{minutes:.1f} minutes, {used:,.0f} seconds of processor time; other programs used {others:.0%}")
    print("\n" + table(found))
    missed = [name for name, code in ended.items() if code == MISSED]
    broken = [name for name, code in ended.items() if code not in (0, MISSED)]
    said = [f"{what}: {', '.join(of)}" for what, of in (("Missed a bar", missed), ("Failed", broken)) if of]
    if names == NAMES:
        PAGE.write_text(page(found, minutes, others, broken))
    sys.exit("\n".join(said) or 0)


def adopt_orphans() -> None:
    """Become the parent of orphaned database processes, so that their CPU time is added to that of this process."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def table(found: list[Found]) -> str:
    rows = [("", "found", "bar", ""), *(one.cells for one in found)]
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    lines = [
        f"| {row[0]:{widths[0]}} | {row[1]:>{widths[1]}} | {row[2]:>{widths[2]}} | {row[3]:{widths[3]}} |"
        for row in rows
    ]
    rule = f"|{'-' * (widths[0] + 2)}|{'-' * (widths[1] + 1)}:|{'-' * (widths[2] + 1)}:|{'-' * (widths[3] + 2)}|"
    return "\n".join([lines[0], rule, *lines[1:]])


def page(found: list[Found], minutes: float, others: float, broken: list[str]) -> str:
    lost = f"\n**These benchmarks failed, so their rows are missing: {', '.join(broken)}.**\n" if broken else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    server = subprocess.run([BIN / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    parts = ", ".join(f"{name} {version(name)}" for name in ("litestar", "granian", "psycopg", "msgspec", "polars"))
    number = server.split("(PostgreSQL) ")[-1].split()[0]
    return f"""# Performance

Made by `make bench` in {minutes:.0f} minutes, on {datetime.now(UTC):%d %B %Y}.
{os.cpu_count()} cores ({processor()}), {memory:.0f} GiB; client, service and database share them. Other programs
used {others:.0%} of the CPU time during the run.
Python {platform.python_version()}, PostgreSQL {number} (embedded, fsync on),
{parts}.
{ROWS:,} identities, {ROWS:,} access requests, {ROWS // 5:,} personnel events, {ROWS // 20:,} imports.
Rows of http, tail and scaling: one API process unless the row says otherwise, up to 10 connections to the database, a
JSON log (`ROLECALL_LOG=json`); http with 16 connections of clients. Lists are served without HTTP and without a log.

{table(found)}
{lost}
The docstring of each file in `bench/` explains how it measures. Ratios come from one run in which the programs took
turns. Rates are the best of several rounds, because other programs can only slow them down; the rates of one, two and
four processes are medians. Lists are measured in CPU time. The small company has {SMALL:,} of each, and accounts,
members and waiting requests in proportion. [Scaling](scaling.md) and [lists](lists.md) draw the conclusions.
"""


def processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
