"""Read lists of properties: a line for each property, and a blank line between records.

PowerShell prints them as Format-List, mysql with `\\G`, psql with `\\x`. The separators of a record must be aligned, so
that a text with a colon in each line is not mistaken for one.
"""

import re
from collections.abc import Iterator

from rolecall.application_imports.read.broken_file import BrokenFile

_RECORD_LINE = re.compile(r"\*{3,} \d{1,9}\. row \*{3,}|-\[ RECORD \d{1,9} \][-+]*")
_COUNT = re.compile(r"\(?\d{1,9} rows?\b.*")
_LOOKED_AT = 64 * 1024
_LONGEST_NAME = 80
_LEAST = 2


def is_property_list(text: bytes) -> bool:
    """Return whether a text begins with two records of several properties that have the same first property."""
    blocks = _blocks(text[:_LOOKED_AT].decode(errors="replace"))
    first, second = (_properties(block) or {} for _, block in (next(blocks, (0, [])), next(blocks, (0, []))))
    return len(first) >= _LEAST and bool(second) and next(iter(first)) == next(iter(second))


def read_property_list(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each record with its line."""
    for number, block in _blocks(text):
        record = _properties(block)
        if record is None:
            raise BrokenFile("the properties of this record are not below each other as name : value", line=number)
        if record:
            yield number, dict(record)


def _properties(block: list[str]) -> dict[str, str] | None:
    """Return the properties of a record, or None if a line has no separator where the first line has one."""
    first = block[0] if block else ""
    at, name = first.find(":", 0, _LONGEST_NAME), ""
    if _RECORD_LINE.fullmatch(first.strip()):
        at = min((n for n in (block[1].find(":"), block[1].find("|")) if n >= 0), default=-1) if block[1:] else -1
    record: dict[str, list[str]] = {}
    for line in block:
        if _RECORD_LINE.fullmatch(line.strip()) or _COUNT.fullmatch(line.strip()):
            continue
        if name and not line[: at + 1].strip():
            # A long value continues on the next line, indented.
            record[name].append(line.strip())
            continue
        name = line[: max(at, 0)].strip()
        if line[at : at + 1] not in (":", "|") or not name or name in record or line[at + 1 : at + 2].strip():
            return None
        record[name] = [line[at + 1 :].strip()]
    return {name: "".join(texts) for name, texts in record.items()}


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each record; a blank line, or a line with the number of a record, ends the previous record."""
    block: list[str] = []
    begins = 1
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if block and (not line.strip() or _RECORD_LINE.fullmatch(line.strip())):
            yield begins, block
            block = []
        if line.strip():
            begins = begins if block else number
            block.append(line)
    if block:
        yield begins, block
