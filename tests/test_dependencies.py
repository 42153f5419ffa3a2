"""Test that no pinned version is below its floor, and that the bill of materials lists all shipped packages."""

import json
import re
import subprocess
import sys

import pytest

from tests.cli.commands import REPOSITORY

LOCKS = sorted(REPOSITORY.glob("requirements*.lock"))
# The first version without a known vulnerability, for each direct or transitive dependency that had one.
FLOORS = {
    "aiohttp": "3.14.1",
    "authlib": "1.6.11",
    "h11": "0.16.0",
    "jinja2": "3.1.6",
    "python-multipart": "0.0.31",
    "requests": "2.32.4",
    "starlette": "1.3.1",
    "urllib3": "2.6.0",
    "werkzeug": "3.1.4",
}


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def pinned() -> list[tuple[str, str]]:
    text = "".join(lock.read_text() for lock in LOCKS)
    return re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(FLOORS))
def test_no_dependency_is_pinned_below_its_minimum(name: str) -> None:
    assert [version for found, version in pinned() if found == name and parts(version) < parts(FLOORS[name])] == []


def test_every_shipped_package_is_in_the_bill_of_materials() -> None:
    command = [sys.executable, ".ci/supply.py", "sbom"]
    said = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    listed = {component["name"]: component for component in json.loads(said)["components"]}

    assert "aiohttp" in listed
    assert "pytest" not in listed
    for component in listed.values():
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        assert component["hashes"]
