"""Record who extended, closed or canceled a review, or confirmed a held close, and the items about this person."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, fetch_rows, fetch_value, insert_rows
from rolecall.reviews.events import CANCELED, STEP_BY_HOLDER, record_notice
from rolecall.tokens.queries import own_id

# The error for a token without an owner.
NO_PERSON = "A person must confirm this: in the console, or with a token that they created there"


class ReviewStep(StrEnum):
    EXTENDED = "Extended"
    HOLD_CONFIRMED = "Hold Confirmed"
    CLOSED = "Closed"
    CANCELED = "Canceled"


async def record_step(
    db: Db, caller: Caller, review_id: UUID, step: ReviewStep, detail: str, now: datetime, *, is_notified: bool = False
) -> None:
    """Record a step for the audit log, unless the service itself took it.

    Notify the owner of the review if items are about the person who took the step, or if `is_notified`.
    """
    if caller.id == SYSTEM.id:
        return
    person = await own_id(db, caller)
    rows = await fetch_rows(
        db,
        """SELECT c.number FROM review_items c LEFT JOIN accounts a ON a.number = c.account_number
           WHERE c.review_id = %(review)s AND %(person)s IN (c.identity_id, a.identity_id) ORDER BY 1""",
        review=review_id,
        person=person,
    )
    own = [number for (number,) in rows]
    row = {
        "review_id": review_id,
        "step": step,
        "detail": detail,
        "own_items": own,
        "done_by": caller.id,
        "done_by_name": caller.name,
        "done_on": now,
    }
    await insert_rows(db, "review_steps", [row])
    if own:
        await record_notice(db, STEP_BY_HOLDER, review_id, now, by=person)
    elif is_notified:
        await record_notice(db, CANCELED, review_id, now, by=person)


async def is_by_person(db: Db, caller: Caller) -> bool:
    """Return whether a person acts, in the console or with a token that they own."""
    sql = "SELECT true FROM tokens WHERE id = %(id)s AND owner_id IS NOT NULL"
    return caller.is_person or bool(await fetch_value(db, sql, id=caller.id))
