"""Time imports uploaded to a real service against a raw COPY of the same bytes and a conventional importer.

python -m bench.imports [--accounts 100000] [--assignments 1000000] [--convention none|first|all] [--people] [--shapes]

The first import of people is compared with the first import of as many accounts, and an import by a shape with one of
the same data in standard form; --people and --shapes run only these parts.
"""

import argparse
import asyncio
import csv
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
from psycopg.types.json import Jsonb

from bench.figures import MISSED, Found, tell
from bench.people import write_people
from bench.shaped import SHAPE_BAR, SHAPED, STANDARD, write_both
from rolecall.core.postgres import embedded

COLUMNS = [
    "Username", "Name", "First Name", "Last Name", "Email", "Employee ID", "Active", "Locked", "Last Login",
    "Password Changed", *(f"Attribute {n}" for n in range(1, 15)),
]  # fmt: skip
PERMISSION_COLUMNS = ["Username", "Header", "Section", "Permission", "Access", "Value", "Description", "Risk Rating"]
# Bars: time relative to a raw COPY, speed relative to the conventional importer, memory of the worker.
BARS = {"first": 4.0, "changed": 1.2, "unchanged": 0.15}
CONVENTION_BAR = 6
# Bar: time of the first import of people, relative to as many accounts.
PEOPLE_BAR = 2.0
MEMORY_BAR = int(1.1 * 2**30)
GROUPS = 2_000
PERMISSIONS = 5_000


def users(count: int) -> list[str]:
    return [
        ",".join(
            [
                f"user{i:07d}", f"First{i % 5000} Last{i}", f"First{i % 5000}", f"Last{i}", f"user{i}@corp.example.com",
                f"E{i:07d}", "Yes", "No", f"2026-{i % 12 + 1:02d}-{i % 28 + 1:02d}T08:00:00Z", "2026-01-01",
                *(f"attribute {n} of user {i} in full" for n in range(1, 15)),
            ]
        )
        for i in range(count)
    ]  # fmt: skip


def assignments(accounts: int, count: int) -> list[str]:
    rows = []
    for i in range(count):
        # Each account holds several different permissions.
        account = i % accounts
        permission = (account * 7 + i // accounts * 331) % PERMISSIONS
        rows.append(
            f"user{account:07d},Header {permission % 7},Section {permission % 13},Permission number {permission},"
            f"Grant,value{i % 100},What permission {permission} is for,Low"
        )
    return rows


def changed(lines: list[str], column: int, share: float = 0.01) -> list[str]:
    """Change a value in one line of a hundred."""
    lines = list(lines)
    for i in random.Random(7).sample(range(len(lines)), int(len(lines) * share)):
        fields = lines[i].split(",")
        fields[column] += "x"
        lines[i] = ",".join(fields)
    return lines


def write(path: Path, header: list[str], lines: list[str]) -> Path:
    path.write_text("\n".join([",".join(header), *lines, ""]))
    return path


def make_files(folder: Path, accounts: int, count: int) -> dict[str, dict[str, Path]]:
    people, held = users(accounts), assignments(accounts, count)
    groups = write(
        folder / "groups.csv", ["Group", "Description"], [f"group{i},Group number {i}" for i in range(GROUPS)]
    )
    made = {}
    for name, lines, more in (("first", people, held), ("changed", changed(people, 12), changed(held, 5))):
        made[name] = {
            "Users": write(folder / f"users-{name}.csv", COLUMNS, lines),
            "Groups": groups,
            "Permissions": write(folder / f"permissions-{name}.csv", PERMISSION_COLUMNS, more),
        }
    return made


class Memory:
    """Sample the memory of the worker and its child process, and record the peak of their sum."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, sum(resident(pid) for pid in _workers(self.root)))

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self.peak


def _workers(root: int) -> Iterator[int]:
    """Yield the process ids of the worker and its child below the service's process."""
    parents, commands = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(path.name)] = (path / "cmdline").read_bytes()
        except OSError:
            continue
    for pid, command in commands.items():
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root and (b"application_imports.run.child_main" in command or b"\0worker\0" in command):
            yield pid


def resident(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


@contextmanager
def service(data_dir: Path) -> Iterator[tuple[str, str, int]]:
    """Run a service; yield its URL, a token and its process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "ROLECALL_LOG": "json"}
    rolecall = [sys.executable, "-m", "rolecall"]
    command = [*rolecall, "serve", "--data-dir", str(data_dir), "--port", str(port), "--workers", "1"]
    with (data_dir.parent / "service.log").open("wb") as log:
        running = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            wait_for(port)
            scopes = [
                part
                for s in ("config:manage", "identities:write", "imports:write", "imports:read", "applications:read")
                for part in ("--scope", s)
            ]
            create = [*rolecall, "token", "create", "bench", *scopes, "--data-dir", str(data_dir)]
            token = subprocess.run(create, env=environ, check=True, capture_output=True, text=True).stdout.strip()
            yield f"http://127.0.0.1:{port}", token, running.pid
        finally:
            running.terminate()
            running.wait()


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the service did not start")


ACCOUNTS = {"name": "Standard files", "files": [{"name": "Users", "content": "users"}]}
PEOPLE = {"name": "HR file", "files": [{"name": "People", "content": "identities"}]}
CONNECTOR = {
    "name": "Standard files",
    "files": [{"name": name, "content": name.lower()} for name in ("Users", "Groups", "Permissions")],
}
# The set of files that each import uploads.
STEPS = {"first": "first", "changed": "changed", "unchanged": "changed"}


async def run_imports(
    url: str, token: str, files: dict[str, dict[str, Path]], steps: dict[str, str] = STEPS
) -> dict[str, dict[str, Any]]:
    """Import each step's files into one new application."""
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        application = await make_application(session, connector=CONNECTOR)
        return {label: await run_import(session, application, files[chosen]) for label, chosen in steps.items()}


async def make_application(session: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    guard = {"maxRemovedPercent": 100, "maxNewPercent": 1000000, "minCount": 1000000}
    body = {"name": f"Bench {time.time()}", "guard": guard, **fields}
    async with session.post("/api/applications", json=body) as answer:
        made = dict(await answer.json())
        assert answer.status == 201, made
        return made


async def run_import(
    session: aiohttp.ClientSession, application: dict[str, Any], files: dict[str, Path]
) -> dict[str, Any]:
    groups = {group["name"]: group["fileGroupId"] for group in application["connector"]["files"]}
    started = time.perf_counter()
    form = aiohttp.FormData()
    for name, path in files.items():
        form.add_field(groups[name], path.open("rb"), filename=path.name)
    async with session.post(
        "/api/application-imports/upload", params={"applicationId": application["id"]}, data=form
    ) as answer:
        run = await answer.json()
        assert answer.status == 201, run
    uploaded = time.perf_counter() - started
    while run["status"] in ("Pending", "Running"):
        await asyncio.sleep(0.02)
        async with session.get(f"/api/application-imports/{run['id']}") as answer:
            run = await answer.json()
    assert run["status"] == "Finished", run["log"]
    begin, end = (datetime.fromisoformat(run[name]) for name in ("buildStart", "buildEnd"))
    return {
        "import": time.perf_counter() - started - uploaded,
        "build": (end - begin).total_seconds(),
        "upload": uploaded,
        "metrics": run["metrics"],
        "log": run["log"],
    }


def compare_people(url: str, token: str, folder: Path, count: int, *, logs: bool) -> bool:
    """Compare the first import of people with one of accounts; return whether the bar is met."""
    # Warm up: the first import also starts the process that later builds are forked from.
    asyncio.run(run_imports(url, token, {"first": warm_files(folder)}, {"first": "first"}))
    results = asyncio.run(run_people(url, token, *people_files(folder / "people", count)))
    for label, result in results.items():
        print(f"{count:,} {label}: {result['import']:.2f} s")
        if logs:
            print(result["log"])
    ratio = results["people"]["import"] / results["accounts"]["import"]
    return tell(Found("imports", "first of people, relative to as many accounts", ratio, "×", PEOPLE_BAR, at_most=True))


def compare_shapes(url: str, token: str, folder: Path, count: int, *, logs: bool) -> bool:
    """Compare imports of the same data by a shape and in standard form; return whether the bar is met."""
    asyncio.run(run_imports(url, token, {"first": warm_files(folder)}, {"first": "first"}))
    standard, shaped = write_both(folder / "shaped", COLUMNS, users(count))
    results = asyncio.run(run_shapes(url, token, standard, shaped))
    for label, result in results.items():
        print(f"{count:,} users {label}: {result['import']:.2f} s")
        if logs:
            print(result["log"])
    ratio = results["by a shape"]["import"] / results["in standard form"]["import"]
    return tell(Found("imports", "by a shape, relative to standard form", ratio, "×", SHAPE_BAR, at_most=True))


async def run_shapes(
    url: str, token: str, standard: dict[str, Path], shaped: dict[str, Path]
) -> dict[str, dict[str, Any]]:
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        plain = await make_application(session, connector=STANDARD)
        export = await make_application(session, connector=SHAPED)
        return {
            "in standard form": await run_import(session, plain, standard),
            "by a shape": await run_import(session, export, shaped),
        }


def warm_files(folder: Path) -> dict[str, Path]:
    held = ["user0000000,Header,Section,Permission,Grant,value,What it is for,Low"]
    return {
        "Users": write(folder / "warm-users.csv", COLUMNS, users(1)),
        "Groups": write(folder / "warm-groups.csv", ["Group", "Description"], ["group,Group"]),
        "Permissions": write(folder / "warm-permissions.csv", PERMISSION_COLUMNS, held),
    }


def people_files(folder: Path, count: int) -> tuple[Path, Path]:
    folder.mkdir()
    return write(folder / "users.csv", COLUMNS, users(count)), write_people(folder / "people.csv", count)


async def run_people(url: str, token: str, accounts: Path, people: Path) -> dict[str, dict[str, Any]]:
    """Import a file of accounts and one of as many people, each for the first time."""
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        plain = await make_application(session, connector=ACCOUNTS)
        source = await make_application(session, connector=PEOPLE, isIdentitySource=True)
        return {
            "accounts": await run_import(session, plain, {"Users": accounts}),
            "people": await run_import(session, source, {"People": people}),
        }


def raw_copy(database: str, files: dict[str, Path]) -> float:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS raw_lines")
        db.execute("CREATE TABLE raw_lines (line text)")
        started = time.perf_counter()
        with db.transaction():
            copy_lines(db, "raw_lines", files)
        took = time.perf_counter() - started
        db.execute("DROP TABLE raw_lines")
    return took


def copy_lines(db: psycopg.Connection[Any], target: str, files: dict[str, Path]) -> None:
    with db.cursor().copy(f"COPY {target} FROM STDIN") as copy:
        for path in files.values():
            with path.open("rb") as file:
                while piece := file.read(1 << 18):
                    copy.write(piece)


CONVENTIONAL_TABLES = """
    CREATE TABLE plain_accounts (id serial PRIMARY KEY, username text UNIQUE, fields jsonb);
    CREATE TABLE plain_groups (id serial PRIMARY KEY, name text UNIQUE, fields jsonb);
    CREATE TABLE plain_permissions (id serial PRIMARY KEY, header text, section text, permission text, fields jsonb,
                                    UNIQUE (header, section, permission));
    CREATE TABLE plain_assignments (account_id int REFERENCES plain_accounts ON DELETE CASCADE,
                                    permission_id int REFERENCES plain_permissions ON DELETE CASCADE, fields jsonb,
                                    PRIMARY KEY (account_id, permission_id));
    CREATE INDEX ON plain_assignments (permission_id);
    CREATE TABLE plain_changes (import int, kind text, change text, name text, before jsonb, after jsonb)
"""
CATALOGUE = ("Header", "Section", "Permission")
Fields = dict[str, str]


def conventional(database: str, files: dict[str, dict[str, Path]], steps: dict[str, str]) -> dict[str, float]:
    """Import conventionally: csv.DictReader, dicts of current and of new rows, executemany for the differences.

    It does less than Rolecall: accounts, groups, permissions, assignments, and a list of changes with old and new
    values, but no history, no matching and no limits.
    """
    took = {}
    with psycopg.connect(database) as db:
        db.execute(CONVENTIONAL_TABLES)
        for number, (label, chosen) in enumerate(steps.items()):
            started = time.perf_counter()
            import_conventionally(db, number, {name: read(path) for name, path in files[chosen].items()})
            db.commit()
            took[label] = time.perf_counter() - started
        db.execute("DROP TABLE plain_accounts, plain_groups, plain_permissions, plain_assignments, plain_changes")
        db.commit()
    return took


def read(path: Path) -> list[Fields]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def import_conventionally(db: psycopg.Connection[Any], number: int, files: dict[str, list[Fields]]) -> None:
    def sync(table: str, key: tuple[str, ...], wanted: dict[tuple[Any, ...], Fields]) -> None:
        put_difference(db, number, table, key, wanted)

    sync("plain_accounts", ("username",), {(row.pop("Username"),): row for row in files["Users"]})
    sync("plain_groups", ("name",), {(row.pop("Group"),): row for row in files["Groups"]})
    held = files["Permissions"]
    listed = {tuple(row[part] for part in CATALOGUE): {"Risk": row["Risk Rating"]} for row in held}
    sync("plain_permissions", ("header", "section", "permission"), listed)
    accounts = dict(db.execute("SELECT username, id FROM plain_accounts").fetchall())
    rows = db.execute("SELECT header, section, permission, id FROM plain_permissions")
    permissions = {tuple(row[:3]): row[3] for row in rows}
    sync(
        "plain_assignments",
        ("account_id", "permission_id"),
        {
            (accounts[row["Username"]], permissions[tuple(row[part] for part in CATALOGUE)]): {
                "Access": row["Access"],
                "Value": row["Value"],
            }
            for row in held
        },
    )


def put_difference(
    db: psycopg.Connection[Any], number: int, table: str, key: tuple[str, ...], wanted: dict[tuple[Any, ...], Fields]
) -> None:
    names = ", ".join(key)
    present = {tuple(row[:-1]): row[-1] for row in db.execute(f"SELECT {names}, fields FROM {table}")}
    new = [(*k, Jsonb(row)) for k, row in wanted.items() if k not in present]
    altered = [(Jsonb(row), *k) for k, row in wanted.items() if k in present and present[k] != row]
    gone = [k for k in present if k not in wanted]
    where = " AND ".join(f"{column} = %s" for column in key)
    changes = [
        *((number, table, "New", str(k), None, row) for *k, row in new),
        *((number, table, "Altered", str(k), Jsonb(present[tuple(k)]), row) for row, *k in altered),
        *((number, table, "Removed", str(k), Jsonb(present[k]), None) for k in gone),
    ]
    with db.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({names}, fields) VALUES ({'%s, ' * len(key)}%s)", new)
        cursor.executemany(f"UPDATE {table} SET fields = %s WHERE {where}", altered)
        cursor.executemany(f"DELETE FROM {table} WHERE {where}", gone)
        cursor.executemany("INSERT INTO plain_changes VALUES (%s, %s, %s, %s, %s, %s)", changes)


def held(results: dict[str, Any], raw: float, convention: dict[str, float], peak: int) -> bool:
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
            # Time the COPY before and after the imports and take the median, because the machine's speed varies.
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
    sys.exit(0 if held(results, raw, convention, peak) and kept else MISSED)


if __name__ == "__main__":
    main()
