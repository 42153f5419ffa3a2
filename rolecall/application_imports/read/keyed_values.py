"""Read the access in JSON objects.

In an object that maps names to access, the names are data, like the rows of a table: `{"billing": ["viewer"]}` is read
as `billing: viewer`. An object that describes one thing is read as its name: `{"id": 7, "name": "Agent"}` as `Agent`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import msgspec

from rolecall.applications.field_words import ACCESS, ACTIVE, GIVES_NOTHING, NO_ACCESS, YES_NO
from rolecall.core.nested_json import decode_json, decode_nested
from rolecall.core.secret_names import HIDDEN, looks_secret
from rolecall.core.text import fold, without_accents

Object = Mapping[str, Any]
# The names that lead to a value, followed by the value.
Path = tuple[str, ...]
# The sign between names, as in `billing: viewer`.
BETWEEN = ": "
# Members that name an object, best first: `{"id": 7, "name": "Agent"}` is named Agent.
_NAMING = ("displayname", "display", "name", "value")
# Members that name an object in a list or an object that fills a cell, best first.
_NAMING_ENTRIES = (
    *_NAMING,
    "title",
    "label",
    "summary",
    "key",
    "code",
    "slug",
    "id",
    "login",
    "username",
    "email",
    "mail",
)
# Words that mean no access: `_NO_NAME` in a list of names, and `_NO_LEVEL` in place of a level.
_NO_NAME = {"", *GIVES_NOTHING}
_ENDED = {word for word, is_active in ACTIVE.items() if not is_active and word not in YES_NO and not word.isdecimal()}
_NO_LEVEL = _NO_NAME | NO_ACCESS | {word for word, access in ACCESS.items() if access in ("None", "Deny")} | _ENDED
# Words for access, in names of objects and in headers.
ACCESS_WORDS = {
    "access", "permission", "permissions", "perms", "privilege", "privileges", "role", "roles", "group", "groups",
    "team", "teams", "entitlement", "entitlements", "right", "rights", "membership", "memberships", "authorities",
    "authorizations", "scopes", "license", "licenses", "licences", "capabilities", "grants", "policies",
    "responsibilities", "rollen", "gruppen", "berechtigungen", "rechte", "droits", "permisos", "profiles",
}  # fmt: skip
# Words in names of flags that describe an account or a thing, such as `verified`. Such a flag is not access.
FLAG_WORDS = {
    "mfa", "fa", "2fa", "otp", "password", "pwd", "passwd", "factor", "verified", "confirmed", "enrolled", "expired",
    "expires", "expire", "expiry", "lock", "locked", "enabled", "disabled", "active", "inactive", "deleted", "archived",
    "suspended", "blocked", "synced", "sync", "signed", "required", "primary", "default", "notification",
    "notifications", "newsletter", "subscribed", "self", "registered", "enforced", "hidden", "visible", "public",
    "inherited", "inherit", "valid", "deactivated", "terminated", "revoked", "cert", "sso", "saml", "federated",
}  # fmt: skip
# Names of members that describe one thing or contain a list. They are not read as names of users, groups or access.
OF_THINGS = {
    "id", "name", "displayname", "display", "title", "label", "key", "code", "value", "values", "type", "kind", "url",
    "description", "href", "uri", "link", "links", "self", "ref", "$ref", "slug", "email", "emails", "mail", "login",
    "username", "level",
    "status", "state", "created", "createdat", "updated", "updatedat", "count", "total", "size", "totalsize", "done",
    "items", "data", "results", "records", "entries", "nodes", "edges", "list", "elements", "element", "item", "parent",
    "firstname", "lastname", "department", "city", "country", "phone", "locale", "language", "identifier",
    "userprincipalname", "principaltype",
}  # fmt: skip
_LEVELS = {
    "read", "write", "admin", "view", "viewer", "edit", "editor", "owner", "member", "guest", "maintainer", "developer",
    "reporter", "full", "manage", "manager", "contributor", "user", "reader", "writer", "readonly", "readwrite", "only",
    "administrator", "approver", "operator", "maintain", "triage", "push", "pull", "rw", "ro", "none",
    # The access levels of GitLab.
    "10", "15", "20", "30", "40", "50",
}  # fmt: skip
# Words in names of members that contain the level of access to a thing.
_LEVEL_WORDS = {*ACCESS_WORDS, "permission"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class _Found(NamedTuple):
    """What is found in an object: the names that lead to access, or the members that are not read."""

    path: Path = ()
    unread: Object | None = None


def object_in(cell: str) -> dict[str, Any] | None:
    """Return the JSON object in a cell, or None if the cell contains anything else.

    If a name is repeated, its values are a list.
    """
    if not cell.startswith("{"):
        return None
    try:
        decode_nested(cell, dict[str, Any])
    except msgspec.DecodeError:
        return None
    found: dict[str, Any] = decode_json(cell)
    return found


def keyed_values(value: object) -> list[str]:
    """Return each value in an object after the names that lead to it, as in `billing: viewer`; for true, only names.

    Leave out false, null, empty lists, words for no access, and secrets. Of an object that describes one thing, return
    the name with its level, if it has one.
    """
    return list(dict.fromkeys(BETWEEN.join(each.path) for each in _found_in(value) if each.path))


def unread_in(value: object) -> list[Object]:
    """Return the members that `keyed_values` does not read, grouped by the object that they belong to."""
    return [each.unread for each in _found_in(value) if each.unread]


def _found_in(value: object) -> Iterator[_Found]:
    if isinstance(value, dict) and not _is_described(value):
        return _found_in_map((), value)
    return _found((), [value] if isinstance(value, dict) else value, _NO_NAME)


def _found(path: Path, value: object, nothing: Set[str]) -> Iterator[_Found]:
    match value:
        case None | False:
            return
        case True:
            yield _Found(path)
        case list():
            for each in value:
                inner = _found_in_object(path, each, _NAMING_ENTRIES) if isinstance(each, dict) else None
                yield from inner or _found(path, each, _NO_NAME)
        case dict():
            yield from _found_in_object(path, value, _NAMING)
        case _:
            text = str(value).strip()
            if fold(text) not in nothing:
                yield _Found((*path, text))


def _found_in_map(path: Path, value: Object) -> Iterator[_Found]:
    for name, inner in value.items():
        if is_secret(name, inner):
            yield _Found(unread={name: HIDDEN})
        else:
            # The sign between names must not occur inside a name.
            yield from _found((*path, name.strip().replace(BETWEEN, BETWEEN.strip())), inner, _NO_LEVEL)


def _found_in_object(path: Path, value: Object, naming: Sequence[str]) -> Iterator[_Found]:
    """Find the name of a thing with its level, or the access in an object that maps names to access.

    Without a name of its own, a thing is named by the keys that lead to it, such as `staff` in `{"staff": {"id": 7}}`.
    """
    named = _naming_member(value, naming)
    levels = [name for name, inner in value.items() if _is_level_of_thing(name, inner) and name != named]
    is_thing = named is not None or is_of_things(value)
    if not is_thing and not levels:
        yield from _found_in_map(path, value)
        return
    name = str(value[named]).strip() if named else ""
    path = (*path, name) if name else path
    if levels:
        for level in levels:
            yield from _found(path, value[level], _NO_LEVEL)
    elif not name or fold(name) not in _NO_NAME:
        yield _Found(path)
    others = {each: inner for each, inner in value.items() if each not in (named, *levels)}
    access = {} if is_thing else {each: inner for each, inner in others.items() if _may_be_access(each, inner)}
    yield from _found_in_map(path, access)
    unread = {each: inner for each, inner in others.items() if each not in access}
    yield _Found(unread={each: HIDDEN if is_secret(each, inner) else inner for each, inner in unread.items()})


def _is_described(value: Object) -> bool:
    """Return whether an object that fills a cell describes one thing. Otherwise, its names are data."""
    if "id" in map(fold, value):
        return True
    naming = _naming_member(value, _NAMING)
    return naming is not None and is_of_things(value)


def is_of_things(value: Object) -> bool:
    """Return whether an object has an ID, or only members that describe a thing."""
    names = {*map(fold, value)}
    is_plain = bool(names) and not any(each is True or isinstance(each, list | dict) for each in value.values())
    return "id" in names or (is_plain and names <= OF_THINGS)


def _is_level_of_thing(name: str, value: object) -> bool:
    """Return whether a member such as `role` contains the level of access to a thing."""
    words = words_of(name)
    if isinstance(value, bool):
        return words == {"access"}
    if words == {"level"}:
        return are_levels([str(value)])
    is_named = bool(words & _LEVEL_WORDS) and words <= _LEVEL_WORDS | {"level", "name"}
    return is_named and isinstance(value, str | int) and value != "" and not is_secret(name, value)


def _may_be_access(name: str, value: object) -> bool:
    """Return whether a member beside a level may be access too: true, another level, a list or an object."""
    if fold(name) in OF_THINGS or words_of(name) & FLAG_WORDS:
        return False
    return value is True or (isinstance(value, list | dict) and bool(value)) or are_levels([str(value)])


def only_describes(name: str) -> bool:
    """Return whether a member such as `url` only describes an object, and says nothing about access or its status."""
    return fold(name) in OF_THINGS - {"status", "state", "level"}


def name_of(value: Object) -> str | None:
    """Return the name or the level of an object, or None if no member contains one."""
    return _name_of(value, _NAMING)


def name_of_entry(entry: Object) -> str | None:
    """Return the name, the level or the ID of an object in a list, or None if no member contains one."""
    return _name_of(entry, _NAMING_ENTRIES)


def _name_of(value: Object, naming: Sequence[str]) -> str | None:
    levels = (name for name, inner in value.items() if _is_level_of_thing(name, inner))
    member = _naming_member(value, naming) or next(levels, None)
    return None if member is None else str(value[member])


def _naming_member(value: Object, naming: Sequence[str]) -> str | None:
    members = {fold(name).replace("_", ""): name for name, inner in value.items() if _is_text(inner)}
    return next((members[name] for name in naming if name in members), None)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def is_secret(name: str, value: object) -> bool:
    """Return whether a member is named like a secret and contains text."""
    return looks_secret(name) and _has_text(value)


def _has_text(value: object) -> bool:
    if isinstance(value, list | dict):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return _is_text(value)


def are_levels(texts: Iterable[str]) -> bool:
    """Return whether most of the different texts contain a usual word for a level of access, such as `read`."""
    distinct = {*texts}
    return 2 * sum(bool(_LEVELS & all_words(text)) for text in distinct) > len(distinct)


def words_of(path: str) -> set[str]:
    """Return the words of the last name in a path."""
    return all_words(without_accents(path.rpartition(".")[2]))


def all_words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
