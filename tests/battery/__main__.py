"""Run every row of the battery, or the named rows (`make battery`); `ROLECALL_BATTERY=ci` runs the short form.

A setting in the environment overrides the setting of a row, so that a long row can be shortened.

The short form begins with a row that the commit determines, and `ROLECALL_BATTERY_SECONDS` can limit its time. A row
that would exceed the limit is left out and runs at another commit. A row that takes three times its usual time, or runs
for a minute after the limit, is stopped and fails.
"""

import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from rolecall.core.postgres import BIN
from tests.battery.rows import ROWS, Row

REPOSITORY = Path(__file__).parents[2]
REPORT = REPOSITORY / "docs" / "reliability.md"
HEAD = """# Reliability

What `make battery` measured. `make battery ARGS=kill` runs one row, `make battery-ci` the short form that continuous
integration runs, `make battery-planted` proves that each row notices the bug planted for it.

{machine}

| Test | Goal | Measured | Run |
|---|---|---|---|
"""


# If a row of the short form takes this many times its `ci_seconds`, it hangs or its `ci_seconds` is wrong.
PATIENCE = 3
# How long a row may run after the time for all rows is spent.
GRACE_SECONDS = 60.0
# How long a stopped row may take to clean up.
STOPPING_SECONDS = 30.0


class Result(msgspec.Struct, frozen=True):
    passed: bool
    figures: str
    seconds: float
    output: str


def run(row: Row, settings: dict[str, str], tree: Path = REPOSITORY, limit: float = math.inf) -> Result:
    """Run a row. Stop it after `limit` seconds and count it as failed."""
    started = time.monotonic()
    with tempfile.NamedTemporaryFile("r", prefix="figures-") as kept, tempfile.TemporaryFile("w+") as output:
        environ = settings | os.environ | {"ROLECALL_BATTERY": "row", "ROLECALL_FIGURES": kept.name}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-s", "-p", "no:cacheprovider", *row.tests]
        is_done, code = ended(command, limit, cwd=tree, env=environ, stdout=output, stderr=subprocess.STDOUT)
        output.seek(0)
        said, figures = output.read(), kept.read().strip().replace("\n", "; ")
    counted = re.findall(r"(\d+ passed)", said)
    figures = figures or f"{counted[-1] if counted else 'nothing passed'}"
    if not is_done:
        figures = f"stopped after {limit:.0f} s; usual are {row.ci_seconds:.0f} s ({figures})"
    return Result(is_done and code == 0, figures, time.monotonic() - started, said)


def ended(command: list[str], limit: float, **options: Any) -> tuple[bool, int]:
    """Run a command; return whether it ended within the limit, and its exit code.

    A command that exceeds the limit is interrupted, so that it prints where it was and stops what it started.
    """
    with subprocess.Popen(command, **options) as process:
        try:
            return True, process.wait(None if math.isinf(limit) else limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return False, process.wait(STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return False, process.wait()


def tell(row: Row, result: Result) -> Result:
    word = "ok    " if result.passed else "FAILED"
    print(f"{word} {row.name:<13} {result.seconds:4.0f} s  {result.figures}", flush=True)
    if not result.passed:
        print(result.output[-20_000:], flush=True)
    return result


def machine() -> str:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    postgres = subprocess.run([BIN / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return (
        f"{os.cpu_count()} cores ({cpu[1] if cpu else platform.machine()}), "
        f"{int(memory[1]) // 2**20 if memory else '?'} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, PostgreSQL {postgres.split()[-1]}, granian {version('granian')}; "
        f"client, service and database on the same machine."
    )


def write_report(results: dict[str, Result]) -> None:
    """Write the report; rows that did not run keep their last results."""
    text = REPORT.read_text() if REPORT.exists() else ""
    lines = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ")}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for row in ROWS:
        if result := results.get(row.name):
            figures = result.figures if result.passed else f"**failed**: {result.figures}"
            run = f"{today}, {result.seconds:.0f} s"
            lines[f"| {row.title}"] = f"| {row.title} | {row.goal} | {figures} | {run} |"
    rows = [lines[f"| {row.title}"] for row in ROWS if f"| {row.title}" in lines]
    after = text.partition("\n\n## ")
    rest = f"\n\n## {after[2]}" if after[1] else "\n"
    REPORT.write_text(HEAD.format(machine=machine()) + "\n".join(rows) + rest)


def commit() -> str:
    """Return the hash of the current commit, or "" outside a repository."""
    asked = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        return subprocess.run(asked, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def rotated(rows: list[Row], commit: str) -> list[Row]:
    """Rotate the rows by the commit's hash, so that each row comes first at some commit."""
    first = int(commit or "0", 16) % len(rows) if rows else 0
    return rows[first:] + rows[:first]


class Budget:
    """The time that is left for rows; a slower machine runs fewer rows."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self.usual = 0.0
        self.needed = 0.0

    def fits(self, row: Row) -> bool:
        pace = max(1.0, self.needed / self.usual) if self.usual else 1.0
        return row.ci_seconds * pace <= self.left

    def limit(self, row: Row) -> float:
        """Return the seconds after which to stop a row; infinity if the time is not limited."""
        return min(PATIENCE * row.ci_seconds, self.left + GRACE_SECONDS) if math.isfinite(self.left) else math.inf

    def spend(self, row: Row, seconds: float) -> None:
        self.left -= seconds
        self.usual += row.ci_seconds
        self.needed += seconds


def run_short_form(rows: list[Row]) -> dict[str, Result]:
    rows = rotated([row for row in rows if row.ci is not None], commit())
    budget = Budget(float(os.environ.get("ROLECALL_BATTERY_SECONDS", "inf")))
    print(f"order: {', '.join(row.name for row in rows)}", flush=True)
    results: dict[str, Result] = {}
    left_out: list[str] = []
    for row in rows:
        if budget.fits(row):
            results[row.name] = tell(row, run(row, row.ci or {}, limit=budget.limit(row)))
            budget.spend(row, results[row.name].seconds)
        else:
            left_out.append(f"{row.name} ({row.ci_seconds:.0f} s)")
    if left_out:
        print(f"LEFT OUT, because {budget.left:.0f} s were left: {', '.join(left_out)}", flush=True)
    return results


def main() -> int:
    form = os.environ.get("ROLECALL_BATTERY", "full")
    chosen = [row for row in ROWS if row.name in (sys.argv[1:] or [row.name])]
    if form == "full":
        results = {row.name: tell(row, run(row, row.full)) for row in chosen}
        write_report(results)
    else:
        results = run_short_form(chosen)
    print(f"{form}: {sum(result.seconds for result in results.values()):.0f} s")
    return 0 if all(result.passed for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
