"""Bring a database to this version: numbered migrations, each applied once, then repeatable files (`core/schema.py`).

Both run under one lock, so that several processes may start at once. Migrations create tables and indexes, and move
data. They also create the few functions whose results are stored in columns or indexes. All other functions, triggers
and views are in `rolecall/schema`.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from rolecall.core import schema
from rolecall.core.db import Db, fetch_rows
from rolecall.core.faults import fault
from rolecall.core.schema import MigrationError

FOLDER = Path(__file__).parent.parent / "migrations"
# The schema to which a restore moves the old data until the new data is complete.
ASIDE = "rolecall_replaced"
INTERRUPTED = (
    "a restore is running or was interrupted; if none is running, repeat the restore,"
    " or run `rolecall migrate` to return to the earlier data"
)
_LOCK = int.from_bytes(b"rolecall", "big") >> 1
# The prefix of digests that ignore comments, so that comments can be corrected. Databases migrated by earlier versions
# have digests of whole files, which stay in the table and are not compared.
_OF_STATEMENTS = "statements:"
# Look for the tables instead of creating them, so that reading needs no privilege to create.
_FOUND = "SELECT relname FROM pg_class WHERE oid IN (to_regclass('migrations'), to_regclass('schema_files'))"
_READ = {
    "migrations": "SELECT name, sha256, NULL::int[] FROM migrations",
    "schema_files": "SELECT name, sha256, version FROM schema_files",
}


class Applied(msgspec.Struct, frozen=True):
    """The digests of the migrations and schema files applied to a database, and the version of the schema files."""

    migrations: dict[str, str]
    schema: dict[str, str]
    version: list[int]

    def ahead(self) -> list[str]:
        """Return what is newer than this program: the names of unknown migrations, and the version of schema files."""
        unknown = sorted(self.migrations.keys() - {file.name for file in _files()})
        newer = self.version > schema.VERSION
        return [*unknown, *([f"the functions of version {'.'.join(map(str, self.version))}"] if newer else [])]

    def behind(self) -> list[str]:
        """Return the names of files to apply, in order, and of schema files that no longer exist.

        If the database is ahead, return only migrations: the schema files of a newer program are kept.
        """
        missing = [file.name for file in _files() if file.name not in self.migrations]
        known = schema.digests()
        changed = [name for name, digest in known.items() if self.schema.get(name) != digest]
        return [*missing, *([] if self.ahead() else [*changed, *sorted(self.schema.keys() - known.keys())])]


def migrate(url: str) -> list[str]:
    """Bring the database to this version; return the names of the applied migrations and schema files."""
    with psycopg.connect(url, autocommit=True) as db:
        lock_migrations(db)
        return _apply(db)


def lock_migrations(db: psycopg.Connection) -> None:
    """Prevent other migrations and restores until the connection is closed."""
    db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))


async def is_current(db: Db) -> bool:
    """Return whether the database is not older than this program.

    A newer schema is fine, because a migration keeps the columns that the previous version uses (docs/upgrading.md).
    """
    behind, _ = await differences(db)
    return not behind


async def differences(db: Db) -> tuple[list[str], list[str]]:
    """Return what is still to be applied (`behind`), and what only a newer program has (`ahead`)."""
    found = await fetch_rows(db, _FOUND)
    applied = _from_rows(await fetch_rows(db, _read(found)) if found else [])
    return applied.behind(), applied.ahead()


def check(url: str) -> None:
    """Raise unless the database is at this version; for commands that must not create or migrate a database."""
    with psycopg.connect(url, autocommit=True) as db:
        if is_set_aside(db):
            raise MigrationError(INTERRUPTED)
        applied, todo = read_applied(db), pending(db)
    if not applied.migrations:
        raise MigrationError("the database is empty; run `rolecall serve` or `rolecall migrate` to create the tables")
    if todo:
        raise MigrationError(
            f"the database is older than this program: it lacks {', '.join(todo)};"
            " run `rolecall migrate`, or start `rolecall serve`"
        )


def is_set_aside(db: psycopg.Connection) -> bool:
    """Return whether old data is set aside, because a restore is running or was interrupted."""
    return db.execute("SELECT to_regnamespace(%s)", (ASIDE,)).fetchone() != (None,)


def is_new(applied: list[str]) -> bool:
    """Return whether the database was empty before `migrate` applied the files with these names."""
    return applied[:1] == [file.name for file in _files()[:1]]


def pending(db: psycopg.Connection) -> list[str]:
    """Return the files that are not applied yet; raise if the database is newer or an applied migration was changed."""
    applied = read_applied(db)
    for file in _files():
        digest = applied.migrations.get(file.name, "")
        if digest.startswith(_OF_STATEMENTS) and digest != _digest(file):
            raise MigrationError(f"{file.name} was changed after it was applied; add a new migration instead")
    if ahead := applied.ahead():
        raise MigrationError(
            f"the database is newer than this program: it has {', '.join(ahead)};"
            " run the newer program, or restore a backup from before the upgrade"
        )
    return applied.behind()


def read_applied(db: psycopg.Connection) -> Applied:
    found = db.execute(_FOUND).fetchall()
    return _from_rows(db.execute(_read(found).encode()).fetchall() if found else [])


def _from_rows(rows: Sequence[Sequence[Any]]) -> Applied:
    return Applied(
        {name: digest for name, digest, version in rows if version is None},
        {name: digest for name, digest, version in rows if version is not None},
        max((version for _, _, version in rows if version is not None), default=[]),
    )


def _read(found: Sequence[Sequence[Any]]) -> str:
    return " UNION ALL ".join(_READ[name] for (name,) in found)


def _apply(db: psycopg.Connection) -> list[str]:
    todo = pending(db)
    if todo:
        db.execute(
            "CREATE TABLE IF NOT EXISTS migrations ("
            " name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        schema.make_table(db)
    files = [file for file in _files() if file.name in todo]
    for file in files:
        sql = file.read_bytes()
        with db.transaction(), schema.naming(file.name, sql):
            db.execute(sql)
            db.execute("INSERT INTO migrations (name, sha256) VALUES (%s, %s)", (file.name, _digest(file)))
            # Apply all schema files again: audit triggers list the columns of tables, which a migration may change.
            db.execute("UPDATE schema_files SET sha256 = ''")
            fault("migration.before-commit")
        fault("migration.after-commit")
    if names := [name for name in pending(db) if name.startswith("schema/")]:
        schema.apply(db, names)
    return [*(file.name for file in files), *names]


def _files() -> list[Path]:
    return sorted(FOLDER.glob("[0-9]*.sql"))


def _digest(file: Path) -> str:
    """Return a digest of the file without the lines that are comments."""
    lines = [line for line in file.read_bytes().splitlines() if not line.lstrip().startswith(b"--")]
    return _OF_STATEMENTS + hashlib.sha256(b"\n".join(lines)).hexdigest()
