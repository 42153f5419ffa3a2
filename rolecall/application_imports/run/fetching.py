"""Copy the files of a schedule, or the records of a live source, into the import.

The files of a schedule are read only from inside `ROLECALL_IMPORT_ROOTS`.
If the files or records cannot be read, the import fails with the reason. After any other error a worker retries it.
"""

import asyncio
import glob
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

import aiohttp
from fsspec.implementations.local import LocalFileSystem

from rolecall.application_imports import actions, queries
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import groups_of, may_be_empty
from rolecall.application_imports.run.http_source import NOT_THERE, OUTSIDE, is_http, open_http
from rolecall.application_imports.run.job import ImportRun
from rolecall.applications.shapes import FileGroup
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.config import Config
from rolecall.core.db import Pool, fetch_rows
from rolecall.core.files import Upload, UploadedFile, Writing, file_system, library_errors, without_path
from rolecall.core.roots import is_below, is_plain, root_of
from rolecall.core.text import byte_size
from rolecall.sources import fetching as live
from rolecall.sources import queries as sources
from rolecall.sources.model import Source, SourceFailed

_PIECE = 1024 * 1024
_QUERY = re.compile(r"\?[^\s'\"]+")
_LONGEST_REASON = 300
T = TypeVar("T")
# Errors of reading a location. Most libraries raise `OSError`; a bad URL, for example, raises `ValueError`.
_ERRORS: tuple[type[Exception], ...] = (
    OSError,
    aiohttp.ClientError,
    EOFError,
    ImportError,
    LookupError,
    NotImplementedError,
    ValueError,
)


def source_errors() -> tuple[type[Exception], ...]:
    """Return the errors that reading or writing a location can raise, including those of loaded libraries."""
    return (*_ERRORS, *library_errors())


class OpenSource(Protocol):
    """An open file from the location of a schedule."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int | None: ...
    async def read(self, most: int) -> bytes: ...


async def fetch_files(pool: Pool, config: Config, run: ImportRun) -> None:
    """Copy the files of the source or the schedule into the import. Every attempt reads these copies."""
    async with pool.connection() as db:
        source = await sources.find(db, run.application_id)
        rows = await fetch_rows(
            db, "SELECT locations FROM schedules WHERE application_id = %(id)s", id=run.application_id
        )
        target = await queries.target(db, run.application_id)
    locations: dict[str, str] = rows[0][0] if rows else {}
    if source:
        if locations:
            raise BrokenFile("the schedule has locations, and the application has a source; remove one of them")
        await _fetch_source(pool, config, run, source, (target and target.file_groups) or [])
        return
    groups = [group for group in (target and target.file_groups) or () if group.name in locations]
    if not groups:
        raise BrokenFile("the schedule has no location for any file group; add locations to it")
    lines = []
    with Upload() as upload:
        for group in groups:
            file = await _fetch(config, group, locations[group.name])
            upload.files.append(file)
            lines.append(f"{group.name}: fetched {file.name}, {file.size:,} bytes")
        await _store(pool, config, run, groups, upload, lines)


async def _store(
    pool: Pool, config: Config, run: ImportRun, groups: Sequence[FileGroup], upload: Upload, lines: Sequence[str]
) -> None:
    async with pool.connection() as db, written_by(db, "fetch", by_system("fetch_files", clock.now())):
        for position, (group, file) in enumerate(zip(groups, upload.files, strict=True)):
            await actions.add_file(db, run.id, position, group, file, config.store, clock.now())
        for line in lines:
            await actions.log_line(db, run.id, line, clock.now())


async def _fetch_source(
    pool: Pool, config: Config, run: ImportRun, source: Source, groups: Sequence[FileGroup]
) -> None:
    """Fetch a file for each file group in the settings of a live source. If one fails, add no file to the import."""
    named = [group for group in groups if group.name in source.contents]
    missing = [group.name for group in groups if not group.is_optional and group not in named]
    unknown = [name for name in source.contents if name not in {group.name for group in groups}]
    if missing or unknown:
        differ = ", ".join(missing + unknown)
        raise BrokenFile(f"the source and the connector name different file groups ({differ}); change one of them")
    async with pool.connection() as db:
        contents = await groups_of(db, run.application_id)
    lines = []
    with Upload() as upload:
        try:
            async with live.open_source(pool, config, run.application_id, source) as connection:
                for group in named:
                    content, field = source.contents[group.name], str(group.file_group_id)
                    optional = may_be_empty(group.file_group_id, contents)
                    found = await live.fetch_file(connection, content, field, group.name, config, may_be_empty=optional)
                    upload.files.append(found.file)
                    lines.append(f"{group.name}: {found.described(source)}")
        except SourceFailed as failed:
            raise BrokenFile(f"{_current(named, upload)}the source cannot be read: {failed}") from None
        await _store(pool, config, run, named, upload, lines)


def _current(groups: Sequence[FileGroup], upload: Upload) -> str:
    """Return the name of the file group that was being fetched, as the beginning of a message."""
    at = len(upload.files)
    return f"{groups[at].name}: " if at < len(groups) else ""


async def _fetch(config: Config, group: FileGroup, location: str) -> UploadedFile:
    writing = Writing(config.store)
    try:
        async with AsyncExitStack() as opened:
            source = await _ask(opened.enter_async_context(_open(config, location)))
            while piece := await _ask(source.read(_PIECE), writing.size, source.size):
                await writing.write(piece)
                if writing.size > config.max_file_bytes:
                    name = without_path(source.name)
                    size = byte_size(config.max_file_bytes)
                    raise BrokenFile(f"{group.name}: {name} is larger than {size} (ROLECALL_MAX_FILE_BYTES)")
        sha256 = await writing.finish()
    except SourceFailed as failed:
        writing.abandon()
        raise _unreadable(group, location, failed) from None
    except BaseException:
        writing.abandon()
        raise
    return UploadedFile(str(group.file_group_id), without_path(source.name), writing.path, writing.size, sha256)


async def _ask(call: Awaitable[T], received: int = 0, size: int | None = None) -> T:
    """Return the result of a call; convert an error of the source or its library into `SourceFailed` with a reason."""
    try:
        return await call
    except source_errors() as error:
        after = f" after {received:,}{f' of {size:,}' if size else ''} bytes" if received or size else ""
        raise SourceFailed(f"{reason_of(error)}{after}") from error


def reason_of(error: Exception) -> str:
    """Return the reason of an error in one printable line."""
    match error:
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionResetError():
            return "the server closed the connection"
        case TimeoutError():
            return "the server did not answer in time"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, PermissionError):
            return str(error.os_error)
    words = " ".join((str(error) or type(error).__name__).split())
    return "".join(c for c in words if c.isprintable())[:_LONGEST_REASON]


def _unreadable(group: FileGroup, location: str, failed: SourceFailed) -> BrokenFile:
    """Return the error for the log, with the query of a URL redacted, because it may contain a secret."""
    message = f"{location} cannot be read: {failed}"
    return BrokenFile(f"{group.name}: {re.sub(_QUERY, '?…', message) if '://' in location else message}")


@asynccontextmanager
async def _open(config: Config, location: str) -> AsyncIterator[OpenSource]:
    if is_http(location):
        async with open_http(_root_of(config, location), location) as source:
            yield source
        return
    name, file = await asyncio.to_thread(_open_file, config, location)
    try:
        yield _FileSource(name, file)
    finally:
        # An error on closing does not matter: the file was read, or the failure is already known.
        with suppress(*source_errors()):
            await asyncio.to_thread(file.close)


class _FileSource:
    size = None

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name, self._file = name, file

    async def read(self, most: int) -> bytes:
        return await asyncio.to_thread(self._file.read, most)


def _open_file(config: Config, location: str) -> tuple[str, BinaryIO]:
    if "://" not in location:
        return _open_path([root for root in config.import_roots if "://" not in root], location)
    root = _root_of(config, location)
    files, path = file_system(location)
    beginning = f"{str(files._strip_protocol(root)).rstrip('/')}/"
    if isinstance(files, LocalFileSystem):
        return _open_path([beginning], path)
    listed = files.glob(path) if glob.has_magic(path) else [path]
    found = [one for one in listed if one.startswith(beginning) and is_plain(one)]
    if not found:
        raise FileNotFoundError(NOT_THERE)
    newest = max(found, key=files.modified) if len(found) > 1 else found[0]
    return newest, cast(BinaryIO, files.open(newest, "rb"))


def _open_path(roots: Sequence[str], location: str) -> tuple[str, BinaryIO]:
    """Open the newest file that matches. The errors do not reveal which files exist outside the roots."""
    inside = [Path(root).resolve() for root in roots]
    if not is_below(inside, _fixed_part(location)):
        raise PermissionError(OUTSIDE)
    paths = [Path(path) for path in glob.glob(location)]
    # Ignore a symlink that leads out of the roots, whether or not its target exists.
    found = [path for path in paths if is_below(inside, path) and path.is_file()]
    if not found:
        raise FileNotFoundError(NOT_THERE)
    newest = max(found, key=lambda path: path.stat().st_mtime_ns).resolve()
    return newest.name, newest.open("rb")


def _fixed_part(location: str) -> Path:
    """Return the path up to its first pattern. Reject `..` after a pattern, because it could lead anywhere."""
    parts = Path(location).parts
    first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    if ".." in parts[first:]:
        raise PermissionError(OUTSIDE)
    return Path(*parts[:first])


def _root_of(config: Config, url: str) -> str:
    found = root_of(config.import_roots, url)
    if found is None:
        raise PermissionError(OUTSIDE)
    return found
