"""Record which lines of the service each test runs: a pytest plugin that writes one JSON line per test.

It compiles the package with a call before each statement of mutated files, and at the start of each function of
other files. A tracer of the interpreter would slow down every library as well.
"""

import ast
import builtins
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.mutants.targets import TARGETS

ROOT = Path(__file__).parents[2]
_RECORD = "_record_line"
_BLOCKS = ("body", "orelse", "finalbody")
_places: list[tuple[str, int]] = []
_hit: set[int] = set()
_failed: set[str] = set()


def recording(file: str, source: bytes, *, every_line: bool) -> ast.Module:
    """Return the module with calls that record which functions run or, with `every_line`, which of their lines run.

    Code that runs on import is not recorded.
    """
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    docstrings = [_docstring(function) for function in functions]
    inner = {id(node): node for function in functions for node in ast.walk(function)} if every_line else {}
    for node in inner.values():
        for block in _BLOCKS:
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                setattr(node, block, [part for each in statements for part in (_call(file, each.lineno, each), each)])
    for function, docstring in zip(functions, docstrings, strict=True):
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        function.body = [*docstring, _call(file, first, function.body[0]), *function.body]
    return ast.fix_missing_locations(tree)


def _call(file: str, line: int, beside: ast.stmt) -> ast.stmt:
    _places.append((file, line))
    call = ast.Call(ast.Name(_RECORD, ast.Load()), [ast.Constant(len(_places) - 1)], [])
    return ast.copy_location(ast.Expr(call), beside)


def _docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    text = ast.get_docstring(function, clean=False)
    return [] if text is None else [ast.copy_location(ast.Expr(ast.Constant(text)), function.body[0])]


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        file = str(Path(self.path).relative_to(ROOT))
        tree = recording(file, self.get_data(self.path), every_line=file in TARGETS)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "rolecall":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


if "ROLECALL_MUTANTS_TRACE" in os.environ:
    assert "rolecall" not in sys.modules
    setattr(builtins, _RECORD, _hit.add)
    sys.meta_path.insert(0, _Finder())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _hit.clear()
    started = time.perf_counter()
    try:
        return (yield)
    finally:
        lines: dict[str, set[int]] = defaultdict(set)
        for place in _hit:
            file, line = _places[place]
            lines[file].add(line)
        seconds = round(time.perf_counter() - started, 3)
        seen = {"test": item.nodeid, "seconds": seconds, "passed": item.nodeid not in _failed}
        with Path(os.environ["ROLECALL_MUTANTS_TRACE"], f"{os.getpid()}.jsonl").open("a") as out:
            out.write(json.dumps(seen | {"lines": {file: sorted(hit) for file, hit in lines.items()}}) + "\n")
