"""Between frames and the CSV that COPY speaks."""

from collections.abc import Iterator
from io import BytesIO

import polars as pl

# Rows at a time: enough to be quick, few enough that one piece is written while the next is made.
_PIECE = 20_000
_TYPES: dict[str, pl.DataType] = {
    **dict.fromkeys(("number", "account_number", "group_number", "holder_number", "permission_number"), pl.Int32()),
    **dict.fromkeys(("is_present", "is_listed", "is_active", "is_locked"), pl.Boolean()),
}


def as_csv(frame: pl.DataFrame) -> Iterator[bytes]:
    for start in range(0, frame.height, _PIECE):
        piece = BytesIO()
        frame.slice(start, _PIECE).write_csv(piece, include_header=False)
        yield piece.getvalue()


def as_frame(text: bytes, columns: list[str]) -> pl.DataFrame:
    schema = {column: _TYPES.get(column, pl.String()) for column in columns}
    if not text:
        return pl.DataFrame(schema=schema)
    return pl.read_csv(text, has_header=False, schema=schema, empty_string_is_null=False)
