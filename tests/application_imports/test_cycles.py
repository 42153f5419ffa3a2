"""Test that groups that contain one another are reported in the log of the import."""

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.cycles import cycles
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application


@pytest.mark.parametrize(
    ("parents", "found"),
    [
        ({}, []),
        ({1: 2, 2: 3}, []),
        ({1: 1}, [[1]]),
        ({3: 2, 2: 1, 1: 3}, [[3, 2, 1]]),
        # A group on a path into a cycle is not part of the cycle.
        ({0: 1, 1: 2, 2: 1}, [[1, 2]]),
        ({1: 2, 2: 1, 5: 6, 6: 5, 7: 5}, [[1, 2], [5, 6]]),
    ],
)
def test_every_cycle_is_found_once(parents: dict[int, int], found: list[list[int]]) -> None:
    assert list(cycles(parents)) == found


async def test_log_of_an_import_names_the_groups_of_a_cycle(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    files = {"Users": "Username\nada\n", "Groups": "Group,Parent\nA,B\nB,c\nC,A\nBelow,A\n"}

    run = await Imports(client, config).finish(await an_application(db), files)

    reported = [line for line in run["log"].splitlines() if "contain one another" in line]
    assert [line.partition("once: ")[2] for line in reported] == ["A > B > C > A"]
