"""Test that a key that is different in every row is not read as the permission without a question."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_states import asked


@pytest.mark.parametrize(
    "text",
    [
        "PermissionId,RoleName,ResourceName,Verb\nP1,Admin,inv,read\nP2,Admin,ord,write\nP3,Viewer,inv,read\n",
        "entitlement_id,role,entitlement_name\n1001,Admin,read\n1002,Admin,write\n1003,Viewer,read\n",
        "permission_id,role,resource,action\n1,Admin,inv,read\n2,Admin,ord,write\n3,Viewer,inv,read\n",
        "Permission ID,Group,Permission\n1,Admin,read\n2,Admin,write\n3,Viewer,read\n",
    ],
)
def test_key_of_a_row_is_not_the_permission(tmp_path: Path, text: str) -> None:
    found = imported(tmp_path, rights=text)

    held = {(group, name) for _, group, _, name in found.permissions}
    assert held == {("Admin", "read"), ("Admin", "write"), ("Viewer", "read")}
    assert asked(tmp_path, rights=text) == []


def test_key_of_a_row_is_asked_about_if_nothing_else_names_the_permission(tmp_path: Path) -> None:
    text = "PermissionId,RoleName,ResourceName\nP1,Admin,inv\nP2,Admin,ord\nP3,Viewer,inv\n"

    (question,) = asked(tmp_path, rights=text)

    assert question.startswith("PermissionId is different in every row, like the key of a row. Does it name the")


@pytest.mark.parametrize("ids", [("orders.read", "orders.write", "users.read"), ("P1", "P2", "P1")])
def test_ids_that_are_names_or_repeat_are_permissions(tmp_path: Path, ids: tuple[str, str, str]) -> None:
    text = "permission_id,role\n{},Admin\n{},Staff\n{},Viewer\n".format(*ids)

    assert {name for *_, name in imported(tmp_path, rights=text).permissions} == {*ids}
    assert asked(tmp_path, rights=text) == []


def test_kind_of_holders_is_not_offered_as_the_permission(tmp_path: Path) -> None:
    text = (
        "permission_id,resource_id,principal_id,principal_type,role\n"
        "P1,R1,G1,Group,Edit\nP2,R2,U1,User,Owner\nP3,R2,U2,User,Read\n"
    )

    questions = proposed(tmp_path, permissions=text).files[0].contents[0].questions

    assert [choice.label for choice in questions[0].choices] == [
        "Yes, permission_id names the permission", "No, role does",
    ]  # fmt: skip
