"""Test the question that is asked if permission holders look like groups and no column says which are groups."""

from pathlib import Path

from rolecall.file_shapes.draft_answers import answer
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import proposed

_RIGHTS = (
    "User,AccessRights,Mailbox\nCORP\\ada,FullAccess,Sales\nCORP\\Domain Admins,FullAccess,Sales\n"
    "NT AUTHORITY\\SELF,FullAccess,Sales\nCORP\\bob,ReadPermission,Sales\n"
)


def test_holders_with_names_of_groups_are_read_as_groups_after_a_question(tmp_path: Path) -> None:
    proposal = proposed(tmp_path, rights=_RIGHTS)
    (part,), (group,) = proposal.files[0].contents, proposal.connector["files"]
    (question,) = part.questions
    assert question.text == "User names CORP\\Domain Admins. Are these groups? No column says so."

    answer(group, question.choices[0])
    del group["shape"]["openQuestions"]
    found = read_files(tmp_path, [group], {group["name"]: _RIGHTS})

    assert {row[:2] for row in found.permissions} == {("CORP\\ada", ""), ("", "CORP\\Domain Admins"), ("CORP\\bob", "")}
    assert found.active == {"CORP\\ada", "CORP\\bob"}
    assert "NT AUTHORITY\\SELF are left out" in " ".join(part.evidence)


def test_listed_accounts_are_not_asked_about(tmp_path: Path) -> None:
    users = "Login,Name,Email\nsales-team,Sales Team,sales@x.com\nada,Ada Byron,ada@x.com\n"
    proposal = proposed(tmp_path, users=users, rights="Login,Permission\nsales-team,Read\nada,Read\n")

    assert [part.questions for file in proposal.files for part in file.contents] == [[], []]
