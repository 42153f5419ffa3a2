"""Plant each bug in a copy of the tree and check that its row of the battery fails (`make battery-planted`).

A row that passes in spite of its bug proves nothing.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.battery.__main__ import REPOSITORY, run
from tests.battery.rows import ROWS, Settings

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".rolecall", "__pycache__", ".*_cache", ".hypothesis", ".schemathesis"
)


class Bug(msgspec.Struct, frozen=True):
    row: str
    name: str
    file: str
    right: str
    wrong: str
    settings: Settings = {}


BUGS = [
    Bug(
        "kill",
        "a commit is acknowledged before it is on disk",
        "core/db.py",
        '"synchronous_commit": "on"',
        '"synchronous_commit": "off"',
        {"ROLECALL_KILL_CYCLES": "15"},
    ),
    Bug(
        "faults",
        "the response is sent before the commit",
        "web/operations.py",
        """                await idempotency.keep_answer(db, key, spec.status, None if spec.secret else answer)
    if spec.delay_seconds:
        await asyncio.sleep(spec.delay_seconds)
    return Answer(spec.status, answer)
""",
        """                await idempotency.keep_answer(db, key, spec.status, None if spec.secret else answer)
            await Answer(spec.status, answer)(request.scope, request.receive, request.send)
            await asyncio.sleep(0.05)
    return lambda *_: asyncio.sleep(0)
""",
        {"ROLECALL_FAULT_POINTS": "request.before", "ROLECALL_FAULT_TIMES": "5"},
    ),
    Bug(
        "hosts",
        "a lost database connection is reported as a crash instead of an outage",
        "web/errors.py",
        "    OperationalError: answer_outage,",
        "    OperationalError: answer_crash,",
    ),
    Bug(
        "documents",
        "a page uses the old name of an option",
        "cli/evidence.py",
        '@click.option("--as-of"',
        '@click.option("--at", "as_of"',
    ),
    Bug(
        "screens",
        "text has too little contrast in dark mode",
        "console/static/console.css",
        "--quiet: light-dark(#566072, #9aa5b6)",
        "--quiet: light-dark(#566072, #4a5466)",
    ),
    Bug(
        "upkeep",
        "a backup leaves out the webhooks",
        "operate/backup.py",
        'run(url, "pg_dump", "--format=custom", ',
        'run(url, "pg_dump", "--format=custom", "--exclude-table-data=webhooks", ',
    ),
    Bug(
        "imports",
        "changed rows also count as removed",
        "application_imports/changes.py",
        '"r.until_import = {n:d} AND coalesce(o.from_import, 0) < 1"',
        '"r.until_import = {n:d}"',
    ),
    Bug(
        "imports",
        "an import writes outside of a transaction",
        "application_imports/run/build.py",
        'async with written_by(db, "import-build", by_system("run_import", clock.now(), bulk=True)):',
        "if True:",
    ),
    Bug(
        "model",
        "a completed request can be assigned",
        "access_requests/model.py",
        'ASSIGN = Move("Assigned", "The request was assigned", _NOT_DONE, None',
        'ASSIGN = Move("Assigned", "The request was assigned", frozenset(WorkStatus), None',
        {"ROLECALL_MODEL_CALLS": "1000"},
    ),
    Bug(
        "schemathesis",
        "JSON that is not an object causes a crash",
        "web/bodies.py",
        "    if not isinstance(raw, dict):\n",
        "    if raw is None:\n",
        {"ROLECALL_SCHEMATHESIS": "ci"},
    ),
    Bug(
        "fuzz",
        "a form that cannot be parsed causes a crash",
        "web/uploads.py",
        "except MultipartError:",
        "except ZeroDivisionError:",
        {"ROLECALL_FUZZ_CASES": "2000"},
    ),
    Bug(
        "deliveries",
        "a failed delivery counts as delivered",
        "webhooks/outgoing.py",
        "delivered = 200 <= answer.status < 300",
        "delivered = 200 <= answer.status < 600",
    ),
    Bug(
        "notifications",
        "people are notified of finished work",
        "notifications/outbox.py",
        "each.id in about and about[each.id].is_current and",
        "each.id in about and",
    ),
    Bug(
        "carriers",
        "a step whose response was lost is refused when it is repeated",
        "carriers/ldap.py",
        "            return ALREADY_MEMBER\n",
        "            raise CannotCarryOut(ALREADY_MEMBER) from None\n",
    ),
    Bug(
        "lake",
        "rows of transactions that were running at the last sync are missed",
        "lake/sync.py",
        "pg_snapshot_xmin(",
        "pg_snapshot_xmax(",
    ),
    Bug(
        "reviews",
        "the items of a review are committed before the review is open",
        "reviews/actions.py",
        "    await opening.store_items(db, review, taken, now)\n",
        "    await opening.store_items(db, review, taken, now)\n"
        '    for statement in ("COMMIT", "SELECT pg_sleep(1)", "BEGIN"):\n'
        "        await execute(db, statement)\n",
        {"ROLECALL_REVIEW_KILLS": "12"},
    ),
    Bug(
        "tampering",
        "an entry after the head of its chain counts as written later",
        "audit/model.py",
        "elif row.number > self._ends[row.chain]:",
        "elif row.number > 2**62:",
    ),
    Bug(
        "tampering",
        "a stored head that no entry reaches is ignored",
        "evidence/verify.py",
        "    for missed in sorted(ends):\n",
        "    for missed in sorted(set(ends) - set(ends)):\n",
    ),
    Bug(
        "sources",
        "the client library follows redirects",
        "application_imports/run/http_source.py",
        "session.request(method, url, allow_redirects=False)",
        "session.request(method, url)",
    ),
    Bug(
        "sources",
        "only some errors of a source are reported as its failures",
        "application_imports/run/fetching.py",
        "    except source_errors() as error:\n        after =",
        "    except OSError as error:\n        after =",
    ),
    Bug(
        "hostile",
        "a path with NUL is passed to the routes",
        "web/edge.py",
        "    return is_storable(path) and all(",
        "    return all(",
    ),
    Bug(
        "hostile",
        "the header Via does not indicate a proxy",
        "operate/routes.py",
        '    "via",\n',
        "",
    ),
    Bug(
        "addresses",
        "the standard library decides which addresses are public",
        "core/address_check.py",
        "    if isinstance(plain, IPv4Address):\n        return any(plain in network for network in _DENIED_4)\n",
        "    if isinstance(plain, IPv4Address):\n        return not plain.is_global\n",
    ),
    Bug(
        "decisions",
        "two people can decide one request at once",
        "access_requests/actions.py",
        "SELECT status FROM access_requests WHERE id = %(id)s FOR UPDATE",
        "SELECT status FROM access_requests WHERE id = %(id)s",
    ),
    Bug(
        "decisions",
        "a result is written without the lease's token",
        "webhooks/outbox.py",
        "WHERE d.id = e.id AND d.lease = e.lease",
        "WHERE d.id = e.id",
    ),
    Bug(
        "soak",
        "every request leaks memory",
        "web/edge.py",
        "        started = time.perf_counter()\n",
        "        started = time.perf_counter()\n        self.__dict__[started] = str(started) * 200\n",
        {"ROLECALL_SOAK_SECONDS": "60"},
    ),
    Bug(
        "scopes",
        "any scope allows every route",
        "web/operations.py",
        'token.strip().decode("latin-1"), now)\n    caller.require(spec.scope)',
        'token.strip().decode("latin-1"), now)\n    caller.require(min(caller.scopes, default=""))',
    ),
]


def plant(bug: Bug, tree: Path) -> None:
    shutil.copytree(REPOSITORY, tree, ignore=LEFT_OUT)
    file = tree / "rolecall" / bug.file
    text = file.read_text()
    assert text.count(bug.right) == 1, f"{bug.file} has changed: {bug.name} cannot be planted"
    file.write_text(text.replace(bug.right, bug.wrong))


def main() -> int:
    rows = {row.name: row for row in ROWS}
    missed = 0
    for bug in BUGS:
        if sys.argv[1:] and bug.row not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory(prefix="rolecall-planted-") as folder:
            Path(folder).chmod(0o755)
            plant(bug, Path(folder) / "tree")
            result = run(rows[bug.row], (rows[bug.row].ci or {}) | bug.settings, Path(folder) / "tree")
        # Only a failed assertion detects the bug; a row that could not run does not.
        noticed = not result.passed and "AssertionError" in result.output
        missed += not noticed
        print(f"{'noticed' if noticed else 'MISSED '} {bug.row:<13} {result.seconds:4.0f} s  {bug.name}", flush=True)
        if not noticed:
            print(result.output[-3000:], flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
