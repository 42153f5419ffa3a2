"""Distinguish the names of permissions from keys of rows, such as a permission_id that is different in every row."""

import re

from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import is_about_person, is_flag, is_name_or_address, words_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Words in headers of keys, and of columns that may say what is permitted.
_KEYS = {"id", "no", "nr", "number", "key", "guid", "uuid", "code", "index"}
_PERMITTED = {
    "permission", "entitlement", "privilege", "right", "rights", "action", "verb", "operation", "method", "can",
    "activity", "function", "capability", "access", "level", "authorization",
}  # fmt: skip
# A number, perhaps after a few letters, as in P-101.
_COUNTED = re.compile(r"[A-Za-z]{0,5}[-_ ]?\d+")
_MOST_OFFERED = 4
# Words in headers of keys of grants, such as Assignment ID. `_BESIDE` has words that may also occur in such a header.
_GRANTS = {
    "assignment", "assign", "grant", "entitlement", "request", "record", "row", "line", "access", "membership",
    "review", "permission", "allocation", "entry", "item", "asg",
}  # fmt: skip
_BESIDE = {"role", "user", "group", "account", "employee"}


def use_named_permission(view: View, fields: dict[str, Meaning]) -> None:
    """Read permissions from the column with their names if the chosen column is the key of the rows."""
    found = fields.get("Permission")
    if found is None or not _is_key(view.by_header[found.header]):
        return
    taken = {meaning.header for meaning in fields.values()}
    own = words_of(found.header) - _KEYS
    others = [each for each in view.profiles if each.header not in taken and may_name_permissions(each)]
    others.sort(key=lambda each: not own <= words_of(each.header))
    if others:
        why = f"it says what is permitted, and {found.header} is different in every row"
        fields["Permission"] = Meaning(others[0].header, "Permission", 0.6, why)


def ask_for_row_key(view: View, part: Part) -> None:
    """Ask whether a column that is different in every row names permissions, if no other column seems to."""
    found = part.fields.get("Permission")
    if found is None or not _is_key(view.by_header[found.header]):
        return
    read = {*part.columns, *(each.header for each in view.profiles if _is_condition(part, each.header))}
    others = [each.header for each in view.profiles if each.header not in read and may_be_read(each)]
    text = (
        f"{found.header} is different in every row, like the key of a row. Does it name the permission? "
        "If so, no two accounts or groups hold the same permission."
    )
    choices = [ProposedChoice(f"Yes, {found.header} names the permission", "Permission", AS_PROPOSED)]
    choices += [ProposedChoice(f"No, {each} does", "Permission", each) for each in others[:_MOST_OFFERED]]
    part.ask(text, *choices)


def _is_condition(part: Part, header: str) -> bool:
    """Return whether patterns depend on a column, such as one that says which holders are groups."""
    return any(f"|when({header}=" in pattern for pattern in part.shape.get("join", {}).values())


def names_grant(column: Profile) -> bool:
    """Return whether a column such as Assignment ID is the key of a grant: it says nothing about the account."""
    words = {word.removesuffix("s") for word in words_of(column.header)}
    is_named = bool(words & _KEYS) and bool(words & _GRANTS) and words <= _KEYS | _GRANTS | _BESIDE
    return is_named and column.is_filled and column.is_unique


def _is_key(column: Profile) -> bool:
    """Return whether a column such as Permission ID has IDs or numbers such as P-101, different in each row."""
    is_named = bool(words_of(column.header) & _KEYS) and column.is_filled and column.is_unique
    return is_named and len(column.values) > 1 and is_counted(column)


def is_counted(column: Profile) -> bool:
    """Return whether all values are GUIDs, or numbers such as 101 and P-101, rather than names."""
    return column.is_opaque or all(map(_COUNTED.fullmatch, column.distinct))


def may_name_permissions(column: Profile) -> bool:
    return bool(words_of(column.header) & _PERMITTED) and not words_of(column.header) & _KEYS and may_be_read(column)


def may_be_read(column: Profile) -> bool:
    is_other = is_flag(column.header) or is_about_person(column.header) or is_name_or_address(column.header)
    return bool(column.values) and not (
        is_other or column.ticks or column.is_dated or column.emails or column.is_opaque
    )
