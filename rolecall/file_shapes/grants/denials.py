"""Find the column that says whether a row grants or denies, so that a denial is not read as a grant."""

from collections.abc import Iterable
from typing import Any

import msgspec

from rolecall.applications.field_words import ACCESS, NO_ACCESS, REFUSES, YES_NO
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.applications.model import Content
from rolecall.core.text import counted, fold
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.choices import SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_flag, names_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_LEAST_TICKED, _MOST_ASKED = 2, 4
_YES = ("Yes", "Y", "True", "1", "x")
_NO = ("No", "N", "False", "0")
_GRANTED = {"grant", "granted", "allow", "allowed", "permit", "permitted"}
_DENIED = {"deny", "denied", "disallow", "disallowed", "revoke", "revoked", "prohibit", "prohibited"}
_SAYS_DENIED = {"deny", "isdeny", "denied", "isdenied", "denyaccess", "prohibited", "isprohibited"}
_SAYS_GRANTED = {
    "granted",
    "isgranted",
    "allow",
    "allowed",
    "isallowed",
    "access",
    "hasaccess",
    "effect",
    "zugriff",
    "entitled",
    "isentitled",
}
# In a column with this name SQL Server writes G and W (grant, with grant option), D (deny) and R (revoke).
_STATE, _LETTERS = ["state"], {"G": "Grant", "W": "Grant", "D": "Deny", "R": "None"}
_REFUSING = {fold(word) for word in REFUSES}


class AccessColumn(msgspec.Struct, frozen=True):
    """A column that says whether a row grants or denies.

    `denying` has the words of rows that do not grant. `words` maps the words that the reader does not know, or would
    read as the opposite, to their meaning: Grant, Deny or None.
    """

    header: str
    denying: list[str]
    words: dict[str, str] = {}


def access_column(view: View, taken: Iterable[str] = ()) -> AccessColumn | None:
    """Find the column that says whether a row grants or denies, by its header or by values such as Allow and Deny."""
    others = [each for each in view.profiles if each.values and each.header not in set(taken)]
    return next(
        (found for rule in (_says_denied, _says_access, _letters) for each in others if (found := rule(each))), None
    )


def _says_denied(profile: Profile) -> AccessColumn | None:
    names = set(names_of(profile.header))
    if not names & _SAYS_DENIED or not all(fold(value) in YES_NO for value in profile.distinct):
        return None
    return AccessColumn(profile.header, list(_YES), {**dict.fromkeys(_YES, "Deny"), "": "Grant", ANY_OTHER: "Grant"})


def _says_access(profile: Profile) -> AccessColumn | None:
    found = {fold(value).replace("_", "").replace("-", "") for value in profile.distinct}
    plain = {word.removesuffix("withgrantoption") for word in found}
    is_named = bool(_SAYS_GRANTED.intersection(names_of(profile.header))) and profile.ticks
    if not is_named and not plain <= _GRANTED | _DENIED:
        return None
    unlike = [word for word in profile.distinct if ACCESS.get(fold(word), "None") in ("Deny", "None")]
    # Later files may use other words for "no" than the sample.
    usual = _NO if any(fold(value) in YES_NO for value in profile.distinct) else [word.title() for word in _DENIED]
    return AccessColumn(profile.header, sorted({*unlike, *usual}))


def _letters(profile: Profile) -> AccessColumn | None:
    if names_of(profile.header)[:1] != _STATE or not {"G"} < set(profile.distinct) <= _LETTERS.keys():
        return None
    return AccessColumn(profile.header, ["D", "R"], _LETTERS)


def read_access(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Read a column of grants and denials as `Access`, or else a column of levels, such as Full, as `Value`."""
    level = fields.get("Access")
    if level is not None and view.by_header[level.header].ticks:
        return
    taken = [meaning.header for field, meaning in fields.items() if field not in ("Access", "Value")]
    if found := access_column(view, taken):
        fields["Access"] = Meaning(found.header, "Access", 0.9, "its values say what is granted and what is denied")
        if "Value" in fields and fields["Value"].header == found.header:
            del fields["Value"]
        if found.words:
            shape.setdefault("values", {})["Access"] = found.words
        evidence.append(f"{found.header} says whether a row grants or denies")
    elif level is not None:
        _read_level(view.by_header[level.header], fields, shape, evidence)


def _read_level(level: Profile, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Read a column of levels, such as Full, as `Value` if this field is free. Rows with None or Deny grant nothing."""
    value = msgspec.structs.replace(fields.pop("Access"), field="Value")
    refused = [word for word in level.distinct if fold(word) in NO_ACCESS | _DENIED | _REFUSING]
    if "Value" not in fields:
        fields["Value"] = value
    if refused:
        given = {word: "Deny" if fold(word) in _DENIED else "None" for word in refused}
        shape.setdefault("join", {})["Access"] = f"{{{level.header}}}"
        shape.setdefault("values", {})["Access"] = {**given, ANY_OTHER: "Grant"}
        evidence.append(f"No access is read from {', '.join(refused)} in {level.header}")


def ask_for_unread_ticks(view: View, part: Part) -> None:
    """Ask about rows in which all unread columns of yes and no, such as View and Edit, say no.

    Without a column of access, each row is read as a grant.
    """
    if "Access" in part.fields or "Access" in part.shape.get("join", {}):
        return
    columns = [each for each in view.profiles if each.header not in part.columns and _may_refuse(each)]
    rows = [[fold(each.cells[n].strip()) in NO_ACCESS for each in columns] for n in range(len(view.table.rows))]
    refused = sum(all(cells) for cells in rows)
    # A single column may say something else about a permission, such as whether it can be requested.
    if len(columns) < _LEAST_TICKED or not refused:
        return
    named = " and ".join(each.header for each in columns[:_MOST_ASKED])
    text = f"{named} say no in {counted(refused, 'row')}, and are not read."
    choices = [ProposedChoice("Yes, read all rows", SKIP_ROWS, columns[0].header)]
    for each in columns[:_MOST_ASKED]:
        words = [word for word in each.distinct if fold(word) in NO_ACCESS]
        leave_out = SEPARATOR.join((each.header, "is", *words))
        choices.append(ProposedChoice(f"Leave out rows without {each.header}", SKIP_ROWS, leave_out))
    part.ask(f"{text} Is the access in these rows held?", *choices)


def _may_refuse(column: Profile) -> bool:
    """Return whether a column has words for yes and for no that may say what a row grants."""
    refused = {fold(word) in NO_ACCESS for word in column.distinct}
    return column.ticks and refused == {True, False} and not is_flag(column.header)


def refuse_access(view: View, part: Part) -> None:
    """Read permissions with a name such as NoAccess as no access, if no column says what a row grants."""
    permission, unpivot = part.fields.get("Permission"), part.shape.get("unpivot", {})
    given = {*part.fields, *part.shape.get("join", {}), unpivot.get("cells")}
    if part.content != Content.PERMISSIONS or permission is None or "Access" in given:
        return
    column = view.by_header[permission.header]
    separator = part.shape.get("split", {}).get(column.header)
    if refused := [word for word in values_of(column, separator) if fold(word) in _REFUSING]:
        part.shape.setdefault("join", {})["Access"] = f"{{{column.header}}}"
        words = {**dict.fromkeys(refused, "None"), ANY_OTHER: "Grant"}
        part.shape.setdefault("values", {})["Access"] = words
        part.evidence.append(f"No access is read from {', '.join(dict.fromkeys(refused))} in {column.header}")


def skip_denied(view: View, part: Part) -> None:
    """Leave out the rows that deny a membership."""
    taken = [meaning.header for meaning in part.fields.values()]
    if part.content == Content.MEMBERSHIPS and (found := access_column(view, taken)):
        part.skip_rows({"column": found.header, "is": found.denying})
        part.evidence.append(f"Rows that {found.header} marks as denied are left out")
