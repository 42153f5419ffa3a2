"""Map the columns of a file to fields; the rest becomes metadata."""

from collections.abc import Mapping, Sequence

import msgspec

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.applications.model import FIELDS, Content, same_header

ALIASES = {
    "Username": ("User Name", "Login", "Account"),
    "Name": ("Full Name", "Display Name"),
    "Email": ("E-mail", "Email Address"),
    "Last Login": ("Last Login Date", "Login Date"),
    "Group": ("Role", "Profile"),
    "Header": ("Heading", "Category"),
}

# A file must have one field of each entry.
REQUIRED: dict[Content, tuple[tuple[str, ...], ...]] = {
    Content.USERS: (("Username",),),
    Content.GROUPS: (("Group",),),
    Content.MEMBERSHIPS: (("Username",), ("Group",)),
    Content.PERMISSIONS: (("Username", "Group"), ("Permission",)),
    Content.IDENTITIES: (("Employee ID",), ("First Name",), ("Last Name",)),
}

HAS_METADATA = {Content.USERS, Content.GROUPS}


class ColumnLayout(msgspec.Struct, frozen=True):
    """Positions of columns: by field, and by header for metadata."""

    fields: dict[str, int]
    metadata: dict[str, int]


def lay_out(content: Content, headers: Sequence[str], mapping: Mapping[str, str]) -> ColumnLayout:
    """Find the column of each field; `mapping` of the connector (header to field) precedes names and aliases."""
    _check_headers(headers)
    mapped = {same_header(header): field for header, field in mapping.items()}
    known = {same_header(name): field for field in FIELDS[content] for name in (field, *ALIASES.get(field, ()))}
    fields = {field: i for i, header in enumerate(headers) if (field := mapped.get(same_header(header)))}
    for i, header in enumerate(headers):
        field = known.get(same_header(header))
        if field is None or i in fields.values() or field in mapped.values():
            continue
        if field in fields:
            raise BrokenFile(f"columns {headers[fields[field]]} and {header} both are the {field}", line=1)
        fields[field] = i
    for choice in REQUIRED[content]:
        if not any(field in fields for field in choice):
            found = ", ".join(headers)
            raise BrokenFile(f"the column {' or '.join(choice)} is missing; the columns found are {found}", line=1)
    rest = {header: i for i, header in enumerate(headers) if i not in fields.values()}
    return ColumnLayout(fields, rest if content in HAS_METADATA else {})


def _check_headers(headers: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for i, header in enumerate(headers, 1):
        if not header:
            raise BrokenFile(f"column {i} has no header", line=1)
        if header in first:
            raise BrokenFile(f"columns {first[header]} and {i} have the same header {header}", line=1)
        first[header] = i
