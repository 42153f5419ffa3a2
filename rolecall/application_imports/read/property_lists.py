"""Read lists of properties: a line for each property, and a blank line or a line of dashes between records.

PowerShell prints them with Format-List, mysql with `\\G`, psql with `\\x`. AIX writes stanzas: a name and a colon above
indented properties. In other lists, the separators or the values of a record must be aligned, so that a text with a
colon in each line is not mistaken for properties.
"""

import re
from collections.abc import Iterator

from rolecall.application_imports.read.broken_file import BrokenFile

_RECORD_LINE = re.compile(r"\*{3,} \d{1,9}\. row \*{3,}|-\[ RECORD \d{1,9} \][-+]*")
_RULE = re.compile(r"-{5,}|={5,}")
_STANZA = re.compile(r"([^\s:=]{1,80}):\s*")
_SETTING = re.compile(r"\s{1,40}([^\s=]{1,80})\s{0,40}=(.*)")
# The property that receives the name of a stanza.
_NAME = "Name"
_PROPERTY = re.compile(r"([^\s:][^:]{0,79}):( *)")
_COUNT = re.compile(r"\(?\d{1,9} rows?\b.*")
_LOOKED_AT = 64 * 1024
_LONGEST_NAME = 80
_LEAST = 2


def is_property_list(text: bytes) -> bool:
    """Return whether the first two records of a text begin with the same property, and the first one has several."""
    blocks = _blocks(text[:_LOOKED_AT].decode(errors="replace"))
    first, second = (_record(block) or {} for _, block in (next(blocks, (0, [])), next(blocks, (0, []))))
    return len(first) >= _LEAST and bool(second) and next(iter(first)) == next(iter(second))


def read_property_list(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each record with its line number."""
    for number, block in _blocks(text):
        record = _record(block)
        if record is None:
            raise BrokenFile("the properties of this record are not aligned as name : value", line=number)
        if record:
            yield number, dict(record)


def _record(block: list[str]) -> dict[str, str] | None:
    """Parse a record in the first format that fits all of its lines; return None if no format does."""
    for read in (_properties, _stanza, _aligned_values):
        if (record := read(block)) is not None:
            return record
    return None


def _stanza(block: list[str]) -> dict[str, str] | None:
    named = _STANZA.fullmatch(block[0]) if block else None
    found = [_SETTING.fullmatch(line) for line in block[1:]]
    settings = {match[1]: match[2].strip() for match in found if match}
    return {_NAME: named[1], **settings} if named and settings and len(settings) == len(found) else None


def _aligned_values(block: list[str]) -> dict[str, str] | None:
    """Return the properties of a record with aligned values and a colon directly after each name; otherwise None."""
    found = [_PROPERTY.match(line) for line in block]
    starts = {match.end() for line, match in zip(block, found, strict=True) if match and line[match.end() :].strip()}
    if not all(found) or len(starts) != 1 or not all(match[2] for match in found if match and match.end() in starts):
        return None
    record = {match[1].strip(): line[match.end() :].strip() for line, match in zip(block, found, strict=True) if match}
    return record if len(record) == len(block) else None


def _properties(block: list[str]) -> dict[str, str] | None:
    """Return the properties of a record, or None if its separators are not aligned or a name occurs twice."""
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
    """Yield the number of the first line and the lines of each record.

    Blank lines and lines of - or = separate records; a line with a record number begins one.
    """
    block: list[str] = []
    begins = 1
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        is_rule = _RULE.fullmatch(line.strip()) is not None
        if block and (not line.strip() or is_rule or _RECORD_LINE.fullmatch(line.strip())):
            yield begins, block
            block = []
        if line.strip() and not is_rule:
            begins = begins if block else number
            block.append(line)
    if block:
        yield begins, block
