"""Turn a table of text into typed rows; malformed rows are rejected with a reason."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.read.columns import ColumnLayout
from rolecall.application_imports.read.dates import CANONICAL, read_dates
from rolecall.application_imports.read.parts import ONE_PART, Parting, RowParts
from rolecall.application_imports.read.secret_headers import without_nested_secrets
from rolecall.application_imports.read.table import Table
from rolecall.applications.field_words import ACCESS, ACTIVE, LOCKED, RISKS, STATUSES, TYPES
from rolecall.applications.file_shape import ANY_OTHER, FileShape
from rolecall.applications.model import Content, same_header
from rolecall.core.text import CONTROL, INVISIBLE
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.settings.model import CUSTOM_FIELDS

# The columns that identify a row.
KEYS: dict[Content, tuple[str, ...]] = {
    Content.USERS: ("username",),
    Content.GROUPS: ("group",),
    Content.MEMBERSHIPS: ("username", "group"),
    Content.PERMISSIONS: ("username", "group", "header", "section", "permission"),
    Content.IDENTITIES: ("employee_id",),
}
PLACE = ("file", "line")
# The name of the holder of a row; its hash decides which part the row belongs to. Contents without an entry have only
# one part.
_USERNAME = pl.col("username")
HOLDERS: dict[Content, pl.Expr] = {
    Content.USERS: _USERNAME,
    Content.MEMBERSHIPS: _USERNAME,
    Content.PERMISSIONS: pl.when(_USERNAME != "").then(_USERNAME).otherwise("group"),
}


class RejectedLine(NamedTuple):
    file: int
    line: int
    reason: str


class FileRows(NamedTuple):
    """Typed rows.

    `frame` has the columns of the content and, for each row, the index of its file (`file`) and its `line`.
    """

    frame: pl.DataFrame
    rejects: list[RejectedLine]
    repeats: int
    is_by_line: bool
    # The columns of `frame` that the file has. Other columns of `frame` have default values.
    columns: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    # How many rows of the file were left out, by reason.
    left_out: Mapping[str, int] = {}


class _Field(NamedTuple):
    """How to parse a field: as plain text, or by `words`; `other` is the value of words that are not in `words`."""

    column: str
    words: Mapping[str, object] | None = None
    expected: str = ""
    other: str | None = None

    def read(self, name: str, texts: pl.DataFrame) -> pl.Expr:
        if self.words is None:
            return pl.col(name)
        # Look up each distinct text once: even a column of a million rows has few of them.
        found = texts.get_column(name).unique().to_list()
        kind = pl.Boolean if isinstance(next(iter(self.words.values())), bool) else pl.String
        values = [self.words.get(text.replace(" ", "").lower(), self.other) for text in found]
        if len(found) < 2:
            return pl.lit(values[0] if values else None, kind)
        return pl.col(name).replace_strict(found, pl.Series(values, dtype=kind), return_dtype=kind)


_SET_VALUES = "; set shape.values for other words"
_YES_NO = f"True/False, Yes/No, Y/N or 1/0{_SET_VALUES}"
_ACCESSES = f"None, Unrestricted, Grant, Deny, Modify, Y or N{_SET_VALUES}"
_RISKS = f"None, Low, Moderate, High or Critical{_SET_VALUES}"
_ANY_TEXT = {
    "Username": "username", "Name": "name", "First Name": "first_name", "Last Name": "last_name", "Email": "email",
    "Employee ID": "employee_id", "Last Login": "last_login", "Password Changed": "password_changed",
    "Group": "group", "Description": "description", "Nomenclature": "nomenclature", "Parent": "parent",
    "Header": "header", "Section": "section", "Permission": "permission", "Value": "value",
    "Title": "title", "Company": "company", "Division": "division", "Department": "department", "Office": "office",
    "Supervisor ID": "supervisor_id", **{f"Custom Field {n}": f"custom_field_{n}" for n in CUSTOM_FIELDS},
}  # fmt: skip
FIELDS = {
    **{name: _Field(column) for name, column in _ANY_TEXT.items()},
    "Active": _Field("is_active", {**ACTIVE, "": True}, _YES_NO),
    "Locked": _Field("is_locked", {**LOCKED, "": False}, _YES_NO),
    "Access": _Field("access", ACCESS, _ACCESSES),
    "Risk Rating": _Field("risk_rating", RISKS, _RISKS),
    "Type": _Field("type", TYPES, other=IdentityType.UNKNOWN.value),
    "Status": _Field("status", STATUSES, ", ".join(IdentityStatus) + _SET_VALUES),
    "Created": _Field("created"),
    "Updated": _Field("updated"),
}
_FIELD_OF = {field.column: name for name, field in FIELDS.items()}
_MOMENTS = {"last_login", "password_changed", "created", "updated"}
LENGTHS = {"department": 128, **{f"custom_field_{n}": 2048 for n in CUSTOM_FIELDS}}
_LENGTH = 256
# Error values of spreadsheets, and the fields that must not contain an error value.
_ERRORS = ["#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#NV", "#BEZUG!", "#WERT!"]
_NAMING = ("Username", "Group", "Permission", "Employee ID")
_BLANK_ROW = "the row is blank"
# The same rule as `core.text.is_blank`.
_BLANK = f"^[{CONTROL}{INVISIBLE}]*$"


def parse_rows(
    content: Content,
    table: Table,
    layout: ColumnLayout,
    zone: ZoneInfo,
    fields: Sequence[str],
    shape: FileShape | None = None,
) -> FileRows:
    """Parse the `fields` of a content; a field without a column has its default value in every row."""
    named = {name: FIELDS[name] for name in fields}
    table, dated = _with_dates(table, layout, named, zone, shape)
    table = table._replace(frame=without_nested_secrets(table.frame, layout.metadata, shape))
    texts = table.frame.select(
        "line",
        *(
            (pl.col(str(layout.fields[name])).str.strip_chars() if name in layout.fields else pl.lit("")).alias(name)
            for name in named
        ),
        *([_metadata(layout)] if content in (Content.USERS, Content.GROUPS) else []),
    )
    texts = texts.with_columns(_given_words(shape) if shape else [])
    read = texts.with_columns(_read(name, field, texts, layout, shape) for name, field in named.items())
    if content == Content.USERS and (texts.get_column("Name") == "").any():
        read = read.with_columns(_full_name().alias("name"))
    errors = [] if table.is_plain else _errors(named)
    reason = pl.coalesce(*_blank_keys(content), *errors, *_misread(content, named), pl.lit(None, pl.String))
    checked = read.with_columns(reason.alias("reason"))
    bad = checked.filter(pl.col("reason").is_not_null())
    left_out = dict(table.left_out)
    if bad.height and (blank := _blank_lines(table, bad)):
        left_out[_BLANK_ROW] = len(set(blank))
        bad, table = bad.filter(~pl.col("line").is_in(blank)), table._replace(is_by_line=False)
    rejects = [RejectedLine(0, line, reason) for line, reason in bad.select("line", "reason").iter_rows()]
    good = checked.filter(pl.col("reason").is_null()) if bad.height or not table.is_by_line else checked
    columns = [field.column for field in named.values()] + (["metadata"] if "metadata" in good.columns else [])
    ragged = [RejectedLine(0, reject.line, reject.reason) for reject in table.ragged]
    has = frozenset(field.column for name, field in named.items() if name in layout.fields)
    by_line = table.is_by_line and not dated.is_inferred
    rejected = [*ragged, *rejects]
    return FileRows(good.select(*columns, "line"), rejected, 0, by_line, has, tuple(dated.notes), left_out)


def _blank_lines(table: Table, bad: pl.DataFrame) -> list[int]:
    """Return the line numbers of blank rows, which exports have between sections and above totals."""
    rows = table.frame.filter(pl.col("line").is_in(bad.get_column("line").to_list()))
    texts = pl.exclude("line").str.strip_chars() != ""
    return rows.filter(~pl.any_horizontal(texts)).get_column("line").to_list()


def _full_name() -> pl.Expr:
    """Build a missing name from first and last name."""
    name, halves = pl.col("Name"), pl.concat_str("First Name", pl.lit(" "), "Last Name").str.strip_chars()
    return pl.when(name == "").then(halves).otherwise(name)


def _read(name: str, field: _Field, texts: pl.DataFrame, layout: ColumnLayout, shape: FileShape | None) -> pl.Expr:
    value = field.read(name, texts)
    if name == "Access" and name not in layout.fields:
        # A file of permissions without an access column lists granted permissions.
        value = pl.lit("Grant")
    if shape and same_header(name) in map(same_header, shape.invert):
        value = pl.when(pl.col(name) == "").then(value).otherwise(~value)
    return value.alias(field.column)


def _given_words(shape: FileShape) -> list[pl.Expr]:
    """Return expressions that replace words of the file according to `shape.values`, ignoring case."""
    given = {same_header(field): words for field, words in shape.values.items()}
    exprs = []
    for name in FIELDS:
        if words := given.get(same_header(name)):
            lowered = {word.strip().lower(): value for word, value in words.items()}
            text = pl.col(f"^{re.escape(name)}$")
            other: pl.Expr = text
            if ANY_OTHER in lowered:
                other = pl.when(text == "").then(text).otherwise(pl.lit(lowered.pop(ANY_OTHER)))
            exprs.append(text.str.to_lowercase().replace_strict(lowered, default=other, return_dtype=pl.String))
    return exprs


class _Dated(NamedTuple):
    notes: list[str]
    is_inferred: bool


def _with_dates(
    table: Table, layout: ColumnLayout, named: Mapping[str, _Field], zone: ZoneInfo, shape: FileShape | None
) -> tuple[Table, _Dated]:
    """Convert dates to ISO 8601, in fields and in metadata columns that the shape names; return notes for the log."""
    formats = {same_header(name): format for name, format in shape.dates.items()} if shape else {}
    dates = {name: i for name, i in layout.fields.items() if name in named and named[name].column in _MOMENTS}
    dates |= {header: i for header, i in layout.metadata.items() if same_header(header) in formats}
    notes: list[str] = []
    is_inferred, frame = False, table.frame
    for name, i in dates.items():
        format = formats.get(same_header(name)) or formats.get(same_header(table.headers[i]))
        texts = frame.get_column(str(i)).rename(name)
        found = read_dates(texts, format, zone, is_shaped=shape is not None, is_piece=table.is_piece)
        notes += found.notes
        is_inferred = is_inferred or found.is_inferred
        if found.texts is not texts:
            frame = frame.with_columns(found.texts.rename(str(i)))
    return table._replace(frame=frame), _Dated(notes, is_inferred)


def _metadata(layout: ColumnLayout) -> pl.Expr:
    """Encode metadata with sorted keys, so that the order of columns does not matter."""
    if not layout.metadata:
        return pl.lit("{}").alias("metadata")
    values = (pl.col(str(i)).str.strip_chars().alias(header) for header, i in sorted(layout.metadata.items()))
    return pl.struct(*values).struct.json_encode().alias("metadata")


def _blank_keys(content: Content) -> list[pl.Expr]:
    def blank(name: str) -> pl.Expr:
        return pl.when(pl.col(name) == "").then(pl.lit(f"{name} is blank"))

    def invisible(name: str) -> pl.Expr:
        return pl.when(pl.col(name).str.contains(_BLANK)).then(pl.lit(f"{name} is blank"))

    match content:
        case Content.USERS:
            return [blank("Username")]
        case Content.GROUPS:
            return [blank("Group")]
        case Content.MEMBERSHIPS:
            return [blank("Username"), blank("Group")]
        case Content.IDENTITIES:
            return [blank("Employee ID"), invisible("First Name"), invisible("Last Name")]
        case Content.PERMISSIONS:
            user, group = pl.col("Username") == "", pl.col("Group") == ""
            return [
                pl.when(user & group).then(pl.lit("Username and Group are blank; one is needed")),
                pl.when(~user & ~group).then(pl.lit("Username and Group are both given; only one is allowed")),
                pl.when((pl.col("Permission") == "") & (pl.col("Section") == "")).then(
                    pl.lit("Permission and Section are blank; one is needed")
                ),
            ]


def _errors(named: Iterable[str]) -> list[pl.Expr]:
    return [
        pl.when(pl.col(name).is_in(_ERRORS)).then(
            pl.format("{} is {}, a spreadsheet error; correct the cell", pl.lit(name), pl.col(name))
        )
        for name in _NAMING
        if name in named
    ]


def _misread(content: Content, named: Mapping[str, _Field]) -> list[pl.Expr]:
    wrong: list[pl.Expr] = [
        pl.when(pl.col(field.column).is_null()).then(
            pl.format("{} is {}: expected {}", pl.lit(name), pl.col(name).str.slice(0, 50), pl.lit(field.expected))
        )
        for name, field in named.items()
        if field.expected
    ]
    if content == Content.IDENTITIES:
        for name, field in named.items():
            limit = LENGTHS.get(field.column, _LENGTH)
            if field.column in _MOMENTS:
                bad = (pl.col(name) != "") & ~pl.col(name).str.contains(CANONICAL)
                message = pl.format("{} is {}: expected an ISO 8601 date", pl.lit(name), pl.col(name).str.slice(0, 50))
            else:
                bad = pl.col(name).str.len_chars() > limit
                message = pl.lit(f"{name} must be at most {limit} characters")
            wrong.append(pl.when(bad).then(message))
        for name in ("First Name", "Last Name"):
            bad = pl.col(name).str.contains(f"[{CONTROL}]")
            wrong.append(pl.when(bad).then(pl.lit(f"{name} must not contain control characters")))
    return wrong


class GroupRows(NamedTuple):
    """The rows of all files of a file group, in parts. Each key occurs once."""

    rows: RowParts
    rejects: list[RejectedLine]
    repeats: int
    is_by_line: bool
    columns: frozenset[str]
    notes: tuple[str, ...]
    # For each file, how often a derived user was found again in another piece of the file.
    common: Counter[int]


class Collector:
    """Collect the rows of the files of a file group, piece by piece."""

    def __init__(self, content: Content, parting: Parting = ONE_PART, *, is_derived: bool = False) -> None:
        self.content = content
        self.is_derived = is_derived
        self.parting = parting if content in HOLDERS else ONE_PART
        self._rows = RowParts(self.parting)
        # Hashes of keys. If all hashes of a part differ, no key repeats, and the rows of the part need not be read.
        self._hashes = RowParts(self.parting, "uncompressed")
        self._read: list[FileRows] = []
        self._rejects: list[RejectedLine] = []

    def add(self, file: int, read: FileRows) -> None:
        frame = read.frame.with_columns(file=pl.lit(file, pl.UInt32))
        number = self.parting.number(HOLDERS.get(self.content, pl.lit("")))
        if self.parting.count > 1:
            key = frame.select(KEYS[self.content]).hash_rows()
            self._hashes.add(frame.select(number.alias("part"), key=key), pl.col("part"))
        self._rows.add(frame, number)
        self._rejects += [reject._replace(file=file) for reject in read.rejects]
        self._read.append(read._replace(frame=read.frame.clear(), rejects=[]))

    def finish(self) -> GroupRows:
        """Merge equal rows with the same key; reject rows that repeat a key with other values."""
        repeats, common = 0, Counter[int]()
        for part, height in enumerate(self._rows.heights):
            if height and self._repeats(part, height):
                found = self._rows.part(part)
                if self.is_derived:
                    # Keep each user of a file once, although several pieces of the file may name the user.
                    once = found.unique([*KEYS[self.content], "file"], keep="first", maintain_order=True)
                    common.update(found.get_column("file").to_list())
                    common.subtract(once.get_column("file").to_list())
                    found = once
                rows, rejects, merged = merge(self.content, found)
                self._rows.replace(part, rows)
                self._rejects += rejects
                repeats += merged
        is_by_line = all(read.is_by_line for read in self._read)
        has = frozenset.intersection(*(read.columns for read in self._read))
        notes = tuple(dict.fromkeys(note for read in self._read for note in read.notes))
        return GroupRows(self._rows, self._rejects, repeats, is_by_line, has, notes, common)

    def _repeats(self, part: int, height: int) -> bool:
        """Return whether a key may repeat: compare hashes, because that is faster than comparing keys."""
        if self.parting.count > 1:
            return self._hashes.part(part).get_column("key").n_unique() < height
        return self._rows.part(part).select(KEYS[self.content]).hash_rows().n_unique() < height


def merge(content: Content, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[RejectedLine], int]:
    """Return the first row of each key, a reject for each later row with other values, and the number of equal rows."""
    key, rejects = list(KEYS[content]), []
    again = ~pl.struct(key).is_first_distinct()
    repeated, first = frame.filter(again), frame.filter(~again)
    values = [column for column in frame.columns if column not in (*key, *PLACE)]
    pairs = repeated.join(first, on=key, how="left", suffix="_first")
    same = pl.all_horizontal(pl.lit(True), *(pl.col(name).eq_missing(pl.col(f"{name}_first")) for name in values))
    for file, line, file_first, line_first, *keys in (
        pairs.filter(~same).select(*PLACE, "file_first", "line_first", *key).rows()
    ):
        where = f"line {line_first}" if file_first == file else f"line {line_first} of another file"
        named = " and ".join(_FIELD_OF[name] for name, value in zip(key, keys, strict=True) if value != "")
        rejects.append(RejectedLine(file, line, f"{where} has the same {named} with other values"))
    return first, rejects, pairs.filter(same).height
