"""Read records from JSON in its usual layouts, such as one object per line; find nested values by path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.json_pages import (
    ENVELOPES,
    PageSigns,
    documents_in,
    joined_signs,
    list_of_pages,
    signs_of,
)
from rolecall.core.json_paths import Record, flattened, value_at
from rolecall.core.nested_json import NestedTooDeeply, decode_json, decode_nested
from rolecall.core.text import counted

_MOST_NAMED = 10
# Read JSON lines in pieces of about this many bytes, to limit memory.
_PIECE = 8 * 1024 * 1024
# The end of a path that makes a record of each member of an object, such as `$.*` or `roles.*`.
MEMBERS = ".*"
TOO_DEEP = "the file is JSON that is nested too deeply; export a list of records"


class Records(NamedTuple):
    records: list[tuple[int, Record]]
    notes: tuple[str, ...] = ()
    # Whether each line is one record.
    is_by_line: bool = False
    page: PageSigns | None = None


def read_json(text: bytes, path: str | None) -> Records:
    """Read JSON records. `path` is the path to their list, such as `Resources` or `data.users`.

    Without a path, accept JSON Lines, a list, an object that contains the list, or several of these documents.
    """
    lines = text.strip().split(b"\n")
    if path is None and len(lines) > 1 and text.lstrip().startswith(b"{"):
        by_line = records_by_line(text)
        if by_line is not None:
            pages = _of_pages([record for _, record in by_line])
            return pages or Records(by_line, is_by_line=len(by_line) == len(lines))
    try:
        document = decode_nested(text)
        if path is not None and isinstance(_value_at(document, path.removesuffix(MEMBERS)), dict):
            # Each name becomes a record, so decode again in a way that keeps all values of a repeated name.
            document = decode_json(text.decode())
    except NestedTooDeeply:
        raise BrokenFile(TOO_DEEP) from None
    except msgspec.DecodeError as error:
        if several := _several(text, path):
            return several
        if path is None and text.lstrip().startswith(b"{") and lines[0].rstrip().endswith(b"}"):
            raise _not_objects(text) from None
        raise BrokenFile(f"the file begins like JSON, but is not valid: {error}") from None
    if path is not None:
        return Records(_numbered(_at(document, path), path), page=_signs(document, path))
    if isinstance(document, list):
        return Records(_numbered(document, "the file"))
    if not isinstance(document, dict):
        raise BrokenFile("the file is JSON without records; export a list of records")
    return _enveloped(document, is_pretty=len(lines) > 1)


def _several(text: bytes, path: str | None) -> Records | None:
    """Read several JSON documents in one text, as written by programs that call an API page by page.

    Return None if there is only one document, or if the documents are of different types.
    """
    documents = documents_in(text.decode())
    if len(documents) < 2:
        return None
    if path is not None:
        found = [record for document in documents for _, record in _numbered(_at(document, path), path)]
        return Records(_numbered(found, path), page=joined_signs([_signs(each, path) for each in documents]))
    if all(isinstance(document, list) for document in documents):
        found = [record for document in documents for record in document]
        note = f"the records of {len(documents):,} lists are read as one list"
        return Records(_numbered(found, "the file"), (note,), page=PageSigns(len(found), documents=len(documents)))
    if not all(isinstance(document, dict) for document in documents):
        return None
    return _of_pages(documents) or Records(_numbered(documents, "the file"))


def _of_pages(documents: Sequence[Record]) -> Records | None:
    """Return the records of all pages; None if the documents themselves are records."""
    if len(documents) < 2 or (name := list_of_pages(documents)) is None:
        return None
    found = [record for document in documents for record in cast(list[Record], document[name])]
    note = f"the records are the {counted(len(found), 'entry', 'entries')} of {name} in {len(documents):,} documents"
    page = joined_signs([signs_of(each, len(cast(list[Record], each[name]))) for each in documents])
    return Records(_numbered(found, name), (note,), page=page)


def _signs(document: object, path: str) -> PageSigns:
    listed = _at(document, path.partition("[]")[0] or "$")
    is_enveloped = path.removesuffix(MEMBERS) not in ("", "$")
    return signs_of(document if is_enveloped else None, len(listed) if isinstance(listed, list) else 0)


def records_in_pieces(text: bytes, first: int = 1) -> Iterator[tuple[int, list[tuple[int, Record]] | None]]:
    """Yield the records of JSON lines in pieces, each with the number of bytes read so far.

    Yield None instead of records if a line is not an object. `first` is the number of the first line.
    """
    at, number = 0, first
    while at < len(text):
        end = text.find(b"\n", at + _PIECE) + 1 or len(text)
        piece = text[at:end]
        yield end, records_by_line(piece, number)
        at, number = end, number + piece.count(b"\n")


def records_by_line(text: bytes, first: int = 1) -> list[tuple[int, Record]] | None:
    """Return the object on each non-blank line, with the line number; None if such a line is not an object."""
    found: list[tuple[int, Record]] = []
    for number, line in enumerate(text.split(b"\n"), first):
        if line.strip():
            try:
                found.append((number, decode_nested(line, dict[str, object])))
            except NestedTooDeeply:
                raise BrokenFile(TOO_DEEP, line=number) from None
            except msgspec.DecodeError:
                return None
    return found


def _not_objects(text: bytes) -> BrokenFile:
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            if line.strip():
                decode_nested(line, dict[str, object])
        except msgspec.DecodeError:
            return BrokenFile("this line is not a JSON object", line=number)
    return BrokenFile("the file is not JSON")


def _enveloped(document: dict[str, Any], *, is_pretty: bool) -> Records:
    lists = {name: value for name, value in document.items() if _is_list_of_objects(value)}
    known = [name for name in lists if name.casefold() in ENVELOPES or name.endswith("List")]
    if len(known) == 1:
        count = counted(len(lists[known[0]]), "entry", "entries")
        note = f"the records are the {count} of {known[0]}; set shape.records to read others"
        return Records(_numbered(lists[known[0]], known[0]), (note,), page=signs_of(document, len(lists[known[0]])))
    if len(known) > 1 or (lists and is_pretty):
        raise BrokenFile(f"the file is a JSON object with the lists {', '.join(lists)}; name one in shape.records")
    return Records([(1, document)])


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _at(document: object, path: str) -> object:
    if "[]" in path:
        return inner_records(document, path)
    if path.endswith(MEMBERS):
        return pairs_in(_object_at(document, path.removesuffix(MEMBERS)))
    found = _value_at(document, path)
    if isinstance(found, dict) and path == "$" and not all(isinstance(each, dict) for each in found.values()):
        return [found]
    if isinstance(found, dict) and found and all(isinstance(each, dict) for each in found.values()):
        # In an object of objects, the names of the members become the column `key`.
        return [{"key": name, **each} for name, each in found.items()]
    if not isinstance(found, list):
        names = list(document) if isinstance(document, dict) else []
        there = f"there are {', '.join(map(str, names[:_MOST_NAMED]))}" if names else "the file is an array"
        raise BrokenFile(f"shape.records names {path}, which is not a list of records; {there}")
    return found


def _value_at(document: object, path: str) -> object:
    return document if path in ("", "$") else value_at(document, path)


def _object_at(document: object, path: str) -> Record:
    found = _value_at(document, path)
    if not isinstance(found, dict):
        raise BrokenFile(f"shape.records names the members of {path}, which is not an object")
    return found


def pairs_in(found: Record) -> list[dict[str, object]]:
    """Return a record for each member of an object: its name in `key` and its value in `access`."""
    flags = [name for name, value in found.items() if value is True]
    if flags:
        raise BrokenFile(f"the value of {flags[0]} is true; expected names of access, a level or null")
    return [{"key": name, "access": None if value is False else value} for name, value in found.items()]


def inner_records(document: object, path: str) -> list[Record]:
    """Return a record for each entry of an inner list, such as `items[].subjects[]`, with the outer fields."""
    outer, _, inner = path.removesuffix("[]").partition("[].")
    records: list[Record] = []
    if "[]" in outer:
        raise BrokenFile(f"shape.records names {path}; write a list inside a list as in groups[].members[]")
    if "[]" in inner:
        raise BrokenFile(f"shape.records names {path}; a path has at most one list inside a list")
    outside = _at(document, outer or "$")
    for record in outside if isinstance(outside, list) else []:
        entries = value_at(record, inner)
        if isinstance(record, dict) and isinstance(entries, list):
            steps = _steps(record, inner)
            records += [_with_entry(record, steps, entry) for entry in entries]
    if not records:
        raise BrokenFile(f"shape.records names {path}, but no entry of {outer or 'the file'} has a list {inner}")
    return records


def _steps(record: Mapping[str, Any], path: str) -> list[str]:
    """Return the names of the members that lead to a list. A name may itself contain dots, as in `value_at`."""
    if path in record:
        return [path]
    parts = path.split(".")
    for size in range(len(parts) - 1, 0, -1):
        if isinstance(inner := record.get(name := ".".join(parts[:size])), dict):
            return [name, *_steps(inner, ".".join(parts[size:]))]
    raise BrokenFile(f"shape.records names the list {path} inside records; write only member names, without brackets")


def _with_entry(record: Mapping[str, Any], path: list[str], entry: object) -> Record:
    first, *rest = path
    return {**record, first: _with_entry(record[first], rest, entry) if rest else entry}


def _numbered(found: object, place: str) -> list[tuple[int, Record]]:
    if not isinstance(found, list):
        raise BrokenFile(f"{place} is not a list of records")
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise BrokenFile(f"entry {number} of {place} is not an object")
    return list(enumerate(found, 1))


def with_paths(
    records: Iterable[tuple[int, Record]], paths: Iterable[str], ignored: Iterable[str] = ()
) -> Iterator[tuple[int, Record]]:
    """Yield flattened records, and add the values at `paths` that flattening does not produce.

    Objects at these paths, and those that are ignored, are not flattened.
    """
    wanted = list(paths)
    whole = {*wanted, *ignored}
    for number, record in records:
        flat = dict(flattened(record, whole=whole))
        for path in wanted:
            if path not in flat and (value := value_at(record, path)) is not None:
                flat[path] = value
        yield number, flat
