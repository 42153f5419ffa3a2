"""Test that the documentation matches the code, that its links resolve, and that pages keep to their limits."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rolecall.core.config import Config

ROOT = Path(__file__).parents[1]
PAGES = [path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if ".venv" not in path.parts]


def test_every_setting_is_in_the_operating_page() -> None:
    page = (ROOT / "docs/operating.md").read_text()

    missing = [field for field in Config.__struct_fields__ if f"`ROLECALL_{field.upper()}`" not in page]

    assert missing == []


def test_contributing_page_explains_each_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    names = {re.split(r"[\[>=<;]", requirement)[0].strip() for requirement in asked}
    page = (ROOT / "CONTRIBUTING.md").read_text()

    missing = [name for name in names if name not in page and name.replace("pytest-", "-") not in page]

    assert missing == []


def test_every_imported_package_is_declared() -> None:
    """A transitive dependency may disappear when its parent no longer needs it."""
    modules = {
        module for file in (ROOT / "rolecall").rglob("*.py") for module in _imported(ast.parse(file.read_text()))
    }
    foreign = modules - sys.stdlib_module_names - {"rolecall"}
    known = packages_distributions()
    parts = {"psycopg_pool": "psycopg", "pydantic_core": "pydantic"}
    needed = {parts.get(module) or known[module][0].lower() for module in foreign}

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["lake"]]

    assert needed - {re.split(r"[\[>=<;]", requirement)[0] for requirement in declared} == set()


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level package of every absolute import in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []


def _prose(page: Path) -> Iterator[str]:
    """Yield the lines that can be wrapped: no code, tables, headings or lone links."""
    code = False
    for line in page.read_text().splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not re.match(r"\s*\||#|<|!\[|\S+$", line):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_pages_wrap_at_120(page: Path) -> None:
    assert [line for line in _prose(page) if len(line) > 120] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/decisions").glob("*.md")), ids=lambda page: page.name)
def test_decision_has_at_most_25_lines_of_120_characters(page: Path) -> None:
    lines = page.read_text().splitlines()

    assert len(lines) <= 25
    assert [line for line in lines if len(line) > 120] == []


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    assert [page.name for page in pages if not page.read_text().startswith(f"# {page.name[:4]} ")] == []


def test_page_about_the_life_of_an_import_names_at_most_12_existing_files_in_its_rows() -> None:
    page = (ROOT / "docs/life-of-an-import.md").read_text()
    folder = ROOT / "rolecall/application_imports"
    rows = re.findall(r"^\| (\d*) ?\| `([^`]+)` \|", page, re.MULTILINE)
    steps = [int(number) for number, _ in rows if number]
    files = {file for _, file in rows}

    assert steps == list(range(1, len(steps) + 1))
    assert 5 < len(files) <= 12
    assert [file for file in files if not (folder / file).exists()] == []


@pytest.mark.parametrize("walk", ["request", "webhook"])
def test_page_about_the_life_of_a_record_names_at_most_12_existing_files_in_order(walk: str) -> None:
    rows = re.findall(r"^\| (\d+) \| `([^`]+)` \|", (ROOT / f"docs/life-of-a-{walk}.md").read_text(), re.MULTILINE)

    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert 5 < len(rows) <= 12
    assert [file for _, file in rows if not (ROOT / "rolecall" / file).exists()] == []
