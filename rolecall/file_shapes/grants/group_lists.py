"""Recognize lists of groups: JSON with records such as `userGroups`, and names beside a column such as Role Type."""

import re

from rolecall.applications.model import Content
from rolecall.core.text import some_of
from rolecall.file_shapes.accounts.holders import about_people
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.parts import View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

_GROUPS = re.compile(r"(?:user|security|access|admin)?(?:group|role|team)s?")
_BESIDE = {"user", "security", "access", "admin", "all", "list"}
_ROLES = ["role", "roles", "rolename"]
_NAMES = (["name"], ["displayname"], ["groupname"], ["rolename"], ["teamname"], ["key"], ["title"])
# A header with a higher score certainly names an account. The header `key` has a lower score.
_LOGIN = 0.6
_MOST_NAMED = 2


# Columns with the kind of a role. Columns with kinds of groups are left out: they may be about the account.
_KINDS = ["roletype", "rolekind", "rolecategory"]
# A share above this means most of the values.
_MOSTLY = 0.5


def name_of_groups(view: View) -> Meaning | None:
    """Return the column with the names of groups, unless the rows describe accounts."""
    step, is_listed, kind = _step(view), _is_listed(view), _kind_of_roles(view)
    if (not is_listed and kind is None) or about_people(view) - {"Name", "Active"}:
        return None
    if any(each.field == "Username" and each.score > _LOGIN for each in meanings(Content.USERS, view.profiles)):
        return None
    named = (each for name in _NAMES for each in view.profiles if names_of(each.header)[:1] == name)
    column = next((each for each in named if each.is_unique and each.is_filled), None)
    why = f"the records are the list {step}" if is_listed else f"{kind} says of which kind each role is"
    return Meaning(column.header, "Group", 0.8, why) if column else None


def ask_if_roles(view: View, name: str) -> list[OpenQuestion]:
    """Ask whether the rows are roles, if the only sign of this is a column such as Role Type."""
    kind = _kind_of_roles(view)
    if kind is None or _is_listed(view):
        return []
    first = some_of(view.by_header[name].distinct, _MOST_NAMED)
    text = f"{kind} says of which kind a role is. What does {name} name, such as {first}: roles or accounts?"
    choices = [
        ProposedChoice("Roles", "Username", AS_PROPOSED),
        ProposedChoice("Accounts", CONTENT, Content.USERS),
    ]
    return [OpenQuestion(text, choices)]


def _step(view: View) -> str:
    return (view.table.records or "").rpartition(".")[2]


def _is_listed(view: View) -> bool:
    """Return whether the list of records is called groups or roles."""
    words = words_of(_step(view)) - _BESIDE
    return bool(words) and all(map(_GROUPS.fullmatch, words))


def _kind_of_roles(view: View) -> str | None:
    """Return the header of a column such as Role Type beside a column of names that may be those of roles."""
    kind, named = view.named(_KINDS), view.named(["name", "displayname", "title"])
    is_beside = kind and kind.values and named and named.names <= _MOSTLY and view.named(_ROLES) is None
    return kind.header if kind and is_beside else None
