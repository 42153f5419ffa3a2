"""Decide what the rows of a matrix are: a header that does not say it becomes a question."""

from pathlib import Path

import pytest

from rolecall.applications.model import Content
from rolecall.file_shapes.draft_answers import decided_again
from rolecall.file_shapes.files.proposals import Chosen, propose
from rolecall.file_shapes.shapes import OpenQuestion, ProposalDetail
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import Outcome, read_files
from tests.file_shapes.test_exports import contents, imported, proposed

_RIGHTS = "user_view,x,x,\nuser_edit,x,,\nuser_delete,x,,\nbilling_view,x,x,x\n"
_PEOPLE = "ada,x,x,\nbob,x,,\ncyd,,,x\n"


def _about_rows(proposal: ProposalDetail) -> list[OpenQuestion]:
    questions = [each for part in proposal.files[0].contents for each in part.questions]
    return [each for each in questions if each.choices and each.choices[0].key == "rows"]


def _decided(folder: Path, text: str, rows: str) -> Outcome:
    (folder / "export").write_text(text)
    found = propose([sample_of(folder / "export", "export")], {"export": Chosen(rows=rows, header_line=1)})
    assert _about_rows(found) == []
    return read_files(folder, found.connector["files"], {str(found.files[0].file_group): [text]})


@pytest.mark.parametrize("header", ["code", "slug", "Name", "key", "ID"])
def test_unknown_header_of_the_rows_of_a_matrix_is_asked_for(tmp_path: Path, header: str) -> None:
    found = proposed(tmp_path, export=f"{header},admin,staff,customer\n{_RIGHTS}")

    (question,) = _about_rows(found)
    assert question.text == (
        f"The header {header} does not say what the rows of this matrix are. Are they accounts, groups or permissions? "
        "Proposed: permissions, and admin, staff, customer hold them."
    )
    assert [choice.value for choice in question.choices] == ["Permission", "Username", "Group"]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("code,admin,staff,customer", "user.create,true,true,\nbilling:read,true,,true\nbilling:write,true,,\n"),
        ("slug,Admin,Staff,Customer", "user.create,Y,Y,N\nbilling:read,Y,N,N\nbilling:write,Y,N,N\n"),
        ("code,admin,staff,customer", "user_view,x,x,\nuser_edit,x,,\nuser_delete,x,,\n"),
        ("id,name,admin,staff", "1,View users,x,x\n2,Edit users,x,\n3,Delete users,x,\n"),
    ],
)
def test_permissions_in_the_rows_of_a_matrix_are_no_accounts(tmp_path: Path, header: str, rows: str) -> None:
    assert contents(tmp_path, export=f"{header}\n{rows}") == ["permissions"]
    assert len(_about_rows(proposed(tmp_path, export=f"{header}\n{rows}"))) == 1


@pytest.mark.parametrize("header", ["Resource", "Feature", "Capability", "Action", "Menu", "Endpoint"])
def test_things_that_are_used_are_permissions_of_roles(tmp_path: Path, header: str) -> None:
    found = imported(tmp_path, export=f"{header},admin,staff,customer\nUsers,x,x,\nBills,x,,\nReports,x,,x\n")

    assert found.deltas.keys() == {Content.PERMISSIONS}
    assert found.rows("permissions", "group", "permission") == [
        ("admin", "Users"), ("staff", "Users"), ("admin", "Bills"), ("admin", "Reports"), ("customer", "Reports"),
    ]  # fmt: skip


def test_answer_decides_what_the_rows_of_a_matrix_are(tmp_path: Path) -> None:
    rights, people = f"code,admin,staff,customer\n{_RIGHTS}", f"code,SAP,CRM,VPN\n{_PEOPLE}"

    assert ("", "admin", "", "user_edit") in _decided(tmp_path, rights, "Permission").permissions
    assert ("", "user_edit", "", "admin") in _decided(tmp_path, rights, "Group").permissions
    assert _decided(tmp_path, people, "Username").active == {"ada", "bob", "cyd"}


def test_decision_about_rows_keeps_the_header_line(tmp_path: Path) -> None:
    found = proposed(tmp_path, export=f"Name,SAP,CRM,VPN\n{_PEOPLE}")
    (question,) = _about_rows(found)

    again = decided_again(found.files, [(0, question.choices[0])])

    assert again == {"export": {"sheet": None, "records": None, "header_line": 1, "rows": "Permission"}}


@pytest.mark.parametrize("text", ["Resource,read,write,delete\nUsers,x,x,\nBills,x,,\nRest,x,,x\n"])
def test_matrix_without_holders_becomes_a_question(tmp_path: Path, text: str) -> None:
    (part,) = proposed(tmp_path, export=text).files[0].contents

    assert "No column names accounts, groups or roles. Are read, write, delete roles?" in part.questions[0].text


@pytest.mark.parametrize("cells", ["yes,yes\nEdit,yes,no", "true,true\nEdit,true,false", "1,1\nEdit,1,0"])
def test_two_roles_across_permissions_are_a_matrix(tmp_path: Path, cells: str) -> None:
    found = imported(tmp_path, export=f"Permission,admin,user\nCreate,{cells}\n")

    assert {row for row in found.permissions if row[1]} >= {("", "admin", "", "Create"), ("", "admin", "", "Edit")}
    assert Content.USERS not in found.deltas


def test_people_in_rows_have_the_roles_in_the_headers(tmp_path: Path) -> None:
    found = imported(tmp_path, export="Name,Department,Admin,Staff,Guest\nAda Byron,IT,x,x,\nBob Kahn,HR,,x,x\n")

    assert found.active == {"Ada Byron", "Bob Kahn"}


def test_names_of_roles_in_the_headers_are_not_people(tmp_path: Path) -> None:
    text = "Area,System Administrator,Standard User,Marketing Manager\nBills,x,x,\nUsers,x,,\nReports,x,,x\n"

    assert contents(tmp_path, export=text) == ["permissions"]
    (question,) = _about_rows(proposed(tmp_path, export=text))
    assert "Proposed: permissions" in question.text


def test_rows_that_describe_people_need_no_answer(tmp_path: Path) -> None:
    text = "ID,Full Name,SAP,CRM,VPN\nu1,Ada Byron,x,x,\nu2,Bob Kahn,x,,x\n"

    assert _about_rows(proposed(tmp_path, export=text)) == []
    assert imported(tmp_path, export=text).active == {"u1", "u2"}


def test_headers_with_can_are_permissions(tmp_path: Path) -> None:
    two = "employee_id,can_approve_orders,can_create_vendors\nE1,True,True\nE2,False,False\nE3,False,True\n"
    wide = (
        "user_id,can_access_payroll,can_access_orders,can_delete_data,permission_level,updated_date\n"
        "7,True,True,True,5,2025-08-08 04:24:53\n8,True,False,,2,2025-07-06 12:10:56\n"
    )

    assert set(imported(tmp_path, rights=two).rows("permissions", "username", "permission")) == {
        ("E1", "can_approve_orders"), ("E1", "can_create_vendors"), ("E3", "can_create_vendors"),
    }  # fmt: skip
    assert set(imported(tmp_path, rights=wide).rows("permissions", "username", "permission")) == {
        ("7", "can_access_payroll"), ("7", "can_access_orders"), ("7", "can_delete_data"), ("8", "can_access_payroll"),
    }  # fmt: skip


def test_key_of_a_row_does_not_name_the_permission_beside_headers_with_can(tmp_path: Path) -> None:
    text = "Permission Id,Role Id,Resource Id,Can View,Can Edit\nP1,R1,D1,TRUE,FALSE\nP2,R2,D1,TRUE,TRUE\n"

    found = imported(tmp_path, permissions=text)

    assert set(found.rows("permissions", "group", "section", "permission")) == {
        ("R1", "D1", "Can View"), ("R2", "D1", "Can View"), ("R2", "D1", "Can Edit"),
    }  # fmt: skip
