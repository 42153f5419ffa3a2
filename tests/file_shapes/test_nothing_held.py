"""Test exports with words for no access, such as `[none]`: these words become neither groups nor grants."""

from pathlib import Path

import pytest

from tests.application_imports.reading import Outcome
from tests.file_shapes.test_exports import imported


def _granted(found: Outcome) -> list[tuple[str, ...]]:
    return sorted(found.rows("permissions", "username", "permission", "access"))


@pytest.mark.parametrize(
    "word", ["- None -", "-- None --", "[none]", "No Role", "No Access", "keine", "n.v.t.", "(No Role)", "<not set>"]
)
def test_word_for_no_role_is_not_a_group(tmp_path: Path, word: str) -> None:
    text = (
        "Login,Email,Status,Role\nada,ada@example.com,Active,Clerk\nada,ada@example.com,Active,Manager\n"
        f"bob,bob@example.com,Active,Clerk\ncy,cy@example.com,Active,{word}\n"
    )

    found = imported(tmp_path, roles=text)

    assert found.active == {"ada", "bob", "cy"}
    assert found.memberships == {("ada", "Clerk"), ("ada", "Manager"), ("bob", "Clerk")}


@pytest.mark.parametrize("word", ["NoAccess", "No Access", "no_access"])
def test_role_called_no_access_grants_nothing(tmp_path: Path, word: str) -> None:
    text = (
        "Entity,Role,Principal,IsGroup\nDC,Admin,X\\ada,False\nDC,ReadOnly,X\\ops,True\n"
        f"VM,{word},X\\bob,False\nVM,ReadOnly,X\\ada,False\n"
    )

    found = imported(tmp_path, permissions=text)

    assert found.active == {"X\\ada", "X\\bob"}
    assert ("X\\bob", word, "None") in _granted(found)
    assert [access for _, _, access in _granted(found)].count("Grant") == 3


def test_permission_called_no_access_grants_nothing(tmp_path: Path) -> None:
    text = "User,Folder,Permission\nada,HR,Read\nada,IT,No access\nbob,HR,Write\n"

    assert ("ada", "No access", "None") in _granted(imported(tmp_path, rights=text))


def test_colon_between_groups_that_occur_alone_separates_them(tmp_path: Path) -> None:
    rows = "ada,ada@example.com,Admins:Tier2\nbob,bob@example.com,Admins\ncy,cy@example.com,Tier1\n"

    found = imported(tmp_path, users=f"User Name,Email,User Identity Group\n{rows}")

    assert found.memberships == {("ada", "Admins"), ("ada", "Tier2"), ("bob", "Admins"), ("cy", "Tier1")}


def test_account_without_a_group_is_kept(tmp_path: Path) -> None:
    found = imported(tmp_path, members="username,group\nada,Admins\nada,Operators\nbob,None\ncy,(No Group)\n")

    assert found.active == {"ada", "bob", "cy"}
    assert found.memberships == {("ada", "Admins"), ("ada", "Operators")}
