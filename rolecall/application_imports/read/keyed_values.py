"""Read JSON objects that map names to access: `{"billing": ["viewer"]}` is read as `billing: viewer`.

The names in such an object are data, like the rows of a table: they differ between records, and between files.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

import msgspec

from rolecall.application_imports.read.json_pages import ENVELOPES
from rolecall.applications.field_words import ACCESS, GIVES_NOTHING, NO_ACCESS
from rolecall.core.nested_json import decode_nested
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import fold, without_accents

Object = Mapping[str, Any]
# The sign between names, as in `billing: viewer`.
BETWEEN = ": "
# Members that name an object, best first: `{"id": 7, "name": "Agent"}` is named Agent.
_NAMING = (
    "displayname", "display", "name", "rolename", "role", "groupname", "group", "permission", "accesslevel", "level",
    "access", "value",
)  # fmt: skip
# Words for nothing, in a list of names and in place of a level.
_NO_NAME = {"", *GIVES_NOTHING}
_NO_LEVEL = _NO_NAME | NO_ACCESS | {word for word, access in ACCESS.items() if access in ("None", "Deny")}
# Words for access, in names of objects and in headers.
ACCESS_WORDS = {
    "access", "permission", "permissions", "perms", "privilege", "privileges", "role", "roles", "group", "groups",
    "team", "teams", "entitlement", "entitlements", "right", "rights", "membership", "memberships", "authorities",
    "authorizations", "scopes", "license", "licenses", "licences", "capabilities", "grants", "policies",
    "responsibilities", "rollen", "gruppen", "berechtigungen", "rechte", "droits", "permisos", "profiles",
}  # fmt: skip
# Words in names of objects that map names to access: the access, and the places where it applies.
_KEYED_ACCESS = ACCESS_WORDS | {"accesses", "assignments", "privs"}
_PLACES = {
    "app", "apps", "application", "applications", "project", "projects", "space", "spaces", "site", "sites", "tenants",
    "workspace", "workspaces", "environments", "repository", "repositories", "repos", "clients", "databases", "schemas",
    "clusters", "namespaces", "systems", "modules", "orgs", "organizations", "organisations", "domains", "realms",
    "folders", "mailboxes", "boards", "channels", "products", "services", "resources", "accounts", "companies",
}  # fmt: skip
# Words in names of objects that map members to their roles.
MEMBER_WORDS = {"members", "member", "users"}
# Members of objects that describe one thing or contain a list. Their names are not data.
_OF_THINGS = {
    "id", "name", "displayname", "display", "title", "label", "key", "code", "value", "values", "type", "kind", "url",
    "description", "href", "uri", "link", "links", "self", "ref", "$ref", "slug", "email", "emails", "mail", "login",
    "username", "level",
    "status", "state", "created", "createdat", "updated", "updatedat", "count", "total", "size", "totalsize", "done",
    "items", "data", "results", "records", "entries", "nodes", "edges", "list", "elements", "element", "item", "parent",
    "firstname", "lastname", "department", "city", "country", "phone", "locale", "language",
}  # fmt: skip
_LEVELS = {
    "read", "write", "admin", "view", "viewer", "edit", "editor", "owner", "member", "guest", "maintainer", "developer",
    "reporter", "full", "manage", "manager", "contributor", "user", "reader", "writer", "readonly", "readwrite", "only",
    "administrator", "approver", "operator", "maintain", "triage", "push", "pull", "rw", "ro", "none",
    # The access levels of GitLab.
    "10", "15", "20", "30", "40", "50",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST, _MOST_WORDS = 60, 5


def object_in(cell: str) -> dict[str, Any] | None:
    """Return the JSON object in a cell, or None if the cell contains anything else."""
    try:
        return decode_nested(cell, dict[str, Any]) if cell.startswith("{") else None
    except msgspec.DecodeError:
        return None


def keyed_values(value: Object) -> list[str]:
    """Return each value in an object, preceded by the names that lead to it; for the value true, only these names.

    Leave out false, null, empty lists, and words for no access. Of an object that describes one thing, return the name.
    """
    if named := name_of_thing(value):
        return [named]
    found = (BETWEEN.join(path) for name, inner in value.items() for path in _paths((name,), inner, _NO_LEVEL))
    return list(dict.fromkeys(found))


def _paths(path: tuple[str, ...], value: object, nothing: Set[str]) -> Iterator[tuple[str, ...]]:
    match value:
        case None | False:
            return
        case True:
            yield path
        case list():
            for each in value:
                yield from _paths(path, _id_in(each) or each, _NO_NAME)
        case dict() if name_of(value) is None and _is_thing(value):
            # The name that leads to such an object is its name: `{"staff": {"id": 7}}`.
            yield path
        case dict() if name_of(value) is None:
            for name, inner in value.items():
                yield from _paths((*path, name), inner, _NO_LEVEL)
        case _:
            text = (name_of(value) or "" if isinstance(value, dict) else str(value)).strip()
            if fold(text) not in nothing:
                yield *path, text


def _is_thing(value: Object) -> bool:
    """Return whether an object describes one thing. Otherwise, the names of its members are data."""
    names = {*map(fold, value)}
    return "id" in names or (bool(names) and names <= _OF_THINGS and not any(each is True for each in value.values()))


def name_of_thing(value: object) -> str | None:
    """Return the name of an object that describes one thing, such as `{"id": 7, "name": "Agent"}`; otherwise None."""
    return name_of(value) if isinstance(value, dict) and _is_thing(value) else None


def _id_in(entry: object) -> str:
    """Return the ID of an object that has no name."""
    return str(entry.get("id", "")) if isinstance(entry, dict) and name_of(entry) is None else ""


def name_of(value: Object) -> str | None:
    """Return the name of an object, or None if no member contains a name."""
    member = _naming_member(value)
    return None if member is None else str(value[member])


def _naming_member(value: Object) -> str | None:
    members = {fold(name).replace("_", ""): name for name, member in value.items() if _is_text(member)}
    return next((members[name] for name in _NAMING if name in members), None)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


@lru_cache(maxsize=10_000)
def may_be_keyed(path: str) -> bool:
    """Return whether the name of an object says that it may map names to access, or members to their roles."""
    return bool(_words_of(path) & (_KEYED_ACCESS | _PLACES | MEMBER_WORDS)) and not looks_secret(path)


def _words_of(path: str) -> set[str]:
    return _all_words(without_accents(path.rpartition(".")[2]))


def _all_words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def is_keyed(path: str, objects: Iterable[Object]) -> bool:
    """Return whether objects map names to access: to lists of names, to levels, or to yes and no.

    `path` is the path of the objects in their records, or their column.
    """
    members = [(name, value) for each in objects for name, value in each.items() if value not in (None, "", [], {})]
    names = {fold(name) for name, _ in members}
    of_things = {fold(name) for name, value in members if _kind_of(value) != "flag"} & _OF_THINGS
    if not members or not may_be_keyed(path) or of_things or _is_wrapper(path, names):
        return False
    kinds = {_kind_of(value) for _, value in members}
    if _words_of(path) & MEMBER_WORDS:
        return None not in kinds and (len(kinds) == 1 or kinds == {"list", "level"})
    if kinds == {"level"} or kinds == {"list", "level"}:
        return _are_levels(path, [(name, value) for name, value in members if not isinstance(value, list)])
    return kinds == {"flag"} or (kinds == {"list"} and not names <= _KEYED_ACCESS)


def is_map(value: object) -> bool:
    """Return whether an object maps names, such as usernames, to lists of texts, or to maps from names to access."""
    if not isinstance(value, dict) or {*map(fold, value)} & (_OF_THINGS | _KEYED_ACCESS | MEMBER_WORDS | {*ENVELOPES}):
        return False
    objects = [each for each in value.values() if isinstance(each, dict) and each]
    lists = [each for each in value.values() if isinstance(each, list) and each]
    if not all(isinstance(each, dict | list) for each in value.values()) or (objects and lists):
        return False
    if objects:
        # Members such as `groups` and `roles` are attributes of one thing.
        names = {fold(name) for each in objects for name in each}
        return is_keyed("access", objects) and not names & (_KEYED_ACCESS | MEMBER_WORDS)
    return bool(lists) and all(isinstance(entry, str) for each in lists for entry in each)


def entries_of(value: object) -> list[Object]:
    """Return the members that are lost if each object is read as its name: all except the member with the name."""
    if isinstance(value, dict) and ((naming := _naming_member(value)) or _is_thing(value)):
        return [{name: member for name, member in value.items() if name != naming}]
    inner = value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else []
    return [entry for each in inner for entry in entries_of(each)]


def _is_wrapper(path: str, names: Set[str]) -> bool:
    """Return whether the only member contains the list itself, as in `{"roles": {"role": ["viewer"]}}`."""
    (name, *others) = names
    return not others and fold(path.rpartition(".")[2]).removesuffix("s") == name.removesuffix("s")


def _kind_of(value: object) -> str | None:
    """Return what a name is mapped to: a list, a level or a flag. Return None for anything else."""
    match value:
        case bool():
            return "flag"
        case str():
            is_short = len(value) <= _LONGEST and len(value.split()) <= _MOST_WORDS
            return "level" if is_short and not _DATE.match(value) else None
        case int():
            return "level"
        case list():
            return "list" if all(map(_is_named, value)) else None
        case dict() if name_of(value) is not None or _is_thing(value):
            return "list"
        case dict():
            kinds = {_kind_of(each) for each in value.values() if each not in (None, "", [], {})}
            return kinds.pop() if len(kinds) == 1 else None
    return None


def _is_named(entry: object) -> bool:
    return isinstance(entry, str) or (isinstance(entry, dict) and bool(name_of(entry) or _id_in(entry)))


def _are_levels(path: str, members: Sequence[tuple[str, Any]]) -> bool:
    """Return whether texts are levels of access, rather than attributes of one thing."""
    if any(looks_secret(name) for name, _ in members):
        return False
    texts = [text for _, value in members for text in _texts_in(value)]
    is_plural = any(word in _KEYED_ACCESS and word.endswith(("s", "n")) for word in _words_of(path) - {"access"})
    return are_levels(texts) or is_plural or 2 * len({*texts}) <= len(texts)


def are_levels(texts: Iterable[str]) -> bool:
    """Return whether most of the different texts contain the usual word for a level of access, such as read."""
    distinct = {*texts}
    return 2 * sum(bool(_LEVELS & _all_words(text)) for text in distinct) > len(distinct)


def _texts_in(value: object) -> list[str]:
    return [text for each in value.values() for text in _texts_in(each)] if isinstance(value, dict) else [str(value)]
