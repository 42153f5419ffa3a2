"""Find the files of an import, and the files that the current state of an application was read from.

A content whose files and settings are the same as before is not read again. If only some lines differ, only these
lines are read. Both rely on the `ContentSource` that each finished import stores.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.read.column_uses import Section
from rolecall.applications.file_shape import ContentShape, FileShape, GroupShape
from rolecall.applications.model import NEVER_EMPTY, Content
from rolecall.core.db import Db, fetch_rows, fetch_value

# Increase this number when code that reads files changes, so that unchanged files are read again.
_READING = 4


class InputGroup(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    content: Content
    columns: dict[str, str]
    encoding: str | None
    allow_rejects: bool
    shape: FileShape | None = None
    # Whether the users are derived from memberships or permissions, which give only usernames.
    is_derived: bool = False
    # All contents that are read from the files.
    sections: tuple[Section, ...] = ()


class InputFile(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    sha256: bytes
    location: str
    size: int = 0


class ContentSource(msgspec.Struct, frozen=True):
    """The files that a content was last read from."""

    settings: str
    digests: list[str]
    locations: list[str]
    rows: list[int]
    # Whether each line gave exactly one row. If so, the next import can compare its files with these line by line.
    is_by_line: bool
    # Whether the imported data differs from these files, because an account was removed or rows were rejected.
    is_stale: bool = False
    # All columns that occur in a file of JSON lines.
    headers: list[str] = []
    # The columns of the files; empty if they are not known.
    columns: list[str] = []


Sources = dict[Content, ContentSource]


def settings_of(group: InputGroup, connector: str, zone: str) -> str:
    """Return a hash of the settings that decide how a file is read. If the hash changes, files are read again."""
    shape = (msgspec.to_builtins(group.shape), group.is_derived)
    settings = (_READING, connector, group.content, sorted(group.columns.items()), group.encoding, zone, shape)
    return hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:16]


def is_unchanged(source: ContentSource | None, settings: str, files: list[InputFile]) -> bool:
    if source is None or source.is_stale or source.settings != settings:
        return False
    return sorted(source.digests) == sorted(file.sha256.hex() for file in files)


async def sources_after(db: Db, application_id: UUID, number: int | None = None) -> Sources:
    """Return the sources of the current state, or of the state after import `number`."""
    stored = await fetch_value(
        db,
        """SELECT r.sources FROM application_imports i JOIN import_runs r ON r.import_id = i.id
           WHERE i.application_id = %(application)s AND i.status = 'Finished'
           AND i.number <= coalesce(%(number)s, i.number) ORDER BY i.number DESC LIMIT 1""",
        application=application_id,
        number=number,
    )
    return msgspec.convert(stored or {}, Sources)


async def groups_of(db: Db, application_id: UUID) -> list[InputGroup]:
    """Return the file groups. A group whose files have several contents is returned once for each content."""
    rows = await fetch_rows(
        db,
        """SELECT g.id, g.name, g.content, g.columns, g.encoding, g.allow_rejects, g.shape
           FROM file_groups g JOIN connectors c ON c.id = g.connector_id
           WHERE c.application_id = %(application)s ORDER BY g.position""",
        application=application_id,
    )
    groups = []
    for id, name, content, columns, encoding, allow_rejects, stored in rows:
        shape = msgspec.convert(stored, GroupShape) if stored is not None else None
        group = InputGroup(id, name, Content(content), columns, encoding, allow_rejects, shape)
        groups += by_content(group, shape.contents if shape else [])
    return groups


def by_content(group: InputGroup, further: Sequence[ContentShape]) -> list[InputGroup]:
    """Return copies of a group: one for each content of its files, and one for users derived from a content."""
    groups = [group] + [
        msgspec.structs.replace(
            group,
            name=f"{group.name} ({each.content})",
            content=each.content,
            columns=each.columns,
            shape=each.shape or FileShape(),
        )
        for each in further
    ]
    sections = tuple(Section(each.content, each.columns, each.shape or FileShape()) for each in groups)
    groups = [msgspec.structs.replace(each, sections=sections) for each in groups]
    derived = [
        msgspec.structs.replace(each, name=f"{group.name} (users)", content=Content.USERS, is_derived=True)
        for each in groups
        if each.shape and each.shape.derive_users
    ]
    return groups + derived


def may_be_empty(group_id: UUID, groups: Iterable[InputGroup]) -> bool:
    """Return whether the files of a group may be empty. A list of people or accounts must have at least one row."""
    return all(each.content not in NEVER_EMPTY for each in groups if each.id == group_id)


async def files_of(db: Db, import_id: UUID) -> dict[UUID, list[InputFile]]:
    """Return a map from file groups to the files of an import."""
    rows = await fetch_rows(
        db,
        """SELECT file_group_id, id, name, sha256, location, size FROM import_files
           WHERE import_id = %(import_id)s ORDER BY position""",
        import_id=import_id,
    )
    return files_by_group(rows)


def files_by_group(rows: Iterable[Sequence[Any]]) -> dict[UUID, list[InputFile]]:
    """Return a map from file groups to files. Each row has the id of a file group, then the fields of a file."""
    files: dict[UUID, list[InputFile]] = {}
    for group_id, *file in rows:
        files.setdefault(group_id, []).append(InputFile(*file))
    return files
