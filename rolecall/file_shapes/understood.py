"""Read the first rows of a sample as an import would store them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.application_imports.read import file_delta
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import InputGroup
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.file_shapes.delimited import first_rows
from rolecall.file_shapes.recognize import decoded
from rolecall.file_shapes.sample import Sample
from rolecall.file_shapes.sample_table import Unreadable

_UNDERSTOOD = 8
_MOST_LINES = 200
_NOT_SHOWN = {"line", "file", "metadata"}


def understood_by(
    sample: Sample, format: str, encoding: str | None, content: Content, section: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Return the first rows as an import would store them; an empty list if the sample alone cannot be read."""
    shape = msgspec.convert(section["shape"] or {}, FileShape)
    columns = section["columns"]
    group = InputGroup(UUID(int=0), "", content, columns, None, allow_rejects=True, shape=shape)
    if sample.head.startswith((b"PK", b"PAR1")):
        text = sample.whole()
    else:
        whole = decoded(sample, encoding)[0]
        text = (first_rows(whole, shape.delimiter or ",", _MOST_LINES) if format == "CSV" else whole).encode()
    try:
        return first_understood(group, text, ZoneInfo("UTC"))
    except (BrokenFile, Unreadable, ValueError):
        return []


def first_understood(group: InputGroup, text: bytes, zone: ZoneInfo) -> list[dict[str, str]]:
    """Return the first rows of a text as an import would store them; raise BrokenFile if it cannot be read."""
    frame = file_delta.read_sample(group, text, zone).frame
    shown = [name for name in frame.columns if name not in _NOT_SHOWN and not name.endswith("_key")]
    rows = frame.select(shown).head(_UNDERSTOOD).rows()
    return [{name: _text(value) for name, value in zip(shown, row, strict=True) if value != ""} for row in rows]


def _text(value: object) -> str:
    return {True: "Yes", False: "No", None: ""}[value] if value is None or isinstance(value, bool) else str(value)
