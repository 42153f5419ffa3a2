"""Test the short form of the battery: its order, and which rows a slow machine skips."""

from tests.battery.__main__ import Budget, rotated
from tests.battery.rows import ROWS, Row
from tests.cli.commands import REPOSITORY

SHORT = [row for row in ROWS if row.ci is not None]


def a_row(seconds: float) -> Row:
    return Row("row", "title", "goal", (), ci={}, ci_seconds=seconds)


def test_every_battery_row_runs_first_at_some_commit() -> None:
    first = {rotated(SHORT, f"{commit:040x}")[0].name for commit in range(len(SHORT))}

    assert first == {row.name for row in SHORT}


def test_rotation_keeps_every_row_once() -> None:
    for commit in ("", "0" * 40, "745fb88d33aa", "f" * 40):
        assert sorted(row.name for row in rotated(SHORT, commit)) == sorted(row.name for row in SHORT)


def test_row_that_exceeds_the_time_budget_is_skipped() -> None:
    budget = Budget(100)

    assert budget.fits(a_row(100))
    assert not budget.fits(a_row(101))


def test_slow_machine_skips_more_rows() -> None:
    budget = Budget(300)
    budget.spend(a_row(50), 150)

    assert budget.left == 150
    assert budget.fits(a_row(50))
    assert not budget.fits(a_row(51))


def test_fast_machine_does_not_lower_the_estimate_of_a_row() -> None:
    budget = Budget(100)
    budget.spend(a_row(50), 10)

    assert budget.fits(a_row(90))
    assert not budget.fits(a_row(91))


def test_all_rows_fit_into_continuous_integration() -> None:
    """Reserve 150 s of the 1,680 s for set-up and 300 s for the suite."""
    assert all(row.ci_seconds > 0 for row in SHORT)
    assert sum(row.ci_seconds for row in SHORT) <= 1680 - 150 - 300


def test_continuous_integration_retries_nothing() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text()

    assert "||" not in script
    assert "last-failed" not in script
