"""Convert batches of a list to polars frames, which write CSV and Parquet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rolecall.core.formats.columns import Column, ColumnType, cells
from rolecall.core.formats.spreadsheets import FORMULA_STARTS

if TYPE_CHECKING:
    import polars as pl

_TEXTS = (ColumnType.TEXT, ColumnType.JSON)
_TIME = "%Y-%m-%dT%H:%M:%S%.fZ"


def frame_of(items: Sequence[Any], columns: Sequence[Column]) -> "pl.DataFrame":
    """Return the items as a frame with these columns; times and dates are text, as in the API."""
    import polars as pl

    types = {
        ColumnType.INTEGER: pl.Int64,
        ColumnType.NUMBER: pl.Float64,
        ColumnType.BOOLEAN: pl.Boolean,
    }
    by_name = cells(items, columns)
    return pl.DataFrame(
        [pl.Series(each.name, by_name[each.name], dtype=types.get(each.type, pl.String)) for each in columns]
    )


def without_formulas(frame: "pl.DataFrame", columns: Sequence[Column]) -> "pl.DataFrame":
    import polars as pl

    # Put the dash last in the character class, where it does not denote a range.
    starts = f"^[{''.join(FORMULA_STARTS).replace('-', '')}-]"
    texts = [pl.col(column.name) for column in columns if column.type in _TEXTS]
    return frame.with_columns(
        pl.when(text.str.contains(starts)).then(pl.lit("'") + text).otherwise(text).name.keep() for text in texts
    )


def with_times(frame: "pl.DataFrame", columns: Sequence[Column]) -> "pl.DataFrame":
    """Return the frame with times and dates converted from text to values."""
    import polars as pl

    return frame.with_columns(
        *(
            pl.col(column.name).str.to_datetime(_TIME, time_unit="us", time_zone="UTC")
            for column in columns
            if column.type == ColumnType.TIME
        ),
        *(pl.col(column.name).str.to_date("%Y-%m-%d") for column in columns if column.type == ColumnType.DATE),
    )
