"""`make mutants`: mutate the code that decides, one change at a time, and list mutants that no test detects.

ARGS="tokens audit/model" selects files by words in their path; `--sample 100` takes a fixed sample of that size;
`--survivors` repeats the survivors of the last run; `--tests tests/tokens` uses only tests in these places;
`--seconds 20` limits the tests of each mutant, quick and specific ones first.
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import psycopg

from rolecall.core.postgres import embedded
from tests.battery.planted import LEFT_OUT
from tests.conftest import TEMPLATE, make_template
from tests.mutants.mutate import Mutant, mutants_of
from tests.mutants.reaching import Reach, Trace
from tests.mutants.targets import TARGETS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".rolecall" / "mutants"
ACCEPTED = Path(__file__).parent / "accepted.toml"
PROCESSES = 2
GOAL = 95.0
_FEWEST = 10
_PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
_SLOW = ("tests/console/browser", "tests/battery", "tests/cli/test_serve.py")


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
def a_server(folder: Path) -> Iterator[str]:
    with embedded(folder / "server") as url:
        with psycopg.connect(url, autocommit=True) as db:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                db.execute(f"ALTER SYSTEM SET {setting} = off")
            db.execute("SELECT pg_reload_conf()")
            make_template(db, url)
            for number in range(PROCESSES):
                db.execute(f"CREATE DATABASE rolecall_mutants_{number} TEMPLATE {TEMPLATE}")
        yield url


def _environ(url: str, **settings: str) -> dict[str, str]:
    """Set the worker's name, so that the database template is reused."""
    return os.environ | {"ROLECALL_TEST_DATABASE_URL": url, "PYTEST_XDIST_WORKER": "gw1"} | settings


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in sorted(paths))).hexdigest()


def trace(url: str, places: Sequence[str]) -> list[Trace]:
    """Trace the tests in changed files, or all tests if the service changed."""
    kept = KEPT / "traces"
    code = _digest([*(ROOT / "rolecall").rglob("*.py"), *(ROOT / "rolecall").rglob("*.sql")])
    listed = [path for place in places for path in sorted((ROOT / place).rglob("test_*.py")) or [ROOT / place]]
    files = [path for path in listed if not str(path.relative_to(ROOT)).startswith(_SLOW)]
    kept.mkdir(parents=True, exist_ok=True)
    names = {str(path.relative_to(ROOT)): kept / f"{code[:12]}-{_digest([path])[:12]}.json" for path in files}
    missing = [name for name, stored in names.items() if not stored.exists()]
    if missing:
        print(f"Tracing {len(missing)} files of tests", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            environ = _environ(url, ROLECALL_MUTANTS_TRACE=folder)
            command = [*_PYTEST, "-p", "tests.mutants.tracing", "-n", str(PROCESSES), *missing]
            subprocess.run(command, cwd=ROOT, env=environ, check=False)
            found: dict[str, list[Trace]] = defaultdict(list)
            for out in Path(folder).glob("*.jsonl"):
                for each in msgspec.json.decode(b"[%s]" % b",".join(out.read_bytes().splitlines()), type=list[Trace]):
                    found[each.test.partition("::")[0]].append(each)
        # A test that fails without a mutant would seem to detect all of them.
        failed = [each.test for traces in found.values() for each in traces if not each.passed]
        for name in missing:
            if not any(test.startswith(f"{name}::") for test in failed):
                names[name].write_bytes(msgspec.json.encode(found[name]))
        if failed:
            sys.exit("These tests fail without a mutant:\n" + "\n".join(failed))
    return [each for stored in names.values() for each in msgspec.json.decode(stored.read_bytes(), type=list[Trace])]


def run(
    url: str, mutants: Sequence[Mutant], reach: Reach, folder: Path, most: float
) -> Iterator[tuple[Mutant, str, str]]:
    """Yield each mutant with its verdict and the test that detected it."""
    jobs: list[list[str]] = [[] for _ in range(PROCESSES)]
    tests: set[str] = set()
    accepted = accepted_mutants()
    for id, mutant in enumerate(mutants):
        if mutant.key in accepted:
            yield mutant, "accepted", ""
            continue
        chosen = list(_within(reach.tests(mutant), reach.seconds, most))
        if not chosen:
            yield mutant, "untested", ""
            continue
        limit = 20 + 4 * sum(reach.seconds[test] for test in chosen)
        job = {"id": id, "tests": chosen, "limit": limit} | msgspec.to_builtins(mutant)
        jobs[id % PROCESSES].append(json.dumps(job))
        tests |= set(chosen)
    files = sorted({test.partition("::")[0] for test in tests})
    runners = [
        _start(url, number, _unmutated(work[0]) + work, files, folder) for number, work in enumerate(jobs) if work
    ]
    read: Counter[Path] = Counter()
    try:
        while True:
            over = all(runner.poll() is not None for runner, _ in runners)
            for _, results in runners:
                lines = results.read_text().splitlines() if results.exists() else []
                for line in lines[read[results] :]:
                    result = json.loads(line)
                    if result["id"] >= 0:
                        yield mutants[result["id"]], result["verdict"], result["by"]
                    elif result["verdict"] != "survived":
                        sys.exit(f"The tests fail without a mutant too: {result['by']}")
                read[results] = len(lines)
            if over:
                break
            time.sleep(0.5)
    finally:
        for runner, _ in runners:
            runner.terminate()
    if sum(read.values()) < sum(len(work) + 2 for work in jobs if work):
        print((folder / "0.out").read_text()[-3000:])
        sys.exit("The run ended early")


def _unmutated(job: str) -> list[str]:
    """Run some tests of a job on the unmutated code, in both ways: they must pass."""
    same = json.loads(job)
    same |= {"id": -1, "tests": same["tests"][:3], "start": 0, "end": 0, "text": ""}
    return [json.dumps(same | {"function": function}) for function in ("none", "")]


def _within(tests: Sequence[str], seconds: dict[str, float], most: float) -> Iterator[str]:
    """Take tests up to the time limit, but at least ten, so that a slow machine hides nothing."""
    spent = 0.0
    for count, test in enumerate(tests, 1):
        yield test
        spent += seconds[test]
        if spent > most and count >= _FEWEST:
            break


def _start(
    url: str, number: int, work: list[str], files: list[str], folder: Path
) -> tuple["subprocess.Popen[bytes]", Path]:
    """Start a process that tests mutants in its own copy of the tree and writes results to a file."""
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


def report(verdicts: Sequence[tuple[Mutant, str, str]]) -> int:
    accepted = accepted_mutants()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    lines = []
    for mutant, verdict, _ in sorted(verdicts, key=lambda each: (each[0].file, each[0].start)):
        package = mutant.file.removeprefix("rolecall/").partition("/")[0]
        is_killed = verdict in ("killed", "timeout")
        for group in (package, "all"):
            counts[group]["all"] += 1
            counts[group]["killed"] += is_killed
            counts[group]["timeout"] += verdict == "timeout"
        if not is_killed:
            reason = accepted.get(mutant.key)
            counts[package]["open"] += reason is None
            counts["all"]["open"] += reason is None
            lines.append(f"{mutant.file}:{mutant.line} {mutant.function} {verdict}{f': {reason}' if reason else ''}")
            lines.append(f"    - {mutant.before}\n    + {mutant.after}")
    print("\n".join(lines))
    (KEPT / "survivors.txt").write_text("\n".join(lines))
    for package, count in sorted(counts.items(), key=lambda each: (each[0] == "all", each[0])):
        share = 100 * count["killed"] / count["all"]
        alive = count["all"] - count["killed"]
        told = f"{count['all']:5} mutants, {share:5.1f} % killed ({count['timeout']} by the time limit), {alive} alive"
        told += f", {count['open']} of them unexplained"
        print(f"{package:<18} {told}")
    return 0 if 100 * counts["all"]["killed"] >= GOAL * counts["all"]["all"] else 1


def _last_survivors() -> set[tuple[str, ...]]:
    last = KEPT / "last.json"
    return {tuple(key) for key in json.loads(last.read_text())} if last.exists() else set()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    # Stop the database and child processes on SIGTERM too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    mutants = all_mutants()
    if stale := accepted_mutants().keys() - {mutant.key for mutant in mutants}:
        sys.exit("\n".join(f"No such mutant: {key}" for key in sorted(stale)))
    last = KEPT / "last.json"
    if asked.survivors:
        mutants = [mutant for mutant in mutants if mutant.key in _last_survivors()]
    mutants = [mutant for mutant in mutants if not asked.words or any(word in mutant.file for word in asked.words)]
    if asked.sample:
        mutants = random.Random(0).sample(mutants, min(asked.sample, len(mutants)))
    with ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix="rolecall-mutants-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        folder.chmod(0o755)
        url = stack.enter_context(a_server(folder))
        reach = Reach(ROOT, trace(url, asked.tests))
        verdicts = []
        for mutant, verdict, by in run(url, mutants, reach, folder, asked.seconds):
            verdicts.append((mutant, verdict, by))
            if len(verdicts) % 100 == 0:
                print(f"{len(verdicts)} of {len(mutants)}", flush=True)
    # Keep survivors of files that this run did not cover.
    judged = {mutant.key for mutant, _, _ in verdicts}
    alive = {mutant.key for mutant, verdict, _ in verdicts if verdict in ("survived", "untested")}
    last.write_text(json.dumps(sorted(alive | (_last_survivors() - judged))))
    return report(verdicts)


if __name__ == "__main__":
    sys.exit(main())
