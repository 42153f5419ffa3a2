import pytest

from rolecall.core.checking import human_name
from rolecall.core.ids import guid, new_id
from rolecall.core.text import and_list, counted, fold, has_control, is_blank, name_key, some_of, sort_key


def test_names_sort_by_letters_then_accents_and_never_by_case() -> None:
    names = ["Zed", "Elan", "élan", "ÉLAN", "elan", "Østergård", "Oster", "Ostler", "Łukasz", "Lukas"]

    ordered = sorted(names, key=sort_key)

    assert ordered == ["Elan", "elan", "élan", "ÉLAN", "Lukas", "Łukasz", "Oster", "Østergård", "Ostler", "Zed"]


@pytest.mark.parametrize(
    "text", ["", "  ", "\u200b", "\u2060\ufeff", "\u3164", "\u00ad\u200d", "\u2800", "\n\t", "\U000e0041"]
)
def test_text_without_visible_character_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", "\u200bx", "李", "🙂", "علی\u200cرضا", "-"])
def test_text_with_visible_character_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\u2028", "\u2029"])
def test_control_characters_and_line_breaks_are_recognized(character: str) -> None:
    assert has_control(f"Ada{character}Byron")
    assert not has_control("Ada\u00a0O’Brien-Łukasz علی\u200cرضا")


def test_words_are_matched_without_case_and_spaces() -> None:
    assert fold(" Role  TRANSITION ") == fold("roleTransition")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (["identity", "firstName"], "First name"),
        (["applicationImportId"], "Application import ID"),
        (["identityId"], "Identity ID"),
        (["customFields", 2, "number"], "Number"),
        (["customFields", 2], "Custom fields"),
        (["columns", ""], "Columns"),
        ([], "Body"),
    ],
)
def test_field_names_are_shown_in_words(path: list[str | int], name: str) -> None:
    assert human_name(path) == name


def test_new_ids_are_ascending_uuids_of_version_7() -> None:
    made = [new_id() for _ in range(100)]

    assert {id.version for id in made} == {7}
    assert [id.int >> 80 for id in made] == sorted(id.int >> 80 for id in made)


@pytest.mark.parametrize(
    "text", ["", "x", "6f1c000000004000800000000000000a", "{6f1c0000-0000-4000-8000-00000000000a}", 7]
)
def test_only_the_hyphenated_form_is_a_guid(text: object) -> None:
    assert guid(text) is None
    assert guid("6F1C0000-0000-4000-8000-00000000000A") is not None


@pytest.mark.parametrize(
    "spelling", ["Ada\u200b Costa", "A\ufe0fda Costa", "Ada\u3164 Costa", " ada\u00a0\u00a0COSTA "]
)
def test_names_are_compared_without_invisible_characters(spelling: str) -> None:
    assert name_key(spelling) == "ada costa"


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (1001, "1,001 entries")]
)
def test_only_one_thing_is_counted_in_the_singular(count: int, said: str) -> None:
    assert counted(count, "entry", "entries") == said
    assert counted(count, "row") == said.replace("entries", "rows").replace("entry", "row")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["Ada"], "Ada"),
        (["Ada", "Bob", "Eve"], "Ada, Bob and Eve"),
        (["Ada or Bob", "Eve"], "Ada or Bob, and Eve"),
    ],
)
def test_names_are_joined_with_and(names: list[str], words: str) -> None:
    assert and_list(names) == words


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["Ada", "Bob"], "Ada, Bob"),
        (["Ada", "Bob", "Eve"], "Ada, Bob and 1 more"),
        (["Ada"] * 2002, "Ada, Ada and 2,000 more"),
    ],
)
def test_first_names_are_joined_and_others_counted(names: list[str], words: str) -> None:
    assert some_of(names, 2) == words


def test_names_that_are_not_passed_are_counted_too() -> None:
    assert some_of(["Ada", "Bob"], 1, 7) == "Ada and 6 more"
