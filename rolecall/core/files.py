"""Files that are kept: written beside their place, hashed on the way, synced, then put there by one rename.

A row names a file only after it is in place, so a row without its file cannot be; a file without its row can
(a process died in between) and is swept a day later.
"""

import asyncio
import hashlib
import os
from asyncio import CancelledError
from datetime import datetime, timedelta
from io import FileIO
from pathlib import Path
from types import TracebackType
from uuid import UUID

import msgspec
from psycopg import InterfaceError, OperationalError

from rolecall.core.faults import fault
from rolecall.core.ids import new_id

# Small enough to bound memory, large enough that going to a thread costs nothing.
_PIECE = 1024 * 1024
# The commit may or may not have happened.
_OUTCOME_UNKNOWN = (OperationalError, InterfaceError, CancelledError)


class Writing:
    """A file on its way in; only one piece of it is ever in memory."""

    def __init__(self, files_dir: Path) -> None:
        folder = files_dir / "incoming"
        files_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        """The content is on the disk; its SHA-256."""
        await asyncio.to_thread(self._finish)
        return self._sha256.digest()

    def abandon(self) -> None:
        # A thread that still writes gets an error from the closed file, never another file's number.
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
    location: str | None = None

    async def place(self, files_dir: Path, id: UUID, now: datetime) -> str:
        """Where it is from now on, relative to `files_dir`."""
        self.location = f"{now:%Y/%m/%d}/{id}"
        place = files_dir / self.location
        await asyncio.to_thread(_rename, self.path, place)
        self.path = place
        return self.location


class Upload(msgspec.Struct):
    """A form with its files; leaving its context removes what no committed row names."""

    fields: list[tuple[str, str]] = msgspec.field(default_factory=list)
    files: list[UploadedFile] = msgspec.field(default_factory=list)

    def values(self, field: str) -> list[str]:
        return [value for name, value in self.fields if name == field]

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        rolled_back = error is not None and not isinstance(error, _OUTCOME_UNKNOWN)
        for file in self.files:
            if rolled_back or file.location is None:
                file.path.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _rename(path: Path, place: Path) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fault("file.before-rename")
    path.rename(place)
    fault("folder.before-sync")
    for folder in list(place.parents)[:4]:
        _sync(folder)
    fault("folder.after-sync")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unfinished(files_dir: Path, now: datetime) -> list[Path]:
    """What was being written when its process died."""
    oldest = (now - timedelta(days=1)).timestamp()
    return [path for path in files_dir.glob("incoming/*") if path.stat().st_mtime < oldest]


def placed(files_dir: Path, now: datetime) -> list[str]:
    """The locations of a past week, old enough that no transaction still means to name them."""
    days = [now - timedelta(days=n) for n in range(2, 9)]
    return [f"{day:%Y/%m/%d}/{path.name}" for day in days for path in files_dir.glob(f"{day:%Y/%m/%d}/*")]
