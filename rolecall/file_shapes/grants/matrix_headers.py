"""Decide what the headers of a matrix name: users, groups or permissions."""

import re
from collections.abc import Sequence
from typing import Any

from rolecall.applications.model import Content
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.matrix_rows import HEADERS_ACROSS, ask_for_roles
from rolecall.file_shapes.parts import Part
from rolecall.file_shapes.shapes import ProposedChoice

# Matches a full name or an e-mail address.
PERSON = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'.-]*){1,3}|[^@\s]{1,64}@[^@\s]{1,255}")
# Matches a login that ends with a digit, a login such as ada.lovelace, or an e-mail address.
_LOGIN = re.compile(r"(?:\w++\\)?[A-Za-z]{2}[\w.-]*+(?<=\d)|[a-z]+[._][a-z]+|[^@\s]{1,64}@[^@\s]{1,255}")
_WORD = re.compile(r"\S+")
# Words in the names of roles.
ROLE = re.compile(
    r"admin|manag|edit|view|user|owner|audit|operat|member|guest|teller|officer|clerk|superv|staff|support|sales|read|writ"
    r"|contrib|develop|analyst|role|group|team|rolle|gruppe|all|public",
    re.IGNORECASE,
)
# What the headers of a matrix may be, with a label for each field.
_HOLDERS = {"Username": "Users", "Group": "Groups or roles"}


def across_rows(ticked: Sequence[Profile]) -> str:
    """Return which field the headers contain if a matrix has permissions in its rows: Username or Group."""
    headers = [each.header for each in ticked]
    is_login = 2 * sum(map(bool, map(_LOGIN.fullmatch, headers))) > len(headers)
    return "Username" if is_login or _may_be_people(headers) else "Group"


def _may_be_people(headers: Sequence[str]) -> bool:
    """Return whether the headers may be people: all look like full names, and none contains a word for a role."""
    return _share_of_people(headers) == 1 and not any(map(ROLE.search, headers))


def with_people_across(rows: Profile, headers: list[str], keep: list[str]) -> Part | None:
    """Return the permissions of a matrix if most headers, but not most of the rows, name people; otherwise None."""
    are_people = _share_of_people(headers) > 0.5 and not any(map(ROLE.search, headers))
    if not rows.values or not are_people or _share_of_people(rows.distinct) > 0.5:
        return None
    permission = Meaning(rows.header, "Permission", 0.5, "it names the rows, and the headers name people")
    evidence = [f"{', '.join(headers[:3])} are people: a matrix with a person in each header"]
    unpivot = {"keep": keep, "headers": "Username", "cells": "Access"}
    shape: dict[str, Any] = {"unpivot": unpivot, "deriveUsers": True}
    return Part(Content.PERMISSIONS, {"Permission": permission}, shape, 0.6, evidence)


def _share_of_people(texts: Sequence[str]) -> float:
    return sum(bool(PERSON.fullmatch(text)) for text in texts) / len(texts)


def ask_for_people(matrix: Part, headers: list[str]) -> None:
    """Ask whether the headers of a matrix with groups in its rows are people, if most of them look like people."""
    if _share_of_people(headers) <= 0.5:
        return
    text = (
        f"Are {', '.join(headers[:3])} permissions? If they are people, export the matrix with the people in its rows"
    )
    choice = ProposedChoice("They are permissions", HEADERS_ACROSS, "Permission")
    matrix.ask(text, choice)


def ask_for_holders(matrix: Part, headers: list[str], across: str) -> None:
    """Ask whether the headers of a matrix with permissions in its rows are users or groups.

    If all headers say what is allowed, such as Read, ask whether they are roles instead. Otherwise, derive users from
    the headers if users are more likely. Do not ask if a header contains a word for a role, or if some headers have
    several words and not all look like people.
    """
    if asked := ask_for_roles(headers):
        matrix.questions = [*matrix.questions, *asked]
        return
    if across == "Username":
        matrix.shape["deriveUsers"] = True
    if any(map(ROLE.search, headers)) or not (all(map(_WORD.fullmatch, headers)) or _may_be_people(headers)):
        return
    text = f"Are {', '.join(headers[:3])} users, or groups and roles? Proposed: {_HOLDERS[across].lower()}."
    choices = [ProposedChoice(label, HEADERS_ACROSS, field) for field, label in _HOLDERS.items()]
    matrix.ask(text, *choices)
