"""Test that repeated records are detected, however far apart they are."""

import pytest

from rolecall.sources.snapshot import SeenKeys


def added(pages: list[list[str]]) -> SeenKeys:
    """Return a SeenKeys to which these pages of distinct keys were added."""
    seen = SeenKeys(most_recent=4)
    for page in pages:
        assert seen.add(page) is None
        assert not seen.repeats_older()
    return seen


@pytest.mark.parametrize("page", [["e", "a"], ["e", "e"]])
def test_repeated_recent_key_is_returned(page: list[str]) -> None:
    seen = added([["a", "b"]])

    assert seen.add(page) == page[1]


@pytest.mark.parametrize("old", "abcdefgh")
def test_repeated_older_key_is_detected_at_the_end(old: str) -> None:
    seen = added([list("abcd"), list("efgh"), ["i"]])

    assert seen.add([old]) is None
    assert seen.repeats_older(at_end=True)


def test_repeated_older_key_is_detected_when_the_set_is_full() -> None:
    seen = added([list("abcd"), list("efgh")])

    assert seen.add(["i", "j", "k", "a"]) is None
    assert seen.repeats_older()


def test_keys_that_differ_are_accepted() -> None:
    seen = added([[str(n), str(n + 100)] for n in range(50)])

    assert not seen.repeats_older(at_end=True)
