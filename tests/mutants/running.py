"""Run tests against mutants: a pytest plugin that collects all tests once and forks a process for each mutant.

The fork replaces the code of a mutated function in place. It does the same with the value of a mutated constant, if its
own file uses that constant only in functions and other constants. Any other mutant runs on import, so the fork imports
the package again, which takes longer. Each run works in its own copy of the tree, which `__main__.py` makes. It writes
the mutated file there for processes that the tests start.
"""

import ast
import gc
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import psycopg
import pytest

from tests.mutants.reaching import evaluated_on_import

Job = dict[str, Any]
_FIRST = 6
_PURE = ("Listing", "frozenset", "history_of", "json_rows")
_clock = int(time.time())


def pytest_runtestloop(session: pytest.Session) -> bool:
    items = {item.nodeid: item for item in session.items}
    functions = _functions()
    _build_service()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    killers: dict[str, Counter[str]] = defaultdict(Counter)
    work, out = Path(os.environ["ROLECALL_MUTANTS_WORK"]), Path(os.environ["ROLECALL_MUTANTS_RESULTS"])
    for line in work.read_text().splitlines():
        job = json.loads(line)
        known, near = killers[f"{job['file']} {job['function']}"], killers[job["file"]]
        job["tests"].sort(key=_order(job["first"], known, near))
        started = time.monotonic()
        verdict, killer = _judge(job, session, items, functions)
        known[killer] += 1
        near[killer] += 1
        seconds = round(time.monotonic() - started, 2)
        with out.open("a") as results:
            results.write(json.dumps({"id": job["id"], "verdict": verdict, "by": killer, "seconds": seconds}) + "\n")
    return True


def _order(first: str, known: Counter[str], near: Counter[str]) -> Callable[[str], tuple[bool, int, int]]:
    """Return a sort key: first the test that detected this mutant before, then tests that detected nearby mutants."""
    return lambda test: (test != first, -known[test], -near[test])


def _functions() -> dict[str, list[FunctionType]]:
    """Return every function object of the service, including wrapped functions, for each file."""
    found = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(str(Path.cwd() / "rolecall")):
            found[thing.__code__.co_filename].append(thing)
    return found


def _build_service() -> None:
    """Build the routes once instead of once per mutant."""
    asgi = sys.modules["tests.asgi"]
    asgi._idle.extend([asgi.build(), asgi.build()])


def _judge(
    job: Job, session: pytest.Session, items: dict[str, pytest.Item], functions: dict[str, list[FunctionType]]
) -> tuple[str, str]:
    file = Path.cwd() / job["file"]
    original = file.read_bytes()
    source = original[: job["start"]] + job["text"].encode() + original[job["end"] :]
    reader, writer = os.pipe()
    _write(file, source)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        with Path(os.environ["ROLECALL_MUTANTS_LOG"]).open("ab", 0) as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if not job["on_import"]:
                _swap(source, file, functions)
            if not job["on_import"] or (job["in_place"] and _rebind(source, file, job["line"])):
                code = _run_items(session, [items[test] for test in job["tests"]], writer)
            else:
                code = _run_again(job["tests"], writer)
        finally:
            os._exit(code)
    os.close(writer)
    verdict = _wait(child, job["limit"])
    with os.fdopen(reader) as said:
        killer = said.read() or "import"
    _write(file, original)
    if verdict == "timeout":
        _renew_database()
    return verdict, killer if verdict == "killed" else ""


def _write(file: Path, source: bytes) -> None:
    """Write the file with a new modification time in whole seconds, so that Python compiles it again."""
    global _clock  # noqa: PLW0603
    _clock += 1
    file.write_bytes(source)
    os.utime(file, (_clock, _clock))


def _wait(child: int, limit: float) -> str:
    end = time.monotonic() + limit
    verdict = "timeout"
    try:
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                verdict = "survived" if status == 0 else "killed"
                break
            time.sleep(0.01)
    finally:
        # Also stop processes that the tests started, even if the run is interrupted.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    if verdict == "timeout":
        os.waitpid(child, 0)
    return verdict


def _renew_database() -> None:
    """Replace the test database, because a killed process may have left it locked."""
    name = os.environ["ROLECALL_TEST_DATABASE"]
    with psycopg.connect(os.environ["ROLECALL_TEST_DATABASE_URL"], autocommit=True) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")
        db.execute(f"CREATE DATABASE {name} TEMPLATE rolecall_template")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _swap(source: bytes, file: Path, functions: dict[str, list[FunctionType]]) -> None:
    """Replace the code of every function of the file with the code from the source."""
    changed = {_place(code): code for code in _codes(compile(source, str(file), "exec", dont_inherit=True))}
    for function in functions[str(file)]:
        if code := changed.get(_place(function.__code__)):
            function.__code__ = code


def _rebind(source: bytes, file: Path, line: int) -> bool:
    """Re-evaluate a constant and the constants of its file that depend on it, and replace them in all modules.

    Return False if other code of the file uses them on import.
    """
    (module,) = [each for each in [*sys.modules.values()] if getattr(each, "__file__", None) == str(file)]
    statements = constants_after(ast.parse(source).body, line)
    if not statements:
        return False
    old, new = vars(module).copy(), vars(module).copy()
    exec(compile(ast.Module(statements, []), str(file), "exec", dont_inherit=True), new)
    for name in [name for name in old if new[name] is not old[name]]:
        for other in [module] if name.startswith("_") else [*sys.modules.values()]:
            if vars(other).get(name) is old[name]:
                setattr(other, name, new[name])
    return True


def constants_after(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """Return the constant on this line and the constants that depend on it; [] if other code uses them on import."""
    found: list[ast.stmt] = []
    changed: set[str] = set()
    for statement in body:
        is_on_line = statement.lineno <= line <= (statement.end_lineno or 0)
        if not is_on_line and not changed & evaluated_on_import(statement):
            continue
        if not _is_constant(statement):
            return []
        found.append(statement)
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        changed |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return found


def _is_constant(statement: ast.stmt) -> bool:
    """Return whether evaluating the assignment again has no side effect."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    if isinstance(statement.value, ast.JoinedStr):
        return True
    called = [node.func for node in ast.walk(statement.value) if isinstance(node, ast.Call)]
    return all(isinstance(function, ast.Name) and function.id in _PURE for function in called)


def _place(code: CodeType) -> tuple[str, int, tuple[str, ...]]:
    return code.co_qualname, code.co_firstlineno, code.co_freevars


def _run_items(session: pytest.Session, items: list[pytest.Item], said: int) -> int:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            os.write(said, item.nodeid.encode())
            return 1
    return 0


class _Teller:
    def __init__(self, said: int) -> None:
        self.said = said

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.said, report.nodeid.encode())
            os._exit(1)


def _run_again(tests: list[str], said: int) -> int:
    """Import the package and the tests again, and run the tests in two rounds.

    The first round has few tests: if one of them detects the mutant, the files of the others are not collected.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] in ("rolecall", "tests", "conftest")]:
        del sys.modules[name]
    for part in filter(None, (tests[:_FIRST], tests[_FIRST:])):
        if code := pytest.main(["-n", "0", "-x", "-q", "-s", "-p", "no:cacheprovider", *part], plugins=[_Teller(said)]):
            return code
    return 0
