"""Read grants to users and groups whose kind is in a column, although no header says what is granted."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import contents, imported
from tests.file_shapes.test_states import asked

_ROWS = [
    ("Office", "CORP\\ada", "User"), ("Office", "CORP\\Sales Staff", "Group"), ("Lab", "CORP\\bob", "User"),
    ("Lab", "CORP\\ada", "User"), ("Lab", "CORP\\Engineers", "Group"),
]  # fmt: skip
_HELD = {
    ("CORP\\ada", "", "Office"), ("", "CORP\\Sales Staff", "Office"), ("CORP\\bob", "", "Lab"),
    ("CORP\\ada", "", "Lab"), ("", "CORP\\Engineers", "Lab"),
}  # fmt: skip


def table(header: str, user: str = "User", group: str = "Group") -> str:
    words = {"User": user, "Group": group}
    return "\n".join([header, *(",".join((place, name, words[kind])) for place, name, kind in _ROWS), ""])


@pytest.mark.parametrize(
    ("header", "user", "group"),
    [
        ("Pool,Entitlement,Entitlement Type", "User", "Group"),
        ("Desktop,Member,Member Type", "Users", "Groups"),
        ("Site,Trustee,Trustee Type", "Account", "Security Group"),
        ("Permission,Granted To,Type", "Account", "Role"),
        ("Role,Assigned Account,Account Type", "User", "Security Group"),
        ("Application,Benutzer oder Gruppe,Typ", "Benutzer", "Gruppe"),
        ("Permission,Granted To,Type", "Internal", "SharePointGroup"),
        ("Permission,Granted To,Type", "Guest", "SecurityGroup"),
    ],
)
def test_kind_says_which_holders_are_groups(tmp_path: Path, header: str, user: str, group: str) -> None:
    found = imported(tmp_path, export=table(header, user, group))

    assert set(found.rows("permissions", "username", "group", "permission")) == _HELD
    assert found.active == {"CORP\\ada", "CORP\\bob"}


def test_kind_beside_logins_is_read_if_only_its_groups_look_like_groups(tmp_path: Path) -> None:
    lines = ["Pool,Display Name,Account,Entitlement Type"]
    lines += [f"{place},{name.partition(chr(92))[2].title()},{name},{kind}" for place, name, kind in _ROWS]

    found = imported(tmp_path, export="\n".join(lines))

    assert set(found.rows("permissions", "username", "group", "permission")) == _HELD
    assert found.active == {"CORP\\ada", "CORP\\bob"}


def test_level_beside_a_place_is_the_permission(tmp_path: Path) -> None:
    lines = ["Site,Trustee,Trustee Type,Access", *(f"{place},{name},{kind},Full" for place, name, kind in _ROWS)]

    found = imported(tmp_path, export="\n".join(lines))

    assert {row[:2] for row in found.rows("permissions", "section", "permission", "username")} == {
        ("Office", "Full"),
        ("Lab", "Full"),
    }


def test_state_of_what_is_held_is_asked_about(tmp_path: Path) -> None:
    states = {"Office": "True", "Lab": "False"}

    for header in ("Pool,Entitlement,Entitlement Type,Enabled", "Team,Member,Member Type,Enabled"):
        lines = [header, *(f"{place},{name},{kind},{states[place]}" for place, name, kind in _ROWS)]
        assert "Do rows with False give access?" in str(asked(tmp_path, export="\n".join(lines)))
        assert imported(tmp_path, export="\n".join(lines)).inactive == set()


def test_several_columns_that_may_name_what_is_held_are_asked_about(tmp_path: Path) -> None:
    lines = ["Pool,Farm,Entitlement,Entitlement Type"]
    lines += [f"{place},Farm {place},{name},{kind}" for place, name, kind in _ROWS]

    assert asked(tmp_path, export="\n".join(lines)) == [
        "Which column names what the users and groups have? Proposed: Pool."
    ]


def test_kind_of_a_role_beside_logins_is_no_kind_of_holders(tmp_path: Path) -> None:
    text = "Username,Role,Role Type\nada,Clerk,User\nada,Boss,Group\nbob,Clerk,User\n"

    found = imported(tmp_path, export=text)

    assert found.memberships == {("ada", "Clerk"), ("ada", "Boss"), ("bob", "Clerk")}


def test_list_of_users_and_groups_is_no_list_of_grants(tmp_path: Path) -> None:
    text = "Name,Type,Site\nada,User,Main\nbob,User,Main\nstaff,Group,Main\ncy,User,Ops\n"

    assert contents(tmp_path, export=text)[0] == "users"


_NOT_HELD = ("CORP\\bob", "CORP\\Engineers")


def with_flags(header: str, held: str, not_held: str) -> str:
    """Return a table with a column beside the grants. It says that two of the holders do not have their access."""
    flags = [not_held if name in _NOT_HELD else held for _, name, _ in _ROWS]
    lines = [f"{place},{name},{kind},{flag}" for (place, name, kind), flag in zip(_ROWS, flags, strict=True)]
    return "\n".join([f"Pool,Entitlement,Entitlement Type,{header}", *lines])


@pytest.mark.parametrize("header", ["Entitled", "Is Entitled"])
def test_column_of_entitled_rows_is_read_as_access(tmp_path: Path, header: str) -> None:
    found = imported(tmp_path, export=with_flags(header, "Yes", "No"))

    rows = found.rows("permissions", "username", "group", "access")
    assert {row[:2] for row in rows if row[2] != "Grant"} == {("CORP\\bob", ""), ("", "CORP\\Engineers")}


@pytest.mark.parametrize(
    ("header", "held", "not_held"),
    [
        ("Assigned", "Y", "N"),
        ("Assigned", "x", ""),
        ("Approved", "true", "false"),
        ("Removed", "", "x"),
        ("Withdrawn", "No", "Yes"),
        ("Result", "Active", "Revoked"),
        ("Lifecycle", "ok", "revoked"),
        ("Entitlement Status", "Active", "Revoked"),
    ],
)
def test_column_that_may_end_grants_is_asked_about(tmp_path: Path, header: str, held: str, not_held: str) -> None:
    export = with_flags(header, held, not_held)

    (question,) = asked(tmp_path, export=export)

    assert f"rows with {not_held or 'a blank'} give access?" in question
    assert set(imported(tmp_path, export=export).rows("permissions", "permission")) == {"Office", "Lab"}
