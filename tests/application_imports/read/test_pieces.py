"""Test that a long file that is read in pieces gives the same rows, rejects and errors as when it is read at once."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rolecall.application_imports.read import csv_text
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.file_delta import FileDelta, read_whole
from rolecall.application_imports.read.parts import ONE_PART, Parting
from rolecall.application_imports.read.sources import InputFile, InputGroup
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.core.files import Store
from tests.application_imports.reading import UTC

CELLS = st.sampled_from(["x", "", "ünï", '"quoted"', '"a,b"', '"two\nlines"', '"say ""hi"""', 'stray"quote', " pad "])
ROWS = st.lists(st.tuples(st.integers(0, 9), st.lists(CELLS, min_size=1, max_size=3)), max_size=20)
ENDINGS = st.sampled_from(["\n", "\n", "\r\n", "\r"])
OTHERS = st.sampled_from(["", "", "", "\n", '"never closed\n', '"closed"x,y\n', "only one\n"])


def a_group(shape: FileShape | None = None, encoding: str | None = None) -> InputGroup:
    return InputGroup(uuid4(), "Users", Content.USERS, {}, encoding, allow_rejects=True, shape=shape)


def read(folder: Path, content: bytes, piece: int, group: InputGroup, parting: Parting = ONE_PART) -> FileDelta:
    (folder / "users").write_bytes(content)
    file = InputFile(uuid4(), "users.csv", b"", "users", len(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "PIECE", piece)
        return read_whole(group, [file], Store(folder), UTC, None, parting=parting)


def seen(folder: Path, content: bytes, piece: int, group: InputGroup, parting: Parting = ONE_PART) -> Any:
    """Return the rows, the rejects with their texts, and the properties of the file; or the error."""
    try:
        delta = read(folder, content, piece, group, parting)
    except BrokenFile as broken:
        return str(broken)
    rows = sorted(delta.part(*range(parting.count)).after.rows())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "PIECE", piece)
        rejects = [reject[1:] for reject in delta.rejected_rows(Store(folder), None)]
    return rows, rejects, delta.rows, delta.repeats, delta.is_by_line


@given(rows=ROWS, ending=ENDINGS, other=OTHERS, piece=st.integers(1, 60), parts=st.sampled_from([1, 4]))
@example(rows=[(1, ["x"])], ending="\n", other='"never closed\n', piece=1, parts=1)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
def test_pieces_give_the_rows_of_the_whole_file(
    tmp_path: Path, rows: list[tuple[int, list[str]]], ending: str, other: str, piece: int, parts: int
) -> None:
    text = "Username,Name,Desk" + ending + other
    text += "".join(f"user{n},{','.join(cells)}{ending}" for n, cells in rows)

    found = seen(tmp_path, text.encode(), piece, a_group(), Parting(parts, tmp_path))

    assert found == seen(tmp_path, text.encode(), 1000_000, a_group())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "windows-1252"])
@pytest.mark.parametrize("is_named", [True, False])
def test_long_files_in_other_encodings_are_read(tmp_path: Path, encoding: str, is_named: bool) -> None:
    text = "Username,Name\n" + "".join(f"user{n},Müller {n}\n" for n in range(100))
    group = a_group(encoding=encoding if is_named else None)

    found = seen(tmp_path, text.encode(encoding), 200, group)

    assert found == seen(tmp_path, text.encode(encoding), 100_000, group)
    assert found[0][99][1] == "Müller 99"


def test_error_in_a_later_piece_names_its_line(tmp_path: Path) -> None:
    text = "Username,Name\n" + "".join(f"user{n},Name {n}\n" for n in range(100))

    assert (
        seen(tmp_path, f"{text}a\x00b,x\n".encode(), 200, a_group()) == "users.csv, line 102: there is a NUL character"
    )
    assert "line 102: a quote opens here" in seen(tmp_path, f'{text}x,"y\n'.encode(), 200, a_group())


def test_line_numbers_include_lines_above_the_header(tmp_path: Path) -> None:
    text = "Report\nof today\nUsername,Name\n" + "".join(f"user{n},Name {n}\n" for n in range(100)) + ",nobody\n"
    shape = FileShape(header_line=3)

    found = seen(tmp_path, text.encode(), 200, a_group(shape))

    assert found == seen(tmp_path, text.encode(), 100_000, a_group(shape))
    assert found[1] == [(104, "Username is blank", ["", "nobody"])]


def test_order_of_day_and_month_is_inferred_from_the_whole_file(tmp_path: Path) -> None:
    days = [f"user{n},{n % 12 + 1}/{n % 12 + 1}/2025\n" for n in range(100)]
    text = "Username,Last Login\n" + "".join(days) + "last,31/1/2025\n"

    found = seen(tmp_path, text.encode(), 200, a_group())

    assert found == seen(tmp_path, text.encode(), 100_000, a_group())
    assert not found[-1]


def test_users_derived_from_a_long_file_are_counted_once(tmp_path: Path) -> None:
    text = "Username,Group\n" + "".join(f"user{n % 7},group{n}\n" for n in range(100))
    shape = FileShape(derive_users=True)
    group = InputGroup(uuid4(), "Users", Content.USERS, {}, None, allow_rejects=True, shape=shape, is_derived=True)

    found = seen(tmp_path, text.encode(), 200, group, Parting(4, tmp_path))

    assert found == seen(tmp_path, text.encode(), 100_000, group)
    assert found[2:4] == ([7], 0)


def test_hint_says_how_many_rows_of_a_long_file_were_checked(tmp_path: Path) -> None:
    text = "Username,Active\n" + "".join(f"user{n},\n" for n in range(100))

    long, short = (read(tmp_path, text.encode(), piece, a_group()).notes for piece in (200, 100_000))

    assert short == ("users.csv: Active is blank in 100 rows; accounts without a status are taken as active",)
    assert len(long) == 1
    assert long[0].endswith("taken as active (in the first 24 rows)")


RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["mail", "team", "name"]), st.sampled_from(["", "x", "y"])), min_size=2, max_size=9
)


@given(records=RECORDS, last=st.sampled_from(["", "\n", "[]\n", '{"a": 1}\n']), piece=st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
def test_pieces_of_json_lines_give_the_rows_of_the_whole_file(
    tmp_path: Path, records: list[dict[str, str]], last: str, piece: int
) -> None:
    lines = [json.dumps({"Username": f"user{n}", **each}) + "\n" for n, each in enumerate(records)]
    content = ("".join(lines) + last).encode()

    found = seen(tmp_path, content, piece, a_group(FileShape()))

    assert found == seen(tmp_path, content, 1000_000, a_group(FileShape()))
