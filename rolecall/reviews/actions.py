"""Draft, preview, change and open reviews, and check their populations."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.accounts import matching
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.ids import new_id
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import digests, moving, opening, population, queries
from rolecall.reviews.bodies import NewReview, ReviewChanges, ReviewFields, ReviewStageBody
from rolecall.reviews.equation import total
from rolecall.reviews.events import record_review_event
from rolecall.reviews.model import (
    MOVES,
    Explained,
    ItemSubject,
    OnSilence,
    ReviewEvent,
    ReviewScope,
    ReviewStage,
    ReviewStatus,
    ReviewType,
    StageReviewer,
    subject_of,
    usual_stages,
)
from rolecall.reviews.population import Taking
from rolecall.reviews.shapes import PopulationCheck, ReviewDetail, ReviewPreview
from rolecall.reviews.steps import ReviewStep, record_step
from rolecall.tokens.queries import own_id

STATEMENT = "I reviewed the access listed here and decided on each item to the best of my knowledge."
_LIVE = "A review that is {} cannot be {}"


async def create_review(db: Db, caller: Caller, raw: Json, facts: Facts) -> ReviewDetail:
    """Draft a review. Opening the review determines its population."""
    known = await with_mentioned_applications(db, await with_mentioned_identities(db, facts, raw), raw)
    body = check(NewReview, raw, known)
    id = await insert_review(db, caller, body, facts.now)
    return await queries.get(db, id)


async def insert_review(
    db: Db, caller: Caller, body: NewReview, now: datetime, template_id: UUID | None = None
) -> UUID:
    require_fitting_stages(body.type, body.stages or ())
    own = body.owner_id or await _person(db, caller)
    columns: dict[str, Any] = {
        "scope": Jsonb(msgspec.to_builtins(ReviewScope())),
        "stages": Jsonb(msgspec.to_builtins(usual_stages(body.type))),
        "explained": Explained.EACH,
        "on_silence": OnSilence.ESCALATE,
        "statement": STATEMENT,
        **_columns(body),
        "id": new_id(),
        "name": body.name,
        "type": body.type,
        "due_on": body.due_on,
        "owner_id": own,
        "created_by": caller.name,
        "created_at": now,
        "template_id": template_id,
    }
    names, values = ", ".join(columns), ", ".join(f"%({name})s" for name in columns)
    await execute(db, f"INSERT INTO reviews ({names}) VALUES ({values})", **columns)
    id: UUID = columns["id"]
    return id


async def _person(db: Db, caller: Caller) -> UUID | None:
    own = await own_id(db, caller)
    return own if await fetch_value(db, "SELECT true FROM identities WHERE id = %(id)s", id=own) else None


def _columns(body: ReviewFields) -> dict[str, Any]:
    given: dict[str, Any] = {
        "description": body.description,
        "explained": body.explained,
        "on_silence": body.on_silence,
        "statement": body.statement,
        "owner_id": body.owner_id,
    }
    if body.scope:
        given["scope"] = Jsonb(body.scope.model_dump(mode="json", by_alias=True))
    if body.fallback:
        given["fallback"] = Jsonb(body.fallback.model_dump(mode="json", by_alias=True))
    given["stages"] = body.stages and Jsonb(
        [stage.model_dump(mode="json", by_alias=True, exclude_none=True) for stage in body.stages]
    )
    period = {"period_from": body.period.since, "period_until": body.period.until} if body.period else {}
    return {name: value for name, value in given.items() if value is not None} | period


# The fields of a draft that null clears, each with its columns. In any other field, null means that it is omitted.
_EMPTIED = {"fallback": ("fallback",), "period": ("period_from", "period_until")}


def _emptied(raw: Json) -> dict[str, Any]:
    fields = [name for name in _EMPTIED if name in raw and raw[name] is None]
    return {column: None for name in fields for column in _EMPTIED[name]}


def require_fitting_stages(type: ReviewType, stages: Iterable[ReviewStage | ReviewStageBody]) -> None:
    """Refuse supervisors as reviewers if the items of this type of review are not about people."""
    by_supervisor = any(stage.reviewer is StageReviewer.SUPERVISOR for stage in stages)
    if by_supervisor and subject_of(type) in (ItemSubject.GROUP, ItemSubject.MODEL):
        raise Invalid.on(
            "stages", f"A review of type {type} is not about people, so it has no supervisors; choose another reviewer"
        )


async def change_review(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewDetail:
    """Change a draft, or the due date of an open review."""
    review = await queries.plan_of(db, id, lock=True)
    known = await with_mentioned_applications(db, await with_mentioned_identities(db, facts, raw), raw)
    body = check(ReviewChanges, raw, known)
    columns = _columns(body) | _emptied(raw)
    columns |= {
        name: value
        for name, value in (("name", body.name), ("type", body.type), ("due_on", body.due_on))
        if value is not None
    }
    if review.status is ReviewStatus.OPEN and columns.keys() - {"due_on"}:
        raise Conflict("Only the due date of an open review can be changed")
    if review.status is ReviewStatus.OPEN and body.due_on and body.due_on < review.due_on:
        raise Invalid.on("dueOn", "The due date of an open review can only be moved to a later date")
    if review.status not in (ReviewStatus.DRAFT, ReviewStatus.OPEN):
        raise Conflict(_LIVE.format(review.status, "changed"))
    require_fitting_stages(body.type or review.type, body.stages or review.stages)
    if columns:
        # Clear the hold, because the next close counts the flagged accounts again.
        changes = ", ".join(["held = NULL", *(f"{name} = %({name})s" for name in columns)])
        await execute(db, f"UPDATE reviews SET {changes} WHERE id = %(id)s", **{**columns, "id": review.id})
    if review.status is ReviewStatus.OPEN and body.due_on:
        before, after = (moment.astimezone(facts.zone) for moment in (review.due_on, body.due_on))
        said = f"From {before:%Y-%m-%d} to {after:%Y-%m-%d}"
        await record_step(db, caller, review.id, ReviewStep.EXTENDED, said, facts.now)
    return await queries.get(db, review.id)


async def preview_review(db: Db, id: str, now: datetime) -> ReviewPreview:
    """Return what a draft would contain if it were opened now. Write only temporary tables."""
    review = await queries.plan_of(db, id)
    if review.status is not ReviewStatus.DRAFT:
        raise Conflict(_LIVE.format(review.status, "previewed"))
    return await opening.preview(db, review, now)


async def open_review(
    db: Db, caller: Caller, id: str | UUID, now: datetime, *, is_collected: bool = False
) -> ReviewDetail:
    """Open a draft: collect the population as of the last imports, and store its items with their reviewers.

    `is_collected` means that an earlier call in this transaction has already read the data of the applications.
    """
    review = await queries.plan_of(db, id, lock=True)
    if review.status is not ReviewStatus.DRAFT:
        raise Conflict(_LIVE.format(review.status, "opened"))
    if review.due_on <= now:
        raise Conflict("The due date has passed. Set a later one, then open the review")
    await opening.require_sources(db, review)
    # Wait for running matchings, so that no match with an earlier time is stored after the review is opened.
    now = await matching.wait_for_turns(db, now)
    taken = await opening.take_items(db, review, now, is_collected=is_collected)
    await opening.store_items(db, review, taken, now)
    await move_review(
        db,
        review,
        ReviewStatus.OPEN,
        "opened",
        opened_on=now,
        first_due_on=review.due_on,
        digest=taken.digest,
        item_count=total(taken.equation),
    )
    # Release access that the reviewer of its model must not decide, such as their own access.
    if review.explained is Explained.BY_MODEL:
        await moving.release_obstructed(db, caller, review.id, None, now)
    opened = await queries.get(db, review.id)
    await record_review_event(db, ReviewEvent.OPENED, opened, now)
    return opened


async def move_review(db: Db, review: ReviewDetail, to: ReviewStatus, verb: str, **columns: object) -> None:
    """Change the status of a review with one compare-and-set; refuse if its current status does not allow that."""
    changes = "".join(f", {name} = %({name})s" for name in columns)
    moved = await execute(
        db,
        f"UPDATE reviews SET status = %(to)s{changes} WHERE id = %(id)s AND status = ANY(%(allowed)s)",
        id=review.id,
        to=to,
        allowed=[status for status, moves in MOVES.items() if to in moves],
        **columns,
    )
    if not moved:
        raise Conflict(_LIVE.format(review.status, verb))


async def check_population(db: Db, id: str) -> PopulationCheck:
    """Collect the population again from the same imports; return three digests, and whether they agree.

    The digests are those of the population when the review was opened, of the population now, and of the stored items.
    """
    review = await queries.plan_of(db, id)
    if review.opened_on is None or review.digest is None:
        raise Conflict("This review has no population yet. Open it first")
    what = Taking(type=review.type, scope=review.scope, moment=review.opened_on, review_id=review.id)
    await population.take(db, what)
    again = await digests.taken_digest(db, what.subject)
    stored = await digests.items_digest(db, review.id)
    return PopulationCheck(review.digest, again, stored, again == review.digest == stored)
