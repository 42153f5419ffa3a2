"""Define the conditions and grants of access models, and the order of access levels."""

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access

# Access levels, lowest first. None and Deny rank the same here; access_rank() in schema/accounts.sql ranks Deny higher.
RANK: dict[str, int] = {Access.NONE: 0, Access.DENY: 0, Access.GRANT: 1, Access.MODIFY: 2, Access.UNRESTRICTED: 3}


class Field(StrEnum):
    """A field that a condition can test; access_model_people() in `schema/access_models.sql` reads these fields."""

    TYPE = "type"
    TITLE = "title"
    COMPANY = "company"
    DIVISION = "division"
    DEPARTMENT = "department"
    OFFICE = "office"
    CUSTOM_1 = "customField1"
    CUSTOM_2 = "customField2"
    CUSTOM_3 = "customField3"
    CUSTOM_4 = "customField4"
    CUSTOM_5 = "customField5"
    CUSTOM_6 = "customField6"
    CUSTOM_7 = "customField7"
    CUSTOM_8 = "customField8"
    CUSTOM_9 = "customField9"


class Operator(StrEnum):
    IS = "is"
    IS_NOT = "is not"
    IS_ONE_OF = "is one of"
    STARTS_WITH = "starts with"


class Condition(msgspec.Struct, frozen=True):
    field: Field
    operator: Operator
    value: str | list[str]


class ModelPermission(msgspec.Struct, frozen=True):
    header: str
    section: str
    permission: str
    access: Access


class ModelAccess(msgspec.Struct, frozen=True, rename="camel"):
    application_id: UUID
    groups: list[str]
    permissions: list[ModelPermission]


class Definition(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a model. Changes are kept in a draft until they are committed as a version."""

    name: str
    description: str = ""
    owner_id: UUID | None = None
    enabled: bool = True
    conditions: Sequence[Sequence[Condition]] = ()
    access: Sequence[ModelAccess] = ()


class Grant(msgspec.Struct, frozen=True):
    """A permission or group that models grant, named by header, section and permission like a privilege."""

    application_id: UUID
    header: str
    section: str
    permission: str
    access: Access
    description: str
    risk_rating: str
    models: list[str]
