"""Test the structure of the source: class names occur once, functions stay short, and packages list their modules."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST_FUNCTION = 40
# The client mirrors the names of the API on purpose: programs that use it never import the service's own classes.
CLIENT = ROOT / "rolecall" / "client"


def _trees(*folders: str) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


def test_class_name_occurs_once_in_the_service_and_once_in_the_client() -> None:
    places = defaultdict[tuple[bool, str], list[str]](list)
    for path, tree in _trees("rolecall").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[path.is_relative_to(CLIENT), node.name].append(str(path.relative_to(ROOT)))

    assert {name: found for (_, name), found in places.items() if len(found) > 1} == {}


def test_no_function_is_longer_than_forty_lines() -> None:
    functions = [
        (str(path.relative_to(ROOT)), node.name, (node.end_lineno or 0) - node.lineno + 1)
        for path, tree in _trees("rolecall", "bench", ".ci").items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = {(path, name) for path, name, lines in functions if lines > LONGEST_FUNCTION}

    assert len(functions) > 1000
    assert long == set()


def test_package_that_lists_modules_lists_all_of_them() -> None:
    usual = {"__init__", "routes", "actions", "queries", "shapes", "model"}
    wrong, packages = {}, 0
    for path in sorted((ROOT / "rolecall").rglob("__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        rows = [line for line in text.splitlines() if re.match(r"\s*\w+\.py\b", line)]
        listed = {name for row in rows for name in re.findall(r"\b(\w+)\.py\b", row)}
        modules = {module.stem for module in path.parent.glob("*.py")}
        packages += bool(listed)
        if listed and (listed - modules or modules - usual - listed):
            wrong[str(path.parent.relative_to(ROOT))] = (listed - modules, modules - usual - listed)

    assert packages >= 10
    assert wrong == {}
