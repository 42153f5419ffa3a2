"""Read exports whose columns could be confused: dates, roles, names, logs, nested members."""

import json
from pathlib import Path

import msgspec
import pytest

from rolecall.applications.model import Content
from rolecall.file_shapes.draft_answers import decided_again
from rolecall.file_shapes.files.proposals import Chosen, propose
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import read_files
from tests.file_shapes.test_export_files import FOLDER
from tests.file_shapes.test_exports import contents, imported, proposed
from tests.file_shapes.test_states import asked


def test_dates_are_not_groups(tmp_path: Path) -> None:
    text = (
        "User id,User name,email,User status,Added to org,Org role\n"
        '1a,Ada Byron,ada@x.com,Active,"Mar 02, 2021",User\n2b,Bob Kahn,bob@x.com,Suspended,"Jan 05, 2020",Admin\n'
    )

    found = imported(tmp_path, users=text)

    assert found.memberships == {("1a", "User"), ("2b", "Admin")}


def test_granted_roles_beside_yes_no_columns_are_read(tmp_path: Path) -> None:
    text = (
        "GRANTEE  GRANTED_ROLE  ADM DEL DEF COM INH\n-------- ------------- --- --- --- --- ---\n"
        "SYS      DBA           YES NO  YES YES YES\nADA      CONNECT       NO  NO  YES NO  NO\n"
        "BOB      APP_READ      NO  NO  YES NO  NO\n\n3 rows selected.\n"
    )
    listed = "User,Role,Sticky,Shared,Nested\nada,Admin,Y,N,Y\nada,Reader,N,N,Y\nbob,Reader,N,Y,N\n"

    granted, named = imported(tmp_path, roles=text), imported(tmp_path, roles=listed)

    assert granted.memberships == {("SYS", "DBA"), ("ADA", "CONNECT"), ("BOB", "APP_READ")}
    assert named.memberships == {("ada", "Admin"), ("ada", "Reader"), ("bob", "Reader")}


def test_users_of_an_application_are_not_people(tmp_path: Path) -> None:
    user: dict[str, object] = {"externalId": "7", "created": "2019-01-01T00:00:00.000Z", "status": "PROVISIONED"}
    user |= {
        "credentials": {"userName": "ada@x.com"},
        "profile": {"firstName": "Ada", "lastName": "Byron", "role": "A"},
    }
    other = {**user, "externalId": "8", "status": "DEPROVISIONED", "credentials": {"userName": "bob@x.com"}}

    found = imported(tmp_path, users=json.dumps([user, other]))

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})


@pytest.mark.parametrize("name", ["profile", "profiles", "userProfile"])
def test_attributes_of_a_person_in_an_object_are_not_groups(tmp_path: Path, name: str) -> None:
    def user(login: str, status: str, department: str) -> dict[str, object]:
        about = {"login": login, "email": login, "firstName": login.title(), "lastName": "Kahn", "city": "Elm"}
        work = {"department": department, "title": "Clerk", "userType": "Employee", "locale": "en", "name": login}
        return {"id": f"00{login}", "status": status, name: {**about, **work}}

    users = [user("ada@x.org", "ACTIVE", "IT"), user("bob@x.org", "SUSPENDED", "HR"), user("cy@x.org", "ACTIVE", "IT")]

    assert contents(tmp_path, users=json.dumps(users)) == ["users"]
    found = imported(tmp_path, users=json.dumps(users))
    assert (found.active, found.inactive) == ({"ada@x.org", "cy@x.org"}, {"bob@x.org"})
    assert "HR" in str(found.rows("users", "metadata"))


def test_groups_and_names_of_profiles_are_still_read(tmp_path: Path) -> None:
    listed = [{"status": "ACTIVE", "profile": {"login": "ada", "email": "a@x.org", "groups": ["Fin", "Ops"]}}]
    named = [{"Username": "ada", "Email": "a@x.org", "Profile": {"Name": "Admin", "Description": "All"}}]
    named += [{"Username": "bob", "Email": "b@x.org", "Profile": {"Name": "Read", "Description": "Some"}}]

    assert imported(tmp_path, users=json.dumps(listed)).memberships == {("ada", "Fin"), ("ada", "Ops")}
    assert imported(tmp_path, users=json.dumps(named)).memberships == {("ada", "Admin"), ("bob", "Read")}


@pytest.mark.parametrize(
    "roles",
    [
        [{"id": "r3", "name": "Agent"}, {"id": "r4", "name": "Admin"}],
        [{"id": "Agent", "name": "Agent"}, {"id": "Admin", "name": "Admin"}],
        [{"slug": "agent-1", "name": "Agent", "id": 3}, {"slug": "admin-1", "name": "Admin", "id": 4}],
        [{"name": "Agent", "description": "Talks", "type": "own"}, {"name": "Admin", "description": "Is", "type": "x"}],
    ],
)
def test_object_of_a_role_is_one_group(tmp_path: Path, roles: list[dict[str, object]]) -> None:
    users = [
        {"email": email, "name": "A B", "role": role}
        for email, role in zip(("a@x.org", "b@x.org", "c@x.org"), [*roles, roles[0]], strict=True)
    ]

    found = imported(tmp_path, users=json.dumps(users))

    assert found.memberships == {("a@x.org", "Agent"), ("b@x.org", "Admin"), ("c@x.org", "Agent")}


def test_groups_in_an_object_with_several_of_them_are_read(tmp_path: Path) -> None:
    users = [
        {"login": login, "name": "A B", "work": {"role": role, "team": team, "roleId": "7"}}
        for login, role, team in (("ada", "Clerk", "T1"), ("bob", "Clerk", "T2"), ("cyd", "Boss", "T1"))
    ]

    assert {("ada", "Clerk"), ("bob", "Clerk"), ("cyd", "Boss")} <= imported(tmp_path, u=json.dumps(users)).memberships


@pytest.mark.parametrize("headers", ["privilege,privilege_source", "Permission,Permission Origin", "right,Right Via"])
def test_origin_of_a_permission_is_not_the_permission(tmp_path: Path, headers: str) -> None:
    """All rows have the same permission, but different origins."""
    rows = "ada,read,direct\nbob,read,role:clerk\ncyd,read,role:boss\ndan,read,direct\n"

    found = imported(tmp_path, grants=f"username,{headers}\n{rows}")

    assert found.rows("permissions", "permission") == ["read"] * 4


@pytest.mark.parametrize(
    "header", ["role_source", "Role Origin", "role_type", "Inherited From Role", "granted_via_role"]
)
def test_origin_and_kind_of_a_role_are_not_roles(tmp_path: Path, header: str) -> None:
    rows = "ada,Ada Byron,Active,own,Clerk\nbob,Bob Kahn,Active,sso,Admin\ncyd,Cyd Dee,Active,sso,Clerk\n"

    found = imported(tmp_path, users=f"username,name,status,{header},role\n{rows}")

    assert found.memberships == {("ada", "Clerk"), ("bob", "Admin"), ("cyd", "Clerk")}


def test_inherited_roles_are_held(tmp_path: Path) -> None:
    text = "username,name,Roles,Inherited Roles\nada,Ada Byron,Clerk;Boss,Audit\nbob,Bob Kahn,Clerk,Audit\n"

    assert ("bob", "Audit") in imported(tmp_path, users=text).memberships


def test_members_of_groups_beside_roles_of_people_are_read(tmp_path: Path) -> None:
    text = (
        "version: 1\n\ndn: cn=Managers,ou=Groups,dc=x\nobjectClass: groupOfUniqueNames\ncn: Managers\n"
        "uniqueMember: uid=ada,ou=People,dc=x\nuniqueMember: uid=bob,ou=People,dc=x\n\n"
        "dn: uid=ada,ou=People,dc=x\nobjectClass: inetOrgPerson\ncn: Ada Byron\nuid: ada\nsn: Byron\n"
        "nsRoleDN: cn=auditors,dc=x\n\ndn: uid=bob,ou=People,dc=x\nobjectClass: inetOrgPerson\ncn: Bob Kahn\nuid: bob\n"
        "sn: Kahn\n"
    )

    found = imported(tmp_path, directory=text)

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "Managers"), ("bob", "Managers")}
    assert "auditors" in str(found.rows("users", "metadata"))


def test_members_with_a_kind_are_read(tmp_path: Path) -> None:
    sales = {"id": "1", "displayName": "Sales", "members": [
        {"value": "u1", "display": "ada", "type": "User"}, {"value": "g2", "display": "Ops", "type": "Group"},
    ]}  # fmt: skip
    text = json.dumps({"totalResults": 2, "Resources": [sales, {"id": "2", "displayName": "Ops", "members": []}]})

    found = imported(tmp_path, groups=text)

    assert found.groups == {"Sales", "Ops"}
    assert (found.active, found.memberships) == ({"ada"}, {("ada", "Sales")})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Timestamp,User,Action,Result\n2026-11-13T08:01:12Z,ada,LOGIN,OK\n2026-11-13T08:03Z,bob,LOGIN,BAD\n", "log"),
        ("Vendor ID,Vendor Name,Amount,Invoice Date\n1,Acme,12.50,2026-01-01\n2,Foo,13.50,2026-01-02\n", "business"),
        ("# TYPE  DATABASE  USER  ADDRESS  METHOD\nlocal  all  postgres   peer\nhost  app  ada  ::1  md5\n", "\\du"),
        ("+--------+\n| Grants for ada@% |\n+--------+\n| GRANT USAGE ON *.* TO `ada`@`%` |\n+----------+\n", "SQL"),
        ("USER=ADA    NAME=ADA BYRON   OWNER=SYS1\n ATTRIBUTES=SPECIAL\nUSER=BOB  NAME=BOB KAHN  OWNER=SYS1\n", "RACF"),
    ],
)  # fmt: skip
def test_texts_without_accounts_are_refused(tmp_path: Path, text: str, why: str) -> None:
    (file,) = proposed(tmp_path, export=text).files

    assert why in str(file.problem)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("id,name,price\n1,Chair,10.5\n2,Table,20\n", "What are the rows of name, such as Chair, Table?"),
        ("name,ip,os\nsrv1,10.0.0.1,linux\nsrv2,10.0.0.2,windows\n", "What are the rows of name, such as srv1, srv2?"),
        ('[{"code": "DE", "name": "Germany"}, {"code": "FR", "name": "France"}]', "such as Germany, France?"),
        (
            '{"tickets": [{"id": 1, "subject": "Mail", "status": "open"}, {"id": 2, "subject": "VPN", "status": "x"}]}',
            "Does the column subject name accounts?",
        ),
        ("Key,Summary,Status\nP-1,Printer,Open\nP-2,VPN,Closed\n", "Does the column Key name accounts?"),
        ("Device,Serial,Assigned To\nL1,S1,ada\nL2,S2,bob\n", "Does the column Assigned To name accounts?"),
        ("account,name,balance\n1000,Cash,10\n2000,Bank,11\n", "Does the column account name accounts?"),
    ],
)
def test_rows_that_may_be_neither_accounts_nor_groups_become_a_question(tmp_path: Path, text: str, asked: str) -> None:
    (file,) = proposed(tmp_path, export=text).files

    assert asked in str([question.text for part in file.contents for question in part.questions])


def test_groups_with_a_plain_name_need_no_answer(tmp_path: Path) -> None:
    """Names, members, other files and the name of the file show that the rows are groups."""
    plain = "name,description\nBlue,All\nRed,Some\n"
    members = "login,group\nada,Blue\nbob,Red\nada,Red\n"

    for files in (
        {"export": "name,description\nTellers,All\nManagers,Some\n"},
        {"export": "name,description,members\nBlue,All,ada\nRed,Some,bob\n"},
        {"roles.csv": plain},
        {"export": plain, "members": members},
    ):
        found = proposed(tmp_path, **files).files
        assert [question.text for file in found for part in file.contents for question in part.questions] == []


def test_answer_reads_named_rows_as_accounts(tmp_path: Path) -> None:
    found = proposed(tmp_path, export="name,floor\nada,1\nbob,2\n")
    (part,) = found.files[0].contents
    (accounts,) = [choice for choice in part.questions[0].choices if choice.label == "Accounts"]

    again = decided_again(found.files, [(0, accounts)])

    assert again["export"]["content"] == "users"


def test_profiles_of_ibm_i_are_read(tmp_path: Path) -> None:
    text = (
        "AUTHORIZATION_NAME,STATUS,GROUP_PROFILE_NAME,SPECIAL_AUTHORITIES,PREVIOUS_SIGNON\n"
        "ADA,*ENABLED,FINGRP,*ALLOBJ *SECADM,2026-11-13 08:01:12\nBOB,*DISABLED,*NONE,,\n"
    )

    found = imported(tmp_path, profiles=text)

    assert (found.active, found.inactive) == ({"ADA"}, {"BOB"})
    assert found.memberships == {("ADA", "FINGRP")}
    assert found.rows("users", "name") == ["", ""]


def test_roles_of_users_with_one_role_each_are_read(tmp_path: Path) -> None:
    table = "MANDT,AGR_NAME,UNAME,FROM_DAT,TO_DAT,MORE\n1,Z_AP,ADA,20200101,99991231,\n1,Z_AR,BOB,20200101,20240331,\n"
    box = (
        "Table:          AGR_USERS\n------------------------------------------------\n"
        "|   |MANDT|AGR_NAME  |UNAME  |FROM_DAT  |TO_DAT    |\n------------------------------------------------\n"
        "|[ ]|100  |Z_AP      |ADA    |01.01.2020|31.12.9999|\n|[ ]|100  |Z_AR      |BOB    |01.01.2020|31.03.2024|\n"
        "------------------------------------------------\n"
    )

    for text in (table, box):
        found = imported(tmp_path, roles=text)
        assert found.active == {"ADA", "BOB"}
        assert found.memberships == {("ADA", "Z_AP"), ("BOB", "Z_AR")}
        assert "TO_DAT" in proposed(tmp_path, roles=text).files[0].contents[0].questions[0].text


def test_distinguished_names_in_braces_are_read(tmp_path: Path) -> None:
    text = (
        "\nEnabled        : True\nMemberOf       : {CN=Fin\\, North,OU=G,DC=x, CN=Ops,OU=G,DC=x}\n"
        "SamAccountName : ada\n\nEnabled        : False\nMemberOf       : {}\nSamAccountName : bob\n\n"
    )

    found = imported(tmp_path, users=text)

    assert found.memberships == {("ada", "Fin, North"), ("ada", "Ops")}


def test_truncated_list_in_braces_is_read(tmp_path: Path) -> None:
    text = "\nMemberOf       : {CN=Fin,OU=G,DC=x, CN=Ops,OU=G,DC=x...}\nSamAccountName : ada\n\n"
    text += "MemberOf       : {CN=Fin,OU=G,DC=x}\nSamAccountName : bob\n\n"

    with pytest.raises(Exception, match="FormatEnumerationLimit"):
        imported(tmp_path, users=text)


def test_profile_name_is_not_the_name_of_a_person(tmp_path: Path) -> None:
    text = (
        "Username,LastName,FirstName,IsActive,Profile.Name,UserRole.Name\n"
        "ada@x.com,Byron,Ada,TRUE,System Administrator,CEO\nbob@x.com,Kahn,Bob,FALSE,Standard User,\n"
    )
    sets = (
        "User ID,First name,Last name,Email,User status,Permission sets\n"
        "1,Ada,Byron,ada@x.com,Active,Sales manager\n2,Bob,Kahn,bob@x.com,Deactivated,Read only\n"
    )

    for each in (text, sets):
        assert imported(tmp_path, users=each).rows("users", "name") == ["Ada Byron", "Bob Kahn"]


@pytest.mark.parametrize("shown", ["value", "display_value"])
def test_references_to_records_are_read(tmp_path: Path, shown: str) -> None:
    def row(user: str, group: str) -> dict[str, object]:
        links = {"user": f"https://x/table/sys_user/{user}", "group": f"https://x/table/sys_user_group/{group}"}
        return {"user": {"link": links["user"], shown: user}, "group": {"link": links["group"], shown: group}}

    text = json.dumps({"result": [row("u1", "g1"), row("u1", "g2"), row("u2", "g1")]})

    assert imported(tmp_path, members=text).memberships == {("u1", "g1"), ("u1", "g2"), ("u2", "g1")}


def test_namespace_is_part_of_the_name_of_a_service_account(tmp_path: Path) -> None:
    def bound(role: str, *subjects: dict[str, str]) -> dict[str, object]:
        return {"kind": "RoleBinding", "metadata": {"namespace": "x"}, "roleRef": {"name": role}, "subjects": subjects}

    service = {"kind": "ServiceAccount", "name": "default"}
    first = bound(
        "admin", {"kind": "User", "name": "ada"}, {"kind": "Group", "name": "devs"}, {**service, "namespace": "ci"}
    )
    text = json.dumps({"items": [first, bound("view", {**service, "namespace": "dev"})]})

    found = imported(tmp_path, bindings=text)

    assert found.active == {"ada", "system:serviceaccount:ci:default", "system:serviceaccount:dev:default"}
    assert ("system:serviceaccount:dev:default", "", "", "view") in found.permissions


def test_deleted_members_are_left_out_and_conditions_of_grants_are_read(tmp_path: Path) -> None:
    members = ["user:ada@x.com", "deleted:user:old@x.com?uid=123"]
    condition = {"title": "until 2020", "expression": "request.time < timestamp('2020-01-01T00:00:00Z')"}
    bindings = [
        {"role": "viewer", "members": members},
        {"role": "owner", "members": members[:1], "condition": condition},
    ]
    text = json.dumps({"bindings": bindings})

    found = imported(tmp_path, policy=text)

    assert found.active == {"ada@x.com"}
    assert sorted(found.rows("permissions", "permission", "value")) == [("owner", "until 2020"), ("viewer", "")]
    assert "old@x.com" in str(proposed(tmp_path, policy=text).files[0].contents[0].evidence)


def test_name_of_the_holder_is_not_a_section(tmp_path: Path) -> None:
    found = imported(tmp_path, rights="User;Name;Permissions\nada;Ada Byron;read, write\nbob;Bob Kahn;read\n")

    assert sorted(set(found.rows("permissions", "permission"))) == ["read", "write"]
    assert set(found.rows("permissions", "section")) == {""}


def test_login_is_preferred_to_the_address_and_users_without_a_group_are_read(tmp_path: Path) -> None:
    text = (
        "id,name,givenName,familyName,e-mail,groups\n1,abyron,Ada,Byron,ada@x.com,Fin\n1,abyron,Ada,Byron,ada@x.com,Ops\n"
        "2,bkahn,Bob,Kahn,bob@x.com,Fin\n3,cdee,Cy,Dee,cy@x.com,\n"
    )

    found = imported(tmp_path, accounts=text)

    assert found.active == {"abyron", "bkahn", "cdee"}
    assert found.memberships == {("abyron", "Fin"), ("abyron", "Ops"), ("bkahn", "Fin")}


def test_permission_sets_with_and_without_a_profile_are_read(tmp_path: Path) -> None:
    text = (
        "ASSIGNEE.USERNAME,ASSIGNEE.ISACTIVE,PERMISSIONSET.LABEL,PERMISSIONSET.PROFILE.NAME\n"
        "ada@x.com,true,Sales Cloud,\nada@x.com,true,Admin,System Administrator\nbob@x.com,false,Sales Cloud,\n"
    )

    found = imported(tmp_path, sets=text)

    assert sorted(found.rows("permissions", "permission")) == ["Admin", "Sales Cloud", "Sales Cloud"]
    assert found.inactive == {"bob@x.com"}


def test_last_name_and_first_name_in_one_column_are_read(tmp_path: Path) -> None:
    text = (
        'Employee #,"Last name, First name",Job title,Employment status,Hire date,Termination date\n'
        '1001,"Byron, Ada",Analyst,Full-Time,2019-01-02,0000-00-00\n'
        '1002,"Kahn, Bob",CTO,Terminated,2018-01-02,2025-03-02\n'
    )

    assert contents(tmp_path, people=text) == ["identities"]
    people = imported(tmp_path, people=text).rows("identities", "employee_id", "first_name", "last_name", "status")
    assert people == [("1001", "Ada", "Byron", "Active"), ("1002", "Bob", "Kahn", "Disabled")]


_CLASSES = ("top", "person", "organizationalPerson", "user")
_SERVICE = "msDS-GroupManagedServiceAccount"


def test_managed_service_accounts_of_a_directory_are_accounts(tmp_path: Path) -> None:
    entries = {
        "ada": (*_CLASSES, "512", "Staff"),
        "svc-sql$": (*_CLASSES, "computer", _SERVICE, "4096", "SQL"),
        "PC1$": (*_CLASSES, "computer", "4096", "PCs"),
        "Staff": ("top", "group", "", ""),
    }
    text = ""
    for name, (*classes, control, group) in entries.items():
        text += f"dn: CN={name},DC=x\ncn: {name}\nsAMAccountName: {name}\n"
        text += "".join(f"objectClass: {each}\n" for each in classes)
        text += f"userAccountControl: {control}\nmemberOf: CN={group},DC=x\n\n" if control else "\n"

    found = imported(tmp_path, directory=text)

    assert found.active == {"ada", "svc-sql$"}
    assert found.memberships == {("ada", "Staff"), ("svc-sql$", "SQL")}


@pytest.mark.parametrize("others", ["", "Ada,ada,user,True\nStaff,Staff,group,\nPC1,PC1$,computer,True\n"])
def test_managed_service_accounts_in_a_table_are_accounts(tmp_path: Path, others: str) -> None:
    text = f"Name,SamAccountName,ObjectClass,Enabled\nSql,sql$,{_SERVICE},True\nWeb,web$,{_SERVICE},False\n{others}"

    found = imported(tmp_path, accounts=text)

    assert (found.active - {"ada"}, found.inactive) == ({"sql$"}, {"web$"})


def test_managed_service_account_is_a_member_of_a_group(tmp_path: Path) -> None:
    text = f"Group,Member,MemberObjectClass\nSQL,sql$,{_SERVICE}\nSQL,ada,user\nSQL,DBAs,group\n"

    assert imported(tmp_path, members=text).memberships == {("sql$", "SQL"), ("ada", "SQL")}


def test_roster_is_read_as_people_if_its_roles_are_jobs(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text((FOLDER / "hr-roster-with-roles.csv").read_text())
    (file,) = propose([sample_of(path, path.name)]).files
    asked = [each for part in file.contents for each in part.questions]
    chosen = decided_again([file], [(0, asked[0].choices[0])])
    again = propose([sample_of(path, path.name)], {path.name: msgspec.convert(chosen[path.name], Chosen)})

    found = read_files(tmp_path, again.connector["files"], {"Identities": [path.read_bytes()]})

    assert [part.content for part in again.files[0].contents] == [Content.IDENTITIES]
    people = found.rows("identities", "employee_id", "title", "status")
    assert people[1:3] == [("E1002", "Physician", "Active"), ("E1015", "IT Administrator", "Disabled")]


@pytest.mark.parametrize("header", ["Last Modified On", "Last Updated On", "Password Last Set On", "Last Synced On"])
def test_date_of_a_change_is_not_that_of_a_login(tmp_path: Path, header: str) -> None:
    text = f"username,email,status,{header}\nada,ada@x.com,active,14/05/2025\nbob,bob@x.com,inactive,15/05/2025\n"

    assert imported(tmp_path, export=text).rows("users", "username", "last_login") == [("ada", ""), ("bob", "")]


def test_column_of_holders_is_not_the_place_of_permissions(tmp_path: Path) -> None:
    lines = ["Space,Type,Name,Permission"]
    lines += [f"{space},user,{name},READ" for space in ("ENG", "HR") for name in ("ada", "bob")]
    lines += [f"{space},group,Staff,WRITE" for space in ("ENG", "HR")]

    found = imported(tmp_path, export="\n".join(lines))

    users = {(name, "", space, "READ") for space in ("ENG", "HR") for name in ("ada", "bob")}
    groups = {("", "Staff", space, "WRITE") for space in ("ENG", "HR")}
    assert set(found.rows("permissions", "username", "group", "section", "permission")) == users | groups


def test_roles_and_groups_of_permissions_are_not_the_same_thing(tmp_path: Path) -> None:
    grants = [("System Admin", "Super Admins"), ("Employee", "All Employees"), ("Manager", "All Managers")]
    lines = ["User ID,Permission Role,Permission Group"]
    lines += [f"{user},{role},{group}" for user in ("ada", "bob", "cy") for role, group in grants]

    (file,) = proposed(tmp_path, export="\n".join(lines)).files

    columns = {column.header: column for column in file.columns}
    read, other = sorted(("Permission Role", "Permission Group"), key=lambda name: columns[name].becomes != "read")
    assert columns[read].becomes == "read"
    assert columns[other].becomes == "read" or columns[other].may_be_access


def test_names_of_spaces_do_not_show_that_they_are_accounts(tmp_path: Path) -> None:
    spaces = [
        {"key": key, "name": name, "status": "current"} for key, name in (("ENG", "Engineering"), ("HR", "Staff"))
    ]

    assert "No header says that the rows are accounts. Does the column key name accounts?" in asked(
        tmp_path, export=json.dumps({"results": spaces})
    )


def test_profiles_of_administrators_may_be_access(tmp_path: Path) -> None:
    admins = [
        {"name": name, "accprofile": profile, "remote-group": group}
        for name, profile, group in (
            ("ada", "super_admin", ""),
            ("bob", "prof_readonly", "Net"),
            ("cy", "audit", "Net"),
        )
    ]

    (file,) = proposed(tmp_path, export=json.dumps({"results": admins})).files

    assert {column.header for column in file.columns if column.may_be_access} == {"accprofile"}


def test_users_with_their_own_fields_are_not_read_as_a_map_of_roles(tmp_path: Path) -> None:
    def user(name: str | None, id: str, kind: str) -> dict[str, str | None]:
        return {"AccessRight": "Admin", "UserPrincipalName": name, "Identifier": id, "PrincipalType": kind}

    workspaces = [
        {"Name": "Sales", "Users": [user("ada@x.com", "ada@x.com", "User"), user(None, "Staff", "Group")]},
        {"Name": "Stock", "Users": [user("bob@x.com", "bob@x.com", "User"), user(None, "Staff", "Group")]},
    ]

    found = imported(tmp_path, export=json.dumps(workspaces))

    assert found.active == {"ada@x.com", "bob@x.com"}
    assert ("", "Staff") in {row[:2] for row in found.rows("permissions", "username", "group")}


def test_groups_of_several_hosts_are_read_after_the_answer(tmp_path: Path) -> None:
    path = FOLDER.parent / "answered" / "local-groups" / "groups.csv"
    (question,) = propose([sample_of(path, "export")]).files[0].contents[0].questions

    found = propose([sample_of(path, "export")], {"export": Chosen(content=Content(question.choices[1].value))})
    (group,) = found.connector["files"]

    assert question.choices[1].key == "content"
    assert read_files(tmp_path, [group], {group["name"]: path.read_bytes()}).groups == {
        "DC1\\Administrators",
        "DC1\\Replicator",
        "PC2\\Administrators",
    }
