"""Exchange frames with PostgreSQL, using COPY in CSV format."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from io import BytesIO

import polars as pl

from rolecall.application_imports.read.table import MIB
from rolecall.core.db import Db

# The number of rows per piece: large enough to be fast, small enough to send one piece while the next is encoded.
_PIECE = 20_000
# Rows are collected up to this size before they become a frame, because PostgreSQL sends them one by one.
_MOST_BYTES = 32 * MIB
_TYPES: dict[str, pl.DataType] = {
    **dict.fromkeys(("number", "account_number", "group_number", "holder_number", "permission_number"), pl.Int32()),
    **dict.fromkeys(("is_present", "is_listed", "is_active", "is_locked"), pl.Boolean()),
}


async def copy_in(db: Db, into: str, frame: pl.DataFrame) -> None:
    """Insert the rows of `frame`; `into` names a table and its columns. A piece is sent while the next is encoded."""
    pieces = _as_csv(frame)
    async with db.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN (FORMAT csv)") as copy:
        piece = next(pieces, b"")
        while piece:
            following = asyncio.create_task(asyncio.to_thread(next, pieces, b""))
            await copy.write(piece)
            piece = await following


async def copy_out(db: Db, query: str, columns: list[str], **params: object) -> pl.DataFrame:
    """Return the result of a query as a frame with these columns."""
    return pl.concat([piece async for piece in copy_out_pieces(db, query, columns, **params)])


async def copy_out_pieces(db: Db, query: str, columns: list[str], **params: object) -> AsyncIterator[pl.DataFrame]:
    """Yield the result of a query as one or more frames of limited size."""
    rows: list[bytes] = []
    size = 0
    async with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)", params) as copy:
        async for row in copy:
            rows.append(bytes(row))
            size += len(row)
            if size > _MOST_BYTES:
                yield _as_frame(b"".join(rows), columns)
                rows, size = [], 0
    yield _as_frame(b"".join(rows), columns)


def empty_frame(columns: list[str]) -> pl.DataFrame:
    return _as_frame(b"", columns)


def _as_csv(frame: pl.DataFrame) -> Iterator[bytes]:
    for start in range(0, frame.height, _PIECE):
        piece = BytesIO()
        frame.slice(start, _PIECE).write_csv(piece, include_header=False)
        yield piece.getvalue()


def _as_frame(text: bytes, columns: list[str]) -> pl.DataFrame:
    schema = {column: _TYPES.get(column, pl.String()) for column in columns}
    if not text:
        return pl.DataFrame(schema=schema)
    return pl.read_csv(text, has_header=False, schema=schema, empty_string_is_null=False)
