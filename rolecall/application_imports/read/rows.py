"""Turn a table of text into typed rows; malformed rows are rejected with a reason."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.read.columns import ColumnLayout
from rolecall.application_imports.read.table import Table
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.text import CONTROL, INVISIBLE, fold, sort_key
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.settings.model import CUSTOM_FIELDS

YES_NO = {"true": True, "yes": True, "y": True, "1": True, "false": False, "no": False, "n": False, "0": False}
ACCESS = {
    **{word.lower(): word for word in ("None", "Unrestricted", "Grant", "Deny", "Modify")},
    "y": "Grant",
    "n": "Deny",
    "": "None",
}
RISKS = {
    **{word.lower(): word for word in ("None", "Low", "Moderate", "High", "Critical")},
    "medium": "Moderate",
    "": "None",
}
TYPES = {fold(type): type.value for type in IdentityType} | {"": IdentityType.EMPLOYEE.value}
STATUSES = {fold(status): status.value for status in IdentityStatus} | {
    "": IdentityStatus.ACTIVE.value,
    "inactive": IdentityStatus.DISABLED.value,
    "terminated": IdentityStatus.DISABLED.value,
}

# The columns that identify a row.
KEYS: dict[Content, tuple[str, ...]] = {
    Content.USERS: ("username",),
    Content.GROUPS: ("group",),
    Content.MEMBERSHIPS: ("username", "group"),
    Content.PERMISSIONS: ("username", "group", "header", "section", "permission"),
    Content.IDENTITIES: ("employee_id",),
}
PLACE = ("file", "line")


class RejectedLine(NamedTuple):
    file: int
    line: int
    reason: str


class FileRows(NamedTuple):
    """Typed rows: `frame` has the columns of the content and the place of each row, `file` (a position) and `line`."""

    frame: pl.DataFrame
    rejects: list[RejectedLine]
    repeats: int
    is_by_line: bool
    # The columns of `frame` that the file has; the others are blank.
    columns: frozenset[str] = frozenset()


class _Field(NamedTuple):
    """How to parse the text of a field, and which values are expected if that fails."""

    column: str
    read: Callable[[pl.Expr], pl.Expr] = lambda text: text
    expected: str = ""


def _word(words: Mapping[str, object], blank: object = None, other: str | None = None) -> Callable[[pl.Expr], pl.Expr]:
    known = words if blank is None else {**words, "": blank}
    kind = pl.Boolean if isinstance(next(iter(known.values())), bool) else pl.String
    return lambda text: (
        text.str.replace_all(" ", "", literal=True)
        .str.to_lowercase()
        .replace_strict(known, default=other, return_dtype=kind)
    )


_YES_NO = "True/False, Yes/No, Y/N or 1/0"
_ACCESSES = "None, Unrestricted, Grant, Deny, Modify, Y or N"
_RISKS = "None, Low, Moderate, High or Critical"
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
    "Active": _Field("is_active", _word(YES_NO, blank=True), _YES_NO),
    "Locked": _Field("is_locked", _word(YES_NO, blank=False), _YES_NO),
    "Access": _Field("access", _word(ACCESS), _ACCESSES),
    "Risk Rating": _Field("risk_rating", _word(RISKS), _RISKS),
    "Type": _Field("type", _word(TYPES, other=IdentityType.UNKNOWN.value)),
    "Status": _Field("status", _word(STATUSES), ", ".join(IdentityStatus)),
    "Created": _Field("created"),
    "Updated": _Field("updated"),
}
_MOMENTS = {"last_login", "password_changed", "created", "updated"}
_CANONICAL = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
LENGTHS = {"department": 128, **{f"custom_field_{n}": 2048 for n in CUSTOM_FIELDS}}
_LENGTH = 256
# The same rule as `core.text.is_blank`.
_BLANK = f"^[{CONTROL}{INVISIBLE}]*$"


def parse_rows(content: Content, table: Table, layout: ColumnLayout, zone: ZoneInfo, fields: Sequence[str]) -> FileRows:
    """Parse the `fields` of a content; a field without a column is blank in every row."""
    named = {name: FIELDS[name] for name in fields}
    texts = table.frame.select(
        "line",
        *(
            (pl.col(str(layout.fields[name])).str.strip_chars() if name in layout.fields else pl.lit("")).alias(name)
            for name in named
        ),
        *([_metadata(layout)] if content in (Content.USERS, Content.GROUPS) else []),
    )
    texts = _with_moments(texts, {name: field for name, field in named.items() if field.column in _MOMENTS}, zone)
    read = texts.with_columns(field.read(pl.col(name)).alias(field.column) for name, field in named.items())
    reason = pl.coalesce(*_blank_keys(content), *_misread(content, named), pl.lit(None, pl.String))
    checked = read.with_columns(reason.alias("reason"))
    bad = checked.filter(pl.col("reason").is_not_null())
    rejects = [RejectedLine(0, line, reason) for line, reason in bad.select("line", "reason").iter_rows()]
    good = checked.filter(pl.col("reason").is_null()) if bad.height else checked
    columns = [field.column for field in named.values()] + (["metadata"] if "metadata" in good.columns else [])
    ragged = [RejectedLine(0, reject.line, reject.reason) for reject in table.ragged]
    has = frozenset(field.column for name, field in named.items() if name in layout.fields)
    return FileRows(good.select(*columns, "line"), [*ragged, *rejects], 0, table.is_by_line, has)


def _metadata(layout: ColumnLayout) -> pl.Expr:
    """Encode metadata with sorted keys, so that the order of columns does not matter."""
    if not layout.metadata:
        return pl.lit("{}").alias("metadata")
    values = (pl.col(str(i)).str.strip_chars().alias(header) for header, i in sorted(layout.metadata.items()))
    return pl.struct(*values).struct.json_encode().alias("metadata")


def _with_moments(texts: pl.DataFrame, moments: Mapping[str, _Field], zone: ZoneInfo) -> pl.DataFrame:
    """Write ISO dates and times in one format; leave other texts unchanged."""
    for name in moments:
        text = texts.get_column(name)
        odd = text.filter((text != "") & ~text.str.contains(_CANONICAL)).unique().to_list()
        if odd:
            texts = texts.with_columns(pl.col(name).replace({value: _moment(value, zone) for value in odd}))
    return texts


def _moment(text: str, zone: ZoneInfo) -> str:
    try:
        return f"{clock.parse(text, zone):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        return text


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
                pl.when(~user & ~group).then(pl.lit("Username and Group are both given; one is needed")),
                pl.when((pl.col("Permission") == "") & (pl.col("Section") == "")).then(
                    pl.lit("Permission and Section are blank; one is needed")
                ),
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
                bad = (pl.col(name) != "") & ~pl.col(name).str.contains(_CANONICAL)
                message = pl.format("{} is {}: expected an ISO 8601 date", pl.lit(name), pl.col(name).str.slice(0, 50))
            else:
                bad = pl.col(name).str.len_chars() > limit
                message = pl.lit(f"{name} must be at most {limit} characters")
            wrong.append(pl.when(bad).then(message))
        for name in ("First Name", "Last Name"):
            bad = pl.col(name).str.contains(f"[{CONTROL}]")
            wrong.append(pl.when(bad).then(pl.lit(f"{name} must not contain control characters")))
    return wrong


def merge_files(content: Content, parts: Sequence[FileRows]) -> FileRows:
    """Merge the files of a group; a key that repeats with other values is rejected."""
    frame = pl.concat([part.frame.with_columns(file=pl.lit(i, pl.UInt32)) for i, part in enumerate(parts)])
    rejects = [reject._replace(file=i) for i, part in enumerate(parts) for reject in part.rejects]
    is_by_line = all(part.is_by_line for part in parts)
    has = frozenset.intersection(*(part.columns for part in parts))
    key = list(KEYS[content])
    # Distinct hashes prove that no key repeats, several times faster than comparing the keys.
    if frame.select(key).hash_rows().n_unique() == frame.height:
        return FileRows(frame, rejects, 0, is_by_line, has)
    again = ~pl.struct(key).is_first_distinct()
    repeated, first = frame.filter(again), frame.filter(~again)
    values = [column for column in frame.columns if column not in (*key, *PLACE)]
    pairs = repeated.join(first, on=key, how="left", suffix="_first")
    same = pl.all_horizontal(pl.lit(True), *(pl.col(name).eq_missing(pl.col(f"{name}_first")) for name in values))
    for file, line, file_first, line_first in pairs.filter(~same).select(*PLACE, "file_first", "line_first").rows():
        where = f"line {line_first}" if file_first == file else f"line {line_first} of another file"
        named = " and ".join(name for name in key if name != "group" or content != Content.PERMISSIONS)
        rejects.append(RejectedLine(file, line, f"the {named} of {where} comes again with other values"))
    return FileRows(first, rejects, pairs.filter(same).height, is_by_line, has)


def name_keys(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `first_name_key` and `last_name_key`, as identities have them; split a full name if both are blank."""
    halves = {"first_name_key": pl.col("first_name"), "last_name_key": pl.col("last_name")}
    only_full = (pl.col("first_name") == "") & (pl.col("last_name") == "") & (pl.col("name") != "")
    if frame.select(only_full.any()).item():
        halves = {
            key: pl.when(only_full).then(half.fill_null("").str.strip_chars()).otherwise(halves[key])
            for key, half in zip(halves, _halves_of(pl.col("name")), strict=True)
        }
    chosen = frame.with_columns(**halves)
    return chosen.with_columns(sort_keys(chosen.get_column(name)) for name in halves)


def _halves_of(name: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Split `Lovelace, Ada` and `Ada Lovelace` into first and last name."""
    is_reversed = name.str.contains(",", literal=True)
    comma, space = name.str.extract_groups(r"^([^,]*),(.*)$"), name.str.extract_groups(r"^(.*) (\S+)$")
    first = pl.when(is_reversed).then(comma.struct.field("2")).otherwise(space.struct.field("1"))
    last = pl.when(is_reversed).then(comma.struct.field("1")).otherwise(space.struct.field("2"))
    return first, last


def sort_keys(names: pl.Series) -> pl.Series:
    """Compute `core.text.sort_key` for all names; for ASCII it is lower case."""
    lowered = names.str.to_lowercase()
    other = names.filter(names.str.len_bytes() != names.str.len_chars()).unique().to_list()
    if not other:
        return lowered
    table = {name: sort_key(name) for name in other}
    return (
        pl.DataFrame({"n": names, "l": lowered})
        .select(pl.col("n").replace_strict(table, default=pl.col("l"), return_dtype=pl.String).alias(names.name))
        .to_series()
    )
