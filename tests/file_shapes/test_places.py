"""Test that rows of one account and role that differ only in where the role applies are not merged."""

import json
from pathlib import Path

import pytest

from rolecall.file_shapes.draft_answers import answer
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_states import asked

ROWS = "ada,Admin,Alpha\nada,Admin,Beta\nbob,Viewer,Alpha\ncy,Viewer,\n"
FILLED_ROWS = "ada,Admin,Alpha\nada,Admin,Beta\nbob,Viewer,Alpha\ncy,Viewer,Beta\n"


@pytest.mark.parametrize("header", ["site", "Region", "environment", "Cost Centre", "store", "branch no", "Werk"])
def test_place_beside_a_role_is_part_of_its_name(tmp_path: Path, header: str) -> None:
    found = imported(tmp_path, grants=f"username,role,{header}\n{ROWS}")

    assert found.memberships == {
        ("ada", "Admin: Alpha"), ("ada", "Admin: Beta"), ("bob", "Viewer: Alpha"), ("cy", "Viewer"),
    }  # fmt: skip


@pytest.mark.parametrize("header", ["scope", "project", "tenant"])
def test_roles_at_known_scopes_are_not_merged(tmp_path: Path, header: str) -> None:
    found = imported(tmp_path, grants=f"username,role,{header}\n{FILLED_ROWS}")

    rows = found.rows("permissions", "username", "permission", "header", "section")
    assert {(user, role, first or second) for user, role, first, second in rows} == {
        ("ada", "Admin", "Alpha"), ("ada", "Admin", "Beta"), ("bob", "Viewer", "Alpha"), ("cy", "Viewer", "Beta"),
    }  # fmt: skip


def test_place_beside_a_permission_with_an_object_becomes_its_header(tmp_path: Path) -> None:
    text = (
        "user,permission,resource,region,plant\nada,read,Invoices,EU,1\nada,read,Invoices,US,1\nbob,read,Orders,EU,2\n"
    )

    found = imported(tmp_path, grants=text)

    assert set(found.rows("permissions", "username", "section", "header")) == {
        ("ada", "Invoices", "EU"), ("ada", "Invoices", "US"), ("bob", "Orders", "EU"),
    }  # fmt: skip


def test_several_places_are_part_of_the_name(tmp_path: Path) -> None:
    text = "username,role,company,plant\nada,Admin,East,1\nada,Admin,East,2\nada,Admin,West,1\nbob,Audit,East,1\n"

    assert imported(tmp_path, grants=text).memberships == {
        ("ada", "Admin: East: 1"), ("ada", "Admin: East: 2"), ("ada", "Admin: West: 1"), ("bob", "Audit: East: 1"),
    }  # fmt: skip


def test_place_of_roles_of_users_and_groups_is_read(tmp_path: Path) -> None:
    text = "principal,principal type,role,plant\nada,user,Admin,1\nada,user,Admin,2\nStaff,group,Audit,1\n"

    found = imported(tmp_path, grants=text)

    assert found.permissions == {("ada", "", "1", "Admin"), ("ada", "", "2", "Admin"), ("", "Staff", "1", "Audit")}


def test_place_in_an_inner_object_is_part_of_the_name(tmp_path: Path) -> None:
    rows = [("ada", "Admin", "Alpha"), ("ada", "Admin", "Beta"), ("bob", "Audit", "Beta")]
    records = [{"user": user, "role": role, "location": {"name": place}} for user, role, place in rows]

    found = imported(tmp_path, grants=json.dumps(records))

    assert found.memberships == {(user, f"{role}: {place}") for user, role, place in rows}


@pytest.mark.parametrize("header", ["line_of_business", "data center", "directoryScopeId", "from department"])
def test_words_of_records_in_other_headers_do_not_prevent_the_question(tmp_path: Path, header: str) -> None:
    (question,) = asked(tmp_path, grants=f"username,role,{header}\n{ROWS}")

    assert f"differ in {header} (Alpha, Beta)" in question


def test_unknown_column_that_distinguishes_rows_is_asked_about(tmp_path: Path) -> None:
    text = f"username,role,shift group\n{ROWS}"
    proposal = proposed(tmp_path, grants=text)
    section = proposal.connector["files"][0]

    (question,) = proposal.files[0].contents[0].questions
    assert question.text == (
        "Some rows have the same account and role, and differ in shift group (Alpha, Beta). "
        "Does this column say where the access applies?"
    )
    assert imported(tmp_path, grants=text).memberships == {("ada", "Admin"), ("bob", "Viewer"), ("cy", "Viewer")}

    answer(section, question.choices[0])
    found = read_files(tmp_path, [section], {section["name"]: text})
    assert found.memberships == {
        ("ada", "Admin: Alpha"), ("ada", "Admin: Beta"), ("bob", "Viewer: Alpha"), ("cy", "Viewer"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("granted on", ("2020-01-01", "2021-01-01")),
        ("comment", ("for audit", "asked again")),
        ("approved by", ("Bob", "Cy")),
        ("status", ("Active", "Inactive")),
        ("row id", ("17", "18")),
        ("assignment type", ("Direct", "Inherited")),
    ],
)
def test_columns_about_the_record_of_a_grant_are_no_places(
    tmp_path: Path, header: str, values: tuple[str, str]
) -> None:
    text = f"username,role,{header}\nada,Admin,{values[0]}\nada,Admin,{values[1]}\nbob,Viewer,\n"

    assert not any("say where the access applies" in question for question in asked(tmp_path, grants=text))
    assert ("ada", "Admin") in imported(tmp_path, grants=text).memberships


def test_place_of_a_list_of_roles_applies_to_each_role(tmp_path: Path) -> None:
    text = "username,role,site\nada,Admin;Audit,Alpha\nada,Admin,Beta\nbob,Audit;Viewer,Alpha\n"

    assert imported(tmp_path, grants=text).memberships == {
        ("ada", "Admin: Alpha"), ("ada", "Audit: Alpha"), ("ada", "Admin: Beta"),
        ("bob", "Audit: Alpha"), ("bob", "Viewer: Alpha"),
    }  # fmt: skip


def test_role_with_a_place_is_not_a_detail_of_the_account(tmp_path: Path) -> None:
    text = "username,name,role,site\nada,Ada Byron,Admin,Alpha\nada,Ada Byron,Admin,Beta\nbob,Bob Kahn,Audit,Alpha\n"

    found = imported(tmp_path, grants=text)

    assert found.rows("users", "name", "metadata") == [("Ada Byron", "{}"), ("Bob Kahn", "{}")]
    evidence = [each for part in proposed(tmp_path, grants=text).files[0].contents for each in part.evidence]
    assert not any("not read" in each for each in evidence)


@pytest.mark.parametrize("header", ["system", "Application", "resource_name", "channel"])
def test_role_of_accounts_in_several_systems_is_asked_about(tmp_path: Path, header: str) -> None:
    text = (
        f"account_id,employee_id,{header},role,account_active,last_login\n"
        "A1,E1,SAP,Admin,True,2026-08-07\nA2,E1,CRM,Admin,True,2026-09-05\nA3,E2,CRM,Reader,False,2026-08-18\n"
    )

    proposal = proposed(tmp_path, accounts=text)
    memberships = proposal.files[0].contents[1]
    answer(proposal.connector["files"][0]["shape"]["contents"][0], memberships.questions[0].choices[0])
    found = read_files(tmp_path, proposal.connector["files"], {str(proposal.files[0].file_group): [text]})

    assert [each.text for each in memberships.questions] == [
        f"role has the same values in rows with different {header} (SAP, CRM). "
        f"Does {header} say where each role applies?"
    ]
    assert found.memberships == {("A1", "Admin: SAP"), ("A2", "Admin: CRM"), ("A3", "Reader: CRM")}


def test_role_with_one_system_each_is_not_asked_about(tmp_path: Path) -> None:
    text = "account_id,system,role,account_active,last_login\nA1,SAP,Admin,True,2026-08-07\nA2,CRM,Reader,True,\n"

    assert asked(tmp_path, accounts=text) == []
