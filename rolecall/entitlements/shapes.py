"""Response bodies of entitlements, and the body that changes their curated fields."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator

from rolecall.applications.shapes import ApplicationSummary
from rolecall.core.checking import Body, Flag, Guid, IdentityId, Name100, Text256, Text2048, broken, one_of
from rolecall.core.text import fold, is_blank
from rolecall.entitlements.model import MOST_TAGS, EntitlementKind
from rolecall.settings.policy import Level


class Owner(msgspec.Struct, frozen=True):
    id: UUID
    name: str


class HolderCounts(msgspec.Struct, frozen=True):
    """How many accounts hold the entitlement, directly or through groups, and how many identities they belong to."""

    accounts: int = 0
    identities: int = 0


class EntitlementItem(msgspec.Struct, rename="camel"):
    """A group or a permission of an application.

    `displayName`, `explanation`, `owner`, `isPrivileged` and `tags` are curated by people. When the owner leaves,
    the application's owner takes their place, and `formerOwner` names the person who left.
    """

    id: UUID
    kind: EntitlementKind
    application: ApplicationSummary
    name: str
    header: str
    section: str
    description: str
    display_name: str
    explanation: str
    risk_rating: Level
    is_privileged: bool
    owner: Owner | None
    former_owner: Owner | None
    tags: list[str]
    holders: HolderCounts
    first_seen: datetime | None
    last_seen: datetime | None


class EntitlementReference(msgspec.Struct, frozen=True):
    id: UUID
    name: str


class GivingGroup(msgspec.Struct, frozen=True):
    """A group whose members hold an entitlement.

    `depth` says how deep it is nested in the group that gives the entitlement; it is 0 for that group itself.
    """

    id: UUID
    name: str
    depth: int
    accounts: int


class EntitlementDetail(EntitlementItem, rename="camel"):
    """One entitlement. `isPresent` says whether the last import shows it.

    `importedRiskRating` ignores the curated rating of this entitlement, but a group's rating includes the curated
    ratings of what the group gives. For a group, `parents` are the groups above it, nearest first. If the group is in
    a cycle of nested groups, `cycle` names the groups of the cycle. After a rename, `sameAs` is the former entitlement,
    and `renamedTo` is the new one.
    """

    is_present: bool
    imported_risk_rating: Level
    parents: list[EntitlementReference]
    cycle: list[str]
    same_as: EntitlementReference | None
    renamed_to: EntitlementReference | None


class Curated(msgspec.Struct, frozen=True):
    """The curated fields of an entitlement, as stored."""

    display_name: str = ""
    explanation: str = ""
    owner_id: UUID | None = None
    risk_rating: Level | None = None
    is_privileged: bool = False
    tags: list[str] = []


def _or_none(value: object, read: ValidatorFunctionWrapHandler) -> object:
    return None if isinstance(value, str) and "\0" not in value and is_blank(value) else read(value)


def _tags_differ(tags: list[str]) -> list[str]:
    if len({fold(tag) for tag in tags}) < len(tags):
        raise broken("{name} must not name a tag twice")
    return tags


# "" clears the value; an omitted field keeps it.
OwnerChange = Annotated[IdentityId | None, WrapValidator(_or_none, json_schema_input_type=UUID | Literal[""] | None)]
SameAsChange = Annotated[Guid | None, WrapValidator(_or_none, json_schema_input_type=UUID | Literal[""] | None)]
_RATING = tuple(Level)
RatingChange = Annotated[
    Annotated[Level, one_of(Level)] | None,
    WrapValidator(_or_none, json_schema_input_type=Literal[(*_RATING, "")] | None),
]


class Curation(Body):
    """The curated fields of an entitlement. Omitted fields keep their values; "" and [] clear them.

    Imports do not change these fields. `riskRating` overrides the import's rating. After a rename, `sameAs` is the id
    of the former entitlement: its curated fields and its history continue here.
    """

    display_name: Text256 | None = None
    explanation: Text2048 | None = None
    owner_id: OwnerChange = None
    risk_rating: RatingChange = None
    is_privileged: Flag | None = None
    tags: Annotated[list[Name100], Field(max_length=MOST_TAGS), AfterValidator(_tags_differ)] | None = None
    same_as: SameAsChange = None
