"""Test the labels of charts."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from rolecall.console.charts import ChartLevel, Stack, stacked_bars, step_line

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (320, ["end −1 Yara", "end +3 Ada"]),
        # The label is on the right, because another step is close on the left.
        (180, ["start −1 Yara", "end +3 Ada"]),
    ],
)
def test_label_is_drawn_on_the_side_that_has_room(day: int, expected: list[str]) -> None:
    assert labels((150, 5, "+3", "Ada"), (day, 4, "−1", "Yara")) == expected


@pytest.mark.parametrize(
    ("count", "labeled"), [(7, [1, 2, 3, 4, 5, 6, 7]), (8, [1, 8]), (13, [6, 13]), (14, [7, 14]), (15, [1, 8, 15])]
)
def test_every_seventh_bar_before_the_last_is_labeled(count: int, labeled: list[int]) -> None:
    bars = [Stack(f"day {day}", {"Open": 1}) for day in range(1, count + 1)]

    drawn = stacked_bars("Requests", "requests", ["Open"], bars).partition("<table")[0]

    assert [int(day) for day in re.findall(r">day (\d+)</text>", drawn)] == labeled


def test_label_between_close_steps_has_no_name() -> None:
    assert labels((290, 5, "+3", "Ada"), (330, 4, "−1", "Yara")) == ["end −1"]


def labels(*steps: tuple[int, int, str, str]) -> list[str]:
    levels = [ChartLevel(START + timedelta(days=day), value, text, who, "#2") for day, value, text, who in steps]
    first = ChartLevel(START, 2, "", "", "#1")
    drawn = step_line("Holders", "accounts", [first, *levels], START, START + timedelta(days=365))
    found = re.findall(r'<text class="on"[^>]*text-anchor="(\w+)">(.*?)</text>', drawn)
    return [f"{anchor} {re.sub('<[^>]+>', '', text)}" for anchor, text in found]
