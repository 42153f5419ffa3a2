from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from rolecall.access_models import model
from rolecall.access_models.model import Definition, Operator
from rolecall.accounts.model import Access
from rolecall.accounts.shapes import PermissionNameBody
from rolecall.applications.shapes import ApplicationId
from rolecall.core.checking import (
    Body,
    Flag,
    IdentityId,
    Maybe,
    Name256,
    OptionalName256,
    Text2048,
    broken,
    one_of,
)
from rolecall.core.text import fold
from rolecall.duties.prevention import ModelConflicts
from rolecall.identities.model import IdentityType


class AccessModelItem(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["Access Model"]
    name: str
    description: str
    enabled: bool
    version: int
    has_draft: bool


class AccessModelDetail(msgspec.Struct, rename="camel"):
    """A model. `committed` is the current version, `draft` the one that is not committed yet. Either may be null.

    `unknownNames` says which groups and permissions of the draft its applications do not have.
    """

    id: UUID
    kind: Literal["Access Model"]
    version: int
    member_count: int
    committed: Definition | None
    draft: Definition | None
    created_date: datetime
    updated_date: datetime
    unknown_names: list[str]


class GivenAccess(msgspec.Struct, frozen=True, rename="camel"):
    """Access that a person gains or loses; for a group membership, `permission` is the group's name."""

    application_id: UUID
    is_group: bool
    header: str
    section: str
    permission: str
    access: Access


class Affected(msgspec.Struct, rename="camel"):
    """A person who would join or leave the model, or stay in it while the access that it grants changes.

    Access that another model also grants is neither gained nor lost.
    """

    identity_id: UUID
    name: str
    change: Literal["Joins", "Leaves", "Stays"]
    gains: list[GivenAccess]
    loses: list[GivenAccess]


class Simulation(msgspec.Struct, rename="camel"):
    """The number of people who would join, leave and stay, and a page of those whom the commit would affect.

    `conflicts` are the duty rules under which people would newly be in conflict, or whose duties the draft combines.
    """

    joining: int
    leaving: int
    staying: int
    items: list[Affected]
    total_count: int
    page: int
    page_size: int
    total_pages: int
    conflicts: list[ModelConflicts]


_IDENTITY_TYPES = {fold(type): type for type in IdentityType}
_MOST_WORDS, _LONGEST_WORD = 1000, 2048


class ConditionBody(Body):
    field: Annotated[model.Field, one_of(model.Field)]
    operator: Annotated[Operator, one_of(Operator)]
    value: str | list[str]

    @field_validator("value", mode="before")
    @classmethod
    def as_the_operator_needs_it(cls, value: object, info: ValidationInfo) -> object:
        """Require a list for `is one of` and a string otherwise; spell identity types as the API does."""
        # `info.data` lacks the fields that failed validation.
        several = info.data.get("operator") is Operator.IS_ONE_OF
        words = value if several else [value]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise broken(f"{{name}} must be {'a list of strings' if several else 'a string'}")
        if not 1 <= len(words) <= _MOST_WORDS:
            raise broken(f"{{name}} must have 1 to {_MOST_WORDS} entries")
        if any(len(word) > _LONGEST_WORD or "\x00" in word for word in words):
            raise broken(f"{{name}} must be at most {_LONGEST_WORD} characters and must not contain NUL")
        # With `starts with`, the beginning of a type is enough.
        if info.data.get("field") is model.Field.TYPE and info.data.get("operator") is not Operator.STARTS_WITH:
            if any(fold(word) not in _IDENTITY_TYPES for word in words):
                raise broken(f"{{name}} must be one of {', '.join(IdentityType)}")
            words = [_IDENTITY_TYPES[fold(word)] for word in words]
        return words if several else words[0]


def _gives(access: Access) -> Access:
    if access is Access.NONE:
        raise broken("{name} must not be None")
    return access


class ModelPermissionBody(PermissionNameBody):
    access: Maybe[Annotated[Access, one_of(Access), AfterValidator(_gives)]] = Access.GRANT


class GrantsBody(Body):
    """The groups and permissions that a model grants in one application."""

    groups: Annotated[list[Name256], Field(max_length=1000)] = Field([])
    permissions: Annotated[list[ModelPermissionBody], Field(max_length=1000)] = Field([])

    @field_validator("groups")
    @classmethod
    def each_group_once(cls, groups: list[str]) -> list[str]:
        if len(set(groups)) < len(groups):
            raise broken("{name} must not name a group twice")
        return groups

    @field_validator("permissions")
    @classmethod
    def each_permission_once(cls, permissions: list[ModelPermissionBody]) -> list[ModelPermissionBody]:
        if len({each.key for each in permissions}) < len(permissions):
            raise broken("{name} must not name a permission twice")
        return permissions


class ModelAccessBody(GrantsBody):
    application_id: ApplicationId


def _each_application_once(access: list[ModelAccessBody]) -> list[ModelAccessBody]:
    if len({each.application_id for each in access}) < len(access):
        raise broken("{name} must not name an application twice")
    return access


ConditionGroup = Annotated[list[ConditionBody], Field(min_length=1, max_length=50)]
Conditions = Annotated[list[ConditionGroup], Field(max_length=100)]
MOST_ACCESSES = 1000
Accesses = Annotated[list[ModelAccessBody], Field(max_length=MOST_ACCESSES), AfterValidator(_each_application_once)]


class ModelChanges(Body):
    """The changes to a draft; `None` means that a field was omitted or null."""

    name: OptionalName256 | None = None
    description: Text2048 | None = None
    owner_id: Maybe[IdentityId | None] = None
    enabled: Flag | None = None
    conditions: Conditions | None = None
    access: Accesses | None = None


class NewModel(ModelChanges):
    name: Name256


class SimulateBody(Body):
    page: Annotated[int, Field(ge=1, le=10**9)] = 1


class CommitBody(Body):
    """`allowUnknown` commits a draft with names that its applications do not have; such access is rated Critical."""

    allow_unknown: Flag = False
