"""Recognize the format and the encoding of a sample, and read its rows as text."""

import codecs
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import polars as pl

from rolecall.application_imports.read import encodings, formats, ldif
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.core.json_paths import flattened
from rolecall.core.text import fold
from rolecall.file_shapes.headers import TableLayout, lay_out_csv, lay_out_rows
from rolecall.file_shapes.sample import MOST_WHOLE, Sample

MOST_ROWS = 2_000
_MOST_CELLS = 100_000
_RAW_LINES = 12
_LONGEST_RAW = 400
_LAST_ROWS = 12
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
    is_doubtful: bool = False
    totals: list[str] = []
    footers: list[dict[str, Any]] = []
    merges: bool = False
    skip_lines: int = 0
    # Paths into nested lists, such as emails[type=work].value, with the column that they come from.
    paths: dict[str, str] = {}


class Decided(msgspec.Struct, frozen=True):
    """What a person decided about how a file is read; the rest is found in the file."""

    # 0: the file has no header.
    header_line: int | None = None
    delimiter: str | None = None
    encoding: str | None = None


def recognize(sample: Sample, decided: Decided | None = None) -> Found:
    decided = decided or Decided()
    head = sample.head
    if not head.strip():
        raise Unreadable("the file is empty; export it again")
    if head.startswith(b"PK\x03\x04"):
        return _spreadsheet(sample, decided)
    if head.startswith(b"PAR1"):
        return _parquet(sample)
    for signature, what in formats.SIGNATURES.items():
        if head.startswith(signature) and signature != b"[":
            raise Unreadable(f"the file is {what}")
    text, encoding = decoded(sample, decided.encoding)
    how = "chosen by a person" if decided.encoding else "detected from the bytes"
    evidence = [f"Encoding {encoding}, {how}"] if encoding else []
    if ldif.is_ldif(text.encode()):
        found = _ldif(text, sample)
    elif text.lstrip().startswith(("{", "[")):
        found = _json(text, sample)
    else:
        found = _unix_listing(text) or _csv(text, sample, encoding, decided)
    found.encoding, found.evidence = encoding, evidence + found.evidence
    found.raw = found.raw or [line[:_LONGEST_RAW] for line in text.splitlines()[:_RAW_LINES]]
    return found


def decoded(sample: Sample, encoding: str | None = None) -> tuple[str, str | None]:
    """Decode the head up to its last whole line, and name the encoding if it is not UTF-8."""
    head = sample.head
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace"), None
    head = head.removeprefix(codecs.BOM_UTF8)
    is_wide = (encoding or "").startswith("utf-16")
    if not sample.is_whole and not is_wide:
        head = head[: head.rfind(b"\n") + 1] or head
    encoding = encoding or encodings.detected(head + sample.tail[sample.tail.find(b"\n") + 1 :])
    try:
        text = head.decode(encoding or "utf-8", "replace" if is_wide else "strict")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{head[error.start]:02X} in line {line} is not {encoding or 'UTF-8'}"
        raise Unreadable(f"{byte}; set encoding, for example to windows-1252") from None
    if "\x00" in text:
        raise Unreadable("the file is not text, or UTF-16 without a byte order mark; set encoding to utf-16-le")
    return text, encoding


def _csv(text: str, sample: Sample, encoding: str | None, decided: Decided) -> Found:
    tail = sample.tail.decode(encoding or "utf-8", "replace")
    try:
        delimiter, layout = lay_out_csv(text, tail, decided.delimiter, decided.header_line)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return _laid_out("CSV", layout, delimiter)


def _laid_out(format: str, layout: TableLayout, delimiter: str | None = None) -> Found:
    return Found(
        format,
        layout.headers,
        layout.rows[: max(50, min(MOST_ROWS, _MOST_CELLS // len(layout.headers)))],
        delimiter=delimiter,
        header_line=layout.header_line,
        evidence=layout.evidence,
        candidates=layout.candidates,
        is_doubtful=layout.is_doubtful,
        totals=layout.totals,
        footers=layout.footers,
        merges=layout.merges,
        skip_lines=layout.skip_lines,
    )


# Files of Unix without a header, by the pattern of each line.
_UNIX = {
    r"[^:\s]+:[^:]*:\d+:\d+:[^:]*:[^:]*:[^:]*": ["Username", "Password", "UID", "GID", "GECOS", "Home", "Shell"],
    r"[^:\s]+:[^:]*:\d+:[^:\s]*": ["Group", "Password", "GID", "Members"],
}
_SHADOW = r"[^:\s]+:[^:\s]*:\d*:\d*:\d*:\d*:\d*:\d*:\d*"


def _unix_listing(text: str) -> Found | None:
    """Recognize passwd and group, as `getent` prints them."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or ":" not in lines[0]:
        return None
    if all(re.fullmatch(_SHADOW, line) for line in lines):
        raise Unreadable("the file is /etc/shadow, which holds password hashes; use the output of getent passwd")
    for pattern, headers in _UNIX.items():
        if all(re.fullmatch(pattern, line) for line in lines):
            evidence = [f"The lines are those of {'passwd' if len(headers) > 4 else 'group'}, which has no header"]
            rows = [line.split(":") for line in lines[:MOST_ROWS]]
            return Found("CSV", headers, rows, delimiter=":", header_line=None, evidence=evidence)
    return None


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
    if _is_record(document):
        found = _from_records("JSON", [document], ["One JSON object is the only record"])
        found.records = "$"
        return found
    if isinstance(document, dict) and len(document) > 1 and all(isinstance(each, dict) for each in document.values()):
        keyed = [{"key": name, **each} for name, each in document.items()]
        found = _from_records("JSON", keyed[:MOST_ROWS], ["A JSON object of records: their names are the column key"])
        found.records = "$"
        return found
    lists = sorted(_lists(document), key=lambda each: (_is_about_accounts(each[0]), len(each[1])), reverse=True)
    if not lists:
        raise Unreadable("the file is JSON without a list of objects; set shape.records to the path of the records")
    (path, records), *others = lists
    evidence = [f"The records are the list {path}"] if path else ["A JSON array of records"]
    if others:
        named = ", ".join(f"{name} ({len(found):,})" for name, found in others[:5])
        evidence.append(f"Other lists are not read: {named}; name one in shape.records to read it instead")
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


def _lists(document: Any, path: str = "", depth: int = 3) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Find the lists of objects in a document, each with the path to it."""
    if isinstance(document, list):
        if document and all(isinstance(each, dict) for each in document):
            yield path, document
    elif isinstance(document, dict) and depth:
        for name, value in document.items():
            yield from _lists(value, f"{path}.{name}" if path else name, depth - 1)


def _is_record(document: Any) -> bool:
    """Return whether an object is itself an account: it has a username and no list of accounts."""
    if not isinstance(document, dict) or any(_is_about_accounts(path) for path, _ in _lists(document)):
        return False
    plain = [name for name, value in document.items() if isinstance(value, str | bool | int)]
    return any(fold(name) in ("username", "login", "userprincipalname", "samaccountname") for name in plain)


def _is_about_accounts(path: str) -> bool:
    return re.search(r"user|member|account|person|people|employee|worker|identit", path, re.IGNORECASE) is not None


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


def _spreadsheet(sample: Sample, decided: Decided) -> Found:
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
        sheet = formats.read_sheet(content)
        rows = [list(map(str.strip, row)) for row in sheet.frame.head(MOST_ROWS).rows()]
        last = [list(map(str.strip, row)) for row in sheet.frame.tail(_LAST_ROWS).rows()]
        numbered = [(line, row) for line, row in enumerate(rows, 1) if any(row)]
        found = _laid_out("XLSX", lay_out_rows(numbered, last, decided.header_line))
    except (BrokenFile, ValueError) as error:
        raise Unreadable(str(error)) from None
    found.merges, found.raw = False, _joined(rows)
    found.evidence = [f"The first sheet of an XLSX file: {sheet.names[0]}", *found.evidence]
    if len(sheet.names) > 1:
        found.evidence.append(
            f"Other sheets are not read: {', '.join(sheet.names[1:6])}; save them as files of their own"
        )
    return found


def _parquet(sample: Sample) -> Found:
    try:
        # A few kilobytes may hold billions of equal rows.
        table = formats.read_parquet(sample.path or sample.head, MOST_ROWS)
    except (BrokenFile, pl.exceptions.PolarsError) as error:
        raise Unreadable(str(error)) from None
    rows = [list(map(str, row[1:])) for row in table.frame.rows()]
    return Found("Parquet", table.headers, rows, evidence=["A Parquet file"], raw=_joined([table.headers, *rows]))


def _joined(rows: Sequence[Sequence[str]]) -> list[str]:
    return [" | ".join(row)[:_LONGEST_RAW] for row in rows[:_RAW_LINES]]
