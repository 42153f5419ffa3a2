"""Read exports with bands above the header, merged cells, holders of several kinds, levels, and logins that repeat."""

from pathlib import Path

import polars as pl
import pytest

from tests.application_imports.reading import Outcome
from tests.file_shapes.test_exports import imported, proposed

_PEOPLE = "Security Group,Group Type,Worker,User Name,Account Disabled\n"
_USERS = {"Login": ["ada", "bob", "cy"], "Email": [f"{name}@example.com" for name in ("ada", "bob", "cy")]}


def _granted(found: Outcome, *fields: str) -> set[tuple[str, ...]]:
    return {tuple(each or "" for each in row) for row in found.rows("permissions", *fields)}


def test_band_above_the_header_is_no_header(tmp_path: Path) -> None:
    text = (
        "User,,,,Function,,,,\n"
        "User ID,User Name,Branch / Dept,Status,Wire Transfer,Loan Booking,GL Posting,Rate Table,EOD\n"
        "cbs1,Ada Byron,Main,Active,U,I,,,\ncbs2,Bob Cray,Main,Active,I,I,A,,\ncbs3,Cy Dent,Ops,Closed,N,N,N,N,N\n"
        "cbs4,Dee Eck,Ops,Active,A,,U,I,U\n"
    )

    found = imported(tmp_path, matrix=text)

    assert (found.active, found.inactive) == ({"cbs1", "cbs2", "cbs4"}, {"cbs3"})
    assert _granted(found, "username", "permission", "value") == {
        ("cbs1", "Wire Transfer", "U"), ("cbs1", "Loan Booking", "I"), ("cbs2", "Wire Transfer", "I"),
        ("cbs2", "Loan Booking", "I"), ("cbs2", "GL Posting", "A"), ("cbs4", "Wire Transfer", "A"),
        ("cbs4", "GL Posting", "U"), ("cbs4", "Rate Table", "I"), ("cbs4", "EOD", "U"),
    }  # fmt: skip


def test_cells_of_a_group_are_filled_down(tmp_path: Path) -> None:
    rows = "HR,User-Based,Ada,ada,No\n,,Bob,bob,Yes\nPay,Role-Based (Constrained),Ada,ada,No\n,,Cy,cy,No\n"

    found = imported(tmp_path, members=f"{_PEOPLE}{rows}")

    assert found.memberships == {("ada", "HR"), ("bob", "HR"), ("ada", "Pay"), ("cy", "Pay")}
    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})


def test_blank_group_of_people_that_do_not_repeat_is_not_filled(tmp_path: Path) -> None:
    found = imported(tmp_path, users="Role,User Name,Email\nAdmin,ada,ada@example.com\n,bob,bob@example.com\n")

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "Admin")}


def test_groups_without_a_login_are_read_by_their_name(tmp_path: Path) -> None:
    text = (
        "Path,Collaborator Name,Collaborator Login,Collaborator Permission,Collaborator Type\n"
        "HR,Ada Byron,ada@example.com,Editor,User\nHR,Audit Group,,Viewer,Group\n"
        "IT,Ada Byron,ada@example.com,Viewer,User\n"
        "IT,Bob Cray,bob@example.com,Editor,External User\n"
    )

    found = imported(tmp_path, folders=text)

    assert found.active == {"ada@example.com", "bob@example.com"}
    assert ("", "Audit Group", "Viewer") in _granted(found, "username", "group", "permission")


def test_grant_to_everyone_at_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    rows = [f"S{n % 40},user,user{n % 90},VIEW{n}" for n in range(2_300)]
    text = "\n".join(["Space Key,Type,Subject,Permission", "S1,group,staff,VIEW", *rows, "KB,anonymous,,VIEW", ""])

    found = imported(tmp_path, spaces=text)

    assert len(found.active) == 90
    assert ("", "anonymous", "VIEW") in _granted(found, "username", "group", "permission")


def test_german_yes_says_who_is_locked(tmp_path: Path) -> None:
    text = "Benutzerkennung;Nachname;Vorname;Gesperrt\nada;Byron;Ada;N\nbob;Cray;Bob;J\n"

    found = imported(tmp_path, benutzer=text)

    assert found.rows("users", "username", "is_locked") == [("ada", False), ("bob", True)]


@pytest.mark.parametrize(
    ("first", "second"),
    [(["User, Admin", "User", "None"], ["User", "None", "User, Admin"]), (["5,000.00", "0.00", ""],) * 2],
)
def test_lists_of_levels_and_amounts_are_offered_as_levels(tmp_path: Path, first: list[str], second: list[str]) -> None:
    table = pl.DataFrame({**_USERS, "Jira limit": first, "Wiki limit": second})

    (file,) = proposed(tmp_path, users=table.write_csv()).files

    signs = {column.header: str(column.may_be_access) for column in file.columns}
    assert signs["Jira limit"] == signs["Wiki limit"] == "levels, with a word for none"


def test_same_login_in_two_databases_is_two_accounts(tmp_path: Path) -> None:
    lines = [
        '{"_id": "loans.app", "user": "app", "db": "loans", "roles": [{"role": "readWrite", "db": "loans"}]}',
        '{"_id": "sales.app", "user": "app", "db": "sales", "roles": [{"role": "read", "db": "sales"}]}',
        '{"_id": "admin.root", "user": "root", "db": "admin", "roles": [{"role": "root", "db": "admin"}]}',
    ]

    found = imported(tmp_path, users="\n".join(lines))

    assert found.active == {"loans.app", "sales.app", "admin.root"}
    assert found.memberships == {("loans.app", "readWrite"), ("sales.app", "read"), ("admin.root", "root")}
