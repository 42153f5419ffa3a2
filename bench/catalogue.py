"""Measure the catalogue: holders of an entitlement, access of a person, both now and a year ago, and a full export.

    python -m bench.catalogue [--rows 10000000]

`--rows` is the number of assignments; accounts, groups and permissions are in proportion, with 500 imports over one
year. Requests go to the ASGI application in this process, as in `bench.lists`. Calls are measured in CPU time of the
service and its database, which other programs affect less than elapsed time. Each export runs in its own process, so
that its memory can be measured separately.
"""

import argparse
import gc
import multiprocessing
import resource
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import structlog
import uvloop

from bench.exports import copied
from bench.figures import MISSED, Found, tell
from bench.lists import Reader, reading
from bench.seeding import company_of, count, fill, id_of
from rolecall.core.config import Config
from rolecall.core.exporting import Outcome, Plan, snapshot, write
from rolecall.core.formats.columns import columns_of
from rolecall.core.formats.formats import Format
from rolecall.core.ids import new_id
from rolecall.core.paging import whole

BAR_DEPTH, BAR_PERSON, BAR_PAST, BAR_EXPORT, BAR_MEMORY = 1.5, 50, 2, 3, 300
IMPORTS = 500
ROUNDS = 30
APPLICATION = id_of("application", 1)
PLACES = ("first", "middle", "3/4", "last")

# Accounts have the numbers 1 to {accounts}, and groups the numbers after that: first the top level, then the second,
# then the lowest. Each account is in four groups of the lowest level, one below each quarter of the top level.
_GROUPS = """
    INSERT INTO groups (number, application_id, name)
    SELECT {accounts} + 1 + n, pg_temp.id_of('application', 1), 'Group ' || n FROM generate_series(0, {groups} - 1) AS n
"""
_PARENT = """CASE WHEN n < {tops} THEN ''
                  WHEN n < {tops} * 10 THEN 'Group ' || n % {tops}
                  ELSE 'Group ' || {tops} + (n - {tops} * 10) % ({tops} * 9) END"""
# The description of every tenth group changed in a later import.
_GROUP_VERSIONS = f"""
    INSERT INTO group_versions (group_number, from_import, until_import, description, nomenclature, parent, metadata)
    SELECT {{accounts}} + 1 + n, v.since, v.until, 'Described in ' || v.since, 'Role', {_PARENT}, '{{{{}}}}'
    FROM generate_series(0, {{groups}} - 1) AS n
    CROSS JOIN LATERAL (SELECT 2 + pg_temp.pick('group', n, {IMPORTS - 1}) AS changed) AS c
    CROSS JOIN LATERAL (SELECT 1 AS since, CASE WHEN n % 10 = 9 THEN changed END AS until
                        UNION ALL SELECT changed, NULL WHERE n % 10 = 9) AS v
"""
# One membership in twenty began in a later import. It replaced a membership in another group below the same top-level
# group.
_MEMBERSHIPS = f"""
    INSERT INTO memberships (account_number, group_number, from_import, until_import)
    SELECT n, {{accounts}} + 1 + {{tops}} * 10 + {{tops}} * ((pick + v.was) % {{span}}) + {{tops}} / 4 * slot
              + pg_temp.pick('top', n * 4 + slot, {{tops}} / 4), v.since, v.until
    FROM generate_series(1, {{accounts}}) AS n, generate_series(0, 3) AS slot
    CROSS JOIN LATERAL (SELECT 2 + pg_temp.pick('moved', n * 4 + slot, {IMPORTS - 1}) AS moved,
                               pg_temp.pick('leaf', n * 4 + slot, {{span}}) AS pick) AS c
    CROSS JOIN LATERAL (SELECT CASE WHEN moved % 20 = 0 THEN moved ELSE 1 END AS since, NULL AS until, 0 AS was
                        UNION ALL SELECT 1, moved, 1 WHERE moved % 20 = 0) AS v
"""
_PERMISSIONS = """
    INSERT INTO permissions (number, application_id, header, section, permission)
    SELECT n, pg_temp.id_of('application', 1), 'Area ' || n % 40, 'Section ' || n % 7, 'Permission ' || n
    FROM generate_series(1, {permissions}) AS n
"""
_PERMISSION_VERSIONS = """
    INSERT INTO permission_versions (permission_number, from_import, until_import, description, risk_rating)
    SELECT n, 1, NULL, 'Does something', (ARRAY['Low', 'Moderate', 'High', 'Critical'])[1 + n % 4]
    FROM generate_series(1, {permissions}) AS n
"""
# All accounts hold the first permission directly, and the second through the groups in the first quarter of the top
# level. Each account holds 98 other permissions, each group 20. One assignment in twenty had another level of access
# before.
_ASSIGNMENTS = f"""
    INSERT INTO assignments (holder_number, permission_number, access, from_import, until_import, value)
    SELECT n, p, v.access::access, v.since, v.until, ''
    FROM generate_series(1, {{accounts}} + {{groups}}) AS n
    CROSS JOIN LATERAL (SELECT pg_temp.pick('start', n, {{permissions}} - 2) AS start,
                               n > {{accounts}} AS is_group) AS h
    CROSS JOIN LATERAL (
        SELECT 1 AS p WHERE NOT is_group
        UNION ALL SELECT 2 WHERE n - {{accounts}} BETWEEN 1 AND {{tops}} / 4
        UNION ALL SELECT (3 + (start + i * 7) % ({{permissions}} - 2))::int
                  FROM generate_series(1, CASE WHEN is_group THEN 20 ELSE 98 END) AS i
    ) AS held
    CROSS JOIN LATERAL (SELECT (2 + pg_temp.pick('changed', n * 100000::bigint + p, {IMPORTS - 1}))::int
                               AS changed) AS c
    CROSS JOIN LATERAL (SELECT 'Grant' AS access, CASE WHEN changed % 20 = 0 THEN changed ELSE 1 END AS since,
                               NULL::int AS until
                        UNION ALL SELECT 'Modify', 1, changed WHERE changed % 20 = 0) AS v
"""
# The rows that the triggers on assignments would write during an import.
_PERMISSION_HOLDERS = """
    INSERT INTO permission_holders (permission_number, from_import, access, holders)
    SELECT permission_number, from_import, access, array_agg(holder_number) FROM assignments GROUP BY 1, 2, 3;
    INSERT INTO permission_holders (permission_number, until_import, holders)
    SELECT permission_number, until_import, array_agg(holder_number) FROM assignments
    WHERE until_import IS NOT NULL GROUP BY 1, 2
"""
_IMPORTS = f"""
    INSERT INTO application_imports (id, application_id, type, status, created_by, created_at, build_start, build_end,
                                     metrics)
    SELECT pg_temp.id_of('import', n), pg_temp.id_of('application', 1), 'API', 'Finished', 'API Token - bench',
           t, t, t + interval '5 seconds', '{{{{}}}}'
    FROM generate_series(1, {IMPORTS}) AS n,
         LATERAL (SELECT now() - interval '365 days' * ({IMPORTS + 1} - n) / {IMPORTS} AS t) AS made;
    INSERT INTO application_totals (application_id, import_number) VALUES (pg_temp.id_of('application', 1), {IMPORTS})
"""
# Every fifth account has changed since the first import.
_ACCOUNT_VERSIONS = f"""
    INSERT INTO account_versions
    SELECT account_number, 2 + pg_temp.pick('account', account_number, {IMPORTS - 1}), NULL, name, first_name,
           last_name, email, employee_id, is_active, is_locked, '2026-01-01', password_changed, metadata,
           first_name_key, last_name_key
    FROM account_versions WHERE account_number % 5 = 0;
    UPDATE account_versions v SET until_import = 2 + pg_temp.pick('account', account_number, {IMPORTS - 1})
    WHERE account_number % 5 = 0 AND from_import = 1
"""
_PRIVILEGES = """
    UPDATE access_requests SET completed_on = created_at, resolved_on = created_at WHERE status = 'Completed';
    INSERT INTO privileges (request_id, position, initial_access, requested_access, approved_access, header, section,
                            permission, description, risk_rating, value, sources, origins)
    SELECT r.id, 0, 'None', 'Grant', 'Grant', p.header, p.section, p.permission, '', 'Low', '', '{{}}', '{{}}'
    FROM access_requests r JOIN permissions p ON p.number = 1 + pg_temp.pick('asked', r.number, {permissions})
"""
_MODEL_VERSIONS = """
    INSERT INTO access_model_versions (model_id, version, definition, committed_at, caller_id, caller_name)
    SELECT id, 1, definition || jsonb_build_object('access', jsonb_build_array(jsonb_build_object(
               'applicationId', pg_temp.id_of('application', 1), 'permissions', '[]'::jsonb,
               'groups', (SELECT jsonb_agg(name) FROM groups WHERE number % 10 = 0)))),
           timestamptz '2020-01-01', pg_temp.id_of('identity', 1), 'bench' FROM access_models
"""
TABLES = {
    "application_imports": _IMPORTS,
    "account_versions": _ACCOUNT_VERSIONS,
    "groups": _GROUPS,
    "group_versions": _GROUP_VERSIONS,
    "memberships": _MEMBERSHIPS,
    "permissions": _PERMISSIONS,
    "permission_versions": _PERMISSION_VERSIONS,
    "assignments": _ASSIGNMENTS,
    "permission_holders": _PERMISSION_HOLDERS,
    "privileges": _PRIVILEGES,
    "access_model_versions": _MODEL_VERSIONS,
}


def sizes_of(rows: int) -> dict[str, int]:
    """Return the sizes of a company with this many assignments: an account for each 100, a group for each 2,000."""
    groups = rows // 2000
    tops = max(4, groups // 400 * 4)
    return {
        "accounts": rows // 100,
        "groups": groups,
        "tops": tops,
        # How many bottom-level groups are below each top-level group.
        "span": (groups - tops * 10) // tops,
        "permissions": max(200, rows // 5000),
    }


def furnish(url: str, sizes: dict[str, int]) -> None:
    """Add imports, groups, permissions and their holders to the first application."""
    started = time.perf_counter()
    seconds = fill(url, TABLES, sizes)
    count(url, TABLES)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT refresh_entitlements(%s, 1)", (APPLICATION,))
        db.execute("VACUUM ANALYZE")
    said = ", ".join(f"{table} {each:.0f} s" for table, each in seconds.items() if each >= 1)
    print(f"furnished in {time.perf_counter() - started:.0f} s {said and f'({said})'}", flush=True)


class Timed(msgspec.Struct):
    """The milliseconds of each call: elapsed time, and CPU time of the service and its database."""

    wall: list[float] = []
    cpu: list[float] = []


async def timed(reader: Reader, path: str, into: Timed, **query: Any) -> Any:
    cpu, wall = reader.cost(), time.perf_counter()
    answer = await reader.api.ask("GET", path, query)
    into.wall.append((time.perf_counter() - wall) * 1000)
    into.cpu.append(reader.cost() - cpu)
    return answer


async def time_holders(reader: Reader, what: str, path: str, as_of: str | None) -> tuple[float, float]:
    """Time pages of holders; return the cost of page 1, and the cost of the slowest page as a multiple of it."""
    query = {"asOf": as_of} if as_of else {}
    first = Timed()
    found = msgspec.json.decode(await timed(reader, path, first, **query))
    last = found["totalPages"]
    pages = dict(zip(PLACES, (1, (last + 1) // 2, last * 3 // 4, last), strict=True))
    took = {place: Timed() for place in PLACES}
    # Three rounds warm up the caches and are not counted.
    for n in range(ROUNDS + 3):
        for place, page in pages.items():
            await timed(reader, path, took[place] if n >= 3 else Timed(), page=page, **query)
    cpu = {place: statistics.median(took[place].cpu) for place in PLACES}
    said = "  ".join(f"{place} {cpu[place]:.1f}" for place in PLACES)
    print(f"{what}: {found['totalCount']:,} holders, CPU ms: {said}; first look {first.wall[0]:,.0f} ms", flush=True)
    return cpu["first"], max(cpu.values()) / cpu["first"]


async def measure_holders(reader: Reader, entitlements: dict[str, str]) -> bool:
    held = True
    for what, id in entitlements.items():
        path = f"/api/entitlements/{id}/holders"
        now, depth = await time_holders(reader, what, path, None)
        then, past_depth = await time_holders(reader, f"{what}, a year back", path, "1")
        slowest = max(depth, past_depth)
        held &= bar(f"holders of {what}, the slowest page relative to page 1", slowest, "×", BAR_DEPTH)
        held &= bar(f"holders of {what}, a year and {IMPORTS} imports back relative to now", then / now, "×", BAR_PAST)
        _, history_depth = await time_holders(reader, f"{what}, history", path.replace("holders", "history"), None)
        held &= bar(f"history of {what}, the slowest page relative to page 1", history_depth, "×", BAR_DEPTH)
    return held


async def measure_people(reader: Reader, people: list[str]) -> bool:
    now, then = Timed(), Timed()
    for n, id in enumerate(people):
        path = f"/api/identities/{id}/access"
        answer = await timed(reader, path, now if n >= 10 else Timed())
        await timed(reader, path, then if n >= 10 else Timed(), asOf="1")
    entries = sum(
        len(account["access"])
        for application in msgspec.json.decode(answer)["applications"]
        for account in application["accounts"]
    )
    slow = statistics.quantiles(now.wall, n=20)[-1]
    print(
        f"a person with {entries} entries, by the clock: {statistics.median(now.wall):.1f} ms, 95th {slow:.1f} ms",
        flush=True,
    )
    past = statistics.median(then.cpu) / statistics.median(now.cpu)
    return all(
        [
            bar("a person's effective access, median", statistics.median(now.cpu), "ms", BAR_PERSON),
            bar(f"a person's effective access, a year and {IMPORTS} imports back relative to now", past, "×", BAR_PAST),
        ]
    )


async def measure_list(reader: Reader) -> bool:
    """Compare the CPU time of listing the catalogue as of a year ago and as of now, with warm caches.

    Return whether the bar is met.
    """
    now, then = Timed(), Timed()
    for n in range(ROUNDS + 3):
        await timed(reader, "/api/entitlements", now if n >= 3 else Timed())
        await timed(reader, "/api/entitlements", then if n >= 3 else Timed(), asOf="1")
    past = statistics.median(then.cpu) / statistics.median(now.cpu)
    print(f"the catalogue: CPU {statistics.median(now.cpu):.1f} ms", flush=True)
    return bar(f"the catalogue, a year and {IMPORTS} imports back relative to now", past, "×", BAR_PAST)


class ExportedHolding(msgspec.Struct):
    """A row of the export: an account and a permission that it holds directly."""

    account_id: UUID
    username: str
    identity_id: UUID | None
    header: str
    section: str
    permission: str
    access: str
    risk_rating: str
    since: int


_EVERYTHING = """SELECT a.id, a.username, a.identity_id, p.header, p.section, p.permission, s.access::text,
                        v.risk_rating, s.from_import
                 FROM assignments s JOIN accounts a ON a.number = s.holder_number
                 JOIN permissions p ON p.number = s.permission_number
                 JOIN permission_versions v ON v.permission_number = p.number AND v.until_import IS NULL
                 WHERE s.until_import IS NULL ORDER BY s.holder_number, s.permission_number"""


async def _export(url: str, format: str | None) -> tuple[int, float]:
    """Export every direct assignment, or run `COPY TO` if `format` is None.

    Return the number of rows (0 for COPY) and the seconds.
    """
    everything = whole(lambda row: ExportedHolding(*row), _EVERYTHING)
    async with snapshot(Config(database_url=url)) as db:
        if format is None:
            return 0, await copied(db, everything)
        plan = Plan(id=new_id(), list="bench", filters={}, columns=columns_of(ExportedHolding), format=Format(format))
        outcome, started = Outcome(), time.perf_counter()
        async for _ in write(db, everything, plan, outcome, "bench", datetime.now(UTC)):
            pass
        return outcome.row_count, time.perf_counter() - started


def export_alone(url: str, format: str | None) -> tuple[int, float, float]:
    """Run an export in this process; return its rows, its seconds and the peak memory of the process in MiB."""
    # Exclude the objects of the start-up from garbage collection, as the server and the worker do.
    gc.freeze()
    count, seconds = uvloop.run(_export(url, format))
    return count, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_exports(url: str) -> bool:
    held = True
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        least = min(pool.submit(export_alone, url, None).result()[1] for _ in range(2))
        for format in (Format.CSV, Format.PARQUET):
            rows, seconds, memory = pool.submit(export_alone, url, format).result()
            print(f"{format}: {rows:,} rows in {seconds:.0f} s; COPY TO {least:.0f} s", flush=True)
            held &= bar(f"export of {rows:,} rows as {format}, relative to COPY TO", seconds / least, "×", BAR_EXPORT)
            held &= bar(f"export of {rows:,} rows as {format}, memory", memory, "MiB", BAR_MEMORY)
    return held


def bar(what: str, value: float, unit: str, most: float) -> bool:
    return tell(Found("catalogue", what, value, unit, most, at_most=True))


async def run(url: str) -> bool:
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT name, id FROM entitlements WHERE name IN ('Permission 1', 'Permission 2')").fetchall()
        people = db.execute("SELECT identity_id FROM accounts WHERE identity_id IS NOT NULL ORDER BY id LIMIT 110")
        chosen = [str(id) for (id,) in people.fetchall()]
    ids = {name: str(id) for name, id in rows}
    entitlements = {
        "a permission of all accounts": ids["Permission 1"],
        "a permission through three levels of groups": ids["Permission 2"],
    }
    async with reading(url) as reader:
        measured = [await measure_people(reader, chosen), await measure_list(reader)]
        return all([*measured, await measure_holders(reader, entitlements)])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    rows = options.parse_args().rows
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    sizes = sizes_of(rows)
    people = sizes["accounts"]
    company = {
        "identities": people,
        "applications": 1,
        "accounts": people,
        "access_requests": people,
        "access_models": 1,
        "access_model_members": people // 10,
    }
    with company_of(**company) as url:
        furnish(url, sizes)
        held = all([uvloop.run(run(url)), measure_exports(url)])
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
