"""Recognize lists of what groups may do, if the header of the groups is known, but not that of the permissions."""

from typing import Any

from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.ending import ask_for_ended
from rolecall.file_shapes.accounts.holders import about_people
from rolecall.file_shapes.cells.row_keys import may_be_read, may_name_permissions
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.conditions import read_conditions
from rolecall.file_shapes.grants.denials import read_access
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_CERTAIN, _SURE = 0.9, 0.5
_MOST_OFFERED = 4
_PLACES = ("Header", "Section")


def find_permissions_of_groups(view: View) -> list[Part]:
    """Read rows as permissions if a header certainly means groups, groups repeat, and no column is about people.

    Ask which column names the permissions.
    """
    fields = view.fields(Content.PERMISSIONS)
    group = fields.get("Group")
    if group is None or group.score < _CERTAIN or "Username" in fields or about_people(view):
        return []
    column = view.by_header[group.header]
    if column.is_unique or not column.is_filled:
        return []
    offered = _offered(view, {group.header})
    if not offered:
        return []
    permission = next((each for each in offered if not _is_place(each, fields)), offered[0])
    why = f"the other columns say what the groups in {group.header} may do"
    kept = {field: each for field, each in fields.items() if field != "Permission" and each.header != permission.header}
    chosen = {**kept, "Permission": Meaning(permission.header, "Permission", 0.5, why)}
    chosen = {field: each for field, each in chosen.items() if each.score > _SURE or field == "Permission"}
    shape: dict[str, Any] = {}
    evidence = [f"{group.header} names groups, and no column names people: {why}"]
    read_access(view, chosen, shape, evidence)
    part = read_conditions(view, Part(Content.PERMISSIONS, chosen, shape, 0.5, evidence))
    ask_for_ended(view, part)
    _ask(part, group.header, permission, offered)
    return [part]


def _offered(view: View, taken: set[str]) -> list[Profile]:
    """Return the columns that may name permissions: first those with such a header, then those with repeated values."""
    found = [each for each in view.profiles if each.header not in taken and may_be_read(each) and each.is_filled]
    return sorted(found, key=lambda each: (not may_name_permissions(each), each.is_unique))


def _is_place(column: Profile, fields: dict[str, Meaning]) -> bool:
    return any(fields[field].header == column.header for field in _PLACES if field in fields)


def _ask(part: Part, group: str, permission: Profile, offered: list[Profile]) -> None:
    others = [each for each in offered if each is not permission][:_MOST_OFFERED]
    text = (
        f"{group} names groups. Does {permission.header} name what they may do, such as {permission.distinct[0][:40]}? "
        "If it names accounts, choose memberships as the content."
    )
    choices = [ProposedChoice(f"Yes, {permission.header} names permissions", "Permission", AS_PROPOSED)]
    choices += [ProposedChoice(f"No, {each.header} does", "Permission", each.header) for each in others]
    part.ask(text, *choices)
