"""Test the template filters that format values as words."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rolecall.console.rendering import _environment

FILTERS = _environment.filters
NOW = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "Yes"),
        (False, "No"),
        (None, "—"),
        ("", "—"),
        ({}, "—"),
        ([], "—"),
        (0, "0"),
        (12.5, "12.5"),
        ({"Brnch": "MAIN", "isActive": True}, "Brnch: MAIN, Is active: Yes"),
        (["Add", "Change"], "Add, Change"),
        ("2026-11-17T01:35:33.653593+00:00", "17 Nov 2026, 01:35 UTC"),
        ("2026-09-03T01:35Z", "3 Sep 2026, 01:35 UTC"),
        ("2026-11-19", "19 Nov 2026"),
        ("2026-11-39", "2026-11-39"),
        ("2026-11-19 at noon", "2026-11-19 at noon"),
    ],
)
def test_value_of_a_change_is_written_in_words(value: object, words: str) -> None:
    assert FILTERS["readable"](value) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-11-03T08:00:00Z", '<time datetime="2026-11-03">3 Nov 2026</time>'),
        ("last week", "last week"),
    ],
)
def test_imported_day_is_written_like_other_days(text: str, words: str) -> None:
    assert FILTERS["imported_day"](text) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [("isIdentitySource", "Is identity source"), ("emailAddress", "E-mail address"), ("ownerId", "Owner ID")],
)
def test_name_of_a_field_is_written_in_words(name: str, words: str) -> None:
    assert FILTERS["field_name"](name) == words


@pytest.mark.parametrize(
    ("text", "words"), [("Email", "E-mail"), ("Employee ID", "Employee ID"), ("Email of users", "E-mail of users")]
)
def test_words_of_the_api_are_spelled_as_in_the_console(text: str, words: str) -> None:
    assert FILTERS["spelled"](text) == words


def test_name_of_an_audited_field_has_no_positions() -> None:
    assert FILTERS["audit_field"]("responses.Approve.0.0") == "Responses, Approve"


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Ada Lovelace", "AL"), ("Élise de Østby", "ÉØ"), ("Administrators", "A"), ("", "?"), ("-", "?")],
)
def test_initials_are_taken_from_the_first_and_last_word(name: str, letters: str) -> None:
    assert FILTERS["initials"](name) == letters


def test_name_with_a_comma_is_shown_with_the_first_name_first() -> None:
    assert FILTERS["first_last"]("Nair, Emre") == "Emre Nair"
    assert FILTERS["first_last"]("Emre Nair") == "Emre Nair"


@pytest.mark.parametrize(
    ("hours", "words"),
    [(-48, ""), (0, "today"), (1, "tomorrow"), (49, "in 3 days")],
    ids=["past", "now", "night", "later"],
)
def test_distance_counts_calendar_days(hours: int, words: str) -> None:
    zone = ZoneInfo("UTC")

    assert FILTERS["distance"](NOW + timedelta(hours=hours), NOW, zone) == words


@pytest.mark.parametrize(("ago", "words"), [(5, "just now"), (90, "1 minute"), (7200, "2 hours"), (200_000, "2 days")])
def test_age_is_rounded_down_to_whole_units(ago: int, words: str) -> None:
    assert f">{words}</time>" in FILTERS["age"](NOW - timedelta(seconds=ago), NOW)


def test_address_wraps_before_its_at_sign_and_is_escaped() -> None:
    assert FILTERS["address"]("<ada>@example.com") == "&lt;ada&gt;<wbr>@example.com"
