"""The settings with their defaults."""

from collections.abc import Sequence

import msgspec

from rolecall.settings.policy import DEFAULT_POLICY, ApprovalRule

CUSTOM_FIELDS = range(1, 10)


class CustomField(msgspec.Struct, frozen=True):
    number: int
    enabled: bool = False
    label: str = ""


class Guard(msgspec.Struct, frozen=True, rename="camel"):
    """The limits of an import. An import that would change more is held until a person decides.

    A limit applies only to kinds of records, such as accounts, that had at least `minCount` records before the import.
    """

    max_removed_percent: float = 20
    max_new_percent: float = 50
    min_count: int = 100


class Settings(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of the service, with their defaults."""

    custom_fields: list[CustomField] = msgspec.field(default_factory=lambda: [CustomField(n) for n in CUSTOM_FIELDS])
    approval_lead_days: int = 7
    webhook_retention_days: int = 90
    approval_policy: Sequence[ApprovalRule] = DEFAULT_POLICY
    # Whether the only active administrator may decide on their own requests, with a reason, if no other active person
    # is asked to respond.
    single_handed: bool = False
    # The guard of applications that do not have their own.
    guard: Guard = Guard()

    def enabled_custom_fields(self) -> frozenset[int]:
        return frozenset(field.number for field in self.custom_fields if field.enabled)
