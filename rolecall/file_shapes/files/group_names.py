"""Ask whether holders with names like those of groups are groups, if no column and no list of users decides this."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from rolecall.applications.file_shape import fits_filters, fits_patterns
from rolecall.applications.model import Content
from rolecall.core.text import fold, some_of
from rolecall.file_shapes.accounts.kinds import is_spaced, kind_column, looks_like_group
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.cells.values import read_rows
from rolecall.file_shapes.choices import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# The key of an answer that reads holders as groups. Its value is the column and the names of these holders, joined by
# SEPARATOR.
GROUPS = "groups"
# Headers of columns that may name both users and groups.
_BOTH = re.compile(r"\s*users?\s*(?:/|&|\+|,|\bor\b|\band\b)\s*(?:groups?|roles?|teams?)\s*|userorgroup", re.IGNORECASE)
# Windows names that mean the owner of any object, as `fold` returns them (without spaces).
_OWNERS = {"ntauthority\\self", "creatorowner", "creatorgroup", "ownerrights"}
_MOST_SHOWN = 4
_MOST_NAMED = 50


def ask_for_group_names(view: View, parts: Sequence[Part]) -> None:
    """Ask about holders that look like groups and would become accounts; leave out rows that name an object's owner.

    If none looks like a group, but the header may mean groups too, such as User/Group, ask whether all are accounts.
    """
    for part in parts:
        _read_both(view, part)
        held = part.fields.get("Username")
        is_holding = part.content in (Content.MEMBERSHIPS, Content.PERMISSIONS) and part.shape.get("deriveUsers")
        if held is None or not is_holding or kind_column(view):
            continue
        column = read_rows(view, part, held.header)
        names = list(dict.fromkeys(values_of(column, part.shape.get("split", {}).get(held.header))))
        if owners := [name for name in names if fold(name) in _OWNERS]:
            part.skip_rows({"column": held.header, "is": owners})
            part.evidence.append(
                f"Rows of {', '.join(owners)} are left out: Windows uses such names for the owner of each object"
            )
        asked = {word for each in part.questions for choice in each.choices for word in choice.value.split(SEPARATOR)}
        spaced = [name for name in names if is_spaced(name)]
        addressed = [name for name in names if "@" in name]
        are_addresses = len(addressed) > 1 and 2 * len(addressed) > len(names)
        found = [
            name
            for name in names
            if name not in owners
            and name not in asked
            and (
                looks_like_group(name)
                or (name in spaced and 2 * len(spaced) < len(names))
                # Where most names are e-mail addresses, a name without an @ is often that of a group.
                or (are_addresses and "@" not in name)
            )
        ]
        if found:
            _ask(part, held.header, found[:_MOST_NAMED])
        elif _BOTH.fullmatch(held.header):
            _ask_for_kinds(part, held.header)


def _read_both(view: View, part: Part) -> None:
    """Read a column such as `User/Group` as usernames, so that a question asks which of them are groups."""
    group = part.fields.get("Group")
    is_holding = part.content == Content.PERMISSIONS and part.origin("Username") is None
    if group and is_holding and _BOTH.fullmatch(group.header) and not kind_column(view):
        part.fields["Username"] = msgspec.structs.replace(part.fields.pop("Group"), field="Username")
        part.shape["deriveUsers"] = True


def _ask_for_kinds(part: Part, header: str) -> None:
    text = (
        f"{header} may name users and groups, but no column says which. Are all of them accounts? "
        "Otherwise, add a column with the type of each to the export"
    )
    part.ask(text, ProposedChoice("Yes", "Username", AS_PROPOSED))


def _ask(part: Part, header: str, names: list[str]) -> None:
    shown = some_of(names, _MOST_SHOWN)
    value = SEPARATOR.join((header, *names))
    choices = [ProposedChoice("No, they are accounts", "Username", AS_PROPOSED)]
    if part.content == Content.MEMBERSHIPS:
        text = f"{header} names {shown}. Are these groups? Nested groups are not read."
        leave_out = SEPARATOR.join((header, "is", *names))
        choices.insert(0, ProposedChoice("Yes, leave out their rows", SKIP_ROWS, leave_out))
    else:
        text = f"{header} names {shown}. Are these groups? No column says so."
        if fits_patterns(header) and all(map(fits_filters, names)):
            choices.insert(0, ProposedChoice("Yes, read them as groups", GROUPS, value))
    part.ask(text, *choices)


def read_as_groups(section: Any, value: str) -> None:
    """Read holders of permissions as groups if `value` lists them, and otherwise as accounts."""
    header, *names = value.split(SEPARATOR)
    join = section["shape"].setdefault("join", {})
    pattern = join.get("Username") or f"{{{header}}}"
    section["columns"].pop(header, None)
    others = "".join(f"|unless({header}={name})" for name in names)
    join["Username"] = pattern.replace(f"{{{header}", f"{{{header}{others}", 1)
    join["Group"] = "".join(f"{{{header}|when({header}={name})}}" for name in names)
