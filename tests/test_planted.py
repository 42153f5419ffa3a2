"""Test that the planted bugs of the battery match the code."""

import pytest

from tests.battery.planted import BUGS, Bug
from tests.battery.rows import ROWS
from tests.cli.commands import REPOSITORY


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_matches_exactly_one_place(bug: Bug) -> None:
    assert (REPOSITORY / "rolecall" / bug.file).read_text().count(bug.right) == 1


def test_every_battery_row_has_a_planted_bug() -> None:
    assert {bug.row for bug in BUGS} == {row.name for row in ROWS}
