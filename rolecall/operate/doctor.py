"""What is wrong with a service, and what to do about each: `docs/operating.md` has the same words at more length."""

import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

import msgspec

from rolecall.application_imports.queries import failing_schedules
from rolecall.audit import queries as audit
from rolecall.core import clock, migrate
from rolecall.core.config import MIB, Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.heartbeat import some_worker_lives
from rolecall.core.sealing import KEY_FILE

MOST_SKEW = timedelta(seconds=5)
LEAST_FREE_PERCENT, LEAST_FREE_BYTES = 10, 1024 * MIB
MOST_UNMATCHED_PERCENT = 10
_NAMED = 5


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    TROUBLE = "trouble"


class Finding(msgspec.Struct, frozen=True):
    """`advice` is empty when all is well."""

    check: str
    state: State
    detail: str
    advice: str = ""


def _fine(check: str, detail: str) -> Finding:
    return Finding(check, State.OK, detail)


def _trouble(check: str, detail: str, advice: str) -> Finding:
    return Finding(check, State.TROUBLE, detail, advice)


async def examine(db: Db, config: Config) -> list[Finding]:
    """The checks that need tables come last, and only where the tables are those of this version."""
    findings = [await _clock(db)]
    if config.data_dir.exists():
        findings += [*_disk(config.data_dir), *_permissions(config)]
    findings.append(version := await _version(db))
    if version.state is State.OK:
        findings += [await check(db) for check in _CHECKS]
    return findings


def out_of_reach(error: Exception) -> Finding:
    return _trouble(
        "database",
        f"out of reach: {' '.join(str(error).split())}",
        "start it, and look at ROLECALL_DATABASE_URL and the network between",
    )


async def _version(db: Db) -> Finding:
    behind, ahead = await migrate.differences(db)
    if ahead:
        return _trouble(
            "migrations", f"the database is newer than this program: it has {_some(ahead)}", "run the newer program"
        )
    if behind:
        return _trouble(
            "migrations",
            f"{len(behind)} not applied: {_some(behind)}",
            "run `rolecall migrate`, or start `rolecall serve`",
        )
    return _fine("migrations", "the database is at this version")


async def _worker(db: Db) -> Finding:
    if await some_worker_lives(db):
        return _fine("worker", "a worker showed a sign of life within 20 s")
    return _trouble(
        "worker",
        "no worker has shown a sign of life within 20 s: nothing is imported, delivered or opened",
        "start `rolecall serve`, or `rolecall worker`; its log says why it left",
    )


async def _clock(db: Db) -> Finding:
    before = clock.now()
    there: datetime = await fetch_value(db, "SELECT clock_timestamp()")
    here = before + (clock.now() - before) / 2
    skew = abs(here - there)
    seconds = f"{skew.total_seconds():.1f} s"
    if skew <= MOST_SKEW:
        return _fine("clock", f"{seconds} from the database's")
    return _trouble("clock", f"this machine and the database are {seconds} apart", "let NTP set both clocks")


def _disk(folder: Path) -> Iterator[Finding]:
    usage = shutil.disk_usage(folder)
    percent = 100 * usage.free // usage.total
    detail = f"{percent} % free ({usage.free // MIB:,} MiB) under {folder}"
    if percent >= LEAST_FREE_PERCENT and usage.free >= LEAST_FREE_BYTES:
        yield _fine("disk", detail)
    else:
        state = State.TROUBLE if usage.free < LEAST_FREE_BYTES else State.WARNING
        yield Finding("disk", state, detail, "make room or give it a larger disk; a full disk stops every write")


def _permissions(config: Config) -> Iterator[Finding]:
    """What others must not read: the database, the files, the key."""
    problems = []
    for name, most in (("postgres", 0o700), ("files", 0o700), (KEY_FILE, 0o600)):
        path = config.data_dir / name
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & ~most:
            problems.append(_trouble("permissions", f"{path} has mode {mode:o}", f"run `chmod {most:o} {path}`"))
    if stat.S_IMODE(config.data_dir.stat().st_mode) & stat.S_IWOTH:
        problems.append(
            _trouble("permissions", f"anyone may write to {config.data_dir}", "take that right away: chmod o-w")
        )
    if not os.access(config.data_dir, os.W_OK):
        problems.append(_trouble("permissions", f"{config.data_dir} cannot be written", "run as the user who owns it"))
    yield from problems or [_fine("permissions", f"only its owner reads what is in {config.data_dir}")]


async def _hooks(db: Db) -> Finding:
    rows = await fetch_rows(
        db,
        """SELECT name FROM webhooks WHERE deleted_on IS NULL
           AND (disabled_reason IS NOT NULL OR enabled AND failing_since < now() - interval '10 minutes')
           ORDER BY name""",
    )
    if not rows:
        return _fine("webhooks", "none is failing")
    return _trouble(
        "webhooks",
        f"failing or disabled by the service: {_some([name for (name,) in rows])}",
        "look at the attempts (`rolecall delivery list`), mend the receiver, enable the hook, recover what is parked",
    )


async def _held_imports(db: Db) -> Finding:
    rows = await fetch_rows(
        db,
        """SELECT a.name || ' #' || i.number FROM import_runs r JOIN application_imports i ON i.id = r.import_id
           JOIN applications a ON a.id = i.application_id
           WHERE r.held IS NOT NULL AND i.status = 'Running' ORDER BY i.number""",
    )
    if not rows:
        return _fine("held imports", "the guard holds none")
    return _trouble(
        "held imports",
        f"the guard holds {_some([name for (name,) in rows])}",
        "look at what it would change; continue it if that is meant, cancel it if the file is wrong",
    )


async def _failing_imports(db: Db) -> Finding:
    failing = [schedule.name for schedule in await failing_schedules(db)]
    if not failing:
        return _fine("scheduled imports", "none failed three times in a row")
    return _trouble(
        "scheduled imports",
        f"failed three times in a row: {_some(failing)}",
        "the last line of the import's log says which file and line (`rolecall import log`)",
    )


async def _unmatched(db: Db) -> Finding:
    rows = await fetch_rows(
        db,
        """SELECT count(*), count(*) FILTER (WHERE a.match IN ('Unmatched', 'Disputed'))
           FROM accounts a JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL""",
    )
    total, unmatched = rows[0]
    percent = 100 * unmatched / total if total else 0
    detail = f"{unmatched:,} of {total:,} accounts belong to nobody known ({percent:.0f} %)"
    if percent <= MOST_UNMATCHED_PERCENT:
        return _fine("unmatched accounts", detail)
    return Finding(
        "unmatched accounts",
        State.WARNING,
        detail,
        "give the users file an employee id or e-mail column, or pin accounts one by one in the console",
    )


async def _audit(db: Db) -> Finding:
    verdict = await audit.verify(db)
    if verdict.broken is None:
        return _fine("audit", f"all {verdict.count:,} entries fit")
    return _trouble(
        "audit",
        f"entry {verdict.broken.number} is the first that does not fit: {verdict.broken.reason}",
        "somebody wrote to the database past the program: keep it as it is, and compare it with a backup",
    )


_CHECKS: list[Callable[[Db], Awaitable[Finding]]] = [
    _worker,
    _hooks,
    _held_imports,
    _failing_imports,
    _unmatched,
    _audit,
]


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
