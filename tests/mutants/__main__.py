"""Plant small bugs (mutants) in the target files, one at a time, and list those that no test detects: `make mutants`.

ARGS="tokens audit/model" selects files whose path contains one of these words; `--sample 100` selects a fixed sample
of that size; `--survivors` selects the survivors of the last run; `--tests tests/tokens` uses only these tests;
`--seconds 20` limits the total time of the tests for each mutant, quick and specific tests first; `--processes 4` runs
four mutants at a time. Verdicts are stored, so a stopped run continues (`results.py` says how long they are valid).
`--again` ignores stored verdicts, `--kept` only lists them.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from rolecall.core.postgres import embedded
from tests.battery.planted import LEFT_OUT
from tests.conftest import TEMPLATE, collect_ignore, make_template
from tests.mutants.mutate import Mutant, mutants_of
from tests.mutants.reaching import FEWEST, Reach, Trace
from tests.mutants.results import KILLED, Result, Results
from tests.mutants.targets import TARGETS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".rolecall" / "mutants"
ACCEPTED = Path(__file__).parent / "accepted.toml"
KILLS = Path(__file__).parent / "kills.json"
GOAL = 95.0
_VERDICTS = (*KILLED, "survived", "untested", "accepted", "not judged")
_PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
_LEFT_OUT = ("tests/console/browser", "tests/battery", *(f"tests/{path}" for path in collect_ignore))


class Accepted(msgspec.Struct, frozen=True):
    """A mutant that may survive, and why; it is not run."""

    file: str
    before: str
    after: str
    reason: str
    function: str = ""


def accepted_mutants() -> dict[tuple[str, str, str, str], str]:
    entries = msgspec.convert(tomllib.loads(ACCEPTED.read_text()).get("accepted", []), list[Accepted])
    return {(entry.file, entry.function, entry.before, entry.after): entry.reason for entry in entries}


def all_mutants() -> list[Mutant]:
    return [mutant for file in TARGETS for mutant in mutants_of(file, (ROOT / file).read_bytes())]


@contextmanager
def a_server(folder: Path, processes: int) -> Iterator[str]:
    with embedded(folder / "server") as url:
        with psycopg.connect(url, autocommit=True) as db:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                db.execute(f"ALTER SYSTEM SET {setting} = off")
            db.execute("SELECT pg_reload_conf()")
            make_template(db, url)
            for number in range(processes):
                db.execute(f"CREATE DATABASE rolecall_mutants_{number} TEMPLATE {TEMPLATE}")
        yield url


def _environ(url: str, **settings: str) -> dict[str, str]:
    """Return the environment of a test process. It names an xdist worker, so that no template database is created."""
    return os.environ | {"ROLECALL_TEST_DATABASE_URL": url, "PYTEST_XDIST_WORKER": "gw1"} | settings


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in sorted(paths))).hexdigest()


def code_digest() -> str:
    return _digest([*(ROOT / "rolecall").rglob("*.py"), *(ROOT / "rolecall").rglob("*.sql")])[:12]


def trace(url: str, places: Sequence[str], processes: int) -> list[Trace]:
    """Return the traces of all tests; trace tests whose file has changed, or all tests if the service has changed."""
    kept = KEPT / "traces"
    code = code_digest()
    listed = [path for place in places for path in sorted((ROOT / place).rglob("test_*.py")) or [ROOT / place]]
    files = [path for path in listed if not str(path.relative_to(ROOT)).startswith(_LEFT_OUT)]
    kept.mkdir(parents=True, exist_ok=True)
    names = {str(path.relative_to(ROOT)): kept / f"{code}-{_digest([path])[:12]}.json" for path in files}
    missing = [name for name, stored in names.items() if not stored.exists()]
    if missing:
        print(f"Tracing {len(missing)} files of tests", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            environ = _environ(url, ROLECALL_MUTANTS_TRACE=folder)
            command = [*_PYTEST, "-p", "tests.mutants.tracing", "-n", str(processes), *missing]
            subprocess.run(command, cwd=ROOT, env=environ, check=False)
            found: dict[str, list[Trace]] = defaultdict(list)
            for out in Path(folder).glob("*.jsonl"):
                for each in msgspec.json.decode(b"[%s]" % b",".join(out.read_bytes().splitlines()), type=list[Trace]):
                    found[each.test.partition("::")[0]].append(each)
        # A test that fails without a mutant would seem to detect every mutant.
        failed = [each.test for traces in found.values() for each in traces if not each.passed]
        for name in missing:
            if not any(test.startswith(f"{name}::") for test in failed):
                names[name].write_bytes(msgspec.json.encode(found[name]))
        if failed:
            sys.exit("These tests fail without a mutant:\n" + "\n".join(failed))
    return [each for stored in names.values() for each in msgspec.json.decode(stored.read_bytes(), type=list[Trace])]


def judge(
    url: str, jobs: Sequence[tuple[Mutant, list[str]]], reach: Reach, results: Results, folder: Path, processes: int
) -> Iterator[Result]:
    """Run the tests of each mutant; store its verdict and yield it."""
    work: list[list[str]] = [[] for _ in range(processes)]
    for id, (mutant, chosen) in enumerate(jobs):
        limit = 20 + 4 * sum(reach.seconds[test] for test in chosen)
        before = results.killers.get(mutant.key, "")
        job = {"id": id, "tests": chosen, "limit": limit, "first": before} | msgspec.to_builtins(mutant)
        job["on_import"] = reach.runs_on_import(mutant)
        job["in_place"] = reach.is_only_in_its_file(mutant)
        work[id % processes].append(json.dumps(job))
    files = sorted({test.partition("::")[0] for _, chosen in jobs for test in chosen})
    busy = [(number, part) for number, part in enumerate(work) if part]
    runners = [_start(url, number, _unmutated(part[0]) + part, files, folder) for number, part in busy]
    try:
        for said in _results(runners):
            if said["id"] >= 0:
                mutant, chosen = jobs[said["id"]]
                yield results.add(mutant, chosen, said["verdict"], said["by"], said["seconds"])
            elif said["verdict"] != "survived":
                sys.exit(f"This test also fails without a mutant; fix it first: {said['by']}")
    finally:
        for runner, _ in runners:
            runner.terminate()
    require_results(folder, {number: len(part) + 2 for number, part in busy})


def require_results(folder: Path, expected: Mapping[int, int]) -> None:
    """Exit if a process wrote fewer results than expected, and print the last output of each such process."""
    early = [number for number, count in expected.items() if len(_lines(folder / f"{number}.results")) < count]
    for number in early:
        print(f"Process {number} ended early:", (folder / f"{number}.out").read_text()[-3000:], sep="\n")
    if early:
        sys.exit("A process ended early; its last output is above")


def _lines(results: Path) -> list[str]:
    """Return the complete lines of a file that might not exist yet."""
    return results.read_text().split("\n")[:-1] if results.exists() else []


def _results(runners: Sequence[tuple["subprocess.Popen[bytes]", Path]]) -> Iterator[dict[str, Any]]:
    """Yield the results that the processes write, until all processes have ended."""
    read: Counter[Path] = Counter()
    over = False
    while not over:
        over = all(runner.poll() is not None for runner, _ in runners)
        for _, results in runners:
            lines = _lines(results)
            yield from map(json.loads, lines[read[results] :])
            read[results] = len(lines)
        time.sleep(0.5)


def _unmutated(job: str) -> list[str]:
    """Return two jobs without a mutant, one for each way to run tests; their tests must pass."""
    same = json.loads(job)
    same |= {"id": -1, "tests": same["tests"][:3], "start": 0, "end": 0, "text": "", "in_place": False}
    return [json.dumps(same | {"on_import": on_import}) for on_import in (False, True)]


def _within(tests: Sequence[str], seconds: dict[str, float], most: float) -> Iterator[str]:
    """Yield the first tests up to a total time, but never fewer than ten, even on a slow machine."""
    spent = 0.0
    for count, test in enumerate(tests, 1):
        yield test
        spent += seconds[test]
        if spent > most and count >= FEWEST:
            break


def _start(
    url: str, number: int, work: list[str], files: list[str], folder: Path
) -> tuple["subprocess.Popen[bytes]", Path]:
    """Start a process that judges mutants in its own copy of the tree; return it and the file of its results."""
    tree, results = folder / f"tree{number}", folder / f"{number}.results"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    (folder / f"{number}.work").write_text("\n".join(work))
    environ = _environ(
        url,
        PYTHONPATH=str(tree),
        ROLECALL_TEST_DATABASE=f"rolecall_mutants_{number}",
        ROLECALL_MUTANTS_WORK=str(folder / f"{number}.work"),
        ROLECALL_MUTANTS_RESULTS=str(results),
        ROLECALL_MUTANTS_LOG=str(folder / f"{number}.log"),
    )
    command = [*_PYTEST, "-p", "tests.mutants.running", "-n", "0", "-s", *files]
    with (folder / f"{number}.out").open("wb") as out:
        return subprocess.Popen(command, cwd=tree, env=environ, stdout=out, stderr=subprocess.STDOUT), results


def report(mutants: Sequence[Mutant], results: Results) -> int:
    """Print the mutants that survived, and figures for each package; return 1 if the goal is missed."""
    accepted = accepted_mutants()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    lines = []
    for mutant in mutants:
        result = results.of(mutant)
        reason = accepted.get(mutant.key)
        verdict = "accepted" if reason else result.verdict if result else "not judged"
        package = mutant.file.removeprefix("rolecall/").partition("/")[0]
        for group in (package, "all"):
            counts[group][verdict] += 1
        if verdict not in (*KILLED, "not judged"):
            lines.append(f"{mutant.file}:{mutant.line} {mutant.function} {verdict}{f': {reason}' if reason else ''}")
            lines.append(f"    - {mutant.before}\n    + {mutant.after}")
    print("\n".join(lines))
    (KEPT / "survivors.txt").write_text("\n".join(lines))
    print(f"{'':<18} {'mutants':>10} {'% killed':>10}", *(f"{verdict:>10}" for verdict in _VERDICTS))
    for package, count in sorted(counts.items(), key=lambda each: (each[0] == "all", each[0])):
        figures = " ".join(f"{count[verdict]:>10}" for verdict in _VERDICTS)
        print(f"{package:<18} {count.total():>10} {_share(count):>10.1f} {figures}")
    return 0 if _share(counts["all"]) >= GOAL else 1


def _share(count: Counter[str]) -> float:
    return 100 * sum(count[verdict] for verdict in KILLED) / max(1, count.total())


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def choose(mutants: list[Mutant], asked: argparse.Namespace, results: Results) -> list[Mutant]:
    chosen = [mutant for mutant in mutants if not asked.words or any(word in mutant.file for word in asked.words)]
    if asked.survivors:
        alive = {key for key, result in results.last.items() if result.verdict not in KILLED}
        chosen = [mutant for mutant in chosen if (mutant.key, mutant.start) in alive]
    if asked.sample:
        chosen = random.Random(0).sample(chosen, min(asked.sample, len(chosen)))
    return chosen


def work(url: str, mutants: Sequence[Mutant], asked: argparse.Namespace, results: Results, folder: Path) -> None:
    reach = Reach(ROOT, trace(url, asked.tests, asked.processes))
    accepted = accepted_mutants()
    jobs = []
    for mutant in mutants:
        chosen = list(_within(reach.tests(mutant), reach.seconds, asked.seconds))
        if mutant.key in accepted or (not asked.again and results.known(mutant, chosen)):
            continue
        if chosen:
            jobs.append((mutant, chosen))
        else:
            results.add(mutant, chosen, "untested", "", 0)
    # Mutants of code that runs on import take longest, so they come last.
    jobs.sort(key=lambda job: reach.runs_on_import(job[0]))
    print(f"{len(jobs)} of {len(mutants)} mutants to judge", flush=True)
    started = time.monotonic()
    for count, _ in enumerate(judge(url, jobs, reach, results, folder, asked.processes) if jobs else (), 1):
        if count % 50 == 0:
            print(f"{count} of {len(jobs)}, {time.monotonic() - started:.0f} s", flush=True)


def main() -> int:
    asked = _asked()
    # On SIGTERM too, stop the database and the processes that were started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    planted = all_mutants()
    if stale := accepted_mutants().keys() - {mutant.key for mutant in planted}:
        sys.exit("\n".join(f"No such mutant: {key}" for key in sorted(stale)))
    KEPT.mkdir(parents=True, exist_ok=True)
    results = Results(ROOT, KEPT / "results.jsonl", KILLS, code_digest())
    mutants = choose(planted, asked, results)
    if not asked.kept:
        with ExitStack() as stack:
            made = tempfile.TemporaryDirectory(prefix="rolecall-mutants-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
            folder.chmod(0o755)
            stack.callback(results.share, planted)
            work(stack.enter_context(a_server(folder, asked.processes)), mutants, asked, results, folder)
    return report(mutants, results)


if __name__ == "__main__":
    sys.exit(main())
