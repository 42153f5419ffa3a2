"""Synchronize the lake: copy the rows that changed since the last sync, from one snapshot of the database.

Each commit of a Delta table records the position of its snapshot: the oldest transaction that was still running. The
next sync merges the rows of that transaction and of later ones. Merging is idempotent, so a sync that was killed can
simply be repeated. A table is replaced if rows cannot be merged into it, for example because it came from another
database, or because this database was restored to an earlier state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import psycopg
from arro3.core import RecordBatchReader, Table
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from rolecall.core import clock
from rolecall.core.errors import CannotRun
from rolecall.core.faults import fault
from rolecall.lake.tables import TABLES, LakeTable

SYNCS = "syncs"
_BATCH_BYTES = 16 * 1024 * 1024
# The target size of a file. It is small, because a changed row rewrites the whole file that contains it.
_FILE_BYTES = 32 * 1024 * 1024
# JSON contains no control characters, so with these delimiters nothing is quoted and each line is a row.
_LINES = r"(FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')"
_LOCK = "hashtext('lake'), 0"
# Include the timeline: promotion of a standby or point-in-time recovery begins a new one, which reuses transaction ids.
_SNAPSHOT = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS position,
       format('rolecall-%s-%s-%s', (SELECT system_identifier FROM pg_control_system()),
              (SELECT timeline_id FROM pg_control_checkpoint()),
              (SELECT oid FROM pg_database WHERE datname = current_database())) AS database"""


class LakeSnapshot(msgspec.Struct, frozen=True):
    """A state of a database. Positions can be compared only within the same `database`."""

    position: int
    database: str


class Synced(msgspec.Struct, frozen=True):
    """The result of a sync for one table: rows in the lake, rows written and rows removed."""

    name: str
    version: int
    rows: int
    written: int
    removed: int


def sync(database_url: str, lake: str, *, full: bool = False) -> Iterator[Synced]:
    """Synchronize each table and yield its result; at the end record which versions of the tables belong together."""
    with _written(lake), _snapshot(database_url) as (db, snapshot):
        done = []
        for table in TABLES:
            synced = _LakeCopy(db, snapshot, table, location(lake, table.name)).bring_up_to_date(full=full)
            done.append(synced)
            fault(f"lake.{table.name}")
            yield synced
        _record(lake, snapshot, done)


def compact(lake: str) -> None:
    """Merge small files into large ones, and remove files that no version of the last week uses."""
    with _written(lake):
        for name in (*(table.name for table in TABLES), SYNCS):
            if table := _opened(location(lake, name)):
                table.optimize.compact()
                table.vacuum(dry_run=False)
                # Without a checkpoint, readers replay the whole log of the table.
                table.create_checkpoint()


def location(lake: str, name: str) -> str:
    return f"{lake.rstrip('/')}/{name}" if "://" in lake else str(Path(lake).absolute() / name)


@contextmanager
def _written(lake: str) -> Iterator[None]:
    """Convert errors of writing to CannotRun, with the location of the lake."""
    try:
        yield
    except (OSError, DeltaError) as error:
        raise CannotRun(f"The lake {lake} cannot be written: {' '.join(str(error).split())}") from error


@contextmanager
def _snapshot(database_url: str) -> Iterator[tuple[psycopg.Connection[Any], LakeSnapshot]]:
    with psycopg.connect(database_url, autocommit=True) as db:
        # The lock belongs to the session, so the server releases it even if this process is killed.
        row = db.execute(f"SELECT pg_try_advisory_lock({_LOCK})").fetchone()
        if not row or not row[0]:
            raise CannotRun("Another sync of the lake is running; wait until it has ended")
        db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = db.execute(_SNAPSHOT).fetchone()
        assert row
        yield db, LakeSnapshot(*row)
        db.execute("COMMIT")


class _LakeCopy:
    """One table of the lake and the database table that it copies."""

    def __init__(self, db: psycopg.Connection[Any], snapshot: LakeSnapshot, table: LakeTable, place: str) -> None:
        self.db = db
        self.snapshot = snapshot
        self.table = table
        self.place = place
        self.written = 0

    def bring_up_to_date(self, *, full: bool) -> Synced:
        target = _opened(self.place)
        since = target.transaction_version(self.snapshot.database) if target else None
        if target is None or since is None or full or since > self.snapshot.position or not self._fits(target):
            return self._replace()
        self._merge(target, since)
        # A deleted row has no `xmin` to select by; only the number of rows shows that it is gone.
        count = self._count()
        removed = self._remove_missing(target) if target.count() > count else 0
        # If the counts still differ, something else wrote to the table: replace it.
        return self._replace() if target.count() != count else self._synced(target, removed)

    def _fits(self, target: DeltaTable) -> bool:
        names = [field.name for field in target.schema().fields]
        return names == list(self.table.columns)

    def _replace(self) -> Synced:
        # Reset the count: `_merge` may have counted rows before.
        self.written = 0
        write_deltalake(
            _made(self.place),
            self._stream(self._frames(self.table.statement())),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=self.table.partition,
            target_file_size=_FILE_BYTES,
            commit_properties=self._commit(),
        )
        return self._synced(DeltaTable(self.place), 0)

    def _merge(self, target: DeltaTable, since: int) -> None:
        """Insert or update the rows of all transactions that the last snapshot may have missed."""
        # Compare ages (distances to the current transaction): `xid` has no order, because ids wrap around.
        frames = self._frames(self.table.statement(f"age(t.xmin) <= age('{since:d}'::xid8::xid)"))
        first = next(frames, None)
        if first is None:
            # Commit nothing: the older position stays valid, although the next sync has to look further back.
            return
        changed = self._stream(_after(first, frames))
        merge = target.merge(
            changed,
            self._matches(),
            source_alias="changed",
            target_alias="kept",
            commit_properties=self._commit(),
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def _remove_missing(self, target: DeltaTable) -> int:
        key = [*self.table.key, *([self.table.partition] if self.table.partition else [])]
        frames = [frame.select(key) for frame in self._frames(self.table.statement())]
        present = pl.concat(frames) if frames else pl.DataFrame(schema=self.table.schema).select(key)
        missing = pl.scan_delta(target).select(key).join(present.lazy(), on=key, how="anti").collect()
        merge = target.merge(
            missing, self._matches(), source_alias="changed", target_alias="kept", commit_properties=self._commit()
        )
        merge.when_matched_delete().execute()
        return missing.height

    def _matches(self) -> str:
        columns = [*([self.table.partition] if self.table.partition else []), *self.table.key]
        return " AND ".join(f'kept."{name}" = changed."{name}"' for name in columns)

    def _commit(self) -> CommitProperties:
        return CommitProperties(app_transactions=[Transaction(self.snapshot.database, self.snapshot.position)])

    def _count(self) -> int:
        row = self.db.execute(f"SELECT count(*) FROM {self.table.base}").fetchone()
        assert row
        return int(row[0])

    def _synced(self, target: DeltaTable, removed: int) -> Synced:
        return Synced(self.table.name, target.version(), target.count(), self.written, removed)

    def _frames(self, statement: str) -> Iterator[pl.DataFrame]:
        with self.db.cursor() as cursor, cursor.copy(f"COPY ({statement}) TO STDOUT {_LINES}") as rows:
            piece = bytearray()
            # The server sends one row in each message, so a batch ends at the end of a row.
            for row in rows:
                piece += row
                if len(piece) > _BATCH_BYTES:
                    yield self._frame(bytes(piece))
                    piece.clear()
            if piece:
                yield self._frame(bytes(piece))

    def _frame(self, lines: bytes) -> pl.DataFrame:
        read = {name: pl.Int64() if type == pl.Datetime else type for name, type in self.table.schema.items()}
        return pl.read_ndjson(lines, schema=read).cast(self.table.schema)

    def _stream(self, frames: Iterator[pl.DataFrame]) -> RecordBatchReader:
        """Return a reader that passes the rows to the library in batches and counts them."""

        def batches() -> Iterator[Any]:
            for frame in frames:
                self.written += frame.height
                yield from Table.from_arrow(frame).to_batches()

        return RecordBatchReader.from_batches(
            Table.from_arrow(pl.DataFrame(schema=self.table.schema)).schema, batches()
        )


def _record(lake: str, snapshot: LakeSnapshot, done: list[Synced]) -> None:
    """Append a row that records which version of each table belongs to this snapshot."""
    row = {
        "synced_on": [clock.now()],
        "database": [snapshot.database],
        "position": [snapshot.position],
        "versions": [msgspec.json.encode({each.name: each.version for each in done}).decode()],
    }
    frame = pl.DataFrame(row, schema={"synced_on": pl.Datetime("us", "UTC"), "database": pl.String(),
                                      "position": pl.Int64(), "versions": pl.String()})  # fmt: skip
    write_deltalake(_made(location(lake, SYNCS)), frame, mode="append")


def _opened(place: str) -> DeltaTable | None:
    return DeltaTable(place) if DeltaTable.is_deltatable(place) else None


def _made(place: str) -> str:
    """Return the location of a table. Create its local folder, readable only by its owner; a URL needs no folder."""
    if "://" not in place:
        Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _after(first: pl.DataFrame, others: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from others
