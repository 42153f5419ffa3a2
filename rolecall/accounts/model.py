"""Define match statuses, levels of access and names of permissions.

`valid` returns an SQL condition for rows that are valid now or after an import.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

import msgspec

from rolecall.core.text import name_key


class Match(StrEnum):
    """How an account was matched to its identity, or why it has none."""

    PINNED = "Pinned"
    NEVER = "Never"
    EMPLOYEE_ID = "Employee ID"
    EMAIL = "Email"
    NAME = "Name"
    DISPUTED = "Disputed"
    UNMATCHED = "Unmatched"


class Access(StrEnum):
    NONE = "None"
    UNRESTRICTED = "Unrestricted"
    GRANT = "Grant"
    DENY = "Deny"
    MODIFY = "Modify"


GROUP_HEADER = "Group"


def group_header(nomenclature: str) -> str:
    """Return the header of a group membership, as group_header() in schema/accounts.sql does."""
    return nomenclature or GROUP_HEADER


def valid(version: str, as_of: int | None) -> str:
    """Return an SQL condition: the row `version` is valid now or, if `as_of` is given, was valid after that import."""
    if as_of is None:
        return f"{version}.until_import IS NULL"
    # The format `d` accepts only integers, so no SQL can be injected.
    held = f"({version}.until_import IS NULL OR {version}.until_import > {as_of:d})"
    return f"{version}.from_import <= {as_of:d} AND {held}"


class PermissionName(NamedTuple):
    """The name of a permission or a group membership; a membership has the nomenclature (or `Group`) as its header."""

    header: str
    section: str
    permission: str

    def key(self) -> tuple[str, ...]:
        return tuple(map(name_key, self))

    def words(self) -> str:
        return " ".join(part for part in self if part)


def meant_among(known: Collection[PermissionName], asked: Iterable[PermissionName]) -> list[PermissionName]:
    """Return, for each name, the known name that matches it, or the name as written if none or several match."""
    fits: dict[tuple[str, ...], list[PermissionName]] = {}
    for name in known:
        fits.setdefault(name.key(), []).append(name)

    def meant(name: PermissionName) -> PermissionName:
        among = fits.get(name.key(), [])
        return among[0] if len(among) == 1 else name

    return [meant(name) for name in asked]


class Pair(msgspec.Struct, frozen=True):
    key: str
    value: str


def pairs(metadata: dict[str, str]) -> list[Pair]:
    return [Pair(key, value) for key, value in metadata.items()]
