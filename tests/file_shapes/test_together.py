"""Test how columns are read, such as those of matrices and statuses, and that the evidence names what is not read."""

import json
from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.core.errors import Invalid
from tests.application_imports.reading import read_file
from tests.file_shapes.test_export_files import FOLDER
from tests.file_shapes.test_exports import imported, proposed

GROUPS: dict[str, Any] = {"columns": ["groups", "role"], "headers": "Group", "cells": "Group"}
MEMBERS = {"columns": {"login": "Username"}}


def evidence(folder: Path, text: str) -> str:
    (file,) = proposed(folder, export=text).files
    return "\n".join([*file.evidence, *(said for part in file.contents for said in part.evidence)])


def test_several_columns_give_memberships(tmp_path: Path) -> None:
    text = "login,groups,role,city\nada,a;b,admin,Rome\nbob,,clerk,Bonn\ncy,a,,Oslo\n"

    found = read_file(tmp_path, text, "memberships", **MEMBERS, shape={"unpivot": GROUPS, "split": {"groups": ";"}})

    assert found.memberships == {("ada", "a"), ("ada", "b"), ("ada", "admin"), ("bob", "clerk"), ("cy", "a")}
    assert found.deltas["memberships"].repeats == 0  # type: ignore[index]


def test_condition_leaves_out_values_of_one_column_of_a_matrix(tmp_path: Path) -> None:
    shape = {"unpivot": GROUPS, "split": {"groups": ";"}, "skipRowsWhere": [{"column": "groups", "is": ["b"]}]}

    found = read_file(tmp_path, "login,groups,role\nada,a;b,b\n", "memberships", **MEMBERS, shape=shape)

    assert found.memberships == {("ada", "a"), ("ada", "b")}


def test_unpivot_ignores_columns_that_it_does_not_name(tmp_path: Path) -> None:
    text = "login,groups,role,phone\nada,a,admin,555\n"

    found = read_file(tmp_path, text, "memberships", **MEMBERS, shape={"unpivot": GROUPS})

    assert found.memberships == {("ada", "a"), ("ada", "admin")}


def test_message_names_the_missing_column_of_a_matrix(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match=r"shape.unpivot names the column role, which the file does not have"):
        read_file(tmp_path, "login,groups\nada,a\n", "memberships", **MEMBERS, shape={"unpivot": GROUPS})


@pytest.mark.parametrize("unpivot", [{}, {"keep": ["login"], "columns": ["groups"]}, {"columns": []}])
def test_matrix_needs_either_keep_or_columns(tmp_path: Path, unpivot: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        read_file(tmp_path, "login,groups\nada,a\n", "memberships", **MEMBERS, shape={"unpivot": unpivot})


@pytest.mark.parametrize(
    ("headers", "rows", "memberships"),
    [
        # A role that has the same name as a group is not a membership of the group.
        ("groups,role", ["a;b,a", "a,b"], {("ada", "a"), ("ada", "b"), ("bob", "a")}),
        # The IDs are another way to name the same groups.
        ("groups,group_id", ["a;b,1;2", "a,1"], {("ada", "a"), ("ada", "b"), ("bob", "a")}),
        ("teams,main team", ["a;b,a", "a,c"], {("ada", "a"), ("ada", "b"), ("bob", "a"), ("bob", "c")}),
        ("groups,max role", ["a;b,x", "a,x"], {("ada", "a"), ("ada", "b"), ("bob", "a")}),
    ],
)
def test_further_columns_are_read_only_if_they_name_further_groups(
    tmp_path: Path, headers: str, rows: list[str], memberships: set[tuple[str, str]]
) -> None:
    text = f"login,name,{headers}\nada,Ada Byron,{rows[0]}\nbob,Bob Kahn,{rows[1]}\n"

    assert imported(tmp_path, users=text).memberships == memberships


def test_evidence_names_an_object_beside_the_records(tmp_path: Path) -> None:
    users = [{"UserName": "ada", "Arn": "arn:1"}, {"UserName": "bob", "Arn": "arn:2"}]

    said = evidence(tmp_path, json.dumps({"Users": users, "Group": {"GroupName": "Admins"}, "IsTruncated": False}))

    assert "Not read (outside the records): Group" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "login,Certificates,MemberOf\nada,System.Byte[],Microsoft.ActiveDirectory.Management.ADCollection\n",
            "Columns with class names in place of values are not kept",
        ),
    ],
)
def test_evidence_names_what_is_not_read(tmp_path: Path, text: str, message: str) -> None:
    assert message in evidence(tmp_path, text)


@pytest.mark.parametrize("header", ["State", "state"])
def test_state_in_an_address_is_not_a_status(tmp_path: Path, header: str) -> None:
    text = (
        f"EmpID,First Name,Last Name,Job Title,Hire Date,{header},EmployeeStatus\n"
        "1,Ada,Byron,Lead,2020-01-01,MA,Active\n2,Bob,Kahn,Clerk,2021-01-01,NE,Voluntarily Terminated\n"
    )

    found = imported(tmp_path, people=text)

    assert found.rows("identities", "employee_id", "status") == [("1", "Active"), ("2", "Disabled")]


def test_end_date_counts_beside_an_inverted_status_of_people(tmp_path: Path) -> None:
    text = (
        "empid,first name,last name,job title,hire date,end date,inactive indicator\n"
        "1,Ada,Byron,Lead,2020-01-01,,N\n2,Bob,Kahn,Clerk,2021-01-01,2022-01-31,N\n3,Cy,Dee,Clerk,2021-01-01,,Y\n"
    )

    found = imported(tmp_path, people=text)

    assert found.rows("identities", "employee_id", "status") == [("1", "Active"), ("2", "Disabled"), ("3", "Disabled")]


def test_first_of_several_addresses_is_read_from_ldif(tmp_path: Path) -> None:
    found = imported(tmp_path, export=(FOLDER / "openldap-slapcat.ldif").read_bytes())

    assert found.rows("users", "email") == ["jdoe@example.com", "asmith@example.com"]
    assert "Groups" not in str(found.notes)


@pytest.mark.parametrize("ids", [["base.user_admin", "base.user_demo"], ["ada", "E2"]])
def test_external_id_without_a_digit_is_not_an_employee_id(tmp_path: Path, ids: list[str]) -> None:
    text = f"Login,Name,External ID\nada,Ada Byron,{ids[0]}\nbob,Bob Kahn,{ids[1]}\n"

    assert imported(tmp_path, users=text).rows("users", "employee_id") == ["", ""]


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("windows-1250", ["Novák", "Dvořák"]),
        ("windows-1250", ["Žofia Šťastná", "Ľubomír Ďurica"]),
        ("windows-1252", ["José Núñez", "Jürgen Groß", "Søren", "François"]),
        ("windows-1252", ["Müller", "Björn"]),
    ],
)
def test_encoding_that_fits_the_language_of_the_names_is_chosen(
    tmp_path: Path, encoding: str, names: list[str]
) -> None:
    text = "".join(["Username,Name\n", *(f"user{n},{name}\n" for n, name in enumerate(names))]).encode(encoding)

    assert proposed(tmp_path, users=text).files[0].encoding == encoding
    assert imported(tmp_path, users=text).rows("users", "name") == names


@pytest.mark.parametrize(
    ("text", "active", "memberships"),
    [
        # The owner of an account is another person.
        (
            "Service Account,Owner,Owner Email,Enabled,Groups\nsvc_a,Ana Silva,ana@x.org,Yes,a;b\n"
            "svc_b,Tom Reyes,tom@x.org,Yes,a\n",
            {"svc_a", "svc_b"},
            {("svc_a", "a"), ("svc_a", "b"), ("svc_b", "a")},
        ),
        # One column has the e-mail addresses of groups, another their names.
        (
            "email,status,groupEmail,groupName\na@x.org,ACTIVE,g@x.org,Staff\nb@x.org,ACTIVE,g@x.org,Staff\n",
            {"a@x.org", "b@x.org"},
            {("a@x.org", "g@x.org"), ("b@x.org", "g@x.org")},
        ),
    ],
)
def test_columns_about_something_else_do_not_name_accounts_or_groups(
    tmp_path: Path, text: str, active: set[str], memberships: set[tuple[str, str]]
) -> None:
    found = imported(tmp_path, users=text)

    assert (found.active, found.memberships) == (active, memberships)


def test_list_of_accounts_is_not_read_as_the_username(tmp_path: Path) -> None:
    people = [
        {"email": "ada@x.org", "name": "Ada Byron", "accounts": [{"username": "abyron"}, {"username": "adm-byron"}]},
        {"email": "bob@x.org", "name": "Bob Kahn", "accounts": [{"username": "bkahn"}]},
    ]

    assert imported(tmp_path, users=json.dumps({"employees": people})).active == {"ada@x.org", "bob@x.org"}


def test_name_of_the_application_is_part_of_a_permission(tmp_path: Path) -> None:
    text = "login_id,application_name,entitlement_name\nada,Ledger,Admin\nada,Chat,Admin\nbob,Chat,Member\n"

    found = imported(tmp_path, grants=text)

    assert set(found.rows("permissions", "username", "header", "permission")) == {
        ("ada", "Ledger", "Admin"),
        ("ada", "Chat", "Admin"),
        ("bob", "Chat", "Member"),
    }


def test_question_for_usernames_offers_only_columns_that_may_name_accounts(tmp_path: Path) -> None:
    text = (
        "who_did,state,changed,is_sent,pin,number\n"
        "ada,Active,2026-01-02,yes,77,1\nada,Inactive,2026-01-03,no,77,2\nbob,Active,2026-01-03,yes,78,2\n"
    )

    (question,) = proposed(tmp_path, export=text).files[0].contents[0].questions

    assert question.text.endswith("Which column names the account?")
    assert [choice.label for choice in question.choices] == ["who_did", "number"]
