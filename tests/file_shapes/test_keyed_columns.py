"""Test objects that map names to access, such as `{"billing": ["viewer"]}`, in JSON and in cells of a table."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.read.access_signs import Sign
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed


def _records(column: str, *values: Any) -> list[dict[str, Any]]:
    return [{"username": f"user{n}", "active": True, column: value} for n, value in enumerate(values, 1)]


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in records)


def _cells(records: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    rows = [
        {name: json.dumps(each) if isinstance(each, dict | list) else each for name, each in row.items()}
        for row in records
    ]
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("written", [json.dumps, _lines, _cells], ids=["JSON", "JSON lines", "cells"])
@pytest.mark.parametrize(
    ("column", "value", "names"),
    [
        ("clientRoles", {"billing": ["viewer", "none"], "portal": []}, {"billing: viewer"}),
        ("teams", {"Ops": [{"id": 1, "name": "Lead"}], "Lab": {"id": 2}}, {"Ops: Lead", "Lab"}),
        ("roles", {"crm": "Sales Agent", "erp": "no access", "wiki": None}, {"crm: Sales Agent"}),
        ("groups", {"Ops": True, "Lab": False}, {"Ops"}),
    ],
    ids=["lists", "objects", "levels", "flags"],
)
def test_names_are_read_with_their_groups(tmp_path: Path, written: Any, column: str, value: Any, names: Any) -> None:
    found = imported(tmp_path, users=written(_records(column, value, {}, value)))

    assert found.active == {"user1", "user2", "user3"}
    assert found.memberships == {(username, name) for username in ("user1", "user3") for name in names}
    assert set(found.rows("users", "metadata")) == {"{}"}


@pytest.mark.parametrize("written", [json.dumps, _lines, _cells], ids=["JSON", "JSON lines", "cells"])
@pytest.mark.parametrize(
    ("column", "value", "names"),
    [
        ("projects", {"Mercury": "Read Only", "Venus": 40, "Mars": 0}, {"Mercury: Read Only", "Venus: 40"}),
        ("spaces", {"Docs": {"read": True, "write": False}}, {"Docs: read"}),
        ("permissions", {"Wires": ["approve"], "Loans": []}, {"Wires: approve"}),
        ("projects", {"Mercury": {"role": "admin", "since": "2020-01-01"}}, {"Mercury: admin"}),
    ],
    ids=["levels", "flags", "lists", "records"],
)
def test_names_are_read_with_their_permissions(
    tmp_path: Path, written: Any, column: str, value: Any, names: Any
) -> None:
    found = imported(tmp_path, users=written(_records(column, value, {}, value)))

    assert found.active == {"user1", "user2", "user3"}
    assert found.permissions == {(username, "", "", name) for username in ("user1", "user3") for name in names}


def test_names_of_later_files_are_read(tmp_path: Path) -> None:
    first, later = ({"billing": ["viewer"]}, {"portal": ["admin"], "billing": ["none"], "wiki": "reader"})
    proposal = proposed(tmp_path, users=_lines(_records("clientRoles", first, {})))
    (group,) = proposal.connector["files"]

    found = read_files(tmp_path, [group], {group["name"]: _lines(_records("clientRoles", later, first))})

    assert found.memberships == {
        ("user1", "portal: admin"), ("user1", "wiki: reader"), ("user2", "billing: viewer"),
    }  # fmt: skip
    assert set(found.rows("users", "metadata")) == {"{}"}


def test_list_or_text_in_place_of_an_object_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path, users=json.dumps(_records("roles", {"billing": ["viewer"]}, ["clerk"], "admin", None)))
    other = imported(tmp_path, users=json.dumps(_records("role", {"id": 1, "name": "Admin"}, "User", "User")))

    assert found.memberships == {("user1", "billing: viewer"), ("user2", "clerk"), ("user3", "admin")}
    assert other.memberships == {("user1", "Admin"), ("user2", "User"), ("user3", "User")}


def test_empty_object_is_no_group(tmp_path: Path) -> None:
    found = imported(
        tmp_path, users=json.dumps(_records("role", {"id": 1, "name": "Admin"}, {}, {"id": 2, "name": "User"}))
    )

    assert found.memberships == {("user1", "Admin"), ("user3", "User")}


@pytest.mark.parametrize(
    ("column", "value", "read"),
    [
        ("groups", {"data": ["staff", "ops"], "total": 2}, "groups.data"),
        ("roles", {"role": ["staff", "ops"]}, "roles.role"),
        ("realm_access", {"roles": ["staff", "ops"]}, "realm_access.roles"),
    ],
)
def test_list_inside_an_object_is_read_without_its_name(tmp_path: Path, column: str, value: Any, read: str) -> None:
    text = json.dumps(_records(column, value, value))

    assert imported(tmp_path, users=text).memberships == {
        (username, group) for username in ("user1", "user2") for group in ("staff", "ops")
    }
    assert read in [each.header for each in proposed(tmp_path, users=text).files[0].columns]


@pytest.mark.parametrize("written", [json.dumps, _cells], ids=["JSON", "cells"])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attributes", {"department": ["IT"], "costCenter": ["7"]}),
        ("profile", {"nickname": "Ace", "city": "Berlin"}),
        ("access", {"token": "abc", "refreshToken": "def"}),
        ("apps", {"github": "ace1", "slack": "a.byron"}),
    ],
)
def test_objects_that_describe_accounts_are_no_access(tmp_path: Path, written: Any, column: str, value: Any) -> None:
    proposal = proposed(tmp_path, users=written(_records(column, value, {})))

    assert [part.content for part in proposal.files[0].contents] == ["users"]
    assert "abc" not in str([each.examples for each in proposal.files[0].columns])


def test_names_with_lists_below_a_place_may_be_access(tmp_path: Path) -> None:
    text = json.dumps(_records("projects", {"Mercury": ["dev-team"]}, {"Mercury": ["dev-team"], "Venus": ["qa"]}))

    (file,) = proposed(tmp_path, users=text).files

    signs = {each.header: each.may_be_access for each in file.columns}
    assert signs == {"username": None, "active": None, "projects": Sign.LIST}


def test_other_members_of_entries_are_asked_about(tmp_path: Path) -> None:
    roles = {"crm": [{"name": "Agent", "active": False, "site": "EU"}]}

    (file,) = proposed(tmp_path, users=json.dumps(_records("roles", roles, roles))).files

    assert [each.text for part in file.contents for each in part.questions] == [
        "Entries of roles have active, which is not read. Is the access in all of them held?"
    ]
    assert {"roles[].active", "roles[].site"} <= {each.header for each in file.columns}


@pytest.mark.parametrize("written", [json.dumps, _cells], ids=["JSON", "cells"])
def test_members_of_entries_in_lists_are_asked_about(tmp_path: Path, written: Any) -> None:
    roles = [{"name": "Agent", "site": "EU", "active": True}, {"name": "Agent", "site": "US", "active": False}]

    (file,) = proposed(tmp_path, users=written(_records("roles", roles, roles, roles))).files

    assert "roles[].site" in {each.header for each in file.columns}
    assert [each.text for part in file.contents for each in part.questions] == [
        "Entries of roles have active, which is not read. Is the access in all of them held?"
    ]


def test_statement_shows_how_names_are_built(tmp_path: Path) -> None:
    text = json.dumps(_records("clientRoles", {"billing": ["viewer"]}, {}))

    _, pairs = proposed(tmp_path, users=text).files[0].contents

    assert "Each value in clientRoles is read with its name before it, as in billing: viewer" in pairs.statements


@pytest.mark.parametrize(
    ("document", "memberships"),
    [
        ({"ada": {"billing": ["viewer"]}, "bob": {"portal": []}}, {("ada", "billing: viewer")}),
        ({"users": {"ada": ["viewer"], "bob": []}}, {("ada", "viewer")}),
        ({"roles": {"viewer": ["ada", "bob"]}}, {("ada", "viewer"), ("bob", "viewer")}),
    ],
)
def test_document_of_names_is_read_and_asked_about(tmp_path: Path, document: Any, memberships: Any) -> None:
    text = json.dumps(document)

    found = imported(tmp_path, access=text)

    assert found.active == {"ada", "bob"}
    assert found.memberships == memberships
    assert len([each for part in proposed(tmp_path, access=text).files[0].contents for each in part.questions]) == 1


def test_document_of_accounts_with_groups_and_roles_is_read_by_its_members(tmp_path: Path) -> None:
    account = {"groups": ["staff"], "emails": ["a@x.org"]}

    found = imported(tmp_path, users=json.dumps({"ada": account, "bob": account}))

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "staff"), ("bob", "staff")}


def test_question_about_objects_names_users_and_groups_and_does_not_advise_json_for_json(tmp_path: Path) -> None:
    actions = {"users": {"ci": ["READ"]}, "groups": {"readers": ["READ", "WRITE"]}}
    targets = [{"name": name, "resources": {"artifact": {"actions": actions}}} for name in ("java", "docker")]

    (question,) = proposed(tmp_path, targets=json.dumps({"permissions": targets})).files[0].contents[0].questions

    assert "artifact.actions.users (READ) and artifact.actions.groups (READ, WRITE)" in question.text
    assert question.text.endswith("Import without them? If not, export them as a list of their own.")


def test_groups_inside_objects_of_unread_lists_are_asked_about(tmp_path: Path) -> None:
    held = [{"source": "none", "group": {"displayName": "Admins", "kind": "x"}, "project": {"name": "Payments"}}]
    people = [{"user": {"mail": f"{name}@x.org", "name": f"{name} Byron"}, "projects": held} for name in ("ada", "bob")]

    asked = [each.text for each in proposed(tmp_path, users=json.dumps(people)).files[0].contents[0].questions]

    assert any("projects has JSON objects with group (Admins)" in text for text in asked)
