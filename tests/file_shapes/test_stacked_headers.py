"""Test matrices with a header of two lines: a line of sections above the names of columns."""

from pathlib import Path

import pytest

from tests.application_imports.reading import Text
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_more_exports import workbook

ROWS: list[list[object]] = [
    ["Access matrix of CoreBank"],
    [],
    ["Branch", "User", "Payments", None, "Ledger", None],
    [None, None, "View", "Approve", "View", "Post"],
    ["Main", "abyron", "X", None, "x", None],
    [None, "bkahn", "X", "X", None, None],
    ["Elm", "cmeyer", None, None, "X", "(X)"],
    ["Total", None, 2, 1, 2, 1],
    ["Legend: X = permitted, (X) = as a deputy"],
]
LINES = "\n".join(",".join(str(cell or "") for cell in row) for row in ROWS[2:7])


@pytest.mark.parametrize("content", [workbook(ROWS), LINES], ids=["XLSX", "CSV"])
def test_sections_and_names_are_read_from_two_lines(tmp_path: Path, content: Text) -> None:
    found = imported(tmp_path, matrix=content)

    assert found.active == {"abyron", "bkahn", "cmeyer"}
    assert set(found.rows("permissions", "username", "section", "permission", "value")) == {
        ("abyron", "Payments", "View", "X"), ("abyron", "Ledger", "View", "x"), ("bkahn", "Payments", "View", "X"),
        ("bkahn", "Payments", "Approve", "X"), ("cmeyer", "Ledger", "View", "X"), ("cmeyer", "Ledger", "Post", "(X)"),
    }  # fmt: skip


def test_proposal_says_which_lines_are_the_header(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, matrix=workbook(ROWS)).files

    assert "Lines 3 and 4 are the header: the first names sections, the second names columns" in file.evidence
    assert "The last row is a total and is left out: Total" in file.evidence


def test_blank_cells_below_a_header_are_not_sections(tmp_path: Path) -> None:
    text = "User,Groups,,\nada,Staff,Admins,\nbob,Staff,,\n"

    assert "sections" not in str(proposed(tmp_path, users=text).files[0].evidence)
