from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import Field, ValidationInfo, field_validator

from rolecall.core.checking import Body, IdentityId, Maybe, Moment, Text256, broken, facts_of, one_of
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.model import LONGEST, StandInStatus
from rolecall.work_items.shapes import PersonReference


class StandInItem(msgspec.Struct, rename="camel"):
    """A person who responds for another from `startsOn` until `endsOn`; `type` is null for all types of response."""

    id: UUID
    kind: Literal["Stand-In"]
    identity: PersonReference
    stand_in: PersonReference
    type: RequirementType | None
    starts_on: datetime
    ends_on: datetime
    status: StandInStatus
    comment: str
    created_date: datetime
    created_by: str


class Represented(msgspec.Struct, frozen=True):
    """A person for whom another person responds now, with the types of response.

    `is_automatic` is true if the person is on leave and has no named stand-in for these types who may decide.
    """

    person: PersonReference
    types: list[RequirementType]
    is_automatic: bool


class StandInBody(Body):
    """A stand-in for the person `identityId`, or for the caller if it is omitted."""

    identity_id: Maybe[IdentityId | None] = None
    stand_in_id: IdentityId
    type: Maybe[Annotated[RequirementType, one_of(RequirementType)] | None] = None
    starts_on: Maybe[Moment | None] = None
    ends_on: Moment
    comment: Text256 = Field("")

    @field_validator("ends_on")
    @classmethod
    def ahead(cls, ends_on: datetime, info: ValidationInfo) -> datetime:
        now = facts_of(info).now
        if ends_on <= (info.data.get("starts_on") or now):
            raise broken("{name} must be after the start or, without a start, in the future")
        # A start in the past is accepted, so an end after the start may still be in the past.
        if ends_on <= now:
            raise broken("{name} must be in the future")
        if ends_on - (info.data.get("starts_on") or now) > LONGEST:
            raise broken(f"{{name}} must be at most {LONGEST.days} days after the start")
        return ends_on
