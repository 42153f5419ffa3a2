"""Split names of people into first and last name, and compute the keys for sorting and matching."""

import polars as pl

from rolecall.core.text import sort_key


def name_keys(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `first_name_key` and `last_name_key`, as in identities. Split `name` if first and last name are blank."""
    halves = {"first_name_key": pl.col("first_name"), "last_name_key": pl.col("last_name")}
    only_full = (pl.col("first_name") == "") & (pl.col("last_name") == "") & (pl.col("name") != "")
    if frame.select(only_full.any()).item():
        halves = {
            key: pl.when(only_full).then(half.fill_null("").str.strip_chars()).otherwise(halves[key])
            for key, half in zip(halves, halves_of(pl.col("name")), strict=True)
        }
    chosen = frame.with_columns(**halves)
    return chosen.with_columns(sort_keys(chosen.get_column(name)) for name in halves)


def halves_of(name: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Split `Lovelace, Ada` and `Ada Lovelace` into first and last name."""
    is_reversed = name.str.contains(",", literal=True)
    comma, space = name.str.extract_groups(r"^([^,]*),(.*)$"), name.str.extract_groups(r"^(.*) (\S+)$")
    first = pl.when(is_reversed).then(comma.struct.field("2")).otherwise(space.struct.field("1"))
    last = pl.when(is_reversed).then(comma.struct.field("1")).otherwise(space.struct.field("2"))
    return first, last


def sort_keys(names: pl.Series) -> pl.Series:
    """Compute `core.text.sort_key` for all names. The key of an ASCII name is the name in lower case."""
    lowered = names.str.to_lowercase()
    other = names.filter(names.str.len_bytes() != names.str.len_chars()).unique().to_list()
    if not other:
        return lowered
    table = {name: sort_key(name) for name in other}
    return (
        pl.DataFrame({"n": names, "l": lowered})
        .select(pl.col("n").replace_strict(table, default=pl.col("l"), return_dtype=pl.String).alias(names.name))
        .to_series()
    )
