"""State in plain words, with counts, what each setting of a file does, so that people can check every assumption."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
import polars as pl

from rolecall.application_imports.read.accounting import left_out_in_words
from rolecall.application_imports.read.column_uses import beside
from rolecall.application_imports.read.columns import ALIASES, lay_out
from rolecall.application_imports.read.doubtful_accounts import doubtful_accounts, doubtful_names
from rolecall.application_imports.read.keyed_values import BETWEEN, keyed_values, object_in
from rolecall.application_imports.read.pattern_words import pattern_in_words
from rolecall.application_imports.read.rows import FileRows
from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.read.table import Table
from rolecall.application_imports.read.unlisted import derived_in_words
from rolecall.applications.file_shape import ANY_OTHER, JSON, FileShape, columns_in, separated_by
from rolecall.applications.model import Content, same_header
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import counted, some_of

_MOST_WORDS, _MOST_COLUMNS, _LONGEST = 6, 4, 40
_LOGIN, _GUID = r"^\s*[A-Za-z][\w.$@\\-]*\s*$", r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}"
# Short numbers may identify accounts if the header matches; amounts and phone numbers do not identify accounts.
_NUMBER = r"^\s*\d{1,10}\s*$"
_NUMBERED = re.compile(
    r"^(?!.*(?:phone|mobile|fax|tel)).*(?:id|number|no|nr|code|key|ext|extension|nummer|num)\.?$", re.IGNORECASE
)
_LEAST_ROWS = 3
# Columns of last logins begin with the same two words, such as `Last seen`, and contain dates.
_BEGINNING, _DATED = 2, r"\d{1,4}[-/. ]\w{1,9}[-/. ]\d{2,4}"
# In system catalogs of databases, this column contains the names of both users and roles.
_GRANTEE = "grantee"
_GRANT = ("username", "group", "header", "section", "permission", "access", "value")
# `_results` states how these fields are read, so the statements about the keys of the shape leave them out.
_STATUSES = ("active", "status")


class ReadTable(msgspec.Struct, frozen=True):
    """A table as it is in the file (`raw`), after its shape was applied (`shaped`), and as typed rows (`read`)."""

    group: InputGroup
    raw: Table
    shaped: Table
    read: FileRows

    @property
    def shape(self) -> FileShape:
        return self.group.shape or FileShape()

    @property
    def rows(self) -> int:
        return self.raw.frame.height + len(self.raw.ragged)


def statements(table: ReadTable) -> list[str]:
    """State what was read, which rows were left out, and what the keys of the shape do (see `STATED`)."""
    keys = msgspec.structs.asdict(table.shape)
    stated = [line for key, state in STATED.items() if keys[key] for line in state(table)]
    return [*_results(table), *_left_out(table), *stated]


def _results(table: ReadTable) -> Iterator[str]:
    frame, rows = table.read.frame, f"{counted(table.rows, 'row')} {'gives' if table.rows == 1 else 'give'}"
    match table.group.content:
        case Content.USERS:
            yield f"{rows} {counted(frame.n_unique('username') if frame.height else 0, 'account')}"
            yield from _username(table)
            yield from _last_logins(table)
            yield from _status(table, "Active", "is_active", {True: "active", False: "not active"})
            yield from doubtful_accounts(frame)
        case Content.IDENTITIES:
            yield f"{rows} {counted(frame.height, 'person', 'people')}"
            yield from _status(table, "Status", "status", {})
        case Content.GROUPS:
            yield f"{rows} {counted(frame.get_column('group').n_unique(), 'group')}"
        case Content.MEMBERSHIPS:
            accounts, groups = (frame.get_column(name).n_unique() for name in ("username", "group"))
            pairs = counted(frame.select("username", "group").n_unique(), "membership")
            yield f"{rows} {pairs} of {counted(accounts, 'account')} in {counted(groups, 'group')}"
        case Content.PERMISSIONS:
            named = frame.select("header", "section", "permission").n_unique()
            # Rows that are the same in all of these columns are one grant.
            grants = frame.select(*_GRANT).unique(maintain_order=True)
            by_access = grants.group_by("access", maintain_order=True).len().rows()
            told = ", ".join(f"{count:,} {access}" for access, count in by_access)
            yield f"{rows} {counted(grants.height, 'grant')} of {counted(named, 'permission')}: {told or 'none'}"
            yield from _accesses(table)


def _left_out(table: ReadTable) -> Iterator[str]:
    for reason, count in table.read.left_out.items():
        yield left_out_in_words(count, table.rows, reason)
    if rejects := table.read.rejects:
        lines = len({reject.line for reject in rejects})
        yield f"{lines:,} of {table.rows:,} rows cannot be read: {rejects[0].reason}"


def _username(table: ReadTable) -> Iterator[str]:
    """List other columns that could be the username, because each row has a different login-like value.

    Numbers, such as phone extensions, may be usernames too, unless the username has its usual header.
    """
    source = _source(table, "Username")
    frame = table.read.frame.select("line").unique().join(table.raw.frame, on="line")
    if source is None or frame.height < _LEAST_ROWS:
        return
    own = {same_header(name) for name in (columns_in(source) if _is_pattern(source) else [source])}
    is_usual = not own.isdisjoint(map(same_header, ("Username", *ALIASES["Username"])))
    unique = [
        header
        for i, header in enumerate(table.raw.headers)
        if same_header(header) not in own
        and not looks_secret(header)
        and table.group.columns.get(header, "Email") == "Email"
        and _may_be_username(header, frame.get_column(str(i)), is_usual=is_usual)
    ]
    if unique:
        yield f"Username is {_in_words(source)}. Other columns with unique values: {some_of(unique, _MOST_COLUMNS)}"


def _may_be_username(header: str, cells: pl.Series, *, is_usual: bool) -> bool:
    is_number = not is_usual and bool(_NUMBERED.search(header)) and bool(cells.str.contains(_NUMBER).all())
    is_unique = cells.n_unique() == len(cells)
    is_login = is_number or bool(cells.str.contains(_LOGIN).all())
    return is_unique and is_login and not cells.str.contains(_GUID).any()


def _last_logins(table: ReadTable) -> Iterator[str]:
    """List unread columns that may be last logins too, such as one for each product, because only one is read."""
    source = _source(table, "Last Login")
    if source is None:
        return
    begin = source.lower().split()[:_BEGINNING]
    alike = [
        header
        for i, header in enumerate(table.raw.headers)
        if header != source
        and len(begin) == _BEGINNING
        and header.lower().split()[:_BEGINNING] == begin
        and table.raw.frame.get_column(str(i)).str.contains(_DATED).any()
    ]
    if alike:
        yield f"Last Login is {source}. These columns may be last logins too: {some_of(alike, _MOST_COLUMNS)}"


def _source(table: ReadTable, field: str) -> str | None:
    """Return the column of a field, or the pattern that it is built from; None if it has neither."""
    pattern = next((each for name, each in table.shape.join.items() if same_header(name) == same_header(field)), None)
    if pattern or table.group.is_derived:
        return pattern
    layout = lay_out(table.group.content, table.shaped.headers, table.group.columns, table.shape, table.shaped.made)
    return table.shaped.headers[layout.fields[field]] if field in layout.fields else None


def _in_words(source: str) -> str:
    """Return `source` unchanged if it is a column, or in plain words if it is a pattern."""
    return pattern_in_words(source) if _is_pattern(source) else source


def _is_pattern(source: str) -> bool:
    return "{" in source and "}" in source


def _status(table: ReadTable, field: str, column: str, words: Mapping[object, str]) -> Iterator[str]:
    """State how each value of the status is read, or that everyone is read as active if no column gives a status.

    An account with several rows is counted once.
    """
    people = "accounts" if field == "Active" else "people"
    read = table.read.frame
    once = read.unique("username", keep="first", maintain_order=True) if field == "Active" else read
    if table.group.is_derived or (source := _source(table, field)) is None:
        yield f"No column says who is active: all {once.height:,} {people} are read as active"
        return
    yield f"{_in_words(source)} is read as follows: {_meanings(table, once, field, column, words)}"


def _accesses(table: ReadTable) -> Iterator[str]:
    """State how each word is read in a column that says whether rows grant or deny access."""
    source = None if table.shape.unpivot else _source(table, "Access")
    if source and table.read.frame.height:
        yield f"{_in_words(source)} is read as follows: {_meanings(table, table.read.frame, 'Access', 'access', {})}"


def _meanings(table: ReadTable, read: pl.DataFrame, field: str, column: str, words: Mapping[object, str]) -> str:
    """List the raw values of a field with their counts, grouped by the value that they are read as."""
    layout = lay_out(table.group.content, table.shaped.headers, table.group.columns, table.shape, table.shaped.made)
    texts = table.shaped.frame.select("line", text=pl.col(str(layout.fields[field])).str.strip_chars())
    pairs = read.select("line", column).join(texts.unique("line", keep="first"), on="line", maintain_order="left")
    found: dict[str, list[str]] = {}
    for value, text, number in pairs.group_by(column, "text", maintain_order=True).len().rows():
        found.setdefault(words.get(value, str(value)), []).append(f"{text[:_LONGEST] or 'blank'} ({number:,})")
    return "; ".join(f"{some_of(each, _MOST_WORDS)} as {meaning}" for meaning, each in found.items())


def _values(table: ReadTable) -> Iterator[str]:
    for field, words in table.shape.values.items():
        if same_header(field) not in (*_STATUSES, "access") or (table.shape.unpivot and same_header(field) == "access"):
            meant = [
                f"{'any other text' if word == ANY_OTHER else word or 'blank'} as {to}" for word, to in words.items()
            ]
            yield f"{field}: {some_of(meant, _MOST_WORDS)}"


def _split(table: ReadTable) -> Iterator[str]:
    for column, separator in table.shape.split.items():
        yield f"A cell of {column} has several values, {separated_by(separator)}"
        if separator == JSON and (example := _keyed_example(table, column)):
            yield f"Each value in {column} is read with its name before it, as in {example}"


def _keyed_example(table: ReadTable, column: str) -> str | None:
    """Return the first value of a column of objects that map names to values, or None."""
    positions = [i for i, header in enumerate(table.raw.headers) if same_header(header) == same_header(column)]
    cells = [table.raw.frame.get_column(str(i)).str.strip_chars() for i in positions]
    objects = [object_in(cell) for each in cells for cell in each.filter(each.str.starts_with("{")).head(_LEAST_ROWS)]
    return next((value for found in objects if found for value in keyed_values(found) if BETWEEN in value), None)


def _unpivot(table: ReadTable) -> Iterator[str]:
    matrix = table.shape.unpivot
    assert matrix
    kept = {*matrix.keep, *table.group.columns}
    across = len(matrix.columns or [header for header in table.raw.headers if header not in kept])
    if matrix.headers == matrix.cells or beside(table.shape):
        yield f"{matrix.cells} is read from {counted(across, 'column')}"
    else:
        yield f"The headers of {counted(across, 'column')} give {matrix.headers}; their cells give {matrix.cells}"


def _join(table: ReadTable) -> Iterator[str]:
    pairs = beside(table.shape)
    for field, pattern in table.shape.join.items():
        if field in pairs:
            told = some_of([f"{column} for {held}" for held, column in pairs[field]], _MOST_COLUMNS)
            yield f"{field} is the value of the column with the same number: {told}"
        elif same_header(field) not in _STATUSES:
            yield f"{field} is built from {pattern_in_words(pattern)}"


def _dates(table: ReadTable) -> Iterator[str]:
    for column, format in table.shape.dates.items():
        yield f"Dates of {column}: {format}"


def _derived(table: ReadTable) -> Iterator[str]:
    if not table.group.is_derived:
        names = table.read.frame.get_column("username").unique(maintain_order=True)
        names = names.filter(names != "")
        yield f"The file has no list of users: these rows name {derived_in_words(len(names), names)}"
        yield from doubtful_names(names)
        source = _source(table, "Username") or ""
        if same_header(source) == _GRANTEE:
            yield f"{source} may name roles too, which would become accounts. Add the list of users to tell them apart"


def _blank(table: ReadTable) -> Iterator[str]:
    """List the words that are read as blank. Leave out words of the shape that do not occur in the file."""
    longest = max(len(word.encode()) for word in table.shape.blank)
    cells = [table.raw.frame.get_column(str(i)).str.strip_chars() for i in range(len(table.raw.headers))]
    texts = {text.lower() for each in cells for text in each.filter(each.str.len_bytes() <= longest).unique().to_list()}
    found = [word for word in table.shape.blank if word.strip().lower() in texts]
    if found:
        yield f"Read as blank: {some_of(found, _MOST_WORDS)}"


def _ignored(table: ReadTable) -> Iterator[str]:
    """List the ignored columns that cannot be details of accounts, because rows of one account differ in them."""
    if table.group.content != Content.USERS or table.read.frame.height == table.read.frame.n_unique("username"):
        return
    ignored = {same_header(header) for header in table.shape.ignore}
    frame = table.read.frame.select("line", "username").join(table.raw.frame, on="line")
    named = [
        header
        for i, header in enumerate(table.raw.headers)
        if same_header(header) in ignored
        and frame.group_by("username").agg(pl.col(str(i)).str.strip_chars().n_unique()).get_column(str(i)).max() != 1
    ]
    if named:
        yield f"Not kept as details, because rows of one account differ in them: {some_of(named, _MOST_COLUMNS)}"


def _stated_elsewhere(table: ReadTable) -> Iterable[str]:
    """Return no sentence: the setting is shown elsewhere, or `_left_out` counts the rows that it leaves out."""
    return ()


# For each key of a shape, a function that yields sentences about it. Every key must have one.
STATED: dict[str, Callable[[ReadTable], Iterable[str]]] = {
    "header_line": _stated_elsewhere,
    "headers": _stated_elsewhere,
    "skip_lines": lambda table: [f"Left out above the rows: {counted(table.shape.skip_lines, 'line')}"],
    "delimiter": _stated_elsewhere,
    "aligned": _stated_elsewhere,
    "column_starts": _stated_elsewhere,
    "merge_extra_fields": lambda table: [f"Extra fields are merged into the last column, {table.raw.headers[-1]}"],
    "skip_rows_where": _stated_elsewhere,
    "fill_down": lambda table: [f"Blank cells repeat the value above: {some_of(table.shape.fill_down, _MOST_COLUMNS)}"],
    "sheet": _stated_elsewhere,
    "records": _stated_elsewhere,
    "values": _values,
    "invert": lambda table: [f"{field} is the opposite of what its column says" for field in table.shape.invert],
    "blank": _blank,
    "split": _split,
    "unpivot": _unpivot,
    "join": _join,
    "dates": _dates,
    "ignore": _ignored,
    "keep": lambda table: [f"Kept, although named like a secret: {some_of(table.shape.keep, _MOST_COLUMNS)}"],
    "derive_users": _derived,
    "open_questions": _stated_elsewhere,
}
