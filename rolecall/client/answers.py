"""Response types. Unknown fields are ignored and enums are plain text, so that a newer service works too."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

T = TypeVar("T")
Json = dict[str, Any]


class _Answer(msgspec.Struct, rename="camel"):
    pass


class Page(_Answer, Generic[T]):
    items: list[T]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class Person(_Answer):
    id: UUID
    name: str


class Pair(_Answer):
    key: str
    value: str


class Entry(_Answer):
    created_date: datetime
    author: str
    action: str | None
    content: str


class Comment(_Answer):
    created_date: datetime
    author: str
    content: str


class Identity(_Answer):
    id: UUID
    kind: str
    first_name: str
    last_name: str
    email_address: str
    type: str
    title: str
    company: str
    division: str
    department: str
    office: str
    supervisor_name: str
    created_date: datetime
    updated_date: datetime
    first_seen_date: datetime
    inactivated_date: datetime | None
    status: str


class ApplicationSummary(_Answer):
    id: UUID
    kind: str
    name: str
    priority: str
    is_archived: bool
    last_updated: datetime


class FileGroup(_Answer):
    file_group_id: UUID
    name: str
    is_optional: bool
    is_multiple: bool


class Connector(_Answer):
    id: UUID
    name: str
    vendor: str
    files: list[FileGroup] | None


class ImportFile(_Answer):
    id: UUID
    file_group_id: UUID
    file_group: str
    name: str


class Changes(_Answer):
    total: int
    new: int
    altered: int
    removed: int


class PermissionChanges(_Answer):
    total: int
    new: int


class Metrics(_Answer):
    users: Changes
    groups: Changes
    permissions: PermissionChanges


class ImportItem(_Answer):
    id: UUID
    kind: str
    number: int
    type: str
    status: str
    build_start: datetime | None
    build_end: datetime | None
    application: ApplicationSummary


class NewImport(_Answer):
    """An import without its application, as creation returns it and as `lastImport` shows it."""

    id: UUID
    kind: str
    number: int
    type: str
    status: str
    created_by: str
    build_start: datetime | None
    build_end: datetime | None
    log: str | None
    files: list[ImportFile]
    metrics: Metrics | None


class Import(NewImport):
    application: ApplicationSummary

    @property
    def is_over(self) -> bool:
        return self.status in ("Finished", "Failed", "Canceled")


class Application(ApplicationSummary):
    connector: Connector | None
    last_import: NewImport | None


class ApplicationConfiguration(_Answer):
    id: UUID
    name: str
    priority: str
    is_identity_source: bool
    is_archived: bool
    connector: Json | None
    schedule: Json | None
    owner_id: UUID | None
    provisioner_ids: list[UUID]
    guard: Json | None


class Change(_Answer):
    kind: str
    change: str
    name: str
    before: Json | None
    after: Json | None


class Reject(_Answer):
    file_id: UUID
    file: str
    line: int
    reason: str
    row: list[str]


class DryRunFile(_Answer):
    id: UUID
    file_group: str
    name: str
    read: int | None
    applied: int | None
    unchanged: int | None
    rejected: int | None


class ChangeCount(_Answer):
    kind: str
    new: int
    altered: int
    removed: int


class MatchCounts(_Answer):
    matched: int
    unmatched: int
    disputed: int
    never: int


class Dispute(_Answer):
    username: str
    people: list[Person]


class DryRun(_Answer):
    id: UUID
    kind: str
    status: str
    application: ApplicationSummary | None
    created_by: str
    created_date: datetime
    started_date: datetime | None
    ended_date: datetime | None
    files: list[DryRunFile]
    log: list[str]
    problem: str | None
    held: str | None
    metrics: Metrics | None
    changes: list[ChangeCount] | None
    matches: MatchCounts | None
    disputes: list[Dispute] | None

    @property
    def is_over(self) -> bool:
        return self.status in ("Finished", "Failed")


class ProposedColumn(_Answer):
    header: str
    field: str | None
    confidence: float
    evidence: str
    is_ignored: bool
    examples: list[str]


class Choice(_Answer):
    label: str
    key: str
    value: str


class OpenQuestion(_Answer):
    text: str
    choices: list[Choice]


class ProposedContent(_Answer):
    content: str
    confidence: float
    evidence: list[str]
    columns: list[ProposedColumn]
    shape: Json
    questions: list[OpenQuestion]
    understood: list[dict[str, str]]


class ProposedFile(_Answer):
    name: str
    size: int
    problem: str | None
    format: str | None
    encoding: str | None
    delimiter: str | None
    header_line: int | None
    evidence: list[str]
    file_group: str | None
    contents: list[ProposedContent]
    raw: list[str]


class FileGroupTemplate(_Answer):
    name: str
    is_optional: bool
    is_multiple: bool
    content: str
    columns: dict[str, str]
    encoding: str | None
    allow_rejects: bool
    shape: Json | None


class ConnectorTemplate(_Answer):
    id: UUID | None
    name: str
    vendor: str
    description: str
    files: list[FileGroupTemplate]
    created_by: str | None
    created_date: datetime | None


class ConnectorTemplates(_Answer):
    templates: list[ConnectorTemplate]


class Proposal(_Answer):
    connector: Json
    is_identity_source: bool
    files: list[ProposedFile]


class Account(_Answer):
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


class Group(_Answer):
    id: UUID
    name: str
    description: str
    nomenclature: str
    metadata: list[Pair]


class Permission(_Answer):
    id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: str


class EffectiveAccess(_Answer):
    identity_id: UUID
    as_of: datetime | None
    applications: list["ApplicationAccess"]


class ApplicationAccess(_Answer):
    application: ApplicationSummary
    accounts: list["AccountAccess"]
    no_data_before: datetime | None


class AccountAccess(_Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool
    access: list["AccessEntry"]


class AccessEntry(_Answer):
    header: str
    section: str
    permission: str
    access: str
    value: str
    risk_rating: str
    group: str
    path: list[str]
    why: Json


class AccountIdentity(_Answer):
    id: UUID
    name: str
    status: str


class RosterAccount(_Answer):
    """An account in the list of all applications."""

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


class AccountDetail(RosterAccount):
    employee_id: str
    metadata: list[Pair]
    is_present: bool
    first_seen: datetime | None
    last_seen: datetime | None


class AccessOfAccount(_Answer):
    account_id: UUID
    as_of: datetime | None
    identity_id: UUID | None
    access: list[AccessEntry]
    no_data_before: datetime | None


class Owner(_Answer):
    id: UUID
    name: str


class HolderCounts(_Answer):
    accounts: int
    identities: int


class Entitlement(_Answer):
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


class EntitlementReference(_Answer):
    id: UUID
    name: str


class EntitlementDetail(Entitlement):
    is_present: bool
    imported_risk_rating: str
    parents: list[EntitlementReference]
    cycle: list[str]
    same_as: EntitlementReference | None
    renamed_to: EntitlementReference | None


class HolderIdentity(_Answer):
    id: UUID
    name: str
    title: str
    department: str
    status: str


class HolderAccount(_Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool


class Holding(_Answer):
    """An account that holds an entitlement; `path` names the groups it comes through, empty when direct."""

    identity: HolderIdentity | None
    account: HolderAccount
    access: str
    since: Json
    until: Json | None
    path: list[str]
    why: Json


class AskedPermission(_Answer):
    header: str
    section: str
    permission: str
    description: str
    risk_rating: str
    metadata: list[Pair]
    value: str


class Privilege(_Answer):
    initial_access: str
    requested_access: str
    approved_access: str
    permission: AskedPermission
    sources: list[str]
    origins: list[str]


class ItemTarget(_Answer, kw_only=True):
    """The target of a listed request; only groups have `nomenclature`."""

    type: str
    name: str
    nomenclature: str | None = None
    affected_identity: Identity | None
    application: ApplicationSummary


class Target(ItemTarget, kw_only=True):
    privileges: list[Privilege]
    metadata: list[Pair]


class ReviewerResponse(_Answer):
    reviewer: Person
    response: str
    stand_in: Person | None = None


class Rule(_Answer):
    reason: str
    responses: list[ReviewerResponse]


class Requirement(_Answer):
    type: str
    description: str
    rules: list[Rule]


class RelatedItem(_Answer):
    id: UUID
    kind: str
    number: int
    status: str


class AccessModelReference(_Answer):
    id: UUID
    name: str
    description: str
    will_be_in_effect: bool


class AccessRequestItem(_Answer):
    id: UUID
    kind: str
    number: int
    action: str
    status: str
    reporter: Person
    assignee: Person | None
    target: ItemTarget
    scheduled_start: datetime | None
    started_on: datetime | None
    approved_on: datetime | None
    resolved_on: datetime | None
    verified_on: datetime | None
    completed_on: datetime | None
    canceled_on: datetime | None


class AccessRequest(AccessRequestItem):
    target: Target
    activity: list[Entry]
    comments: list[Comment]
    related_items: list[RelatedItem]
    requirements: list[Requirement]
    access_models: list[AccessModelReference]


class StalledRequest(_Answer):
    id: UUID
    kind: str
    number: int
    action: str
    status: str
    target: ItemTarget
    waiting_for: list[Person]
    waiting_since: datetime
    waiting_days: int
    reasons: list[str]


class Leftover(_Answer):
    id: UUID
    kind: str
    username: str
    application: ApplicationSummary
    affected_identity: Identity


class Stage(_Answer):
    name: str
    status: str
    started_on: datetime | None
    scheduled_start: datetime | None
    completed_on: datetime | None
    completed_by: Person | None
    access_requests: list[AccessRequestItem]


class EventItem(_Answer):
    id: UUID
    kind: str
    number: int
    type: str
    status: str
    reporter: Person
    assignee: Person | None
    affected_identity: Identity
    needed_on: datetime
    needed_until: datetime | None
    completed_on: datetime | None


class Event(EventItem):
    stages: list[Stage]
    activity: list[Entry]
    comments: list[Comment]


class PlannedStage(_Answer):
    name: str
    status: str
    scheduled_start: datetime | None


class RequestConflict(_Answer):
    rule_id: UUID
    rule: str
    risk: str
    response: str
    duties: list[str]


class RequestConflicts(_Answer):
    conflicts: list[RequestConflict]


class PlannedRequest(_Answer):
    action: str
    target: Json
    scheduled_start: datetime | None
    conflicts: list[RequestConflict]


class EventPreview(_Answer):
    stages: list[PlannedStage]
    access_requests: list[PlannedRequest]


class AccessModelItem(_Answer):
    id: UUID
    kind: str
    name: str
    description: str
    enabled: bool
    version: int
    has_draft: bool


class ModelDefinition(_Answer):
    name: str
    description: str
    owner_id: UUID | None
    enabled: bool
    conditions: list[list[Json]]
    access: list[Json]


class AccessModel(_Answer):
    id: UUID
    kind: str
    version: int
    member_count: int
    committed: ModelDefinition | None
    draft: ModelDefinition | None
    created_date: datetime
    updated_date: datetime
    unknown_names: list[str]


class Affected(_Answer):
    identity_id: UUID
    name: str
    change: str
    gains: list[Json]
    loses: list[Json]


class ModelConflicts(_Answer):
    rule_id: UUID
    rule: str
    risk: str
    response: str
    people: int


class Simulation(Page[Affected]):
    joining: int
    leaving: int
    staying: int
    conflicts: list[ModelConflicts]


class NamedRecord(_Answer):
    id: UUID
    name: str


class DutyItem(_Answer):
    id: UUID
    kind: str
    name: str
    description: str
    entitlements: int
    holders: int


class Duty(_Answer):
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


class DutyHolder(_Answer):
    identity: Json
    access: list[Json]


class DutyRuleItem(_Answer):
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


class DutyRule(_Answer):
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


class ConflictItem(_Answer):
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


class ConflictException(_Answer):
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
    asked_by: NamedRecord
    created_date: datetime
    approved_on: datetime | None
    ended_on: datetime | None
    approvals: list[Json]


class ConflictDetail(ConflictItem):
    sides: list[Json]
    carriers: list[Json]
    days: int
    exceptions: list[ConflictException]
    activity: list[Json]


class RuleSimulation(Page[ConflictItem]):
    beginning: int
    ending: int
    staying: int


class Webhook(_Answer):
    id: UUID
    kind: str
    name: str
    url: str
    events: list[str]
    application_id: UUID | None
    enabled: bool
    disabled_reason: str | None
    failing_since: datetime | None
    created_date: datetime
    previous_secret_expires_on: datetime | None


class WebhookWithSecret(Webhook):
    secret: str


class WebhookDeliveryItem(_Answer):
    id: UUID
    webhook_id: UUID
    access_request_id: UUID | None
    event: str
    status: str
    attempt_count: int
    created_date: datetime
    next_attempt_on: datetime | None


class Attempt(_Answer):
    number: int
    started_on: datetime
    ended_on: datetime | None
    outcome: str | None
    status_code: int | None
    response: str | None


class Callback(_Answer):
    received_on: datetime
    content: str


class WebhookDelivery(WebhookDeliveryItem):
    body: Json
    attempts: list[Attempt]
    callbacks: list[Callback]


class StandIn(_Answer):
    id: UUID
    kind: str
    identity: Person
    stand_in: Person
    type: str | None
    starts_on: datetime
    ends_on: datetime
    status: str
    comment: str
    created_date: datetime
    created_by: str


class Notification(_Answer):
    id: UUID
    kind: str
    subject: str
    why: str
    link: str
    created_date: datetime
    is_read: bool
    is_current: bool


class NotificationMessageItem(_Answer):
    id: UUID
    channel: str
    kind: str
    recipient: str
    address: str
    subject: str
    attempt: int
    outcome: str
    response: str | None
    started_on: datetime
    ended_on: datetime | None


class NotificationMessage(NotificationMessageItem):
    text: str
    html: str


class NotificationEmail(_Answer):
    transport: str
    host: str
    port: int
    security: str
    username: str
    sender: str
    has_password: bool


class NotificationChannel(_Answer):
    is_configured: bool
    failing_since: datetime | None
    last_error: str | None


class NotificationKind(_Answer):
    kind: str
    meaning: str
    channel: str
    rhythm: str
    is_locked: bool


class NotificationTemplate(_Answer):
    kind: str
    subject: str
    body: str
    is_default: bool
    problem: str | None


class NotificationReminders(_Answer):
    remind_after_days: int
    escalate_after_days: int
    escalate_to: str
    days: str
    holidays: list[date]


class NotificationSettings(_Answer):
    email: NotificationEmail
    channels: dict[str, NotificationChannel]
    kinds: list[NotificationKind]
    templates: list[NotificationTemplate]
    reminders: NotificationReminders


class NotificationPreferences(_Answer):
    zone: str
    kinds: list[NotificationKind]


class NotificationPreview(_Answer):
    subject: str
    text: str
    html: str


class NotificationTest(_Answer):
    channel: str
    outcome: str
    response: str


class Token(_Answer):
    id: UUID
    kind: str
    name: str
    scopes: list[str]
    created_date: datetime
    expires_on: datetime | None
    last_used_on: datetime | None
    revoked_on: datetime | None


class TokenWithSecret(Token):
    secret: str


class FieldChange(_Answer):
    field: str
    before: Any
    after: Any


class EntryChange(_Answer):
    section: str
    name: str
    change: str
    fields: list[FieldChange]


class ConfigurationChanges(_Answer):
    changes: list[EntryChange]


class DeliveredEvent(_Answer):
    name: str
    display: str
    description: str
    request: AccessRequest


class Delivery(_Answer):
    """The body of a webhook delivery; plain text posted to `callback` becomes an activity entry of the request."""

    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredEvent


class AuditCaller(_Answer):
    id: UUID | None
    kind: str
    name: str


class AuditEntity(_Answer):
    id: UUID
    kind: str
    name: str | None


class AuditEvent(_Answer):
    number: int
    created_date: datetime
    caller: AuditCaller
    action: str
    entity: AuditEntity
    before: Json | None
    after: Json | None
    correlation_id: str | None
    chain: int
    previous_hash: str
    hash: str


class AuditHead(_Answer):
    chain: int
    number: int
    count: int
    hash: str


class AuditBreak(_Answer):
    number: int
    chain: int
    reason: str


class AuditVerdict(_Answer):
    ok: bool
    count: int
    head: str
    heads: list[AuditHead]
    broken: AuditBreak | None


class ExportCaller(_Answer):
    id: UUID
    kind: str
    name: str


class Export(_Answer):
    id: UUID
    kind: str
    list: str
    filters: Json
    columns: Sequence[str]
    format: str
    status: str
    created_by: ExportCaller
    reason: str | None
    started_on: datetime
    finished_on: datetime | None
    row_count: int | None
    byte_count: int | None
    sha256: str | None
    report_id: UUID | None
    location: str | None


class ReportSchedule(_Answer):
    cron: str
    location: str


class Report(_Answer):
    id: UUID
    kind: str
    name: str
    description: str
    list: str
    filters: dict[str, str]
    columns: Sequence[str]
    period: str
    format: str
    schedule: ReportSchedule | None
    owner: Person | None
    created_date: datetime
    last_run: Export | None
