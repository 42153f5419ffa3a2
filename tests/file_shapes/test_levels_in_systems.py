"""Test rows with a user, a system and a level, lists in several of these columns, and people without logins."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_states import asked

PAIRS = "Does every value of one apply to every value of the other? If not, export one row for each pair."


@pytest.mark.parametrize("header", ["user,system,level", "username,application,access", "User,Workspace,Access Level"])
def test_level_in_a_system_is_a_permission(tmp_path: Path, header: str) -> None:
    text = f"{header}\nada,CRM,Read\nada,ERP,Write\nbob,CRM,Read\ncy,HR,None\n"

    found = imported(tmp_path, export=text)

    assert asked(tmp_path, export=text) == []
    assert found.permissions == {("ada", "", "CRM", "Read"), ("ada", "", "ERP", "Write"), ("bob", "", "CRM", "Read")}


def test_systems_of_people_with_details_stay_details(tmp_path: Path) -> None:
    text = "login,name,email,system,level\nada,Ada Byron,a@x.com,CRM,1\nbob,Bob Kahn,b@x.com,ERP,2\n"

    (file,) = proposed(tmp_path, export=text).files

    assert [part.content for part in file.contents] == ["users"]


@pytest.mark.parametrize(
    ("sign", "words"), [(";", "a semicolon"), ("|", "a bar"), (", ", "a comma"), ("\n", "a line break")]
)
def test_lists_in_several_columns_are_one_question_in_words(tmp_path: Path, sign: str, words: str) -> None:
    lists = ",".join(f'"{sign.join(values)}"' for values in (["CRM", "ERP"], ["A", "B"], ["Read", "Post"], ["1", "2"]))
    text = f"User,System,Section,Permission,Limit\nada,{lists}\nbob,CRM,A,Read,3\n"

    assert asked(tmp_path, export=text) == [
        f"Permission, System, Section and Limit list values, separated by {words}. {PAIRS}"
    ]
    (part,) = proposed(tmp_path, export=text).files[0].contents
    assert f"A cell of Permission has several values, separated by {words}" in part.statements


def test_permissions_apply_to_every_place_of_a_list(tmp_path: Path) -> None:
    text = "User,System,Permission\nada,CRM;ERP,Read;Post\nbob,CRM,Read\n"

    assert imported(tmp_path, export=text).permissions == {
        ("ada", "", "CRM", "Read"), ("ada", "", "CRM", "Post"), ("ada", "", "ERP", "Read"), ("ada", "", "ERP", "Post"),
        ("bob", "", "CRM", "Read"),
    }  # fmt: skip


def test_places_of_one_permission_need_no_question(tmp_path: Path) -> None:
    text = "User,System,Permission\nada,CRM;ERP,Read\nbob,CRM,Post\n"

    assert asked(tmp_path, export=text) == []
    assert ("ada", "", "ERP", "Read") in imported(tmp_path, export=text).permissions


def test_comma_in_the_name_of_a_place_does_not_separate(tmp_path: Path) -> None:
    text = 'User,Site,Permission\nada,"Bonn, DE",Read;Post\nbob,"Rome, IT",Read\n'

    assert {row[2] for row in imported(tmp_path, export=text).rows("permissions", "username", "header", "section")} == {
        "Bonn, DE",
        "Rome, IT",
    }


def test_names_of_people_without_logins_are_asked_about(tmp_path: Path) -> None:
    text = "Employee,System,Access Level\nAda Byron,CRM,Read\nAda Byron,ERP,Write\nBob Kahn,CRM,Read\n"

    assert asked(tmp_path, export=text) == [
        "No column has logins. Does Employee name the accounts, such as Ada Byron? People with the same name would be "
        "one account."
    ]
    assert ("Ada Byron", "", "ERP", "Write") in imported(tmp_path, export=text).permissions
