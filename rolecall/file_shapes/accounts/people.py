"""Recognize the people of an HR system."""

import re
from collections.abc import Collection
from typing import Any

from rolecall.applications.field_words import YES_NO
from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.accounts.addresses import ask_for_addresses
from rolecall.file_shapes.accounts.ending import end_after, ended_beside
from rolecall.file_shapes.cells.values import is_ticked
from rolecall.file_shapes.columns.header_languages import TRANSLATED
from rolecall.file_shapes.columns.header_names import is_inverted, names_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View

# Above the first score the meaning of a header is probable, and above the second it is certain.
_WEAK, _CERTAIN = 0.5, 0.9
_CODED = re.compile(r"\w+#\S")
# Fields that are typical of HR systems.
_EMPLOYED = {"Created", "Type", "Supervisor ID", "Office", "Title"}


def find_people(view: View) -> list[Part]:
    """Recognize the people of an HR system: an employee ID, a name and typical fields, but no certain username."""
    fields = view.fields(Content.IDENTITIES)
    login = view.fields(Content.USERS).get("Username")
    employee = fields.get("Employee ID")
    if employee is None or (login and login.score > _CERTAIN):
        return []
    if not (view.by_header[employee.header].is_unique and view.by_header[employee.header].is_filled):
        return []
    users = view.fields(Content.USERS)
    if "Last Login" in users and users["Last Login"].score > _WEAK:
        # A last login shows that the rows are accounts of a system, not people of an HR system.
        return []
    employed = {field for field in _EMPLOYED & fields.keys() if view.by_header[fields[field].header].values}
    if not {"Created", "Type", "Supervisor ID"} & employed and len(employed) < 2:
        return []
    return read_people(view, employed)


def read_people(view: View, employed: Collection[str] = ()) -> list[Part]:
    """Return the people of a file with employee IDs and names. `employed` has the fields that are typical of HR."""
    fields = view.fields(Content.IDENTITIES)
    login, employee = view.fields(Content.USERS).get("Username"), fields.get("Employee ID")
    if employee is None:
        return []
    shape: dict[str, Any] = {}
    full = _full_name(view, employee.header)
    if not {"First Name", "Last Name"} <= fields.keys():
        if full is None:
            return []
        shape["join"] = {"First Name": f"{{{full.header}|first}}", "Last Name": f"{{{full.header}|last}}"}
        fields = {field: meaning for field, meaning in fields.items() if field not in shape["join"]}
    if (above := fields.get("Supervisor ID")) and not _names_people(view, above.header, employee.header):
        del fields["Supervisor ID"]
    typical = f"some fields are typical of HR systems: {', '.join(sorted(employed))}"
    evidence = [f"{employee.header} is unique, and {typical}" if employed else "Chosen by a person"]
    if login and login.score > _WEAK and login.header not in {each.header for each in fields.values()}:
        evidence.append(f"{login.header} is not read. If it names accounts to import, choose the content users")
    part = Part(Content.IDENTITIES, fields, shape, 0.75, evidence)
    if title := fields.get("Title"):
        values = view.by_header[title.header].distinct
        if values and all(_CODED.match(value) for value in values):
            fields.pop("Title")
            shape.setdefault("join", {})["Title"] = f"{{{title.header}|after(#)}}"
            evidence.append(f"{title.header} begins with a code: the title follows the #")
    _decide_status(view, part)
    return [part]


def _decide_status(view: View, part: Part) -> None:
    if "Status" not in part.fields:
        _read_inactive(view, part)
    if status := part.fields.get("Status"):
        ended_beside(view, part, "Status", status.header)
    else:
        end_after(view, part, "Status")
        ask_for_addresses(view, part, "Status")


def _read_inactive(view: View, part: Part) -> None:
    """Read the status from a column of yes and no, or of ticks, that means the opposite of active."""
    for column in view.profiles:
        is_yes_or_no = column.values and all(fold(value) in YES_NO for value in column.distinct)
        if is_inverted(column.header) and (is_yes_or_no or is_ticked(column)):
            part.fields["Status"] = Meaning(column.header, "Status", 0.8, "its header says who is not active")
            if is_ticked(column):
                given = {**dict.fromkeys(column.distinct, "Disabled"), "": "Active"}
            else:
                words = dict.fromkeys([*column.distinct, "Yes", "No"])
                given = {word: "Disabled" if YES_NO[fold(word)] else "Active" for word in words}
            part.shape.setdefault("values", {})["Status"] = given
            part.evidence.append(f"{column.header} means the opposite of active")
            return


_FULL_NAMES = {
    "name", "fullname", "displayname", "employeename", "worker", "employee", "personname", "lastnamefirstname",
    "firstnamelastname", "lastfirst", "namelastfirst",
}  # fmt: skip


def _full_name(view: View, employee: str) -> Profile | None:
    """Return the first column of full names, or None. Ignore the employee ID column and columns of numbers."""
    known = _FULL_NAMES | TRANSLATED["Name"]
    found = [each for each in view.profiles if known.intersection(names_of(each.header))]
    return next((each for each in found if each.header != employee and each.numbers < 1), None)


def _names_people(view: View, column: str, employee: str) -> bool:
    """Return whether most values of a column are employee IDs in this file. Return True also if the column is blank."""
    values = set(view.by_header[column].distinct)
    return not values or len(values.intersection(view.by_header[employee].distinct)) > len(values) / 2
