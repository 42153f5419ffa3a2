"""Apply repeatable SQL: the functions, triggers and views of `rolecall/schema`, after the migrations.

A file is applied again when its digest differs from the one in the table `schema_files`. All such files are applied in
one transaction. The table also records which objects each file created, so that objects that no file creates any more
are dropped, and which version of the program applied them, so that an older program does not replace newer files.
"""

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.errors import DeadlockDetected, InsufficientPrivilege, LockNotAvailable

from rolecall import __version__
from rolecall.core.errors import CannotRun
from rolecall.core.faults import fault

FOLDER = Path(__file__).parent.parent / "schema"
# The packages in the order of their imports, lowest first: SQL may use functions of earlier files.
PACKAGES: tuple[str, ...] = (
    "constants",
    "core",
    "audit",
    "exports",
    "settings",
    "tokens",
    "identities",
    "applications",
    "accounts",
    "entitlements",
    "scim_server",
    "sources",
    "application_imports",
    "connector_templates",
    "duties",
    "access_models",
    "work_items",
    "stand_ins",
    "access_requests",
    "carriers",
    "conflicts",
    "reviews",
    "personnel_events",
    "webhooks",
    "reports",
    "notifications",
    "console",
)
# Files whose procedures create triggers on tables of other packages; a change in one of them reapplies every file.
_GENERATORS = ("core", "audit")
VERSION = [int(part) for part in re.findall(r"\d+", __version__)[:3]]

_TABLE = """CREATE TABLE IF NOT EXISTS schema_files (
    name text PRIMARY KEY, sha256 text NOT NULL, version int[] NOT NULL, objects text[] NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())"""
# Creating or replacing an object writes its row in the catalog, so the row has the id of this transaction.
_MADE = """
    SELECT o.type || ' ' || o.identity FROM (
        SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE xmin = pg_current_xact_id()::xid
        UNION SELECT 'pg_trigger'::regclass, oid FROM pg_trigger
              WHERE xmin = pg_current_xact_id()::xid AND NOT tgisinternal
        UNION SELECT 'pg_class'::regclass, ev_class FROM pg_rewrite WHERE xmin = pg_current_xact_id()::xid
    ) AS made (class, id) CROSS JOIN LATERAL pg_identify_object(class, id, 0) AS o ORDER BY 1"""
# This is shorter than PostgreSQL's deadlock_timeout, so that in a deadlock with a running service, this transaction
# fails and is retried.
_LOCK_TIMEOUT = "250ms"
_PAUSE_SECONDS = 1.0


class MigrationError(CannotRun):
    pass


def digests() -> dict[str, str]:
    """Map the name of each file to its digest, in the order in which the files are applied.

    Each digest also covers the files in `_GENERATORS`.
    """
    texts = {package: _path(package).read_bytes() for package in PACKAGES}
    shared = hashlib.sha256(b"".join(texts.get(package, b"") for package in _GENERATORS))
    return {f"schema/{package}.sql": _continued(shared, text) for package, text in texts.items()}


def _continued(digest: "hashlib._Hash", text: bytes) -> str:
    further = digest.copy()
    further.update(text)
    return further.hexdigest()


def apply(db: psycopg.Connection, names: Sequence[str]) -> None:
    """Apply these files and drop objects that no file creates any more. Retry while tables are locked."""
    while True:
        try:
            with db.transaction():
                db.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
                _apply_all(db, names)
                fault("schema.before-commit")
        except (LockNotAvailable, DeadlockDetected):
            time.sleep(_PAUSE_SECONDS)
        else:
            fault("schema.after-commit")
            return


def make_table(db: psycopg.Connection) -> None:
    db.execute(_TABLE)


def _apply_all(db: psycopg.Connection, names: Sequence[str]) -> None:
    known = digests()
    before = _recorded(db)
    made = set[str]()
    for name in (name for name in known if name in names):
        sql = _path(Path(name).stem).read_bytes()
        with naming(name, sql):
            db.execute(sql)
        objects = [object for (object,) in db.execute(_MADE.encode()).fetchall() if object not in made]
        made.update(objects)
        db.execute(
            """INSERT INTO schema_files (name, sha256, version, objects) VALUES (%s, %s, %s, %s)
               ON CONFLICT (name)
               DO UPDATE SET sha256 = EXCLUDED.sha256, objects = EXCLUDED.objects, applied_at = now()""",
            (name, known[name], VERSION, objects),
        )
    db.execute("DELETE FROM schema_files WHERE name <> ALL(%s)", (list(known),))
    db.execute("UPDATE schema_files SET version = %s", (VERSION,))
    _drop(db, before - _recorded(db))


def _recorded(db: psycopg.Connection) -> set[str]:
    return {object for (object,) in db.execute("SELECT unnest(objects) FROM schema_files").fetchall()}


def _drop(db: psycopg.Connection, objects: set[str]) -> None:
    """Drop objects, dependent objects first. Do not use CASCADE: dropping an object still in use must fail."""
    drops = [
        f"DROP {kind} IF EXISTS {object.removeprefix(f'{kind} ')}"
        for kind in ("trigger", "view")
        for object in sorted(objects)
        if object.startswith(f"{kind} ")
    ]
    routines = sorted(object.partition(" ")[2] for object in objects if object.startswith(("function ", "procedure ")))
    if routines:
        # Use one statement, because the functions may depend on each other.
        drops.append(f"DROP ROUTINE IF EXISTS {', '.join(routines)}")
    for drop in drops:
        with naming(drop, b""):
            db.execute(drop.encode())


@contextmanager
def naming(name: str, sql: bytes) -> Iterator[None]:
    """Add file and line to SQL errors. Connection, lock and permission errors pass unchanged."""
    try:
        yield
    except (psycopg.OperationalError, InsufficientPrivilege):
        raise
    except psycopg.Error as error:
        position = error.diag.statement_position
        line = f", line {sql.decode()[: int(position)].count(chr(10)) + 1}" if position else ""
        said = error.diag.message_primary or str(error)
        raise MigrationError(f"{name}{line}: {said}; its transaction was rolled back") from error


def _path(package: str) -> Path:
    return FOLDER / f"{package}.sql"
