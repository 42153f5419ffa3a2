"""Test headers, words, dates and lines of exports that were once read wrongly or not at all."""

from pathlib import Path

import pytest

from tests.application_imports.reading import read_file
from tests.file_shapes.test_exports import contents, imported, proposed
from tests.file_shapes.test_states import asked


def test_open_questions_are_part_of_the_connector(tmp_path: Path) -> None:
    found = proposed(tmp_path, users="login,status\nada,Active\nbob,Inactive\ncy,\ndee,Active\n")

    shape = found.connector["files"][0]["shape"]
    assert shape["openQuestions"] == ["status is blank in 1 row. Does a blank cell mean active?"]
    assert found.files[0].contents[0].shape == shape


def test_google_workspace_download_with_employee_ids_is_read(tmp_path: Path) -> None:
    """Accept a header with a dot in brackets, and do not take accounts with employee IDs for a list of employees."""
    text = (
        "First Name [Required],Last Name [Required],Email Address [Required],Status [READ ONLY],"
        "Last Sign In [READ ONLY],Recovery Phone [MUST BE IN THE E.164 FORMAT],Employee ID,Employee Type\n"
        "Ada,Byron,ada@x.com,Active,2026/11/13 08:02:11,,1001,\nBob,Kahn,bob@x.com,Suspended,Never logged in,,1002,\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})


def test_order_of_day_and_month_is_taken_from_another_column(tmp_path: Path) -> None:
    text = (
        "login,Last Login,Password Last Set\nada,11/13/2026 8:02:11 AM,9/1/2026 7:00:00 AM\nbob,,8/1/2026 7:00:00 AM\n"
    )

    assert asked(tmp_path, users=text) == []
    assert imported(tmp_path, users=text).rows("users", "password_changed")[0] == "2026-09-01T07:00:00Z"


@pytest.mark.parametrize(
    ("date", "read"),
    [("13/Nov/26 8:02 AM", "2026-11-13T08:02:00Z"), ("13-Nov-26 8:02 AM", "2026-11-13T08:02:00Z")],
)
def test_year_of_two_digits_is_read(tmp_path: Path, date: str, read: str) -> None:
    found = read_file(tmp_path, f"Username,Last Login\nada,{date}\n", "users")

    assert found.rows("users", "last_login") == [read]


def test_excel_numbers_are_read_as_dates(tmp_path: Path) -> None:
    text = "User ID,Status,Last Login,Account Expiration Date\nada,Active,46339,\nbob,Active,45292.5,45657\n"

    found = imported(tmp_path, users=text)

    assert found.rows("users", "last_login") == ["2026-11-13T00:00:00Z", "2024-01-01T12:00:00Z"]
    assert found.inactive == {"bob"}


def test_account_control_bits_cause_no_question(tmp_path: Path) -> None:
    text = "objectClass,sAMAccountName,userAccountControl\nuser,ada,512\nuser,bob,514\ngroup,Fin,\ncomputer,PC1$,4096\n"

    assert asked(tmp_path, users=text) == []
    assert imported(tmp_path, users=text).inactive == {"bob"}


def test_count_below_a_printed_list_is_not_an_account(tmp_path: Path) -> None:
    text = (
        "USER ID    USER NAME      STATUS    GROUP\n---------- -------------- --------- --------\n"
        "ADA        BYRON ADA      ACTIVE    TELLER\nBOB        KAHN BOB       INACTIVE  LOANS\n\n"
        "TOTAL USERS    2\n*** END OF REPORT ***\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ADA"}, {"BOB"})


def test_roles_of_users_groups_and_applications_are_read(tmp_path: Path) -> None:
    text = (
        "Role,Display name,User principal name,Type,Scope,Status,End time\n"
        "Owner,Ada Byron,ada@x.com,User,Directory,Active,Permanent\nReader,IT,,Group,Directory,Active,Permanent\n"
        "Backup,app,,Service principal,Directory,Active,Permanent\nAdmin,Bob Kahn,bob@x.com,User,Unit,Eligible,\n"
    )

    found = imported(tmp_path, export=text)

    assert found.active == {"ada@x.com", "app", "bob@x.com"}
    assert found.rows("permissions", "username", "group", "section", "permission") == [
        ("ada@x.com", "", "Directory", "Owner"),
        ("", "IT", "Directory", "Reader"),
        ("app", "", "Directory", "Backup"),
        ("bob@x.com", "", "Unit", "Admin"),
    ]
    assert asked(tmp_path, export=text) == ["Status: do rows with Eligible give access?"]


def test_special_identities_are_groups(tmp_path: Path) -> None:
    text = "Principal,Type,Role\nada,User,Admin\nFinance,Group,Reader\nEveryone,Special Identity,Reader\n"

    found = imported(tmp_path, export=text)

    assert found.active == {"ada"}
    assert [group for group in found.rows("permissions", "group") if group] == ["Finance", "Everyone"]


def test_single_members_of_groups_in_ldif_are_read(tmp_path: Path) -> None:
    text = (
        "dn: uid=ada,dc=x\nobjectClass: inetOrgPerson\nuid: ada\ncn: Ada Byron\n\n"
        "dn: cn=finance,dc=x\nobjectClass: groupOfNames\ncn: finance\nmember: uid=ada,dc=x\n\n"
    )

    assert imported(tmp_path, people=text).memberships == {("ada", "finance")}


def test_last_days_of_accounts_and_of_grants_are_distinguished(tmp_path: Path) -> None:
    text = "USER_NAME,END_DATE,RESPONSIBILITY_NAME,RESP_END_DATE\nADA,,GL,\nADA,,AP,31-DEC-2022\nBOB,31-MAR-2024,GL,\n"

    assert imported(tmp_path, export=text).inactive == {"BOB"}
    assert asked(tmp_path, export=text) == [
        "RESP_END_DATE has dates before today. Is the access in these rows still held?"
    ]


def test_word_for_no_permission_grants_nothing(tmp_path: Path) -> None:
    found = imported(tmp_path, export="rank,user,rights\n1,ada,rw\n2,bob,none\n")

    assert found.active == {"ada", "bob"}
    assert found.rows("permissions", "username") == ["ada"]


def test_german_headers_of_members_are_read(tmp_path: Path) -> None:
    found = imported(tmp_path, export="Gruppe;Mitglied;Konto deaktiviert\nFin;ada;Nein\nOps;ada;Nein\nFin;bob;Ja\n")

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_fields_separated_by_a_control_character_are_read(tmp_path: Path) -> None:
    found = imported(
        tmp_path, export="User\x01Name\x01Status\nada\x01Ada Byron\x01Active\nbob\x01Bob Kahn\x01Inactive\n"
    )

    assert found.inactive == {"bob"}


def test_members_below_headings_are_refused(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, export="Group: Finance\n  ada\n  bob\nGroup: Ops\n  ada\n").files

    assert "text without columns" in str(file.problem)


def test_last_day_in_a_matrix_becomes_a_question(tmp_path: Path) -> None:
    text = (
        "Safe Name,Member Name,Use,Retrieve,List,Manage,Membership Expiration Date\n"
        "FIN,ada,True,True,True,False,\nNET,ada,True,False,True,False,2025-01-01\n"
    )

    assert contents(tmp_path, export=text)[0] == "permissions"
    assert asked(tmp_path, export=text) == [
        "Membership Expiration Date has dates before today. Is the access in these rows still held?"
    ]


def test_veza_payload_is_read(tmp_path: Path) -> None:
    """The permissions refer to only one of the accounts."""
    text = (
        '{"applications": [{"name": "App", "local_users": ['
        '{"name": "ada", "is_active": true, "groups": ["Fin"]}, {"name": "bob", "is_active": false, "groups": []}],'
        ' "local_groups": [{"name": "Fin"}]}], "permissions": [{"name": "read", "permission_type": ["DataRead"]}],'
        ' "identity_to_permissions": [{"identity": "ada", "identity_type": "local_user",'
        ' "application_permissions": [{"application": "App", "permission": "read"}]}]}'
    )

    found = imported(tmp_path, payload=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.memberships == {("ada", "Fin")}
    assert found.rows("permissions", "username", "section", "permission") == [("ada", "App", "read")]
