"""Read files with a connector template: ask about lists in cells that the template reads as one name."""

from pathlib import Path
from typing import Any

import pytest

from rolecall.applications.model import Content
from rolecall.file_shapes.draft_answers import answer
from rolecall.file_shapes.files.proposals import Template, propose
from rolecall.file_shapes.shapes import ContentProposal
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import read_file

MEMBERS = {"name": "Members", "content": "memberships", "isOptional": False, "isMultiple": False, "encoding": None}
COLUMNS = {"login": "Username", "teams": "Group"}


def by_template(folder: Path, text: str, **group: Any) -> ContentProposal:
    path = folder / "members"
    path.write_text(text)
    files = [{**MEMBERS, "columns": COLUMNS, "shape": None, "allowRejects": False, **group}]
    (file,) = propose([sample_of(path, "members.csv")], template=Template("Ours", "", files)).files
    (part,) = file.contents
    return part


@pytest.mark.parametrize(("cell", "how"), [("A;B", "separated by a semicolon"), ("A|B", "separated by a bar")])
def test_template_without_split_asks_about_lists(tmp_path: Path, cell: str, how: str) -> None:
    text = f"login,teams\nada,{cell}\nbob,A\n"
    part = by_template(tmp_path, text)

    (question,) = part.questions
    section: Any = {"columns": COLUMNS, "shape": {}}
    answer(section, question.choices[0])
    found = read_file(tmp_path, text, Content.MEMBERSHIPS, **section)

    several = f"teams may have several values in a cell, {how}: {cell}"
    assert question.text == f"{several}. Split these cells into separate values?"
    assert found.memberships == {("ada", "A"), ("ada", "B"), ("bob", "A")}


def test_cells_stay_whole_if_a_person_says_so(tmp_path: Path) -> None:
    text = "login,teams\nada,A;B\n"

    (question,) = by_template(tmp_path, text).questions
    section: Any = {"columns": COLUMNS, "shape": {}}
    answer(section, question.choices[1])

    assert read_file(tmp_path, text, Content.MEMBERSHIPS, **section).memberships == {("ada", "A;B")}


def test_template_with_split_asks_nothing(tmp_path: Path) -> None:
    text = "login,teams\nada,A;B\nbob,A\n"

    assert by_template(tmp_path, text, shape={"split": {"Teams": ";"}}).questions == []
    assert by_template(tmp_path, "login,teams\nada,A\nbob,B\n").questions == []


def test_group_that_a_pattern_reads_is_asked_about_too(tmp_path: Path) -> None:
    shape = {"join": {"Group": "{teams|upper}"}}

    (question,) = by_template(tmp_path, "login,teams\nada,A;B\n", columns={"login": "Username"}, shape=shape).questions

    assert question.text.startswith("teams may have several values in a cell")
