"""Read a JSON object that maps the names of accounts to groups, or the names of groups to members."""

from collections.abc import Sequence
from typing import Any

from rolecall.application_imports.read.json_records import MEMBERS
from rolecall.applications.file_shape import JSON
from rolecall.applications.model import Content
from rolecall.file_shapes.cells.keyed_members import read_keyed_members
from rolecall.file_shapes.columns.header_names import names_access
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion

_MOST_NAMED = 3


def find_keyed_lists(view: View) -> list[Part]:
    """Recognize an object that maps names to lists or maps.

    Ask whether the names are those of accounts or of groups, unless there is already a question about the members.
    """
    path = view.table.records or ""
    if not path.endswith(MEMBERS) or {"key", "access"} - view.by_header.keys():
        return []
    are_groups = names_access(path.removesuffix(MEMBERS))
    holder, held = ("access", "key") if are_groups else ("key", "access")
    why = f"the object {path.removesuffix(MEMBERS)} maps names to {'members' if are_groups else 'access'}"
    username, group = Meaning(holder, "Username", 0.5, why), Meaning(held, "Group", 0.5, why)
    shape: dict[str, Any] = {"split": {"access": JSON}}
    evidence = [f"{held} has the names of groups, {holder} the names of their members: {why}"]
    pairs = Part(Content.MEMBERSHIPS, {"Username": username, "Group": group}, shape, 0.5, evidence)
    ignore = {"ignore": ["access"]}
    if are_groups:
        shape["deriveUsers"] = True
        read_keyed_members(pairs, view.by_header["key"], view.by_header["access"])
    pairs.questions = pairs.questions or [_ask_who_holds(view, are_groups=are_groups)]
    if are_groups:
        return [Part(Content.GROUPS, {"Group": group}, ignore, 0.5, list(evidence)), pairs]
    return [Part(Content.USERS, {"Username": username}, ignore, 0.5, list(evidence)), pairs]


def _ask_who_holds(view: View, *, are_groups: bool) -> OpenQuestion:
    names, values = (_listed(view.by_header[header].distinct) for header in ("key", "access"))
    groups, members = (names, values) if are_groups else (values, names)
    other = "read users instead of groups" if are_groups else "read groups instead of users"
    text = f"Are {groups} the groups of the accounts {members}?"
    return OpenQuestion(f"{text} If not, {other}, and exchange key and access in columns", [])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED])
