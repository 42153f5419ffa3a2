"""Read reports in workbooks: merged cells, sections above columns, counts and signature lines below the rows."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_more_exports import workbook

REVIEW: list[list[object]] = [
    ["User Access Review"], [],
    ["User Login", "Full Name", "Account Status", "Last Logon", "Role"],
    ["abyron", "Ada Byron", "Active", "2026-11-02 08:15:00", "Underwriter"],
    [None, None, None, None, "Approver"],
    ["bkahn", "Bob Kahn", "Disabled", "2025-03-01 09:00:00", "Viewer"],
    [None, None, None, None, "Underwriter"],
    ["cdee", "Cy Dee", "Active", None, "Viewer"],
    [], ["Reviewed by: ____________________    Date: ________"],
]  # fmt: skip
MATRIX: list[list[object]] = [
    ["Core User Security Matrix"], [],
    ["User", None, "Teller", None, "Wires", None],
    ["User ID", "User Name", "Cash In", "Override", "Create", "Override"],
    ["KOWALR1", "Kowalski, Ravi", "X", None, None, None],
    ["MEYERM2", "Meyer, Malik", "X", "X", None, "X"],
    ["Total users: 2", None, 2, 1, 0, 1],
]  # fmt: skip


def test_merged_cells_of_an_account_apply_to_all_its_roles(tmp_path: Path) -> None:
    found = imported(tmp_path, review=workbook(REVIEW))

    assert (found.active, found.inactive) == ({"abyron", "cdee"}, {"bkahn"})
    assert found.memberships == {
        ("abyron", "Underwriter"), ("abyron", "Approver"), ("bkahn", "Viewer"), ("bkahn", "Underwriter"),
        ("cdee", "Viewer"),
    }  # fmt: skip
    assert ("cdee", "") in found.rows("users", "username", "last_login")


def test_row_without_a_login_is_not_part_of_the_account_above(tmp_path: Path) -> None:
    text = "Username,Email,Role\nada,ada@x.com,Teller\n,bob@x.com,Wire\ncy,cy@x.com,Teller\n"

    (file,) = proposed(tmp_path, users=text).files

    assert all("fillDown" not in part.shape for part in file.contents)


def test_section_above_the_columns_of_accounts_is_dropped(tmp_path: Path) -> None:
    found = imported(tmp_path, matrix=workbook(MATRIX))

    assert found.active == {"KOWALR1", "MEYERM2"}
    assert set(found.rows("permissions", "username", "section", "permission")) == {
        ("KOWALR1", "Teller", "Cash In"), ("MEYERM2", "Teller", "Cash In"), ("MEYERM2", "Teller", "Override"),
        ("MEYERM2", "Wires", "Override"),
    }  # fmt: skip


@pytest.mark.parametrize("title", ["Operators;Printed 2026-11-03;;;", "Operators;;Printed 2026-11-03;;"])
def test_title_of_two_cells_is_not_a_line_of_sections(tmp_path: Path, title: str) -> None:
    text = "{}\nLogin;State;Role;Team;Notes\nada;Active;Teller;North;a\nbob;Disabled;Wire;South;b\n"

    (file,) = proposed(tmp_path, users=text.format(title)).files

    assert (file.header_line, file.contents[0].shape.get("headers")) == (2, None)


@pytest.mark.parametrize("text", ["Total users: {}", "Anzahl Benutzer: {}", "Nombre d'utilisateurs : {}"])
def test_footer_is_left_out_even_if_its_count_changes(tmp_path: Path, text: str) -> None:
    rows = "Login;Name;Email\nada;Ada Byron;ada@x.com\nbob;Bob Kahn;bob@x.com\n"

    (file,) = proposed(tmp_path, users=f"{rows}{text.format(2)};;\n").files

    begin = text.partition("{")[0].strip()
    assert file.contents[0].shape["skipRowsWhere"] == [{"column": "Login", "startsWith": [begin]}]
    assert imported(tmp_path, users=f"{rows}{text.format(2)};;\n").active == {"ada", "bob"}
