from enum import StrEnum

import msgspec


class Match(StrEnum):
    """How an account came to its identity, or why it has none."""

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


def valid(version: str, as_of: int | None) -> str:
    """SQL: whether the interval row `version` holds now, or held after the import numbered `as_of`."""
    if as_of is None:
        return f"{version}.until_import IS NULL"
    held = f"({version}.until_import IS NULL OR {version}.until_import > {as_of:d})"
    return f"{version}.from_import <= {as_of:d} AND {held}"


class Pair(msgspec.Struct, frozen=True):
    key: str
    value: str


def pairs(metadata: dict[str, str]) -> list[Pair]:
    return [Pair(key, value) for key, value in metadata.items()]
