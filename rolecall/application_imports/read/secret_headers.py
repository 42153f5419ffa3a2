"""Recognize columns that contain secrets. They are not kept, unless a shape names them in `keep`."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import polars as pl

from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import same_header
from rolecall.core.nested_json import decode_json
from rolecall.core.secret_names import NAMES_OF_PAIRS, looks_secret, mask_json, mask_secrets


def secret_headers(headers: Sequence[str], keep: Iterable[str]) -> list[str]:
    kept = {same_header(header) for header in keep}
    return [header for header in headers if looks_secret(header) and same_header(header) not in kept]


def hidden_columns(headers: Sequence[str], mapped: Iterable[str], shape: FileShape | None) -> set[int]:
    """Return the positions of secrets and of columns that the shape ignores. Their values are not stored or shown."""
    secret = secret_headers(headers, (*mapped, *(shape.keep if shape else ())))
    names = {same_header(header) for header in (*secret, *(shape.ignore if shape else ()))}
    return {i for i, header in enumerate(headers) if same_header(header) in names}


# The name of a member in a JSON object.
_MEMBER = r'"[^"]*"\s*:'
# Patterns for values in JSON: a string with the punctuation after it, and a number with the punctuation before it.
_TEXT, _NUMBER = r'"(?:[^"\\]|\\.)*"(\s*[,\]}])', r"([:\[,]\s*)-?\d[\d.eE+-]*"
# The end of a member name in JSON that is stored as a string in other JSON.
_INNER = r'\\"\s*:'
# A member whose value is a name, in an object such as {"name": "password", "value": "…"}.
_NAMED = rf'(?i)"(?:{"|".join(NAMES_OF_PAIRS)})"\s*:\s*"[^"]*"'


def without_nested_secrets(frame: pl.DataFrame, columns: Mapping[str, int], shape: FileShape | None) -> pl.DataFrame:
    """Mask secrets inside the JSON of cells, except in columns that the shape names in `keep`."""
    kept = {same_header(header) for header in (shape.keep if shape else ())}
    names = [str(i) for header, i in columns.items() if same_header(header) not in kept]
    if not names or not frame.height:
        return frame
    # Test all columns in one query, because each query has a fixed cost.
    has_json = frame.select(pl.col(name).str.contains(_MEMBER).any() for name in names).row(0)
    nested = [name for name, is_json in zip(names, has_json, strict=True) if is_json]
    masked = _masked(pl.concat(frame.get_column(name).alias("cell") for name in nested)) if nested else {}
    if not masked:
        return frame
    has_secret = frame.select(pl.col(name).is_in([*masked]).any() for name in nested).row(0)
    secret = [name for name, is_secret in zip(nested, has_secret, strict=True) if is_secret]
    return frame.with_columns(frame.get_column(name).replace(masked) for name in secret)


def _masked(cells: pl.Series) -> dict[str, str]:
    """Map the cells with secrets to their masked texts."""
    texts = cells.filter(cells.str.contains(_MEMBER)).unique()
    # Decode only cells that may have secrets. An outline is the JSON of a cell with dummy values. Test outlines
    # instead of cells, because most cells of a column have the same outline.
    outlines = texts.str.replace_all(_TEXT, '"x"$1').str.replace_all(_NUMBER, "${1}1")
    secret = [outline for outline in outlines.unique() if _may_have_secrets(outline)]
    named = texts.str.extract_all(_NAMED).explode().drop_nulls().unique()
    pairs = [pair for pair in named if looks_secret(pair.split('"')[3])]
    suspected = outlines.is_in(secret) | texts.str.contains(_INNER)
    if pairs:
        suspected |= texts.str.contains_any(pairs)
    found = texts.filter(suspected)
    return {text: hidden for text in found if (hidden := mask_json(text)) != text}


def _may_have_secrets(outline: str) -> bool:
    try:
        value = decode_json(outline)
        return bool(mask_secrets(value) != value)
    except (msgspec.DecodeError, RecursionError):
        return True
