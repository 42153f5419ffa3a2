"""Choose the tests that can detect a mutant, the quickest and most specific first."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import product
from operator import or_
from pathlib import Path

import msgspec

from tests.mutants.mutate import Mutant


class Trace(msgspec.Struct, frozen=True):
    test: str
    seconds: float
    passed: bool
    lines: dict[str, list[int]]


Name = tuple[str, str]  # package and name
FEWEST = 10
_SLOW_SECONDS = 3
_SPECIFIC = 4
_DIVERSE = 12


class _Function(msgspec.Struct, frozen=True):
    file: str
    name: str
    first: int


class Reach:
    def __init__(self, root: Path, traces: Iterable[Trace]) -> None:
        self.seconds: dict[str, float] = {}
        self.breadth: dict[str, int] = {}
        # The tests that run each line of each file.
        self.hits: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        # For each file and package, the lines that each test runs, as a bit set.
        self.lines: dict[str, Counter[str]] = defaultdict(Counter)
        bits: dict[tuple[str, int], int] = defaultdict(lambda: 1 << len(bits))
        for trace in traces:
            self.seconds[trace.test] = trace.seconds
            self.breadth[trace.test] = sum(map(len, trace.lines.values()))
            for file, lines in trace.lines.items():
                for line in lines:
                    self.hits[file][line].add(trace.test)
                run = reduce(or_, (bits[file, line] for line in lines), 0)
                self.lines[_package(file)][trace.test] |= run
                self.lines[file][trace.test] = run
        # The functions that use each name.
        self.mentions: dict[Name, set[_Function]] = defaultdict(set)
        # For each name, the names whose definitions use it.
        self.derived: dict[Name, set[Name]] = defaultdict(set)
        # The names that each file assigns at its top level.
        self.assigned: dict[str, set[Name]] = defaultdict(set)
        # The names of functions that run on import, and the names that each function calls.
        self.imported: set[Name] = set()
        self.calls: dict[Name, set[Name]] = defaultdict(set)
        # The first and last line of each function of each file.
        self.spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for path in sorted((root / "rolecall").rglob("*.py")):
            file, text = str(path.relative_to(root)), path.read_text()
            packages = {_package(file), *re.findall(r"rolecall\.(\w+)", text)}
            body = ast.parse(text).body
            modules = _imported(body)
            for statement in body:
                self._read(file, packages, statement)
                self._read_calls(file, packages, modules, statement)
        self._add_called()

    def _read_calls(self, file: str, packages: set[str], modules: set[str], statement: ast.stmt) -> None:
        # `if __name__ == "__main__"` does not run on import.
        if not isinstance(statement, ast.If):
            self.imported |= set(product(packages, _called(_evaluated(statement), modules)))
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self.calls[_package(file), statement.name] |= set(product(packages, _called(statement.body, modules)))

    def _add_called(self) -> None:
        """Add the functions that functions running on import call."""
        waiting = list(self.imported)
        while waiting:
            further = self.calls[waiting.pop()] - self.imported
            self.imported |= further
            waiting += further

    def _read(self, file: str, packages: set[str], statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
            self.spans[file].append((first, statement.end_lineno or first))
            for name in product(packages, _names(statement)):
                self.mentions[name].add(_Function(file, statement.name, first))
            for name in product(packages, evaluated_on_import(statement)):
                self.derived[name].add((_package(file), statement.name))
        elif isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                self._read(file, packages, inner)
            for name in product(packages, evaluated_on_import(statement)):
                self.derived[name].add((_package(file), statement.name))
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            made = {(_package(file), name) for target in targets for name in _names(target)}
            self.assigned[file] |= made
            for name in product(packages, _names(statement.value)):
                self.derived[name] |= made

    def tests(self, mutant: Mutant) -> list[str]:
        lines, (first, last) = self.hits[mutant.file], mutant.lines
        found = {test for line in range(first, last + 1) for test in lines.get(line, ())} if mutant.function else set()
        own = f"tests/{_package(mutant.file)}/"
        if self.runs_on_import(mutant):
            names = (mutant.function,) if mutant.function else mutant.names
            found |= self._through({(_package(mutant.file), name) for name in names})
        traced = set(found) if mutant.function else set()
        # If few tests run the line, add all tests of the package: processes that they start may run it too.
        if len(found) < FEWEST or not traced:
            found |= {test for test in self.seconds if test.startswith(own)}
        cost = {test: self._cost(mutant, test) for test in found}
        # Run one case of each test before further cases, because different tests detect different mutants.
        named = Path(mutant.file).stem
        cases: Counter[str] = Counter()
        order = []
        for test in sorted(found, key=lambda test: (cost[test], test)):
            name = test.partition("[")[0]
            is_named, is_own = f"test_{named}.py" in name, test.startswith(own)
            is_slow = self.seconds[test] > _SLOW_SECONDS
            order.append((test not in traced, is_slow, cases[name], not is_named, not is_own, cost[test], test))
            cases[name] += 1
        return self._diverse_first(mutant.file, [test for *_, test in sorted(order)])

    def _diverse_first(self, file: str, tests: list[str]) -> list[str]:
        """Order tests: first the most specific, then tests that run additional lines of the file or the package."""
        first, rest = tests[:_SPECIFIC], tests[_SPECIFIC:]
        for place in (file, _package(file)):
            self._take_diverse(self.lines[place], first, rest)
        return first + rest

    def _take_diverse(self, lines: Counter[str], first: list[str], rest: list[str]) -> None:
        """Move tests from `rest` to `first`, each time the one that runs the most additional lines per second."""
        for _ in range(_DIVERSE):
            run = reduce(or_, (lines[test] for test in first), 0)
            gain = {test: (lines[test] & ~run).bit_count() / max(self.seconds[test], 0.1) for test in rest}
            best = max(gain, key=gain.__getitem__, default=None)
            if best is None or not gain[best]:
                break
            first.append(best)
            rest.remove(best)

    def _cost(self, mutant: Mutant, test: str) -> float:
        """Return the cost of a test: low for a quick test that runs much of the mutated function and little else."""
        first, last = next((span for span in self.spans[mutant.file] if span[0] <= mutant.line <= span[1]), (0, 0))
        lines = self.hits[mutant.file]
        covered = sum(test in lines.get(line, ()) for line in range(first, last + 1))
        return self.breadth[test] * max(self.seconds[test], 0.1) / max(covered, 1) ** 2

    def runs_on_import(self, mutant: Mutant) -> bool:
        """Return whether the mutated code runs on import: outside functions, or in a function called on import."""
        return not mutant.function or (_package(mutant.file), mutant.function) in self.imported

    def is_only_in_its_file(self, mutant: Mutant) -> bool:
        """Return whether the mutant affects, at import time, only constants of its own file.

        If so, no module has to be reloaded.
        """
        if mutant.function:
            return False
        waiting = seen = {(_package(mutant.file), name) for name in mutant.names}
        while waiting:
            waiting = {further for name in waiting for further in self.derived[name]} - seen
            seen = seen | waiting
        return seen <= self.assigned[mutant.file]

    def _through(self, names: set[Name]) -> set[str]:
        """Return the tests of all functions that use these names, directly or through other names."""
        found: set[str] = set()
        waiting, seen = list(names), set(names)
        while waiting:
            name = waiting.pop()
            further = set(self.derived[name])
            for function in self.mentions[name]:
                tests = self._calling(function)
                found |= tests
                # If no traced test calls the function, assume that it runs in a process that a test starts.
                further |= set() if tests else {(_package(function.file), function.name)}
            waiting += further - seen
            seen |= further
        return found

    def _calling(self, function: _Function) -> set[str]:
        if function.file.startswith("rolecall/cli/"):
            own = f"tests/cli/test_{Path(function.file).name}::"
            return {test for test in self.seconds if test.startswith(own)}
        return self.hits[function.file].get(function.first, set())


def _package(file: str) -> str:
    return Path(file).parts[1].removesuffix(".py")


def evaluated_on_import(statement: ast.stmt) -> set[str]:
    """Return the names whose values a statement reads when its module is imported."""
    return {name for node in _evaluated(statement) for name in _names(node)}


def _evaluated(statement: ast.stmt) -> Iterator[ast.AST]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from statement.decorator_list
            yield from statement.args.defaults
            yield from filter(None, statement.args.kw_defaults)
        case ast.ClassDef():
            yield from (*statement.decorator_list, *statement.bases, *(each.value for each in statement.keywords))
            for each in statement.body:
                yield from _evaluated(each)
        case _:
            yield statement


def _called(nodes: Iterable[ast.AST], modules: set[str]) -> set[str]:
    """Return the names of the functions that these nodes call; of methods, only functions of imported modules."""
    called = [part.func for node in nodes for part in ast.walk(node) if isinstance(part, ast.Call)]
    names = {part.id for part in called if isinstance(part, ast.Name)}
    attributes = [part for part in called if isinstance(part, ast.Attribute)]
    return names | {part.attr for part in attributes if isinstance(part.value, ast.Name) and part.value.id in modules}


def _imported(body: Iterable[ast.stmt]) -> set[str]:
    found = [statement for statement in body if isinstance(statement, ast.Import | ast.ImportFrom)]
    return {each.asname or each.name for statement in found for each in statement.names}


def _names(node: ast.AST) -> set[str]:
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return found | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
