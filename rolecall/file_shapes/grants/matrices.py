"""Recognize matrices: a column for each permission, group or user, with ticks or levels in its cells."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rolecall.applications.field_words import ACCESS, NO_ACCESS
from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.accounts.ending import ask_for_ended
from rolecall.file_shapes.accounts.kinds import share_column
from rolecall.file_shapes.accounts.statuses import decide_active
from rolecall.file_shapes.cells.groups_held import skip_no_groups
from rolecall.file_shapes.cells.row_keys import names_grant
from rolecall.file_shapes.columns.header_names import is_flag, is_inverted, is_state, names_ability, names_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.held import repeated_users
from rolecall.file_shapes.grants.matrix_headers import (
    PERSON,
    ROLE,
    across_rows,
    ask_for_holders,
    ask_for_people,
    with_people_across,
)
from rolecall.file_shapes.grants.matrix_rows import (
    are_roles,
    are_used,
    describe_people,
    place_of_rows,
    rows_of_matrix,
)
from rolecall.file_shapes.grants.objects import tell_apart
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_LEAST_TICKED = 3
_SEVERAL = 2
# A matrix may have fewer than three ticked columns only if at most this many columns come before them.
_MOST_NAMING = 2
_COUNTS = re.compile(r"(?:grand )?total|count|sum|number of .*", re.IGNORECASE)
# The maximum number of different levels in the cells of a matrix, such as R and RW.
_MOST_LEVELS = 6
_LONGEST_LEVEL = 12
# The maximum length of a level of several words, such as Full Control.
_LONGEST_PHRASE = 24
_MOST_WORDS = 3
_SURE = 0.5
# Marks that tick a cell.
_MARKS = {"x", "✓", "✔", "☑", "✅", "☒"}
_ROLES = {"role", "rolename", "group", "groupname", "team", "profile"}
# Words in the names of access levels.
_LEVEL = re.compile(
    r"\b(?:read|write|full|edit|view|modify|control|access|admin|owner|contribute|manage|approve|limited|only|update"
    r"|lesen|schreiben|voll|lecture|ecriture|écriture|consulta|lectura|escritura|lettura|scrittura)\b",
    re.IGNORECASE,
)
# Fields of people besides a name.
_OF_PEOPLE = {"Department", "Title", "Office", "Employee ID", "Email", "Supervisor ID", "Company", "Division"}
_IDENTIFYING = {"Employee ID", "Email"}
# Headers of roles in tables of grants. Such a table pairs users with roles, even if each user has only one role.
GRANTED = {"agrname", "grantedrole"}


def find_matrix(view: View) -> list[Part]:
    """Recognize a matrix: several columns contain ticks or levels, and the others together identify each row."""
    ticked = [each for each in view.profiles if _is_ticked(each)]
    if len(ticked) >= _LEAST_TICKED:
        certain = set(ticked)
        may_tick = _has_conditions if _names_rights(view) else _is_nearly_ticked
        ticked = [each for each in view.profiles if each in certain or may_tick(each)]
    is_marked = _is_marked_throughout(view, ticked)
    ticked = _in_sections(view) or (ticked if is_marked or len(ticked) >= _LEAST_TICKED else _levels(view))
    # If at least half of these columns describe an account or a grant, such as is_admin, the file is not a matrix.
    if 2 * sum(is_flag(each.header) for each in ticked) >= len(ticked):
        return []
    states = {meaning.header for field, meaning in view.fields(Content.USERS).items() if field in ("Active", "Locked")}
    flags = [each for each in ticked if is_state(each.header) or each.header in states]
    ticked = [each for each in ticked if each not in flags]
    counts = [each for each in view.profiles if each.numbers == 1 and _COUNTS.fullmatch(each.header)]
    used = {*ticked, *flags, *counts}
    others = [each for each in view.profiles if each not in used and each.values]
    are_held = _names_rights(view) and are_roles([each.header for each in ticked])
    are_abilities = len(ticked) >= _SEVERAL and all(names_ability(each.header) for each in ticked)
    is_wide = len(others) <= 5 and (len(others) < len(ticked) or are_held or are_abilities)
    is_wide = is_wide or is_marked or _are_marked(view, ticked)
    if (len(ticked) < _LEAST_TICKED and not (is_marked or are_abilities)) or not others or not is_wide:
        return []
    # A list of grants repeats the names of holders; a matrix does not.
    if len(set(zip(*(each.cells for each in others), strict=True))) < len(others[0].cells) or _are_grants(view, others):
        return []
    return _matrix(view, ticked, others, flags, counts)


def _matrix(
    view: View, ticked: list[Profile], others: list[Profile], flags: list[Profile], counts: list[Profile]
) -> list[Part]:
    """Return the permissions of a matrix, with its users and their roles. Unpivot only the `ticked` columns."""
    headers = [each.header for each in ticked]
    fields = _fields_beside(view, headers, others)
    _use_people(view, fields, others)
    found = rows_of_matrix(view, fields, [*others, *flags], headers)
    if found and (turned := with_people_across(found.column, headers, keep=[each.header for each in others])):
        return [turned]
    fields = found.without_others(fields) if found else fields
    across = across_rows(ticked) if "Permission" in fields else "Permission"
    fields = {field: meaning for field, meaning in fields.items() if field not in (across, "Access")}
    if place := place_of_rows(fields, others):
        fields["Section"] = place
    role = fields.pop("Group") if across == "Permission" and {"Username", "Group"} <= fields.keys() else None
    are_rights = _names_rights(view) and sum(map(_is_ticked, ticked)) >= _LEAST_TICKED
    is_access = _has_access(ticked, are_rights=are_rights)
    keep = [each.header for each in (*others, *flags, *counts)]
    cells = "Access" if is_access else "Value"
    shape: dict[str, Any] = {"unpivot": {"keep": keep, "headers": across, "cells": cells}}
    if not is_access and (nothing := _words_for_nothing(ticked)):
        shape["blank"] = nothing
    share_column(view, fields, shape, evidence := _seen(ticked, flags, across))
    if across == "Permission":
        tell_apart(view, fields, shape, evidence)
    part = Part(Content.PERMISSIONS, fields, shape, 0.8 if is_access else 0.6, evidence)
    part.questions = found.questions if found else []
    _ask_about_matrix(part, ticked, across, is_access=is_access)
    users = _down_the_matrix(view, part, ticked)
    if not users:
        ask_for_ended(view, part)
    if across == "Permission":
        _divide_sections(view, part)
    part.ignore(each.header for each in others if each.header not in part.columns and users)
    roles = _roles_down(view, fields.get("Username"), role)
    for each in users:
        each.ignore(header for other in roles for header in other.columns_of_groups)
    return [part, *users, *roles]


def _seen(ticked: list[Profile], flags: list[Profile], across: str) -> list[str]:
    """Return the evidence for a matrix."""
    words = ", ".join(dict.fromkeys(value for each in ticked for value in each.distinct))[:40]
    return [
        f"{len(ticked)} columns contain only {words} or nothing: a matrix with a {across} in each header",
        *(f"{each.header} describes the account and is not a permission" for each in flags),
    ]


def _fields_beside(view: View, headers: Sequence[str], others: Sequence[Profile]) -> dict[str, Meaning]:
    """Return the fields of the columns that describe the rows of a matrix.

    Headers such as Can Edit are the permissions, so a column such as Permission ID has the keys of the rows.
    """
    keys = [each.header for each in others if names_grant(each)] if all(map(names_ability, headers)) else []
    beside = {each.header for each in others}
    found = view.fields(Content.PERMISSIONS, keys)
    return {field: meaning for field, meaning in found.items() if meaning.header in beside}


def _divide_sections(view: View, part: Part) -> None:
    """Read section and name from headers that have both, because the file has two header lines."""
    if separator := view.table.section_separator:
        section, name = f"{{Permission|before({separator})}}", f"{{Permission|after({separator})}}"
        part.shape.setdefault("join", {}).update({"Section": section, "Permission": name})


def _ask_about_matrix(matrix: Part, ticked: Sequence[Profile], across: str, *, is_access: bool) -> None:
    headers = [each.header for each in ticked]
    if is_access:
        _ask_for_words(matrix, ticked)
    if across != "Permission":
        ask_for_holders(matrix, headers, across)
    elif "Username" not in matrix.fields and not all(map(names_ability, headers)):
        ask_for_people(matrix, headers)


def _roles_down(view: View, username: Meaning | None, role: Meaning | None) -> list[Part]:
    """Return the memberships of a matrix with a role beside each user."""
    if role is None or username is None or not _ROLES.intersection(names_of(role.header)):
        return []
    evidence = [f"{role.header} names a group of each {username.header}"]
    part = Part(Content.MEMBERSHIPS, {"Username": username, "Group": role}, {}, 0.7, evidence)
    skip_no_groups(part, view.by_header[role.header])
    return [part]


def _ask_for_words(matrix: Part, ticked: Sequence[Profile]) -> None:
    """Ask for the meaning of words among the ticks of a matrix, such as Limited."""
    known = ACCESS.keys() | NO_ACCESS
    for column in ticked:
        for word in [each for each in column.distinct if fold(each) not in known]:
            given = matrix.shape.setdefault("values", {}).setdefault("Access", {})
            if word in given:
                continue
            text = f"{column.header}: what does {word} mean?"
            # A sign such as ? has no meaning that could be proposed.
            if any(map(str.isalnum, word)):
                given[word] = "Grant"
                text += " Proposed: granted."
            key = f"values.Access.{word}"
            choices = [
                ProposedChoice(f"{word} grants access", key, "Grant"),
                ProposedChoice("It grants nothing", key, "None"),
            ]
            matrix.ask(text, *choices)


def _use_people(view: View, fields: dict[str, Meaning], others: list[Profile]) -> None:
    """Read the rows as users if `Name` has names of people, and a column of departments or of logins confirms it."""
    named = fields.get("Group")
    if named is None or "Username" in fields or names_of(named.header)[:1] != ["name"]:
        return
    headers = {each.header for each in others} - {named.header}
    about = view.fields(Content.IDENTITIES)
    is_employed = any(field in _OF_PEOPLE and each.header in headers for field, each in about.items())
    described = {each.header for field, each in about.items() if field in _OF_PEOPLE - _IDENTIFYING}
    logins = [each for each in others if each.is_unique and each.is_filled and each.is_login]
    logins = [each for each in logins if each.header not in described]
    names = view.by_header[named.header].distinct
    is_called = bool(logins) and all(map(PERSON.fullmatch, names)) and not any(map(ROLE.search, names))
    if not (is_employed or is_called) or view.by_header[named.header].names < 1:
        return
    del fields["Group"]
    holder = logins[0].header if logins else named.header
    fields["Username"] = Meaning(
        holder, "Username", 0.5, f"it identifies the rows of a matrix, and {named.header} has names of people"
    )


def _are_grants(view: View, columns: list[Profile]) -> bool:
    """Return whether these columns pair holders with groups or roles. The rows are then grants, not a matrix."""
    if any(GRANTED.intersection(names_of(each.header)) for each in columns):
        return True
    fields = {field: each for field, each in view.fields(Content.MEMBERSHIPS).items() if each.score > 0.6}
    if not {"Username", "Group"} <= fields.keys():
        return False
    headers = {each.header for each in columns}
    holder, held = (view.by_header[fields[field].header] for field in ("Username", "Group"))
    return {holder.header, held.header} <= headers and held.is_filled and not holder.is_unique


def _are_marked(view: View, ticked: Sequence[Profile]) -> bool:
    """Return whether the file has one row per account and adjacent `ticked` columns, most of them with marks such as X.

    In such a file, any number of other columns may describe the accounts. Yes and no do not count as marks, because
    columns that describe accounts contain them too.
    """
    first, last = (ticked[0].position, ticked[-1].position) if ticked else (0, 0)
    marked = [each for each in ticked if _MARKS.intersection(map(fold, each.distinct))]
    username = view.fields(Content.USERS).get("Username")
    is_listed = username is not None and username.score > _SURE and view.by_header[username.header].is_unique
    return is_listed and last - first < len(ticked) < 2 * len(marked)


def _is_marked_throughout(view: View, ticked: Sequence[Profile]) -> bool:
    """Return whether one or two columns are followed only by several columns with marks such as X, and blank columns.

    Return False if there are two first columns and they describe people. If the first header is a word such as
    Permission or Feature, yes and no are marks too.
    """
    are_rights = bool(ticked) and are_used(view.profiles[0].header)
    marked = [each for each in ticked if are_rights or _MARKS.intersection(map(fold, each.distinct))]
    if len(marked) < _SEVERAL or not 0 < marked[0].position <= _MOST_NAMING:
        return False
    behind = [each for each in view.profiles[marked[0].position :] if each.values]
    first = view.profiles[: marked[0].position]
    return marked == behind and (len(first) == 1 or not describe_people(view.fields(Content.USERS), first))


def _in_sections(view: View) -> list[Profile]:
    """Return the columns that have a section in a two-line header, if all their values are short."""
    separator = view.table.section_separator
    found = [each for each in view.profiles if separator and separator in each.header]
    return found if all(len(value) <= _LONGEST_LEVEL for each in found for value in each.distinct) else []


def _words_for_nothing(ticked: list[Profile]) -> list[str]:
    return sorted({value for each in ticked for value in each.distinct if fold(value) in NO_ACCESS})


def _down_the_matrix(view: View, matrix: Part, ticked: list[Profile]) -> list[Part]:
    """Return the users in the rows of a matrix, including users without access.

    If users and groups share a column, set `deriveUsers` instead. Set it also if usernames repeat or are blank, unless
    the rows describe the users.
    """
    if "join" in matrix.shape:
        matrix.shape["deriveUsers"] = True
    if (username := matrix.fields.get("Username")) is None:
        return []
    across = [each.header for each in ticked]
    if not (view.by_header[username.header].is_unique and view.by_header[username.header].is_filled):
        if repeated := repeated_users(view, matrix, is_narrowed=False):
            repeated.ignore(across)
            ask_for_ended(view, matrix)
            return [repeated]
        matrix.shape["deriveUsers"] = True
        return []
    fields = {"Username": username, **view.fields(Content.USERS, [username.header, *across])}
    users = Part(Content.USERS, fields, {}, matrix.confidence, [f"{username.header} names the users of the matrix"])
    users.fields["Username"] = username
    crossed = set(across)
    about = [each for each in view.profiles if each.header not in crossed]
    decide_active(View(view.table, about, {each.header: each for each in about}), users)
    users.ignore(across)
    return [users]


def _is_ticked(profile: Profile) -> bool:
    found = {fold(value) for value in profile.values}
    return profile.ticks and len(found - NO_ACCESS) <= 4 and not is_inverted(profile.header)


def _names_rights(view: View) -> bool:
    """Return whether one of the first columns names what roles may use, such as Feature or Permission."""
    return any(are_used(each.header) for each in view.profiles[:_MOST_NAMING])


def _has_conditions(profile: Profile) -> bool:
    """Return whether a column of a matrix of rights has yes or no in some cells, and short conditions in the others.

    A condition is a phrase such as Own Only. Beside columns of ticks, it is not a level.
    """
    others = [value for value in profile.distinct if fold(value) not in ACCESS.keys() | NO_ACCESS]
    is_short = 0 < len(others) <= _MOST_WORDS and all(map(_may_be_level, others))
    is_other = profile.numbers or profile.statuses == 1 or is_flag(profile.header) or is_inverted(profile.header)
    return is_short and len(others) < len(profile.distinct) and not is_other


def _has_access(ticked: Sequence[Profile], *, are_rights: bool = False) -> bool:
    """Return whether the cells of a matrix are ticks, not levels.

    Columns may also have a few short words that mean neither yes nor no, such as Limited, but only if some cell of the
    matrix means yes; otherwise those words are levels.
    """
    may_tick = _has_conditions if are_rights else _is_nearly_ticked
    is_nearly = all(_is_ticked(each) or may_tick(each) for each in ticked)
    return is_nearly and (any(map(_has_yes, ticked)) or all(map(_is_ticked, ticked)))


def _has_yes(profile: Profile) -> bool:
    return any(fold(value) in ACCESS and fold(value) not in NO_ACCESS for value in profile.distinct)


def _is_nearly_ticked(profile: Profile) -> bool:
    """Return whether a column has ticks and, besides them, a few short words such as Limited.

    Return False if all known words mean no, because the others are then levels: I and U in a column with N, I and U.
    """
    found = {fold(value) for value in profile.values}
    known = found & (ACCESS.keys() | NO_ACCESS)
    others = [value for value in profile.distinct if fold(value) not in known]
    is_short = 0 < len(others) <= _MOST_WORDS and all(len(each) <= _LONGEST_LEVEL for each in others)
    is_other = profile.numbers or profile.statuses == 1 or is_flag(profile.header) or is_inverted(profile.header)
    return bool(known - NO_ACCESS) and is_short and len(found) > 1 and not is_other


def _may_be_level(text: str) -> bool:
    words = len(text.split())
    return len(text) <= (_LONGEST_LEVEL if words == 1 else _LONGEST_PHRASE) and words <= _MOST_WORDS


def _levels(view: View) -> list[Profile]:
    """Return the columns of a matrix that contain levels: a few short texts that occur in several columns."""
    short = [
        each
        for each in view.profiles
        if each.values and not each.numbers and not is_flag(each.header) and not is_inverted(each.header)
        and all(map(_may_be_level, each.distinct))
    ]  # fmt: skip
    counts = Counter(fold(value) for each in short for value in each.distinct)
    shared = {word for word, columns in counts.items() if columns > 1}
    known = shared | ACCESS.keys() | NO_ACCESS
    found = [each for each in short if 2 * len({fold(value) for value in each.distinct} & known) >= len(each.distinct)]
    texts = {value for each in found for value in each.distinct}
    # Phrases that are not levels, such as New York, may also occur in several columns. So if any text has several
    # words, at least one text must contain a word that is common in levels.
    is_level = not any(" " in text for text in texts) or any(map(_LEVEL.search, texts))
    return found if is_level and len({*map(fold, texts)} - NO_ACCESS) <= _MOST_LEVELS else []
