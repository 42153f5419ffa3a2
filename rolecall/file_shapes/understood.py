"""Read the first rows of a sample as an import would store them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.application_imports.read import file_delta
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.row_warnings import row_warnings
from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.read.statements import ReadTable, statements
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.file_shapes.delimited import first_rows
from rolecall.file_shapes.recognize import decoded
from rolecall.file_shapes.sample import Sample
from rolecall.file_shapes.sample_table import Unreadable
from rolecall.file_shapes.shapes import Understood

_UNDERSTOOD = 8
_MOST_LINES = 2_000
_NOT_SHOWN = {"line", "file", "metadata"}


def understood_by(
    sample: Sample,
    format: str,
    encoding: str | None,
    content: Content,
    section: Mapping[str, Any],
    *,
    is_per_grant: bool = False,
) -> Understood:
    """Return how an import would read the rows of a sample. The result is empty if the sample alone cannot be read.

    With `is_per_grant`, an account may have several rows: do not keep details in which they differ.
    """
    shape = msgspec.convert(section["shape"] or {}, FileShape)
    columns = section["columns"]
    group = InputGroup(UUID(int=0), "", content, columns, None, allow_rejects=True, shape=shape)
    if sample.head.startswith((b"PK", b"PAR1")):
        text = sample.whole()
    else:
        whole = decoded(sample, encoding)[0]
        text = (first_rows(whole, shape.delimiter or ",", _MOST_LINES) if format == "CSV" else whole).encode()
    try:
        found = file_delta.read_sample(group, text, ZoneInfo("UTC"))
        if differing := _differing(found) if is_per_grant else []:
            without = msgspec.structs.replace(shape, ignore=[*shape.ignore, *differing])
            found = file_delta.read_sample(msgspec.structs.replace(group, shape=without), text, ZoneInfo("UTC"))
    except (BrokenFile, Unreadable, ValueError):
        return Understood()
    told = statements(found)
    told[1:1] = row_warnings(found)
    is_part = not sample.is_whole or (format == "CSV" and found.rows >= _MOST_LINES)
    return Understood(_shown(found), [*told[:1], _IN_SAMPLE, *told[1:]] if is_part else told, differing)


def _differing(found: ReadTable) -> list[str]:
    """Return the details in which rows of one account differ."""
    accounts: dict[str, dict[str, str]] = {}
    differing: dict[str, None] = {}
    for username, metadata in found.read.frame.select("username", "metadata").rows():
        details = msgspec.json.decode(metadata or "{}", type=dict[str, Any])
        first = accounts.setdefault(username, details)
        differing |= dict.fromkeys(name for name in {**first, **details} if first.get(name) != details.get(name))
    return list(differing)


_IN_SAMPLE = "These counts are of the beginning of the file"


def first_understood(group: InputGroup, text: bytes, zone: ZoneInfo) -> list[dict[str, str]]:
    """Return the first rows of a text as an import would store them; raise BrokenFile if it cannot be read."""
    return _shown(file_delta.read_sample(group, text, zone))


def _shown(found: ReadTable) -> list[dict[str, str]]:
    frame = found.read.frame
    shown = [name for name in frame.columns if name not in _NOT_SHOWN and not name.endswith("_key")]
    rows = frame.select(shown).head(_UNDERSTOOD).rows()
    return [{name: _text(value) for name, value in zip(shown, row, strict=True) if value != ""} for row in rows]


def _text(value: object) -> str:
    return {True: "Yes", False: "No", None: ""}[value] if value is None or isinstance(value, bool) else str(value)
