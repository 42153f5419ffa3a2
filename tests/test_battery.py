"""Test the short form of the battery: its order, which rows it leaves out, and which it stops."""

import math
from pathlib import Path

import pytest

from tests.battery.__main__ import GRACE_SECONDS, PATIENCE, Budget, rotated, run, run_short_form
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


def test_rows_that_are_left_out_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ROLECALL_BATTERY_SECONDS", "10")

    assert run_short_form(SHORT) == {}

    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("LEFT OUT, because 10 s were left: ")
    assert all(f"{row.name} ({row.ci_seconds:.0f} s)" in last for row in SHORT)


def test_row_is_stopped_after_three_times_its_usual_time_or_a_minute_after_the_budget_is_spent() -> None:
    assert Budget(1000).limit(a_row(50)) == 50 * PATIENCE
    assert Budget(100).limit(a_row(90)) == 100 + GRACE_SECONDS
    assert Budget(math.inf).limit(a_row(50)) == math.inf


def test_stopped_row_fails_and_says_why(tmp_path: Path) -> None:
    hangs = "import threading\n\n\ndef test_hangs():\n    threading.Event().wait()\n"
    (tmp_path / "test_hanging.py").write_text(hangs)
    hanging = Row("hanging", "title", "goal", ("test_hanging.py",), ci={}, ci_seconds=7)

    result = run(hanging, {}, tmp_path, limit=0.01)

    assert not result.passed
    assert result.figures == "stopped after 0 s; usual are 7 s (nothing passed)"


def test_row_that_ends_in_time_is_not_stopped(tmp_path: Path) -> None:
    (tmp_path / "test_quick.py").write_text("def test_quick():\n    pass\n")

    result = run(Row("quick", "title", "goal", ("test_quick.py",)), {}, tmp_path, limit=600)

    assert (result.passed, result.figures) == (True, "1 passed")


def test_every_row_fits_into_continuous_integration() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text()

    assert all(0 < row.ci_seconds <= 480 for row in SHORT)
    assert "left < 480 ? left : 480" in script


def test_suite_runs_only_tests_of_the_row() -> None:
    assert all(set(row.suite) <= set(row.tests) for row in ROWS)
    assert not any(row.suite for row in ROWS if row.ci is None)


def test_continuous_integration_retries_nothing() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text()

    assert "||" not in script
    assert "last-failed" not in script
