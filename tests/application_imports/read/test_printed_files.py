"""Read files that programs print for people: fixed positions, boxes, lists of properties, merged cells, end dates."""

from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.core import clock
from tests.application_imports.reading import Outcome, read_file

POSITIONS = {"headers": ["Username", "Name", "Active"], "columnStarts": [1, 8, 20]}


def users(folder: Path, text: str, **shape: Any) -> Outcome:
    return read_file(folder, text, "users", shape=shape)


def test_columns_begin_at_the_positions_of_the_shape(tmp_path: Path) -> None:
    text = "ada    Ada Byron   Yes\nbob    Bob Kahn    No\n"

    found = users(tmp_path, text, **POSITIONS)

    assert found.rows("users", "line", "username", "name") == [(1, "ada", "Ada Byron"), (2, "bob", "Bob Kahn")]
    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_lines_above_the_rows_are_left_out_on_every_page(tmp_path: Path) -> None:
    top = "USER   NAME        ON\n------ ----------- ---\n"
    text = f"{top}ada    Ada Byron   Yes\n\f{top}bob    Bob Kahn    No\n"

    found = users(tmp_path, text, **POSITIONS, skipLines=2)

    assert found.rows("users", "line", "username") == [(3, "ada"), (6, "bob")]


def test_line_with_text_across_a_column_start_is_rejected(tmp_path: Path) -> None:
    text = "ada    Ada Byron   Yes\nbartholomew Bob K  No\n"

    with pytest.raises(BrokenFile, match="line 2: the row has 1 field, the header has 3"):
        users(tmp_path, text, **POSITIONS)


def test_line_that_does_not_fit_is_skipped_only_if_its_type_is_skipped(tmp_path: Path) -> None:
    shape = {"headers": ["Type", "Username", "Name"], "columnStarts": [1, 6, 10]}
    condition = [{"column": "Type", "isNot": ["0200"]}]
    text = "0200 ada Ada\n0100 group-of-people\n"

    assert users(tmp_path, text, **shape, skipRowsWhere=condition).active == {"ada"}
    with pytest.raises(BrokenFile, match="line 2: the row has 1 field"):
        users(tmp_path, "0200 ada Ada\n0200 bartholomew Bart\n", **shape, skipRowsWhere=condition)


def test_box_is_cut_at_its_bars(tmp_path: Path) -> None:
    rule = "+-----+-----------+\n"
    text = f"{rule}| Username | Name |\n{rule}| ada | Ada, Byron |\n| bob |  |\n{rule}"

    found = users(tmp_path, text, aligned=True, headerLine=2)

    assert found.rows("users", "username", "name") == [("ada", "Ada, Byron"), ("bob", "")]


def test_properties_of_powershell_are_records(tmp_path: Path) -> None:
    text = (
        "\r\nUsername : ada\r\nName     : Ada\r\n           Byron\r\nActive   : Yes\r\n\r\n"
        "Username : bob\r\nName     :\r\nActive   : No\r\n\r\n"
    )

    found = read_file(tmp_path, text, "users")

    assert found.rows("users", "line", "username", "name") == [(2, "ada", "AdaByron"), (7, "bob", "")]
    assert found.inactive == {"bob"}


def test_record_with_a_broken_line_is_refused(tmp_path: Path) -> None:
    record = "Username : {0}\nName     : {0}\n\n"
    text = record.format("ada") + record.format("bob") + "Username : cy\nName: Cy\n"

    with pytest.raises(BrokenFile, match="line 7: the properties of this record are not aligned"):
        read_file(tmp_path, text, "users")


def test_text_with_colons_is_not_a_list_of_properties(tmp_path: Path) -> None:
    text = "Username,Name\nada,a: b\n\nbob,a: b\n"

    assert read_file(tmp_path, text, "users").active == {"ada", "bob"}


def test_merged_cells_repeat_the_value_above(tmp_path: Path) -> None:
    text = "Username,Group\nada,Teller\n,Wire\nbob,Teller\n"

    found = read_file(tmp_path, text, "memberships", shape={"fillDown": ["Username"]})

    assert found.memberships == {("ada", "Teller"), ("ada", "Wire"), ("bob", "Teller")}


def test_fill_down_stops_at_the_next_account(tmp_path: Path) -> None:
    text = "Username,Last Login,Role\nada,2026-11-02,Teller\n,,Wire\nbob,,Teller\n"

    found = read_file(tmp_path, text, "users", shape={"fillDown": ["Last Login", "Username"], "ignore": ["Role"]})

    assert found.rows("users", "username", "last_login") == [("ada", "2026-11-02T00:00:00Z"), ("bob", "")]


def test_stanzas_are_records(tmp_path: Path) -> None:
    text = "ada:\n\tid=201\n\tgecos=Ada Byron\n\nbob:\n\tid=202\n\tgecos=Bob = Kahn\n"

    found = read_file(tmp_path, text, "users", columns={"Name": "Username", "gecos": "Name"})

    assert found.rows("users", "username", "name") == [("ada", "Ada Byron"), ("bob", "Bob = Kahn")]


def test_aligned_values_between_lines_of_dashes_are_records(tmp_path: Path) -> None:
    record = "---------------\nUsername:   {0}\nFull Name:  {1}\nEmail   :   {0}@x.com\nHome:\n"

    found = read_file(
        tmp_path, record.format("ada", "Ada: Byron") + record.format("bob", ""), "users", columns={"Full Name": "Name"}
    )

    assert found.rows("users", "username", "name", "email") == [
        ("ada", "Ada: Byron", "ada@x.com"), ("bob", "", "bob@x.com"),
    ]  # fmt: skip


def test_accounts_are_inactive_after_their_last_day(tmp_path: Path) -> None:
    today, text = clock.now(), "Username,Until\nada,\nbob,{past}\ncy,{today}\ndee,99991231\neve,soon\n"
    text = text.format(past="20221231", today=f"{today:%Y%m%d}")

    found = users(tmp_path, text, join={"Active": "{Until|past(year first)}"}, values={"Active": {"*": "No"}})

    assert (found.active, found.inactive) == ({"ada", "cy", "dee", "eve"}, {"bob"})


def test_rows_with_a_past_last_day_are_left_out(tmp_path: Path) -> None:
    text = "Username,Group,End\nada,Teller,\nada,Wire,31-DEC-22\nbob,Teller,31-DEC-68\n"

    found = read_file(tmp_path, text, "memberships", shape={"skipRowsWhere": [{"column": "End", "isPast": "%d-%b-%y"}]})

    assert found.memberships == {("ada", "Teller"), ("bob", "Teller")}


def test_lists_in_braces_are_split(tmp_path: Path) -> None:
    text = 'Username|Group\nada|{readers,"night, shift"}\nbob|{}\n'

    found = read_file(tmp_path, text, "memberships", shape={"split": {"Group": "json"}})

    assert found.memberships == {("ada", "readers"), ("ada", "night, shift")}


@pytest.mark.parametrize("cell", ['="0012"', '"=""0012"""'])
def test_formula_that_keeps_leading_zeros_is_read_as_text(tmp_path: Path, cell: str) -> None:
    found = read_file(tmp_path, f"Username,Employee ID\nada,{cell}\nbob,7\n", "users")

    assert found.rows("users", "employee_id") == ["0012", "7"]
