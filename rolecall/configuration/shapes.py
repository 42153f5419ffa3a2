"""How a service is set up, in words that another one understands: people by e-mail or employee id, the rest by name."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import BaseModel, Field

from rolecall.access_models.model import Condition, ModelPermission
from rolecall.access_models.shapes import Conditions, GrantsBody
from rolecall.access_requests.model import RequestEvent
from rolecall.applications.model import Guard
from rolecall.applications.shapes import (
    ConnectorBody,
    ConnectorConfiguration,
    GuardBody,
    PriorityName,
    Schedule,
    ScheduleBody,
)
from rolecall.core.checking import Body, Flag, Json, Name100, Name256, OptionalName256, Text2048, one_of
from rolecall.core.errors import Problem
from rolecall.settings.model import CustomField
from rolecall.settings.policy import EventType, Level, RequestAction, RequirementType, Responder
from rolecall.settings.shapes import CustomFieldBody
from rolecall.webhooks.guard import LONGEST_URL


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


class ApplicationEntry(msgspec.Struct, rename="camel"):
    name: str
    priority: Level
    is_identity_source: bool
    is_archived: bool
    connector: ConnectorConfiguration | None
    schedule: Schedule | None
    owner: str | None
    provisioners: list[str]
    guard: Guard


class GrantsEntry(msgspec.Struct):
    application: str
    groups: list[str]
    permissions: list[ModelPermission]


class ModelEntry(msgspec.Struct, rename="camel"):
    """`isCommitted` is false for what was only ever drafted; a draft of a committed model is nobody else's."""

    name: str
    description: str
    owner: str | None
    enabled: bool
    is_committed: bool
    conditions: Sequence[Sequence[Condition]]
    access: list[GrantsEntry]


class WebhookEntry(msgspec.Struct):
    """Without its secret: a hook that is made gets a new one."""

    name: str
    url: str
    events: list[RequestEvent]
    application: str | None
    enabled: bool


class Configuration(msgspec.Struct, rename="camel"):
    """`webhooks` is null for a token that may not see them."""

    settings: SettingsEntry
    applications: list[ApplicationEntry]
    access_models: list[ModelEntry]
    webhooks: list[WebhookEntry] | None


class FieldChange(msgspec.Struct):
    field: str
    before: Any
    after: Any


class EntryChange(msgspec.Struct):
    """`name` is empty for the settings. What is new has no fields here: all of it is new."""

    section: str
    name: str
    change: Literal["New", "Altered"]
    fields: list[FieldChange]


class ConfigurationChanges(msgspec.Struct):
    changes: list[EntryChange]


class PolicyEntryBody(Body):
    type: Annotated[RequirementType, one_of(RequirementType)]
    reason: Name256
    responder: Annotated[Responder, one_of(Responder)]
    identity: OptionalName256 | None = None
    actions: list[Annotated[RequestAction, one_of(RequestAction)]] = Field([])
    event_types: list[Annotated[EventType, one_of(EventType)]] = Field([])
    priorities: list[Annotated[Level, one_of(Level)]] = Field([])
    risks: list[Annotated[Level, one_of(Level)]] = Field([])


class SettingsEntryBody(Body):
    custom_fields: list[CustomFieldBody] | None = None
    approval_lead_days: Annotated[int, Field(ge=1, le=99)] | None = None
    webhook_retention_days: Annotated[int, Field(ge=30, le=3650)] | None = None
    approval_policy: Annotated[list[PolicyEntryBody], Field(max_length=100)] | None = None


class ApplicationEntryBody(Body):
    name: Name256
    priority: PriorityName | None = None
    is_identity_source: Flag | None = None
    is_archived: Flag | None = None
    connector: ConnectorBody | None = None
    schedule: ScheduleBody | None = None
    owner: OptionalName256 | None = None
    provisioners: Annotated[list[Name256], Field(max_length=100)] | None = None
    guard: GuardBody | None = None


class GrantsEntryBody(GrantsBody):
    application: Name256


class ModelEntryBody(Body):
    name: Name256
    description: Text2048 | None = None
    owner: OptionalName256 | None = None
    enabled: Flag | None = None
    is_committed: Flag = True
    conditions: Conditions | None = None
    access: Annotated[list[GrantsEntryBody], Field(max_length=1000)] | None = None


class WebhookEntryBody(Body):
    name: Name100
    url: Annotated[OptionalName256, Field(max_length=LONGEST_URL)] | None = None
    events: list[Annotated[RequestEvent, one_of(RequestEvent)]] | None = None
    application: OptionalName256 | None = None
    enabled: bool | None = None


class ConfigurationBody(Body):
    """What is left out stays as it is, at every level."""

    settings: SettingsEntryBody | None = None
    applications: list[ApplicationEntryBody] | None = None
    access_models: list[ModelEntryBody] | None = None
    webhooks: list[WebhookEntryBody] | None = None


def unknown_fields(shape: type[BaseModel], raw: Any, path: str = "") -> Iterator[Problem]:
    """Elsewhere they are ignored; in a file that someone keeps they are mistakes."""
    if not isinstance(raw, dict):
        return
    known = {field.alias or name: field.annotation for name, field in shape.model_fields.items()}
    for name, value in raw.items():
        if name not in known:
            yield Problem(f"{path}{name}", f"{name} is not known here; known are {', '.join(known)}")
        elif nested := _model_in(known[name]):
            entries = enumerate(value) if isinstance(value, list) else [(None, value)]
            for number, entry in entries:
                place = f"{path}{name}." if number is None else f"{path}{name}.{number}."
                yield from unknown_fields(nested, entry, place)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def json_schema() -> Json:
    """For editors: what a configuration file may say."""
    schema: Json = ConfigurationBody.model_json_schema()
    # Enumerations that are read without regard to case are defined by pydantic but used by nothing.
    schema["$defs"] = {name: each for name, each in schema["$defs"].items() if "enum" not in each}
    for closed in (schema, *schema["$defs"].values()):
        closed["additionalProperties"] = False
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of Rolecall"}
    return {**about, **{name: value for name, value in schema.items() if name != "title"}}
