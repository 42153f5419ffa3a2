"""Define rules and the patterns that match entitlements, and check whether two rules contradict each other."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.settings.policy import Level

MOST_PATTERNS = 200
MOST_DUTIES = 20


class RuleResponse(StrEnum):
    """What happens to a request that would create a conflict: a warning, the rule owner's approval, or a refusal."""

    WARN = "Warn"
    APPROVE = "Approve"
    BLOCK = "Block"


class ConflictStatus(StrEnum):
    OPEN = "Open"
    EXCEPTED = "Excepted"
    ENDED = "Ended"


# A conflict that begins again is a new record, so that each record is one interval. A trigger refuses all other moves.
CONFLICT_MOVES = {
    ConflictStatus.OPEN: {ConflictStatus.EXCEPTED, ConflictStatus.ENDED},
    ConflictStatus.EXCEPTED: {ConflictStatus.OPEN, ConflictStatus.ENDED},
    ConflictStatus.ENDED: set[ConflictStatus](),
}


class Pattern(msgspec.Struct, frozen=True):
    """A pattern that matches entitlements by name; `*` matches any text.

    It names either a `group` or the parts of a permission. A permission held with less access than `access` does not
    match.
    """

    application: str = "*"
    group: str | None = None
    header: str | None = None
    section: str | None = None
    permission: str | None = None
    access: Access = Access.GRANT

    def __str__(self) -> str:
        names = [self.group] if self.group else [self.header, self.section, self.permission]
        return " / ".join([self.application, *(name for name in names if name)])


class RuleDefinition(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a rule. Changes are kept in a draft until they are committed as a version."""

    name: str
    conflicts: Sequence[UUID]
    description: str = ""
    risk: Level = Level.HIGH
    owner_id: UUID | None = None
    without: UUID | None = None
    response: RuleResponse = RuleResponse.APPROVE
    enabled: bool = True

    @property
    def duties(self) -> set[UUID]:
        return {*self.conflicts, *([self.without] if self.without else [])}

    def joined(self, held: AbstractSet[UUID], controls: AbstractSet[UUID]) -> list[UUID]:
        """Return the conflicting duties that a person holds, or an empty list if the person is not in conflict.

        A person who holds several of the conflicting duties is in conflict, unless the control duty is in `controls`.
        This is the definition of a conflict in Python; `is_conflict` in schema/duties.sql is the same in SQL.
        """
        together = [duty for duty in self.conflicts if duty in held]
        return together if len(together) > 1 and self.without not in controls else []

    def contradicts(self, other: "RuleDefinition") -> bool:
        """Return whether the two rules contradict each other.

        They do if one rule keeps apart the control duty and a conflicting duty of the other rule, or if both rules keep
        the same duties apart but differ in response or control duty.
        """
        same = set(self.conflicts) == set(other.conflicts)
        differ = (self.response, self.without) != (other.response, other.without)
        return (same and differ) or _forbids_control(self, other) or _forbids_control(other, self)


def _forbids_control(rule: RuleDefinition, other: RuleDefinition) -> bool:
    """Return whether `other` keeps the control duty of `rule` apart from a conflicting duty of `rule`."""
    # A control duty that excuses people under one rule must not put them in conflict under the other.
    return rule.without in other.conflicts and bool(set(rule.conflicts) & set(other.conflicts))
