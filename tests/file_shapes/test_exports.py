"""Test that exports of other products are read correctly as proposed, without changes.

The files have the headers, words and peculiarities of public exports, with invented people.
"""

from pathlib import Path
from typing import Any

from rolecall.file_shapes.files.proposals import propose
from rolecall.file_shapes.shapes import ProposalDetail
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import Outcome, Text, read_files


def proposed(folder: Path, **files: Text) -> ProposalDetail:
    samples = []
    for name, text in files.items():
        path = folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        samples.append(sample_of(path, name))
    return propose(samples)


def imported(folder: Path, **files: Text) -> Outcome:
    """Read files with the connector that is proposed for them; fail if a file has a problem or a row is rejected."""
    proposal = proposed(folder, **files)
    assert [file.problem for file in proposal.files] == [None] * len(files)
    by_group: dict[str, Any] = {}
    for file in proposal.files:
        by_group.setdefault(str(file.file_group), []).append(files[file.name])
    found = read_files(folder, proposal.connector["files"], by_group)
    assert [delta.rejects for delta in found.deltas.values()] == [[]] * len(found.deltas)
    return found


def contents(folder: Path, **files: Text) -> list[str]:
    return [str(part.content) for file in proposed(folder, **files).files for part in file.contents]


def test_title_row_status_words_and_a_semicolon_list_are_read(tmp_path: Path) -> None:
    text = (
        "Operators of CoreBank, exported 2026-11-02\n\nOpr ID,Opr Name,Emp No,Sts,Branch,Pwd,Roles,Last On\n"
        'kowalr1,"KOWALSKI, Ravi",E1061,Active,MAIN,secret1,Teller;Wire,31/12/2025 08:00\n'
        'meyerm2,"MEYER, Malik",E1170,Suspended,ELM ST,secret2,Teller,01/02/2026 09:30\n'
        'moreau3,"MOREAU, Joana",E1072,Former employee,MAIN,secret3,,Never\nTotal,3,,,,,,\n'
    )

    found = imported(tmp_path, export=text)

    assert (found.active, found.inactive) == ({"kowalr1"}, {"meyerm2", "moreau3"})
    assert found.memberships == {("kowalr1", "Teller"), ("kowalr1", "Wire"), ("meyerm2", "Teller")}
    assert found.rows("users", "employee_id") == ["E1061", "E1170", "E1072"]
    assert found.rows("users", "last_login") == ["2025-12-31T08:00:00Z", "2026-02-01T09:30:00Z", ""]
    assert "secret" not in str(found.rows("users", "metadata"))


def test_get_aduser_is_read(tmp_path: Path) -> None:
    text = (
        '"AccountExpirationDate","CN","Created","EmailAddress","EmployeeID","Enabled","GivenName","LastLogonDate",'
        '"LockedOut","MemberOf","Name","PasswordLastSet","SamAccountName","Surname","userAccountControl"\n'
        '"","Ada","1/28/2020 4:53:25 PM","ada@x.com","7","True","Ada","1/28/2020 4:55:07 PM","False",'
        '"Microsoft.ActiveDirectory.Management.ADPropertyValueCollection","Ada Byron","","abyron","Byron","512"\n'
        '"","Guest","1/28/2020 4:53:25 PM","","","False","","","False",'
        '"Microsoft.ActiveDirectory.Management.ADPropertyValueCollection","Guest","","Guest","","66082"\n'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"abyron"}, {"Guest"})
    assert found.rows("users", "last_login") == ["2020-01-28T16:55:07Z", ""]
    assert "ADPropertyValueCollection" not in str(found.rows("users", "metadata"))


def test_okta_users_with_their_applications_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        users=(
            'email,status,mfa_enabled,assigned_apps\na@x.org,ACTIVE,TRUE,"Gmail,Zoom"\nb@x.org,SUSPENDED,FALSE,Gmail\n'
        ),
    )

    assert (found.active, found.inactive) == ({"a@x.org"}, {"b@x.org"})
    assert found.memberships == {("a@x.org", "Gmail"), ("a@x.org", "Zoom"), ("b@x.org", "Gmail")}
    assert found.rows("users", "email") == ["a@x.org", "b@x.org"]


def test_sap_roles_give_users_memberships_and_authorizations(tmp_path: Path) -> None:
    users = "USER,ROLE\nADA,Z_DISPLAY\nADA,Z_INPUT\nBOB,Z_DISPLAY\n\n"
    values = "ROLE,OBJECT,FIELD,VALUE\nZ_DISPLAY,S_TCODE,TCD,ME23N\nZ_INPUT,S_TCODE,TCD,FB01\n"

    alone = imported(tmp_path, agr_users=users)
    found = imported(tmp_path, agr_users=users, agr_1251=values)

    assert alone.active == {"ADA", "BOB"}
    assert found.memberships == {("ADA", "Z_DISPLAY"), ("ADA", "Z_INPUT"), ("BOB", "Z_DISPLAY")}
    assert found.permissions == {("", "Z_DISPLAY", "S_TCODE", "ME23N"), ("", "Z_INPUT", "S_TCODE", "FB01")}


def test_end_of_a_range_of_sap_values_is_the_value(tmp_path: Path) -> None:
    text = "AGR_NAME,OBJECT,FIELD,LOW,HIGH,DELETED\nZ_A,F_LFA1,ACTVT,01,03,\nZ_A,S_TCODE,TCD,FB01,,X\n"

    found = imported(tmp_path, agr_1251=text)

    assert found.rows("permissions", "permission", "value") == [("01", "03")]


def test_entra_bulk_form_is_read(tmp_path: Path) -> None:
    text = (
        "\ufeffversion:v1.0,,,,\nName [displayName] Required,User name [userPrincipalName] Required,"
        "Initial password [passwordProfile] Required,Block sign in (Yes/No) [accountEnabled] Required,State [state]\n"
        "Ada Byron,ada@x.com, hidden1, No,\nBob Kahn,bob@x.com,hidden2, Yes,\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})
    assert "hidden" not in str(found.rows("users", "metadata"))


def test_ad_users_and_memberships_together_are_read(tmp_path: Path) -> None:
    users = "DisplayName,GivenName,Surname,SamAccountName,UserPrincipalName,Enabled\nAda B,Ada,B,ab,ab@x.com,TRUE\n"
    members = '"SamAccountName","GroupName","GroupDN"\n"ab","Admins","CN=Admins,DC=x"\n"ab","Staff","CN=Staff,DC=x"\n'

    found = imported(tmp_path, users=users, members=members)

    assert found.active == {"ab"}
    assert found.memberships == {("ab", "Admins"), ("ab", "Staff")}


def test_hr_feeds_are_read_as_people(tmp_path: Path) -> None:
    feed = (
        "employee_id,name,department,start_date,end_date,status\n1,Ada Byron,HR,2021-05-01,,Active\n"
        "2,Bob Kahn,IT,2020-08-15,2023-07-01,Terminated\n"
    )
    coded = (
        '"empnum","firstname","surname","emptype","job","status"\n"1","Ada","Byron","FTE","124#CEO","Active"\n'
        '"2","Bob","Kahn","CONTRACTOR","7#Clerk","Former employee"\n'
    )

    found, other = imported(tmp_path, feed=feed), imported(tmp_path, coded=coded)

    assert found.rows("identities", "first_name", "last_name", "status") == [
        ("Ada", "Byron", "Active"), ("Bob", "Kahn", "Disabled"),
    ]  # fmt: skip
    assert other.rows("identities", "title", "type", "status") == [
        ("CEO", "Employee", "Active"), ("Clerk", "Vendor", "Disabled"),
    ]  # fmt: skip


def test_employee_ids_serve_as_usernames(tmp_path: Path) -> None:
    found = imported(tmp_path, okta="employee_id,name,department,status\n101,Ada B,HR,Active\n102,Bob K,IT,Inactive\n")

    assert (found.active, found.inactive) == ({"101"}, {"102"})


def test_semicolon_file_is_read_with_groups_separated_by_number_signs_and_without_its_password(tmp_path: Path) -> None:
    found = imported(
        tmp_path, users="userid;name;password;organization\n001;ada;hidden;org1#org2\n002;bob;;org1\n003;cy;;\n"
    )

    assert found.active == {"001", "002", "003"}
    assert found.memberships == {("001", "org1"), ("001", "org2"), ("002", "org1")}
    assert "hidden" not in str(found.rows("users", "metadata"))


def test_ldif_of_people_and_groups_is_read(tmp_path: Path) -> None:
    people = (
        "# a comment\ndn: uid=ada,ou=u,dc=x\ncn: Ada Byron\ndisplayname: Ada Byron\nemployeenumber: 1\n"
        "objectclass: inetOrgPerson\nuid: ada\nuserpassword: hidden\n\ndn: uid=bob,ou=u,dc=x\ncn: Bob Kahn\nuid: bob\n"
    )
    groups = (
        "dn: cn=door,ou=g,dc=x\nobjectClass: groupOfNames\ncn: door\ndescription: Door\nmember: uid=ada,ou=u,dc=x\n"
        "member: uid=bob,ou=u,dc=x\n\ndn: cn=lab,ou=g,dc=x\nobjectClass: groupOfNames\ncn: lab\n"
        "member: uid=ada,ou=u,dc=x\n"
    )

    found = imported(tmp_path, people=people, groups=groups)

    assert found.active == {"ada", "bob"}
    assert found.groups == {"door", "lab"}
    assert found.memberships == {("ada", "door"), ("bob", "door"), ("ada", "lab")}
    assert "hidden" not in str(found.rows("users", "metadata"))


def test_oaa_files_agree_on_usernames(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        users="name,email,department\nAda Byron,ada@x.com,HR\nBob Kahn,bob@x.com,IT\n",
        groups='name,description,members\nStaff,Everyone,"Ada Byron,Bob Kahn"\nSales,Sellers,"Bob Kahn,Ada Byron"\n',
        roles="name,description\nManager,All\nClerk,Some\n",
        user_groups="user,group\nAda Byron,Staff\nBob Kahn,Staff\nBob Kahn,Sales\n",
        user_roles="user,role\nAda Byron,Manager\nBob Kahn,Clerk\n",
        role_permissions="role,resource,permissions\nManager,CRM,admin\nClerk,CRM,read,write\n",
    )

    assert found.active == {"Ada Byron", "Bob Kahn"}
    assert found.groups == {"Staff", "Sales", "Manager", "Clerk"}
    assert ("Bob Kahn", "Clerk") in found.memberships
    assert len(found.memberships) == 5
    assert found.rows("permissions", "group", "section", "permission") == [
        ("Manager", "CRM", "admin"), ("Clerk", "CRM", "read"), ("Clerk", "CRM", "write"),
    ]  # fmt: skip


def test_users_and_groups_in_one_column_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        grants="identity,identity_type,permission,resource_name\nada,local_user,View,HR\nstaff,local_group,View,HR\n",
    )

    assert found.permissions == {("ada", "", "", "View"), ("", "staff", "", "View")}
    assert found.active == {"ada"}


def test_prefixed_principals_are_matched_with_users(tmp_path: Path) -> None:
    grants = "principal_id,permission_id,resource_id\nuser:ada,View,HR\nuser:bob,Edit,HR\n"
    users = (
        "identity,name,full_name,is_active,groups\nx+ada@x.com,ada,Ada Byron,true,managers\n"
        "x+bob@x.com,bob,Bob Kahn,false,\n"
    )

    found = imported(tmp_path, grants=grants, users=users)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "email") == ["x+ada@x.com", "x+bob@x.com"]
    assert found.memberships == {("ada", "managers")}
    assert found.permissions == {("ada", "", "", "View"), ("bob", "", "", "Edit")}


def test_matrices_in_both_directions_are_read(tmp_path: Path) -> None:
    roles = "Permission,Category,admin,editor,viewer\npost.create,post,Y,Y,\npost.read,post,Y,Y,Y\npost.drop,post,Y,,\n"
    people = "user,Read,Write,Delete,Admin\nada,x,,x,\nbob,x,x,,x\n"

    found, other = imported(tmp_path, matrix=roles), imported(tmp_path, matrix=people)

    assert len(found.permissions) == 6
    assert ("", "viewer", "post", "post.read") in found.permissions
    assert other.active == {"ada", "bob"}
    assert ("bob", "", "", "Admin") in other.permissions
    assert len(other.permissions) == 5


def test_json_array_with_roles_is_read(tmp_path: Path) -> None:
    text = (
        '[\n {"user_id": "U1", "name": "Ada Byron", "email": "a@x.com", "status": "active", "role": "Admin",'
        ' "last_login": "2026-05-24T19:00:00", "mfa_enabled": true},\n'
        ' {"user_id": "U2", "name": "Bob Kahn", "email": "b@x.com", "status": "suspended", "role": "User",'
        ' "last_login": null, "mfa_enabled": false},\n'
        ' {"user_id": "U3", "name": "Cy Dee", "email": "c@x.com", "status": "disabled", "role": "User",'
        ' "last_login": "2026-05-24T19:00:00", "mfa_enabled": false}\n]'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"U1"}, {"U2", "U3"})
    assert found.memberships == {("U1", "Admin"), ("U2", "User"), ("U3", "User")}
    assert found.rows("users", "last_login") == ["2026-05-24T19:00:00Z", "", "2026-05-24T19:00:00Z"]


def test_google_workspace_download_is_read(tmp_path: Path) -> None:
    text = (
        "First Name [Required],Last Name [Required],Email Address [Required],Status [READ ONLY],"
        "Last Sign In [READ ONLY]\n"
        "Ada,Byron,ada@x.com,Active,2023/09/03 20:23:16\nBob,Kahn,bob@x.com,Suspended,Never logged in\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})
    assert found.rows("users", "first_name", "last_login") == [("Ada", "2023-09-03T20:23:16Z"), ("Bob", "")]


def test_scim_response_is_read(tmp_path: Path) -> None:
    text = """{"schemas": ["urn:x"], "totalResults": 1, "Resources": [
        {"displayName": "Ada B", "name": {"familyName": "Byron", "givenName": "Ada"}, "active": false,
         "emails": [{"type": "home", "value": "no"}, {"type": "work", "value": "ada@x.com"}], "userName": "ada",
         "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"employeeNumber": "7"}}]}"""

    found = imported(tmp_path, users=text)

    assert found.inactive == {"ada"}
    assert found.rows("users", "email", "employee_id", "last_name") == [("ada@x.com", "7", "Byron")]


def test_aws_credential_report_is_read(tmp_path: Path) -> None:
    text = (
        "user,arn,user_creation_time,password_enabled,password_last_used,password_last_changed,mfa_active\n"
        "<root_account>,arn:aws:iam::1:root,2020-01-01T00:00:00+00:00,not_supported,2026-01-01T00:00:00+00:00,"
        "not_supported,false\nada,arn:aws:iam::1:user/ada,2021-01-01T00:00:00+00:00,true,no_information,"
        "2024-01-01T00:00:00+00:00,true\nbob,arn:aws:iam::1:user/bob,2021-01-01T00:00:00+00:00,false,N/A,N/A,false\n"
    )

    found = imported(tmp_path, report=text)

    assert len(found.active) == 3
    assert found.rows("users", "last_login") == ["2026-01-01T00:00:00Z", "", ""]


def test_slack_members_are_read(tmp_path: Path) -> None:
    text = (
        "username,email,status,billing-active,has-2fa,userid,fullname,displayname\n"
        "ada,ada@x.com,Admin,1,1,U1,Ada Byron,ada\nbob,bob@x.com,Deactivated,0,0,U2,Bob Kahn,\n"
    )

    found = imported(tmp_path, members=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_file_without_a_header_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path, users="ada@x.org,Ada Byron,Active\nbob@x.org,Bob Kahn,Suspended\n")

    assert (found.active, found.inactive) == ({"ada@x.org"}, {"bob@x.org"})
