"""Recognize JSON whose list of records has a name such as `userGroups`: the records are groups, not accounts."""

import re

from rolecall.applications.model import Content
from rolecall.file_shapes.header_names import names_of, words_of
from rolecall.file_shapes.holders import about_people
from rolecall.file_shapes.meanings import Meaning, meanings
from rolecall.file_shapes.parts import View

_GROUPS = re.compile(r"(?:user|security|access|admin)?(?:group|role|team)s?")
_BESIDE = {"user", "security", "access", "admin", "all", "list"}
_NAMES = (["name"], ["displayname"], ["groupname"], ["rolename"], ["teamname"], ["key"], ["title"])
# A header with a higher score certainly names an account. The header `key` has a lower score.
_LOGIN = 0.6


def name_of_groups(view: View) -> Meaning | None:
    """Return the column with the names of groups if the list of records is called groups and has no accounts."""
    step = (view.table.records or "").rpartition(".")[2]
    words = words_of(step) - _BESIDE
    if not words or not all(map(_GROUPS.fullmatch, words)) or about_people(view) - {"Name", "Active"}:
        return None
    if any(each.field == "Username" and each.score > _LOGIN for each in meanings(Content.USERS, view.profiles)):
        return None
    named = (each for name in _NAMES for each in view.profiles if names_of(each.header)[:1] == name)
    column = next((each for each in named if each.is_unique and each.is_filled), None)
    return Meaning(column.header, "Group", 0.8, f"the records are the list {step}") if column else None
