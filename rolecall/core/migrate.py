"""Numbered SQL files, each applied once, under one lock."""

import hashlib
from pathlib import Path

import psycopg

from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import CannotRun
from rolecall.core.faults import fault

FOLDER = Path(__file__).parent.parent / "migrations"
# The schema where a restore keeps what it replaces until all has come.
ASIDE = "rolecall_replaced"
INTERRUPTED = (
    "a restore is under way or was interrupted; if nobody restores, do it again,"
    " or run `rolecall migrate` to have back what was there before"
)
_LOCK = int.from_bytes(b"rolecall", "big") >> 1


class MigrationError(CannotRun):
    pass


def migrate(url: str) -> list[str]:
    """Bring the database to this version; the names of what was applied."""
    with psycopg.connect(url, autocommit=True) as db:
        wait_turn(db)
        return _apply(db)


def wait_turn(db: psycopg.Connection) -> None:
    """One at a time changes what tables there are, until its connection ends."""
    db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))


async def is_current(db: Db) -> bool:
    """A schema of the next version is: migrations add, so that processes are replaced one by one."""
    applied = await fetch_rows(db, "SELECT name FROM migrations")
    return {name for (name,) in applied} >= {file.name for file in _files()}


async def differences(db: Db) -> tuple[list[str], list[str]]:
    """What this program has and the database has not, and the other way round."""
    exists = await fetch_rows(db, "SELECT to_regclass('migrations')")
    rows = await fetch_rows(db, "SELECT name FROM migrations") if exists[0][0] else []
    applied, known = {name for (name,) in rows}, {file.name for file in _files()}
    return sorted(known - applied), sorted(applied - known)


def check(url: str) -> None:
    """For commands that find a database and must not make or change one; raises unless it is at this version."""
    with psycopg.connect(url, autocommit=True) as db:
        if is_set_aside(db):
            raise MigrationError(INTERRUPTED)
        applied, todo = _applied(db), pending(db)
    if not applied:
        raise MigrationError("the database is empty; `rolecall serve` or `rolecall migrate` makes one in it")
    if todo:
        raise MigrationError(
            f"the database is older than this program: it lacks {', '.join(file.name for file in todo)};"
            " run `rolecall migrate`, or start `rolecall serve`"
        )


def is_set_aside(db: psycopg.Connection) -> bool:
    """Whether a restore has not ended."""
    return db.execute("SELECT to_regnamespace(%s)", (ASIDE,)).fetchone() != (None,)


def is_new(applied: list[str]) -> bool:
    """Of what `migrate` applied: whether there was nothing before."""
    return applied[:1] == [file.name for file in _files()[:1]]


def pending(db: psycopg.Connection) -> list[Path]:
    applied, files = _applied(db), _files()
    for file in files:
        if applied.get(file.name, _digest(file)) != _digest(file):
            raise MigrationError(f"{file.name} was changed after it was applied; add a new migration instead")
    if unknown := applied.keys() - {file.name for file in files}:
        raise MigrationError(
            f"the database is newer than this program: it has {', '.join(sorted(unknown))};"
            " run the newer program, or restore a backup from before"
        )
    return [file for file in files if file.name not in applied]


def _applied(db: psycopg.Connection) -> dict[str, str]:
    """Names and digests. Whoever finds all in place needs no right to create anything."""
    exists = db.execute("SELECT to_regclass('migrations')").fetchone() != (None,)
    return dict(db.execute("SELECT name, sha256 FROM migrations").fetchall()) if exists else {}


def _apply(db: psycopg.Connection) -> list[str]:
    todo = pending(db)
    if todo:
        db.execute(
            "CREATE TABLE IF NOT EXISTS migrations ("
            " name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    for file in todo:
        with db.transaction():
            db.execute(file.read_bytes())
            db.execute("INSERT INTO migrations (name, sha256) VALUES (%s, %s)", (file.name, _digest(file)))
            fault("migration.before-commit")
        fault("migration.after-commit")
    return [file.name for file in todo]


def _files() -> list[Path]:
    return sorted(FOLDER.glob("[0-9]*.sql"))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
