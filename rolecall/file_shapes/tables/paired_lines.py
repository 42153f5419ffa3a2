"""Recognize listings with blocks of lines such as `KEY = VALUE`, which are not tables."""

import re
from collections.abc import Iterator, Sequence

from rolecall.core.secret_names import mask_text
from rolecall.file_shapes.tables.sample_table import Unreadable

# A name and its value at the beginning of a line: `ACCESSORID = CLM0010`, `Username: SYSTEM`.
_PAIR = re.compile(r"\s{0,20}([A-Za-z][\w$./-]{0,30}(?: {1,2}[\w$./-]{1,20}){0,3}) {0,20}(?::|=)(?= |$)")
_LEAST_KEYS, _LEAST_BLOCKS = 3, 2
# At least this share of the lines begin with a name and a value.
_MOSTLY = 0.6
_MOST_LINES = 2_000
# Mask more of a line than is shown, so that a secret is recognized even if only its beginning is shown.
_LONGEST_MASKED, _SHOWN = 2_000, 40


def check_is_not_paired(text: str) -> None:
    """Raise Unreadable if the text describes each record by lines with a name and a value.

    These records begin with the same name, and have at least three names in common.
    """
    lines = [line for line in text.splitlines()[:_MOST_LINES] if line.strip()]
    if any(line.count('"') % 2 for line in lines):
        # The lines are probably inside a quoted cell of a table.
        return
    keys = [_key(line) for line in lines]
    found = [key for key in keys if key]
    begin = next((key for key in found if found.count(key) >= _LEAST_BLOCKS), None)
    if begin is None or len(found) < _MOSTLY * len(lines) or not _are_alike([*_blocks(found, begin)]):
        return
    example = mask_text(" ".join(lines[keys.index(begin)].split())[:_LONGEST_MASKED])[:_SHOWN].strip()
    raise Unreadable(
        f"the file is a listing with a name and a value on each line, such as {example}, and not a table; export a "
        "table with a row for each account, for example as CSV, or convert the listing first"
    )


def _key(line: str) -> str:
    match = _PAIR.match(line)
    return match[1] if match else ""


def _blocks(keys: Sequence[str], begin: str) -> Iterator[set[str]]:
    block = set[str]()
    for key in keys:
        if key == begin and block:
            yield block
            block = set()
        block.add(key)
    yield block


def _are_alike(blocks: Sequence[set[str]]) -> bool:
    """Return whether most blocks have several names of the largest one."""
    largest = max(blocks, key=len)
    alike = [block for block in blocks if len(block & largest) >= _LEAST_KEYS]
    return len(alike) >= _LEAST_BLOCKS and 2 * len(alike) > len(blocks)
