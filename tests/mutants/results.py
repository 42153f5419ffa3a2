"""Store the verdict on each mutant, so that a stopped run continues and a later run judges only what has changed.

A kill is valid while the service and the test that detected the mutant are unchanged; any other verdict while the
service and all tests that were tried are unchanged.
"""

import ast
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tests.mutants.mutate import Mutant

KILLED = ("killed", "timeout")


class Result(msgspec.Struct, frozen=True):
    key: tuple[str, str, str, str]
    start: int
    code: str
    tests: str
    verdict: str
    by: str = ""
    seconds: float = 0


class Results:
    def __init__(self, root: Path, kept: Path, code: str) -> None:
        self.root, self.kept, self.code = root, kept, code
        lines = kept.read_bytes().splitlines() if kept.exists() else []
        found = msgspec.json.decode(b"[%s]" % b",".join(lines), type=list[Result])
        self.last = {(result.key, result.start): result for result in found if result.code == code}
        # Run the test that last detected a mutant first, even if the service has changed since.
        self.killers = {result.key: result.by for result in found if result.by}

    def of(self, mutant: Mutant) -> Result | None:
        """Return the last verdict on this version of the service, even if tests have changed since."""
        return self.last.get((mutant.key, mutant.start))

    def known(self, mutant: Mutant, chosen: Sequence[str]) -> Result | None:
        """Return the last verdict if it is still valid for these tests."""
        result = self.of(mutant)
        tried = [result.by] if result and result.by in chosen else chosen
        return result if result and result.tests == self._digest(tried) else None

    def add(self, mutant: Mutant, chosen: Sequence[str], verdict: str, by: str, seconds: float) -> Result:
        tests = self._digest([by] if by in chosen else chosen)
        result = Result(mutant.key, mutant.start, self.code, tests, verdict, by, seconds)
        self.last[mutant.key, mutant.start] = result
        with self.kept.open("ab") as out:
            out.write(msgspec.json.encode(result) + b"\n")
        return result

    def _digest(self, tests: Iterable[str]) -> str:
        texts = [f"{test}\n{source_of(self.root, test)}" for test in sorted(tests)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def source_of(root: Path, test: str) -> str:
    file, _, name = test.partition("::")
    return _functions(root / file).get(name.partition("[")[0], "")


@cache
def _functions(path: Path) -> dict[str, str]:
    text = path.read_text()
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found
