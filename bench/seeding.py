"""A company of any size, the same every time: rows are made in SQL from their number alone."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from rolecall.access_requests.queries import ACCESS_REQUESTS
from rolecall.application_imports.queries import IMPORTS
from rolecall.applications.queries import APPLICATIONS
from rolecall.core.migrate import migrate
from rolecall.core.paging import Listing
from rolecall.core.postgres import DATABASE, embedded
from rolecall.identities.queries import IDENTITIES
from rolecall.personnel_events.queries import EVENTS

# Where the company is kept for the next benchmark, and how large it is.
FOLDER = "ROLECALL_BENCH_FOLDER"
ROWS = int(os.environ.get("ROLECALL_BENCH_ROWS", "1000000"))
SMALL = 10_000
APPLICATION_COUNT = 40

LISTINGS: dict[str, Listing[Any]] = {
    listing.table: listing for listing in (IDENTITIES, APPLICATIONS, ACCESS_REQUESTS, EVENTS, IMPORTS)
}
# Pseudo-random and repeatable: the same number and salt give the same value below `range`.
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
           date_trunc('day', timestamptz '2020-01-01' + n * (interval '7 years' / {rows}))
    FROM generate_series(1, {rows}) AS n, LATERAL (SELECT pg_temp.pick('event', n, 100)::int AS pick) AS made
"""
_IMPORTS = """
    INSERT INTO application_imports (id, application_id, type, status, created_by, created_at, build_start, build_end)
    SELECT pg_temp.id_of('import', n),
           pg_temp.id_of('application', 1 + pg_temp.pick('import', n, {applications})), 'API',
           CASE WHEN n > {rows} - 20 THEN 'Pending' ELSE 'Failed' END, 'API Token - bench', t,
           CASE WHEN n <= {rows} - 20 THEN t END, CASE WHEN n <= {rows} - 20 THEN t + interval '5 seconds' END
    FROM generate_series(1, {rows}) AS n,
         LATERAL (SELECT timestamptz '2020-01-01' + n * interval '1 hour' AS t) AS made
"""
TABLES = {
    "identities": _IDENTITIES,
    "applications": _APPLICATIONS,
    "access_requests": _REQUESTS,
    "personnel_events": _EVENTS,
    "application_imports": _IMPORTS,
}


@contextmanager
def company() -> Iterator[dict[str, str]]:
    """The URLs of a large database and of a small one, made unless they are there already."""
    sizes = {
        "identities": ROWS,
        "applications": APPLICATION_COUNT,
        "access_requests": ROWS,
        "personnel_events": ROWS // 5,
        "application_imports": ROWS // 20,
    }
    small = {**dict.fromkeys(sizes, SMALL), "applications": APPLICATION_COUNT}
    with tempfile.TemporaryDirectory() as unkept, embedded(Path(os.environ.get(FOLDER) or unkept)) as server:
        yield {"big": _made(server, f"big_{ROWS}", sizes), "small": _made(server, "small", small)}


def _made(server: str, name: str, sizes: dict[str, int]) -> str:
    url = _named(server, name)
    with psycopg.connect(server, autocommit=True) as db:
        if db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            return url
        db.execute(f"CREATE DATABASE {name}_new")
    fresh = _named(server, f"{name}_new")
    migrate(fresh)
    started = time.perf_counter()
    counted = seed(fresh, sizes)
    said = ", ".join(f"{sizes[table]:,} {table} in {seconds:.1f} s" for table, seconds in counted.items())
    print(f"made {name} in {time.perf_counter() - started:.0f} s; counted {said}", flush=True)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {name}_new RENAME TO {name}")
    return url


def _named(server: str, database: str) -> str:
    """A URL, as the rivals want it."""
    return server.replace(f"/{DATABASE}?", f"/{database}?")


def seed(url: str, sizes: dict[str, int]) -> dict[str, float]:
    """Fill an empty database and count its lists; the seconds that counting each took."""
    seconds = {}
    with psycopg.connect(url, autocommit=True, options="-c timezone=UTC -c maintenance_work_mem=256MB") as db:
        db.execute(_FUNCTIONS)
        for table, insert in TABLES.items():
            with _nothing_but_rows(db, table):
                db.execute(insert.format(rows=sizes[table], **{k: sizes[k] for k in ("identities", "applications")}))
            db.execute(f"VACUUM ANALYZE {table}")
            started = time.perf_counter()
            db.execute("SELECT recount_list(%s, %s)", (table, list(LISTINGS[table].facets)))
            seconds[table] = time.perf_counter() - started
    return seconds


@contextmanager
def _nothing_but_rows(db: psycopg.Connection, table: str) -> Iterator[None]:
    """No triggers, no foreign keys, and indexes made at the end: a million rows in seconds."""
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
