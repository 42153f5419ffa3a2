"""Read exports of other products in their original form, each with a shape, and check the rows.

The files have the headers, words and peculiarities of public exports, with invented people.
"""

from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.connectors import templates
from rolecall.application_imports.read.broken_file import BrokenFile
from tests.application_imports.reading import Outcome, Text, read_file, read_files

TEMPLATES = {template.name: template for template in templates()}


def by_template(folder: Path, name: str, **files: Text | list[Text]) -> Outcome:
    """Read files with a template; a double underscore in the name of a file group stands for a space."""
    groups = TEMPLATES[name].files
    return read_files(folder, groups, {group.replace("__", " "): text for group, text in files.items()})


def test_get_aduser_export_is_read(tmp_path: Path) -> None:
    users = (
        '#TYPE Selected.ADUser\r\n"SamAccountName","Name","DisplayName","GivenName",'
        '"Surname","Enabled","LockedOut","LastLogonDate","PasswordLastSet","MemberOf"\r\n'
        '"abyron","abyron","Ada Byron","Ada","Byron","True","False","1/28/2020 4:55:07 PM","1/9/2020 9:00:00 AM",'
        '"Microsoft.ActiveDirectory.Management.ADPropertyValueCollection"\r\n'
        '"guest","Guest","","","","False","True","","1/31/2020 12:00:00 AM",""\r\n'
    )
    members = '"SamAccountName","GroupName","GroupDN"\n"abyron","Remote Users","CN=Remote Users,DC=example"\n\n'

    found = by_template(tmp_path, "Active Directory (Get-ADUser)", Users=users, Memberships=members)

    assert (found.active, found.inactive) == ({"abyron"}, {"guest"})
    assert found.rows("users", "name", "is_locked", "last_login", "password_changed") == [
        ("Ada Byron", False, "2020-01-28T16:55:07Z", "2020-01-09T09:00:00Z"),
        ("", True, "", "2020-01-31T00:00:00Z"),
    ]
    assert found.memberships == {("abyron", "Remote Users")}


def test_list_type_written_by_powershell_is_not_a_group(tmp_path: Path) -> None:
    shape = {"split": {"MemberOf": ";"}, "join": {"Group": "{MemberOf|rdn}"}}
    text = "Username,MemberOf\nada,Microsoft.ActiveDirectory.Management.ADPropertyValueCollection\n"

    found = read_file(tmp_path, text, "memberships", shape=shape)

    assert found.memberships == set()
    assert "export it again with the values joined" in found.notes[0]


@pytest.mark.parametrize("separator", [";", "; ", "|", " ", ",", ", "])
def test_several_distinguished_names_in_a_cell_are_never_read_as_the_first_one(tmp_path: Path, separator: str) -> None:
    names = separator.join(["CN=Admins,CN=Users,DC=corp", "CN=Staff,OU=Groups,DC=corp"])
    text = f'Username,MemberOf\nada,"{names}"\nbob,"CN=Staff,OU=Groups,DC=corp"\n'
    shape = {"join": {"Group": "{MemberOf|rdn}"}}

    with pytest.raises(BrokenFile, match=r"MemberOf has several distinguished names.*set shape\.split\.MemberOf"):
        read_file(tmp_path, text, "memberships", shape=shape)
    split = separator.strip() if separator.strip() in (";", "|") else "json"
    found = read_file(tmp_path, text, "memberships", shape={**shape, "split": {"MemberOf": split}})

    assert found.memberships == {("ada", "Admins"), ("ada", "Staff"), ("bob", "Staff")}


@pytest.mark.parametrize("cell", ["{CN=Admins,DC=corp, CN=Staff,DC=corp}", '["CN=Admins,DC=corp","CN=Staff,DC=corp"]'])
def test_lists_in_brackets_without_split_are_never_read_as_their_first_name(tmp_path: Path, cell: str) -> None:
    text = 'Username,MemberOf\nada,"{}"\n'.format(cell.replace('"', '""'))

    with pytest.raises(BrokenFile, match="several distinguished names"):
        read_file(tmp_path, text, "memberships", shape={"join": {"Group": "{MemberOf|rdn}"}})


def test_one_distinguished_name_with_spaces_commas_and_several_domains_is_one_group(tmp_path: Path) -> None:
    names = [r"CN=Byron\, Ada,CN=Users,DC=corp,DC=example", "cn=On Call, ou=Groups, dc=corp", "DC=a,CN=Zones,DC=b"]
    rows = "".join(f'ada,"{name}"\n' for name in names)
    shape = {"split": {"MemberOf": "json"}, "join": {"Group": "{MemberOf|rdn}"}}

    found = read_file(tmp_path, f"Username,MemberOf\n{rows}", "memberships", shape=shape)

    assert found.memberships == {("ada", "Byron, Ada"), ("ada", "On Call"), ("ada", "a")}


def test_csvde_export_is_read(tmp_path: Path) -> None:
    text = (
        "DN,objectClass,sAMAccountName,displayName,givenName,sn,userAccountControl,pwdLastSet,lastLogonTimestamp,"
        "memberOf\n"
        '"CN=Ada,DC=x",user,abyron,Ada Byron,Ada,Byron,66048,132247077070000000,0,'
        '"CN=Staff,OU=G,DC=x;CN=Payroll\\, Admins,OU=G,DC=x"\n'
        '"CN=Old,DC=x",user,old,Old,,,514,0,9223372036854775807,\n'
        '"CN=PC1,DC=x",computer,PC1$,,,,4096,,,\n"OU=G,DC=x",organizationalUnit,,,,,,,,\n'
    )

    found = by_template(tmp_path, "Active Directory (csvde)", Users=text)

    assert (found.active, found.inactive) == ({"abyron"}, {"old"})
    assert found.memberships == {("abyron", "Staff"), ("abyron", "Payroll, Admins")}
    assert found.rows("users", "password_changed") == ["2020-01-28T17:55:07Z", ""]
    assert found.rows("users", "last_login") == ["", ""]


def test_ldif_of_active_directory_is_read(tmp_path: Path) -> None:
    text = (
        "version: 1\n\ndn: CN=Ada,DC=x\nchangetype: add\nobjectClass: top\nobjectClass: user\n"
        "sAMAccountName: abyron\ndisplayName:: QWRhIELDvHJvbg==\nuserAccountControl: 512\nmemberOf: CN=Staff,\n OU=G\n"
        "memberOf: CN=Payroll,DC=x\n\n# a comment\ndn: CN=PC,DC=x\nobjectClass: user\nobjectClass: computer\n"
        "sAMAccountName: PC$\n\ndn: CN=Old,DC=x\nobjectClass: user\nsAMAccountName: old\nuserAccountControl: 514\n"
    )

    found = by_template(tmp_path, "Active Directory (LDIF)", Directory=text)

    assert (found.active, found.inactive) == ({"abyron"}, {"old"})
    assert found.rows("users", "name") == ["Ada Büron", ""]
    assert found.memberships == {("abyron", "Staff"), ("abyron", "Payroll")}


def test_ldif_of_people_and_groups_is_read(tmp_path: Path) -> None:
    people = (
        "# uid is the account\ndn: uid=ada,ou=users,dc=x\ncn: Ada\ndisplayname: Ada Byron\nemployeenumber: 1001\n"
        "objectclass: inetOrgPerson\nsn: Byron\nuid: ada\nuserpassword: sample\n\n\n"
        "dn: uid=cbabbage,ou=users,dc=x\nuid: cbabbage\nsn: Babbage\ngivenname: Charles\n"
    )
    groups = (
        "####\n## Ada\n####\ndn: cn=app:door,ou=g,dc=x\nobjectClass: groupOfNames\nobjectClass: top\ncn: app:door\n"
        "description: Main door\nmember: cn=dummy,o=whatever\nmember: uid=ada,ou=users,dc=x\n"
        "member: uid=cbabbage,ou=users,dc=x\n\ndn: cn=app:lab,ou=g,dc=x\ncn: app:lab\nmember: uid=ada,ou=users,dc=x\n"
    )

    found = by_template(tmp_path, "LDAP directory (LDIF)", People=people, Groups=groups)

    assert (found.active, found.inactive) == ({"ada", "cbabbage"}, set())
    assert found.rows("users", "name", "employee_id") == [("Ada Byron", "1001"), ("Charles Babbage", "")]
    assert found.groups == {"app:door", "app:lab"}
    assert found.memberships == {("ada", "app:door"), ("cbabbage", "app:door"), ("ada", "app:lab")}
    assert "sample" not in str(found.rows("users", "metadata"))
    assert any("userpassword looks like a secret" in note for note in found.notes)


def test_disabled_and_locked_people_of_a_directory_are_distinguished(tmp_path: Path) -> None:
    people = (
        "dn: uid=ada,dc=x\nuid: ada\ncn: Ada Byron\nnsAccountLock: FALSE\n\ndn: uid=bob,dc=x\nuid: bob\n"
        "nsAccountLock: TRUE\n\ndn: uid=cy,dc=x\nuid: cy\npwdAccountLockedTime: 000001010000Z\n\nresult: 0 Success\n"
    )

    found = by_template(tmp_path, "LDAP directory (LDIF)", People=people)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})
    assert found.rows("users", "name", "is_locked") == [("Ada Byron", False), ("", False), ("", True)]


def test_entra_users_are_read(tmp_path: Path) -> None:
    text = "userPrincipalName,displayName,surname,mail,givenName,accountEnabled\nada@x.com,Ada,Byron,,Ada,True\n"
    graph = '{"@odata.context": "x", "value": [{"userPrincipalName": "cb@x.com", "accountEnabled": false}]}'

    found = by_template(tmp_path, "Microsoft Entra ID", Users=text)
    of_graph = by_template(tmp_path, "Microsoft Entra ID", Users=graph)

    assert (found.active, of_graph.inactive) == ({"ada@x.com"}, {"cb@x.com"})
    assert "the records are the 1 entry of value" in of_graph.notes[0]


def test_entra_bulk_create_form_is_read(tmp_path: Path) -> None:
    header = (
        "Name [displayName] Required,User name [userPrincipalName] Required,Initial password [passwordProfile] Required"
        ",Block sign in (Yes/No) [accountEnabled] Required,First name [givenName],Last name [surname]"
    )
    text = f"\ufeffversion:v1.0,,,,,\n{header}\nAda Byron,ada@x.com, secret12, No,Ada ,Byron\nOld,old@x.com,s,Yes,,\n"

    found = by_template(tmp_path, "Microsoft Entra ID (bulk create)", Users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"old@x.com"})
    assert found.rows("users", "line", "first_name") == [(3, "Ada"), (4, "")]
    assert "secret12" not in str(found.rows("users", "metadata"))


def test_users_from_the_okta_api_are_read(tmp_path: Path) -> None:
    text = """[
      {"id": "1", "status": "ACTIVE", "lastLogin": "2026-05-24T19:00:00.000Z",
       "profile": {"login": "ada@x.com", "firstName": "Ada", "lastName": "Byron", "email": "ada@x.com"}},
      {"id": "2", "status": "DEPROVISIONED", "profile": {"login": "old@x.com"}},
      {"id": "3", "status": "LOCKED_OUT", "profile": {"login": "cb@x.com", "employeeNumber": "7"}}
    ]"""

    found = by_template(tmp_path, "Okta", Users=text)

    assert (found.active, found.inactive) == ({"ada@x.com", "cb@x.com"}, {"old@x.com"})
    assert found.rows("users", "name", "last_login")[0] == ("Ada Byron", "2026-05-24T19:00:00Z")


def test_okta_csv_with_a_list_of_applications_is_read(tmp_path: Path) -> None:
    text = 'email,status,mfa_enabled,assigned_apps\nada@x.com,ACTIVE,TRUE,"Mail,Zoom"\ncb@x.com,SUSPENDED,FALSE,Mail\n'

    found = by_template(tmp_path, "Okta (CSV)", Users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"cb@x.com"})
    assert found.rows("users", "email") == ["ada@x.com", "cb@x.com"]
    assert found.memberships == {("ada@x.com", "Mail"), ("ada@x.com", "Zoom"), ("cb@x.com", "Mail")}


def test_google_workspace_download_is_read(tmp_path: Path) -> None:
    text = (
        "First Name [Required],Last Name [Required],Email Address [Required],Status [READ ONLY],"
        "Last Sign In [READ ONLY],Email Usage [READ ONLY]\n"
        "Ada,Byron,ada@x.com,Active,2023/09/03 20:23:16,0.02GB\nCharles,Babbage,cb@x.com,Suspended,Never logged in,0\n"
    )

    found = by_template(tmp_path, "Google Workspace", Users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"cb@x.com"})
    assert found.rows("users", "name", "email", "last_login") == [
        ("Ada Byron", "ada@x.com", "2023-09-03T20:23:16Z"),
        ("Charles Babbage", "cb@x.com", ""),
    ]


def test_aws_credential_report_is_read(tmp_path: Path) -> None:
    text = (
        "user,arn,user_creation_time,password_enabled,password_last_used,password_last_changed,mfa_active\n"
        "<root_account>,arn:1,2020-01-01T00:00:00+00:00,not_supported,2024-03-14T10:00:00+00:00,not_supported,true\n"
        "ada,arn:2,2020-01-01T00:00:00+00:00,true,no_information,2024-03-14T10:00:00+00:00,false\n"
        "robot,arn:3,2020-01-01T00:00:00+00:00,false,N/A,N/A,false\n"
    )

    found = by_template(tmp_path, "AWS credential report", Users=text)

    assert found.active == {"<root_account>", "ada", "robot"}
    assert found.rows("users", "last_login", "password_changed") == [
        ("2024-03-14T10:00:00Z", ""),
        ("", "2024-03-14T10:00:00Z"),
        ("", ""),
    ]


def test_github_organization_is_read(tmp_path: Path) -> None:
    text = '[{"login": "ada", "id": 1, "role": "admin"}, {"login": "cb", "id": 2, "role": "member"}]'

    found = by_template(tmp_path, "GitHub organization", Members=text)

    assert found.active == {"ada", "cb"}
    assert found.memberships == {("ada", "admin"), ("cb", "member")}


def test_salesforce_query_result_is_read(tmp_path: Path) -> None:
    text = """{"totalSize": 2, "done": true, "records": [
      {"attributes": {"type": "User", "url": "/1"}, "Username": "ada@x.com", "Name": "Ada Byron", "IsActive": true,
       "LastLoginDate": "2026-05-24T07:00:00.000+0000", "Profile": {"attributes": {"type": "Profile"}, "Name": "CRM"}},
      {"attributes": {"type": "User"}, "Username": "cb@x.com", "Name": "CB", "IsActive": false, "Profile": null}
    ]}"""

    found = by_template(tmp_path, "Salesforce", Users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"cb@x.com"})
    assert found.memberships == {("ada@x.com", "CRM")}


def test_slack_members_are_read(tmp_path: Path) -> None:
    text = (
        "username,email,status,billing-active,has-2fa,userid,fullname\n"
        "ada,ada@x.com,Primary Owner,1,1,U1,Ada Byron\ncb,cb@x.com,Member,1,0,U2,Charles Babbage\n"
        "old,old@x.com,Deactivated,0,0,U3,Old\nbot,,Bot,0,0,U4,Bot\n"
    )

    found = by_template(tmp_path, "Slack", Members=text)

    assert (found.active, found.inactive) == ({"ada", "cb", "bot"}, {"old"})
    assert found.memberships == {("ada", "Primary Owner"), ("cb", "Member"), ("bot", "Bot")}


def test_sap_roles_without_a_list_of_users_are_read(tmp_path: Path) -> None:
    users = "MANDT,AGR_NAME,UNAME\n100,Z_FI,ADA\n100,Z_MM,ADA\n100,Z_MM,CB\n"
    values = "MANDT,AGR_NAME,OBJECT,FIELD,LOW,HIGH\n100,Z_FI,S_TCODE,TCD,FB01,\n100,Z_MM,S_TCODE,TCD,ME23N,\n"

    found = by_template(tmp_path, "SAP roles", AGR_USERS=users, AGR_1251=values)

    assert found.active == {"ADA", "CB"}
    assert found.memberships == {("ADA", "Z_FI"), ("ADA", "Z_MM"), ("CB", "Z_MM")}
    assert found.rows("permissions", "group", "header", "section", "permission", "access") == [
        ("Z_FI", "S_TCODE", "TCD", "FB01", "Grant"),
        ("Z_MM", "S_TCODE", "TCD", "ME23N", "Grant"),
    ]


def test_scim_list_response_is_read(tmp_path: Path) -> None:
    text = """{"schemas": ["urn:x"], "totalResults": 1, "Resources": [
      {"userName": "ada@x.com", "displayName": "Ada", "name": {"familyName": "Byron", "givenName": "Ada"},"active":true,
       "emails": [{"type": "home", "value": "a@home"}, {"type": "work", "value": "ada@x.com"}], "addresses": [],
       "groups": [{"value": "1", "display": "Staff"}, {"value": "2", "display": "Payroll"}],
       "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"employeeNumber": "1001"}}]}"""

    found = by_template(tmp_path, "SCIM 2.0", Users=text)

    assert found.rows("users", "username", "name", "first_name", "email", "employee_id", "is_active") == [
        ("ada@x.com", "Ada", "Ada", "ada@x.com", "1001", True)
    ]
    assert found.memberships == {("ada@x.com", "Staff"), ("ada@x.com", "Payroll")}


def test_veza_files_with_ragged_permissions_are_read(tmp_path: Path) -> None:
    found = by_template(
        tmp_path,
        "Veza OAA",
        Users="name,email,department\nAda Byron,ada@x.com,Sales\nCharles Babbage,cb@x.com,HR\n",
        Groups__and__roles=[
            'name,description,members\nSales,All,"Ada Byron,Charles Babbage"\n',
            "name,description\nRep,CRM\n",
        ],
        User__groups__and__user__roles=["user,group\nAda Byron,Sales\n", "user,role\nAda Byron,Rep\n"],
        Role__permissions="role,resource,permissions\nRep,CRM,read,write\nRep,Stock,read\n",
    )

    assert found.active == {"Ada Byron", "Charles Babbage"}
    assert found.groups == {"Sales", "Rep"}
    assert found.memberships == {("Ada Byron", "Sales"), ("Ada Byron", "Rep")}
    assert found.permissions == {("", "Rep", "CRM", "read"), ("", "Rep", "CRM", "write"), ("", "Rep", "Stock", "read")}


def test_hr_feed_with_one_name_column_is_read(tmp_path: Path) -> None:
    text = (
        "employee_id,name,department,start_date,end_date,status\n101,Ada Byron,Finance,2021-05-01,,Active\n"
        '102,"Babbage, Charles",HR,2020-08-15,2023-07-01,Terminated\n103,Mary Ann Lee,HR,2020-08-15,,Long-term leave\n'
    )

    found = by_template(tmp_path, "HR export", People=text)

    assert found.rows("identities", "employee_id", "first_name", "last_name", "status") == [
        ("101", "Ada", "Byron", "Active"),
        ("102", "Charles", "Babbage", "Disabled"),
        ("103", "Mary Ann", "Lee", "Active"),
    ]


def test_organizations_separated_by_number_signs_are_read(tmp_path: Path) -> None:
    members = {"content": "memberships", "columns": {"userid": "Username", "organization": "Group"}}
    shape = {"contents": [{**members, "shape": {"split": {"organization": "#"}}}], "ignore": ["organization"]}
    text = "userid;name;password;organization\n001;ada;hush;org1#org2\n002;cb;;\n"

    found = read_file(tmp_path, text, "users", columns={"userid": "Username"}, shape=shape)

    assert found.active == {"001", "002"}
    assert found.memberships == {("001", "org1"), ("001", "org2")}
    assert found.rows("users", "metadata") == ["{}", "{}"]


def test_hr_export_with_codes_in_the_job_is_read(tmp_path: Path) -> None:
    columns = {"empnum": "Employee ID", "firstname": "First Name", "surname": "Last Name", "locality": "Office"}
    shape = {"join": {"Title": "{job|after(#)}"}, "values": {"Status": {"Long-term leave": "Active"}}}
    text = (
        '"empnum","firstname","surname","job","status","locality"\n"1","Ada","Byron","124#CEO","Active","London"\n'
        '"2","C","B","1#Clerk","Former employee","Paris"\n"3","D","E","1#Clerk","Long-term leave","Paris"\n'
    )

    found = read_file(tmp_path, text, "identities", columns=columns, shape=shape)

    assert found.rows("identities", "title", "status") == [
        ("CEO", "Active"),
        ("Clerk", "Disabled"),
        ("Clerk", "Active"),
    ]


def test_users_and_groups_in_one_column_are_read(tmp_path: Path) -> None:
    one = "{identity|when(identity_type=local_user)}", "{identity|when(identity_type=local_group)}"
    shape = {"join": dict(zip(("Username", "Group"), one, strict=True))}
    text = "identity,identity_type,permission,resource_name\nada,local_user,View,Sales\nsales,local_group,View,Sales\n"

    found = read_file(tmp_path, text, "permissions", columns={"resource_name": "Header"}, shape=shape)

    assert found.permissions == {("ada", "", "Sales", "View"), ("", "sales", "Sales", "View")}


def test_prefixed_principals_are_read(tmp_path: Path) -> None:
    shape = {"join": {"Username": "{principal_id|after(:)}"}, "deriveUsers": True}
    columns = {"permission_id": "Permission", "resource_id": "Header"}
    text = "principal_id,permission_id,resource_id\nuser:ada,View,Sales\nuser:ada,Edit,Sales\nuser:cb,View,HR\n"

    found = read_file(tmp_path, text, "permissions", columns=columns, shape=shape)

    assert found.active == {"ada", "cb"}
    assert found.permissions == {("ada", "", "Sales", "View"), ("ada", "", "Sales", "Edit"), ("cb", "", "HR", "View")}


MATRIX = "Permission,Category,admin,editor,viewer\npages.read,pages,Y,Y,-\npages.write,pages,Y,n,\n"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({}, {("admin", "pages.read"), ("editor", "pages.read"), ("admin", "pages.write")}),
        (
            {"values": {"Access": {"n": "Deny"}}},
            {("admin", "pages.read"), ("editor", "pages.read"), ("admin", "pages.write"), ("editor", "pages.write")},
        ),
    ],
)
def test_matrix_of_roles_is_read(tmp_path: Path, shape: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    matrix = {"keep": ["Permission", "Category"], "headers": "Group", "cells": "Access"}

    found = read_file(
        tmp_path, MATRIX, "permissions", columns={"Category": "Header"}, shape={**shape, "unpivot": matrix}
    )

    assert set(found.rows("permissions", "group", "permission")) == expected
