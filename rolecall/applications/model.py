"""Define the contents of import files with their fields, and the types and statuses of an import."""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from rolecall.settings.model import CUSTOM_FIELDS


class Content(StrEnum):
    """The kind of rows in a file group."""

    USERS = "users"
    GROUPS = "groups"
    MEMBERSHIPS = "memberships"
    PERMISSIONS = "permissions"
    IDENTITIES = "identities"


# Contents that must not be empty: an empty list would remove everyone.
NEVER_EMPTY = (Content.USERS, Content.IDENTITIES)

# The fields that a connector may map a header to.
FIELDS: dict[Content, tuple[str, ...]] = {
    Content.USERS: (
        "Username",
        "Name",
        "First Name",
        "Last Name",
        "Email",
        "Employee ID",
        "Active",
        "Locked",
        "Last Login",
        "Password Changed",
    ),
    Content.GROUPS: ("Group", "Description", "Nomenclature", "Parent"),
    Content.MEMBERSHIPS: ("Username", "Group"),
    Content.PERMISSIONS: (
        "Username",
        "Group",
        "Header",
        "Section",
        "Permission",
        "Access",
        "Value",
        "Description",
        "Risk Rating",
    ),
    Content.IDENTITIES: (
        "Employee ID",
        "First Name",
        "Last Name",
        "Email",
        "Type",
        "Title",
        "Company",
        "Division",
        "Department",
        "Office",
        "Supervisor ID",
        "Created",
        "Updated",
        "Status",
        *(f"Custom Field {n}" for n in CUSTOM_FIELDS),
    ),
}


class ImportType(StrEnum):
    SCHEDULED = "Scheduled"
    MANUAL = "Manual"
    API = "API"


class ImportStatus(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    CANCELED = "Canceled"
    CANCELING = "Canceling"


NO_FILES = "Application does not support file imports; add file groups to its connector"


def no_such_group(name: str, known: Iterable[str]) -> str:
    """Return the message for a name that no file group of the connector has."""
    groups = ", ".join(filter(None, known))
    advice = f"use one of {groups}" if groups else "add it to connector.files of the application"
    return f"The connector has no file group {name}; {advice}"


# Columns are compared with each other, so for a wide file the same headers are normalized millions of times.
@lru_cache(maxsize=16_384)
def same_header(text: str) -> str:
    """Normalize a header: ignore case, spaces, dashes and underscores."""
    return "".join(c for c in text.casefold() if not c.isspace() and c not in "-_")
