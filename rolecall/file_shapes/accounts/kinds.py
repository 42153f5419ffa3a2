"""Distinguish users and groups that share a column, by another column or by a prefix."""

import re
from functools import cached_property
from typing import Any

import msgspec

from rolecall.applications.field_words import YES_NO
from rolecall.applications.file_shape import JSON, fits_filters
from rolecall.applications.model import Content, same_header
from rolecall.core.text import fold
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View, view_of

_GROUPS = re.compile(
    r"group|role|team|^share$|special ?identit|well-?known|anonymous|^everyone$|gruppe|grupo|gruppo", re.IGNORECASE
)
_USERS = re.compile(
    r"user|account|principal|person|login|member|^guest$|^internal$|^external$"
    r"|benutzer|utilisateur|usuario|utente|gebruiker",
    re.IGNORECASE,
)
# Values that can only be kinds of holders, as `fold` returns them. Other words, such as Application, may also be kinds
# of what is held.
_ONLY_USERS = {
    "user", "users", "u", "account", "accounts", "useraccount", "person", "aduser", "domainuser", "localuser",
    "benutzer", "utilisateur", "usuario", "utente", "gebruiker",
}  # fmt: skip
_ONLY_GROUPS = {
    "group", "groups", "g", "securitygroup", "adgroup", "domaingroup", "localgroup", "usergroup", "role", "roles",
    "gruppe", "groupe", "grupo", "gruppo", "groep",
}  # fmt: skip
# Classes of managed service accounts in Active Directory, such as msDS-GroupManagedServiceAccount.
_SERVICE = re.compile(r"(?:group)?managed ?service ?account", re.IGNORECASE)
KIND = {"type", "kind", "typ", "tipo"}
# Headers of columns that say user or group, such as U/G.
_BOTH = {"ug", "usergroup", "userorgroup"}
_HELD = {"group", "role", "team", "entitlement", "permission", "privilege", "license", "access"}
_TYPE_OF_HELD = re.compile(rf"(?:{'|'.join(sorted(_HELD))})(?:type|kind)")
# Words that may occur beside those in `_HELD` in a header, such as Security Group Type.
_KIND_OF_HELD = {"type", "kind", "security", "name"}
_ALL = {
    "everyone", "everybody", "allusers", "authenticatedusers", "interactive", "public", "jeder", "toutlemonde",
    "todos", "anonymouslogon", "allauthenticatedusers",
}  # fmt: skip
_NAME_OF_GROUP = re.compile(
    r"(?:^|[ ._\-\\])(?:admins|administrators|administratoren|administrateurs|administradores|users|guests|operators"
    r"|groups?|teams?|gruppen?|groupes?|grupos?|benutzer|utilisateurs|usuarios|owners|members|readers|editors|managers"
    r"|visitors|contributors|approvers|auditors|developers|computers|controllers)$"
    r"|(?:^|\\)(?:gg|gl|dl|sg|grp|ug|acl|sec|role)[-_]",
    re.IGNORECASE,
)
# In a Windows domain, names of groups often contain spaces, but logins rarely do.
_SPACED = re.compile(r"[^\\@\s][^\\@]{0,63}\\[^\\@\s]{1,64} ")
# Words in headers of accounts, and of the holders of access in an account of a cloud provider.
_ACCOUNT, _PRINCIPALS = {"account", "id", "name", "no", "number"}, {"principal", "grantee", "assignee"}
_MOST_KINDS = 8
_SURE = 0.5
_NAMING = {"displayname", "name", "principalname", "groupname", "usergroup", "principal", "identifier", "usergroupname"}
_PREFIX = re.compile(r"([A-Za-z_]{1,40}):(?=\S)")
# These signs after a prefix mark an identity of another provider, such as principal://…, which keeps its prefix.
_PATH = "//"
_ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|S-1-5-21-")
# Names that cloud providers use for everyone.
_EVERYONE = {"allUsers", "allAuthenticatedUsers"}
# The prefix of members whose account was deleted.
_DELETED = "deleted:"
# Prefixes of members that mean several people.
_SEVERAL = re.compile(r"group|domain|project|principalSet", re.IGNORECASE)


class Kinds(Profile):
    """A column that says whether each row is about a user or a group."""

    @property
    def groups(self) -> list[str]:
        return [value for value in self.distinct if self._is_group(value)]

    @property
    def users(self) -> list[str]:
        return [value for value in self.distinct if not self._is_group(value)]

    def _is_group(self, value: str) -> bool:
        if self.is_flag:
            return YES_NO.get(fold(value)) is True
        # The actor of a role, such as atlassian-user-role-actor, is a user.
        words = words_of(value)
        if "user" in words and "role" in words and "group" not in words:
            return False
        return bool(_GROUPS.search(_SERVICE.sub("", value))) or (self.is_coded and value in ("G", "R"))

    @cached_property
    def is_flag(self) -> bool:
        """Return whether the column is called IsGroup and has only yes and no."""
        return names_of(self.header)[:1] == ["isgroup"] and all(fold(value) in YES_NO for value in self.distinct)

    @cached_property
    def is_coded(self) -> bool:
        """Return whether each kind is U, G or R, and U occurs, as in Db2."""
        return "U" in self.distinct and set(self.distinct) <= {"U", "G", "R"}


def kind_column(view: View) -> Kinds | None:
    """Return the column with the kind of each row, preferably one that has both users and groups."""
    named = [each for each in view.profiles if _names_kinds(each) or holder_beside(view, each)]
    found = [Kinds(each.header, each.position, each.cells) for each in named]
    known = [kinds for kinds in found if _are_kinds(kinds)]
    return max(known, key=lambda kinds: bool(kinds.users), default=None)


def _names_kinds(profile: Profile) -> bool:
    endings = (*KIND, "typedesc", "grantedto", "objectclass", "isgroup")
    names = names_of(profile.header)
    is_named = any(name.endswith(endings) for name in names) or (not _BOTH.isdisjoint(names) and tells_holders(profile))
    return is_named and not _is_of_held(profile.header)


def tells_holders(profile: Profile) -> bool:
    """Return whether the values of a column say user in some rows and group in others, and nothing else."""
    kinds = {fold(value) for value in profile.distinct}
    return kinds <= _ONLY_USERS | _ONLY_GROUPS and bool(kinds & _ONLY_USERS) and bool(kinds & _ONLY_GROUPS)


def holder_beside(view: View, kind: Profile) -> Profile | None:
    """Return the column with the holders that `kind` is about, such as Entitlement beside Entitlement Type, or None.

    If there is a column of logins, no other column can have the holders. It has them if no column is named like `kind`,
    the header of `kind` is about what is held, such as Group Type, and the logins agree with it (`_are_told_apart`).
    """
    about = words_of(kind.header) - KIND
    if not tells_holders(kind) or not about:
        return None
    same = [each for each in view.profiles if each is not kind and words_of(each.header) == about]
    login = view.fields(Content.PERMISSIONS, [kind.header, *(each.header for each in same)]).get("Username")
    if login is None:
        return next((each for each in same if _has_one_kind(each, kind)), None)
    column = view.by_header[login.header]
    return column if not same and _is_of_held(kind.header) and _are_told_apart(column, kind) else None


def _has_one_kind(column: Profile, kind: Profile) -> bool:
    """Return whether each value of a column occurs with only one kind."""
    return len(set(zip(column.cells, kind.cells, strict=True))) == len(set(column.cells))


def _are_told_apart(column: Profile, kind: Profile) -> bool:
    """Return whether the names agree with `kind`.

    They agree if each name has only one kind, and names that look like groups occur among groups, but not among users.
    """
    found = {
        (fold(word.strip()) in _ONLY_GROUPS, is_spaced(name) or looks_like_group(name))
        for name, word in zip(column.cells, kind.cells, strict=True)
    }
    return (True, True) in found and (False, True) not in found and _has_one_kind(column, kind)


def looks_like_group(name: str) -> bool:
    """Return whether a name ends with a word for a group, or means everyone."""
    return fold(name) in _ALL or bool(_NAME_OF_GROUP.search(name))


def is_spaced(name: str) -> bool:
    return bool(_SPACED.match(name))


def fields_of_grants(view: View, content: Content) -> dict[str, Meaning]:
    """Return the fields of memberships or permissions.

    If a column such as Entitlement Type says what the holders are, read the username from the column of these holders.
    """
    kinds = [each for each in view.profiles if tells_holders(each)]
    holders = {each.header: holder for each in kinds if (holder := holder_beside(view, each))}
    if not holders:
        # Do not read a column that says user or group as the name of a permission.
        return _held_by_principals(view, content, view.fields(content, [each.header for each in kinds]))
    kind, holder = next(iter(holders.items()))
    why = f"{kind} says that it names users and groups"
    return {
        "Username": Meaning(holder.header, "Username", 0.8, why),
        **view.fields(content, [kind, holder.header]),
    }


def _held_by_principals(view: View, content: Content, fields: dict[str, Meaning]) -> dict[str, Meaning]:
    """Return the fields with a column such as Principal Name as the username, and Account ID beside it as the place.

    Do so only if an account has several principals: it is then an account of a cloud provider or a customer.
    """
    named = fields.get("Username")
    if named is None or not words_of(named.header) <= _ACCOUNT:
        return fields
    account = view.by_header[named.header]
    found = [each for each in meanings(content, view.profiles) if each.field == "Username" and each.score > _SURE]
    found = [each for each in found if words_of(each.header) & _PRINCIPALS and _has_several(view, account, each.header)]
    if not found:
        return fields
    others = {**view.fields(content, [found[0].header, account.header]), "Username": found[0]}
    if content == Content.PERMISSIONS:
        others["Header"] = Meaning(account.header, "Header", 0.6, f"{found[0].header} names the holders")
    return others


def _has_several(view: View, account: Profile, header: str) -> bool:
    """Return whether an account occurs with several values of another column."""
    pairs = zip(account.cells, view.by_header[header].cells, strict=True)
    return len(set(pairs)) > len(set(account.cells))


def _is_of_held(header: str) -> bool:
    """Return whether a header names the kind of what is held, such as Group Type, rather than the kind of a holder."""
    words = words_of(header.rpartition(".")[2])
    if _TYPE_OF_HELD.fullmatch(same_header(header.rpartition(".")[2])):
        return True
    return bool(words & _HELD) and bool(words & {"type", "kind"}) and not words - _HELD - _KIND_OF_HELD


def _are_kinds(kinds: Kinds) -> bool:
    if not kinds.groups or len(kinds.distinct) > _MOST_KINDS:
        return False
    if kinds.users:
        return kinds.is_flag or kinds.is_coded or any(map(_USERS.search, kinds.users))
    # A column called just type or kind might describe something other than the holder.
    is_about_holder = names_of(kinds.header)[0] not in ("type", "kind")
    return is_about_holder and all(word.lower() in ("group", "role", "team", "share") for word in kinds.groups)


def share_column(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Read Username and Group from one column that has both; the column of kinds says which of the two is in a row.

    If all kinds are groups, read only Group from the column. If it lacks names of groups, read them from another one.
    If no other column has them, and a kind has no names at all, read the kind as the name of a group.
    """
    holder, kind = fields.get("Username") or fields.get("Group"), kind_column(view)
    if holder is None or kind is None or holder.header == kind.header:
        return
    column = _named_beside(view, kind) or holder.header
    if not kind.users:
        for field in ("Username", "Group"):
            fields.pop(field, None)
        fields["Group"] = Meaning(column, "Group", holder.score, f"{kind.header} says that it names groups")
        return
    named = [word for word in kind.groups if not _is_nameless(view.by_header[column], kind, word)]
    other = _filled_for(view, column, kind)
    nameless = [] if other != column else [word for word in kind.groups if word not in named]
    for field in ("Username", "Group"):
        fields.pop(field, None)
    groups = [word for word in kind.groups if word not in nameless]
    patterns = {
        "Username": _users_when(view, column, kind),
        "Group": _when(other, kind, groups) + _when(kind.header, kind, nameless),
    }
    shape["join"] = {field: pattern for field, pattern in patterns.items() if pattern}
    if unread := [word for word in kind.distinct if not fits_filters(word)]:
        evidence.append(
            f"Rows whose {kind.header} is {', '.join(unread)} are rejected, because patterns cannot contain these words"
        )
    names = f"{column} names" if other == column else f"{column} and {other} name"
    evidence.append(f"{names} users and groups; {kind.header} says which")
    if nameless:
        evidence.append(
            f"Rows whose {kind.header} is {', '.join(nameless)} have no name: the kind is read as the name of a group"
        )


def _named_beside(view: View, kind: Kinds) -> str | None:
    """Return the column `name` in the same object as the kind, such as subjects.name beside subjects.kind."""
    place = kind.header.rpartition(".")[0]
    column = view.by_header.get(f"{place}.name") if place else None
    return column.header if column and column.is_filled else None


def _is_nameless(column: Profile, kind: Kinds, word: str) -> bool:
    rows = zip(column.cells, kind.cells, strict=True)
    return not any(name.strip() for name, cell in rows if cell.strip() == word)


def _users_when(view: View, column: str, kind: Kinds) -> str:
    """Return the pattern for usernames.

    The usernames of Kubernetes service accounts include the namespace, because a name can occur in several namespaces.
    """
    place = kind.header.rpartition(".")[0]
    space = f"{place}.namespace" if place else "namespace"
    services = [word for word in kind.users if fold(word) == "serviceaccount"]
    if space not in view.by_header or not services:
        return _when(column, kind, kind.users)
    named = [f"{{{space}|when({kind.header}={word})|prefix(system:serviceaccount:)|suffix(:)}}" for word in services]
    others = [word for word in kind.users if word not in services]
    return "".join([_when(column, kind, others), *named, _when(column, kind, services)])


def _when(column: str, kind: Kinds, words: list[str]) -> str:
    return "".join(f"{{{column}|when({kind.header}={word})}}" for word in words if fits_filters(word))


def _filled_for(view: View, column: str, kind: Kinds) -> str:
    """Return the column with names of groups: `column`, or display names if `column` has blanks or IDs for groups."""
    rows = [n for n, cell in enumerate(kind.cells) if cell.strip() in kind.groups]
    held = [view.by_header[column].cells[n].strip() for n in rows]
    if all(held) and not any(map(_ID.search, held)):
        return column
    named = [each for each in view.profiles if _NAMING.intersection(names_of(each.header)) or _is_beside(each, column)]
    filled = [each.header for each in named if all(each.cells[n].strip() for n in rows)]
    if all(held):
        # The logins of groups contain GUIDs: use names instead.
        filled = [each for each in filled if not any(_ID.search(view.by_header[each].cells[n]) for n in rows)]
    # In nested records, prefer the name in the same object as the kind.
    place = kind.header.rpartition(".")[0]
    return max(filled, key=lambda header: header.rpartition(".")[0] == place, default=column)


def _is_beside(profile: Profile, column: str) -> bool:
    """Return whether a column names the same things as `column`, such as Collaborator Name and Collaborator Login."""
    words, others = words_of(profile.header), words_of(column)
    return "name" in words and bool(words - {"name"}) and words - {"name"} < others


def people_among(view: View) -> View:
    """Return the view without rows about groups; return it unchanged if no row is about users."""
    kind = kind_column(view)
    if kind is None or not kind.users:
        return view
    rows = [row for row, cell in zip(view.table.rows, kind.cells, strict=True) if cell.strip() not in kind.groups]
    return view_of(msgspec.structs.replace(view.table, rows=rows))


def skip_groups(view: View, part: Part) -> None:
    """Leave out rows about groups if other rows are about users."""
    kind = kind_column(view)
    if kind and kind.users:
        part.skip_rows({"column": kind.header, "is": kind.groups})
        part.evidence.append(f"Rows whose {kind.header} is {', '.join(kind.groups)} are not users and are left out")


def find_bindings(naming: Profile, members: Profile, separator: str) -> Part | None:
    """Recognize roles whose members have prefixes such as `user:`; read the roles as permissions."""
    values = members.distinct if separator == JSON else [
        part.strip() for value in members.distinct for part in value.split(separator)
    ]  # fmt: skip
    if members.is_keyed:
        return None
    found = {value: _PREFIX.match(value) for value in values if value and value not in _EVERYONE}
    if not all(found.values()) or not any(match and not _is_path(match) for match in found.values()):
        return None
    gone = [value for value in found if value.startswith(_DELETED)]
    known = [match for value, match in found.items() if match and value not in gone]
    kinds = list(dict.fromkeys(match[1] for match in known))
    whole = {match[1] for match in known if _is_path(match)}
    column = members.header
    named = {kind: f"{{{column}|starting({kind}:){'' if kind in whole else '|after(:)'}}}" for kind in kinds}
    groups = [named[kind] for kind in kinds if _SEVERAL.search(kind)]
    groups += [f"{{{column}|starting({name})}}" for name in sorted(_EVERYONE.intersection(values))]
    join = {"Username": "".join(named[kind] for kind in kinds if not _SEVERAL.search(kind))}
    if groups:
        join["Group"] = "".join(groups)
    shape = {"split": {column: separator}, "join": {field: each for field, each in join.items() if each}}
    evidence = [
        f"{column} lists members with their kind ({', '.join(kinds[:5])}); "
        f"each member has the permission in {naming.header}"
    ]
    fields = {"Permission": Meaning(naming.header, "Permission", 0.85, "it is granted to the listed members")}
    part = Part(Content.PERMISSIONS, fields, {**shape, "deriveUsers": bool(join["Username"])}, 0.8, evidence)
    # Leave out deleted members even if the sample has none: later files may have some.
    part.skip_rows({"column": column, "startsWith": [_DELETED]})
    if gone:
        part.evidence.append(f"Members that were deleted are left out: {', '.join(gone)[:80]}")
    return part


def read_place(view: View, part: Part, members: Profile) -> Part:
    """Read the resource of a policy, such as a project, as the place of the permissions that the policy gives."""
    inner = members.header.rpartition(".")[0]
    around = [each for each in view.profiles if inner and not each.header.startswith(f"{inner}.")]
    taken = [each.header for each in view.profiles if each not in around] if inner else [*part.columns, members.header]
    fields = view.fields(Content.PERMISSIONS, taken)
    found = [fields[field].header for field in ("Section", "Header") if field in fields and fields[field].score > _SURE]
    found += [each.header for each in around if _NAMING.intersection(names_of(each.header)[:1]) and each.values]
    if found:
        part.fields["Section"] = Meaning(found[0], "Section", 0.7, "its policy gives the roles")
        part.evidence.append(f"Each role applies to the {found[0]} of its row")
    return part


def _is_path(match: re.Match[str]) -> bool:
    return match.string.startswith(_PATH, match.end())
