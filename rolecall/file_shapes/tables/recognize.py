"""Recognize the format and the encoding of a sample, and read its rows as text."""

import codecs
import re

import polars as pl

from rolecall.application_imports.read import dotted_lists, encodings, formats, ldif, property_lists
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.core.secret_names import mask_text
from rolecall.core.text import counted
from rolecall.file_shapes.tables.delimited import lay_out_csv
from rolecall.file_shapes.tables.json_lists import read_lists
from rolecall.file_shapes.tables.paired_lines import check_is_not_paired
from rolecall.file_shapes.tables.policies import check_is_not_policy
from rolecall.file_shapes.tables.printed import lay_out_printed
from rolecall.file_shapes.tables.racf import is_unload, read_unload
from rolecall.file_shapes.tables.sample import Sample
from rolecall.file_shapes.tables.sample_table import (
    LONGEST_RAW,
    MOST_ROWS,
    RAW_LINES,
    Decided,
    SampleTable,
    Unreadable,
    from_records,
    joined,
)
from rolecall.file_shapes.tables.workbooks import read_workbook


def recognize(sample: Sample, decided: Decided | None = None) -> list[SampleTable]:
    """Return the table of a file, then the tables of its other sheets or lists."""
    decided = decided or Decided()
    head = sample.head
    if not head.strip():
        raise Unreadable("the file is empty; export it again")
    if head.startswith(b"PK\x03\x04"):
        return read_workbook(sample, decided)
    if head.startswith(b"PAR1"):
        return [_parquet(sample)]
    for signature, what in formats.SIGNATURES.items():
        if head.startswith(signature):
            raise Unreadable(f"the file is {what}")
    text, encoding = decoded(sample, decided.encoding)
    how = "chosen by a person" if decided.encoding else "detected from the bytes"
    evidence = [f"Encoding {encoding}, {how}"] if encoding else []
    if is_unload(text):
        found = read_unload(text)
    elif (records := _records(text, sample)) is not None:
        found = [records]
    elif text.lstrip().startswith(("{", "[")):
        found = read_lists(text, sample, decided.records)
    else:
        found = [_unix_listing(text) or _table(text, sample, encoding, decided)]
    for each in found:
        each.encoding, each.evidence = encoding, evidence + each.evidence
        each.raw = each.raw or [line[:LONGEST_RAW] for line in text.splitlines()[:RAW_LINES]]
    return found


def decoded(sample: Sample, encoding: str | None = None) -> tuple[str, str | None]:
    """Decode the head. If the file is longer, leave out the last line, which may be incomplete, except in UTF-16.

    Return also the encoding to set in the connector: None for UTF-8, and for UTF-16 with a byte order mark.
    """
    head = sample.head
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace"), None
    head = head.removeprefix(codecs.BOM_UTF8)
    is_wide = (encoding or "").startswith("utf-16")
    if not sample.is_whole and not is_wide:
        head = head[: head.rfind(b"\n") + 1] or head
    # Skip the first line of the tail, which may be incomplete.
    encoding = encoding or encodings.detected_or_likely(head + sample.tail[sample.tail.find(b"\n") + 1 :])
    try:
        text = head.decode(encoding or "utf-8", "replace" if is_wide else "strict")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{head[error.start]:02X} in line {line} is not {encoding or 'UTF-8'}"
        raise Unreadable(f"{byte}; {encodings.advice(head)}") from None
    if "\x00" in text:
        raise Unreadable("the file is not text, or is UTF-16 without a byte order mark; set encoding to utf-16-le")
    return text, encoding


# Patterns for lines of texts that are not tables. Each has the kind of text, and what to export instead.
_TEXTS = {
    r"^The command completed successfully": "the output of net user or net localgroup; use Get-LocalUser, "
    "Get-LocalGroupMember or Get-ADUser with Export-Csv",
    r"^%?[\w.-]{1,64}[ \t]{1,40}ALL[ \t]{0,9}=[ \t]{0,9}\(": "a list of sudo rules; export the members of the groups "
    "that they name",
    r"^username [^\s]{1,64} (?:privilege|secret|password) ": "the configuration of a network device, which contains "
    "secrets; export its accounts as CSV",
    r"^config system admin": "the configuration of a firewall, which contains secrets; export its accounts as CSV",
    r"^(?:local|host|hostssl|hostnossl)[ \t]{1,40}\S{1,200}[ \t]{1,40}\S{1,200}[ \t][^\n]{0,300}"
    r"\b(?:trust|reject|md5|password|scram-sha-256|peer|ident|ldap|cert|gss|sspi|pam|radius)\b": "pg_hba.conf "
    "of PostgreSQL, which says who may connect; export the roles, for example the output of \\du",
    r"^[^\n]{0,300}\| {0,40}[\w\"-]{0,64}=[arwdDxtmXUCcTsA*]{1,24}/[\w\"-]{1,64}": "PostgreSQL "
    "privileges in short form; export information_schema.role_table_grants as CSV",
    r"^USER=\S{1,8}[ \t]{1,40}NAME=": "the output of the RACF command LISTUSER; use the database unload (IRRDBU00)",
    r"^type=[A-Z_]{1,40} msg=audit\(": "an audit log; export a list of accounts",
    r"^[| ]{0,9}(?:GRANT [^\n]{1,2000} TO|INSERT INTO [^\n]{1,2000} VALUES) ": "an SQL script; export the "
    "tables of users and grants as CSV",
}


def _check_is_table(text: str) -> None:
    for pattern, what in _TEXTS.items():
        if re.search(pattern, text, re.MULTILINE):
            raise Unreadable(f"the file is {what}")


def _table(text: str, sample: Sample, encoding: str | None, decided: Decided) -> SampleTable:
    _check_is_table(text)
    check_is_not_paired(text)
    check_is_not_policy(text)
    tail = sample.tail.decode(encoding or "utf-8", "replace")
    printed = None if decided.delimiter else lay_out_printed(text, tail, decided.header_line)
    table = printed or lay_out_csv(text, tail, decided.delimiter, decided.header_line)
    if len(table.headers) == 1 and (table.header_line is None or ":" in table.headers[0]):
        _check_values(table)
    return table


_MOST_WORDS = 3
# Mask more of a line than is shown, so that a secret is recognized even if only its beginning is shown.
_LONGEST_MASKED = 2000


def _check_values(table: SampleTable) -> None:
    """Reject text without columns, such as the configuration of a device, instead of reading it as accounts."""
    lines = [row[0] for row in table.rows if row]
    texts = [line for line in lines if len(line.split()) > _MOST_WORDS or re.search(r"[=\"{}<>]|^\s", line)]
    if 3 * len(texts) > len(lines):
        example = mask_text(texts[0].strip()[:_LONGEST_MASKED])[:40]
        raise Unreadable(f"the lines are text without columns, such as {example}; export a table, for example as CSV")


# Patterns for the lines of Unix files, which have no header, and the headers to use.
_UNIX = {
    r"[^:\s]+:[^:]*:\d+:\d+:[^:]*:[^:]*:[^:]*": ["Username", "Password", "UID", "GID", "GECOS", "Home", "Shell"],
    r"[^:\s]+:[^:]*:\d+:[^:\s]*": ["Group", "Password", "GID", "Members"],
}
_SHADOW = r"[^:\s]+:[^:\s]*:\d*:\d*:\d*:\d*:\d*:\d*:\d*"


def _unix_listing(text: str) -> SampleTable | None:
    """Recognize passwd and group files, as `getent` prints them; reject /etc/shadow."""
    written = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    # Skip NIS lines such as +::::::, which include or exclude the accounts of a NIS server.
    lines = [line for line in written if not line.startswith(("+", "-"))]
    if not lines or ":" not in lines[0]:
        return None
    if all(re.fullmatch(_SHADOW, line) for line in lines):
        instead = "use the output of getent passwd, which does not say which accounts are locked or have expired"
        raise Unreadable(f"the file is /etc/shadow, which contains password hashes; {instead}")
    for pattern, headers in _UNIX.items():
        if all(re.fullmatch(pattern, line) for line in lines):
            evidence = [f"A {'passwd' if len(headers) > 4 else 'group'} file of a Unix system, which has no header"]
            rows = [line.split(":") for line in lines[:MOST_ROWS]]
            table = SampleTable("CSV", headers, rows, delimiter=":", header_line=None, evidence=evidence)
            if len(lines) < len(written):
                table.left_out = [{"column": headers[0], "startsWith": ["+", "-"]}]
                table.evidence.append("Lines that begin with + or - refer to NIS accounts and are left out")
            return table
    return None


_DOTTED = "List with dots"
# Formats with one property per line: how to recognize and read each.
_PROPERTIES = {
    "LDIF": (ldif.is_ldif, ldif.read_ldif),
    _DOTTED: (dotted_lists.is_dotted_list, dotted_lists.read_dotted_list),
    "Property list": (property_lists.is_property_list, property_lists.read_property_list),
}


def _records(text: str, sample: Sample) -> SampleTable | None:
    """Read LDIF, lists with dots and property lists; return None for other formats."""
    name = next((name for name, (is_format, _) in _PROPERTIES.items() if is_format(text.encode())), None)
    if name is None:
        return None
    try:
        entries = [entry for _, entry in _PROPERTIES[name][1](text)]
    except BrokenFile as error:
        raise Unreadable(str(error)) from None
    # The last entry of a sample may be cut off.
    entries = entries if sample.is_whole else entries[:-1]
    evidence = [f"{name} with {counted(len(entries), 'entry', 'entries')} in the sample"]
    if name == _DOTTED:
        evidence.append("Lines between the entries, such as titles of pages and totals, are left out")
    return from_records(name, entries, evidence)


def _parquet(sample: Sample) -> SampleTable:
    try:
        # Limit the rows: a few kilobytes may contain billions of identical rows.
        table = formats.read_parquet(sample.path or sample.head, MOST_ROWS)
    except (BrokenFile, pl.exceptions.PolarsError) as error:
        raise Unreadable(str(error)) from None
    # The first column of the frame has the line numbers.
    rows = [list(map(str, row[1:])) for row in table.frame.rows()]
    return SampleTable("Parquet", table.headers, rows, evidence=["A Parquet file"], raw=joined([table.headers, *rows]))
