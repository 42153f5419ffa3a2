from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from rolecall.core.checking import Body, Flag, IdentityId, Maybe, Name256, Text100, broken, one_of
from rolecall.settings.model import CUSTOM_FIELDS
from rolecall.settings.policy import EventType, Level, RequestAction, RequirementType, Responder


class CustomFieldBody(Body):
    number: Annotated[int, Field(ge=CUSTOM_FIELDS[0], le=CUSTOM_FIELDS[-1])]
    enabled: bool | None = None
    label: Text100 | None = None


ResponderName = Annotated[Responder, one_of(Responder)]


class RuleFields(Body):
    """The fields of a rule, without the responder."""

    type: Annotated[RequirementType, one_of(RequirementType)]
    reason: Name256
    actions: list[Annotated[RequestAction, one_of(RequestAction)]] = Field([])
    event_types: list[Annotated[EventType, one_of(EventType)]] = Field([])
    priorities: list[Annotated[Level, one_of(Level)]] = Field([])
    risks: list[Annotated[Level, one_of(Level)]] = Field([])


class ApprovalRuleBody(RuleFields):
    identity_id: Maybe[IdentityId | None] = None
    responder: ResponderName

    @field_validator("responder")
    @classmethod
    def named_where_it_must_be(cls, responder: Responder, info: ValidationInfo) -> Responder:
        # An invalid identity ID is missing from `info.data`, and its problem is already reported.
        if "identity_id" in info.data and (responder is Responder.IDENTITY) != (info.data["identity_id"] is not None):
            raise broken(f"Identity ID must be given with the responder {Responder.IDENTITY}, and only with it")
        return responder


class GuardBody(Body):
    max_removed_percent: Annotated[float, Field(ge=0, le=100)] | None = None
    # More than 100 % is possible, because an import may more than double an application.
    max_new_percent: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    min_count: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None


MOST_RULES = 100


class SettingsFields(Body):
    """All settings except the policy, which refers to people."""

    custom_fields: list[CustomFieldBody] | None = None
    approval_lead_days: Annotated[int, Field(ge=1, le=99)] | None = None
    # At least 30 days, because a receiver may call back for that long.
    webhook_retention_days: Annotated[int, Field(ge=30, le=3650)] | None = None
    guard: GuardBody | None = None
    single_handed: Flag | None = None


class SettingsBody(SettingsFields):
    approval_policy: Annotated[list[ApprovalRuleBody], Field(max_length=MOST_RULES)] | None = None
