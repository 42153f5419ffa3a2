"""Read lists that command-line tools, databases and mainframes print: aligned columns, dashes, pages, totals."""

from pathlib import Path

from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed


def test_spool_file_of_oracle_with_two_pages_is_read(tmp_path: Path) -> None:
    top = "GRANTEE                        GRANTED_ROLE                   ADM DEF\n"
    top += "------------------------------ ------------------------------ --- ---\n"
    text = (
        f"{top}SCOTT                          CONNECT                        NO  YES\n"
        "SCOTT                          RESOURCE                       NO  YES\n"
        f"HR_APP                         DBA                            YES YES\n\n{top}"
        "SYSTEM                         DBA                            YES YES\n\n4 rows selected.\n"
    )

    found = imported(tmp_path, roles=text)

    assert found.memberships == {("SCOTT", "CONNECT"), ("SCOTT", "RESOURCE"), ("HR_APP", "DBA"), ("SYSTEM", "DBA")}
    assert found.active == {"SCOTT", "HR_APP", "SYSTEM"}
    # The condition must not contain the number of rows, which differs in the next file.
    (file,) = proposed(tmp_path, roles=text).files
    assert {"column": "GRANTEE", "endsWith": ["rows selected."]} in file.contents[0].shape["skipRowsWhere"]


def test_table_of_powershell_is_read(tmp_path: Path) -> None:
    text = (
        "\nSamAccountName  Enabled  Name\n--------------  -------  ----\n"
        "ada             True     Ada Byron\nbob             False    Bob Kahn\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_text_across_two_columns_is_rejected(tmp_path: Path) -> None:
    files = [{"name": "Users", "content": "users", "shape": {"aligned": True}}]
    text = "Username  Name        Active\nada       Ada Byron   Yes\nbob       Bob Bartholomew Kahn No\n"

    found = read_files(tmp_path, [{**files[0], "allowRejects": True}], {"Users": [text]})

    assert found.active == {"ada"}
    assert [(reject.line, reject.reason) for delta in found.deltas.values() for reject in delta.rejects] == [
        (3, "the row has 1 field, the header has 3")
    ]


def test_output_of_psql_is_read(tmp_path: Path) -> None:
    text = (
        "  rolname  | rolsuper | rolcanlogin | memberof  \n-----------+----------+-------------+-----------\n"
        " ada       | t        | t           | dba       \n bob       | f        | t           | reader    \n"
        " cy        | f        | f           | reader    \n(3 rows)\n\n"
    )

    found = imported(tmp_path, roles=text)

    assert (found.active, found.inactive) == ({"ada", "bob"}, {"cy"})
    assert found.memberships == {("ada", "dba"), ("bob", "reader"), ("cy", "reader")}


def test_output_of_sqlcmd_is_read(tmp_path: Path) -> None:
    text = (
        "role_name,member_name\n---------,-----------\nsysadmin,sa\nsysadmin,CORP\\ada\nsecurityadmin,CORP\\bob\n"
        "\n(3 rows affected)\n"
    )

    found = imported(tmp_path, members=text)

    assert found.memberships == {("sa", "sysadmin"), ("CORP\\ada", "sysadmin"), ("CORP\\bob", "securityadmin")}


def test_pages_of_a_mainframe_are_read(tmp_path: Path) -> None:
    text = (
        "CORE LISTING    PAGE 1,,,\nUser ID,Name,Role,Status\nada,Ada Byron,Teller,Active\n"
        "bob,Bob Kahn,Teller,Inactive\nCORE LISTING    PAGE 2,,,\nUser ID,Name,Role,Status\n"
        "cy,Cy Dee,Manager,Active\nTOTAL USERS: 3,,,\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})
    assert found.memberships == {("ada", "Teller"), ("bob", "Teller"), ("cy", "Manager")}


def test_account_whose_name_begins_like_the_title_is_kept(tmp_path: Path) -> None:
    text = "Core\nUser ID,Name,Status\ncore,Core Batch,Active\ncorey,Cory Dee,Active\n--x,Dash Ex,Active\n"

    assert imported(tmp_path, users=text).active == {"core", "corey", "--x"}


def test_blank_row_above_a_total_is_left_out(tmp_path: Path) -> None:
    text = (
        'Name,Email,Status,Storage Used\nAda Byron,ada@x.com,Active,"1,024.5"\nBob Kahn,bob@x.com,Inactive,12\n'
        ',,,\nGrand Total,,,"1,036.5"\n'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})


def test_dates_in_two_formats_are_read(tmp_path: Path) -> None:
    text = "login,name,last login\nada,Ada Byron,2026-11-01\nbob,Bob Kahn,01/11/2026\ncy,Cy Dee,13/10/2026\n"

    found = imported(tmp_path, users=text)

    assert found.rows("users", "last_login") == [f"2026-{day}T00:00:00Z" for day in ("11-01", "11-01", "10-13")]
    assert "read day first, because 13/10/2026 cannot start with the month" in found.notes[0]


def test_notes_are_not_names(tmp_path: Path) -> None:
    text = 'User,Note,Enabled\nada,"said ""hi""\nthen left",Y\nbob,,N\n'

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "name") == ["", ""]


def test_page_breaks_and_counts_of_a_mainframe_are_left_out(tmp_path: Path) -> None:
    """Mainframes begin each page with 1, count users below each branch, and mark the end of the list."""
    title = "1  PROGRAM: SEC4010           FIRST BANK                PAGE     {0}\n\n"
    header = " USER ID   USER NAME             STATUS\n -------   ------------------    ------\n"
    text = (
        f"{title.format(1)}{header} ADA       BYRON ADA             ACTIVE\n BOB       KAHN BOB              DISABLED\n"
        f" DEPT SALES USERS:     2\n\f{title.format(2)}{header} CY        DEE CY                ACTIVE\n"
        " DEPT OPS USERS:       1\n\n TOTAL USERS:     3\n *** END OF REPORT ***\n"
    )

    found = imported(tmp_path, listing=text)

    assert (found.active, found.inactive) == ({"ADA", "CY"}, {"BOB"})


_LOGINS = (
    "Server: east\n                  Auth\nUser     Role     Method  Method\n-------- -------- ------- -------\n"
    "ada      admin    none    ssh\nbob      reader   none    ssh\n"
)


def test_repeated_headers_of_a_printed_list_are_numbered(tmp_path: Path) -> None:
    text = "User     Role     Auth    Auth\nName     Name     Method  Method\n-------- -------- ------- -------\n"

    found = proposed(tmp_path, logins=text + "ada      admin    none    ssh\nbob      reader   none    ssh\n").files[0]

    assert [column.header for column in found.columns] == [
        "User Name",
        "Role Name",
        "Auth Method",
        "Auth Method (2)",
    ]


def test_single_word_above_repeated_headers_is_part_of_the_header(tmp_path: Path) -> None:
    (found,) = proposed(tmp_path, logins=_LOGINS).files

    assert [column.header for column in found.columns] == ["User", "Role", "Auth Method", "Method"]


def test_table_that_is_repeated_below_another_title_is_refused(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, logins=_LOGINS + "\n" + _LOGINS.replace("east", "west")).files

    assert "another table, titled Server: west, and its title would be lost" in str(file.problem)


def test_line_that_is_wider_than_its_columns_is_refused(tmp_path: Path) -> None:
    text = _LOGINS + "CORP\\Storage-Admins\n         admin    none    ssh\n"

    assert "line 7 is wider than its columns and continues on line 8" in str(
        proposed(tmp_path, logins=text).files[0].problem
    )


def test_columns_one_space_apart_are_refused(tmp_path: Path) -> None:
    text = (
        "ID   Username      Email            IsActive IsAdmin 2FA\n"
        "1    ada           ada@example.com  true     true    true\n"
        "2    bob           bob@example.com  false    false   false\n"
        "3    cy            cy@example.com   true     false   true\n"
    )

    problem = proposed(tmp_path, export=text).files[0].problem

    assert problem
    assert problem.startswith("the columns IsActive and IsAdmin are only one space apart")


def test_indented_attributes_below_a_name_are_no_ldif(tmp_path: Path) -> None:
    entry = "DN: cn={0},cn=groups,dc=x\n  gidNumber: {1}\n  name: {0}\n  users: uid=ada,cn=users,dc=x\n\n"

    problem = proposed(tmp_path, export=entry.format("Staff", 1) + entry.format("Lab", 2)).files[0].problem

    assert problem
    assert problem.startswith("the file is a listing with a name and a value on each line")


def test_subtotals_with_different_texts_are_left_out(tmp_path: Path) -> None:
    text = (
        "Login,Name,Email,Salary\n01,Ada Byron,ada@example.com,10\n02,Tom Totalis,tom@example.com,20\n"
        ",Total of branch 1: 2 people,,30\n03,Bob Kahn,bob@example.com,10\n,Total of branch 2: 1 person,,10\n"
    )

    assert imported(tmp_path, export=text).active == {"01", "02", "03"}


def test_the_owner_of_a_mailbox_is_not_its_name(tmp_path: Path) -> None:
    text = "Adresse,Responsable,Statut\nachats@x.fr,Sophie Renard,Actif\nventes@x.fr,Julien Marty,Actif\n"

    columns = proposed(tmp_path, export=text).files[0].contents[0].columns

    assert next(each.field for each in columns if each.header == "Responsable") is None
