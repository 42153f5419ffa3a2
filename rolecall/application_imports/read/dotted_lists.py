"""Read printed lists of properties with dots between name and value, such as `Status . . . . :   *ENABLED` of IBM i.

Blank lines divide the text into blocks. A block that begins with the same property as the first record is a new record.
A block with only known properties continues the current record after a page break. Other blocks, such as page titles
and totals, are left out. If a property has further values on the lines below it, all its values become a list.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rolecall.application_imports.read.broken_file import BrokenFile

_PROPERTY = re.compile(r"\s{0,20}([^\s.:](?:[^:.]|\.(?! ?\.)){0,60}?)\s{0,4}\.(?: ?\.){2,60} ?:\s{0,20}")
_LOOKED_AT = 64 * 1024
_LEAST = 2


class _Block(NamedTuple):
    """Adjacent lines with the number of the first one; `values` is None if some line is neither name nor value."""

    line: int
    name: str
    values: dict[str, list[str]] | None


def is_dotted_list(text: bytes) -> bool:
    """Return whether the first two records of a text have several properties each and the same first property."""
    if b". ." not in text[:_LOOKED_AT] and b".." not in text[:_LOOKED_AT]:
        return False
    blocks = [block for block in _blocks(text[:_LOOKED_AT].decode(errors="replace")) if _is_record(block)]
    return len(blocks) >= _LEAST and blocks[0].name == blocks[1].name


def read_dotted_list(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each record with its line number."""
    first, line = "", 0
    known: set[str] = set()
    record: dict[str, list[str]] = {}
    for block in _blocks(text):
        first = first or (block.name if _is_record(block) else "")
        if first and block.name == first:
            if block.values is None:
                raise BrokenFile("a line of this record is neither a name with dots nor a value", line=block.line)
            if record:
                yield line, _plain(record)
            line, record = block.line, block.values
        elif record and block.values and known.issuperset(block.values):
            # After a page break, this block continues the record.
            for name, values in block.values.items():
                record.setdefault(name, []).extend(values)
        known.update(record)
    if record:
        yield line, _plain(record)


def _plain(record: dict[str, list[str]]) -> dict[str, object]:
    return {name: values[0] if len(values) == 1 else values for name, values in record.items()}


def _is_record(block: _Block) -> bool:
    return block.values is not None and len(block.values) >= _LEAST


def _blocks(text: str) -> Iterator[_Block]:
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield _block(number - len(lines), lines)
            lines = []


def _block(number: int, lines: list[str]) -> _Block:
    first = _PROPERTY.match(lines[0])
    return _Block(number, first[1].strip() if first else "", _values(lines))


def _values(lines: list[str]) -> dict[str, list[str]] | None:
    values: dict[str, list[str]] = {}
    name, start = "", 0
    for line in lines:
        if (found := _PROPERTY.match(line)) and found[1].strip() not in values:
            name, start = found[1].strip(), found.end()
            values[name] = [line[start:].strip()]
        elif name and not found and not line[:start].strip():
            values[name].append(line.strip())
        else:
            return None
    return values
