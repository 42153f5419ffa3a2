"""Read workbooks with several sheets and JSON with several lists: the best one first, others if they add contents."""

import json
from pathlib import Path

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.file_shapes.files.proposals import Chosen, propose
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_more_exports import workbook

USERS: list[list[object]] = [
    ["Login", "Full Name", "E-mail", "State"], ["ada", "Ada Byron", "ada@x.com", "Enabled"],
    ["bob", "Bob Kahn", "bob@x.com", "Disabled"], ["cy", "Cy Dee", "cy@x.com", "Enabled"],
]  # fmt: skip
GROUPS: list[list[object]] = [["Group Name", "Description"], ["Sales", "Sells"], ["Ops", "Operates"]]
MEMBERS: list[list[object]] = [["Group Name", "Login"], ["Sales", "ada"], ["Sales", "bob"], ["Ops", "cy"]]
COVER: list[list[object]] = [["Access report"], ["Run by", "IT"], ["Run on", "2026-11-01"]]


def test_contents_are_read_from_several_sheets(tmp_path: Path) -> None:
    book = workbook(COVER, USERS, GROUPS, MEMBERS)

    found = imported(tmp_path, app=book)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})
    assert found.groups == {"Sales", "Ops"}
    assert found.memberships == {("ada", "Sales"), ("bob", "Sales"), ("cy", "Ops")}
    (file,) = proposed(tmp_path, app=book).files
    assert (file.sheet, file.sheets) == ("Sheet 2", ["Sheet 1", "Sheet 2", "Sheet 3", "Sheet 4"])
    assert "sheet Sheet 4 gives memberships" in file.evidence
    assert "Not read: sheet Sheet 1." in " ".join(file.evidence)


def test_report_of_workday_below_a_cover_is_read(tmp_path: Path) -> None:
    workers: list[list[object]] = [
        ["All Workers"], [],
        ["Employee ID", "Legal First Name", "Legal Last Name", "Email", "Worker Type", "Active Status", "Hire Date"],
        ["1001", "Ada", "Byron", "ada@x.com", "Employee", "Yes", "2021-05-01"],
        ["1002", "Bob", "Kahn", "bob@x.com", "Contingent Worker", "No", "2020-08-15"],
    ]  # fmt: skip

    found = imported(tmp_path, workers=workbook(COVER, workers, [["Code", "Meaning"], ["A", "Active"]]))

    assert found.rows("identities", "employee_id", "first_name", "status") == [
        ("1001", "Ada", "Active"), ("1002", "Bob", "Disabled"),
    ]  # fmt: skip


def test_person_chooses_a_sheet(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(workbook(USERS, GROUPS, MEMBERS))
    sample = sample_of(tmp_path / "app", "app")

    (file,) = propose([sample], {"app": Chosen(sheet="Sheet 3")}).files
    (missing,) = propose([sample], {"app": Chosen(sheet="Sheet 9")}).files

    assert [part.content for part in file.contents][:1] == ["memberships"]
    assert file.contents[0].shape["sheet"] == "Sheet 3"
    assert missing.problem == "there is no sheet Sheet 9; shape.sheet may be Sheet 1, Sheet 2, Sheet 3"


def test_import_reads_the_sheet_that_the_shape_names(tmp_path: Path) -> None:
    columns = {"Login": "Username", "State": "Active"}
    group = {"name": "Users", "content": "users", "columns": columns}
    book = workbook(COVER, USERS)

    found = read_files(tmp_path, [{**group, "shape": {"sheet": "Sheet 2"}}], {"Users": [book]})

    assert found.active == {"ada", "cy"}
    with pytest.raises(BrokenFile, match=r"there is no sheet Staff; shape\.sheet may be Sheet 1, Sheet 2"):
        read_files(tmp_path, [{**group, "shape": {"sheet": "Staff"}}], {"Users": [book]})


def test_log_names_sheets_that_are_not_read(tmp_path: Path) -> None:
    group = {"name": "Users", "content": "users", "columns": {"Login": "Username", "State": "Active"}}

    found = read_files(tmp_path, [group], {"Users": [workbook(USERS, GROUPS)]})

    assert "only the sheet Sheet 1 is read; others have data too: Sheet 2. Set shape.sheet" in found.notes[0]


ENTRA = (
    '{"users": [{"login": "ada", "enabled": true, "name": "Ada Byron"}, {"login": "bob", "enabled": false, '
    '"name": "Bob Kahn"}], "groups": [{"group": "Sales", "description": "Sells", "members": ["ada", "bob"]}, '
    '{"group": "Ops", "description": "Operates", "members": ["ada"]}], "log": [{"at": 1}]}'
)


def test_contents_are_read_from_several_lists(tmp_path: Path) -> None:
    found = imported(tmp_path, dump=ENTRA)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.groups == {"Sales", "Ops"}
    assert found.memberships == {("ada", "Sales"), ("bob", "Sales"), ("ada", "Ops")}
    (file,) = proposed(tmp_path, dump=ENTRA).files
    assert (file.records, file.lists) == ("users", ["users", "groups", "log"])
    assert "Not read: list log (1)." in " ".join(file.evidence)


def test_person_chooses_a_list_inside_records(tmp_path: Path) -> None:
    text = (
        '[{"UserName": "ada", "Policies": [{"PolicyName": "Read", "Arn": "1"}, {"PolicyName": "Write", "Arn": "2"}]}, '
        '{"UserName": "bob", "Policies": [{"PolicyName": "Read", "Arn": "1"}]}]'
    )
    (tmp_path / "dump").write_text(text)
    sample = sample_of(tmp_path / "dump", "dump")

    (whole,) = propose([sample]).files
    (inner,) = propose([sample], {"dump": Chosen(records="[].Policies[]")}).files

    assert "Each record has lists inside: [].Policies[]" in " ".join(whole.evidence)
    assert [row.get("username") for row in inner.contents[0].understood] == ["ada", "ada", "bob"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("items[].owners[]", "no entry of items has a list owners"),
        ("items[].a[].b[]", "a path has at most one list inside a list"),
    ],
)
def test_path_into_a_missing_list_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    group = {"name": "Users", "content": "users", "columns": {"login": "Username"}, "shape": {"records": path}}

    with pytest.raises(BrokenFile, match=problem):
        read_files(tmp_path, [group], {"Users": ['{"items": [{"login": "ada", "a": [{"b": 1}]}]}']})


PEOPLE: list[list[object]] = [
    ["Username", "Name", "Status"],
    ["ada", "Ada Byron", "Active"],
    ["bob", "Bob Kahn", "Disabled"],
]
MATRIX: list[list[object]] = [["Username", "Create", "Approve", "Delete"], ["ada", "X", "", "X"], ["bob", "X", "X", ""]]


def test_matrix_on_the_second_sheet_is_read_beside_the_users(tmp_path: Path) -> None:
    found = imported(tmp_path, book=workbook(PEOPLE, MATRIX))

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.permissions == {
        ("ada", "", "", "Create"), ("ada", "", "", "Delete"), ("bob", "", "", "Create"), ("bob", "", "", "Approve"),
    }  # fmt: skip


def test_matrix_of_other_users_on_the_second_sheet_is_not_read(tmp_path: Path) -> None:
    others: list[list[object]] = [MATRIX[0], ["zoe", "X", "", "X"], ["yan", "X", "X", ""]]

    (file,) = proposed(tmp_path, book=workbook(PEOPLE, others)).files

    assert [part.content for part in file.contents] == ["users"]
    assert any("Not read: sheet Sheet 2" in line for line in file.evidence)


def test_matrix_with_sections_may_have_users_below_a_blank_cell(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["", "Bills", "", "Pay", ""], ["User", "View", "Edit", "View", "Edit"], ["ada", "X", "", "X", ""],
        ["bob", "", "X", "", ""],
    ]  # fmt: skip

    found = imported(tmp_path, book=workbook(PEOPLE, rows))

    assert found.rows("permissions", "username", "section", "permission") == [
        ("ada", "Bills", "View"), ("ada", "Pay", "View"), ("bob", "Bills", "Edit"),
    ]  # fmt: skip


@pytest.mark.parametrize("memberships", [True, False])
def test_names_of_groups_in_another_list_become_descriptions_of_their_ids(tmp_path: Path, *, memberships: bool) -> None:
    people = [{"id": 1, "login": "ada", "name": "Ada Byron"}, {"id": 2, "login": "bob", "name": "Bob Kahn"}]
    roles = [{"id": 7, "name": "Clerk"}, {"id": 8, "name": "Boss"}]
    pairs = [{"user_id": 1, "role_id": 7}, {"user_id": 2, "role_id": 7}, {"user_id": 2, "role_id": 8}]
    inside = [{**each, "role_ids": ids} for each, ids in zip(people, ([7], [7, 8]), strict=True)]
    lists = {"users": people, "roles": roles, "user_roles": pairs} if memberships else {"users": inside, "roles": roles}

    found = imported(tmp_path, dump=json.dumps(lists))

    first, second = ("1", "2") if memberships else ("ada", "bob")
    assert found.memberships == {(first, "7"), (second, "7"), (second, "8")}
    assert found.rows("groups", "group", "description") == [("7", "Clerk"), ("8", "Boss")]


def test_list_of_permissions_by_id_is_no_list_of_groups(tmp_path: Path) -> None:
    files = {
        "grants": "role_id,permission_id\n7,100\n7,101\n8,101\n",
        "permissions": "id,name\n100,Create\n101,Approve\n",
        "roles": "id,name\n7,Clerk\n8,Boss\n",
    }

    assert [file.problem for file in proposed(tmp_path, **files).files] == [
        None,
        "its rows name neither accounts nor who has access, and roles already has groups; leave this file out, or "
        "import it as a separate application",
        None,
    ]
