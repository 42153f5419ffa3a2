"""Find columns that are probably misread, such as lists in one cell or an unmapped status. The log names them."""

from collections.abc import Iterator

import polars as pl

from rolecall.application_imports.read.columns import lay_out
from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.read.table import Table
from rolecall.applications.field_words import is_status_like
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content, same_header
from rolecall.core.secret_names import mask_json
from rolecall.core.text import ZERO_WIDTH, counted

_SEPARATORS = ";#|"
_JSON = r'^\s*(?:\[.*\]|\{".*\})\s*$'
_SAMPLE = 1_000
_MOST_WORDS = 12
_STATUS_HEADERS = ("status", "enabled", "active", "state", "disabled", "suspended", "accountenabled", "blocked")


def hints(group: InputGroup, table: Table) -> Iterator[str]:
    """Yield a hint for each column that is probably misread; most hints name the setting to change."""
    if group.is_derived or not table.frame.height:
        return
    layout = lay_out(group.content, table.headers, group.columns, group.shape, table.made)
    sample = table.frame.head(_SAMPLE)
    if (place := layout.fields.get("Group")) is not None and not table.is_plain:
        yield from _lists(table.headers[place], table.frame.get_column(str(place)))
    for field in () if table.is_plain else ("Username", "Group"):
        if (place := layout.fields.get(field)) is not None:
            yield from _invisible(table.headers[place], table.frame.get_column(str(place)))
    positions = {**layout.metadata, **{table.headers[i]: i for i in layout.fields.values()}}
    # Test all columns in one query, because each query has a fixed cost.
    has_json = sample.select(pl.col(str(i)).str.contains(_JSON).any() for i in positions.values()).row(0)
    for (header, i), is_json in zip(positions.items(), has_json, strict=True):
        if is_json:
            cells = sample.get_column(str(i))
            example = mask_json(cells.filter(cells.str.contains(_JSON))[0].strip())[:50]
            path, split = f"map a path such as {header}[0].value", f"set shape.split.{header}: json"
            key = path if example.startswith("[{") else split
            yield f"{header} looks like JSON ({example}); {key}, or use shape.ignore to leave it out"
    if group.content == Content.USERS and "Active" not in layout.fields:
        yield from _status(layout.metadata, sample)
    elif group.content == Content.USERS and not _gives_blank_status(group.shape):
        place = layout.fields["Active"]
        if blank := int((table.frame.get_column(str(place)).str.strip_chars() == "").sum()):
            rows = counted(blank, "row")
            yield f"{table.headers[place]} is blank in {rows}; accounts without a status are taken as active"


def _gives_blank_status(shape: FileShape | None) -> bool:
    """Return whether the shape says what a blank status means."""
    if shape is None:
        return False
    words = [word for field, words in shape.values.items() if same_header(field) == "active" for word in words]
    return "" in map(str.strip, words) or "active" in map(same_header, shape.invert)


def _invisible(header: str, names: pl.Series) -> Iterator[str]:
    """Yield a sentence about names with zero-width characters, which people cannot see."""
    other = names.filter(names.str.len_bytes() != names.str.len_chars())
    odd = other.filter(other.str.contains(f"[{ZERO_WIDTH}]")).str.strip_chars().unique(maintain_order=True)
    if not len(odd):
        return
    plain = odd.str.replace_all(f"[{ZERO_WIDTH}]", "")
    doubles = odd.filter(plain.is_in(names.str.strip_chars().implode()) | plain.is_duplicated())
    shown = ", ".join(ascii(name)[1:-1] for name in (doubles if len(doubles) else odd).head(3))
    look = "looks" if len(doubles) == 1 else "look"
    same = f"; {counted(len(doubles), 'name')} {look} the same as another one" if len(doubles) else ""
    text = f"{header} has {counted(len(odd), 'name')} with invisible characters ({shown}){same}"
    yield f"{text}. Check these names, or remove the characters in the source"


def _lists(header: str, names: pl.Series) -> Iterator[str]:
    several = names.filter(names.str.contains(f"[{_SEPARATORS}]"))
    for separator in _SEPARATORS if len(several) else "":
        found = several.str.contains(separator, literal=True)
        if found.any():
            example = several.filter(found)[0][:80]
            key = f'set shape.split.{header}: "{separator}"'
            yield f"{header} has names with {separator} ({example}); if these are lists, {key}"


def _status(metadata: dict[str, int], sample: pl.DataFrame) -> Iterator[str]:
    """Yield a sentence for each column that looks like the status of accounts but is not mapped to Active."""
    for header, i in metadata.items():
        if not any(word in same_header(header) for word in _STATUS_HEADERS):
            continue
        words = sample.get_column(str(i)).str.strip_chars().unique().to_list()
        if len(words) <= _MOST_WORDS and is_status_like(words):
            yield (
                f"{header} ({', '.join(sorted(filter(None, words))[:4])}) looks like the status of accounts, and all "
                f"accounts are taken as active; map it to Active in columns"
            )
