"""The configuration as a document that names records instead of using ids; `people.py` says how it names people."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from pydantic import BaseModel, Field

from rolecall.access_models.model import Condition, ModelPermission
from rolecall.access_models.shapes import MOST_ACCESSES, Conditions, GrantsBody
from rolecall.applications.shapes import (
    MOST_PROVISIONERS,
    ApplicationFields,
    ConnectorConfiguration,
    Schedule,
)
from rolecall.carriers.model import Carrier
from rolecall.carriers.shapes import CarrierDefinition
from rolecall.core.checking import (
    Body,
    Flag,
    Json,
    Maybe,
    Name100,
    Name256,
    OptionalName100,
    OptionalName256,
    Text2048,
    one_of,
)
from rolecall.core.errors import Problem
from rolecall.core.formats.formats import Format
from rolecall.duties.model import MOST_DUTIES, Pattern, RuleResponse
from rolecall.duties.shapes import DutyChanges, DutyRuleFields
from rolecall.notifications.model import NotificationPolicy
from rolecall.notifications.shapes import NotificationFields
from rolecall.reports.model import ReportPeriod
from rolecall.reports.shapes import MOST_RECIPIENTS, ReportFields, ReportSchedule
from rolecall.reviews.bodies import ReviewPolicyFields, ScopeFields, StageFields
from rolecall.reviews.model import ReviewType
from rolecall.reviews.templates import TemplateFields
from rolecall.settings.model import CustomField, Guard
from rolecall.settings.policy import EventType, Level, RequestAction, RequirementType, Responder
from rolecall.settings.shapes import MOST_RULES, ResponderName, RuleFields, SettingsFields
from rolecall.sources.model import Source
from rolecall.sources.shapes import SourceDefinition
from rolecall.webhooks.model import HookEvent
from rolecall.webhooks.shapes import HookFields


class PolicyEntry(msgspec.Struct, rename="camel"):
    type: RequirementType
    reason: str
    responder: Responder
    identity: str | None
    actions: Sequence[RequestAction]
    event_types: Sequence[EventType]
    priorities: Sequence[Level]
    risks: Sequence[Level]


class SettingsEntry(msgspec.Struct, rename="camel"):
    custom_fields: list[CustomField]
    approval_lead_days: int
    webhook_retention_days: int
    approval_policy: list[PolicyEntry]
    guard: Guard
    single_handed: bool


class ApplicationEntry(msgspec.Struct, rename="camel"):
    name: str
    priority: Level
    is_identity_source: bool
    is_archived: bool
    connector: ConnectorConfiguration | None
    schedule: Schedule | None
    owner: str | None
    provisioners: list[str]
    guard: Guard | None
    review_every_months: int | None
    surprise_reviews: bool
    source: Source | None = None
    carrier: Carrier | None = None


class GrantsEntry(msgspec.Struct):
    application: str
    groups: list[str]
    permissions: list[ModelPermission]


class ModelEntry(msgspec.Struct, rename="camel"):
    """An access model as committed, or its draft if it was never committed (`isCommitted` is false)."""

    name: str
    description: str
    owner: str | None
    enabled: bool
    is_committed: bool
    conditions: Sequence[Sequence[Condition]]
    access: list[GrantsEntry]


class WebhookEntry(msgspec.Struct):
    """A webhook without its secret; creating one generates a new secret."""

    name: str
    url: str
    events: list[HookEvent]
    application: str | None
    enabled: bool


class ReportEntry(msgspec.Struct):
    name: str
    description: str
    list: str
    filters: dict[str, str]
    columns: Sequence[str]
    period: ReportPeriod
    format: Format
    schedule: ReportSchedule | None
    owner: str | None
    recipients: Sequence[str]


class DutyEntry(msgspec.Struct):
    name: str
    description: str
    patterns: list[Pattern]


class DutyRuleEntry(msgspec.Struct, rename="camel"):
    """A rule that keeps duties apart, as committed, or its draft if it was never committed (`isCommitted` is false)."""

    name: str
    description: str
    risk: Level
    response: RuleResponse
    owner: str | None
    enabled: bool
    is_committed: bool
    conflicts: list[str]
    without: str | None


class EntitlementEntry(msgspec.Struct, omit_defaults=True):
    """A group, or a permission with its header and section."""

    application: str
    group: str | None = None
    header: str = ""
    section: str = ""
    permission: str | None = None


class ReviewTemplateEntry(msgspec.Struct, rename="camel"):
    """A template of a recurring review, without the date of the next review, because the worker advances it."""

    name: str
    every_months: int
    days_to_review: int
    opens: bool
    review: dict[str, Any]


class Configuration(msgspec.Struct, rename="camel"):
    """The whole configuration; a section is null if the caller lacks the scope to read it."""

    settings: SettingsEntry
    applications: list[ApplicationEntry]
    access_models: list[ModelEntry]
    webhooks: list[WebhookEntry] | None
    reports: list[ReportEntry]
    duties: list[DutyEntry] | None
    duty_rules: list[DutyRuleEntry] | None
    notifications: NotificationPolicy
    review_templates: list[ReviewTemplateEntry] | None


class FieldChange(msgspec.Struct):
    field: str
    before: Any
    after: Any


class EntryChange(msgspec.Struct):
    """A changed record. `name` is empty for the settings and for notifications. A new record lists no fields."""

    section: str
    name: str
    change: Literal["New", "Altered"]
    fields: list[FieldChange]


class ConfigurationChanges(msgspec.Struct):
    changes: list[EntryChange]


# Entries reuse the fields and rules of request bodies, with names in place of ids.
class PolicyEntryBody(RuleFields):
    identity: OptionalName256 | None = None
    responder: ResponderName


class SettingsEntryBody(SettingsFields):
    approval_policy: Annotated[list[PolicyEntryBody], Field(max_length=MOST_RULES)] | None = None


class ApplicationEntryBody(ApplicationFields):
    name: Name256
    is_archived: Flag | None = None
    owner: OptionalName256 | None = None
    provisioners: Annotated[list[Name256], Field(max_length=MOST_PROVISIONERS)] | None = None
    source: SourceDefinition | None = None
    carrier: CarrierDefinition | None = None


class GrantsEntryBody(GrantsBody):
    application: Name256


class ModelEntryBody(Body):
    name: Name256
    description: Text2048 | None = None
    owner: OptionalName256 | None = None
    enabled: Flag | None = None
    is_committed: Flag = True
    conditions: Conditions | None = None
    access: Annotated[list[GrantsEntryBody], Field(max_length=MOST_ACCESSES)] | None = None


class WebhookEntryBody(HookFields):
    name: Name100
    application: OptionalName256 | None = None


# Defined outside the class, because `list` is a field in it.
_Recipients = Annotated[list[Name256], Field(max_length=MOST_RECIPIENTS)]


class ReportEntryBody(ReportFields):
    name: Name100
    list: OptionalName100 | None = None
    owner: OptionalName256 | None = None
    recipients: _Recipients | None = None


class DutyEntryBody(DutyChanges):
    name: Name100


class DutyRuleEntryBody(DutyRuleFields):
    name: Name100
    owner: OptionalName256 | None = None
    is_committed: Flag = True
    conflicts: Annotated[list[Name100], Field(max_length=MOST_DUTIES)] | None = None
    without: OptionalName100 | None = None


class EntitlementEntryBody(Body):
    """A group, or a permission with its header and section."""

    application: Name256
    group: OptionalName256 | None = None
    header: OptionalName256 | None = None
    section: OptionalName256 | None = None
    permission: OptionalName256 | None = None


class ReviewStageEntryBody(StageFields):
    identity: OptionalName256 | None = None


_Named = Annotated[list[Name256], Field(max_length=1000)]


class ReviewScopeEntryBody(ScopeFields):
    applications: _Named | None = None
    entitlements: Annotated[list[EntitlementEntryBody], Field(max_length=1000)] | None = None
    entitlement_owners: _Named | None = None
    access_models: _Named | None = None
    identities: _Named | None = None


class ReviewEntryBody(ReviewPolicyFields):
    type: Maybe[Annotated[ReviewType, one_of(ReviewType)] | None] = None
    scope: ReviewScopeEntryBody | None = None
    stages: Annotated[list[ReviewStageEntryBody], Field(min_length=1, max_length=5)] | None = None
    fallback: ReviewStageEntryBody | None = None
    owner: OptionalName256 | None = None


class ReviewTemplateEntryBody(TemplateFields):
    name: Name256
    review: ReviewEntryBody | None = None


class ConfigurationBody(Body):
    """A configuration to apply; omitted sections, records and fields stay unchanged."""

    settings: SettingsEntryBody | None = None
    applications: list[ApplicationEntryBody] | None = None
    access_models: list[ModelEntryBody] | None = None
    webhooks: list[WebhookEntryBody] | None = None
    reports: list[ReportEntryBody] | None = None
    duties: list[DutyEntryBody] | None = None
    duty_rules: list[DutyRuleEntryBody] | None = None
    notifications: NotificationFields | None = None
    review_templates: list[ReviewTemplateEntryBody] | None = None


def unknown_fields(shape: type[BaseModel], raw: Any, path: str = "") -> Iterator[Problem]:
    """Yield a problem for each unknown field. The API ignores such fields, but in a file they are probably mistakes."""
    if not isinstance(raw, dict):
        return
    known = {field.alias or name: field.annotation for name, field in shape.model_fields.items()}
    for name, value in raw.items():
        if name not in known:
            yield Problem(f"{path}{name}", f"{name} is not a field here; use one of {', '.join(known)}")
        elif nested := _model_in(known[name]):
            entries: Iterable[tuple[object, Any]] = [("", value)]
            if isinstance(value, list):
                entries = enumerate(value)
            elif isinstance(value, dict) and get_origin(known[name]) is dict:
                entries = value.items()
            for key, entry in entries:
                place = f"{path}{name}.{key}." if key != "" else f"{path}{name}."
                yield from unknown_fields(nested, entry, place)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def json_schema() -> Json:
    """Return the JSON Schema of the file, for completion and validation in text editors."""
    schema: Json = ConfigurationBody.model_json_schema()
    # Remove the definitions of case-insensitive enums, which pydantic writes although nothing references them.
    schema["$defs"] = {name: each for name, each in schema["$defs"].items() if "enum" not in each}
    # Unknown fields are errors in a file, so text editors must report them too.
    for closed in (schema, *schema["$defs"].values()):
        closed["additionalProperties"] = False
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of Rolecall"}
    return {**about, **{name: value for name, value in schema.items() if name != "title"}}
