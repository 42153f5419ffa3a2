"""Test that reading only changed JSON lines, or a file in pieces, gives the same rows as reading the whole file."""

from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall.application_imports.read import file_delta, formats, lines
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.file_delta import FileDelta
from rolecall.application_imports.read.sources import ContentSource, InputFile, InputGroup
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.core.db import Db
from rolecall.core.files import Store
from rolecall.core.ids import new_id
from tests.application_imports.running import Imports
from tests.builders import an_application

UTC = ZoneInfo("UTC")
Row = dict[str, object]
USERS = InputGroup(new_id(), "Users", Content.USERS, {"userName": "Username"}, None, False, FileShape())

names = st.sampled_from(["title", "mail", "Email", "name.familyName", "team", "active"])
values = st.sampled_from(["", "x", "y", None, True, ["a", "b"], {"value": 1}])
people = st.dictionaries(st.sampled_from([f"user{n}" for n in range(6)]), st.dictionaries(names, values), max_size=6)


def written(folder: Path, name: str, records: list[Row]) -> InputFile:
    text = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    (folder / name).write_bytes(text)
    return InputFile(new_id(), name, b"", name, len(text))


def records_of(people: dict[str, Row]) -> list[Row]:
    # Add two records at the end, so that even a file without people has two lines and is read by line.
    return [{"userName": user, **rest} for user, rest in people.items()] + [{"userName": n} for n in ("old", "older")]


def rows_of(frame: object) -> set[str]:
    return {str(sorted(row.items())) for row in frame.drop("file", "line", strict=False).iter_rows(named=True)}  # type: ignore[attr-defined]


def source_of(delta: FileDelta) -> ContentSource:
    locations = [file.location for file in delta.files]
    return ContentSource("", [], locations, delta.rows, is_by_line=delta.is_by_line, headers=delta.headers)


@given(before=people, after=people)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_changed_lines_give_the_rows_of_the_whole_file(
    tmp_path: Path, before: dict[str, Row], after: dict[str, Row]
) -> None:
    store = Store(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_MOST_ADDED", 1.0)
        try:
            old = file_delta.read_whole(USERS, [written(tmp_path, "old", records_of(before))], store, UTC, None)
            new = file_delta.read_whole(USERS, [written(tmp_path, "new", records_of(after))], store, UTC, None)
        except BrokenFile:
            return
        delta = file_delta.read_lines(USERS, new.files, source_of(old), store, UTC)

    if delta is None or old.rejects or new.rejects:
        return
    changed = delta.part()
    assert changed.removed is not None
    kept = rows_of(old.part().after) - rows_of(changed.removed)
    assert kept | rows_of(changed.after) == rows_of(new.part().after)
    assert delta.headers == old.headers
    assert set(delta.headers) == set(new.headers)


def connector() -> dict[str, object]:
    users = {"name": "Users", "content": "users", "columns": {"userName": "Username"}, "shape": {}}
    return {"name": "Files", "files": [users]}


def a_file(**changes: str) -> str:
    people = ({"userName": f"user{n}", "title": changes.get(f"user{n}", "Clerk")} for n in range(20))
    return "".join(msgspec.json.encode(each).decode() + "\n" for each in people)


async def test_only_changed_lines_of_json_are_read(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector())
    await imports.finish(application, {"Users": a_file()})

    changed = await imports.finish(application, {"Users": a_file(user3="Lead")})
    again = await imports.finish(application, {"Users": a_file(user3="Lead", user4="Lead")})

    assert "Users: 20 rows in 1 file, 1 changed line read" in changed["log"]
    assert "Users: 20 rows in 1 file, 1 changed line read" in again["log"]
    assert changed["metrics"]["users"] == {"total": 20, "new": 0, "altered": 1, "removed": 0}


async def test_new_member_of_one_record_adds_a_column_to_all_accounts(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector())
    await imports.finish(application, {"Users": a_file()})

    wider = await imports.finish(application, {"Users": a_file() + '{"userName": "new", "title": "", "desk": "4"}\n'})

    assert "21 rows in 1 file, 21 rows read" in wider["log"]
    accounts = await imports.items(f"/api/applications/{application}/accounts")
    assert all("desk" in {each["key"] for each in account["metadata"]} for account in accounts)


def test_long_file_is_read_in_pieces_with_the_columns_of_all_of_them() -> None:
    long = "x" * 900_000
    first, last = {"id": "1", "name": {"given": long}}, {"id": "2", "active": True}
    lines = [msgspec.json.encode(record) for record in [first] * 12 + [last]]

    table = formats.read(b"\n".join(lines) + b"\n", None, FileShape(), ["name.given"])

    assert table.headers == ["id", "name.given", "active"]
    assert table.is_by_line
    assert table.frame.get_column("line").to_list() == list(range(1, 14))
    assert table.frame.row(-1) == (13, "2", "", "True")
    assert table.frame.row(0) == (1, "1", long, "")


def test_error_in_a_later_piece_names_its_line() -> None:
    line = msgspec.json.encode({"id": "1", "name": "x" * 900_000})

    with pytest.raises(BrokenFile) as broken:
        formats.read(b"\n".join([line] * 12 + [b'["no", "object"]']), None, FileShape(), [])

    assert broken.value.line == 13
