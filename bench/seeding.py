"""Create a company of any size, identical in every run: SQL derives each row from its number alone.

    [ROLECALL_BENCH_FOLDER=…] python -m bench.seeding

If the variable names a folder, the company is kept there and reused by later benchmarks with the same folder.
"""

import argparse
import asyncio
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import psycopg

from bench.figures import MISSED
from rolecall.access_models.queries import MEMBERS
from rolecall.access_requests.queries import ACCESS_REQUESTS, WAITING
from rolecall.application_imports.queries import IMPORTS
from rolecall.applications.queries import APPLICATIONS
from rolecall.core.migrate import migrate
from rolecall.core.paging import Listing
from rolecall.core.postgres import DATABASE, embedded
from rolecall.identities.queries import IDENTITIES
from rolecall.personnel_events.queries import EVENTS

# The environment variable with the folder in which the company is kept.
FOLDER = "ROLECALL_BENCH_FOLDER"
ROWS = int(os.environ.get("ROLECALL_BENCH_ROWS", "1000000"))
SMALL = 10_000
APPLICATION_COUNT = 40

LISTINGS: dict[str, Listing[Any]] = {
    listing.table: listing for listing in (IDENTITIES, APPLICATIONS, ACCESS_REQUESTS, WAITING, EVENTS, IMPORTS, MEMBERS)
}
# Deterministic pseudo-random values below `range`: the same number and salt give the same value.
_FUNCTIONS = """
    CREATE FUNCTION pg_temp.pick(salt text, n bigint, range bigint) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN
        (hashint8extended(n, hashtext(salt)) & 9223372036854775807) % range;
    CREATE FUNCTION pg_temp.word(salt text, n bigint) RETURNS text IMMUTABLE LANGUAGE sql RETURN
        initcap(substr('bcdfghklmnprstvz', 1 + (n % 16)::int, 1) || substr('aeiou', 1 + (n / 16 % 5)::int, 1)
        || substr('lmnrstvk', 1 + (n / 80 % 8)::int, 1) || substr('aeiou', 1 + (n / 640 % 5)::int, 1)
        || substr(salt, 1 + (n / 3200 % 3)::int, 4));
    CREATE FUNCTION pg_temp.id_of(kind text, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN md5(kind || n)::uuid;
"""
_IDENTITIES = """
    INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, email_address, title, company,
                            division, department, office, supervisor_id, created_date, updated_date, first_seen_date)
    SELECT pg_temp.id_of('identity', n), first, last, lower(first), lower(last),
           lower(first || '.' || last || n || '@example.com'), 'Engineer', 'Example', 'Division ' || n % 7,
           'Department ' || n % 90, 'Office ' || n % 12, CASE WHEN n > 100 THEN pg_temp.id_of('identity', n / 100) END,
           t, t, t
    FROM generate_series(1, {rows}) AS n,
         LATERAL (SELECT pg_temp.word('enotari', pg_temp.pick('first', n, 3000)) AS first,
                         pg_temp.word('sonberg', pg_temp.pick('last', n, 9600)) AS last,
                         timestamptz '2020-01-01' + n * interval '2 minutes' AS t) AS made
"""
_APPLICATIONS = """
    INSERT INTO applications (id, name, name_key, last_updated, guard)
    SELECT pg_temp.id_of('application', n), 'Application ' || n, 'application ' || n, timestamptz '2026-01-01', '{{}}'
    FROM generate_series(1, {rows}) AS n
"""
_REQUESTS = """
    INSERT INTO access_requests (id, action, status, reporter_id, reporter_name, target_type, target_name, identity_id,
                                 application_id, created_at, status_since)
    SELECT pg_temp.id_of('request', n),
           (ARRAY['Add', 'Change', 'Remove', 'Suspend', 'Restore'])[1 + least(pick / 20, 4)],
           CASE WHEN n > {rows} * 0.97 THEN (ARRAY['Pending', 'Open', 'Resolved', 'Scheduled', 'Snoozed'])[1 + pick % 5]
                WHEN pick < 6 THEN 'Canceled' ELSE 'Completed' END,
           pg_temp.id_of('identity', 1), 'API Token - bench', 'User', 'account' || n,
           pg_temp.id_of('identity', 1 + pg_temp.pick('who', n, {identities})),
           pg_temp.id_of('application', 1 + least(pg_temp.pick('a', n, {applications}),
                                                  pg_temp.pick('b', n, {applications}))), t, t
    FROM generate_series(1, {rows}) AS n,
         LATERAL (SELECT pg_temp.pick('request', n, 100)::int AS pick,
                         timestamptz '2020-01-01' + n * interval '3 minutes' AS t) AS made
"""
_EVENTS = """
    INSERT INTO personnel_events (id, type, status, reporter_id, reporter_name, identity_id, needed_on)
    SELECT pg_temp.id_of('event', n),
           (ARRAY['Onboard', 'Offboard', 'Role Transition', 'Absence'])[1 + least(pick / 30, 3)],
           CASE WHEN n > {rows} * 0.95 THEN (ARRAY['Scheduled', 'Pending', 'Open', 'Resolved', 'Snoozed'])[1 + pick % 5]
                WHEN pick < 4 THEN 'Canceled' ELSE 'Completed' END,
           pg_temp.id_of('identity', 1), 'API Token - bench',
           pg_temp.id_of('identity', 1 + pg_temp.pick('who', n, {identities})),
           date_trunc('day', timestamptz '2020-01-01' + n * (interval '7 years' / greatest({rows}, 1)))
    FROM generate_series(1, {rows}) AS n, LATERAL (SELECT pg_temp.pick('event', n, 100)::int AS pick) AS made
"""
_IMPORTS = """
    INSERT INTO application_imports (id, application_id, type, status, created_by, created_at, build_start, build_end,
                                     metrics)
    SELECT pg_temp.id_of('import', n),
           pg_temp.id_of('application', CASE WHEN n = 1 THEN 1 ELSE 1 + pg_temp.pick('import', n, {applications}) END),
           'API', CASE WHEN n = 1 THEN 'Finished' WHEN n > {rows} - 20 THEN 'Pending' ELSE 'Failed' END,
           'API Token - bench', t,
           CASE WHEN n <= {rows} - 20 THEN t END, CASE WHEN n <= {rows} - 20 THEN t + interval '5 seconds' END,
           CASE WHEN n = 1 THEN '{{}}'::jsonb END
    FROM generate_series(1, {rows}) AS n,
         LATERAL (SELECT timestamptz '2020-01-01' + n * interval '1 hour' AS t) AS made
"""
_WAITING = """
    INSERT INTO waiting_requests
    SELECT id, time_key(status_since, number) FROM access_requests WHERE status IN ('Pending', 'Open', 'Resolved')
"""
# The models are disabled, so that onboardings during a benchmark need no matching.
_MODELS = """
    INSERT INTO access_models (id, version, definition, name_key, created_at, changed_at)
    SELECT pg_temp.id_of('model', n), 1, jsonb_build_object(
               'name', 'Model ' || n, 'description', '', 'ownerId', NULL, 'enabled', false, 'access', '[]'::jsonb,
               'conditions', jsonb_build_array(jsonb_build_array(
                   jsonb_build_object('field', 'division', 'operator', 'is', 'value', 'Division 0')))),
           'model ' || n, timestamptz '2026-01-01', timestamptz '2026-01-01'
    FROM generate_series(1, {rows}) AS n
"""
_MEMBERS = """
    INSERT INTO access_model_members
    SELECT pg_temp.id_of('model', 1), id, timestamptz '2026-01-01', list_key
    FROM identities WHERE division = 'Division 0' LIMIT {rows}
"""
# Accounts of the first application, from its first import; every twentieth is unmatched.
_ACCOUNTS = """
    INSERT INTO accounts (number, application_id, username, match, identity_id)
    SELECT n, pg_temp.id_of('application', 1), 'user' || n, CASE WHEN n % 20 = 0 THEN 'Unmatched' ELSE 'Email' END,
           CASE WHEN n % 20 > 0 THEN pg_temp.id_of('identity', n) END
    FROM generate_series(1, {rows}) AS n
"""
_VERSIONS = """
    INSERT INTO account_versions
    SELECT number, 1, NULL, username, '', '', username || '@example.com', '', true, false, '', '', '{{}}', '', ''
    FROM accounts
"""
# Two groups of tables, which are filled in parallel; the tables of a group are filled in this order.
TABLES = (
    {
        "identities": _IDENTITIES,
        "access_models": _MODELS,
        "access_model_members": _MEMBERS,
        "personnel_events": _EVENTS,
        "accounts": _ACCOUNTS,
        "account_versions": _VERSIONS,
    },
    {
        "applications": _APPLICATIONS,
        "access_requests": _REQUESTS,
        "waiting_requests": _WAITING,
        "application_imports": _IMPORTS,
    },
)


def id_of(kind: str, number: int) -> UUID:
    return UUID(hashlib.md5(f"{kind}{number}".encode()).hexdigest())


@contextmanager
def company() -> Iterator[dict[str, str]]:
    """Yield the URLs of a large and a small database; create them if they do not exist."""
    sizes = {
        "identities": ROWS,
        "applications": APPLICATION_COUNT,
        "access_requests": ROWS,
        "personnel_events": ROWS // 5,
        "application_imports": ROWS // 20,
        "access_models": 1,
        "access_model_members": ROWS // 10,
        "accounts": ROWS // 10,
    }
    small = {**dict.fromkeys(sizes, SMALL), "applications": APPLICATION_COUNT, "access_models": 1}
    with _server() as server:
        yield {"big": _made(server, f"big_{ROWS}", sizes), "small": _made(server, "small", small)}


@contextmanager
def company_of(**sizes: int) -> Iterator[str]:
    """Yield the URL of a temporary database of these sizes, which a benchmark may change; drop it at the end."""
    name = f"own_{os.getpid()}_{sizes['identities']}"
    with _server() as server:
        yield _made(server, name, sizes)
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def measure(run: Callable[[str, int], Coroutine[Any, Any, bool]], about: str | None) -> NoReturn:
    """Run a benchmark on a company of `--rows` identities, and exit with MISSED if it does not meet its bars."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000)
    rows = options.parse_args().rows
    with company_of(identities=rows, applications=10) as url:
        sys.exit(0 if asyncio.run(run(url, rows)) else MISSED)


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as unkept, embedded(Path(os.environ.get(FOLDER) or unkept)) as server:
        yield server


def _made(server: str, name: str, sizes: dict[str, int]) -> str:
    url = _named(server, name)
    with psycopg.connect(server, autocommit=True) as db:
        if db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            return url
        # An interrupted run may have left this database.
        db.execute(f"DROP DATABASE IF EXISTS {name}_new")
        db.execute(f"CREATE DATABASE {name}_new")
    fresh = _named(server, f"{name}_new")
    migrate(fresh)
    started = time.perf_counter()
    seconds = seed(fresh, sizes)
    said = ", ".join(f"{table} {each:.0f} s" for table, each in seconds.items() if each >= 1)
    print(f"made {name} in {time.perf_counter() - started:.0f} s {said and f'({said})'}", flush=True)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {name}_new RENAME TO {name}")
    return url


def _named(server: str, database: str) -> str:
    return server.replace(f"/{DATABASE}?", f"/{database}?")


def seed(url: str, sizes: dict[str, int]) -> dict[str, float]:
    """Fill an empty database and compute the totals of its lists; return the seconds that each table took."""
    with ThreadPoolExecutor(len(TABLES)) as pool:
        filled = list(pool.map(lambda tables: fill(url, tables, sizes), TABLES))
        # Start when all tables are filled: an open transaction would prevent VACUUM from marking pages all-visible.
        counted = list(pool.map(lambda tables: count(url, tables), TABLES))
    return {
        table: seconds + after[table]
        for before, after in zip(filled, counted, strict=True)
        for table, seconds in before.items()
    }


def fill(url: str, tables: dict[str, str], sizes: dict[str, int]) -> dict[str, float]:
    """Fill these tables in order; return the seconds of each.

    A statement can use the names in `sizes` as placeholders; `{rows}` is the size of its own table.
    """
    seconds = {}
    with _connection(url) as db:
        db.execute(_FUNCTIONS)
        for table, insert in tables.items():
            started = time.perf_counter()
            with _nothing_but_rows(db, table):
                db.execute(insert.format(rows=sizes.get(table, 0), **sizes))
            seconds[table] = time.perf_counter() - started
    return seconds


def count(url: str, tables: Iterable[str]) -> dict[str, float]:
    """Vacuum these tables and compute the totals of those that are lists; return the seconds of each."""
    seconds = {}
    with _connection(url) as db:
        for table in tables:
            started = time.perf_counter()
            db.execute(f"VACUUM ANALYZE {table}")
            if table in LISTINGS:
                db.execute("SELECT recount_list(%s, %s)", (table, list(LISTINGS[table].facets)))
            seconds[table] = time.perf_counter() - started
    return seconds


def _connection(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, options="-c timezone=UTC -c maintenance_work_mem=256MB")


@contextmanager
def _nothing_but_rows(db: psycopg.Connection, table: str) -> Iterator[None]:
    """Disable triggers and foreign keys during bulk inserts, and create the indexes at the end, to save time."""
    indexes = db.execute(
        """SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s
           AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass)""",
        (table, table),
    ).fetchall()
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    db.execute("SET session_replication_role = replica")
    yield
    db.execute("SET session_replication_role = DEFAULT")
    for _, definition in indexes:
        db.execute(definition)


if __name__ == "__main__":
    with company() as urls:
        print(*urls.values(), sep="\n")
