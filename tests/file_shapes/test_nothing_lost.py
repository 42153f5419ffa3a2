"""Read exports that could be misread without a warning: nothing is lost or confused."""

from pathlib import Path

from tests.file_shapes.test_exports import imported, proposed


def test_users_without_a_group_are_not_lost(tmp_path: Path) -> None:
    details = (
        '{"UserDetailList": [{"UserName": "ada", "GroupList": ["Admins", "Ops"]}, '
        '{"UserName": "bob", "GroupList": []}],'
        ' "Policies": [{"PolicyName": "a"}, {"PolicyName": "b"}, {"PolicyName": "c"}]}'
    )
    matrix = "Employee,Department,SAP,CRM,VPN\nAda Byron,HR,x,,x\nBob Kahn,IT,,x,\nCy Dee,IT,,,\n"

    found, other = imported(tmp_path, users=details), imported(tmp_path, matrix=matrix)

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "Admins"), ("ada", "Ops")}
    assert other.active == {"Ada Byron", "Bob Kahn", "Cy Dee"}
    assert len(other.permissions) == 3


def test_users_from_the_okta_api_are_read(tmp_path: Path) -> None:
    user = '{"id": "%s", "status": "%s", "profile": {"firstName": "A", "lastName": "B", "email": "%s", "login": "%s"}, '
    user += '"credentials": {"provider": {"type": "OKTA", "name": "OKTA"}}}'
    rows = [user % ("00u1", "ACTIVE", "a@x.com", "a@x.com"), user % ("00u2", "DEPROVISIONED", "b@x.com", "b@x.com")]

    found = imported(tmp_path, users=f"[{', '.join(rows)}]")

    assert (found.active, found.inactive) == ({"a@x.com"}, {"b@x.com"})
    assert found.rows("users", "name") == ["A B", "A B"]


def test_one_scim_user_is_read(tmp_path: Path) -> None:
    text = (
        '{"userName": "ada", "active": true, "name": {"familyName": "Byron", "givenName": "Ada"}, "emails": [{"value": '
        '"a@x.com", "type": "work"}], "groups": [{"value": "1", "display": "Guides"}]}'
    )

    found = imported(tmp_path, user=text)

    assert found.active == {"ada"}
    assert found.memberships == {("ada", "Guides")}


def test_entitlements_without_permissions_are_groups(tmp_path: Path) -> None:
    text = "id,name,displayName,created,description,entitlements,groups,permissions\n"
    text += "1,acc,Accounting,2020-01-01,All,,,\n2,pay,Payroll,2020-01-01,Some,,,\n"

    assert imported(tmp_path, entitlements=text).groups == {"acc", "pay"}


def test_account_with_a_deactivation_date_is_inactive(tmp_path: Path) -> None:
    text = (
        "Name,Account type,Deactivated date (UTC),Days active,Username,Email\nAda,Member,,10,ada,a@x.com\n"
        'Bob,Admin,"Feb 1, 2024",2,bob,b@x.com\n'
    )

    found = imported(tmp_path, analytics=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_header_with_blank_cells_is_recognized(tmp_path: Path) -> None:
    inside = imported(tmp_path, users="Username,,Name,\nada,,Ada Byron,\nbob,,Bob Kahn,\n")
    last = imported(tmp_path, users="Title\nUsername;Name;\nada;Ada Byron;\nbob;Bob Kahn;\n")

    for found in (inside, last):
        assert found.active == {"ada", "bob"}
        assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_roles_in_several_applications_are_permissions(tmp_path: Path) -> None:
    text = "user_email,app,role\na@x.com,CRM,admin\na@x.com,ERP,admin\nb@x.com,CRM,viewer\n"

    found = imported(tmp_path, grants=text)

    assert found.permissions == {
        ("a@x.com", "", "CRM", "admin"), ("a@x.com", "", "ERP", "admin"), ("b@x.com", "", "CRM", "viewer"),
    }  # fmt: skip
    assert found.active == {"a@x.com", "b@x.com"}


def test_role_assignments_of_users_and_groups_are_read(tmp_path: Path) -> None:
    text = (
        "RoleDefinitionName,Scope,DisplayName,SignInName,ObjectType\nOwner,/sub/1,Ada Byron,a@x.com,User\n"
        "Reader,/sub/1,Ops,,Group\nReader,/sub/2,Ada Byron,a@x.com,User\n"
    )

    found = imported(tmp_path, assignments=text)

    assert found.permissions == {
        ("a@x.com", "", "", "Owner"), ("a@x.com", "", "", "Reader"), ("", "Ops", "", "Reader"),
    }  # fmt: skip
    assert found.rows("permissions", "section") == ["/sub/1", "/sub/1", "/sub/2"]


def test_people_with_names_of_managers_instead_of_ids_are_read(tmp_path: Path) -> None:
    text = (
        "Worker,Employee ID,Email - Work,Manager,Hire Date,Active Status\nAda Byron,1,a@x.com,Bob Kahn,05/21/2021,1\n"
        "Bob Kahn,2,b@x.com,,08/15/2020,0\n"
    )

    found = imported(tmp_path, workers=text)

    assert found.rows("identities", "first_name", "status", "supervisor_id") == [
        ("Ada", "Active", ""), ("Bob", "Disabled", ""),
    ]  # fmt: skip


def test_sap_users_and_their_roles_are_read(tmp_path: Path) -> None:
    users = "BNAME;USTYP;UFLAG;CLASS\nADA;A;0;SALES\nBOB;A;64;SALES\n"
    roles = "AGR_NAME|UNAME|FROM_DAT|TO_DAT\nZ_A|ADA|20200101|99991231\nZ_B|ADA|20200101|99991231\n"
    roles += "Z_A|BOB|20200101|20221231\n"

    found, other = imported(tmp_path, users=users), imported(tmp_path, roles=roles)

    assert found.rows("users", "username", "is_locked") == [("ADA", False), ("BOB", True)]
    assert other.memberships == {("ADA", "Z_A"), ("ADA", "Z_B"), ("BOB", "Z_A")}


def test_members_of_google_groups_and_users_in_a_json_object_are_read(tmp_path: Path) -> None:
    members = "Group Name [Required],Group Email [Required],Member Email,Member Type,Member Role\n"
    members += "Staff,s@x.com,a@x.com,USER,MEMBER\nStaff,s@x.com,b@x.com,USER,OWNER\nOps,o@x.com,a@x.com,USER,MEMBER\n"
    users = '{"ada": {"email": "a@x.com", "groups": ["a", "b"]}, "bob": {"email": "b@x.com", "groups": []}}'

    found, other = imported(tmp_path, members=members), imported(tmp_path, users=users)

    assert found.memberships == {("a@x.com", "Staff"), ("b@x.com", "Staff"), ("a@x.com", "Ops")}
    assert other.active == {"ada", "bob"}
    assert other.memberships == {("ada", "a"), ("ada", "b")}


def test_zero_means_no_date_in_a_date_column_and_inactive_in_a_status_column(tmp_path: Path) -> None:
    found = imported(tmp_path, users="username,email,last_login,status\nada,a@x.com,1767225600,1\nbob,b@x.com,0,0\n")

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "last_login") == ["2026-01-01T00:00:00Z", ""]


def test_status_that_varies_is_preferred(tmp_path: Path) -> None:
    text = "login,email,active,suspended\nada,a@x.com,true,false\nbob,b@x.com,true,true\ncy,c@x.com,true,false\n"

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})


def test_levels_of_permissions_and_a_matrix_of_modules_are_read(tmp_path: Path) -> None:
    levels = imported(tmp_path, grants="Role,Permission,Level\nAdmin,Users,Full\nAdmin,Bills,Full\nViewer,Users,Read\n")
    matrix = imported(
        tmp_path,
        rights="Role;Module;Create;Read;Update\nAdmin;Sales;Y;Y;Y\nAdmin;HR;N;Y;N\nViewer;Sales;N;Y;N\n",
    )

    assert levels.rows("permissions", "value", "access") == [("Full", "Grant"), ("Full", "Grant"), ("Read", "Grant")]
    assert matrix.permissions == {
        ("", "Admin", "Sales", "Create"), ("", "Admin", "Sales", "Read"), ("", "Admin", "Sales", "Update"),
        ("", "Admin", "HR", "Read"), ("", "Viewer", "Sales", "Read"),
    }  # fmt: skip


def test_single_quotes_and_values_that_are_header_words_are_read(tmp_path: Path) -> None:
    quoted = imported(tmp_path, users="'username','email'\n'ada','a@x.com'\n'bob','b@x.com'\n")
    words = imported(tmp_path, users="Username\tRole\tStatus\nada\tadmin\tEnabled\nbob\tuser\tDisabled\n")

    assert quoted.active == {"ada", "bob"}
    assert (words.active, words.inactive) == ({"ada"}, {"bob"})


def test_sailpoint_accounts_and_entitlements_are_read(tmp_path: Path) -> None:
    accounts = 'nativeIdentity,displayName,IIQDisabled,groups\nada,Ada Byron,false,"[""a"",""b""]"\n'
    accounts += 'bob,Bob Kahn,true,"[""a""]"\n'
    held = "Display Name,Account Name,Application,Entitlement Attribute,Entitlement Value,Status\n"
    held += "Ada Byron,ada,AD,memberOf,Staff,Active\nAda Byron,ada,AD,memberOf,Ops,Active\n"
    held += "Bob Kahn,bob,AD,memberOf,Staff,Inactive\n"

    found, other = imported(tmp_path, accounts=accounts), imported(tmp_path, entitlements=held)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.memberships == {("ada", "a"), ("ada", "b"), ("bob", "a")}
    assert (other.active, other.inactive) == ({"ada"}, {"bob"})
    assert other.permissions == {("ada", "", "AD", "Staff"), ("ada", "", "AD", "Ops"), ("bob", "", "AD", "Staff")}


def test_groups_and_members_of_entra_are_read(tmp_path: Path) -> None:
    groups = "id,displayName,mail,groupTypes,securityEnabled,membershipType\n1,Staff,s@x.com,Unified,false,Assigned\n"
    groups += "2,Ops,,,true,Assigned\n"
    members = "GroupId,GroupName,MemberId,MemberUPN,MemberType\ng1,Staff,u1,a@x.com,user\ng1,Staff,u2,b@x.com,user\n"
    members += "g2,Ops,u1,a@x.com,user\n"

    assert imported(tmp_path, groups=groups).groups == {"Staff", "Ops"}
    assert imported(tmp_path, members=members).memberships == {
        ("a@x.com", "Staff"), ("b@x.com", "Staff"), ("a@x.com", "Ops"),
    }  # fmt: skip


def test_status_codes_become_questions(tmp_path: Path) -> None:
    text = "EmpID;Name;Manager EmpID;Start Date;Employment Status\n1;Byron, Ada;3;2021-05-01;A\n"
    text += "2;Kahn, Bob;1;2020-08-15;T\n3;Dee, Cy;;2019-01-01;LOA\n"

    found = imported(tmp_path, people=text)

    assert found.rows("identities", "status", "supervisor_id") == [("Active", "3"), ("Disabled", "1"), ("Active", "")]
    asked = [question.text for question in proposed(tmp_path, people=text).files[0].contents[0].questions]
    assert "Employment Status: what does T mean? Proposed: not active." in asked


def test_evidence_names_columns_in_which_merged_rows_differ(tmp_path: Path) -> None:
    text = "user,permission,valid_from\nada,post,2020-01-01\nada,post,2021-01-01\nbob,post,2020-01-01\n"

    (part,) = proposed(tmp_path, grants=text).files[0].contents

    assert "Some rows differ only in columns that are not read: valid_from" in part.evidence


def test_matrix_with_a_row_for_each_group_and_form_is_read(tmp_path: Path) -> None:
    text = "UserGroup,Form,Read,Write,Delete\nClerks,Invoices,Yes,Yes,No\nClerks,Payments,Yes,No,No\n"
    text += "Heads,Invoices,Yes,Yes,Yes\n"

    found = imported(tmp_path, rights=text)

    assert set(found.rows("permissions", "group", "section", "permission")) == {
        ("Clerks", "Invoices", "Read"), ("Clerks", "Invoices", "Write"), ("Clerks", "Payments", "Read"),
        ("Heads", "Invoices", "Read"), ("Heads", "Invoices", "Write"), ("Heads", "Invoices", "Delete"),
    }  # fmt: skip
