from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rolecall.core import clock

ZURICH = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-12-01", datetime(2026, 11, 30, 23, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("2026W49", datetime(2026, 11, 29, 23, tzinfo=UTC)),
        ("2026W49 12", datetime(2026, 11, 30, 11, tzinfo=UTC)),
        ("2026-12-01T08:00", datetime(2026, 12, 1, 7, tzinfo=UTC)),
        ("2026-12-01T08:00:00Z", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        ("2026-12-01T08:00:00-05:00", datetime(2026, 12, 1, 13, tzinfo=UTC)),
        ("2026-12-01T08:00:00.250Z", datetime(2026, 12, 1, 8, 0, 0, 250_000, tzinfo=UTC)),
        # When the clocks go back, 02:30 occurs twice; the first occurrence counts.
        ("2026-10-25T02:30", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    ],
)
def test_time_is_local_unless_it_has_an_offset(text: str, moment: datetime) -> None:
    assert clock.parse(text, ZURICH) == moment


@pytest.mark.parametrize("text", ["9999-12-31T12:00:00Z", "0001-01-01T01:00:00Z"])
def test_time_that_another_zone_cannot_show_is_rejected(text: str) -> None:
    with pytest.raises(OverflowError):
        clock.parse(text, ZoneInfo("UTC"))


def test_only_texts_without_a_time_are_dates() -> None:
    texts = ["2026-12-01", "20261201", "2026-W49-2", "2026W49", "2026W49 12", "2026-12-01T08:00", "2026-12-01t08"]

    assert [text for text in texts if clock.is_date(text)] == texts[:4]


def test_stored_time_at_the_end_of_the_calendar_is_shown() -> None:
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)

    assert clock.local(last, ZURICH) == last
    assert clock.local(last.replace(year=2026), ZURICH).hour == 0


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2026-13-01", "2026-12-01T25:00", "01.12.2026", "2026-12-01X10:00", "2026120100800", "1764547200"],
)
def test_invalid_time_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"[Ii]so|ISO|month|hour"):
        clock.parse(text, ZURICH)
