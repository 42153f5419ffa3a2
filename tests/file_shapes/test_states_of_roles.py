"""Test that states in parentheses behind roles, as in `member (deactivated)`, are not read as part of the roles."""

from pathlib import Path

import pytest

from rolecall.file_shapes.draft_answers import answer
from tests.application_imports.reading import Outcome, read_file, read_files
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_states import asked

MEMBERS = "login,name,role\nanna,Anna Berg,admin\nbob,Bob Kahn,member (deactivated)\ncyd,Cyd Dee,member\n"
GRANTS = "login,system,role\nanna,CRM,admin\nanna,ERP,member (deactivated)\nbob,CRM,member\nbob,ERP,admin [Suspended]\n"


def answered(folder: Path, text: str, label: str) -> Outcome:
    proposal = proposed(folder, export=text)
    (group,) = proposal.connector["files"]
    sections = [group, *group["shape"].get("contents", [])]
    for part, section in zip(proposal.files[0].contents, sections, strict=True):
        for choice in [each for question in part.questions for each in question.choices if each.label == label]:
            answer(section, choice)
        section["shape"].pop("openQuestions", None)
    return read_files(folder, [group], {group["name"]: text})


def test_state_behind_role_is_that_of_the_account(tmp_path: Path) -> None:
    found = imported(tmp_path, export=MEMBERS)

    assert (found.active, found.inactive) == ({"anna", "cyd"}, {"bob"})
    assert found.memberships == {("anna", "admin"), ("bob", "member"), ("cyd", "member")}
    assert asked(tmp_path, export=MEMBERS) == []


def test_accounts_without_details_get_the_state_behind_their_role(tmp_path: Path) -> None:
    text = "login,role\nanna,admin\nbob,member (deactivated)\ncyd,Support (EU)\ndee,Support (US)\n"

    found = imported(tmp_path, export=text)

    assert found.inactive == {"bob"}
    assert found.memberships == {("anna", "admin"), ("bob", "member"), ("cyd", "Support (EU)"), ("dee", "Support (US)")}


def test_state_of_a_later_file_is_not_part_of_the_role(tmp_path: Path) -> None:
    group = proposed(tmp_path, export=MEMBERS).connector["files"][0]

    found = read_files(tmp_path, [group], {group["name"]: "login,name,role\neve,Eve Gale,guest (Gesperrt)\n"})

    assert (found.inactive, found.memberships) == ({"eve"}, {("eve", "guest")})


@pytest.mark.parametrize(("label", "inactive"), [("means active", set()), ("means not active", {"bob"})])
def test_doubtful_state_behind_role_is_a_question(tmp_path: Path, label: str, inactive: set[str]) -> None:
    text = MEMBERS.replace("deactivated", "Pending invite")

    found = answered(tmp_path, text, f"Pending invite {label}")

    assert asked(tmp_path, export=text) == ["role: what does Pending invite mean? Proposed: not active."]
    assert found.inactive == inactive
    assert ("bob", "member") in found.memberships


def test_state_behind_role_that_contradicts_the_status_is_a_question(tmp_path: Path) -> None:
    text = (
        "login,name,status,role\nanna,Anna Berg,active,member (deactivated)\ncyd,Cyd Dee,inactive,admin (suspended)\n"
    )

    assert asked(tmp_path, export=text) == [
        "role has member (deactivated), but status does not say that these accounts are inactive. Does status count?"
    ]
    assert asked(tmp_path, export=text.replace("(deactivated)", "(active)")) == []


def test_states_that_differ_between_the_roles_of_an_account_are_a_question(tmp_path: Path) -> None:
    assert asked(tmp_path, export=GRANTS) == [
        "role has states in parentheses, such as member (deactivated), admin [Suspended]. Do rows with (deactivated), "
        "[Suspended] give access?"
    ]
    kept, left = (answered(tmp_path, GRANTS, label) for label in ("Yes, read all rows", "No, leave them out"))
    held = {("anna", "", "CRM", "admin"), ("bob", "", "CRM", "member")}
    assert kept.permissions == held | {("anna", "", "ERP", "member"), ("bob", "", "ERP", "admin")}
    assert left.permissions == held


def test_state_of_one_role_in_a_list_is_a_question(tmp_path: Path) -> None:
    text = "login,name,roles\nanna,Anna Berg,admin;billing\nbob,Bob Kahn,member (deactivated);billing\n"

    assert asked(tmp_path, export=text) == [
        "roles has states in parentheses, such as member (deactivated). Do rows with (deactivated) give access?"
    ]
    assert answered(tmp_path, text, "No, leave them out").memberships == {
        ("anna", "admin"), ("anna", "billing"), ("bob", "billing"),
    }  # fmt: skip


def test_state_behind_the_name_of_a_team_is_a_question(tmp_path: Path) -> None:
    text = "login,name,teams\nanna,Anna Berg,Sales;Apollo (archived)\nbob,Bob Kahn,Sales;HR (pending)\n"

    assert asked(tmp_path, export=text) == [
        "teams has names with a state in parentheses: Apollo (archived). Have these groups ended?"
    ]


def test_filters_part_names_and_states(tmp_path: Path) -> None:
    text = "login,role\na,Admin (SUSPENDED)\nb,Admin (EU)\nc,Admin\nd,Admin (EU) [former employee]\ne,Admin (frozen)\n"
    shape = {"join": {"Group": "{role|stateless(frozen;banned)}", "Username": "{login} {role|state()|else(-)}"}}

    assert read_file(tmp_path, text, "memberships", shape=shape).rows("memberships", "username", "group") == [
        ("a SUSPENDED", "Admin"), ("b -", "Admin (EU)"), ("c -", "Admin"), ("d former employee", "Admin (EU)"),
        ("e -", "Admin"),
    ]  # fmt: skip
