"""Map the columns of a file to fields. Other columns of users and groups become metadata, unless secret or ignored."""

from collections.abc import Mapping, Sequence

import msgspec

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.secret_headers import secret_headers
from rolecall.application_imports.read.table import Table
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import FIELDS, Content, same_header
from rolecall.core.text import some_of

ALIASES = {
    "Username": ("User Name", "Login", "Account"),
    "Name": ("Full Name", "Display Name"),
    "Email": ("E-mail", "Email Address"),
    "Last Login": ("Last Login Date", "Login Date"),
    "Group": ("Role", "Profile"),
    "Header": ("Heading", "Category"),
}

# For each tuple of fields, a file must have a column for at least one of them.
REQUIRED: dict[Content, tuple[tuple[str, ...], ...]] = {
    Content.USERS: (("Username",),),
    Content.GROUPS: (("Group",),),
    Content.MEMBERSHIPS: (("Username",), ("Group",)),
    Content.PERMISSIONS: (("Username", "Group"), ("Permission",)),
    Content.IDENTITIES: (("Employee ID",), ("First Name",), ("Last Name",)),
}

_MOST_NAMED = 30
_LONGEST_NAME = 100
_NEAR_TOP = 20
# A file of permissions with more columns is probably a matrix.
_WIDE = 12

# Fields with a default: active, not locked, granted. The default applies only if the connector maps no column to the
# field. In a file with a header, a mapped column that is missing is an error.
_NEVER_ASSUMED = {"Active", "Locked", "Access", "Status"}

HAS_METADATA = {Content.USERS, Content.GROUPS}


class ColumnLayout(msgspec.Struct, frozen=True):
    """The positions of columns: a map from fields, and a map from headers of metadata."""

    fields: dict[str, int]
    metadata: dict[str, int]
    # Headers that look like secrets, whose columns are not kept.
    secret: list[str]


def lay_out(
    content: Content,
    headers: Sequence[str],
    mapping: Mapping[str, str],
    shape: FileShape | None = None,
    made: Mapping[str, int] | None = None,
) -> ColumnLayout:
    """Find the column of each field.

    Columns `made` by the shape take precedence, then `mapping`, then headers that equal the field's name or an alias.
    """
    _check_headers(headers)
    mapped = {same_header(header): field for header, field in mapping.items()}
    known = {same_header(name): field for field in FIELDS[content] for name in (field, *ALIASES.get(field, ()))}
    fields: dict[str, int] = {}
    for i, header in enumerate(headers):
        if field := mapped.get(same_header(header)):
            _check_once(field, fields, headers, header)
            fields[field] = i
    fields |= made or {}
    given = {*mapped.values(), *(made or ())}
    left_out = {same_header(header) for header in (shape.ignore if shape else ())}
    for i, header in enumerate(headers):
        field = known.get(same_header(header))
        if field is None or i in fields.values() or field in given or same_header(header) in left_out:
            continue
        _check_once(field, fields, headers, header)
        fields[field] = i
    for choice in REQUIRED[content]:
        if not any(field in fields for field in choice):
            raise BrokenFile(_missing(choice, content, headers), line=1)
    rest = {header: i for i, header in enumerate(headers) if i not in fields.values()}
    if content not in HAS_METADATA:
        return ColumnLayout(fields, {}, [])
    secret = secret_headers(list(rest), shape.keep if shape else ())
    ignored = {same_header(header) for header in (*secret, *(shape.ignore if shape else ()))}
    kept = {header: i for header, i in rest.items() if same_header(header) not in ignored}
    return ColumnLayout(fields, kept, secret)


def _check_once(field: str, fields: Mapping[str, int], headers: Sequence[str], header: str) -> None:
    if field in fields:
        one = f"map one of them to {field} in columns"
        raise BrokenFile(f"columns {headers[fields[field]]} and {header} are both read as {field}; {one}", line=1)


def require_states(layout: ColumnLayout, headers: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Raise BrokenFile if the file lacks a column that is mapped to Active, Locked, Access or Status.

    The column may be absent if another column gives the field.
    """
    for header, field in mapping.items():
        if field in _NEVER_ASSUMED and field not in layout.fields:
            advice = "correct the file, or update the connector for changed files"
            raise BrokenFile(f"the column {header}, read as {field}, is missing; {advice}; {listed(headers)}", line=1)


def header_below(content: Content, table: Table, mapping: Mapping[str, str]) -> int | None:
    """Return a line near the top that may be the real header, because it has the required columns; None if none has."""
    rows = [(line, row) for line, *row in table.frame.head(_NEAR_TOP).iter_rows()]
    rows += [(ragged.line, ragged.row) for ragged in table.ragged[:_NEAR_TOP]]
    for line, row in sorted(rows):
        try:
            lay_out(content, [cell.strip() or f"column {n}" for n, cell in enumerate(row)], mapping)
        except BrokenFile:
            continue
        return int(line)
    return None


def _missing(choice: Sequence[str], content: Content, headers: Sequence[str]) -> str:
    missing = f"the column {' or '.join(choice)} is missing; {listed(headers)}"
    if content == Content.PERMISSIONS and len(headers) > _WIDE:
        return f"{missing}. It looks like a matrix: set shape.unpivot, or map a column in columns"
    return missing


def listed(headers: Sequence[str]) -> str:
    """List the headers of a file, up to a limit, for a message."""
    return f"the columns found are {some_of([header[:_LONGEST_NAME] for header in headers], _MOST_NAMED)}"


def _check_headers(headers: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for i, header in enumerate(headers, 1):
        if not header:
            raise BrokenFile(f"column {i} has no header; set shape.headerLine if the header is another line", line=1)
        if header in first:
            raise BrokenFile(
                f"columns {first[header]} and {i} have the same header {header}; "
                "set shape.headerLine if the header is another line",
                line=1,
            )
        first[header] = i
