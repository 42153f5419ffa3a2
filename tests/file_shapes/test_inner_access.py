"""Test that groups inside JSON objects in cells are asked about, because a table has no column for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.file_shapes.test_states import asked


def table_with(*objects: dict[str, Any]) -> str:
    cells = [json.dumps(each).replace('"', '""') for each in objects]
    return "username,email,attributes\n" + "".join(f'user{n},u{n}@x.org,"{cell}"\n' for n, cell in enumerate(cells))


@pytest.mark.parametrize(
    ("objects", "named"),
    [
        ([{"groups": ["admins", "staff"], "phone": "1"}, {"groups": [], "phone": "2"}], "groups (admins, staff)"),
        ([{"profile": {"userRoles": [{"name": "Teller"}]}, "n": 1}, {"n": 2}], "profile.userRoles (Teller)"),
        ([{"role": "Admin", "phone": "1"}, {"role": "Staff", "team": "Ops"}], "role (Admin, Staff) and team (Ops)"),
    ],
)
def test_access_inside_objects_in_cells_is_asked_about(
    tmp_path: Path, objects: list[dict[str, Any]], named: str
) -> None:
    (question,) = asked(tmp_path, users=table_with(*objects))

    assert question == (
        f"attributes has JSON objects with {named}. They are not read from the objects in its cells. Import without "
        "them? If not, export them as a column of their own, or export the file as JSON."
    )


@pytest.mark.parametrize(
    "value", [{"phone": "1"}, {"groups": [], "role": ""}, {"group_count": 3}, {"groupPassword": "hush"}]
)
def test_other_objects_in_cells_cause_no_question(tmp_path: Path, value: dict[str, Any]) -> None:
    assert asked(tmp_path, users=table_with(value, value)) == []


def test_objects_that_are_read_cause_no_question(tmp_path: Path) -> None:
    text = table_with({"billing": ["viewer"]}, {"portal": ["admin"]}).replace("attributes", "roles")

    assert not any("JSON objects" in question for question in asked(tmp_path, users=text))
