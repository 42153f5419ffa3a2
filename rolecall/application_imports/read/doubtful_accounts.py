"""Find accounts that are read as active although they are locked, or their names say that they are disabled."""

from collections.abc import Iterator

import polars as pl

from rolecall.applications.field_words import ACTIVE, YES_NO
from rolecall.core.text import counted, some_of

_MOST_NAMED = 4
# Words in brackets after a name, such as `Ada Byron (Disabled 2024)`.
_IN_BRACKETS = r"[(\[][^()\[\]]{1,60}[)\]]"
_ENDED = sorted(word for word, is_active in ACTIVE.items() if not is_active and word not in YES_NO and word.isalpha())


def doubtful_accounts(frame: pl.DataFrame) -> Iterator[str]:
    """Report active accounts that are locked, or whose name has a word such as "disabled" in brackets."""
    active = frame.filter(pl.col("is_active")).unique("username", keep="first", maintain_order=True)
    if locked := active.filter(pl.col("is_locked")).get_column("username").to_list():
        count = counted(len(locked), "account is", "accounts are")
        yield f"{count} locked, and still active: {some_of(locked, _MOST_NAMED)}"
    yield from doubtful_names(
        active.select(pl.when(pl.col("name") == "").then("username").otherwise("name")).to_series()
    )


def doubtful_names(names: pl.Series) -> Iterator[str]:
    """Report names of active accounts that have a word such as "disabled" in brackets."""
    words = (
        pl.element().str.to_lowercase().str.extract_all(r"[^\W\d_]+").list.eval(pl.element().is_in(_ENDED)).list.any()
    )
    if ended := names.filter(names.str.extract_all(_IN_BRACKETS).list.eval(words).list.any()).to_list():
        has = "is active, but its name says" if len(ended) == 1 else "are active, but their names say"
        yield f"{counted(len(ended), 'account')} {has} otherwise: {some_of(ended, _MOST_NAMED)}"
