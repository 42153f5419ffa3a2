"""Decide what the rows of a matrix are: accounts, groups or permissions. Ask if the header of the rows is unknown."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rolecall.applications.model import Content
from rolecall.core.text import without_accents
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# The key of an answer that says what the rows of a matrix are.
ROWS = "rows"
# The key of an answer that says what the headers of a matrix are.
HEADERS_ACROSS = "unpivot.headers"
# Headers that may name rows of any kind.
_NEUTRAL = {"name", "key", "id", "code", "label", "title", "item", "description"}
# Words in headers of columns that list what roles or people may use, such as Feature.
_USED = {
    "resource", "resources", "feature", "features", "functionality", "functionalities", "function", "functions",
    "capability", "capabilities", "ability", "abilities", "action", "actions", "operation", "operations", "task",
    "tasks", "activity", "activities", "page", "pages", "screen", "screens", "menu", "menus", "endpoint", "endpoints",
    "route", "routes", "url", "module", "modules", "object", "objects", "permission", "permissions", "privilege",
    "privileges", "right", "rights", "entitlement", "entitlements", "scope", "scopes", "tcode", "transaction",
    "funktion", "funktionen", "berechtigung", "recht", "fonction", "fonctionnalite", "funcion", "permiso",
}  # fmt: skip
# Words for what a permission allows.
_ACTION = (
    "create|add|new|insert|read|view|show|see|list|get|search|index|edit|update|modify|change|write|store|save|delete"
    "|remove|destroy|drop|manage|export|import|upload|download|print|approve|reject|cancel|close|post|put|patch|publish"
    "|assign|invite|execute|run|use|access|send|share|submit|configure|reset|grant|revoke|full|limited|only"
)
_HAS_ACTION = re.compile(rf"(?:^|[^a-z])(?:{_ACTION}|can|all)(?:[^a-z]|$)", re.IGNORECASE)
_ONLY_ACTIONS = re.compile(
    rf"(?:can[ _]?)?(?:{_ACTION}|crud|[crudx])(?:[ _/&+-]+(?:{_ACTION}|and|control))*", re.IGNORECASE
)
# Matches a permission such as billing:read, or a path such as /users.
_PARTED = re.compile(r"[A-Za-z]\w*(?:[:/][\w*-]+)+|/[\w/{}*:-]*")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ROLE = re.compile(
    r"(?:^|[^a-z])(?:super)?(?:admins?|administrators?|managers?|staff|customers?|clients?|users?|guests?|visitors?"
    r"|owners?|editors?|viewers?|readers?|writers?|operators?|auditors?|members?|moderators?|authors?|teachers?"
    r"|students?|agents?|clerks?|tellers?|officers?|supervisors?|support|sales|employees?|doctors?|nurses?|developers?"
    r"|analysts?|contributors?|anonymous|public|roles?|groups?|teams?)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_OF_OTHERS = OTHER_PEOPLE | {"contact"}
_OF_PEOPLE = {"Username", "First Name", "Last Name", "Email", "Employee ID", "Last Login", "Password Changed"}
_MOSTLY = 0.5
_KINDS = {"Permission": "permissions", "Username": "accounts", "Group": "groups"}
_LABELS = {
    "Permission": "{rows} names permissions; the other columns are groups, roles or users",
    "Username": "{rows} names accounts; the other columns are permissions",
    "Group": "{rows} names groups or roles; the other columns are permissions",
}


def are_used(header: str) -> bool:
    """Return whether a header names what roles or people may use, such as Feature, and therefore permissions."""
    return bool({word for name in words_of(header) for word in (name, without_accents(name))} & _USED)


def is_neutral(header: str) -> bool:
    """Return whether a header such as Name or Key may name rows of any kind."""
    return not names_of(header) or names_of(header)[0] in _NEUTRAL


class MatrixRows(NamedTuple):
    """The column that names the rows of a matrix, its field, and the questions about it."""

    column: Profile
    meaning: Meaning
    questions: list[OpenQuestion]

    def without_others(self, fields: Mapping[str, Meaning]) -> dict[str, Meaning]:
        """Return the fields of a matrix with only this column as the rows."""
        kept = {field: each for field, each in fields.items() if field not in _KINDS}
        kept = {field: each for field, each in kept.items() if each.header != self.column.header}
        return {**kept, self.meaning.field: self.meaning}


def rows_of_matrix(
    view: View, fields: Mapping[str, Meaning], columns: Sequence[Profile], headers: Sequence[str]
) -> MatrixRows | None:
    """Return what the rows of a matrix are; None if a header says so, unless a person decided it.

    `columns` are the columns outside the matrix, and `headers` are the headers of the columns in it.
    """
    decided = view.table.rows_of_matrix
    found = [each for field, each in fields.items() if field in _KINDS]
    if not decided and any(not is_neutral(each.header) for each in found):
        return None
    column = _column_of_rows(columns)
    if decided:
        return MatrixRows(column, Meaning(column.header, decided, 1.0, "a person said what the rows are"), [])
    if describe_people(view.fields(Content.USERS), columns):
        known = fields.get("Username") or Meaning(column.header, "Username", 0.5, "it names the rows of a matrix")
        return MatrixRows(view.by_header[known.header], known, [])
    meaning = _proposed_rows(column, headers)
    questions = [] if are_used(column.header) else [_ask_for_rows(meaning, headers)]
    return MatrixRows(column, meaning, questions)


def _column_of_rows(columns: Sequence[Profile]) -> Profile:
    """Return the column that names the rows of a matrix.

    It is the first unique column without blank cells, preferably not one of numbers or IDs. Otherwise it is the column
    with the most values among those whose header names permissions, or the first column. Of a module and its features,
    the features come last.
    """
    named = [each for each in columns if each.is_unique and each.is_filled]
    if named:
        return next((each for each in named if not each.is_opaque), named[0])
    used = [each for each in columns if are_used(each.header)]
    rows = [n for n, cells in enumerate(zip(*(each.cells for each in used), strict=True)) if all(map(str.strip, cells))]
    return max(reversed(used), key=lambda each: len({each.cells[n] for n in rows}), default=columns[0])


def place_of_rows(fields: Mapping[str, Meaning], columns: Sequence[Profile]) -> Meaning | None:
    """Return a column that tells rows with the same permission apart, such as the category of a feature.

    Return None if permissions occur once in the places that are read, or if no column tells them apart.
    """
    read = [each for each in columns if each.header in {meaning.header for meaning in fields.values()}]
    name = next((each for each in read if "Permission" in fields and each.header == fields["Permission"].header), None)
    if name is None or "Section" in fields:
        return None
    places = [each for each in read if "Header" in fields and each.header == fields["Header"].header]
    rows = [n for n, cell in enumerate(name.cells) if cell.strip()]
    if _tell_apart([name, *places], rows):
        return None
    others = [each for each in columns if each not in read and each.is_filled and not each.is_unique]
    found = next((each for each in others if _tell_apart([name, *places, each], rows)), None)
    why = f"it tells rows with the same {name.header} apart"
    return Meaning(found.header, "Section", 0.6, why) if found else None


def _tell_apart(columns: Sequence[Profile], rows: Sequence[int]) -> bool:
    return len({tuple(each.cells[n] for each in columns) for n in rows}) == len(rows)


def are_roles(names: Sequence[str]) -> bool:
    """Return whether most names are those of roles or groups, such as Manager or Staff."""
    return _share(names, _ROLE.search) > _MOSTLY


def _proposed_rows(rows: Profile, headers: Sequence[str]) -> Meaning:
    """Return what rows with an unknown header probably are, judged by their values and the headers of the matrix."""
    if are_used(rows.header):
        field, why = "Permission", "its header means something that people use"
    elif _share(headers, _is_permission) > _MOSTLY:
        field, why = ("Group" if are_roles(rows.distinct) else "Username"), "the other headers look like permissions"
    elif _share(rows.distinct, _is_permission) > _MOSTLY or are_roles(headers):
        field, why = "Permission", "its values look like permissions, or the other headers like roles"
    elif are_roles(rows.distinct):
        field, why = "Group", "its values look like names of roles"
    else:
        field, why = "Username", "it names the rows of a matrix"
    return Meaning(rows.header, field, 0.5, why)


def _ask_for_rows(rows: Meaning, headers: Sequence[str]) -> OpenQuestion:
    """Ask whether the rows of a matrix are accounts, permissions or groups."""
    named, kind = ", ".join(headers[:3]), _KINDS[rows.field]
    what = f"{named} hold them" if rows.field == "Permission" else f"{named} are their permissions"
    text = (
        f"The header {rows.header} does not say what the rows of this matrix are. Are they accounts, groups or "
        f"permissions? Proposed: {kind}, and {what}."
    )
    choices = [ProposedChoice(label.format(rows=rows.header), ROWS, field) for field, label in _LABELS.items()]
    return OpenQuestion(text, choices)


def ask_for_roles(headers: Sequence[str]) -> list[OpenQuestion]:
    """Ask whether the headers of a matrix are roles if all say what is allowed, such as Read and Delete."""
    if not all(map(_ONLY_ACTIONS.fullmatch, headers)):
        return []
    text = (
        f"No column names accounts, groups or roles. Are {', '.join(headers[:3])} roles? If they say what is allowed, "
        "export who holds it"
    )
    return [OpenQuestion(text, [ProposedChoice("They are groups or roles", HEADERS_ACROSS, "Group")])]


def describe_people(about: Mapping[str, Meaning], columns: Sequence[Profile]) -> bool:
    """Return whether some of the columns that describe the rows of a matrix are about people.

    `about` are the fields of accounts.
    """
    profiles = {each.header: each for each in columns}
    found = {field: each for field, each in about.items() if each.header in profiles and each.score > _MOSTLY}
    name = profiles[found["Name"].header] if "Name" in found else None
    is_named = name is not None and name.names == 1 and not _share(name.distinct, _is_permission)
    is_described = any(field in _OF_PEOPLE and not is_neutral(each.header) for field, each in found.items())
    can_login = "Active" in found and "login" in found["Active"].header.lower()
    is_addressed = any(each.emails == 1 and not words_of(each.header) & _OF_OTHERS for each in columns)
    return is_named or can_login or is_described or is_addressed


def _is_permission(value: str) -> bool:
    return bool(_PARTED.fullmatch(value) or _HAS_ACTION.search(_CAPITAL.sub(" ", value)))


def _share(texts: Sequence[str], fits: Callable[[str], object]) -> float:
    return sum(bool(fits(text)) for text in texts) / len(texts) if texts else 0
