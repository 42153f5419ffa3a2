"""Test the structure of the source: class names occur once, and functions stay short."""

import ast
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
