"""Remind reviewers of the items that they have to decide or submit."""

from datetime import timedelta

from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import queries
from rolecall.reviews.bodies import RemindBody
from rolecall.reviews.events import REMINDED, events_of, record_reminder
from rolecall.reviews.model import ReviewStatus
from rolecall.reviews.permitted import with_administrators
from rolecall.reviews.shapes import ReviewDetail
from rolecall.work_items.actions import record_activity

_MOST_AN_HOUR = 10


async def remind(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewDetail:
    """Remind reviewers who have items to decide or submit: those named in the body, by default all."""
    review = await queries.plan_of(db, id, lock=True)
    body = check(RemindBody, raw, with_administrators(await with_mentioned_identities(db, facts, raw)))
    if review.status is not ReviewStatus.OPEN:
        raise Conflict(f"Reviewers of a review that is {review.status} cannot be reminded")
    since = facts.now - timedelta(hours=1)
    if sum(name == REMINDED and on > since for name, on in await events_of(db, review.id)) >= _MOST_AN_HOUR:
        raise Conflict(
            f"Reviewers can be reminded at most {_MOST_AN_HOUR} times an hour per review. Wait, or reassign items"
        )
    left = [
        each.reviewer
        for each in (await queries.progress_of(db, review.id)).reviewers
        if each.to_submit and (body.reviewer_ids is None or each.reviewer.id in body.reviewer_ids)
    ]
    if not left:
        raise Conflict("Nobody to remind: none of these reviewers has items left to decide or submit")
    await execute(db, "UPDATE reviews SET reminded_on = %(now)s WHERE id = %(id)s", id=review.id, now=facts.now)
    await record_reminder(db, review.id, [reviewer.id for reviewer in left], facts.now)
    said = f"Reminded {', '.join(reviewer.name for reviewer in left)}"
    await record_activity(db, review.id, author=caller.name, action="Reminded", content=said, now=facts.now)
    return await queries.get(db, review.id)
