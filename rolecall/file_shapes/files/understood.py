"""Read the first rows of a sample as an import would store them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.application_imports.read import file_delta
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.csv_text import NEVER_CLOSED
from rolecall.application_imports.read.row_warnings import row_warnings
from rolecall.application_imports.read.rows import Collector
from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.read.statements import ReadTable, statements
from rolecall.application_imports.read.unlisted import unlisted_in_words
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.core.checking import Json
from rolecall.core.text import counted
from rolecall.file_shapes.shapes import Understood
from rolecall.file_shapes.tables.delimited import first_rows
from rolecall.file_shapes.tables.recognize import decoded
from rolecall.file_shapes.tables.sample import Sample
from rolecall.file_shapes.tables.sample_table import Unreadable

_UNDERSTOOD = 8
_MOST_LINES = 2_000
_WOULD_FAIL = "An import as proposed would fail"
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
    """Return how an import would read the rows of a sample.

    If the sample cannot be read, the result is empty, or says why an import would certainly fail. With `is_per_grant`,
    an account may have several rows: do not keep details in which they differ.
    """
    shape = msgspec.convert(section["shape"] or {}, FileShape)
    columns = section["columns"]
    group = InputGroup(UUID(int=0), "", content, columns, None, allow_rejects=True, shape=shape)
    is_part = not sample.is_whole
    if sample.head.startswith((b"PK", b"PAR1")):
        text = sample.whole()
    else:
        whole = decoded(sample, encoding)[0]
        cut = first_rows(whole, shape.delimiter or ",", _MOST_LINES) if format == "CSV" else whole
        is_part, text = is_part or len(cut) < len(whole), cut.encode()
    try:
        found = file_delta.read_sample(group, text, ZoneInfo("UTC"))
        if differing := _differing(found) if is_per_grant else []:
            without = msgspec.structs.replace(shape, ignore=[*shape.ignore, *differing])
            found = file_delta.read_sample(msgspec.structs.replace(group, shape=without), text, ZoneInfo("UTC"))
    except BrokenFile as broken:
        # A part of a file may end inside a quoted field or a record, so an import of the whole file may succeed.
        is_certain = not is_part or (format == "CSV" and broken.message != NEVER_CLOSED)
        return Understood([], [f"{_WOULD_FAIL}: {broken}"] if is_certain else [])
    except (Unreadable, ValueError):
        return Understood()
    told = [*statements(found), *_failure(found)]
    told[1:1] = row_warnings(found)
    if is_part:
        return Understood(_shown(found), [*told[:1], _IN_SAMPLE, *told[1:]], differing)
    return Understood(_shown(found), told, differing, _usernames(found))


def _failure(found: ReadTable) -> list[str]:
    """State that an import would fail because of rows that cannot be read or that contradict each other."""
    collector = Collector(found.group.content)
    collector.add(0, found.read)
    rejects = sorted(collector.finish().rejects)
    if not rejects:
        return []
    more = f" (and {counted(len(rejects) - 1, 'more malformed row')})" if len(rejects) > 1 else ""
    first = f"line {rejects[0].line}: {rejects[0].reason}{more}"
    return [f"{_WOULD_FAIL} because of {first}, unless it leaves out such rows"]


def _usernames(found: ReadTable) -> dict[str, int] | None:
    if found.group.content in (Content.GROUPS, Content.IDENTITIES):
        return None
    names = found.read.frame.get_column("username")
    return dict(names.filter(names != "").value_counts().iter_rows())


def state_unlisted(contents: Sequence[tuple[Content, Json, Understood]]) -> None:
    """Add a statement about accounts that memberships or permissions name, but that no content of users lists.

    `contents` has the content, the shape and the rows of each part of all files. Add nothing if users were read only in
    part, or if no content gives users: the users are then accounts of the application, which only an import can read.
    """
    giving = [found for content, shape, found in contents if content == Content.USERS or shape.get("deriveUsers")]
    if not giving or any(found.usernames is None for found in giving):
        return
    users = set[str]().union(*(found.usernames or () for found in giving))
    for content, _, found in contents:
        if content in (Content.MEMBERSHIPS, Content.PERMISSIONS):
            unlisted = {name: rows for name, rows in (found.usernames or {}).items() if name not in users}
            if unlisted:
                found.statements.append(_sentence(unlisted_in_words(unlisted, sum(unlisted.values()))))
                found.statements.append(f"{_WOULD_FAIL}, unless it leaves out rows of accounts that are not listed")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _differing(found: ReadTable) -> list[str]:
    """Return the details in which rows of one account differ."""
    accounts: dict[str, dict[str, str]] = {}
    differing: dict[str, None] = {}
    for username, metadata in found.read.frame.select("username", "metadata").rows():
        details = msgspec.json.decode(metadata or "{}", type=dict[str, Any])
        first = accounts.setdefault(username, details)
        differing |= dict.fromkeys(name for name in {**first, **details} if first.get(name) != details.get(name))
    return list(differing)


_IN_SAMPLE = "These counts cover only the beginning of the file"


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
