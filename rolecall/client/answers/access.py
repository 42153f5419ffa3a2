"""Define the responses about accounts, entitlements and separation of duties."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Json, Page, Pair


class Account(Answer):
    id: UUID
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity_id: UUID | None
    match: str
    metadata: list[Pair]
    matched_on: datetime


class Group(Answer):
    id: UUID
    name: str
    description: str
    nomenclature: str
    metadata: list[Pair]


class Permission(Answer):
    id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: str


class EffectiveAccess(Answer):
    identity_id: UUID
    as_of: datetime | None
    applications: list["ApplicationAccess"]


class ApplicationAccess(Answer):
    application: ApplicationSummary
    accounts: list["AccountAccess"]
    no_data_before: datetime | None


class AccountAccess(Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool
    access: list["AccessEntry"]


class AccessEntry(Answer):
    header: str
    section: str
    permission: str
    access: str
    value: str
    risk_rating: str
    group: str
    path: list[str]
    why: Json


class AccountIdentity(Answer):
    id: UUID
    name: str
    status: str
    inactivated_date: datetime | None


class RosterAccount(Answer):
    """An account in the list of accounts across all applications."""

    id: UUID
    application: ApplicationSummary
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity: AccountIdentity | None
    match: str
    matched_on: datetime
    age_days: int | None


class AccountDetail(RosterAccount):
    employee_id: str
    metadata: list[Pair]
    is_present: bool
    first_seen: datetime | None
    last_seen: datetime | None


class AccessOfAccount(Answer):
    account_id: UUID
    as_of: datetime | None
    identity_id: UUID | None
    access: list[AccessEntry]
    no_data_before: datetime | None


class Owner(Answer):
    id: UUID
    name: str


class HolderCounts(Answer):
    accounts: int
    identities: int


class Entitlement(Answer):
    """A group or a permission in the catalogue."""

    id: UUID
    kind: str
    application: ApplicationSummary
    name: str
    header: str
    section: str
    description: str
    display_name: str
    explanation: str
    risk_rating: str
    is_privileged: bool
    owner: Owner | None
    former_owner: Owner | None
    tags: list[str]
    holders: HolderCounts
    first_seen: datetime | None
    last_seen: datetime | None


class EntitlementReference(Answer):
    id: UUID
    name: str


class EntitlementDetail(Entitlement):
    is_present: bool
    imported_risk_rating: str
    parents: list[EntitlementReference]
    cycle: list[str]
    same_as: EntitlementReference | None
    renamed_to: EntitlementReference | None


class HolderIdentity(Answer):
    id: UUID
    name: str
    title: str
    department: str
    status: str


class HolderAccount(Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool


class Holding(Answer):
    """An account that holds an entitlement. `path` names the groups between them; it is empty for a direct holding."""

    identity: HolderIdentity | None
    account: HolderAccount
    access: str
    since: Json
    until: Json | None
    path: list[str]
    why: Json
    matched_from: datetime | None
    matched_until: datetime | None


class NamedRecord(Answer):
    id: UUID
    name: str


class DutyItem(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    entitlements: int
    holders: int


class Duty(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    patterns: list[Json]
    holders: int
    rules: list[NamedRecord]
    warnings: list[str]
    created_date: datetime
    updated_date: datetime


class DutyHolder(Answer):
    identity: Json
    access: list[Json]


class DutyRuleItem(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    risk: str
    response: str
    owner: NamedRecord | None
    conflicts: list[NamedRecord]
    without: NamedRecord | None
    enabled: bool
    version: int
    has_draft: bool
    open: int
    excepted: int


class DutyRule(Answer):
    id: UUID
    kind: str
    version: int
    committed: Json | None
    draft: Json | None
    duties: list[NamedRecord]
    open: int
    excepted: int
    created_date: datetime
    updated_date: datetime


class ConflictItem(Answer):
    id: UUID
    kind: str
    number: int
    rule: Json
    identity: Json
    status: str
    since: datetime
    since_import: int | None
    until: datetime | None
    until_import: int | None
    through: Json


class ConflictException(Answer):
    id: UUID
    kind: str
    number: int
    conflict_id: UUID
    rule: Json
    identity: Json
    status: str
    reason: str
    control: str
    control_owner: NamedRecord
    until: datetime
    requested_by: NamedRecord
    created_date: datetime
    approved_on: datetime | None
    ended_on: datetime | None
    approvals: list[Json]


class ConflictDetail(ConflictItem):
    sides: list[Json]
    conflicting_groups: list[Json]
    days: int
    exceptions: list[ConflictException]
    activity: list[Json]


class RuleSimulation(Page[ConflictItem]):
    beginning: int
    ending: int
    staying: int


class DutySimulation(Answer):
    holders: int
    beginning: int
    ending: int
    staying: int
    rules: list[Json]
    warnings: list[str]
