"""Test that unreadable files get a message that says what to do, and ambiguous files a question."""

import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from rolecall.file_shapes.tables.recognize import recognize
from rolecall.file_shapes.tables.sample import MOST_WHOLE, sample_of
from rolecall.file_shapes.tables.sample_table import MOST_ROWS, Unreadable
from tests.file_shapes.test_exports import proposed

TOO_DEEP = "the file is JSON that is nested too deeply; export a list of records"


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("users.csv", "Username\nada\n")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty; export it again"),
        (b"%PDF-1.4", "the file is a PDF; export the list as CSV, XLSX, JSON, LDIF or Parquet"),
        (archive(), "the file is a zip archive with users.csv; unpack it and choose the file inside"),
        (
            ",".join(f"c{n}" for n in range(120_000)).encode(),
            "line 1 has more than 20,000 columns; set shape.delimiter to the delimiter of the file, or split the file",
        ),
        (b"Username,Name\n", "there is a header but no row; export the file with its data"),
        (b"[" * 100_000, TOO_DEEP),
        (
            b'[{"a": ' * 5000 + b"1" + b"}]" * 5000,
            "the file is JSON that is nested too deeply; export a list of records",
        ),
        (b'{"a": 1}', "the file is JSON without a list of objects; set shape.records to the path of the records"),
    ],
    ids=["empty", "pdf", "zip", "columns", "header", "brackets", "deep", "json"],
)
def test_unreadable_file_is_refused_with_a_reason(tmp_path: Path, content: bytes, problem: str) -> None:
    (file,) = proposed(tmp_path, file=content).files

    assert file.problem == problem
    assert file.contents == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "Role_A,Role_B,Risk_ID,Risk_Level\nZ_PAY,Z_POST,F001,HIGH\nZ_ORDER,Z_GOODS,M001,MEDIUM\n",
            "Role_A and Role_B",
        ),
        ("Rule,Function 1,Function 2,Severity\nR1,Pay,Post,High\nR2,Order,Pay,Low\n", "Function 1 and Function 2"),
        ("TCODE_1,TCODE_2\nFB01,F-02\nVA01,VL01N\n", "TCODE_1 and TCODE_2"),
        ("role,conflicting role,reason\nPay,Post,fraud\nOrder,Pay,fraud\n", "role and conflicting role"),
    ],
)
def test_rules_of_separation_of_duties_are_refused(tmp_path: Path, text: str, named: str) -> None:
    (file,) = proposed(tmp_path, rules=text).files

    assert f"the file has rules of separation of duties: {named} name access" in str(file.problem)


@pytest.mark.parametrize(
    "text",
    [
        "role,role risk,description\nPay,High,Payments\nPost,Low,Postings\n",
        "role,Function A,Function B,Function C,risk\nPay,x,,,High\nPost,,x,x,Low\n",
        "username,role 1,role 2,risk\nada,Pay,Post,High\nbob,Order,Pay,Low\n",
    ],
)
def test_roles_with_a_risk_are_no_rules(tmp_path: Path, text: str) -> None:
    (file,) = proposed(tmp_path, roles=text).files

    assert file.problem is None


@pytest.mark.parametrize(
    "content",
    [
        b" \n" * 22 + b"x",
        b"Username,Email\nada,a@" + b"." * 50_000 + b" x\n",
        b"Username," + b"[" * 50_000 + b"\nada,x\n",
        b"|" + b"-" * 400_000 + b"x|\n" + b"-" * 100_000 + b"x\n",
        b"a  " * 10_000 + b"\n" + b"b  " * 10_000 + b"\n",
        b'[{"user": "ada", "' + b"[" * 100_000 + b'": [{"name": "x"}]}]',
        b'[{"user": "ada", "' + b"." * 100_000 + b'": [{"name": "x"}]}]',
        b'[{"a": ' + b'{"a": ' * 400 + b"1" + b"}" * 400 + b"}]",
        b"Name : a\nRole : b\n\nName : c\n" + b"       x\n" * 100_000,
        b"username,name\nada,x\n" + b"\ngroup\n" * 20_000,
        ",".join(f"user name {n}" for n in range(2_000)).encode() + b"\n" + b"x," * 2_000,
    ],
    ids=[
        "blank lines",
        "dots",
        "brackets",
        "dashes",
        "titles",
        "long name",
        "dots in a name",
        "deep objects",
        "long property",
        "short lines",
        "columns",
    ],
)
def test_hostile_file_gets_a_proposal_or_a_problem(tmp_path: Path, content: bytes) -> None:
    (file,) = proposed(tmp_path, file=content).files

    assert file.contents or file.problem


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", [70, 600, 980])
@pytest.mark.parametrize("name", ["roles", "other"])
def test_objects_nested_too_deeply_in_cells_are_read_as_text(tmp_path: Path, name: str, levels: int) -> None:
    quoted = deep(levels).replace('"', '""')
    listed = f"[{quoted}]"
    text = f'username,{name},{name}s\nada,"{quoted}","{listed}"\nbob,"{quoted}","{listed}"\n'

    (file,) = proposed(tmp_path, users=text).files

    assert [column.header for column in file.contents[0].columns] == ["username", name, f"{name}s"]


@pytest.mark.parametrize("levels", [70, 600, 980])
@pytest.mark.parametrize("name", ["roles", "other"])
@pytest.mark.parametrize("layout", ["[{}, {}]", "{}\n{}", '{{"users": [{}, {}]}}'])
def test_records_nested_too_deeply_are_a_problem(tmp_path: Path, layout: str, name: str, levels: int) -> None:
    records = [f'{{"username": "{user}", "{name}": {deep(levels)}}}' for user in ("ada", "bob")]

    (file,) = proposed(tmp_path, users=layout.format(*records)).files

    assert file.problem is not None
    assert "nested too deeply" in file.problem


def test_only_the_first_rows_of_a_parquet_file_are_read(tmp_path: Path) -> None:
    # The last row cannot be read, so reading the whole file would fail.
    rows = pl.DataFrame({"Username": [*["ada"] * 10_000, "\x00"]})
    rows.write_parquet(tmp_path / "bomb.parquet")

    (found,) = recognize(sample_of(tmp_path / "bomb.parquet", "bomb.parquet"))

    assert (found.headers, len(found.rows)) == (["Username"], MOST_ROWS)


def test_large_archive_is_not_read_into_memory(tmp_path: Path) -> None:
    with (tmp_path / "large.xlsx").open("wb") as file:
        file.write(archive())
        file.truncate(MOST_WHOLE + 1)

    with pytest.raises(Unreadable, match="larger than 16 MiB; export the data as CSV"):
        recognize(sample_of(tmp_path / "large.xlsx", "large.xlsx"))


def test_ambiguous_dates_become_a_question(tmp_path: Path) -> None:
    text = "Username,Last Login\nada,01/02/2026\nbob,03/04/2026\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert question.text == "Last Login: is the day or the month first in 01/02/2026?"
    assert [(choice.key, choice.value) for choice in question.choices] == [
        ("dates.Last Login", "day first"),
        ("dates.Last Login", "month first"),
    ]


def test_dates_in_two_orders_become_a_question(tmp_path: Path) -> None:
    text = "Username,Last Login\nada,13/04/2026\nbob,05/26/2026\ncem,Never\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert question.text.startswith("Last Login: 13/04/2026 has the day first and 05/26/2026 the month first.")
    assert [choice.value for choice in question.choices] == ["day first", "month first"]


def test_second_header_becomes_a_question(tmp_path: Path) -> None:
    text = "Username,Name,Email\nBenutzer,Name,Mail\nada,Ada Byron,a@b.co\nbob,Bob Kahn,b@b.co\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert "Line 2 looks like a header too" in question.text
    assert [choice.key for choice in question.choices] == ["headerLine", "skipLines"]


def test_unknown_status_becomes_a_question(tmp_path: Path) -> None:
    text = "Username,Status\nada,Active\nbob,Qx\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert question.text == "Status: what does Qx mean?"
    assert [(choice.key, choice.value) for choice in question.choices] == [
        ("values.Active.Qx", "Yes"),
        ("values.Active.Qx", "No"),
    ]


def test_encoding_is_detected_and_reported(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, users="Username,Name\nmueller,Jörg Müller\n".encode("cp1252")).files

    assert file.encoding == "windows-1252"
    assert file.evidence[0] == "Encoding windows-1252, detected from the bytes"
    assert file.contents[0].understood[0]["name"] == "Jörg Müller"


def test_large_matrix_and_long_file_get_a_proposal(tmp_path: Path) -> None:
    matrix = "user," + ",".join(f"p{n}" for n in range(1000)) + "\n"
    matrix += "".join(
        f"u{m}," + ",".join("x" if (n + m) % 7 == 0 else "" for n in range(1000)) + "\n" for m in range(1000)
    )
    line = "user{0},Number {0},u{0}@example.com,Active,a;b\n"
    long = "Username,Name,Email,Status,Groups\n" + "".join(line.format(n) for n in range(200_000))

    wide = proposed(tmp_path, matrix=matrix).files[0]
    tall = proposed(tmp_path, long=long).files[0]

    assert [part.content for part in tall.contents] == ["users", "memberships"]
    assert wide.contents[0].shape["unpivot"]["headers"] == "Permission"


def statements(folder: Path, text: str) -> list[str]:
    return [each for part in proposed(folder, users=text).files[0].contents for each in part.statements]


def test_proposal_says_that_an_import_would_fail(tmp_path: Path) -> None:
    text = 'username,name,role\nada,"Byron" Ada,Admin\nbob,"Kahn, Bob",Viewer\n'

    assert statements(tmp_path, text)[0] == (
        "An import as proposed would fail: line 2: text follows a closing quote; "
        "inside a quoted field, write each quote twice"
    )


def test_proposal_says_that_a_long_file_has_a_malformed_row(tmp_path: Path) -> None:
    rows = "".join(f"user{n},User {n},Staff\n" for n in range(1500))
    text = f'username,name,role\n{rows}ada,"Byron" Ada,Admin\n{rows}'

    assert "line 1502: text follows a closing quote" in statements(tmp_path, text)[0]


def test_quoted_field_at_the_end_of_a_sample_is_no_problem(tmp_path: Path) -> None:
    rows = "".join(f'user{n},"Line 1\nLine 2",Staff\n' for n in range(3000))

    assert not any("fail" in each for each in statements(tmp_path, f"username,note,role\n{rows}"))
