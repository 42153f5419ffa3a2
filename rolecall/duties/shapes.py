"""Request and response bodies for duties, their holders and rules."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from rolecall.accounts.model import Access
from rolecall.core.checking import (
    Body,
    Flag,
    Guid,
    IdentityId,
    Maybe,
    Name100,
    OptionalName100,
    OptionalName256,
    Text2048,
    broken,
    one_of,
)
from rolecall.duties.model import MOST_DUTIES, MOST_PATTERNS, Pattern, RuleDefinition, RuleResponse
from rolecall.entitlements.model import EntitlementKind
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import Level


class DutyReference(msgspec.Struct, frozen=True):
    id: UUID
    name: str


class DutyItem(msgspec.Struct, rename="camel"):
    """A duty in a list. `entitlements` counts all that the patterns match, even what imports no longer show.

    `holders` counts the people who hold the duty.
    """

    id: UUID
    kind: Literal["Duty"]
    name: str
    description: str
    entitlements: int
    holders: int


class MatchedPattern(msgspec.Struct, frozen=True):
    """A pattern with the number of entitlements that it matches, except those that imports no longer show."""

    application: str
    group: str | None
    header: str | None
    section: str | None
    permission: str | None
    access: Access
    entitlements: int

    @property
    def pattern(self) -> Pattern:
        return Pattern(self.application, self.group, self.header, self.section, self.permission, self.access)


class DutyDetail(msgspec.Struct, rename="camel"):
    """A duty with the `rules` that use it.

    `warnings` name the patterns that match nothing, or say that the duty has no patterns.
    """

    id: UUID
    kind: Literal["Duty"]
    name: str
    description: str
    patterns: list[MatchedPattern]
    holders: int
    rules: list[DutyReference]
    warnings: list[str]
    created_date: datetime
    updated_date: datetime


class DutyPerson(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    title: str
    department: str
    status: IdentityStatus


class SideImport(msgspec.Struct, frozen=True, rename="camel"):
    """The import with which the access began, and when that import finished."""

    number: int
    build_end: datetime


class DutyAccount(msgspec.Struct, frozen=True):
    id: UUID
    username: str


class DutyAccess(msgspec.Struct, frozen=True, rename="camel"):
    """An entitlement that gives a person a duty, with the account that holds it.

    `path` names the groups that the access comes through, beginning with the account's group; it is empty for direct
    access. `pathHeader` is the application's word for the first group, such as Role.
    """

    entitlement_id: UUID
    kind: EntitlementKind
    application: DutyReference
    header: str
    section: str
    name: str
    risk_rating: Level
    access: Access
    account: DutyAccount
    path: list[str]
    path_header: str
    since: SideImport


class DutyHolder(msgspec.Struct, frozen=True):
    identity: DutyPerson
    access: list[DutyAccess]


class RuleItem(msgspec.Struct, rename="camel"):
    """A rule with the counts of its open and excepted conflicts."""

    id: UUID
    kind: Literal["Duty Rule"]
    name: str
    description: str
    risk: Level
    response: RuleResponse
    owner: DutyReference | None
    conflicts: list[DutyReference]
    without: DutyReference | None
    enabled: bool
    version: int
    has_draft: bool
    open: int
    excepted: int


class RuleDetail(msgspec.Struct, rename="camel"):
    """A rule. `committed` is the current version, `draft` the one that is not committed yet. Either may be null."""

    id: UUID
    kind: Literal["Duty Rule"]
    version: int
    committed: RuleDefinition | None
    draft: RuleDefinition | None
    duties: list[DutyReference]
    open: int
    excepted: int
    created_date: datetime
    updated_date: datetime


class PatternBody(Body):
    """Match a group by `group`, or a permission by `header`, `section` and `permission`; `*` matches any text."""

    application: OptionalName256 | None = None
    group: OptionalName256 | None = None
    header: OptionalName256 | None = None
    section: OptionalName256 | None = None
    permission: OptionalName256 | None = None
    # The access levels None and Deny give no duty, so no pattern can require them.
    access: Maybe[Annotated[Access, one_of([Access.GRANT, Access.MODIFY, Access.UNRESTRICTED])] | None] = None

    @model_validator(mode="after")
    def names_one_kind(self) -> Self:
        parts = (self.header, self.section, self.permission)
        if self.group is None and not any(parts):
            raise broken("A pattern must name a group, or a header, section or permission")
        if self.group is not None and any((*parts, self.access)):
            raise broken("A pattern must name either a group or a permission; set access only for a permission")
        return self

    @property
    def pattern(self) -> Pattern:
        return Pattern(
            self.application or "*",
            self.group,
            self.header,
            self.section,
            self.permission,
            self.access or Access.GRANT,
        )


Patterns = Annotated[list[PatternBody], Field(max_length=MOST_PATTERNS)]


class DutyChanges(Body):
    """The changes to a duty, which take effect at once. Omitted fields stay unchanged."""

    name: OptionalName100 | None = None
    description: Text2048 | None = None
    patterns: Patterns | None = None


class NewDuty(DutyChanges):
    name: Name100


def _two_at_least(duties: list[UUID]) -> list[UUID]:
    if len(set(duties)) < len(duties):
        raise broken("{name} must not name a duty twice")
    if len(duties) < 2:
        raise broken("{name} must name at least two duties to keep apart")
    return duties


ConflictingDuties = Annotated[list[Guid], Field(max_length=MOST_DUTIES), AfterValidator(_two_at_least)]


class DutyRuleFields(Body):
    """The fields that a rule and its entry in a configuration have in common."""

    description: Text2048 | None = None
    risk: Maybe[Annotated[Level, one_of(Level)] | None] = None
    response: Maybe[Annotated[RuleResponse, one_of(RuleResponse)] | None] = None
    enabled: Flag | None = None


class RuleChanges(DutyRuleFields):
    """The changes to a draft; omitted fields stay unchanged. Null removes the control duty (`without`) or the owner."""

    name: OptionalName100 | None = None
    conflicts: ConflictingDuties | None = None
    owner_id: Maybe[IdentityId | None] = None
    without: Maybe[Guid | None] = None

    @field_validator("without")
    @classmethod
    def controls_others(cls, without: UUID | None, info: ValidationInfo) -> UUID | None:
        # `info.data` contains only valid fields that are declared before this one, such as `conflicts`.
        if without and without in (info.data.get("conflicts") or ()):
            raise broken("{name} must name a duty that is not among the conflicting duties")
        return without


class NewRule(RuleChanges):
    name: Name100
    conflicts: ConflictingDuties
