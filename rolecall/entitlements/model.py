"""Define the kinds of entitlements."""

from enum import StrEnum


class EntitlementKind(StrEnum):
    GROUP = "Group"
    PERMISSION = "Permission"


MOST_TAGS = 20
