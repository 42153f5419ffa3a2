"""Read files with the connector of an application, without a service, into the rows that an import would compare."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec
import polars as pl

from rolecall.application_imports.read.file_delta import FileDelta, read_whole
from rolecall.application_imports.read.sources import InputFile, InputGroup, by_content
from rolecall.applications.file_shape import GroupShape
from rolecall.applications.file_shape_body import stored_shape
from rolecall.applications.model import Content
from rolecall.applications.shapes import ConnectorBody, FileGroupBody
from rolecall.core.checking import check
from rolecall.core.files import Store
from tests.builders import facts

UTC = ZoneInfo("UTC")
Text = str | bytes


class Outcome(NamedTuple):
    """The rows of files for each content, and the notes for the log."""

    deltas: dict[Content, FileDelta]

    @property
    def notes(self) -> list[str]:
        return [note for delta in self.deltas.values() for note in delta.notes]

    def rows(self, content: str, *columns: str) -> list[Any]:
        frame = self.deltas[Content(content)].part().after.sort("file", "line", maintain_order=True)
        found = frame.select(columns).rows()
        return [row[0] for row in found] if len(columns) == 1 else found

    @property
    def active(self) -> set[str]:
        return self._users(active=True)

    @property
    def inactive(self) -> set[str]:
        return self._users(active=False)

    def _users(self, *, active: bool) -> set[str]:
        frame = self.deltas[Content.USERS].part().after.filter(pl.col("is_active") == active)
        return set(frame.get_column("username").to_list())

    @property
    def memberships(self) -> set[tuple[str, str]]:
        return set(self.rows("memberships", "username", "group"))

    @property
    def groups(self) -> set[str]:
        return set(self.rows("groups", "group"))

    @property
    def permissions(self) -> set[tuple[str, ...]]:
        return set(self.rows("permissions", "username", "group", "header", "permission"))


def read_files(folder: Path, groups: list[dict[str, Any]], files: Mapping[str, Text | list[Text]]) -> Outcome:
    """Read files as an import does. `files` maps the names of file groups to their files."""
    body = check(ConnectorBody, {"name": "Files", "files": groups}, facts())
    deltas = {}
    for group in body.files or ():
        if group.name in files:
            given = files[group.name]
            stored = [_stored(folder, text) for text in (given if isinstance(given, list) else [given])]
            for each in _input_groups(group):
                deltas[each.content] = read_whole(each, stored, Store(folder), UTC, None)
                deltas[each.content].check_rejects()
    return Outcome(deltas)


def read_file(folder: Path, text: Text, content: str, **group: Any) -> Outcome:
    return read_files(folder, [{"name": "File", "content": content, **group}], {"File": text})


def _input_groups(group: FileGroupBody) -> list[InputGroup]:
    stored = stored_shape(group.shape)
    shape = None if stored is None else msgspec.convert(stored, GroupShape)
    made = InputGroup(uuid4(), group.name, group.content, group.columns, group.encoding, group.allow_rejects, shape)
    return by_content(made, shape.contents if shape else [])


def _stored(folder: Path, text: Text) -> InputFile:
    id = uuid4()
    (folder / str(id)).write_bytes(text.encode() if isinstance(text, str) else text)
    return InputFile(id, "file.csv", b"", str(id))
