"""Test that exports of more products and layouts are read correctly as proposed, or refused with a reason.

Among them are Entra, Slack, Oracle and Unix exports, and exports in other languages.
"""

import io
from pathlib import Path

import openpyxl
import pytest

from tests.file_shapes.test_exports import imported, proposed


def workbook(*sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet {number + 1}")
        for row in rows:
            sheet.append(row)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def test_unicode_text_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """Excel saves `Unicode text` as UTF-16 with tabs."""
    text = "Login\tFull name\tStatus\nada\tAda Ångström\tActive\nbob\tBob Kahn\tDisabled\n"

    for encoding in ("utf-16", "utf-16-le"):
        found = imported(tmp_path, users=text.encode(encoding))
        assert (found.active, found.inactive) == ({"ada"}, {"bob"})
        assert found.rows("users", "name") == ["Ada Ångström", "Bob Kahn"]
        assert len(proposed(tmp_path, users=text.encode(encoding)).files[0].contents[0].understood) == 2


def test_separator_line_and_a_title_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, users="sep=|\nUser Name|E-Mail|Enabled\nada|a@x.com|WAHR\nbob|b@x.com|FALSCH\n")

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_german_headers_and_words_are_read(tmp_path: Path) -> None:
    text = (
        "Benutzerliste vom 02.11.2026;;;;;;\n"
        "Benutzername;Name;Vorname;E-Mail-Adresse;Status;Letzte Anmeldung;Gruppen\n"
        "abyron;Byron;Ada;ada@x.de;Aktiv;31.12.2025 08:00;Vertrieb, Einkauf\n"
        "bkahn;Kahn;Bob;bob@x.de;Gesperrt;;Vertrieb\ncmüller;Müller;Cem;cem@x.de;Deaktiviert;nie;\n"
    )

    found = imported(tmp_path, users=text.encode("cp1252"))

    assert (found.active, found.inactive) == ({"abyron"}, {"bkahn", "cmüller"})
    assert found.rows("users", "first_name", "last_name", "name")[0] == ("Ada", "Byron", "Ada Byron")
    assert found.rows("users", "last_login") == ["2025-12-31T08:00:00Z", "", ""]
    assert found.memberships == {("abyron", "Vertrieb"), ("abyron", "Einkauf"), ("bkahn", "Vertrieb")}


def test_french_headers_and_words_are_read(tmp_path: Path) -> None:
    text = (
        "Identifiant;Nom;Prénom;Courriel;Statut;Groupes\nadab;Byron;Ada;ada@x.fr;Actif;Ventes|Achats\n"
        "bobk;Kahn;Bob;bob@x.fr;Désactivé;\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"adab"}, {"bobk"})
    assert found.rows("users", "first_name", "last_name") == [("Ada", "Byron"), ("Bob", "Kahn")]
    assert found.memberships == {("adab", "Ventes"), ("adab", "Achats")}


def test_cells_of_several_lines_are_read(tmp_path: Path) -> None:
    text = 'login,email,notes,groups\nada,a@x.com,"first line\nsecond line","Sales\nOps"\nbob,b@x.com,,Sales\n'

    found = imported(tmp_path, users=text)

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "Sales"), ("ada", "Ops"), ("bob", "Sales")}


def test_json_with_nested_groups_is_read(tmp_path: Path) -> None:
    text = (
        '{"page": 1, "audit": [{"id": 1}, {"id": 2}, {"id": 3}], "users": [{"login": "ada", "enabled": true, '
        '"groups": [{"id": 1, "name": "Sales"}, {"id": 2, "name": "Ops"}]}, {"login": "bob", "enabled": false, '
        '"groups": []}]}'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.memberships == {("ada", "Sales"), ("ada", "Ops")}
    assert "Not read: list audit (3)" in " ".join(proposed(tmp_path, users=text).files[0].evidence)


def test_scim_groups_with_members_are_read(tmp_path: Path) -> None:
    text = (
        '{"totalResults": 2, "Resources": [{"id": "g1", "displayName": "Sales", "members": [{"value": "u1", '
        '"display": "ada"}, {"value": "u2", "display": "bob"}]}, {"id": "g2", "displayName": "Ops", "members": '
        '[{"value": "u1", "display": "ada"}]}]}'
    )

    found = imported(tmp_path, groups=text)

    assert found.groups == {"Sales", "Ops"}
    assert found.memberships == {("ada", "Sales"), ("bob", "Sales"), ("ada", "Ops")}


def test_members_from_the_slack_api_are_read(tmp_path: Path) -> None:
    text = (
        '{"ok": true, "members": [{"id": "U1", "name": "ada", "deleted": false, "real_name": "Ada Byron", "profile": '
        '{"email": "a@x.com"}}, {"id": "U2", "name": "bob", "deleted": true, "real_name": "Bob Kahn", "profile": '
        '{"email": "b@x.com"}}]}'
    )

    found = imported(tmp_path, users=text)

    assert len(found.active) == len(found.inactive) == 1
    assert found.rows("users", "email") == ["a@x.com", "b@x.com"]


def test_github_members_are_read(tmp_path: Path) -> None:
    text = "login,name,tfa_enabled,is_public,updated_at,last_active,role,saml_name_id\n"
    text += "octo,Octo Cat,true,false,2026-01-01 10:00:00 UTC,2026-02-01 10:00:00 UTC,Admin,o@x.com\n"
    text += "bobk,Bob Kahn,false,true,2026-01-01 10:00:00 UTC,2026-02-02 10:00:00 UTC,Read,b@x.com\n"
    text += "cyd,Cy Dee,false,true,2026-01-01 10:00:00 UTC,,Read,c@x.com\n"

    found = imported(tmp_path, members=text)

    assert found.active == {"octo", "bobk", "cyd"}
    assert found.memberships == {("octo", "Admin"), ("bobk", "Read"), ("cyd", "Read")}


def test_entra_users_are_read(tmp_path: Path) -> None:
    text = (
        "userPrincipalName,displayName,surname,mail,givenName,id,userType,jobTitle,department,accountEnabled,state\n"
        "ada@x.com,Ada Byron,Byron,ada@x.com,Ada,6f1,Member,Clerk,Sales,True,CA\n"
        "bob_y.com#EXT#@x.com,Bob Kahn,,bob@y.com,,6f2,Guest,,,False,\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob_y.com#EXT#@x.com"})
    assert found.rows("users", "email") == ["ada@x.com", "bob@y.com"]


def test_atlassian_users_are_read(tmp_path: Path) -> None:
    text = (
        "User id,User name,email,User status,Added to org,Org role,Last seen in Jira - x\n"
        "712020:a1,Ada Byron,ada@x.com,Active,05 Jan 2025,Org Admin,02 Nov 2026\n"
        "712020:b2,Bob Kahn,bob@x.com,Suspended,06 Jan 2025,User,Never accessed\n"
        "712020:c3,Cy Dee,cy@x.com,Active,06 Jan 2025,User,03 Nov 2026\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"712020:a1", "712020:c3"}, {"712020:b2"})
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn", "Cy Dee"]
    assert found.rows("users", "last_login") == ["2026-11-02T00:00:00Z", "", "2026-11-03T00:00:00Z"]


def test_servicenow_roles_of_users_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        roles="user.user_name,role.name,inherited,state\nada,admin,false,active\nada,itil,true,active\nbob,itil,true,\n",
    )

    assert found.active == {"ada", "bob"}
    assert found.memberships == {("ada", "admin"), ("ada", "itil"), ("bob", "itil")}


def test_workday_report_is_read(tmp_path: Path) -> None:
    text = (
        "Active Workers\n\nEmployee_ID,Legal_Name_-_First_Name,Legal_Name_-_Last_Name,Primary_Work_Email,"
        "Business_Title,Worker_Type,Worker_Status,Hire_Date,Manager_ID\n"
        "1001,Ada,Byron,ada@x.com,Clerk,Employee,Active,2021-05-01,1003\n"
        "1002,Bob,Kahn,bob@x.com,Advisor,Contingent Worker,Terminated,2020-08-15,1001\n"
        "1003,Cy,Dee,cy@x.com,Head,Employee,On Leave,2019-01-15,\n"
    )

    found = imported(tmp_path, workers=text)

    assert found.rows("identities", "employee_id", "first_name", "last_name", "status") == [
        ("1001", "Ada", "Byron", "Active"), ("1002", "Bob", "Kahn", "Disabled"), ("1003", "Cy", "Dee", "Active"),
    ]  # fmt: skip
    assert found.rows("identities", "supervisor_id") == ["1003", "1001", ""]


def test_oracle_roles_are_not_a_matrix(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        roles=(
            "GRANTEE,GRANTED_ROLE,ADMIN_OPTION,DELEGATE_OPTION,DEFAULT_ROLE,COMMON,INHERITED\n"
            "SCOTT,CONNECT,NO,NO,YES,NO,NO\nSCOTT,RESOURCE,NO,NO,YES,NO,NO\nADA,DBA,YES,NO,YES,NO,NO\n"
        ),
    )

    assert found.active == {"SCOTT", "ADA"}
    assert found.memberships == {("SCOTT", "CONNECT"), ("SCOTT", "RESOURCE"), ("ADA", "DBA")}


def test_oracle_privileges_and_users_are_read(tmp_path: Path) -> None:
    privileges = imported(
        tmp_path,
        grants=(
            "GRANTEE,OWNER,TABLE_NAME,GRANTOR,PRIVILEGE,GRANTABLE,HIERARCHY,COMMON\n"
            "ADA,HR,EMPLOYEES,HR,SELECT,NO,NO,NO\nADA,HR,EMPLOYEES,HR,UPDATE,NO,NO,NO\nBOB,HR,JOBS,HR,SELECT,YES,NO,NO\n"
        ),
    )
    users = imported(
        tmp_path,
        users=(
            "USERNAME,USER_ID,ACCOUNT_STATUS,LOCK_DATE,CREATED,PROFILE\nADA,1,OPEN,,2020-01-01,DEFAULT\n"
            "BOB,2,EXPIRED & LOCKED,2021-01-01,2020-01-01,DEFAULT\n"
        ),
    )

    assert privileges.permissions == {
        ("ADA", "", "HR", "SELECT"), ("ADA", "", "HR", "UPDATE"), ("BOB", "", "HR", "SELECT"),
    }  # fmt: skip
    assert privileges.rows("permissions", "section") == ["EMPLOYEES", "EMPLOYEES", "JOBS"]
    assert (users.active, users.inactive) == ({"ADA"}, {"BOB"})


def test_unix_passwd_and_group_files_are_read(tmp_path: Path) -> None:
    passwd = "root:x:0:0:root:/root:/bin/bash\nada:x:1001:1001:Ada Byron,,,:/home/ada:/bin/bash\n"
    group = "root:x:0:\nwheel:x:10:ada\nstaff:x:50:ada,root\n"

    found = imported(tmp_path, passwd=passwd, group=group)

    assert found.active == {"root", "ada"}
    assert found.rows("users", "name") == ["root", "Ada Byron"]
    assert found.groups == {"root", "wheel", "staff"}
    assert found.memberships == {("ada", "wheel"), ("ada", "staff"), ("root", "staff")}


def test_shadow_file_is_refused(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, shadow="root:$6$x$y:19000:0:99999:7:::\nada:!:19000:0:99999:7:::\n").files

    assert file.problem == (
        "the file is /etc/shadow, which contains password hashes; use the output of getent passwd, "
        "which does not say which accounts are locked or have expired"
    )


def test_file_with_one_row_per_group_of_a_user_is_read(tmp_path: Path) -> None:
    """SailPoint exports repeat an account for each of its groups."""
    text = (
        "id,givenName,familyName,e-mail,status,groups\nada,Ada,Byron,a@x.com,active,Sales\n"
        "ada,Ada,Byron,a@x.com,active,Ops\nbob,Bob,Kahn,b@x.com,inactive,Sales\n"
    )

    found = imported(tmp_path, accounts=text.replace("id,", "account,", 1))

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "email") == ["a@x.com", "b@x.com"]
    assert found.memberships == {("ada", "Sales"), ("ada", "Ops"), ("bob", "Sales")}


def test_footer_below_the_rows_is_left_out(tmp_path: Path) -> None:
    text = (
        '"Username","Full Name","Active"\n"ada","Ada Byron","1"\n"bob","Bob Kahn","0"\n\n"Users Report"\n'
        '"Copyright (c) 2000-2026 salesforce.com, inc. All rights reserved."\n'
        '"Generated By: Ada 11/2/2026 9:00"\n"Acme"\n'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_truncated_row_is_not_a_footer(tmp_path: Path) -> None:
    text = "Username,Full Name,Active\nada,Ada Byron,1\nbob,Bob Kahn,0\ncy"

    with pytest.raises(Exception, match="the row has 1 field, the header has 3"):
        imported(tmp_path, users=text)


def test_workbook_with_a_title_and_a_second_sheet_is_read(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["User report"], [], ["Login", "Full name", "Status"], ["ada", "Ada Byron", "Active"],
        ["bob", "Bob Kahn", "Left"], ["Total: 2 records"],
    ]  # fmt: skip
    content = workbook(rows, [["Notes"]])

    found = imported(tmp_path, users=content)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    (file,) = proposed(tmp_path, users=content).files
    assert file.header_line == 3
    assert "Not read: sheet Sheet 2. Choose one of them" in " ".join(file.evidence)


def test_file_with_an_index_column_without_a_header_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path, users=",login,email,status\n0,ada,a@x.com,active\n1,bob,b@x.com,disabled\n")

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_flags_of_accounts_are_not_a_matrix(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        users="username,email,is_staff,is_superuser,is_active,has_mfa\nada,a@x.com,t,f,t,t\nbob,b@x.com,f,f,f,t\n",
    )

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_matrix_of_levels_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path, matrix="User,Ledger,Payroll,Reports\nada,RW,R,-\nbob,R,-,R\n")

    assert found.permissions == {
        ("ada", "", "", "Ledger"), ("ada", "", "", "Payroll"), ("bob", "", "", "Ledger"), ("bob", "", "", "Reports"),
    }  # fmt: skip
    assert sorted(found.rows("permissions", "value")) == ["R", "R", "R", "RW"]


def test_directory_export_with_people_groups_and_computers_is_read(tmp_path: Path) -> None:
    text = (
        "DN,objectClass,sAMAccountName,displayName,userAccountControl,memberOf,member\n"
        '"CN=Ada,DC=x",user,abyron,Ada Byron,512,"CN=Staff,OU=G,DC=x;CN=Sales,OU=G,DC=x",\n'
        '"CN=Old,DC=x",user,old,Old,514,,\n"CN=PC1,DC=x",computer,PC1$,,4096,,\n"OU=G,DC=x",organizationalUnit,,,,,\n'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"abyron"}, {"old"})
    assert found.memberships == {("abyron", "Staff"), ("abyron", "Sales")}


def test_names_alone_become_a_question_about_the_header(tmp_path: Path) -> None:
    text = "ada;Ada Byron;Sales\nbob;Bob Kahn;Ops\ncyd;Cy Dee;Ops\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert question.text.startswith("No word of line 1 is a known header. Is this line the header?")
    assert [(choice.key, choice.value) for choice in question.choices] == [("headerLine", "1"), ("headerLine", "0")]


def test_list_of_usernames_without_a_header_is_read(tmp_path: Path) -> None:
    assert imported(tmp_path, users="ada\nbob\ncyd\n").active == {"ada", "bob", "cyd"}


def test_repeated_header_is_refused(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, users="Username,Name,Name,Email\nada,Ada,Byron,a@x.com\n").files

    assert file.problem == (
        "line 1 has the header Name twice; rename one, or set shape.headers with shape.skipLines: 1"
    )
