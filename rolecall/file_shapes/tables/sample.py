"""Read the head and the tail of a file, which are enough for a proposal. Formats that cannot be cut are read whole."""

from pathlib import Path
from typing import BinaryIO

import msgspec

from rolecall.core.files import Store

HEAD = 512 * 1024
TAIL = 32 * 1024
# Formats that cannot be cut, such as workbooks, are read completely up to this size.
MOST_WHOLE = 16 * 1024 * 1024


class Sample(msgspec.Struct, frozen=True):
    name: str
    size: int
    head: bytes
    # Empty if `head` is the whole file.
    tail: bytes = b""
    path: Path | None = None

    @property
    def is_whole(self) -> bool:
        return len(self.head) == self.size

    def whole(self) -> bytes:
        """Return the whole file, for formats that cannot be cut. The calling code must check the size first."""
        return self.head if self.is_whole or self.path is None else self.path.read_bytes()


def sample_of(path: Path, name: str) -> Sample:
    with path.open("rb") as file:
        return _sample(file, name, path.stat().st_size, path)


def stored_sample(store: Store, location: str, name: str, size: int) -> Sample:
    with store.open(location) as file:
        if store.url is not None and size <= MOST_WHOLE:
            return Sample(name, size, file.read())
        return _sample(file, name, size, store.folder / location)


def _sample(file: BinaryIO, name: str, size: int, path: Path) -> Sample:
    head = file.read(HEAD)
    if size <= HEAD:
        return Sample(name, size, head)
    file.seek(max(HEAD, size - TAIL))
    return Sample(name, size, head, file.read(), path)
