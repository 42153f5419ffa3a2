"""Request bodies of the operations on reviews and their items."""

import re
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from rolecall.accounts.model import Access
from rolecall.applications.shapes import LiveApplicationId
from rolecall.core.checking import (
    Body,
    Flag,
    Guid,
    IdentityId,
    Json,
    Maybe,
    Moment,
    Name256,
    OptionalComment,
    OptionalName256,
    SomeText,
    Text2048,
    broken,
    facts_of,
    naming_the_person,
    one_of,
)
from rolecall.core.errors import Invalid
from rolecall.identities.model import IdentityType
from rolecall.reviews.model import (
    LONGEST_ACCEPTANCE,
    LONGEST_KEEP,
    Decision,
    Explained,
    ItemFact,
    OnSilence,
    ReviewItemStatus,
    ReviewType,
    StageReviewer,
)
from rolecall.settings.policy import Level


class ScopeFields(Body):
    """The fields of a scope that contain no ids; the configuration file refers to records by name."""

    min_risk: Maybe[Annotated[Level, one_of(Level)] | None] = None
    departments: Annotated[list[Name256], Field(max_length=1000)] = Field([])
    identity_types: Annotated[list[Annotated[IdentityType, one_of(IdentityType)]], Field(max_length=20)] = Field([])


class ScopeBody(ScopeFields):
    """What a review covers; an omitted field does not narrow it."""

    application_ids: Annotated[list[LiveApplicationId], Field(max_length=1000)] = Field([])
    entitlement_ids: Annotated[list[Guid], Field(max_length=1000)] = Field([])
    entitlement_owner_ids: Annotated[list[IdentityId], Field(max_length=1000)] = Field([])
    model_ids: Annotated[list[Guid], Field(max_length=1000)] = Field([])
    identity_ids: Annotated[list[IdentityId], Field(max_length=1000)] = Field([])


class StageFields(Body):
    reviewer: Annotated[StageReviewer, one_of(StageReviewer)]


class ReviewStageBody(StageFields):
    """A stage of a review. `identityId` is required if the reviewer is `Identity`."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"reviewer": {"const": StageReviewer.IDENTITY}}},
            "then": {"required": ["identityId"], "properties": {"identityId": {"type": "string"}}},
        }
    )

    identity_id: Maybe[IdentityId | None] = Field(None, validate_default=True)

    @field_validator("identity_id")
    @classmethod
    def named_if_needed(cls, identity_id: UUID | None, info: ValidationInfo) -> UUID | None:
        if info.data.get("reviewer") is StageReviewer.IDENTITY and identity_id is None:
            raise broken("{name} is required for the reviewer Identity")
        return identity_id


class PeriodBody(Body):
    since: Maybe[Moment | None] = Field(None, alias="from")
    until: Maybe[Moment | None] = None

    @field_validator("until")
    @classmethod
    def after_the_start(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        if until and info.data.get("since") and until <= info.data["since"]:
            raise broken("{name} must be after the start of the period (from)")
        return until


def _is_ahead(moment: datetime, info: ValidationInfo) -> datetime:
    if moment <= facts_of(info).now:
        raise broken("{name} must be in the future")
    return moment


def _end_of_day(value: object) -> object:
    """Return the end of the day for a date without a time, and any other value unchanged."""
    return f"{value}T23:59:59" if isinstance(value, str) and _DAY.fullmatch(value) else value


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
FutureMoment = Annotated[Moment, AfterValidator(_is_ahead)]
DueDate = Annotated[FutureMoment, BeforeValidator(_end_of_day)]
Stages = Annotated[list[ReviewStageBody], Field(min_length=1, max_length=5)]


class ReviewPolicyFields(Body):
    """The description of a review, and how it is decided and closed."""

    description: Text2048 | None = None
    explained: Maybe[Annotated[Explained, one_of(Explained)] | None] = None
    on_silence: Maybe[Annotated[OnSilence, one_of(OnSilence)] | None] = None
    statement: Text2048 | None = None


class ReviewFields(ReviewPolicyFields):
    """The optional fields of a review; `None` means that a field was omitted or null."""

    scope: ScopeBody | None = None
    stages: Stages | None = None
    fallback: ReviewStageBody | None = None
    period: PeriodBody | None = None
    owner_id: Maybe[IdentityId | None] = None


class NewReview(ReviewFields):
    name: Name256
    type: Annotated[ReviewType, one_of(ReviewType)]
    due_on: DueDate


class ReviewChanges(ReviewFields):
    name: OptionalName256 | None = None
    type: Maybe[Annotated[ReviewType, one_of(ReviewType)] | None] = None
    due_on: Maybe[DueDate | None] = None


class CloseBody(Body):
    """`confirm` closes a review that is held because closing it would flag many accounts."""

    confirm: Flag = False


class CommentedBody(Body):
    comment: OptionalComment = None


def _only_with(decision: Decision, field: str, otherwise: Json) -> Json:
    """Return a JSON Schema rule: `decision` requires `field`, and the other of `until` and `access` must be null.

    For other decisions, `otherwise` applies.
    """
    nothing = {name: {"type": "null"} for name in ("until", "access") if name != field}
    return {
        # The OpenAPI document spells enum values without spaces (`one_of`).
        "if": {"properties": {"decision": {"const": decision.replace(" ", "")}}},
        "then": {"required": [field], "properties": {field: {"type": "string"}, **nothing}},
        "else": otherwise,
    }


_NEITHER: Json = {"properties": {"until": {"type": "null"}, "access": {"type": "null"}}}
_FITTING = _only_with(Decision.KEEP_UNTIL, "until", _only_with(Decision.CHANGE, "access", _NEITHER))


class _DecisionFields(Body):
    model_config = naming_the_person("reviewerId", _FITTING)

    decision: Annotated[Decision, one_of(Decision)]
    until: Maybe[FutureMoment | None] = Field(None, validate_default=True)
    access: Maybe[Annotated[Access, one_of(Access)] | None] = Field(None, validate_default=True)
    comment: Text2048 = Field("")
    reviewer_id: Maybe[IdentityId | None] = None

    @field_validator("until")
    @classmethod
    def only_for_keep_until(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        if (info.data.get("decision") is Decision.KEEP_UNTIL) != (until is not None):
            raise broken("{name} is required for the decision Keep Until and not allowed for any other")
        if until and until > facts_of(info).now + LONGEST_KEEP:
            raise broken("{name} must be at most five years from now")
        return until

    @field_validator("access")
    @classmethod
    def only_for_change(cls, access: Access | None, info: ValidationInfo) -> Access | None:
        if (info.data.get("decision") is Decision.CHANGE) != (access is not None):
            raise broken("{name} is required for the decision Change and not allowed for any other")
        return access


class DecideBody(_DecisionFields):
    """A decision. A token must send `reviewerId`. For Not Mine, `identityId` is the person who decides instead."""

    identity_id: Maybe[IdentityId | None] = None


class ItemFilterFields(Body):
    """Filters of items. An unknown filter is refused, because ignoring it would select too many items."""

    status: Maybe[Annotated[ReviewItemStatus, one_of(ReviewItemStatus)] | None] = None
    application_id: Maybe[Guid | None] = None
    identity_id: Maybe[Guid | None] = None
    entitlement_id: Maybe[Guid | None] = None
    reason: Maybe[Annotated[ItemFact, one_of(ItemFact)] | None] = None
    recommendation: Maybe[Annotated[Decision, one_of(Decision)] | None] = None


def require_known_filters(raw: Json) -> None:
    known = {to_camel(name) for name in ItemFilterFields.model_fields}
    given = raw.get("filters")
    unknown = sorted(given.keys() - known) if isinstance(given, dict) else []
    if unknown:
        names = ", ".join(sorted(known))
        raise Invalid.on("filters", f"There is no filter named {', '.join(unknown)}; choose from {names}")


MOST_IDS = 10_000


class DecideSeveralBody(_DecisionFields):
    """One decision about several items of a reviewer: the items in `itemIds`, or all that match `filters`.

    Without a status, the filters match only pending items.
    """

    item_ids: Annotated[list[Guid], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filters: ItemFilterFields | None = None


class UndoBody(Body):
    model_config = naming_the_person("reviewerId")

    reviewer_id: Maybe[IdentityId | None] = None


class ReassignBody(Body):
    identity_id: IdentityId
    comment: Annotated[SomeText, Field(max_length=2048)]


def _ends_in_time(until: datetime, info: ValidationInfo) -> datetime:
    _is_ahead(until, info)
    if until > facts_of(info).now + LONGEST_ACCEPTANCE:
        raise broken(f"{{name}} must be at most {LONGEST_ACCEPTANCE.days} days from now")
    return until


class AcceptBody(Body):
    """Keep flagged access until a date. A token must send `identityId`, the person who accepts."""

    model_config = naming_the_person("identityId")

    reason: Annotated[SomeText, Field(max_length=2048)]
    until: Annotated[Moment, AfterValidator(_ends_in_time)]
    identity_id: Maybe[IdentityId | None] = None


class SubmitBody(Body):
    """Sign the decisions. A token must send `reviewerId`. `statement`, if given, must equal that of the review."""

    model_config = naming_the_person("reviewerId")

    reviewer_id: Maybe[IdentityId | None] = None
    statement: Text2048 | None = None


class RemindBody(Body):
    """The reviewers to remind, by default all. Only those who have items to decide or submit are reminded."""

    reviewer_ids: Annotated[list[IdentityId], Field(max_length=1000)] | None = None
