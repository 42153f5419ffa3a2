from collections.abc import Sequence
from typing import NamedTuple

import polars as pl


class Difference(NamedTuple):
    """Changed rows of one relation: `new` and `altered` come from the file, `removed` from the current state."""

    new: pl.DataFrame
    altered: pl.DataFrame
    removed: pl.DataFrame

    @property
    def opened(self) -> pl.DataFrame:
        return pl.concat([self.new, self.altered])


def difference(before: pl.DataFrame, after: pl.DataFrame, key: Sequence[str], values: Sequence[str]) -> Difference:
    """Return the difference between two frames. A row is altered if its key is in both frames and its values differ."""
    if not before.height:
        return Difference(after, after.clear(), before)
    was = before.select(*key, *values)
    altered = after.clear()
    if values:
        both = after.join(was, on=key, how="inner", suffix="_was")
        differs = pl.any_horizontal(pl.col(name) != pl.col(f"{name}_was") for name in values)
        altered = both.filter(differs).select(after.columns)
    return Difference(
        after.join(was, on=key, how="anti"),
        altered,
        before.join(after, on=key, how="anti"),
    )
