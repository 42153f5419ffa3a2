"""Read files whose headers could mislead, such as columns named like a field and matrices with people in the header."""

import json
from pathlib import Path

from rolecall.file_shapes.files.proposals import Chosen, propose
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.read.test_exports import by_template
from tests.application_imports.reading import read_file
from tests.file_shapes.test_exports import imported, proposed


def test_proposal_shows_columns_that_are_named_like_a_field(tmp_path: Path) -> None:
    text = "Account Name,Active,Locked,Entitlements\nada,true,false,Fin|Ops\nbob,false,true,Fin\n"

    users = proposed(tmp_path, accounts=text).files[0].contents[0]

    assert {column.header: column.field for column in users.columns}["Locked"] == "Locked"
    assert imported(tmp_path, accounts=text).rows("users", "is_locked") == [False, True]


def test_ignored_column_is_not_read_although_it_is_named_like_a_field(tmp_path: Path) -> None:
    found = read_file(tmp_path, "Login,Name\nada,Sales\n", "users", shape={"ignore": ["Name"]})

    assert found.rows("users", "username", "name") == [("ada", "")]


def test_role_beside_a_permission_is_a_membership(tmp_path: Path) -> None:
    found = imported(tmp_path, rights="User,Role,Permission\nada,Admin,Read\nada,Admin,Write\nbob,,Read\n")

    assert found.memberships == {("ada", "Admin")}
    assert found.permissions == {("ada", "", "", "Read"), ("ada", "", "", "Write"), ("bob", "", "", "Read")}


def test_folder_is_read_as_the_object_of_rights(tmp_path: Path) -> None:
    text = (
        '"Folder","IdentityReference","FileSystemRights","AccessControlType"\n"D:\\Fin","X\\ada","FullControl","Allow"\n'
        '"D:\\Ops","X\\ada","FullControl","Deny"\n'
    )

    found = imported(tmp_path, rights=text)

    assert found.rows("permissions", "section", "access") == [("D:\\Fin", "Grant"), ("D:\\Ops", "Deny")]


def test_column_that_distinguishes_permissions_is_their_object(tmp_path: Path) -> None:
    text = "User,Permission,Vault,Granted On\nada,Read,V1,2026-01-01\nada,Read,V2,2026-01-02\nbob,Read,V1,2026-01-01\n"

    found = imported(tmp_path, rights=text)

    assert found.rows("permissions", "username", "section") == [("ada", "V1"), ("ada", "V2"), ("bob", "V1")]


def test_matrix_with_people_in_its_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "matrix"
    path.write_text(",Ada Byron,Bob Kahn,Cy Dee\nCreate Invoice,X,,X\nApprove,,X,\nPay,,X,\n")

    (part,) = propose([sample_of(path, "matrix")], {"matrix": Chosen(header_line=1)}).files[0].contents

    assert [(row["username"], row["permission"]) for row in part.understood] == [
        ("Ada Byron", "Create Invoice"), ("Bob Kahn", "Approve"), ("Bob Kahn", "Pay"), ("Cy Dee", "Create Invoice"),
    ]  # fmt: skip


def test_continuation_lines_of_psql_are_not_accounts(tmp_path: Path) -> None:
    text = (
        "      List of roles\n Role name |   Attributes   | Member of\n-----------+----------------+-----------\n"
        " ada       | Superuser     +| {app_read}\n           | Valid until x  | \n app_read  | Cannot login   | {}\n"
    )

    found = imported(tmp_path, roles=text)

    assert (found.active, found.inactive) == ({"ada"}, {"app_read"})
    assert found.memberships == {("ada", "app_read")}


def test_accounts_with_the_role_for_disabled_accounts_are_inactive(tmp_path: Path) -> None:
    entry = "dn: uid={0},ou=People,dc=x\nobjectClass: inetOrgPerson\ncn: {0} B\nuid: {0}\nsn: B\n{1}\n\n"
    roles = {"ada": "mail: a@x", "bob": "nsRoleDN: cn=nsManagedDisabledRole,dc=x", "cy": "nsAccountLock: true"}
    text = "version: 1\n\n" + "".join(entry.format(name, line) for name, line in roles.items())

    found = imported(tmp_path, directory=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob", "cy"})


def test_rows_that_may_not_be_accounts_become_a_question(tmp_path: Path) -> None:
    (part,) = proposed(tmp_path, list="Product,Weight\nA1,10\nA2,20\n").files[0].contents

    assert "Does the column Product name accounts?" in part.questions[0].text


def test_template_for_full_names_reads_first_and_last_names(tmp_path: Path) -> None:
    text = "Employee ID,First Name,Last Name,Department,Status,Start Date\n1,Ada,Byron,HR,Active,2020-01-02\n"

    found = by_template(tmp_path, "HR export", People=text)

    assert found.rows("identities", "employee_id", "first_name", "last_name") == [("1", "Ada", "Byron")]
    assert "First Name is read instead" in " ".join(found.notes)


def test_template_reads_invited_members_as_inactive(tmp_path: Path) -> None:
    text = "username,email,status,fullname\nada,a@x,Member,Ada Byron\nbob,b@x,Invited Member,Bob Kahn\n"

    found = by_template(tmp_path, "Slack", Members=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.memberships == {("ada", "Member")}


def test_matrix_of_approvals_is_not_a_list_of_invoices(tmp_path: Path) -> None:
    text = "Role,Create Invoice,Approve Invoice,Payment Limit\nClerk,Y,,100\nManager,,Y,5000\nAuditor,R,R,0\n"

    assert proposed(tmp_path, matrix=text).files[0].problem is None


def test_state_of_a_workspace_is_not_the_state_of_its_users(tmp_path: Path) -> None:
    def workspace(name: str, state: str, user: str) -> dict[str, object]:
        right = {"emailAddress": user, "displayName": "A B", "groupUserAccessRight": "Admin", "principalType": "User"}
        group = {**right, "emailAddress": None, "displayName": "Auditors", "principalType": "Group"}
        return {"name": name, "state": state, "users": [right, group]}

    spaces = [workspace("Sales", "Active", "a@x.com"), workspace("Old", "Deleted", "b@x.com")]
    text = json.dumps({"value": spaces})

    assert imported(tmp_path, spaces=text).active == {"a@x.com", "b@x.com"}
    asked = [each.text for part in proposed(tmp_path, spaces=text).files[0].contents for each in part.questions]
    assert any("not about the account" in each for each in asked)


def test_evidence_says_whether_a_header_is_the_name_of_the_field_or_means_it(tmp_path: Path) -> None:
    text = "Benutzer,E-Mail,Status\nada,ada@x.org,aktiv\nbob,bob@x.org,inaktiv\n"

    users = proposed(tmp_path, accounts=text).files[0].contents[0]

    said = {column.header: column.evidence for column in users.columns}
    assert said["Benutzer"].startswith("its header means Username, and ")
    assert said["E-Mail"] == "its header is Email"
    assert said["Status"].startswith("its header means Active")
