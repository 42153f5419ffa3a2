"""Test that client commands accept people by name, e-mail or id."""

import json

import pytest

from tests.cli.commands import Caller


@pytest.fixture(scope="module")
def people(call: Caller) -> dict[str, str]:
    """Create people, two of them with the same name; return their ids by title."""
    named = {"Countess": ("Ada", "King"), "Admiral": ("Grace", "Murray"), "Singer": ("Grace\u202e", "Murray Hopper")}
    named |= {"Twin": ("Grace", "Murray")}
    ids = {}
    for title, (first, last) in named.items():
        fields = ("--first-name", first, "--last-name", last, "--title", title, "--email", f"{title}@example.com")
        code, id, said = call(
            "event", "onboard", *fields, "--effective-date", "2035-01-01", "--field", "affectedIdentity.id"
        )
        assert code == 0, said
        ids[title] = id.strip()
    return ids


@pytest.mark.parametrize(
    "words", ["Ada King", "king, ada", "COUNTESS@example.com", "{id}", "{{{id}}}", "urn:uuid:{id}"]
)
def test_person_is_found_by_name_email_or_id(call: Caller, people: dict[str, str], words: str) -> None:
    id = people["Countess"]

    shown = call("identity", "show", words.format(id=id.upper()), "--field", "id")

    assert shown == (0, f"{id}\n", "")


def test_empty_supervisor_removes_the_supervisor(call: Caller, people: dict[str, str]) -> None:
    asked = ("event", "transition", people["Twin"], "--effective-date", "2035-01-01")
    shown = ("--field", "affectedIdentity.supervisorName")

    assert call(*asked, "--supervisor", "Ada King", *shown) == (0, "King, Ada\n", "")
    assert call(*asked, "--supervisor", "", *shown) == (0, "\n", "")


def test_options_accept_people_by_name(call: Caller, people: dict[str, str]) -> None:
    code, _, said = call(
        "app", "create", "Cash Management", "--owner", "Ada King", "--provisioner", "King, Ada",
        "--provisioner", "admiral@example.com",
    )  # fmt: skip
    assert code == 0, said

    known = json.loads(call("app", "configuration", "Cash Management", "--json")[1])
    changed = call("event", "offboard", "Ada King", "--effective-date", "2035-01-01", "--field", "affectedIdentity.id")

    assert known["ownerId"] == people["Countess"]
    assert known["provisionerIds"] == [people["Countess"], people["Admiral"]]
    assert changed[1].strip() == people["Countess"]
    assert call("event", "list", "--identity", "Ada King", "--field", "affectedIdentity.id")[1].split() == [
        people["Countess"],
        people["Countess"],
    ]


def test_ambiguous_name_lists_the_candidates(call: Caller, people: dict[str, str]) -> None:
    code, printed, said = call("event", "offboard", "Grace Murray", "--effective-date", "2035-01-01")

    assert (code, printed) == (5, "")
    lines = said.splitlines()
    assert lines[0] == "Error: Grace Murray matches 2 people; choose one by e-mail or id"
    assert sorted(lines[1:]) == [
        f"  Grace Murray: {title}@example.com, {title}, Active, {people[title]}" for title in ("Admiral", "Twin")
    ]


def test_error_quotes_an_unknown_person_as_typed(call: Caller, people: dict[str, str]) -> None:
    missing = call("identity", "access", "Ada Kin")
    blank = call("request", "list", "--identity", " ")
    forbidden = call("identity", "show", "Ada King", ROLECALL_TOKEN="rct_wrong")

    assert missing == (3, "", "Error: No identity has the name, e-mail, employee ID or id Ada Kin\n")
    assert (blank[0], forbidden[0]) == (3, 4)


def test_people_are_searched_by_name_prefix(call: Caller, people: dict[str, str]) -> None:
    code, printed, _ = call("identity", "search", "murray grace")
    _, as_json, _ = call("identity", "search", "Murray, Gr", "--json")

    assert code == 0
    assert "\u202e" not in printed
    assert len(printed.splitlines()) == 4
    assert {person["id"] for person in json.loads(as_json)} == set(people.values()) - {people["Countess"]}
    assert len(json.loads(call("identity", "search", "Murray, Grace", "--whole", "--json")[1])) == 2
