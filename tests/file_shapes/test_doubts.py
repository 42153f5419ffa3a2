"""Test doubts about exports, such as usernames that differ only in case, unread members, and possible access."""

from pathlib import Path

import pytest

from rolecall.application_imports.read.access_signs import Sign
from rolecall.applications.model import Content
from rolecall.file_shapes.shapes import ColumnAccount
from tests.file_shapes.test_accounting import columns_of
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_states import asked, locked


def stated(folder: Path, content: str, text: str) -> list[str]:
    parts = proposed(folder, export=text).files[0].contents
    return next(part.statements for part in parts if part.content == content)


def hinted(text: str) -> dict[str, ColumnAccount]:
    return {header: column for header, column in columns_of(text).items() if column.may_be_access}


def test_usernames_that_differ_only_in_case_are_reported(tmp_path: Path) -> None:
    text = "Email,First Name,Last Name,Status\nAda@x.com,Ada,B,Active\nbob@x.com,Bob,K,Active\nada@x.com,Ada,B,Active\n"
    doubt = "2 usernames differ only in case: Ada@x.com, ada@x.com. Each of them is a separate account"

    assert doubt in stated(tmp_path, "users", text)
    assert imported(tmp_path, export=text).deltas[Content.USERS].accounts[0].warnings == [doubt]


def test_holders_that_differ_only_in_case_are_reported(tmp_path: Path) -> None:
    text = "GRANTEE,GRANTED_ROLE\nADA,DBA\nAda,CONNECT\nBOB,DBA\nADA,CONNECT\n"

    assert any("only in case: ADA, Ada." in line for line in stated(tmp_path, "memberships", text))
    (told,) = [line for each in imported(tmp_path, export=text).deltas.values() for line in each.accounts[0].warnings]
    assert told.startswith("2 usernames differ")


def test_rows_of_one_username_with_several_names_of_people_are_asked_about(tmp_path: Path) -> None:
    rows = "jsmith,John Smith,ACME,Editors\n{}ada,Ada Byron,ACME,Editors\nada,Ada Byron,ACME,Authors\n"
    question = (
        "jsmith in User ID has several names in Name: John Smith, Jane Smith. Is it one account? "
        "If not, set join.Username to two columns that tell the accounts apart."
    )

    assert asked(tmp_path, export="User ID,Name,Source,Role\n" + rows.format("jsmith,Jane Smith,BETA,Authors\n")) == [
        question
    ]
    assert asked(tmp_path, export="User ID,Name,Source,Role\n" + rows.format("jsmith,John Smith,BETA,Authors\n")) == []


_ENTRY = "dn: CN={0},{1},DC=x\nobjectClass: top\nobjectClass: {2}\ncn: {0}\n{3}\n"
_PEOPLE = (
    _ENTRY.format("Ada", "OU=S", "user", "sAMAccountName: ada\nuserAccountControl: 512\nmemberOf: CN=Ops,OU=G,DC=x\n"),
    _ENTRY.format("Bob", "OU=S", "user", "sAMAccountName: bob\nuserAccountControl: 514\n"),
)


_GROUPS = (
    _ENTRY.format("Ops", "OU=G", "group", "member: CN=Ada,OU=S,DC=x\nmember: cn=Bob,ou=S,dc=x\n"),
    _ENTRY.format("Vpn", "OU=G", "group", "member: CN=Ops,OU=G,DC=x\n"),
)


def test_members_that_only_their_group_names_are_read_in_ldif(tmp_path: Path) -> None:
    found = imported(tmp_path, export="".join((*_PEOPLE, *_GROUPS)))

    assert found.memberships == {("ada", "Ops"), ("bob", "Ops")}
    assert found.rows("groups", "group", "parent") == [("Ops", "Vpn"), ("Vpn", "")]
    assert found.deltas[Content.MEMBERSHIPS].accounts[0].warnings == []


def test_group_in_several_groups_has_no_parent(tmp_path: Path) -> None:
    other = _ENTRY.format("Web", "OU=G", "group", "member: CN=Ops,OU=G,DC=x\n")

    found = imported(tmp_path, export="".join((*_PEOPLE, *_GROUPS, other)))

    assert set(found.rows("groups", "group", "parent")) == {("Ops", ""), ("Vpn", ""), ("Web", "")}


def test_members_that_only_their_group_names_are_named_in_csv(tmp_path: Path) -> None:
    text = (
        "DN,objectClass,cn,sAMAccountName,userAccountControl,memberOf,member\n"
        '"CN=Ada,OU=S,DC=x",user,Ada,ada,512,"CN=Ops,OU=G,DC=x",\n"CN=Bob,OU=S,DC=x",user,Bob,bob,512,,\n'
        '"CN=Ops,OU=G,DC=x",group,Ops,ops,,,"CN=Ada,OU=S,DC=x;CN=Bob,OU=S,DC=x"\n'
        '"CN=Vpn,OU=G,DC=x",group,Vpn,vpn,,,"CN=Ops,OU=G,DC=x"\n'
    )
    doubt = "member names 2 memberships missing from memberOf. Not read: Bob in Ops, Ops in Vpn"

    assert doubt in stated(tmp_path, "memberships", text)


def test_nothing_is_reported_if_groups_and_accounts_list_the_same_memberships(tmp_path: Path) -> None:
    text = "".join((*_PEOPLE, _ENTRY.format("Ops", "OU=G", "group", "member: CN=Ada,OU=S,DC=x\n")))

    assert imported(tmp_path, export=text).deltas[Content.MEMBERSHIPS].accounts[0].warnings == []


def test_other_values_in_a_status_column_may_be_access() -> None:
    text = (
        "                List of roles\n Role name |     Attributes     | Member of \n"
        "-----------+--------------------+-----------\n"
        " ada       | Superuser          | {}\n bob       |                    | {ada}\n"
        " readers   | Cannot login       | {}\n"
    )

    found = hinted(text)

    assert {header: (column.may_be_access, column.examples) for header, column in found.items()} == {
        "Attributes": (Sign.NAMES, ["Superuser"])
    }


@pytest.mark.parametrize(
    "text",
    [
        "login,name,Deactivated On\nada,Ada Byron,\nbob,Bob Kahn,2026-01-02\n",
        "login,name,Status\nada,Ada Byron,Active\nbob,Bob Kahn,Suspended\n",
        "login,name,End date\nada,Ada Byron,2026-01-02\nbob,Bob Kahn,never\n",
        "login,name,End date\nada,Ada Byron,31-MAY-24\nbob,Bob Kahn,\n",
    ],
)
def test_dates_and_words_for_a_status_are_not_access(text: str) -> None:
    assert hinted(text) == {}


def test_yes_no_column_that_coincides_with_the_group_may_be_access() -> None:
    kinds = (("A", "Yes", 7), ("B", "No", 8))
    rows = "".join("u{},Active,{},{},{}\n".format(n, *kinds[n % 2]) for n in range(9))

    assert hinted(f"login,status,Group,Group Admin,Group ID\n{rows}").keys() == {"Group Admin"}


def test_list_of_groups_beside_roles_may_be_access() -> None:
    text = "role,allowed_groups,description\nClerk,Desk;Vpn,Front\nNurse,Ward;Vpn,Ward\nHelp,Vpn;Tools,Service\n"

    assert {header: column.may_be_access for header, column in hinted(text).items()} == {"allowed_groups": Sign.LIST}


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("Entitlement ID", ["ENT-5001", "ENT-5002", "ENT-5003", "ENT-5004"]),
        ("Workspace", ["e2284830-c8dc-416b-b19a-8cdcd2729332"] * 2 + ["183dcf10-47b8-48c4-84aa-f0bf9d5f8fc1"] * 2),
        ("roleRef.apiGroup", ["rbac.authorization.k8s.io"] * 4),
        ("GRANTED_BY", ["SYSADMIN", "SYSADMIN", "SECADMIN", "SECADMIN"]),
        ("Gestor imediato", ["Marta Lima", "Marta Lima", "Carlos Nunes", "Carlos Nunes"]),
        ("Wochenstd.", ["39,0", "19,5", "39,0", "0,0"]),
    ],
)
def test_ids_people_and_decimals_are_not_access(header: str, cells: list[str]) -> None:
    logins = ("ada", "bob", "cy", "dee")
    rows = "".join(f"{login}\tActive\t{cell}\n" for login, cell in zip(logins, cells, strict=True))

    assert hinted(f"login\tstatus\t{header}\n{rows}") == {}


def test_distinguished_names_of_roles_may_be_access() -> None:
    rows = 'ada,Active,"cn=admins,ou=r,dc=x"\nbob,Active,"cn=staff,ou=r,dc=x"\ncy,Inactive,"cn=staff,ou=r,dc=x"\n'

    assert hinted(f"login,status,defaultRole\n{rows}").keys() == {"defaultRole"}
    assert hinted(f"login,status,seeAlso\n{rows}") == {}


@pytest.mark.parametrize("header", ["DELETED_ON", "Revoked at", "removal date", "Removed Date"])
def test_revoked_grants_become_a_question(tmp_path: Path, header: str) -> None:
    text = (
        f"CREATED_ON,{header},ROLE,GRANTEE_NAME\n2024-03-01 09:00:00.000 +0100,,DBA,ADA\n"
        "2024-04-11 10:00:00.000 +0200,2025-01-07 08:30:00.000 +0100,DBA,BOB\n2024-04-11 10:00:00.000 +0200,,READ,BOB\n"
    )

    assert asked(tmp_path, export=text) == [f"{header} has dates before today. Is the access in these rows still held?"]


def test_state_of_a_grant_beside_the_state_of_the_account_becomes_a_question(tmp_path: Path) -> None:
    text = (
        "user.user_name,user.active,role,state\nada,true,admin,Active\nada,true,itil,Active\n"
        "bob,true,itil,Active\nbob,true,catalog,Requested\ncy,false,itil,Active\n"
    )

    assert asked(tmp_path, export=text) == ["state: do rows with Requested give access?"]
    assert imported(tmp_path, export=text).inactive == {"cy"}


def test_status_is_read_from_a_matrix_that_repeats_accounts(tmp_path: Path) -> None:
    text = (
        "Host,User,Select_priv,Insert_priv,Super_priv,Grant_priv,account_locked\nlocalhost,root,Y,Y,Y,Y,N\n"
        "%,web,Y,Y,N,N,N\n10.0.%,web,Y,N,N,N,N\n%,old,Y,Y,N,N,Y\n%,idle,N,N,N,N,Y\n"
    )

    found = imported(tmp_path, export=text)

    assert locked(found) == {"old", "idle"}
    assert found.active == {"root", "web", "old", "idle"}
    assert len(found.rows("permissions", "permission")) == 9


def test_schema_is_the_place_of_a_privilege(tmp_path: Path) -> None:
    text = (
        "GRANTEE,PRIVILEGE,SCHEMA_NAME,OBJECT_NAME\nADA,SELECT,HR,SALARIES\nADA,SELECT,FIN,\nBOB,SELECT,FIN,\n"
        "BOB,BACKUP ADMIN,,\n"
    )

    found = imported(tmp_path, export=text)

    assert set(found.rows("permissions", "username", "header", "section", "permission")) == {
        ("ADA", "HR", "SALARIES", "SELECT"),
        ("ADA", "FIN", "", "SELECT"),
        ("BOB", "FIN", "", "SELECT"),
        ("BOB", "", "", "BACKUP ADMIN"),
    }


def test_manager_is_not_the_place_of_a_permission(tmp_path: Path) -> None:
    text = "user,entitlement,manager\nada,read,Cy Dee\nada,read,Eva Fox\nbob,read,Cy Dee\nbob,write,Cy Dee\n"

    found = imported(tmp_path, export=text)

    assert set(found.rows("permissions", "username", "section", "permission")) == {
        ("ada", "", "read"), ("bob", "", "read"), ("bob", "", "write"),
    }  # fmt: skip


@pytest.mark.parametrize("header", ["IS_VALID", "Effective", "is current"])
def test_grants_that_are_not_valid_are_asked_about(tmp_path: Path, header: str) -> None:
    text = f"GRANTEE,PRIVILEGE,{header}\nADA,SELECT,TRUE\nADA,INSERT,FALSE\nBOB,SELECT,TRUE\n"

    assert asked(tmp_path, export=text) == [f"{header}: do rows with FALSE give access?"]


def test_rows_without_a_holder_are_asked_about(tmp_path: Path) -> None:
    text = "Group,Member\nOps,ada\nOps,bob\nEmpty,\nVpn,ada\n"

    (question,) = asked(tmp_path, export=text)

    assert question.startswith("Member is blank in 1 row, such as that of a group without members.")


def test_employees_are_people_if_the_values_are_names(tmp_path: Path) -> None:
    text = "Employee,User ID,Email\nAda Byron,ABYRON,a@x.org\nBob Kahn,BKAHN,b@x.org\nCy Dee (left 03/2026),CDEE,\n"

    assert imported(tmp_path, export=text).rows("users", "username", "name", "employee_id")[:2] == [
        ("ABYRON", "Ada Byron", ""),
        ("BKAHN", "Bob Kahn", ""),
    ]


def test_members_on_lines_of_a_cell_are_read(tmp_path: Path) -> None:
    text = 'Security Group,Inactive,Members\nHR,No,"Ada B (1)\nBob K (2) (Terminated)"\nPay,No,Cy D (3)\nOld,Yes,\n'

    found = imported(tmp_path, export=text)

    assert found.groups == {"HR", "Pay", "Old"}
    assert found.memberships == {("Ada B (1)", "HR"), ("Bob K (2) (Terminated)", "HR"), ("Cy D (3)", "Pay")}


def test_codes_that_are_padded_to_equal_width_are_lists() -> None:
    codes = ("*ALLOBJ   *AUDIT    *IOSYSCFG *JOBCTL", "*NONE", "*JOBCTL   *SAVSYS")
    rows = "".join(f"{login},Active,{code}\n" for login, code in zip(("ada", "bob", "cy"), codes, strict=True))

    found = hinted(f"login,status,SPAU\n{rows}")["SPAU"]

    assert (found.may_be_access, found.separator) == (Sign.LIST, " ")


def test_matrix_without_a_word_for_yes_has_levels(tmp_path: Path) -> None:
    rows = "ada,a@x.org,Admin,Write,No\nbob,b@x.org,No,Read,Write\ncy,c@x.org,Read,No,Write\n"
    text = f"User,Email,Jira,Wiki,Git\n{rows}"

    assert asked(tmp_path, export=text) == []
    assert set(imported(tmp_path, export=text).rows("permissions", "username", "permission", "value")) == {
        ("ada", "Jira", "Admin"),
        ("ada", "Wiki", "Write"),
        ("bob", "Wiki", "Read"),
        ("bob", "Git", "Write"),
        ("cy", "Jira", "Read"),
        ("cy", "Git", "Write"),
    }


def test_status_alone_does_not_make_rows_accounts(tmp_path: Path) -> None:
    text = "REVIEW_ID,DUE_DATE,STATUS\nREV-FI,20250228,OPEN\nREV-MM,20250215,OPEN\nREV-HR,20250301,CLOSED\n"

    question = "No header says that the rows are accounts. Does the column REVIEW_ID name accounts?"
    assert question in asked(tmp_path, export=text)


@pytest.mark.parametrize(
    "header", ["user,permission", "user,permissions", "user,access rights", "user,roles", "user,folder,permissions"]
)
@pytest.mark.parametrize("exception", ["except passwords", "but not delete", "excluding HR", "only own", "ohne Export"])
def test_exception_behind_a_comma_is_no_name_of_its_own(tmp_path: Path, header: str, exception: str) -> None:
    folder = "F1," if "folder" in header else ""
    lines = [f'ada,{folder}"Can view, {exception}"', f"bob,{folder}Can edit", f'cy,{folder}"Can view, Can edit"']
    export = "\n".join([header, *lines])

    found = imported(tmp_path, export=export)

    (question,) = [each for each in asked(tmp_path, export=export) if "Are these several" in each]
    assert f"cells such as Can view, {exception}." in question
    content, field = ("memberships", "group") if "roles" in header else ("permissions", "permission")
    assert set(found.rows(content, field)) == {f"Can view, {exception}", "Can edit", "Can view, Can edit"}


def test_rows_that_cannot_be_read_are_stated_to_fail_the_import(tmp_path: Path) -> None:
    text = "login,name,status\nada,Ada Byron,Active\nbob,Bob Kahn,Inactive\ncy,Cy Dee,Parked\ndi,Di Eck,Parked\n"
    why = "An import as proposed would fail because of line 4: Active is Parked"

    assert why in "\n".join(stated(tmp_path, "users", text))
    assert not any("would fail" in line for line in stated(tmp_path, "users", text.partition("cy,")[0]))


def test_rows_that_contradict_each_other_are_stated_to_fail_the_import(tmp_path: Path) -> None:
    text = "username,display_name,status\nada,Ada,Active\nada,Ada,Inactive\nbob,Bob,Active\n"
    why = "line 3: line 2 has the same Username with other values"

    assert f"An import as proposed would fail because of {why}, unless it leaves out such rows" in stated(
        tmp_path, "users", text
    )
