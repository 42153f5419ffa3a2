"""Recognize the format and the encoding of a sample, and read its rows as text."""

import codecs
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import polars as pl

from rolecall.application_imports.read import encodings, formats, ldif
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.json_records import flattened
from rolecall.file_shapes.headers import lay_out_csv
from rolecall.file_shapes.sample import MOST_WHOLE, Sample

MOST_ROWS = 2_000
_MOST_CELLS = 100_000
_RAW_LINES = 12
_LONGEST_RAW = 400
_SHEETS = "xl/workbook.xml"
_RECORD = re.compile(r"\}\s*,\s*\{")


class Unreadable(Exception):
    """The file cannot be read in any shape; the message says what was found and what to do."""


class Found(msgspec.Struct):
    """The rows of a sample and how they were found."""

    format: str
    headers: list[str]
    rows: list[list[str]]
    encoding: str | None = None
    delimiter: str | None = None
    header_line: int | None = 1
    records: str | None = None
    # Columns whose cells are JSON arrays.
    lists: list[str] = []
    raw: list[str] = []
    evidence: list[str] = []
    # Lines beside `header_line` that could be the header.
    candidates: list[int] = []
    totals: list[str] = []
    merges: bool = False
    # Paths into nested lists, such as emails[type=work].value, with the column that they come from.
    paths: dict[str, str] = {}


def recognize(sample: Sample, header_line: int | None = None) -> Found:
    """Recognize a sample; `header_line` is the line that a person chose."""
    head = sample.head
    if not head.strip():
        raise Unreadable("the file is empty; export it again")
    if head.startswith(b"PK\x03\x04"):
        return _spreadsheet(sample)
    if head.startswith(b"PAR1"):
        return _parquet(sample)
    for signature, what in formats.SIGNATURES.items():
        if head.startswith(signature) and signature != b"[":
            raise Unreadable(f"the file is {what}")
    text, encoding = _decoded(sample)
    evidence = [f"Encoding {encoding}, detected from the bytes"] if encoding else []
    if ldif.is_ldif(text.encode()):
        found = _ldif(text, sample)
    elif text.lstrip().startswith(("{", "[")):
        found = _json(text, sample)
    else:
        found = _csv(text, sample, encoding, header_line)
    found.encoding, found.evidence = encoding, evidence + found.evidence
    found.raw = found.raw or [line[:_LONGEST_RAW] for line in text.splitlines()[:_RAW_LINES]]
    return found


def _decoded(sample: Sample) -> tuple[str, str | None]:
    """Decode the head up to its last whole line, and name the encoding if it is not UTF-8."""
    head, encoding = sample.head, None
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace"), None
    head = head.removeprefix(codecs.BOM_UTF8)
    if not sample.is_whole:
        head = head[: head.rfind(b"\n") + 1] or head
    encoding = encodings.detected(head + sample.tail[sample.tail.find(b"\n") + 1 :])
    try:
        text = head.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{head[error.start]:02X} in line {line} is not UTF-8"
        raise Unreadable(f"{byte}; set encoding, for example to windows-1252") from None
    if "\x00" in text:
        raise Unreadable("the file is not text, or UTF-16 without a byte order mark; set encoding to utf-16-le")
    return text, encoding


def _csv(text: str, sample: Sample, encoding: str | None, header_line: int | None) -> Found:
    tail = sample.tail.decode(encoding or "utf-8", "replace")
    try:
        layout = lay_out_csv(text, tail, header_line)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return Found(
        "CSV",
        layout.headers,
        layout.rows[: max(50, min(MOST_ROWS, _MOST_CELLS // len(layout.headers)))],
        delimiter=layout.delimiter,
        header_line=layout.header_line,
        evidence=layout.evidence,
        candidates=layout.candidates,
        totals=layout.totals,
        merges=layout.merges,
    )


def _ldif(text: str, sample: Sample) -> Found:
    try:
        entries = [entry for _, entry in ldif.read_ldif(text)]
    except BrokenFile as error:
        raise Unreadable(str(error)) from None
    entries = entries if sample.is_whole else entries[:-1]
    return _from_records("LDIF", entries, [f"LDIF with {len(entries):,} entries in the sample"])


def _json(text: str, sample: Sample) -> Found:
    """Read an array, an envelope or one object a line; of a long file the records that the sample has whole."""
    lines = [line for line in text.splitlines() if line.strip()]
    if text.lstrip().startswith("{") and len(lines) > 1 and lines[0].rstrip().endswith("}"):
        records = [_object(line) for line in lines[:MOST_ROWS]]
        if all(records):
            return _from_records("JSON lines", records, ["One JSON object on each line"])
    document = _document(text, sample)
    path, records = _longest_list(document)
    if not records:
        raise Unreadable("the file is JSON without a list of objects; set shape.records to the path of the records")
    evidence = [f"The records are the list {path}"] if path else ["A JSON array of records"]
    found = _from_records("JSON", records[:MOST_ROWS], evidence)
    found.records = path or None
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict)
    except msgspec.DecodeError:
        return {}


def _document(text: str, sample: Sample) -> Any:
    if sample.is_whole or sample.size <= MOST_WHOLE:
        try:
            return msgspec.json.decode(sample.whole().removeprefix(codecs.BOM_UTF8))
        except msgspec.DecodeError as error:
            raise Unreadable(f"the file begins as JSON, but is not: {error}") from None
    for end in reversed([match.start() + 1 for match in _RECORD.finditer(text)][-50:]):
        for closing in ("]", "]}", "]}}"):
            try:
                return msgspec.json.decode(text[:end] + closing)
            except msgspec.DecodeError:
                continue
    raise Unreadable("the file is JSON whose records are not found in its first half megabyte; write one per line")


def _longest_list(document: Any, path: str = "", depth: int = 3) -> tuple[str, list[dict[str, Any]]]:
    """Find the longest list of objects in a document, and the path to it."""
    if isinstance(document, list):
        return path, document if document and all(isinstance(each, dict) for each in document) else []
    if not isinstance(document, dict) or not depth:
        return path, []
    inner = [_longest_list(value, f"{path}.{name}" if path else name, depth - 1) for name, value in document.items()]
    return max(inner, key=lambda found: len(found[1]), default=(path, []))


def _from_records(format: str, records: Sequence[dict[str, Any]], evidence: list[str]) -> Found:
    flat = [dict(flattened(record)) for record in records]
    paths = _paths(flat)
    for record in flat:
        record |= {path: _follow(record, path, source) for path, source in paths.items()}
    headers = list(dict.fromkeys(name for record in flat for name in record))
    lists = [name for name in headers if any(isinstance(record.get(name), list) for record in flat)]
    rows = [[_plain(record.get(header)) for header in headers] for record in flat]
    raw = [msgspec.json.encode(record).decode()[:_LONGEST_RAW] for record in records[:_RAW_LINES]]
    return Found(format, headers, rows, lists=lists, evidence=evidence, header_line=None, paths=paths, raw=raw)


# The members to read in a list of objects: e-mail addresses have a type, memberships a name.
_NAMING = ("value", "display", "displayName", "name", "id")


def _paths(flat: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return paths to the values in lists of objects: the work or first address, and all names of other lists."""
    paths: dict[str, str] = {}
    for record in flat:
        for name, value in record.items():
            if not isinstance(value, list) or not value or not isinstance(value[0], dict):
                continue
            inner = next((key for key in _NAMING if key in value[0]), None)
            if inner is None:
                continue
            if "mail" in name.lower() or "phone" in name.lower() or "address" in name.lower():
                is_work = any(str(each.get("type")).lower() == "work" for each in value)
                paths[f"{name}[type=work].{inner}" if is_work else f"{name}[0].{inner}"] = name
            else:
                shown = next((key for key in ("display", "displayName", "name", "value") if key in value[0]), inner)
                paths[f"{name}[].{shown}"] = name
    return paths


def _follow(record: dict[str, Any], path: str, source: str) -> Any:
    inner = path.rpartition(".")[2]
    entries = [each for each in record.get(source) or [] if isinstance(each, dict)]
    if "[]" in path:
        return [each[inner] for each in entries if each.get(inner) is not None]
    if "[type=work]" in path:
        entries = [each for each in entries if str(each.get("type")).lower() == "work"]
    return entries[0].get(inner) if entries else None


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool | int | float) else msgspec.json.encode(value).decode()


def _spreadsheet(sample: Sample) -> Found:
    if sample.size > MOST_WHOLE:
        raise Unreadable(f"the archive has more than {MOST_WHOLE // 1024**2} MiB; export the data as CSV")
    content = sample.whole()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise Unreadable(f"the file is a damaged archive: {error}") from None
    if _SHEETS not in names:
        inside = ", ".join(names[:3])
        raise Unreadable(f"the file is a zip archive with {inside}; unpack it and choose the file inside")
    try:
        table = formats.read(content)
    except BrokenFile as error:
        raise Unreadable(str(error)) from None
    rows = [list(map(str, row[1:])) for row in table.frame.head(MOST_ROWS).rows()]
    return Found(
        "XLSX", table.headers, rows, evidence=["The first sheet of an XLSX file"], raw=_joined(table.headers, rows)
    )


def _parquet(sample: Sample) -> Found:
    try:
        # A few kilobytes may hold billions of equal rows.
        table = formats.read_parquet(sample.path or sample.head, MOST_ROWS)
    except (BrokenFile, pl.exceptions.PolarsError) as error:
        raise Unreadable(str(error)) from None
    rows = [list(map(str, row[1:])) for row in table.frame.rows()]
    return Found("Parquet", table.headers, rows, evidence=["A Parquet file"], raw=_joined(table.headers, rows))


def _joined(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [" | ".join(row)[:_LONGEST_RAW] for row in (headers, *rows[: _RAW_LINES - 1])]
