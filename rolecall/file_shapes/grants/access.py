"""Recognize files about access: groups, memberships and permissions."""

from collections.abc import Sequence
from typing import Any

from rolecall.applications.file_shape import ANY_OTHER, JSON, columns_in, separated_by
from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import about_people, is_about_users
from rolecall.file_shapes.accounts.kinds import Kinds, fields_of_grants, kind_column, share_column, skip_groups
from rolecall.file_shapes.accounts.realms import add_realms, has_realms
from rolecall.file_shapes.cells.commas import ask_for_commas
from rolecall.file_shapes.cells.groups_held import (
    ask_for_other_groups,
    blank_no_groups,
    has_placeholders,
    skip_no_groups,
    use_filled_group,
    use_login,
    use_varied,
)
from rolecall.file_shapes.cells.row_keys import ask_for_row_key, use_named_permission
from rolecall.file_shapes.cells.slashes import split_slashes
from rolecall.file_shapes.choices import AS_PROPOSED, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import names_caretaker, names_of, words_of
from rolecall.file_shapes.columns.header_words import OF_GROUPS
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.conditions import read_conditions
from rolecall.file_shapes.grants.denials import ask_for_unread_ticks, read_access, skip_denied
from rolecall.file_shapes.grants.group_lists import ask_if_roles, name_of_groups
from rolecall.file_shapes.grants.held import has_keys_of_grants, with_users, without_grants
from rolecall.file_shapes.grants.held_roles import held_by_kinds, in_scopes, of_applications, roles, scope_of_roles
from rolecall.file_shapes.grants.matrices import GRANTED
from rolecall.file_shapes.grants.objects import add_inner_place, find_object, tell_apart
from rolecall.file_shapes.grants.parallel_lists import split_places
from rolecall.file_shapes.grants.repeated_people import ask_if_names, use_repeated_people
from rolecall.file_shapes.parts import Part, View, add_list, without_prefix
from rolecall.file_shapes.shapes import ProposedChoice

# A file with more columns than this is not read as a list of groups, unless `name_of_groups` recognizes it.
_MOST_OF_GROUPS = 12
_SURE = 0.5
_PRIVILEGES = {"privilege", "permission", "entitlement", "authorization"}
_NAMES_OF_GROUPS = (
    ["role"],
    ["rolename"],
    ["group"],
    ["groupname"],
    ["team"],
    ["teamname"],
    ["profile"],
    ["profilename"],
)


def find_postgres_roles(view: View) -> list[Part]:
    """Recognize the output of `\\du` in psql: roles, and the roles that each of them is a member of."""
    names = {name: each for each in view.profiles for name in names_of(each.header)}
    if not {"rolename", "attributes", "memberof"} <= names.keys():
        return []
    why = "the columns are those of psql"
    username = Meaning(names["rolename"].header, "Username", 0.9, why)
    about, groups = names["attributes"], names["memberof"]
    closed = [value for value in about.distinct if "cannot login" in value.lower()]
    users = Part(Content.USERS, {"Username": username}, {}, 0.9, [f"{about.header} says who can log in: {why}"])
    if closed:
        users.fields["Active"] = Meaning(about.header, "Active", 0.9, "it says which roles cannot log in")
        users.shape["values"] = {"Active": {**dict.fromkeys(closed, "No"), ANY_OTHER: "Yes"}}
    shape = {"split": {groups.header: JSON}}
    fields = {"Username": username, "Group": Meaning(groups.header, "Group", 0.9, why)}
    users.ignore([groups.header])
    pairs = Part(Content.MEMBERSHIPS, fields, shape, 0.9, [f"{groups.header} lists roles in braces"])
    if not names["rolename"].is_filled:
        for part in (users, pairs):
            part.skip_rows({"column": username.header, "is": [""]})
        more = ", ".join(
            cell for cell, name in zip(about.cells, names["rolename"].cells, strict=True) if not name.strip()
        )
        users.evidence.append(f"Lines that continue the line above are left out: {more[:80]}")
    return [users, pairs]


def find_sap_authorizations(view: View) -> list[Part]:
    names = {name: each.header for each in view.profiles for name in names_of(each.header)}
    role = names.get("role") or names.get("agrname")
    value = names.get("value") or names.get("low")
    if not (role and value and {"object", "field"} <= names.keys()):
        return []
    chosen = {"Group": role, "Header": names["object"], "Section": names["field"], "Permission": value}
    why = "the columns are those of SAP AGR_1251"
    # A range of values has its end in another column.
    if end := view.named(["high"]):
        chosen["Value"] = end.header
    fields = {field: Meaning(header, field, 0.95, why) for field, header in chosen.items()}
    part = Part(Content.PERMISSIONS, fields, {}, 0.95, [f"{role}, object, field and value: {why}"])
    if deleted := view.named(["deleted"]):
        part.skip_rows({"column": deleted.header, "is": ["X"]})
        part.evidence.append(f"Authorizations that are marked as {deleted.header} are left out")
    return [part]


def find_permissions(view: View) -> list[Part]:
    fields = fields_of_grants(view, Content.PERMISSIONS)
    role, listed = _name_of_roles(view, fields), fields.get("Group")
    if (named := name_of_groups(view) or role) and "Permission" in fields:
        fields = {"Group": named, "Permission": fields["Permission"]}
    is_repeated = use_repeated_people(view, fields, "Permission")
    if fields.get("Permission") is None or not {"Username", "Group"} & fields.keys():
        return []
    is_about_accounts = is_about_users(view) and not is_repeated and not kind_column(view)
    if is_about_accounts or not view.by_header[fields["Permission"].header].values:
        return []
    use_varied(view, fields, Content.PERMISSIONS, "Permission")
    use_named_permission(view, fields)
    _use_name_of_account(view, fields)
    _use_role_in_scope(fields)
    _leave_out_owners(fields)
    shape: dict[str, Any] = {}
    evidence = [f"{fields['Permission'].header} names permissions"]
    group = fields.get("Group")
    share_column(view, fields, shape, evidence)
    if "Username" in fields and "Group" in fields and "join" not in shape:
        fields.pop("Group")
    find_object(view, fields, group, shape.get("join", {}))
    read_access(view, fields, shape, evidence)
    add_inner_place(view, fields, evidence)
    tell_apart(view, fields, shape, evidence)
    permission = view.by_header[fields["Permission"].header]
    if separator := ("," if view.table.merges and permission is view.profiles[-1] else permission.separator):
        shape["split"] = {permission.header: separator}
        evidence.append(f"{permission.header} lists several permissions, {separated_by(separator)}")
    without_prefix(view, fields, shape, evidence)
    part = read_conditions(view, Part(Content.PERMISSIONS, fields, shape, 0.85, evidence))
    _ask_for_inner_roles(part, listed if role else None)
    split_places(view, part)
    ask_for_row_key(view, part)
    ask_if_names(view, part, is_repeated=is_repeated)
    ask_for_commas(view, part, permission)
    ask_for_unread_ticks(view, part)
    skip_no_groups(part, permission, "permission")
    return _with_users_and_roles(view, part, group)


def _leave_out_owners(fields: dict[str, Meaning]) -> None:
    # Without a column that names the object, the Owner column contains responsible people, not schemas.
    if (place := fields.get("Header")) and names_of(place.header)[:1] == ["owner"] and "Section" not in fields:
        del fields["Header"]


def _name_of_roles(view: View, fields: dict[str, Meaning]) -> Meaning | None:
    """Return the column that names the role of each row, if another column lists roles that this role includes."""
    group = view.by_header[fields["Group"].header] if "Group" in fields and "Username" not in fields else None
    if group is None or group.separator is None:
        return None
    others = [each for each in view.profiles if each is not group and each.is_unique and each.is_filled]
    column = next((each for each in others if {*group.distinct} <= {*each.distinct}), None)
    why = f"{group.header} lists values of {column.header}" if column else ""
    return Meaning(column.header, "Group", 0.7, why) if column else None


def _ask_for_inner_roles(part: Part, listed: Meaning | None) -> None:
    if listed is None:
        return
    text = f"{listed.header} lists the roles that a role includes. Nested roles are not read. Import without them?"
    choice = ProposedChoice("Yes, without them", "Permission", AS_PROPOSED)
    part.ask(text, choice)


def _with_users_and_roles(view: View, part: Part, role: Meaning | None) -> list[Part]:
    """Return the permissions, their users, and memberships of these users, read from columns of roles and groups."""
    roles = _roles_beside(view, part, role)
    parts = [
        *with_users(view.without(roles) if len(roles) > 1 else view, part),
        *_memberships_beside(view, part, roles),
    ]
    if len(roles) > 1 and parts[0].content == Content.USERS:
        parts[0].ignore(roles)
    return parts


def _roles_beside(view: View, part: Part, role: Meaning | None) -> list[str]:
    """Return the headers of the columns with roles and groups of the users that `part` does not read, such as `role`.

    If there are no others, or if they have names in common, return only `role`, and only if it is called Role, Group or
    Profile: a longer name may describe the permission.
    """
    if role is None or role.header in part.columns or "Username" not in part.fields:
        return []
    read = {*part.columns, *(column for each in part.shape.get("join", {}).values() for column in columns_in(each))}
    others = [each for each in view.profiles if each.header not in read and _names_groups(each)]
    # A role and a group with the same name would become one group.
    is_apart = sum(len(each.distinct) for each in others) == len({name for each in others for name in each.distinct})
    if len(others) > 1 and is_apart and role.header in {each.header for each in others}:
        return [each.header for each in others]
    # A longer name may describe the permission, unless the permission is called a privilege.
    permission = words_of(part.fields["Permission"].header)
    longer = (["rolename"], ["groupname"], ["profilename"]) if permission & _PRIVILEGES else ()
    return [role.header] if names_of(role.header)[:1] in (["role"], ["group"], ["profile"], *longer) else []


def _names_groups(column: Profile) -> bool:
    is_text = not (column.ticks or column.is_dated or column.is_opaque or column.separator)
    return is_text and bool(column.values) and names_of(column.header)[:1] in _NAMES_OF_GROUPS


def _memberships_beside(view: View, part: Part, roles: Sequence[str]) -> list[Part]:
    """Return memberships of the users in the groups of these columns."""
    if not roles:
        return []
    columns = [view.by_header[header] for header in roles]
    evidence = [f"Each row also pairs {part.fields['Username'].header} with {' and '.join(roles)}"]
    pairs = Part(Content.MEMBERSHIPS, {"Username": part.fields["Username"]}, {}, 0.7, evidence)
    if len(roles) > 1:
        pairs.shape["unpivot"] = {"columns": [*roles], "headers": "Group", "cells": "Group"}
        blank_no_groups(pairs, columns)
    else:
        pairs.fields["Group"] = Meaning(roles[0], "Group", 0.7, "its header names groups")
        skip_no_groups(pairs, columns[0])
    skip_denied(view, pairs)
    # Rows that the permissions leave out give no membership either.
    held = part.fields["Permission"].header
    pairs.skip_rows(*(each for each in part.shape.get("skipRowsWhere", []) if each["column"] != held))
    pairs.questions = [each for each in part.questions if any(choice.key == SKIP_ROWS for choice in each.choices)]
    return [pairs]


def _use_role_in_scope(fields: dict[str, Meaning]) -> None:
    """Read a role beside a scope as the permission, and the scope as the place where it applies."""
    role, scope = fields.get("Group"), fields["Permission"]
    if role and names_of(scope.header)[:1] == ["scope"] and "role" in words_of(role.header):
        del fields["Group"]
        fields["Permission"] = Meaning(role.header, "Permission", role.score, "it is granted in a scope")
        fields["Section"] = Meaning(scope.header, "Section", scope.score, "it says where the role is held")


def _use_name_of_account(view: View, fields: dict[str, Meaning]) -> None:
    """If no column has usernames but one says who is active, read `Name` as the username: groups are not disabled."""
    named = fields.get("Group")
    active = view.fields(Content.USERS).get("Active")
    if named and names_of(named.header)[:1] == ["name"] and "Username" not in fields and active and active.score > 0.5:
        del fields["Group"]
        fields["Username"] = Meaning(named.header, "Username", 0.6, f"{active.header} says which names are active")


def find_memberships(view: View) -> list[Part]:
    fields = fields_of_grants(view, Content.MEMBERSHIPS)
    is_repeated = use_repeated_people(view, fields, "Group")
    if not {"Username", "Group"} <= fields.keys() or name_of_groups(view) or (is_about_users(view) and not is_repeated):
        return []
    if about_people(view) and (has_realms(view) or names_caretaker(fields["Group"].header)):
        return []
    use_varied(view, fields, Content.MEMBERSHIPS, "Group")
    use_filled_group(view, fields)
    use_login(view, fields)
    username, group = (view.by_header[fields[field].header] for field in ("Username", "Group"))
    kinds = kind_column(view)
    about = about_people(without_grants(view))
    is_pair = not about and (bool(GRANTED.intersection(names_of(group.header))) or has_keys_of_grants(view))
    if len(view.profiles) > 5 and username.is_unique and not (is_pair or (kinds and kinds.users)):
        return []
    # Leave a list of users with their groups to the rule for users: users without a group have no membership.
    has_all = about or group.separator or not group.is_filled
    if username.is_unique and username.is_filled and has_all:
        return []
    if scope := scope_of_roles(view, fields):
        return _in_scope(view, fields, scope, group)
    if kinds and kinds.users and "role" in words_of(group.header) and not _are_nested(kinds):
        return roles(view, *held_by_kinds(view, fields))
    evidence = [f"Each row pairs {username.header} with {group.header}"]
    shape: dict[str, Any] = {}
    add_list(group, fields, shape, evidence)
    without_prefix(view, fields, shape, evidence)
    part = Part(Content.MEMBERSHIPS, fields, shape, 0.85, evidence)
    ask_for_other_groups(view, part, group)
    ask_if_names(view, part, is_repeated=is_repeated)
    add_realms(view, part)
    split_slashes(part, group)
    ask_for_commas(view, part, group)
    skip_groups(view, part)
    skip_denied(view, part)
    parts = with_users(view, part, is_narrowed=has_placeholders(group, part.shape.get("split", {}).get(group.header)))
    if len(parts) > 1:
        skip_no_groups(part, group)
    return parts


def _are_nested(kinds: Kinds) -> bool:
    """Return whether some holders are roles themselves."""
    return any("role" in word.lower() for word in kinds.groups)


def _in_scope(view: View, fields: dict[str, Meaning], scope: Profile, group: Profile) -> list[Part]:
    """Read roles in a scope such as an application or, if only some rows have a group, the access to applications."""
    if group.is_filled or not {"group", "groups"} & words_of(group.header):
        return roles(view, *in_scopes(fields, scope))
    applications = roles(view, *of_applications(fields, scope))
    return [*applications, *_memberships_beside(view, applications[-1], [group.header])]


def find_groups(view: View) -> list[Part]:
    if group := name_of_groups(view):
        evidence = [f"{group.header} names groups: {group.evidence}"]
        asked = ask_if_roles(view, group.header)
        return [Part(Content.GROUPS, view.fields_of_groups(group), {}, 0.7, evidence, asked)]
    if view.is_list_of_accounts:
        return []
    fields = view.fields(Content.GROUPS)
    users = {field for field, meaning in view.fields(Content.USERS).items() if meaning.score > 0.5}
    is_about_people = bool(users - {"Name", "Active"}) and view.named(OF_GROUPS) is None
    naming = view.named(["groupname", "displayname", "name"])
    if naming and view.named(OF_GROUPS):
        fields = {field: each for field, each in fields.items() if each.header != naming.header}
        fields["Group"] = Meaning(naming.header, "Group", 0.8, "it names the groups")
    kinds = kind_column(view)
    if kinds and kinds.users:
        return []
    if "Group" not in fields or is_about_people or len(view.profiles) > _MOST_OF_GROUPS:
        return []
    if view.by_header[fields["Group"].header].separator not in (None, ","):
        # If a cell lists several groups, the row describes their holder, not a group. A comma may be part of a name.
        return []
    if not view.by_header[fields["Group"].header].is_unique or _names_something_else(view, fields["Group"].header):
        return []
    return [
        Part(Content.GROUPS, fields, {}, 0.7, [f"{fields['Group'].header} is unique, and the rows are not accounts"])
    ]


def _names_something_else(view: View, group: str) -> bool:
    """Return whether rows describe another named thing, such as an account, and the group is only its attribute."""
    named = view.named(["name", "login", "username", "displayname"])
    is_other = named is not None and named.header != group and named.is_unique and named.is_filled
    return is_other and names_of(group)[:1] != ["groupname"]
