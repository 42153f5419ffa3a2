"""Compare imports of a running service with a raw COPY of the same bytes and with a conventional importer.

python -m bench.imports [--accounts 100000] [--assignments 1000000] [--convention none|first|all] [--people] [--shapes]

The first import of people is compared with the first import of as many accounts. An import of files that need a shape
is compared with an import of the same data in standard form. --people and --shapes run only these parts.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import aiohttp

from bench.figures import MISSED, Found, tell
from bench.import_files import COLUMNS, make_files, people_files, users, warm_files
from bench.import_service import ACCOUNTS, PEOPLE, STEPS, Memory, make_application, run_import, run_imports, service
from bench.other_imports import conventional, raw_copy
from bench.shaped import SHAPE_BAR, SHAPED, STANDARD, write_both
from rolecall.core.postgres import embedded

# The maximum time of each import, as a multiple of the time of a raw COPY.
BARS = {"first": 4.0, "changed": 1.2, "unchanged": 0.15}
# The minimum speed, as a multiple of the speed of the conventional importer.
CONVENTION_BAR = 6
# The maximum time of the first import of people, as a multiple of the time for as many accounts.
PEOPLE_BAR = 2.0
# The maximum memory of the worker, in bytes.
MEMORY_BAR = int(1.1 * 2**30)


def compare_people(url: str, token: str, folder: Path, count: int, *, logs: bool) -> bool:
    """Compare the first import of people with a first import of accounts; return whether the bar is met."""
    # Warm up: the first import also starts the process that later builds are forked from.
    asyncio.run(run_imports(url, token, {"first": warm_files(folder)}, {"first": "first"}))
    results = asyncio.run(run_people(url, token, *people_files(folder / "people", count)))
    print_times(results, count, logs=logs)
    ratio = results["people"]["import"] / results["accounts"]["import"]
    return tell(Found("imports", "first of people, relative to as many accounts", ratio, "×", PEOPLE_BAR, at_most=True))


def print_times(results: dict[str, Any], count: int, *, logs: bool) -> None:
    for label, result in results.items():
        print(f"{count:,} {label}: {result['import']:.2f} s")
        if logs:
            print(result["log"])


def compare_shapes(url: str, token: str, folder: Path, count: int, *, logs: bool) -> bool:
    """Compare imports of the same data with a shape and in standard form; return whether the bar is met."""
    asyncio.run(run_imports(url, token, {"first": warm_files(folder)}, {"first": "first"}))
    standard, shaped = write_both(folder / "shaped", COLUMNS, users(count))
    results = asyncio.run(run_shapes(url, token, standard, shaped))
    print_times(results, count, logs=logs)
    ratio = results["users by a shape"]["import"] / results["users in standard form"]["import"]
    return tell(Found("imports", "by a shape, relative to standard form", ratio, "×", SHAPE_BAR, at_most=True))


async def run_shapes(
    url: str, token: str, standard: dict[str, Path], shaped: dict[str, Path]
) -> dict[str, dict[str, Any]]:
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        plain = await make_application(session, connector=STANDARD)
        export = await make_application(session, connector=SHAPED)
        return {
            "users in standard form": await run_import(session, plain, standard),
            "users by a shape": await run_import(session, export, shaped),
        }


async def run_people(url: str, token: str, accounts: Path, people: Path) -> dict[str, dict[str, Any]]:
    """Import a file of accounts and a file of as many people, each for the first time; return both results."""
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        plain = await make_application(session, connector=ACCOUNTS)
        source = await make_application(session, connector=PEOPLE, isIdentitySource=True)
        return {
            "accounts": await run_import(session, plain, {"Users": accounts}),
            "people": await run_import(session, source, {"People": people}),
        }


def are_bars_met(results: dict[str, Any], raw: float, convention: dict[str, float], peak: int) -> bool:
    """Report the results; return whether all bars are met."""
    found = [
        Found("imports", f"{label}, relative to a raw COPY", results[label]["import"] / raw, "×", bar, at_most=True)
        for label, bar in BARS.items()
    ]
    if convention:
        times = convention["first"] / results["first"]["import"]
        found.append(Found("imports", "first, times as fast as a conventional importer", times, "×", CONVENTION_BAR))
    found.append(Found("imports", "memory of the worker", peak / 2**20, "MiB", MEMORY_BAR / 2**20, at_most=True))
    return False not in [tell(one) for one in found]


def report(results: dict[str, Any], raw: float, convention: dict[str, float], size: int, peak: int) -> None:
    print(f"\n{size / 1e6:.0f} MB of CSV; raw COPY of the same bytes {raw:.2f} s", end="; ")
    print(f"peak memory of the worker and its child {peak / 2**20:.0f} MiB")
    heads = ("", "import", "build", "× raw COPY", "bar", "convention", "faster", "upload")
    print("".join(f"{head:>12}" for head in heads))
    for label, result in results.items():
        old = convention.get(label)
        cells = [
            label,
            f"{result['import']:.2f} s",
            f"{result['build']:.2f} s",
            f"{result['import'] / raw:.2f}",
            f"{BARS[label]:.2f}",
            f"{old:.1f} s" if old else "",
            f"{old / result['import']:.1f} ×" if old else "",
            f"{result['upload']:.2f} s",
        ]
        print("".join(f"{cell:>12}" for cell in cells))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--accounts", type=int, default=100_000)
    options.add_argument("--assignments", type=int, default=1_000_000)
    options.add_argument("--convention", choices=("none", "first", "all"), default="first", help="which of its imports")
    options.add_argument("--logs", action="store_true", help="print the logs of the imports")
    options.add_argument("--people", action="store_true", help="only compare people with accounts")
    options.add_argument("--shapes", action="store_true", help="only compare shapes with standard form")
    given = options.parse_args()
    if given.people or given.shapes:
        compare = compare_people if given.people else compare_shapes
        with tempfile.TemporaryDirectory() as folder, service(Path(folder) / "rolecall") as (url, token, _):
            kept = compare(url, token, Path(folder), given.accounts, logs=given.logs)
        sys.exit(0 if kept else MISSED)
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder), given.accounts, given.assignments)
        size = sum(path.stat().st_size for path in files["first"].values())
        data_dir = Path(folder) / "rolecall"
        with service(data_dir) as (url, token, pid), embedded(data_dir) as database:
            # Time the COPY before and after the imports, because the machine's speed varies.
            copies = [raw_copy(database, files["first"])]
            memory = Memory(pid)
            results = asyncio.run(run_imports(url, token, files))
            peak = memory.stop()
            copies += [raw_copy(database, files["first"]) for _ in range(2)]
            raw = statistics.median(copies)
            steps = {"none": {}, "first": {"first": "first"}, "all": STEPS}[given.convention]
            convention = conventional(database, files, steps) if steps else {}
            kept = compare_people(url, token, Path(folder), given.accounts, logs=given.logs)
            kept = compare_shapes(url, token, Path(folder), given.accounts, logs=given.logs) and kept
    if given.logs:
        for result in results.values():
            print(result["log"], json.dumps(result["metrics"]), "\n")
    report(results, raw, convention, size, peak)
    sys.exit(0 if are_bars_met(results, raw, convention, peak) and kept else MISSED)


if __name__ == "__main__":
    main()
