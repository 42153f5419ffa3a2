"""Read exports with denials: a denial is never read as a grant."""

from pathlib import Path

import pytest

from tests.application_imports.reading import Outcome
from tests.file_shapes.test_exports import imported


def accesses(found: Outcome) -> list[tuple[str, ...]]:
    return sorted(found.rows("permissions", "username", "permission", "access"))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Type", ("Allow", "Deny", "Revoke")),
        ("Grant or Deny", ("Grant", "Deny", "Revoke")),
        ("state_desc", ("GRANT_WITH_GRANT_OPTION", "DENY", "REVOKE")),
        ("state", ("G", "D", "R")),
        ("Decision", ("Permitted", "Prohibited", "Revoked")),
    ],
)
def test_words_for_a_denial_grant_nothing(tmp_path: Path, header: str, words: tuple[str, str, str]) -> None:
    granted, denied, revoked = words
    text = f"User,Permission,{header}\nada,Read,{granted}\nbob,Write,{denied}\ncy,Read,{revoked}\n"

    found = imported(tmp_path, rights=text)

    assert accesses(found) == [("ada", "Read", "Grant"), ("bob", "Write", "Deny"), ("cy", "Read", "None")]


def test_rows_marked_as_denied_grant_nothing(tmp_path: Path) -> None:
    text = (
        "Identity,User,AccessRights,Deny,IsInherited\n"
        '"x/Ada","X\\bob","{FullAccess}",False,False\n"x/Ada","X\\cy","{FullAccess}",True,False\n'
    )

    found = imported(tmp_path, mailboxes=text)

    assert accesses(found) == [("X\\bob", "FullAccess", "Grant"), ("X\\cy", "FullAccess", "Deny")]


def test_none_and_denied_among_levels_grant_nothing(tmp_path: Path) -> None:
    text = "User,Permission,Access Level\nada,Ledger,Full\nbob,Ledger,None\ncy,Ledger,Deny\ndee,Ledger,Read\n"

    found = imported(tmp_path, rights=text)

    assert [row[2] for row in accesses(found)] == ["Grant", "None", "Deny", "Grant"]
    assert found.rows("permissions", "value")[0] == "Full"


@pytest.mark.parametrize(
    ("header", "yes", "no"), [("Granted", "Yes", "No"), ("Type", "Allow", "Deny"), ("Denied", "false", "true")]
)
def test_roles_that_are_not_granted_are_left_out(tmp_path: Path, header: str, yes: str, no: str) -> None:
    text = f"User,Role,{header}\nada,Admin,{yes}\nada,Reader,{no}\nbob,Reader,{yes}\n"

    found = imported(tmp_path, roles=text)

    assert found.memberships == {("ada", "Admin"), ("bob", "Reader")}


def test_denied_roles_in_applications_are_left_out(tmp_path: Path) -> None:
    text = "User,Role,Application,Effect\nada,Admin,Ledger,Allow\nada,Admin,Payroll,Deny\nbob,Reader,Ledger,Allow\n"

    found = imported(tmp_path, roles=text)

    assert accesses(found) == [("ada", "Admin", "Deny"), ("ada", "Admin", "Grant"), ("bob", "Reader", "Grant")]
