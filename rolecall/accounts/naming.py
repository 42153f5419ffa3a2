"""Look up permissions and groups by the names that people write, in the catalogue of an application.

Differences in case, white space and Unicode form are ignored if only one entry matches. The error message for an
unknown name (`complaint`) may suggest similar names. If an application has imported no permissions, any name of a
permission is accepted, and the same holds for groups. But `look_up_permissions` refuses a name that looks like a known
name of the other kind.
"""

import asyncio
import heapq
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeVar
from uuid import UUID

import msgspec

from rolecall.accounts.model import GROUP_HEADER, PermissionName
from rolecall.core.db import Db, fetch_rows
from rolecall.core.text import name_key, skeletons

K = TypeVar("K")
# Searching a large catalogue is slow, so only the first unknown names of each application get suggestions.
_SUGGESTED = 3
_MOST_NEAREST, _LEAST_LIKENESS = 3, 0.6


class Lookup(msgspec.Struct, frozen=True):
    """A name as the application spells it; an unknown name is kept as written and may have a `complaint`."""

    name: PermissionName
    complaint: str | None = None


class Catalogue:
    def __init__(self, application: str, permissions: list[PermissionName], groups: list[PermissionName]) -> None:
        self.application = application
        self.permissions = permissions
        self.groups = groups
        self.suggested = 0

    @cached_property
    def every(self) -> list[PermissionName]:
        return [*self.permissions, *self.groups]

    @cached_property
    def _by_key(self) -> dict[tuple[str, ...], list[PermissionName]]:
        return _grouped((name.key(), name) for name in self.every)

    @cached_property
    def _by_permission(self) -> dict[str, list[PermissionName]]:
        return _grouped((name_key(name.permission), name) for name in self.every)

    @cached_property
    def _by_look(self) -> dict[str, list[PermissionName]]:
        """Return the names grouped by look-alike form, to detect a permission spelled like a group, or vice versa."""
        return _grouped((look, name) for name in self.every for look in skeletons(name.permission))

    @cached_property
    def _groups_by_key(self) -> dict[str, list[PermissionName]]:
        return _grouped((name_key(group.permission), group) for group in self.groups)

    @cached_property
    def _group_headers(self) -> set[str]:
        """Return the headers that denote a group; `Group` is excluded if only permissions use it."""
        ours = {name_key(group.header) for group in self.groups}
        return ours | ({name_key(GROUP_HEADER)} - {name_key(each.header) for each in self.permissions})

    def find(self, name: PermissionName) -> Lookup:
        fits = self._by_key.get(name.key()) or self._with_parts_left_out(name)
        if name in fits or len(fits) == 1:
            return Lookup(name if name in fits else fits[0])
        is_group = not name.section and name_key(name.header) in self._group_headers
        kind, known = ("Group", self.groups) if is_group else ("Permission", self.permissions)
        words = name.permission if is_group else name.words()
        if not known and not fits:
            similar = [found for look in skeletons(name.permission) for found in self._by_look.get(look, [])]
            return Lookup(name, self._complain("Permission", words, similar) if similar else None)
        return Lookup(name, self._complain(kind, words, fits or self.every))

    def find_group(self, name: str) -> Lookup:
        fits = self._groups_by_key.get(name_key(name), [])
        exact = [group for group in fits if group.permission == name]
        if len(exact or fits) == 1:
            return Lookup((exact or fits)[0])
        written = PermissionName(GROUP_HEADER, "", name)
        return Lookup(written, self._complain("Group", name, fits or self.groups) if self.groups else None)

    def _with_parts_left_out(self, name: PermissionName) -> list[PermissionName]:
        """Return the entries that a name without header or section may mean; `Group` matches any group's header."""
        header, section, permission = name.key()
        if not permission:
            return []
        if not section and header == name_key(GROUP_HEADER):
            return self._groups_by_key.get(permission, [])
        return [
            found
            for found in self._by_permission.get(permission, [])
            if header in ("", name_key(found.header)) and section in ("", name_key(found.section))
        ]

    def _complain(self, kind: str, words: str, among: Sequence[PermissionName]) -> str:
        complaint = f"{kind} {words} is not known in {self.application}"
        self.suggested += 1
        if self.suggested > _SUGGESTED:
            return complaint
        *most, last = nearest(words, {_shown(each, kind) for each in among}) or [""]
        return f"{complaint}; did you mean {', '.join(most)}{' or ' if most else ''}{last}?" if last else complaint


def _grouped(entries: Iterable[tuple[K, PermissionName]]) -> dict[K, list[PermissionName]]:
    found: dict[K, list[PermissionName]] = {}
    # `fromkeys` removes repeated entries, such as a permission and a group with the same name.
    for key, name in dict.fromkeys(entries):
        found.setdefault(key, []).append(name)
    return found


def _shown(name: PermissionName, kind: str) -> str:
    return name.permission if kind == "Group" else name.words()


def nearest(words: str, among: Iterable[str]) -> list[str]:
    """Return the most similar names by shared bigrams, best first."""
    pairs = _pairs(words)
    likeness = ((2 * len(pairs & (its := _pairs(each))) / (len(pairs) + len(its)), each) for each in among)
    best = heapq.nsmallest(_MOST_NEAREST, ((-like, each) for like, each in likeness if like >= _LEAST_LIKENESS))
    return [each for _, each in best]


def _pairs(words: str) -> set[str]:
    padded = f" {name_key(words)} "
    return {padded[start : start + 2] for start in range(len(padded) - 1)}


async def look_up_permissions(db: Db, asked: Sequence[tuple[UUID, PermissionName]]) -> list[Lookup]:
    """Look up permissions and memberships, each in its application; return the results in the given order."""
    rows = await fetch_rows(
        db,
        """SELECT asked.n, min(fits.header), min(fits.section), min(fits.permission)
           FROM unnest(%(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[], %(permissions)s::text[])
                WITH ORDINALITY AS asked (application_id, header, section, permission, n)
           CROSS JOIN LATERAL (
               SELECT p.header, p.section, p.permission FROM permissions p
               JOIN permission_versions v ON v.permission_number = p.number AND v.until_import IS NULL
               WHERE p.application_id = asked.application_id
                     AND permission_in_any_case(p.header, p.section, p.permission)
                         = permission_in_any_case(asked.header, asked.section, asked.permission)
               UNION
               SELECT group_header(v.nomenclature), '', g.name FROM groups g
               JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
               WHERE g.application_id = asked.application_id AND asked.section = ''
                     AND in_any_case(g.name) = in_any_case(asked.permission)
                     AND in_any_case(group_header(v.nomenclature)) = in_any_case(asked.header)
           ) AS fits
           GROUP BY asked.n HAVING count(*) = 1""",
        applications=[application_id for application_id, _ in asked],
        headers=[name.header for _, name in asked],
        sections=[name.section for _, name in asked],
        permissions=[name.permission for _, name in asked],
    )
    # Names without exactly one match are looked up by `find`, which ignores case in all alphabets
    # (docs/decisions/0066).
    found = {n - 1: Lookup(PermissionName(*name)) for n, *name in rows}
    missing = [(n, application, name) for n, (application, name) in enumerate(asked) if n not in found]
    names = f"{_PERMISSIONS} UNION ALL {_GROUPS}"
    catalogues = await _catalogues(db, {application for _, application, _ in missing}, names)

    def search() -> dict[int, Lookup]:
        return {n: catalogues[application].find(name) for n, application, name in missing}

    # Search in a thread, because a large catalogue would block the event loop.
    found |= await asyncio.to_thread(search) if missing else {}
    return [found[n] for n in range(len(asked))]


async def look_up_groups(db: Db, asked: Sequence[tuple[UUID, str]]) -> list[Lookup]:
    """Look up groups by name only, each in its application; return the results in the given order."""
    rows = await fetch_rows(
        db,
        """SELECT asked.n, min(group_header(v.nomenclature)), '', min(g.name)
           FROM unnest(%(applications)s::uuid[], %(names)s::text[]) WITH ORDINALITY AS asked (application_id, name, n)
           JOIN groups g ON g.application_id = asked.application_id AND in_any_case(g.name) = in_any_case(asked.name)
           JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
           GROUP BY asked.n HAVING count(*) = 1""",
        applications=[application_id for application_id, _ in asked],
        names=[name for _, name in asked],
    )
    found = {n - 1: Lookup(PermissionName(*name)) for n, *name in rows}
    missing = [(n, application, name) for n, (application, name) in enumerate(asked) if n not in found]
    catalogues = await _catalogues(db, {application for _, application, _ in missing}, _GROUPS)

    def search() -> dict[int, Lookup]:
        return {n: catalogues[application].find_group(name) for n, application, name in missing}

    found |= await asyncio.to_thread(search) if missing else {}
    return [found[n] for n in range(len(asked))]


_PERMISSIONS = """
    SELECT p.application_id, false, p.header, p.section, p.permission FROM permissions p
    JOIN permission_versions v ON v.permission_number = p.number AND v.until_import IS NULL
    WHERE p.application_id = ANY(%(ids)s)"""
_GROUPS = """
    SELECT g.application_id, true, group_header(v.nomenclature), '', g.name FROM groups g
    JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
    WHERE g.application_id = ANY(%(ids)s)"""


async def _catalogues(db: Db, application_ids: set[UUID], parts: str) -> dict[UUID, Catalogue]:
    """Load the catalogues of these applications with two statements; `parts` selects permissions, groups or both."""
    if not application_ids:
        return {}
    ids = list(application_ids)
    applications = await fetch_rows(db, "SELECT id, name FROM applications WHERE id = ANY(%(ids)s)", ids=ids)
    rows = await fetch_rows(db, parts, ids=ids)

    def build() -> dict[UUID, Catalogue]:
        found = {id: Catalogue("", [], []) for id in ids}
        for id, name in applications:
            found[id].application = name
        for id, is_group, *name in rows:
            (found[id].groups if is_group else found[id].permissions).append(PermissionName(*name))
        return found

    # Build in a thread, because a large catalogue would block the event loop.
    return await asyncio.to_thread(build)
