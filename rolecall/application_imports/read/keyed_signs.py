"""Recognize JSON objects that map names to access, such as `{"billing": ["viewer"]}`, in columns and documents."""

import re
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from typing import Any

from rolecall.application_imports.read.json_pages import ENVELOPES
from rolecall.application_imports.read.keyed_values import (
    ACCESS_WORDS,
    OF_THINGS,
    Object,
    are_levels,
    is_of_things,
    is_secret,
    name_of,
    name_of_entry,
    words_of,
)
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import fold

# Words in names of objects that map names to access: words for access, and for the places where the access applies.
_KEYED_ACCESS = ACCESS_WORDS | {"accesses", "assignments", "privs"}
_PLACES = {
    "app", "apps", "application", "applications", "project", "projects", "space", "spaces", "site", "sites", "tenants",
    "workspace", "workspaces", "environments", "repository", "repositories", "repos", "clients", "databases", "schemas",
    "clusters", "namespaces", "systems", "modules", "orgs", "organizations", "organisations", "domains", "realms",
    "folders", "mailboxes", "boards", "channels", "products", "services", "resources", "accounts", "companies",
}  # fmt: skip
# Words in names of objects that map members to their roles.
MEMBER_WORDS = {"members", "member", "users"}
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST, _MOST_WORDS = 60, 5


@lru_cache(maxsize=10_000)
def may_be_keyed(path: str) -> bool:
    """Return whether the name of an object says that it may map names to access, or members to their roles."""
    return bool(words_of(path) & (_KEYED_ACCESS | _PLACES | MEMBER_WORDS)) and not looks_secret(path)


def is_keyed(path: str, objects: Iterable[Object]) -> bool:
    """Return whether objects map names to access: to lists of names, to levels, or to yes and no.

    `path` is the path of the objects in their records, or their column.
    """
    members = [
        (name, value)
        for each in objects
        for name, value in each.items()
        if value not in (None, "", [], {}) and not is_secret(name, value)
    ]
    names = {fold(name) for name, _ in members}
    of_things = {fold(name) for name, value in members if _kind_of(value) != "flag"} & OF_THINGS
    if not members or not may_be_keyed(path) or of_things or _is_wrapper(path, names):
        return False
    kinds = {_kind_of(value) for _, value in members}
    if words_of(path) & MEMBER_WORDS:
        return None not in kinds and (len(kinds) == 1 or kinds == {"list", "level"})
    if kinds == {"level"} or kinds == {"list", "level"}:
        return _are_levels(path, [(name, value) for name, value in members if not isinstance(value, list)])
    return kinds == {"flag"} or (kinds == {"list"} and not names <= _KEYED_ACCESS)


def is_map(value: object) -> bool:
    """Return whether an object maps names, such as usernames, to lists of texts, or to maps from names to access."""
    if not isinstance(value, dict) or {*map(fold, value)} & (OF_THINGS | _KEYED_ACCESS | MEMBER_WORDS | {*ENVELOPES}):
        return False
    objects = [each for each in value.values() if isinstance(each, dict) and each]
    lists = [each for each in value.values() if isinstance(each, list) and each]
    if not all(isinstance(each, dict | list) for each in value.values()) or (objects and lists):
        return False
    if objects:
        # Objects with members such as `groups` and `roles` describe one thing each, so their names are not access.
        names = {fold(name) for each in objects for name in each}
        return is_keyed("access", objects) and not names & (_KEYED_ACCESS | MEMBER_WORDS)
    return bool(lists) and all(isinstance(entry, str) for each in lists for entry in each)


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
        case dict() if name_of(value) is not None or is_of_things(value):
            return "list"
        case dict():
            kinds = {_kind_of(each) for each in value.values() if each not in (None, "", [], {})}
            return kinds.pop() if len(kinds) == 1 else None
    return None


def _is_named(entry: object) -> bool:
    return isinstance(entry, str) or (isinstance(entry, dict) and name_of_entry(entry) is not None)


def _are_levels(path: str, members: Sequence[tuple[str, Any]]) -> bool:
    """Return whether the values of these members are levels of access, rather than attributes of one thing."""
    texts = [text for _, value in members for text in _texts_in(value)]
    is_plural = any(word in _KEYED_ACCESS and word.endswith(("s", "n")) for word in words_of(path) - {"access"})
    return are_levels(texts) or is_plural or 2 * len({*texts}) <= len(texts)


def _texts_in(value: object) -> list[str]:
    return [text for each in value.values() for text in _texts_in(each)] if isinstance(value, dict) else [str(value)]
