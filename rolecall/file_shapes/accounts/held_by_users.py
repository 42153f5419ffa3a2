"""Read what accounts hold from columns of the same file: groups, roles and permissions."""

import re
from collections.abc import Sequence
from typing import Any

from rolecall.application_imports.read.keyed_signs import MEMBER_WORDS
from rolecall.application_imports.read.keyed_values import BETWEEN, are_levels
from rolecall.applications.model import Content, same_header
from rolecall.core.text import fold, without_accents
from rolecall.file_shapes.cells.commas import ask_for_commas
from rolecall.file_shapes.cells.groups_held import (
    blank_no_groups,
    held_together,
    numbered_groups,
    one_for_each_object,
    skip_no_groups,
)
from rolecall.file_shapes.cells.links import has_urls
from rolecall.file_shapes.cells.numbered_pairs import Numbered, NumberedPairs, add_pairs, ask_for_details
from rolecall.file_shapes.cells.scoped_lists import ask_for_systems, name_with_scope, scope_of
from rolecall.file_shapes.cells.slashes import split_slashes
from rolecall.file_shapes.columns.header_languages import TRANSLATED
from rolecall.file_shapes.columns.header_names import (
    IDENTIFYING,
    NAMING_OBJECTS,
    is_kind_of,
    is_origin,
    names_caretaker,
    names_of,
    own_part,
    path_of,
    words_of,
)
from rolecall.file_shapes.columns.meanings import Meaning, assigned, meanings, names_grants
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View, add_list

_LISTED = re.compile(
    r"group|polic(?:y|ies)$|grps?$|grpf$|supg$|role|team|cohort|accesslevels?$|apps?$|member|licen|entitle|orgs?$|organi[sz]ation|profil|permissionset|gruppe|rolle|grup"
    rf"|ruol|perfi|groep|skupin|roller|групп|рол|角色|{without_accents('グループ|ロール|그룹|역할|ομάδ|ρόλο')}"
    rf"|grub|csoport|{without_accents('szerepkör|ryhmä')}|rooli|ulog|груп",
    re.IGNORECASE,
)
_PLURAL = {
    "gruppen", "rollen", "groupes", "grupos", "gruppi",
    "groups", "roles", "teams", "memberof", "memberships", "usergroups", "assignedroles", "assignedgroups",
}  # fmt: skip
# Singular headers of columns with groups. If the column has few values, they are groups even if none repeats.
_SINGULAR = re.compile(r"(?:role|group|team|rolle|gruppe|groupprofile|profile)(?:name|id)?$")
# Words in headers of columns with groups that the account does not necessarily have, such as Requested Role.
_NOT_HELD = {"max", "maximum", "previous", "former", "requested", "new"}
_PERMISSIONS = {"permissions", "privileges", "rights", "scopes", "capabilities", "authorities"}
# Words in headers of yes/no columns that say whether an account has a privilege.
_PRIVILEGES = {"priv", "privs", "privilege", "permission", "perm", "right"}
_LEAST_TICKED = 3
_FEW_ROWS = 20


def held_by(view: View, everything: View, users: Part, beside: Numbered) -> list[Part]:
    """Return the memberships and permissions of accounts; name unread columns of groups in the evidence of accounts.

    `view` has only the rows of accounts, and `everything` also has the rows of groups. Neither has the numbered columns
    in `beside`. If `beside` has pairs, permissions are read only from them.
    """
    lists = [each for each in view.profiles if _lists_groups(each, users.fields)]
    lists = [each for each in lists if not any(is_kind_of(each.header, other.header) for other in lists)]
    lists = one_for_each_object(lists)
    lists = sorted(lists, key=_rank_of_list)
    held, numbered = held_together(lists), numbered_groups(everything)
    # Read no other column together with a list of roles and places, because each of its entries becomes a record.
    held = next(([each] for each in held if scope_of(view, each)), held)
    granted = [each for each in view.profiles if _lists_permissions(each, users.fields)][:1]
    read = numbered or [each.header for each in held]
    if rest := ", ".join(each.header for each in lists if each.header not in read):
        users.evidence.append(f"Memberships are read only from {_and(read)}, not from {rest}")
    ticked = _ticked_permissions(view, users)
    if beside.pairs:
        granted, ticked = [], []
    parts = _groups_of(everything, users, held, numbered, beside.details) + [
        _listed_permissions(users, each) for each in granted
    ]
    parts += [_permissions_across(users, ticked)] if ticked else []
    # Do not keep these columns as metadata: the metadata of an account would change with each membership.
    users.ignore([*read, *(each.header for each in [*granted, *ticked])])
    return [*parts, *(_held_in_pairs(everything, users, beside.pairs) if beside.pairs else [])]


def _held_in_pairs(view: View, users: Part, pairs: NumberedPairs) -> list[Part]:
    """Return the permissions of numbered pairs."""
    held, level = pairs.pairs[0]
    evidence = [f"Columns with the same number belong together: {level.header} is the level or role in {held.header}"]
    part = _memberships(users, evidence, Content.PERMISSIONS)
    add_pairs(view, part, pairs)
    users.ignore(pairs.read)
    return [part]


def _groups_of(
    view: View, users: Part, held: Sequence[Profile], numbered: list[str], details: Sequence[Profile]
) -> list[Part]:
    if numbered:
        part = _numbered_memberships(view, users, numbered)
        ask_for_details(part, details, f"group in {', '.join(numbered[:2])}")
        return [part]
    return (
        [_memberships_together(users, held)]
        if len(held) > 1
        else [_listed_memberships(view, users, each) for each in held]
    )


_RANKS = ("group|gruppe|grup|memberof", "role|rolle", "team", "profile")


def _rank_of_list(profile: Profile) -> tuple[bool, int, bool]:
    """Return the sort key of a column of groups: lists first, then by the words of the header, and IDs after names."""
    name = _last_name(profile)
    rank = next((n for n, words in enumerate(_RANKS) if re.search(words, name)), len(_RANKS))
    return profile.separator is None, rank, bool(words_of(profile.header).intersection(IDENTIFYING))


def _lists_groups(profile: Profile, fields: dict[str, Meaning]) -> bool:
    if profile.header in {meaning.header for meaning in fields.values()} or not profile.values:
        return False
    if profile.is_useless or profile.is_object or (profile.is_keyed and _last_name(profile) in MEMBER_WORDS):
        return False
    name = _last_name(profile)
    if (
        profile.is_dated
        or profile.is_secret
        or has_urls(profile)
        or not (_LISTED.search(name) or name in TRANSLATED["Group"])
    ):
        return False
    # Columns such as IsGroupAdmin contain yes or no, not names of groups.
    if _is_not_held(profile) or profile.ticks or _names_person(profile, fields):
        return False
    is_group = bool({"Group"} & assigned(meanings(Content.MEMBERSHIPS, [profile])).keys())
    repeats = len(profile.distinct) < len(profile.values)
    is_plural = _last_name(profile) in _PLURAL
    is_singular = bool(_SINGULAR.search(_last_name(profile))) or _last_name(profile) in TRANSLATED["Group"]
    is_few = len(profile.values) <= _FEW_ROWS and is_singular
    is_named = is_group and (repeats or is_plural or is_few or profile.distinguished_names > 0.5)
    return profile.separator is not None or (is_named and not profile.numbers)


def _names_person(profile: Profile, fields: dict[str, Meaning]) -> bool:
    """Return whether a column such as profile.name is in the same object as the login, address or name of a person."""
    path = path_of(profile.header)
    if path is None or same_header(path[1]) not in NAMING_OBJECTS:
        return False
    people = [
        path_of(fields[field].header) for field in ("Username", "Email", "First Name", "Last Name") if field in fields
    ]
    return path[0] in [other[0] for other in people if other]


def _lists_permissions(profile: Profile, fields: dict[str, Meaning]) -> bool:
    is_other = profile.header in {meaning.header for meaning in fields.values()} or profile.is_useless
    if names_grants(profile) and not is_other:
        return True
    is_named = _last_name(profile) in _PERMISSIONS or (profile.is_keyed and _are_leveled(profile))
    return not is_other and profile.separator is not None and is_named and not _lists_groups(profile, fields)


def _are_leveled(profile: Profile) -> bool:
    """Return whether names are mapped to levels, as in `{"billing": "read"}`."""
    return are_levels(value.rpartition(BETWEEN)[2] for value in profile.distinct)


def _is_not_held(profile: Profile) -> bool:
    """Return whether a column does not show which groups the account is in.

    Such a column has the origin of groups, metadata, the group that looks after something, or a default, maximum,
    former, requested or new group.
    """
    words = words_of(profile.header)
    if is_origin(profile.header) or names_caretaker(profile.header):
        return True
    is_text = "metadata" in words and profile.separator is None
    is_other = is_text or "default" in same_header(profile.header) or bool(words & _NOT_HELD)
    return is_other or {fold(value) for value in profile.distinct} == {"default"}


def _last_name(profile: Profile) -> str:
    return (names_of(own_part(profile.header)) or [""])[-1]


def _numbered_memberships(view: View, users: Part, groups: list[str]) -> Part:
    """Return the memberships from columns that each name one group of the account.

    Unpivot these columns and keep the others.
    """
    keep = [header for header in view.table.headers if header not in groups]
    part = _memberships(users, [f"{', '.join(groups[:3])} each name one group of the account"])
    part.shape["unpivot"] = {"keep": keep, "headers": "Group", "cells": "Group"}
    return part


def _memberships_together(users: Part, groups: Sequence[Profile]) -> Part:
    """Return the memberships from several columns with groups. Some of these columns may contain lists."""
    part = _memberships(users, [f"{_and([each.header for each in groups])} name groups of the account"])
    part.shape["unpivot"] = {"columns": [each.header for each in groups], "headers": "Group", "cells": "Group"}
    if split := {each.header: each.separator for each in groups if each.separator}:
        part.shape["split"] = split
        part.evidence.append(f"A cell may list several groups: {', '.join(split)}")
    if any(each.distinguished_names for each in groups):
        part.shape.setdefault("join", {})["Group"] = "{Group|rdn}"
        part.evidence.append("Groups are distinguished names; the first part names the group")
    blank_no_groups(part, groups)
    return part


def _listed_memberships(view: View, users: Part, groups: Profile) -> Part:
    part = _memberships(users, [f"{groups.header} names groups of the account"])
    if name_with_scope(view, part, groups):
        return part
    part.fields["Group"] = Meaning(groups.header, "Group", 0.8, "its header names groups")
    add_list(groups, part.fields, part.shape, part.evidence)
    split_slashes(part, groups)
    if _SINGULAR.search(_last_name(groups)):
        ask_for_commas(view, part, groups)
    skip_no_groups(part, groups)
    ask_for_systems(view, part, groups)
    return part


def _ticked_permissions(view: View, users: Part) -> list[Profile]:
    """Return the yes/no columns whose headers name privileges, such as Select_priv, if there are at least three."""
    taken = {each.header for each in users.fields.values()}
    found = [each for each in view.profiles if each.ticks and words_of(each.header) & _PRIVILEGES]
    found = [each for each in found if each.header not in taken]
    return found if len(found) >= _LEAST_TICKED else []


def _permissions_across(users: Part, ticked: Sequence[Profile]) -> Part:
    headers = [each.header for each in ticked]
    evidence = [f"{len(headers)} columns with yes and no are privileges, such as {', '.join(headers[:3])}"]
    part = _memberships(users, evidence, Content.PERMISSIONS)
    part.shape["unpivot"] = {"columns": headers, "headers": "Permission", "cells": "Access"}
    return part


def read_roles_as_permissions(part: Part) -> bool:
    """Read the roles of accounts as permissions, because another file has the memberships.

    Return whether the content has roles.
    """
    group = part.fields.get("Group")
    if part.content != Content.MEMBERSHIPS or group is None or not words_of(group.header) & {"role", "roles"}:
        return False
    part.content = Content.PERMISSIONS
    why = "it names roles, and another file has the memberships"
    del part.fields["Group"]
    part.fields["Permission"] = Meaning(group.header, "Permission", group.score, why)
    part.evidence.append(f"{group.header} is read as permissions, because another file has the memberships")
    return True


def _listed_permissions(users: Part, permissions: Profile) -> Part:
    part = _memberships(users, [f"{permissions.header} lists permissions of the account"], Content.PERMISSIONS)
    part.fields["Permission"] = Meaning(permissions.header, "Permission", 0.8, "its header names permissions")
    if permissions.separator:
        part.shape["split"] = {permissions.header: permissions.separator}
    else:
        skip_no_groups(part, permissions, "permission")
    return part


def _memberships(users: Part, evidence: list[str], content: Content = Content.MEMBERSHIPS) -> Part:
    """Return a content with only the usernames of the accounts; the caller adds the groups or permissions."""
    if "Username" in users.fields:
        return Part(content, {"Username": users.fields["Username"]}, {}, 0.7, evidence)
    shape: dict[str, Any] = {"join": {"Username": users.shape["join"]["Username"]}}
    return Part(content, {}, shape, 0.7, evidence)


def _and(headers: Sequence[str]) -> str:
    return " and ".join(headers)
