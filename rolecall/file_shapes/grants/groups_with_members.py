"""Recognize groups that list their members: in a column of their rows, or below a header that names the group."""

from collections import Counter
from typing import Any

from rolecall.applications.file_shape import JSON, separated_by
from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.directory import groups_in, people_in, placeholders
from rolecall.file_shapes.accounts.holders import agree_on_username, find_users
from rolecall.file_shapes.accounts.kinds import find_bindings, kind_column, read_place
from rolecall.file_shapes.cells.keyed_members import read_keyed_members
from rolecall.file_shapes.columns.header_names import is_known_header, names_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.conditions import read_conditions
from rolecall.file_shapes.parts import Part, View, login_behind_name

_MEMBERS = {
    "member", "members", "uniquemember", "memberuid", "users", "memberlist", "directmembers", "groupmembers",
    "memberemails", "membernames", "assignedusers",
}  # fmt: skip
_NAMING = ["cn", "group", "groupname", "name", "displayname", "role", "rolename", "team"]
_NAMES = set(_NAMING)
_MOST_COLUMNS_OF_MEMBERS = 50
_SURE = 0.5


def find_groups_with_members(view: View) -> list[Part]:
    """Recognize groups with a column that lists their members."""
    everything, (view, conditions) = view, groups_in(view)
    members, naming = _members_and_names(view)
    if members is None or naming is None or naming is members or not members.values:
        return []
    # In LDIF a list with one member looks like a plain attribute.
    separator = members.separator or (JSON if view.table.format == "LDIF" else None)
    if separator is None or (separator == "," and _are_whole_names(naming, members)) or _are_users_too(view):
        return []
    if bindings := find_bindings(naming, members, separator):
        return [read_conditions(view, read_place(view, bindings, members))]
    name = Meaning(naming.header, "Group", 0.9, "it names a group whose members are listed")
    groups = view.fields_of_groups(name)
    shape: dict[str, Any] = {"split": {members.header: separator}, "deriveUsers": True}
    fields = {"Group": name}
    listed = members.distinct if separator == JSON else [
        member.strip() for cell in members.distinct for member in cell.split(separator) if member.strip()
    ]  # fmt: skip
    if filters := "|rdn" if members.distinguished_names else login_behind_name(listed):
        shape["join"] = {"Username": f"{{{members.header}{filters}}}"}
    else:
        fields["Username"] = Meaning(members.header, "Username", 0.9, "it lists members")
    evidence = [f"{members.header} lists the members of {naming.header}, {separated_by(separator)}"]
    listing = Part(Content.GROUPS, groups, {"ignore": [members.header]}, 0.85, list(evidence))
    pairs = Part(Content.MEMBERSHIPS, fields, shape, 0.85, evidence)
    read_keyed_members(pairs, naming, members)
    _name_parents(view, listing)
    _add_members(view, pairs, listing, members)
    for part in (listing, pairs):
        part.skip_rows(*conditions)
    if unreal := placeholders(members):
        pairs.skip_rows({"column": members.header, "is": unreal})
        evidence.append(f"Placeholders that are in every group are left out: {', '.join(unreal)}")
    if people_in(everything)[1]:
        found = _with_people(everything, pairs, members)
        if pairs not in found:
            listing.evidence = [f"{naming.header} names groups; their members are read from the entries of people"]
        return [listing, *found]
    return [listing, pairs]


def _members_and_names(view: View) -> tuple[Profile | None, Profile | None]:
    members = view.named(_MEMBERS)
    return members, _naming_beside(view, members) or view.named(_NAMING) or _naming_groups(view)


def _naming_beside(view: View, members: Profile | None) -> Profile | None:
    """Return the column of names in the same object as the members, such as bindings.role beside bindings.members."""
    place = members.header.rpartition(".")[0] if members else ""
    inner = [each for each in view.profiles if place and each is not members and each.header.startswith(f"{place}.")]
    return next((each for each in inner if not _NAMES.isdisjoint(names_of(each.header))), None)


def _naming_groups(view: View) -> Profile | None:
    """Return a column that names a different group in each row, such as Security Group.

    If the members are the keys of a JSON object, this is the first column with a different value in each row.
    """
    if (members := view.named(_MEMBERS)) and members.is_keyed:
        return next((each for each in view.profiles if each.is_unique and each.is_filled), None)
    found = view.fields(Content.GROUPS).get("Group")
    column = view.by_header[found.header] if found and found.score > _SURE else None
    return column if column and column.is_unique and column.is_filled else None


def _name_parents(view: View, listing: Part) -> None:
    """If parents are distinguished names, read the first part of each. If a group has several parents, read none."""
    parent = listing.fields.get("Parent")
    column = view.by_header[parent.header] if parent else None
    if column is None or not column.distinguished_names:
        return
    del listing.fields["Parent"]
    if any(len(each) > 1 for each in column.lists) or column.separator not in (None, JSON):
        listing.evidence.append(
            f"{column.header} has several parents for a group, so it is kept as metadata and no parent is read"
        )
    else:
        listing.shape.setdefault("join", {})["Parent"] = f"{{{column.header}|rdn}}"


def _add_members(view: View, pairs: Part, listing: Part, members: Profile) -> None:
    """In LDIF, read all columns of members, because object classes use different ones; leave out nested groups."""
    others = [each for each in view.profiles if each is not members and each.values and _is_of_members(each)]
    if view.table.format != "LDIF":
        return
    columns = [members, *others]
    if others:
        headers = [each.header for each in columns]
        pairs.fields.pop("Username", None)
        pairs.shape["unpivot"] = {"columns": headers, "headers": "Username", "cells": "Username"}
        pairs.shape["split"] = dict.fromkeys(headers, JSON)
        pairs.shape["join"] = {"Username": "{Username|rdn}"}
        pairs.evidence.append(f"Members are also listed in {', '.join(headers[1:])}")
        listing.ignore(headers)
    named = view.named(["dn"])
    groups = {name.lower() for name in named.distinct} if named else set()
    for column in columns:
        if inner := [each for each in column.distinct if each.lower() in groups]:
            pairs.skip_rows({"column": column.header, "is": inner})
            pairs.evidence.append(f"Members that are groups themselves are left out: {', '.join(inner)[:80]}")


def _is_of_members(column: Profile) -> bool:
    return not _MEMBERS.isdisjoint(names_of(column.header)[:1])


def _are_users_too(view: View) -> bool:
    """Return whether some rows are users with their own groups, according to a column of kinds such as Type.

    Ignore the column objectClass, because `directory.py` already separates users and groups by it.
    """
    kinds = kind_column(view)
    if kinds is None or not kinds.users or names_of(kinds.header)[-1:] == ["objectclass"]:
        return False
    users, *listed = find_users(view)
    return bool(listed) and users.origin("Username") is not None


def _are_whole_names(naming: Profile, members: Profile) -> bool:
    """Return whether each cell is one member such as `Byron, Ada [abyron]`, not two members separated by a comma."""
    is_one = all(cell.count(",") == 1 for cell in members.values)
    return is_one and bool(login_behind_name(members.values) or not naming.is_unique)


def _with_people(view: View, pairs: Part, members: Profile) -> list[Part]:
    """Return the users of a directory export that also has groups, with the memberships of these users."""
    users, *listed = find_users(view)
    # If people have memberOf, member lists of groups are not needed. Lists of roles do not replace member lists.
    if any("memberof" in (part.origin("Group") or "").lower() for part in listed):
        return [users, *listed]
    users.shape.pop("ignore", None)
    pairs.shape.pop("deriveUsers")
    named = {name.partition("=")[2].partition(",")[0] for name in members.distinct}
    agree_on_username(people_in(view)[0], users, named if members.distinguished_names else set(members.distinct))
    return [pairs, users]


def find_group_columns(view: View) -> list[Part]:
    """Recognize a table in which each header is a group, with the members of the group below it.

    At least a third of the members must be in several groups.
    """
    columns = [each for each in view.profiles if each.values]
    if not 1 < len(columns) <= _MOST_COLUMNS_OF_MEMBERS or view.table.header_line is None:
        return []
    if not all(each.is_unique and (each.is_login or each.emails == 1) for each in columns):
        return []
    counts = Counter(value for each in columns for value in each.distinct)
    if any(map(is_known_header, view.table.headers)) or 3 * sum(n > 1 for n in counts.values()) < len(counts):
        return []
    unpivot = {"keep": [], "headers": "Group", "cells": "Username"}
    evidence = ["Each column lists the members of the group that its header names"]
    return [Part(Content.MEMBERSHIPS, {}, {"unpivot": unpivot, "deriveUsers": True}, 0.6, evidence)]
