"""Import 1, 10 and 100 million assignments: time per row, and memory of the worker, at each size.

python -m bench.large [--most 100000000]

Each size has a service and a database of its own, and an account for each hundred assignments. The rows of an account
are spread over the whole file. The first import writes all rows; the changed one has another value in about one row in
a hundred; the unchanged one uploads the same files again. By estimate, 100 million rows need 40 GB of disk and an hour.
"""

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import polars as pl

from bench.figures import MISSED, Found, tell
from bench.import_files import COLUMNS, PERMISSIONS, users, warm_files, write
from bench.import_service import CONNECTOR, STEPS, Memory, make_application, run_import, run_imports, service

SIZES = (1_000_000, 10_000_000, 100_000_000)
HELD_BY_ONE = 100
# Limits: the time per row relative to the smallest size, and the memory of the worker in bytes.
TIME_BAR = 1.5
MEMORY_BAR = 2**30
# Measure a small import several times, because one measurement of such a short run is not reliable.
TURNS = {1_000_000: 3}
_PIECE = 1_000_000
_LIMITS = {"ROLECALL_MAX_FILE_BYTES": str(2**40), "ROLECALL_MAX_UPLOAD_BYTES": str(2**40)}


def write_users(path: Path, count: int) -> Path:
    with path.open("w") as file:
        file.write(",".join(COLUMNS) + "\n")
        for start in range(0, count, 10_000):
            file.writelines(f"{line}\n" for line in users(min(start + 10_000, count), start))
    return path


def write_permissions(path: Path, size: int, *, is_changed: bool) -> Path:
    with path.open("wb") as file:
        file.write(b"Username,Section,Permission,Access,Value\n")
        for piece in permission_pieces(size, is_changed=is_changed):
            piece.write_csv(file, include_header=False)
    return path


def permission_pieces(size: int, *, is_changed: bool) -> Iterator[pl.DataFrame]:
    accounts = size // HELD_BY_ONE
    account = pl.col("i") % accounts
    # 331 and the number of permissions are coprime, so an account holds no permission twice.
    permission = (account * 7 + pl.col("i") // accounts * 331) % PERMISSIONS
    mark = pl.when(pl.col("i") % 101 == 0).then(pl.lit("x")).otherwise(pl.lit("")) if is_changed else pl.lit("")
    for start in range(0, size, _PIECE):
        yield pl.DataFrame({"i": pl.int_range(start, min(start + _PIECE, size), eager=True)}).select(
            pl.format("user{}", account.cast(pl.String).str.zfill(7)).alias("u"),
            pl.format("Section {}", permission % 13).alias("s"),
            pl.format("Permission {}", permission).alias("p"),
            pl.lit("Grant").alias("a"),
            pl.format("value{}{}", pl.col("i") % 100, mark).alias("v"),
        )


async def run(url: str, token: str, folder: Path, size: int, pid: int, *, logs: bool) -> dict[str, dict[str, Any]]:
    """Run the steps of the benchmark in one new application; each step overwrites the files on disk."""
    timeout = aiohttp.ClientTimeout(total=None)
    headers = {"Authorization": f"Bearer {token}"}
    results = {}
    async with aiohttp.ClientSession(url, headers=headers, timeout=timeout) as session:
        application = await make_application(session, connector=CONNECTOR)
        for label, chosen in STEPS.items():
            files = {
                "Users": await asyncio.to_thread(write_users, folder / "users.csv", size // HELD_BY_ONE),
                "Groups": write(folder / "groups.csv", ["Group", "Description"], ["group,Group"]),
                "Permissions": await asyncio.to_thread(
                    write_permissions, folder / "permissions.csv", size, is_changed=chosen == "changed"
                ),
            }
            memory = Memory(pid)
            results[label] = await run_import(session, application, files)
            results[label]["memory"] = memory.stop()
            took, peak = results[label]["import"], results[label]["memory"]
            each = took / size * 1e6
            print(f"{size:,} {label}: {took:.1f} s, {each:.2f} µs per row, {peak / 2**20:.0f} MiB", flush=True)
            if logs:
                print(results[label]["log"], flush=True)
    return results


def measure(size: int, *, logs: bool) -> dict[str, tuple[float, int]]:
    """Return the time per row in seconds and the memory of each import."""
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in STEPS}
    for _ in range(TURNS.get(size, 1)):
        folder = Path(tempfile.mkdtemp(prefix="rolecall-large-"))
        try:
            with service(folder / "rolecall", **_LIMITS) as (url, token, pid):
                # The first import also starts the process that later builds are forked from.
                asyncio.run(run_imports(url, token, {"first": warm_files(folder)}, {"first": "first"}))
                for label, result in asyncio.run(run(url, token, folder, size, pid, logs=logs)).items():
                    found[label].append(result)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        label: (statistics.median(each["import"] for each in results) / size, max(each["memory"] for each in results))
        for label, results in found.items()
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--most", type=int, default=SIZES[-1], help="leave out larger sizes")
    options.add_argument("--logs", action="store_true", help="print the logs of the imports")
    given = options.parse_args()
    held = []
    base: dict[str, tuple[float, int]] = {}
    for size in (each for each in SIZES if each <= given.most):
        found = measure(size, logs=given.logs)
        base = base or found
        for label, (seconds, memory) in found.items():
            tell(Found("large", f"{label}, {size:,} assignments, per row", seconds * 1e6, "µs"))
            if found is not base:
                what = f"{label}, {size:,} assignments, per row, relative to {SIZES[0]:,}"
                held.append(tell(Found("large", what, seconds / base[label][0], "×", TIME_BAR, at_most=True)))
            what = f"{label}, {size:,} assignments, memory of the worker"
            held.append(tell(Found("large", what, memory / 2**20, "MiB", MEMORY_BAR / 2**20, at_most=True)))
    sys.exit(0 if all(held) else MISSED)


if __name__ == "__main__":
    main()
