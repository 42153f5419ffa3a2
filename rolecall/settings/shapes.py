from typing import Annotated

from pydantic import Field

from rolecall.core.checking import Body, Text


class CustomFieldBody(Body):
    number: Annotated[int, Field(ge=1, le=9)]
    enabled: bool | None = None
    label: Annotated[Text, Field(max_length=100)] | None = None


class SettingsBody(Body):
    custom_fields: list[CustomFieldBody] | None = None
    approval_lead_days: Annotated[int, Field(ge=1, le=99)] | None = None
    # No less than the 30 days in which a receiver may answer.
    webhook_retention_days: Annotated[int, Field(ge=30, le=3650)] | None = None
