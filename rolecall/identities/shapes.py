"""Define the response body of an identity, which other responses embed, and the fields that a body may set."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from rolecall.core.checking import (
    Body,
    IdentityId,
    Maybe,
    Name256,
    OptionalName256,
    Text128,
    Text256,
    Text2048,
    broken,
    facts_of,
    one_of,
)
from rolecall.core.text import is_blank
from rolecall.identities.model import IdentityStatus, IdentityType


class IdentityDetail(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["Identity"]
    first_name: str
    last_name: str
    email_address: str
    type: IdentityType
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
    status: IdentityStatus


def _is_enabled(value: object, info: ValidationInfo) -> object:
    number = int((info.field_name or "").removeprefix("custom_field_"))
    if number in facts_of(info).enabled_custom_fields:
        return value
    raise broken(f"Custom field {number} is not enabled")


IdentityTypeName = Annotated[IdentityType, one_of(IdentityType)]
CustomFieldValue = Annotated[Text2048, BeforeValidator(_is_enabled)]


class IdentityFields(Body):
    """The fields of an identity that a body may set; `None` means that the field was omitted or null."""

    email: Text256 | None = None
    supervisor_id: Maybe[IdentityId | None] = None
    company: Text256 | None = None
    division: Text256 | None = None
    department: Text128 | None = None
    office: Text256 | None = None
    title: Text256 | None = None
    identity_type: Maybe[IdentityTypeName | None] = None
    custom_field_1: CustomFieldValue | None = Field(None, alias="customField1")
    custom_field_2: CustomFieldValue | None = Field(None, alias="customField2")
    custom_field_3: CustomFieldValue | None = Field(None, alias="customField3")
    custom_field_4: CustomFieldValue | None = Field(None, alias="customField4")
    custom_field_5: CustomFieldValue | None = Field(None, alias="customField5")
    custom_field_6: CustomFieldValue | None = Field(None, alias="customField6")
    custom_field_7: CustomFieldValue | None = Field(None, alias="customField7")
    custom_field_8: CustomFieldValue | None = Field(None, alias="customField8")
    custom_field_9: CustomFieldValue | None = Field(None, alias="customField9")


class NewIdentity(IdentityFields):
    first_name: Name256
    last_name: Name256


def _not_the_subject(id: UUID, info: ValidationInfo) -> UUID:
    if id == facts_of(info).subject:
        raise broken("{name} must be another identity")
    return id


def _or_nobody(value: object, read: ValidatorFunctionWrapHandler) -> object:
    return None if isinstance(value, str) and is_blank(value) else read(value)


# "" in the body becomes an explicit None, which removes the supervisor; an omitted field keeps it.
SupervisorChange = Annotated[
    IdentityId | None,
    AfterValidator(_not_the_subject),
    WrapValidator(_or_nobody, json_schema_input_type=UUID | Literal[""] | None),
]


class IdentityChanges(IdentityFields):
    supervisor_id: SupervisorChange = None
    first_name: OptionalName256 | None = None
    last_name: OptionalName256 | None = None
