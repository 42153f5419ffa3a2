import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import RawIOBase
from queue import Empty, Queue
from typing import IO, TYPE_CHECKING, Any, cast

from rolecall.core.formats.columns import Column
from rolecall.core.formats.frames import frame_of, with_times
from rolecall.core.formats.manifest import ExportManifest

if TYPE_CHECKING:
    import polars as pl

_ROW_GROUP = 50_000
# The length of the queue of frames; a longer one would only use more memory.
_AHEAD = 2


class ParquetFile:
    """Write Parquet with polars, in a thread that reads frames from a queue."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._frames: Queue[pl.DataFrame | None] = Queue(_AHEAD)
        self._written = _Written()
        self._error: BaseException | None = None
        self._is_abandoned = self._is_ended = False
        self._thread = threading.Thread(target=self._write, name="parquet", daemon=True)
        self._thread.start()

    def feed(self, items: Sequence[Any]) -> bytes:
        if items:
            self._frames.put(with_times(frame_of(items, self._columns), self._columns))
        return self._taken()

    def end(self, manifest: ExportManifest) -> bytes:
        self._frames.put(None)
        self._thread.join()
        return self._taken()

    def close(self) -> None:
        """Stop the thread if the file was not finished."""
        self._is_abandoned = True
        if self._thread.is_alive():
            with suppress(Empty):
                while True:
                    self._frames.get_nowait()
            self._frames.put(None)
            self._thread.join()

    def _taken(self) -> bytes:
        if self._error:
            raise self._error
        return self._written.take()

    def _write(self) -> None:
        from polars.io.plugins import register_io_source

        schema = with_times(frame_of([], self._columns), self._columns).schema
        try:
            frames = register_io_source(lambda *_: self._each(), schema=schema)
            frames.sink_parquet(cast(IO[bytes], self._written), row_group_size=_ROW_GROUP, engine="streaming")
        except BaseException as error:
            self._error = error
            # Drain the queue, so that `feed` does not block after this thread has failed.
            for _ in self._each():
                pass

    def _each(self) -> "Iterator[pl.DataFrame]":
        """Yield frames until the file ends or is abandoned; a second call after that yields nothing."""
        while not self._is_ended:
            frame = self._frames.get()
            self._is_ended = frame is None or self._is_abandoned
            if frame is not None:
                yield frame


class _Written(RawIOBase):
    """A file-like buffer; `take` returns what was written since the last call."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        with self._lock:
            self._pieces.append(bytes(piece))
        return len(piece)

    def take(self) -> bytes:
        with self._lock:
            pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
