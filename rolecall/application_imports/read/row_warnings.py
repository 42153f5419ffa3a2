"""Warn of rows that may be wrong: similar usernames, groups as members, and memberships that are not read."""

from collections.abc import Iterator

import msgspec
import polars as pl

from rolecall.application_imports.read.column_uses import Fate, Section, uses_of
from rolecall.application_imports.read.statements import ReadTable
from rolecall.applications.model import Content, same_header
from rolecall.core.nested_json import decode_nested
from rolecall.core.text import counted, some_of

_MOST_NAMED = 6
# Columns of directories: the name of an entry, the groups of an entry, and the members of a group.
_ENTRIES = ("dn", "distinguishedname")
_HELD, _MEMBERS = ("memberof",), ("member", "uniquemember")

Pair = tuple[str, str]


def row_warnings(table: ReadTable) -> list[str]:
    """Return sentences about rows that need a person's attention."""
    return [*_capitals(table), *_inner_groups(table), *_unread_memberships(table)]


def _capitals(table: ReadTable) -> Iterator[str]:
    """Warn of usernames that differ only in case: each becomes an account, but they may be the same person."""
    gives_users = table.group.content == Content.USERS or table.shape.derive_users
    if table.group.is_derived or not gives_users:
        return
    names = table.read.frame.select("username").unique(maintain_order=True)
    plain = names.with_columns(plain=pl.col("username").str.to_lowercase())
    doubles = plain.filter((pl.col("username") != "") & pl.col("plain").is_duplicated()).sort(
        "plain", maintain_order=True
    )
    if doubles.height:
        named = some_of(doubles.get_column("username").to_list(), _MOST_NAMED)
        yield f"{doubles.height:,} usernames differ only in case: {named}. Each of them is a separate account"


def _inner_groups(table: ReadTable) -> Iterator[str]:
    """Report members that are groups of the same table, because each of them is read as an account."""
    if table.group.content != Content.MEMBERSHIPS:
        return
    frame = table.read.frame.select("username", "group").filter(pl.col("username") != "")
    groups = frame.get_column("group").unique()
    both = frame.filter(pl.col("username").is_in(groups.implode()) & (pl.col("username") != pl.col("group")))
    names = both.get_column("username").unique(maintain_order=True)
    if len(names):
        yield f"Members with the names of groups are read as accounts: {some_of(names.to_list(), _MOST_NAMED)}"


def _unread_memberships(table: ReadTable) -> Iterator[str]:
    """Warn of memberships that occur only in an unread column.

    Directories write a membership twice: in memberOf of the member, and in member of the group.
    """
    headers = {same_header(header): header for header in table.raw.headers}
    entry = next((headers[name] for name in _ENTRIES if name in headers), None)
    held, members = ([headers[name] for name in side if name in headers] for side in (_HELD, _MEMBERS))
    if table.group.content != Content.MEMBERSHIPS or entry is None or not held or not members:
        return
    uses = uses_of(table.raw.headers, [Section(table.group.content, table.group.columns, table.shape)])
    read = [header for header in (*held, *members) if uses[header].fate == Fate.READ]
    unread = [header for header in (*held, *members) if header not in read]
    entries = {name.lower() for name in _cells(table, entry)}
    pairs = {header: _pairs(table, entry, header, is_held=header in held) for header in (*read, *unread)}
    known = {pair for header in read for pair in pairs[header]}
    for header in unread if read else ():
        # Leave out memberships of entries that are not in this table: another part of the file may contain them.
        missing = [(of, to) for (of, to) in pairs[header] if (of, to) not in known and {of, to} <= entries]
        if missing:
            named = some_of([f"{pairs[header][pair][0]} in {pairs[header][pair][1]}" for pair in missing], _MOST_NAMED)
            yield (
                f"{header} names {counted(len(missing), 'membership')} missing from {' and '.join(read)}. "
                f"Not read: {named}"
            )


def _cells(table: ReadTable, header: str) -> list[str]:
    return table.raw.frame.get_column(str(table.raw.headers.index(header))).str.strip_chars().to_list()


def _pairs(table: ReadTable, entry: str, header: str, *, is_held: bool) -> dict[Pair, Pair]:
    """Return a map from pairs of a member and a group, in lower case, to their short names."""
    found = {}
    for name, cell in zip(_cells(table, entry), _cells(table, header), strict=True):
        for other in _values(cell, table.shape.split.get(header)):
            member, group = (name, other) if is_held else (other, name)
            found[(member.lower(), group.lower())] = (_short(member), _short(group))
    return found


def _values(cell: str, separator: str | None) -> list[str]:
    if cell.startswith("["):
        try:
            return [str(each) for each in decode_nested(cell, list[object])]
        except msgspec.DecodeError:
            return []
    return [each.strip() for each in cell.split(separator if separator in (";", "|", "\n") else ";") if each.strip()]


def _short(name: str) -> str:
    return name.partition("=")[2].partition(",")[0] or name
