"""Store the verdict on each mutant, so that a stopped run continues and a later run judges only what has changed.

A kill is valid while the mutated file and the test that detected the mutant are unchanged; any other verdict while the
service and all tests that were tried are unchanged. Verdicts are appended to a file that is not committed. At the end
of a run the kills are copied to `kills.json`, which is, because no run of an hour judges all mutants.
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


class Kills(msgspec.Struct, frozen=True):
    """The mutants that a test detected, as digests, and the digest of the test at that time."""

    test: str
    mutants: list[str]


class Results:
    def __init__(self, root: Path, kept: Path, shared: Path, code: str) -> None:
        self.root, self.kept, self.shared, self.code = root, kept, shared, code
        lines = kept.read_bytes().splitlines() if kept.exists() else []
        found = msgspec.json.decode(b"[%s]" % b",".join(lines), type=list[Result])
        self.last = {
            (each.key, each.start): each for each in found if each.code == self._code(each.key[0], each.verdict)
        }
        # Run the test that last detected a mutant first, even if the service has changed since.
        self.killers = {result.key: result.by for result in found if result.by}
        kills = msgspec.json.decode(shared.read_bytes(), type=dict[str, Kills]) if shared.exists() else {}
        self.killed = {
            id: test for test, each in kills.items() if each.test == self._digest([test]) for id in each.mutants
        }

    def of(self, mutant: Mutant) -> Result | None:
        """Return the last verdict on this version of the code, even if tests have changed since."""
        if by := self.killed.get(self._id(mutant)):
            code = self._code(mutant.file, "killed")
            return Result(mutant.key, mutant.start, code, self._digest([by]), "killed", by)
        return self.last.get((mutant.key, mutant.start))

    def known(self, mutant: Mutant, chosen: Sequence[str]) -> Result | None:
        """Return the last verdict if it is still valid for these tests."""
        result = self.of(mutant)
        return result if result and result.tests == self._digest(_tried(result.by, chosen)) else None

    def add(self, mutant: Mutant, chosen: Sequence[str], verdict: str, by: str, seconds: float) -> Result:
        tests = self._digest(_tried(by, chosen))
        result = Result(mutant.key, mutant.start, self._code(mutant.file, verdict), tests, verdict, by, seconds)
        self.killed.pop(self._id(mutant), None)
        self.last[mutant.key, mutant.start] = result
        with self.kept.open("ab") as out:
            out.write(msgspec.json.encode(result) + b"\n")
        return result

    def share(self, mutants: Iterable[Mutant]) -> None:
        """Write the kills of these mutants to the file that is committed."""
        kills: dict[str, Kills] = {}
        for mutant in mutants:
            result = self.of(mutant)
            if result and "::" in result.by and result.tests == self._digest([result.by]):
                kills.setdefault(result.by, Kills(result.tests, [])).mutants.append(self._id(mutant))
        lines = (f"{_json(test)}: {_json(each)}" for test, each in sorted(kills.items()))
        self.shared.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def _id(self, mutant: Mutant) -> str:
        """Return a digest of the mutant and of its file."""
        text = f"{_digest_of(self.root / mutant.file)} {mutant.start} {mutant.key}"
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def _code(self, file: str, verdict: str) -> str:
        """Return the digest of the code on which a verdict depends: for a kill, of the mutated file."""
        return _digest_of(self.root / file) if verdict == "killed" else self.code

    def _digest(self, tests: Iterable[str]) -> str:
        texts = [f"{test}\n{source_of(self.root, test)}" for test in sorted(tests)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _tried(by: str, chosen: Sequence[str]) -> Sequence[str]:
    """Return the tests on which a verdict depends; a mutant can also fail without a test, on import."""
    return [by] if "::" in by else chosen


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


@cache
def _digest_of(path: Path) -> str:
    """Return the digest of a file, or of nothing if it no longer exists."""
    return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()[:16]


def source_of(root: Path, test: str) -> str:
    file, _, name = test.partition("::")
    return _functions(root / file).get(name.partition("[")[0], "")


@cache
def _functions(path: Path) -> dict[str, str]:
    text = path.read_text() if path.exists() else ""
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found
