"""Separate the people and the groups of a directory export by the classes of its entries."""

import re
from collections.abc import Iterator, Set
from typing import Any

import msgspec

from rolecall.applications.file_shape import ANY_OTHER
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View, view_of

# Accounts of services in Active Directory. They also have the object classes `user` and `computer`.
_SERVICES = {"msds-groupmanagedserviceaccount", "msds-managedserviceaccount", "msds-delegatedmanagedserviceaccount"}
_PEOPLE = {"person", "inetorgperson", "organizationalperson", "user", "posixaccount"} | _SERVICES
_GROUPS = {"group", "groupofnames", "groupofuniquenames", "posixgroup"}
# In Active Directory, computers also have the object class `user`.
_MACHINES = {"computer"}
_LEAST_GROUPS = 3


def people_in(view: View) -> tuple[View, list[dict[str, Any]]]:
    """Return the entries of people and services, and the conditions that leave out other entries.

    Keep entries without an object class. Keep all entries if otherwise none would remain.
    """
    return _entries(view, _PEOPLE, _MACHINES | _GROUPS)


def groups_in(view: View) -> tuple[View, list[dict[str, Any]]]:
    return _entries(view, _GROUPS, set())


def _entries(view: View, wanted: Set[str], unwanted: Set[str]) -> tuple[View, list[dict[str, Any]]]:
    column = view.named(["objectclass"])
    if column is None:
        return view, []
    classes = [{word.lower() for word in re.findall(r"[\w-]+", cell)} for cell in column.cells]
    # Keep an entry without a class, because it may be anything.
    fits = [not found or (bool(found & wanted) and not _is_unwanted(found, unwanted)) for found in classes]
    if all(fits) or not any(fits):
        return view, []
    rows = [row for row, fit in zip(view.table.rows, fits, strict=True) if fit]
    return view_of(msgspec.structs.replace(view.table, rows=rows)), list(_conditions(column, classes, fits, wanted))


def _is_unwanted(classes: Set[str], unwanted: Set[str]) -> bool:
    return bool(classes & unwanted) and not classes & _SERVICES


def _conditions(
    column: Profile, classes: list[set[str]], fits: list[bool], wanted: Set[str]
) -> Iterator[dict[str, Any]]:
    cells = {cell.strip() for cell, fit in zip(column.cells, fits, strict=True) if fit}
    if not column.is_list:
        yield {"column": column.header, "isNot": sorted(cells)}
        return
    kept = {name for found, fit in zip(classes, fits, strict=True) for name in found if fit}
    yield {"column": column.header, "isNot": sorted((kept & wanted) | ({""} if "" in cells else set()))}
    others = {name for found, fit in zip(classes, fits, strict=True) for name in found if not fit and found & wanted}
    if others & kept & _MACHINES:
        # Services are computers too, so only the whole list of classes distinguishes other computers from them.
        yield {"column": column.header, "is": sorted(_unfit_cells(column, classes, fits, wanted))}
    elif others - kept:
        yield {"column": column.header, "is": sorted(others - kept)}


def _unfit_cells(column: Profile, classes: list[set[str]], fits: list[bool], wanted: Set[str]) -> set[str]:
    rows = zip(column.cells, classes, fits, strict=True)
    return {cell.strip() for cell, found, fit in rows if not fit and found & wanted}


_DISABLED_ROLE = "cn=nsmanageddisabledrole"


def end_by_role(view: View, part: Part) -> None:
    """Read accounts as inactive if they have the role that 389 Directory Server gives to disabled accounts."""
    column = view.named(["nsroledn"])
    roles = [value for value in column.distinct if value.lower().startswith(_DISABLED_ROLE)] if column else []
    if column is None or not roles:
        return
    lock = part.fields.pop("Active", None)
    begin = roles[0][: len(_DISABLED_ROLE)]
    locked = f"{{{lock.header}}}" if lock else ""
    part.shape.setdefault("join", {})["Active"] = f"{locked}{{{column.header}|starting({begin})}}"
    # The joined text is `false` only for an account that is not locked and does not have the role.
    part.shape.setdefault("values", {})["Active"] = {"false": "Yes", ANY_OTHER: "No"}
    part.shape.pop("invert", None)
    part.evidence.append(f"Accounts with the role {roles[0].partition(',')[0]} are not active")


def placeholders(members: Profile) -> list[str]:
    """Return the members that are placeholders: they are in every group, and outside the containers of other members.

    Directories require that a group has a member, so programs add one that does not exist.
    """
    lists = [set(each) for each in members.lists if each]
    if len(lists) < _LEAST_GROUPS or not members.distinguished_names:
        return []
    always = set.intersection(*lists)
    containers = {_container(name) for each in lists for name in each - always}
    return sorted(name for name in always if containers and _container(name) not in containers)


def _container(name: str) -> str:
    return name.partition(",")[2].strip().lower()
