"""Where an application's state came from: the files of its last imports, and whether a line of them is a row of it."""

import hashlib
from uuid import UUID

import msgspec

from rolecall.applications.model import Content
from rolecall.core.db import Db, fetch_rows, fetch_value


class FileGroup(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    content: Content
    columns: dict[str, str]
    encoding: str | None
    allow_rejects: bool


class StoredFile(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    sha256: bytes
    location: str


class Source(msgspec.Struct, frozen=True):
    """The files that a content was last read from, and how."""

    settings: str
    digests: list[str]
    locations: list[str]
    rows: list[int]
    # Each line is one row of the state and nothing else is: the next files can be compared by line.
    is_by_line: bool
    # The state is no longer what these files said (an account went), or not all of what they say (rejects).
    is_stale: bool = False


Sources = dict[Content, Source]


def settings_of(group: FileGroup, connector: str, zone: str) -> str:
    """A file read under other settings is another file."""
    told = (connector, group.content, sorted(group.columns.items()), group.encoding, zone)
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16]


def is_unchanged(source: Source | None, settings: str, files: list[StoredFile]) -> bool:
    if source is None or source.is_stale or source.settings != settings:
        return False
    return sorted(source.digests) == sorted(file.sha256.hex() for file in files)


async def sources_after(db: Db, application_id: UUID, number: int | None = None) -> Sources:
    """Of the application's state now, or after import `number`."""
    stored = await fetch_value(
        db,
        """SELECT r.sources FROM application_imports i JOIN import_runs r ON r.import_id = i.id
           WHERE i.application_id = %(application)s AND i.status = 'Finished'
           AND i.number <= coalesce(%(number)s, i.number) ORDER BY i.number DESC LIMIT 1""",
        application=application_id,
        number=number,
    )
    return msgspec.convert(stored or {}, Sources)


async def groups_of(db: Db, application_id: UUID) -> list[FileGroup]:
    rows = await fetch_rows(
        db,
        """SELECT g.id, g.name, g.content, g.columns, g.encoding, g.allow_rejects
           FROM file_groups g JOIN connectors c ON c.id = g.connector_id
           WHERE c.application_id = %(application)s ORDER BY g.position""",
        application=application_id,
    )
    return [FileGroup(id, name, Content(content), *rest) for id, name, content, *rest in rows]


async def files_of(db: Db, import_id: UUID) -> dict[UUID, list[StoredFile]]:
    """By file group."""
    rows = await fetch_rows(
        db,
        """SELECT file_group_id, id, name, sha256, location FROM import_files
           WHERE import_id = %(import_id)s ORDER BY position""",
        import_id=import_id,
    )
    files: dict[UUID, list[StoredFile]] = {}
    for group_id, *file in rows:
        files.setdefault(group_id, []).append(StoredFile(*file))
    return files
