"""Repeat reviews: draft a review from each template every few months and, if `opens` is true, open it."""

from calendar import monthrange
from datetime import datetime, timedelta
from itertools import count
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import structlog
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb
from pydantic import Field

from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.checking import Body, Facts, Flag, Json, Maybe, Moment, Name256, check
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Invalid, NotFound, Problem, RolecallError
from rolecall.core.ids import known_guid, new_id
from rolecall.core.paging import Page, fetch_page
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import actions
from rolecall.reviews.bodies import NewReview

log = structlog.get_logger("rolecall.reviews")

Months = Annotated[int, Field(ge=1, le=60)]
Days = Annotated[int, Field(ge=1, le=366)]


class ReviewTemplate(msgspec.Struct, frozen=True, rename="camel"):
    """A review that repeats.

    `review` is the body of each review, without name and due date. A review is due `daysToReview` days after it is
    created. `fault` says why the last review could not be created or opened, and is empty otherwise.
    """

    id: UUID
    kind: Literal["Review Template"]
    name: str
    every_months: int
    days_to_review: int
    next_on: datetime
    opens: bool
    review: dict[str, Any]
    last_review_id: UUID | None
    fault: str


class NewReviewTemplate(Body):
    """`review` has the fields of a new review without name and due date.

    If `opens` is true, each review is opened when it is created; otherwise it stays a draft.
    """

    name: Name256
    every_months: Months
    days_to_review: Days = 30
    next_on: Maybe[Moment | None] = None
    opens: Flag = False
    review: dict[str, Any]


class TemplateFields(Body):
    every_months: Months | None = None
    days_to_review: Days | None = None
    next_on: Maybe[Moment | None] = None
    opens: Flag | None = None


class ReviewTemplateChanges(TemplateFields):
    review: dict[str, Any] | None = None


_COLUMNS = "id, name, every_months, days_to_review, next_on, opens, body, last_review_id, fault"


def _from_row(row: Any) -> ReviewTemplate:
    id, *rest = row
    return ReviewTemplate(*(id, "Review Template", *rest))


async def by_name(db: Db, page: int) -> Page[ReviewTemplate]:
    return await fetch_page(
        db,
        _from_row,
        page,
        total="SELECT count(*) FROM review_templates",
        items=f"SELECT {_COLUMNS} FROM review_templates ORDER BY lower(name), id",
    )


async def named(db: Db, name: str | None) -> list[ReviewTemplate]:
    """Return all templates, ordered by name, or the one with this name."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} FROM review_templates WHERE %(name)s::text IS NULL OR lower(name) = lower(%(name)s)
            ORDER BY lower(name), id""",
        name=name,
    )
    return [_from_row(row) for row in rows]


async def get(db: Db, id: str | UUID) -> ReviewTemplate:
    known = known_guid("Review template", str(id))
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} FROM review_templates WHERE id = %(id)s", id=known)
    if not rows:
        raise NotFound("Review template", id)
    return _from_row(rows[0])


async def _checked(db: Db, name: str, review: Json, facts: Facts) -> Jsonb:
    """Validate the fields of a template's review like those of a new review; return the given fields as JSON."""
    # The check needs a due date in the future. Each review gets its own due date when it is created.
    raw = _body(name, review, facts.now + timedelta(days=1), facts)
    known = await with_mentioned_applications(db, await with_mentioned_identities(db, facts, raw), raw)
    try:
        body = check(NewReview, raw, known)
        actions.require_fitting_stages(body.type, body.stages or ())
    except Invalid as error:
        raise Invalid(*(Problem(f"review.{each.field}", each.message) for each in error.problems)) from None
    return Jsonb(body.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"name", "due_on"}))


def _body(name: str, review: Json, due_on: datetime, facts: Facts) -> Json:
    return {**review, "name": f"{name}, {facts.today:%B %Y}"[:256], "dueOn": due_on.isoformat()}


async def create_template(db: Db, raw: Json, facts: Facts) -> ReviewTemplate:
    body = check(NewReviewTemplate, raw, facts)
    review = await _checked(db, body.name, body.review, facts)
    id = new_id()
    try:
        await execute(
            db,
            """INSERT INTO review_templates (id, name, every_months, days_to_review, next_on, first_on, opens, body,
                                             created_at)
               VALUES (%(id)s, %(name)s, %(every)s, %(days)s, %(next)s, %(next)s, %(opens)s, %(body)s, %(now)s)""",
            id=id,
            name=body.name,
            every=body.every_months,
            days=body.days_to_review,
            next=body.next_on or facts.now,
            opens=body.opens,
            body=review,
            now=facts.now,
        )
    except UniqueViolation:
        raise Invalid.on("name", f"A template named {body.name} already exists; choose another name") from None
    return await get(db, id)


async def change_template(db: Db, id: str, raw: Json, facts: Facts) -> ReviewTemplate:
    found = await get(db, id)
    body = check(ReviewTemplateChanges, raw, facts)
    columns = {
        "every_months": body.every_months,
        "days_to_review": body.days_to_review,
        "next_on": body.next_on,
        # Forms always send the date; only a different date changes the day on which reviews repeat.
        "first_on": body.next_on if body.next_on != found.next_on else None,
        "opens": body.opens,
        "body": None if body.review is None else await _checked(db, found.name, body.review, facts),
    }
    given = {name: value for name, value in columns.items() if value is not None}
    if given:
        changes = ", ".join(f"{name} = %({name})s" for name in given)
        await execute(db, f"UPDATE review_templates SET {changes} WHERE id = %(id)s", **given, id=found.id)
    return await get(db, found.id)


async def delete_template(db: Db, id: str) -> None:
    found = await get(db, id)
    await execute(db, "DELETE FROM review_templates WHERE id = %(id)s", id=found.id)


async def due_templates(db: Db, now: datetime) -> list[UUID]:
    rows = await fetch_rows(
        db, "SELECT id FROM review_templates WHERE next_on <= %(now)s ORDER BY next_on, id", now=now
    )
    return [id for (id,) in rows]


def _next_date(first_on: datetime, every_months: int, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the first date after now that is a multiple of `every_months` after `first_on`.

    Count from `first_on`, not from the last date, so that a short month does not shift the day of later ones.
    """
    start = first_on.astimezone(zone)
    passed = (now.astimezone(zone).year - start.year) * 12 + now.astimezone(zone).month - start.month
    dates = (_months_later(start, n * every_months) for n in count(max(0, passed // every_months)))
    return next(date for date in dates if date > now)


def _months_later(moment: datetime, months: int) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


async def follow_template(db: Db, id: UUID, now: datetime, facts: Facts) -> None:
    """Set the next date of a due template, draft its review and, if `opens` is true, open the review."""
    due = await fetch_rows(
        db,
        """SELECT first_on, every_months FROM review_templates
           WHERE id = %(id)s AND next_on <= %(now)s FOR UPDATE SKIP LOCKED""",
        id=id,
        now=now,
    )
    if not due:
        return
    [(first_on, every_months)] = due
    moved = await fetch_rows(
        db,
        f"UPDATE review_templates SET fault = '', next_on = %(next)s WHERE id = %(id)s RETURNING {_COLUMNS}",
        id=id,
        next=_next_date(first_on, every_months, now, facts.zone),
    )
    for row in moved:
        template = _from_row(row)
        try:
            # Use a savepoint, so that the fault can be stored if the review cannot be created or opened.
            async with db.transaction():
                review_id = await _make(db, SYSTEM, template, facts)
        except RolecallError as error:
            log.warning("a template cannot create or open its review", template=template.name, reason=str(error))
            # Fires the trigger notify_of_templates in schema/notifications.sql.
            await execute(
                db, "UPDATE review_templates SET fault = %(fault)s WHERE id = %(id)s", id=id, fault=str(error)[:2048]
            )
        else:
            # Fires the trigger notify_of_templates in schema/notifications.sql.
            await execute(
                db,
                "UPDATE review_templates SET last_review_id = %(review)s WHERE id = %(id)s",
                id=id,
                review=review_id,
            )


async def _make(db: Db, caller: Caller, template: ReviewTemplate, facts: Facts) -> UUID:
    due_on = facts.now + timedelta(days=template.days_to_review)
    raw = _body(template.name, template.review, due_on, facts)
    known = await with_mentioned_applications(db, await with_mentioned_identities(db, facts, raw), raw)
    id = await actions.insert_review(db, caller, check(NewReview, raw, known), facts.now, template.id)
    if template.opens:
        await actions.open_review(db, caller, id, facts.now)
    return id
