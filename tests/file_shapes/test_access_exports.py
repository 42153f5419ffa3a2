"""Read exports of roles, grants and bindings: users and groups are distinguished and keep their names."""

import json
from pathlib import Path
from typing import Any

from tests.file_shapes.test_exports import contents, imported, proposed
from tests.file_shapes.test_states import asked


def test_role_bindings_of_kubernetes_are_read(tmp_path: Path) -> None:
    def binding(namespace: str, role: str, *subjects: tuple[str, str]) -> dict[str, Any]:
        named = [{"kind": kind, "name": name, "apiGroup": "x"} for kind, name in subjects]
        about = {"metadata": {"name": f"{namespace}-1", "namespace": namespace}, "kind": "RoleBinding"}
        return {**about, "roleRef": {"kind": "Role", "name": role}, "subjects": named}

    items = [
        binding("web", "edit", ("User", "ada"), ("Group", "devs")),
        binding("db", "view", ("ServiceAccount", "job")),
    ]

    found = imported(tmp_path, bindings=json.dumps({"apiVersion": "v1", "items": items}))

    assert set(found.rows("permissions", "username", "group", "section", "permission")) == {
        ("ada", "", "web", "edit"), ("", "devs", "web", "edit"), ("job", "", "db", "view"),
    }  # fmt: skip
    assert found.active == {"ada", "job"}


def test_policy_of_google_cloud_is_read(tmp_path: Path) -> None:
    bindings = [
        {"role": "roles/owner", "members": ["user:ada@x.com", "group:ops@x.com"]},
        {"role": "roles/viewer", "members": ["user:bob@x.com", "serviceAccount:job@p.com", "domain:x.com", "allUsers"]},
    ]

    found = imported(tmp_path, policy=json.dumps({"bindings": bindings, "etag": "B", "version": 1}))

    assert set(found.rows("permissions", "username", "group", "permission")) == {
        ("ada@x.com", "", "roles/owner"), ("", "ops@x.com", "roles/owner"), ("bob@x.com", "", "roles/viewer"),
        ("job@p.com", "", "roles/viewer"), ("", "x.com", "roles/viewer"), ("", "allUsers", "roles/viewer"),
    }  # fmt: skip
    assert found.active == {"ada@x.com", "bob@x.com", "job@p.com"}


def test_role_assignments_of_azure_are_read(tmp_path: Path) -> None:
    rows = [("ada@x.com", "User", "Owner"), ("Ops", "Group", "Reader"), ("job", "ServicePrincipal", "Reader")]
    records = [
        {"principalName": name, "principalType": kind, "roleDefinitionName": role, "scope": "/s/1", "id": f"/a/{n}"}
        for n, (name, kind, role) in enumerate(rows)
    ]

    found = imported(tmp_path, roles=json.dumps(records))

    assert set(found.rows("permissions", "username", "group", "section", "permission")) == {
        ("ada@x.com", "", "/s/1", "Owner"), ("", "Ops", "/s/1", "Reader"), ("job", "", "/s/1", "Reader"),
    }  # fmt: skip


def test_safe_members_of_cyberark_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        safes="SafeName,MemberName,MemberType,UseAccounts,RetrieveAccounts,ListAccounts,ManageSafe\n"
        "WIN,ada,User,True,True,True,False\nWIN,Vault Admins,Group,True,False,True,True\n"
        "ROOT,bob,User,True,True,False,False\n",
    )

    held = set(found.rows("permissions", "username", "group", "section", "permission"))
    assert len(held) == 8
    assert {("ada", "", "WIN", "UseAccounts"), ("", "Vault Admins", "WIN", "ManageSafe")} <= held
    assert found.active == {"ada", "bob"}


def test_grants_of_snowflake_are_read(tmp_path: Path) -> None:
    grants = (
        "created_on,privilege,granted_on,name,granted_to,grantee_name,grant_option,granted_by\n"
        "2026-01-02,USAGE,DATABASE,SALES_DB,ROLE,ANALYST,false,SYSADMIN\n"
        "2026-01-02,SELECT,TABLE,SALES_DB.ORDERS,ROLE,ANALYST,false,SYSADMIN\n"
    )
    roles = (
        "created_on,role,granted_to,grantee_name,granted_by\n2026-01-02,ANALYST,USER,ADA,SECURITYADMIN\n"
        "2026-01-02,LOADER,USER,BOB,SECURITYADMIN\n2026-01-02,ANALYST,ROLE,SYSADMIN,SECURITYADMIN\n"
    )

    assert imported(tmp_path, grants=grants).rows("permissions", "group", "header", "section", "permission") == [
        ("ANALYST", "DATABASE", "SALES_DB", "USAGE"), ("ANALYST", "TABLE", "SALES_DB.ORDERS", "SELECT"),
    ]  # fmt: skip
    found = imported(tmp_path, roles=roles)
    assert found.memberships == {("ADA", "ANALYST"), ("BOB", "LOADER")}
    assert found.active == {"ADA", "BOB"}
    assert "Rows whose granted_to is ROLE are not users" in str(proposed(tmp_path, roles=roles).files[0].contents)


def test_permissions_of_confluence_spaces_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        spaces="Space Key,Space Name,Subject Type,Subject,Permission\nHR,Human Resources,user,ada,VIEWSPACE\n"
        "HR,Human Resources,group,hr-team,EDITSPACE\nIT,IT,user,bob,SETSPACEPERMISSIONS\n",
    )

    assert set(found.rows("permissions", "username", "group", "section", "permission")) == {
        ("ada", "", "HR", "VIEWSPACE"), ("", "hr-team", "HR", "EDITSPACE"), ("bob", "", "IT", "SETSPACEPERMISSIONS"),
    }  # fmt: skip


def test_groups_of_jira_with_their_members_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, groups='group_name,member_count,members\nusers,3,"ada,bob,cy"\nadmins,1,ada\nnone,0,\n')

    assert found.groups == {"users", "admins", "none"}
    assert found.memberships == {("ada", "users"), ("bob", "users"), ("cy", "users"), ("ada", "admins")}


def test_group_members_of_servicenow_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        members='"group","user","user.email","user.active","sys_created_on"\n'
        '"Network","Ada Byron","ada@x.com","true","2026-01-02 10:00:00"\n'
        '"Network","Bob Kahn","bob@x.com","false","2026-01-02 10:00:00"\n'
        '"Database","Ada Byron","ada@x.com","true","2026-01-03 10:00:00"\n',
    )

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})
    assert found.memberships == {("ada@x.com", "Network"), ("bob@x.com", "Network"), ("ada@x.com", "Database")}


def test_privileges_and_locks_of_mysql_are_read(tmp_path: Path) -> None:
    text = (
        "Host,User,Select_priv,Insert_priv,Update_priv,Delete_priv,account_locked,password_expired\n"
        "%,ada,Y,Y,N,N,N,N\nlocalhost,bob,Y,N,N,N,Y,N\n%,root,Y,Y,Y,Y,N,N\n"
    )

    found = imported(tmp_path, users=text)

    assert sum(name == "ada" for name in found.rows("permissions", "username")) == 2
    assert "account_locked" not in found.rows("permissions", "permission")
    assert found.rows("users", "username", "is_locked") == [("ada", False), ("bob", True), ("root", False)]


def test_columns_that_list_members_of_groups_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, groups="Sales,Ops,Admins\nada,bob,cy\nbob,cy,\ncy,,\n")

    assert found.memberships == {
        ("ada", "Sales"), ("bob", "Sales"), ("cy", "Sales"), ("bob", "Ops"), ("cy", "Ops"), ("cy", "Admins"),
    }  # fmt: skip


def test_people_in_the_headers_of_a_matrix_become_a_question(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, matrix="Role,Ada Byron,Bob Kahn,Cy Dee\nTeller,Yes,Yes,No\nManager,No,No,Yes\n").files

    (question,) = file.contents[0].questions
    assert question.text.startswith("Are Ada Byron, Bob Kahn, Cy Dee permissions?")
    assert contents(tmp_path, matrix="User,Read ledger,Post,Approve\nada,X,X,\nbob,X,,X\n") == ["permissions", "users"]


def test_permission_sets_of_salesforce_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        sets="Assignee.Username,Assignee.IsActive,PermissionSet.Label\nada@x.com,true,Modify All\n"
        "ada@x.com,true,System Administrator\nbob@x.com,false,Standard User\n",
    )

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})
    assert len(found.rows("permissions", "permission")) == 3


def test_principals_hold_access_in_accounts_of_a_cloud_provider(tmp_path: Path) -> None:
    text = (
        "PrincipalName,PermissionSetName,PrincipalType,PrincipalId,AccountId\n"
        "Admins,FullAccess,GROUP,9-1,111111111111\nAdmins,FullAccess,GROUP,9-1,222222222222\n"
        "ada@x.org,ReadOnly,USER,9-2,111111111111\nbob@x.org,ReadOnly,USER,9-3,222222222222\n"
    )

    found = imported(tmp_path, assignments=text)

    assert found.active == {"ada@x.org", "bob@x.org"}
    assert set(found.rows("permissions", "username", "group", "header", "permission")) == {
        ("", "Admins", "111111111111", "FullAccess"), ("", "Admins", "222222222222", "FullAccess"),
        ("ada@x.org", "", "111111111111", "ReadOnly"), ("bob@x.org", "", "222222222222", "ReadOnly"),
    }  # fmt: skip


def test_one_grant_of_each_person_is_read_as_a_grant(tmp_path: Path) -> None:
    text = (
        "employee_id,system_name,access_level,granted_date,approved_by,status\n"
        "E1,github,admin,2026-01-14,auto,active\nE2,github,write,2026-01-15,auto,active\n"
    )

    found = imported(tmp_path, grants=text)

    assert set(found.rows("permissions", "username", "header", "permission")) == {
        ("E1", "github", "admin"), ("E2", "github", "write"),
    }  # fmt: skip


def test_state_of_an_assignment_is_not_that_of_its_account(tmp_path: Path) -> None:
    text = (
        "role_assignment_id,user_id,role_name,source,start_date,justification,is_active_assignment\n"
        "pra-1,ada,Global Admin,direct,2024-01-10,Tenant,true\npra-2,bob,Global Admin,direct,2024-01-15,Old,false\n"
        "pra-3,cy,Reader,direct,2024-01-17,Audit,true\n"
    )

    found = imported(tmp_path, assignments=text)

    assert (found.active, found.inactive) == ({"ada", "bob", "cy"}, set())
    assert found.memberships == {("ada", "Global Admin"), ("cy", "Reader")}


def test_last_day_of_a_membership_is_not_that_of_its_account(tmp_path: Path) -> None:
    text = (
        "membership_id,group_id,user_id,membership_type,assignment_start_date,assignment_end_date\n"
        "m-1,g-1,ada,direct,2023-01-09,\nm-2,g-2,bob,direct,2023-02-01,2024-12-31\nm-3,g-2,cy,direct,2024-02-01,\n"
    )

    assert imported(tmp_path, memberships=text).active == {"ada", "bob", "cy"}
    assert asked(tmp_path, memberships=text) == [
        "assignment_end_date has dates before today. Is the access in these rows still held?"
    ]


def test_access_level_is_the_value_of_a_named_entitlement(tmp_path: Path) -> None:
    text = (
        "Employee ID,Application,Entitlement Name,Entitlement ID,Access Level\n"
        "E1,Payroll,Time Entry,P1,Write\nE1,Payroll,Salaries,P2,Read\nE2,Payroll,Salaries,P2,Admin\n"
    )

    found = imported(tmp_path, entitlements=text)

    assert set(found.rows("permissions", "username", "header", "permission", "value")) == {
        ("E1", "Payroll", "Time Entry", "Write"), ("E1", "Payroll", "Salaries", "Read"),
        ("E2", "Payroll", "Salaries", "Admin"),
    }  # fmt: skip
