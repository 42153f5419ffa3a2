"""Read numbered columns that belong together, such as App 1 and Role 1, as one grant for each number."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import contents, imported, proposed
from tests.file_shapes.test_states import asked


def test_yes_and_no_beside_a_numbered_name_say_whether_it_is_granted(tmp_path: Path) -> None:
    text = (
        "User,Full Name,App 1,Access 1,App 2,Access 2\nada,Ada Byron,SAP,Yes,Payroll,No\nbob,Bob Kahn,Payroll,Yes,,\n"
    )

    found = imported(tmp_path, export=text)

    assert set(found.rows("permissions", "username", "section", "permission", "access")) == {
        ("ada", "", "SAP", "Grant"),
        ("ada", "", "Payroll", "None"),
        ("bob", "", "Payroll", "Grant"),
    }


def test_first_pair_may_have_no_number(tmp_path: Path) -> None:
    text = (
        "Login,Email,App,Permission,App 2,Permission 2\n"
        "ada,ada@x.org,Sales,Owner,Finance,Member\nbob,bob@x.org,Sales,Member,,\n"
    )

    found = imported(tmp_path, export=text)

    assert set(found.rows("permissions", "username", "section", "permission", "access")) == {
        ("ada", "Sales", "Owner", "Grant"),
        ("ada", "Finance", "Member", "Grant"),
        ("bob", "Sales", "Member", "Grant"),
    }


def test_pairs_of_json_records_and_numbers_inside_headers_are_read(tmp_path: Path) -> None:
    records = '[{"user": "ada", "app1 name": "SAP", "app1 role": "Owner", "app2 name": "CRM", "app2 role": "Member"}]'
    table = "user,name,App1 Name,App1 Role,App2 Name,App2 Role\nada,Ada Byron,SAP,Owner,CRM,Member\n"

    for text in (records, table):
        found = imported(tmp_path, export=text)
        assert set(found.rows("permissions", "section", "permission")) == {("SAP", "Owner"), ("CRM", "Member")}
        assert found.active == {"ada"}


def test_role_without_a_name_of_the_same_number_stays_a_group(tmp_path: Path) -> None:
    text = (
        "Login,Name,Phone 1,Phone 2,Role 1,Role 2\n"
        "ada,Ada Byron,555-1,555-2,Admin,User\nbob,Bob Kahn,555-3,,User,Guest\n"
    )

    assert contents(tmp_path, export=text) == ["users", "memberships"]
    assert ("ada", "Admin") in imported(tmp_path, export=text).memberships


def test_end_dates_of_pairs_are_asked_about_and_do_not_end_accounts(tmp_path: Path) -> None:
    text = (
        "Login,Name,App 1,Role 1,End Date 1,App 2,Role 2,End Date 2\n"
        "ada,Ada Byron,SAP,Owner,2020-01-31,CRM,Member,\nbob,Bob Kahn,SAP,Member,,,,\n"
    )

    assert asked(tmp_path, export=text) == [
        "Columns that may say more about each App and Role are not read: End Date 1. Import without them?"
    ]
    assert "Active" not in proposed(tmp_path, export=text).connector["files"][0]["columns"].values()


def test_column_with_the_name_of_the_field_is_asked_about(tmp_path: Path) -> None:
    text = "Login,Email,App,Access,App 2,Access 2\nada,a@x.org,SAP,Yes,CRM,No\nbob,b@x.org,SAP,Yes,,\n"

    assert asked(tmp_path, export=text) == [
        "Access cannot be read beside columns with numbers; rename it to Access 1. Import without it?"
    ]


def test_columns_with_most_numbers_belong_to_the_roles(tmp_path: Path) -> None:
    text = (
        "username,firstname,lastname,cohort1,course1,role1,course2,role2\n"
        "ada,Ada,Byron,staff,BIO,teacher,WIS,teacher\nbob,Bob,Kahn,4V,BIO,student,,\ncy,Cy,Dee,staff,,,,\n"
    )

    found = imported(tmp_path, export=text)

    assert set(found.rows("permissions", "username", "section", "permission")) == {
        ("ada", "BIO", "teacher"),
        ("ada", "WIS", "teacher"),
        ("bob", "BIO", "student"),
    }
    (file,) = proposed(tmp_path, export=text).files
    assert [each.header for each in file.columns if each.may_be_access] == ["cohort1"]


def test_end_dates_of_numbered_groups_are_asked_about_and_do_not_end_accounts(tmp_path: Path) -> None:
    text = (
        "Login,Name,Role 1,End Date 1,Role 2,End Date 2\nada,Ada Byron,Clerk,2020-01-31,Boss,\nbob,Bob Kahn,Clerk,,,\n"
    )

    assert asked(tmp_path, export=text) == [
        "Columns that may say more about each group in Role 1, Role 2 are not read: End Date 1. Import without them?"
    ]
    found = imported(tmp_path, export=text)
    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "Clerk"), ("ada", "Boss"), ("bob", "Clerk")}


def test_one_of_several_numbered_permissions_is_not_read_silently(tmp_path: Path) -> None:
    text = (
        "Login,Name,Permission 1,Description 1,Permission 2,Description 2\n"
        "ada,Ada Byron,Clerk,All clerks,Boss,Bosses\nbob,Bob Kahn,Clerk,All clerks,,\n"
    )

    assert asked(tmp_path, export=text) == ["Only Permission 1 is read. Not read: Permission 2. Import without them?"]


def test_level_with_several_values_is_asked_about(tmp_path: Path) -> None:
    text = "Login,Name,Group 1,Role 1,Group 2,Role 2\nada,Ada Byron,Sales,R;W,HR,R\nbob,Bob Kahn,Sales,R,,\n"

    assert asked(tmp_path, export=text) == [
        "Role 1 may list several values, such as R;W. Import each cell as one name?"
    ]


def test_pairs_beyond_the_longest_pattern_are_asked_about(tmp_path: Path) -> None:
    headers = [f"{word} {n}" for n in range(1, 61) for word in ("Application Name", "Application Role")]
    cells = [text for n in range(1, 61) for text in (f"App{n}", f"R{n % 4}")]
    text = f"Login,Name,{','.join(headers)}\nada,Ada Byron,{','.join(cells)}\n"

    (question,) = asked(tmp_path, export=text)

    assert "are not read: Application Name 30, Application Name 31," in question
    assert len(imported(tmp_path, export=text).rows("permissions", "section")) == 29


_PEOPLE = "username,firstname,lastname,email,course1,role1,"


@pytest.mark.parametrize("more", ["course01,role01", "course01", "course_1,role_1", "Course 1,Role 1"])
def test_columns_with_a_number_that_is_taken_are_asked_about(tmp_path: Path, more: str) -> None:
    cells = ",".join(["bio", "student"][: more.count(",") + 1])
    blank = "," * more.count(",")
    text = (
        f"{_PEOPLE}{more}\nada,Ada,Byron,ada@x.org,math,teacher,{cells}\nbob,Bob,Kahn,bob@x.org,math,student,{blank}\n"
    )

    assert f"not read: {more.replace(',', ', ')}. Import without them?" in str(asked(tmp_path, export=text))
    assert set(imported(tmp_path, export=text).rows("permissions", "username", "section", "permission")) == {
        ("ada", "math", "teacher"),
        ("bob", "math", "student"),
    }


@pytest.mark.parametrize(("first", "second"), [("", ""), ("-", "none"), ("", "n/a")])
def test_roles_without_a_course_are_asked_about(tmp_path: Path, first: str, second: str) -> None:
    text = (
        f"{_PEOPLE}course2,role2\nada,Ada,Byron,ada@x.org,math,teacher,{first},student\n"
        f"bob,Bob,Kahn,bob@x.org,math,student,{second},editor\n"
    )

    assert asked(tmp_path, export=text) == [
        "Not read: 2 cells with a role without a course, such as student. Import without them?"
    ]


def test_column_without_a_number_is_kept_beside_one_with_zero(tmp_path: Path) -> None:
    text = "Login,Email,App,Permission,App 0,Permission 0\nada,a@x.org,Sales,Owner,CRM,Member\nbob,b@x.org,HR,User,,\n"

    assert set(imported(tmp_path, export=text).rows("permissions", "username", "section", "permission")) == {
        ("ada", "Sales", "Owner"),
        ("ada", "CRM", "Member"),
        ("bob", "HR", "User"),
    }


def test_role_beside_numbered_groups_is_stated_as_not_read(tmp_path: Path) -> None:
    text = "Login,Name,Role,Group 1,Group 2\nada,Ada Byron,Clerk,Staff,Door\nbob,Bob Kahn,Clerk,Staff,\n"

    evidence = proposed(tmp_path, export=text).files[0].contents[0].evidence

    assert "Memberships are read only from Group 1 and Group 2, not from Role" in evidence
