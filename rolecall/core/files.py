"""Store files: stream to the local disk while hashing, fsync, then rename atomically or upload to the shared store.

The row that refers to the file is committed only afterwards, so no row lacks its file. If the process dies in between,
a file without a row remains; a sweep deletes it after two days (`Store.sweepable`).
"""

import asyncio
import hashlib
import math
import os
import sys
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from errno import EDQUOT, ENOSPC
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast
from uuid import UUID

import msgspec
from psycopg import InterfaceError, OperationalError
from psycopg.errors import DiskFull

from rolecall.core.faults import fault
from rolecall.core.ids import new_id
from rolecall.core.text import is_blank

# Small enough to bound memory, large enough that the switch to a thread costs little.
_PIECE = 1024 * 1024
# Error classes of file store libraries, by module; a library that is not loaded cannot have raised one.
_LIBRARY_ERRORS = {
    "aiohttp": "ClientError",
    "azure.core.exceptions": "AzureError",
    "botocore.exceptions": "BotoCoreError ClientError",
    "gcsfs.retry": "HttpError",
    "google.auth.exceptions": "GoogleAuthError",
    "paramiko.ssh_exception": "SSHException",
    "requests.exceptions": "RequestException",
}
# After these errors it is unknown whether the transaction was committed.
_OUTCOME_UNKNOWN = (OperationalError, InterfaceError, CancelledError)


def is_disk_full(error: BaseException) -> bool:
    """Return whether the error means that the disk of the service or of the database is full, or a quota is used up."""
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT))


class StoreUnreachable(Exception):
    """The shared file store cannot be reached or reports an error; a later attempt may succeed."""


def library_errors() -> tuple[type[Exception], ...]:
    """Return the error classes of the file store libraries that are loaded."""
    loaded = ((sys.modules[name], names) for name, names in _LIBRARY_ERRORS.items() if name in sys.modules)
    return tuple(getattr(module, name) for module, names in loaded for name in names.split())


def file_system(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a location and the path in it.

    Raise ValueError if fsspec cannot use the location, and ImportError if a library is missing.
    """
    from fsspec.core import url_to_fs

    files, root = url_to_fs(url)
    # fsspec shares a file system within the process and caches sizes and times of files that may be replaced later.
    files.invalidate_cache()
    return files, str(root).rstrip("/")


def without_path(name: str) -> str:
    """Reduce `C:\\exports\\users.csv` and `../users.csv` to `users.csv`, and drop unprintable characters.

    Return "" if no file name is left: for a folder, `.`, `..` or invisible text.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(c for c in last if c.isprintable()).strip()
    return "" if kept in (".", "..") or is_blank(kept) else kept


class Store(msgspec.Struct, frozen=True):
    """The file store: a local folder, or a URL that all machines share."""

    folder: Path
    url: str | None = None

    def put(self, path: Path, location: str) -> None:
        if self.url is None:
            _rename(path, self.folder / location)
        else:
            with self._shared() as (files, root):
                files.makedirs(f"{root}/{location}".rpartition("/")[0], exist_ok=True)
                files.put_file(str(path), f"{root}/{location}")
            path.unlink()

    def open(self, location: str) -> BinaryIO:
        if self.url is None:
            return FileIO(self.folder / location)
        with self._shared() as (files, root):
            return cast(BinaryIO, files.open(f"{root}/{location}", "rb"))

    @contextmanager
    def reading(self, location: str) -> Iterator[BinaryIO]:
        """Open a file to read it in pieces; raise `StoreUnreachable` if a shared store fails."""
        if self.url is None:
            with FileIO(self.folder / location) as file:
                yield file
        else:
            with self._shared() as (files, root), files.open(f"{root}/{location}", "rb") as file:
                yield file

    def read(self, location: str) -> bytes:
        if self.url is None:
            return (self.folder / location).read_bytes()
        with self._shared() as (files, root):
            return cast(bytes, files.cat_file(f"{root}/{location}"))

    def remove(self, location: str) -> None:
        with suppress(FileNotFoundError):
            if self.url is None:
                (self.folder / location).unlink()
            else:
                with self._shared() as (files, root):
                    files.rm_file(f"{root}/{location}")

    def sweepable(self, now: datetime) -> list[str]:
        """Return the locations of files stored two to eight days ago: no open transaction can still add their rows."""
        days = [f"{now - timedelta(days=n):%Y/%m/%d}" for n in range(2, 9)]
        return [f"{day}/{name}" for day in days for name in self._names(day)]

    def unfinished(self, now: datetime) -> list[Path]:
        """Return partial files that were not written to for a day: the process that received them died."""
        oldest = (now - timedelta(days=1)).timestamp()
        return [path for path in self.folder.glob("incoming/*") if _last_written(path) < oldest]

    def _names(self, day: str) -> list[str]:
        try:
            if self.url is None:
                return os.listdir(self.folder / day)
            with self._shared() as (files, root):
                return [str(path).rpartition("/")[2] for path in files.ls(f"{root}/{day}", detail=False)]
        except FileNotFoundError:
            return []

    @contextmanager
    def _shared(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the path in it.

        Raise `StoreUnreachable` for errors of the store, except a missing file and a full disk.
        """
        assert self.url
        try:
            yield file_system(self.url)
        except Exception as error:
            is_known = isinstance(error, FileNotFoundError) or is_disk_full(error)
            if is_known or not isinstance(error, (OSError, *library_errors())):
                raise
            raise StoreUnreachable(str(error) or type(error).__name__) from error


class Writing:
    """A file being received. It buffers at most 1 MiB plus one chunk in memory."""

    def __init__(self, store: Store) -> None:
        folder = store.folder / "incoming"
        for outer in (store.folder.parent, store.folder):
            outer.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path = folder / str(new_id())
        self.size = 0
        self._file = FileIO(self.path, "xb", opener=_private)
        self._sha256 = hashlib.sha256()
        self._piece = bytearray()

    async def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._piece += chunk
        if len(self._piece) >= _PIECE:
            await asyncio.to_thread(self._put_down)

    async def finish(self) -> bytes:
        """Flush the content to disk and return its SHA-256."""
        await asyncio.to_thread(self._finish)
        return self._sha256.digest()

    def abandon(self) -> None:
        # Closing through the file object makes a late write in a thread fail instead of reaching a reused descriptor.
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _put_down(self) -> None:
        self._sha256.update(self._piece)
        left = memoryview(self._piece)
        while left:
            left = left[self._file.write(left) :]
        self._piece = bytearray()

    def _finish(self) -> None:
        self._put_down()
        fault("file.before-sync")
        os.fsync(self._file.fileno())
        fault("file.after-sync")
        self._file.close()


class UploadedFile(msgspec.Struct):
    field: str
    name: str
    path: Path
    size: int
    sha256: bytes
    place: tuple[Store, str] | None = None

    async def keep(self, store: Store, id: UUID, now: datetime) -> str:
        """Move the file into the store and return its location."""
        location = f"{now:%Y/%m/%d}/{id}"
        # Set the location first, so that a failed move is cleaned up in both places.
        self.place = store, location
        await asyncio.to_thread(store.put, self.path, location)
        return location

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        if self.place is not None:
            store, location = self.place
            # If the store fails, a sweep removes the file later.
            with suppress(StoreUnreachable):
                store.remove(location)


class Upload(msgspec.Struct):
    """A form with its files; leaving the context deletes files that no committed row can reference."""

    fields: list[tuple[str, str]] = msgspec.field(default_factory=list)
    files: list[UploadedFile] = msgspec.field(default_factory=list)

    def values(self, field: str) -> list[str]:
        return [value for name, value in self.fields if name == field]

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        rolled_back = error is not None and (is_disk_full(error) or not isinstance(error, _OUTCOME_UNKNOWN))
        for file in self.files:
            if rolled_back or file.place is None:
                file.discard()


def _last_written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # Another process has just removed it.
        return math.inf


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _rename(path: Path, place: Path) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fault("file.before-rename")
    path.rename(place)
    fault("folder.before-sync")
    # The folders of the day, the month and the year may be new, so sync them and the store's folder.
    for folder in list(place.parents)[:4]:
        _sync(folder)
    fault("folder.after-sync")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
