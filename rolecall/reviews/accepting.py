"""Accept flagged access until a date.

The owner of the application may accept it or, if the owner cannot, an administrator. People must not accept an item
that they review or decided, or that is about their own account.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.access_requests import moving
from rolecall.access_requests.model import SNOOZE, Move
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.identities import administrators
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import item_queries, queries
from rolecall.reviews.bodies import AcceptBody
from rolecall.reviews.closing import complete_if_done
from rolecall.reviews.model import ReviewItemStatus, ReviewStatus
from rolecall.reviews.permitted import DECIDER
from rolecall.reviews.shapes import ReviewItemDetail
from rolecall.tokens.queries import own_id
from rolecall.work_items.model import WorkStatus


async def accept(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Keep flagged access until a date, with a reason.

    The item stays flagged, but until that date its review does not wait for it.
    """
    # Lock the review before its item, as submitting does, to avoid deadlocks.
    review = await queries.plan_of(db, await item_queries.review_of(db, id), lock=True)
    item = await item_queries.get_item(db, id, lock=True)
    body = check(AcceptBody, raw, await with_mentioned_identities(db, facts, raw))
    _check_acceptable(item, review.status)
    person_id = await _accepting(db, caller, item, body.identity_id)
    name = await fetch_value(
        db, "SELECT first_name || ' ' || last_name FROM identities WHERE id = %(id)s", id=person_id
    )
    await execute(
        db,
        """INSERT INTO review_acceptances (item_id, reason, until, accepted_by, accepted_by_name, accepted_on)
           VALUES (%(item)s, %(reason)s, %(until)s, %(person)s, %(name)s, %(now)s)""",
        item=item.id,
        reason=body.reason,
        until=body.until,
        person=person_id,
        name=name,
        now=facts.now,
    )
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(
        db,
        "UPDATE review_items SET accepted_until = %(until)s WHERE id = %(id)s",
        until=body.until,
        id=item.id,
    )
    await postpone_removals(db, caller, [one.id for one in item.related_items], facts.now, facts.zone)
    await complete_if_done(db, item.review_id, facts.now)
    return await item_queries.get_item(db, item.id)


async def may_accept(db: Db, caller: Caller, item: ReviewItemDetail) -> bool:
    """Return whether the caller can accept the item now."""
    review = await queries.plan_of(db, item.review_id)
    try:
        _check_acceptable(item, review.status)
        await _accepting(db, caller, item, None)
    except Conflict:
        return False
    return True


def _check_acceptable(item: ReviewItemDetail, review: ReviewStatus) -> None:
    if review is ReviewStatus.CANCELED:
        raise Conflict("The review was canceled, so there is nothing to accept")
    if item.status is not ReviewItemStatus.FLAGGED:
        raise Conflict(f"Only flagged items can be accepted; this one is {item.status}")
    is_final = item.is_submitted or item.related_items or review in (ReviewStatus.CLOSED, ReviewStatus.COMPLETED)
    if not is_final:
        raise Conflict("The reviewer has not submitted the decision yet. Accept the access after it is submitted")


# Snooze a request that is already snoozed, to change the end of the snooze.
_SNOOZE_AGAIN = Move(SNOOZE.name, SNOOZE.text, frozenset({WorkStatus.SNOOZED}), None)


async def postpone_removals(db: Db, caller: Caller, request_ids: Sequence[UUID], now: datetime, zone: ZoneInfo) -> None:
    """Snooze requests whose flagged items are all accepted, until the first acceptance expires.

    If a request is already snoozed, change the end of the snooze.
    """
    rows = await fetch_rows(
        db,
        """SELECT q.id, min(o.accepted_until) FROM access_requests q
           JOIN review_items o ON o.request_id = q.id AND o.status = 'Flagged'
           WHERE q.id = ANY(%(ids)s) AND q.status IN ('Open', 'Snoozed') GROUP BY q.id
           HAVING count(*) FILTER (WHERE coalesce(o.accepted_until, '-infinity') <= %(now)s) = 0 ORDER BY q.number""",
        ids=list(request_ids),
        now=now,
    )
    for request_id, until in rows:
        text = f"The access is accepted until {until.astimezone(zone):%Y-%m-%d}"
        # The order matters: after SNOOZE, an open request is snoozed, and _SNOOZE_AGAIN would move it a second time.
        for move in (_SNOOZE_AGAIN, SNOOZE):
            await moving.move(db, move, [request_id], caller, now, text, snoozed_until=until)


async def _accepting(db: Db, caller: Caller, item: ReviewItemDetail, given: UUID | None) -> UUID:
    """Return the person who accepts; raise Conflict or Invalid if they must not.

    The owner of the application can accept or, if the owner cannot, an administrator. People cannot accept an
    item that they review or decided, or that is about their own account.
    """
    if caller.is_person and given not in (None, caller.id):
        raise Invalid.on("identityId", "Identity ID must be your own: you cannot accept for another person")
    if not caller.is_person and given is None:
        raise Invalid.on("identityId", "Identity ID is required with a token: name the person who accepts")
    person = given or caller.id
    if await _has_decided(db, item, [person, await own_id(db, caller)]):
        raise Conflict(
            "A person who reviews or decided an item cannot accept it."
            " Ask the owner of the application or an administrator"
        )
    if await _is_own(db, item, [person, await own_id(db, caller)]):
        raise Conflict("The item is about this person's own account; another person must accept it")
    owners = await fetch_rows(
        db,
        """SELECT o.owner_id FROM review_items c JOIN applications o ON o.id = c.application_id
           JOIN identities i ON i.id = o.owner_id AND i.status = 'Active' WHERE c.id = %(id)s""",
        id=item.id,
    )
    owner = owners[0][0] if owners else None
    if person == owner or (not await _can_accept(db, item, owner) and await administrators.is_one(db, person)):
        return person
    raise Conflict(
        "Only the owner of the application or, if the owner cannot, an administrator can accept flagged access"
    )


async def _can_accept(db: Db, item: ReviewItemDetail, owner: UUID | None) -> bool:
    """Return whether the owner may accept the item; False without an owner."""
    return owner is not None and not await _has_decided(db, item, [owner]) and not await _is_own(db, item, [owner])


async def _is_own(db: Db, item: ReviewItemDetail, people: list[UUID]) -> bool:
    """Return whether the account belongs to one of these people, or did when the review was opened."""
    found: bool = await fetch_value(
        db,
        """SELECT coalesce(c.identity_id = ANY(%(people)s), false) OR coalesce(a.identity_id = ANY(%(people)s), false)
           FROM review_items c LEFT JOIN accounts a ON a.number = c.account_number WHERE c.id = %(id)s""",
        id=item.id,
        people=people,
    )
    return found


async def _has_decided(db: Db, item: ReviewItemDetail, people: list[UUID]) -> bool:
    """Return whether one of these people reviews the item, or whether a decision about it was made by or for them."""
    found: bool = await fetch_value(
        db,
        f"""SELECT c.reviewer_id = ANY(%(people)s) OR EXISTS (
               SELECT FROM review_decisions d LEFT JOIN tokens t ON t.id = d.decided_by
               WHERE d.item_id = c.id AND (d.reviewer_id = ANY(%(people)s)
                                           OR {DECIDER} = ANY(%(people)s)))
           FROM review_items c WHERE c.id = %(id)s""",
        id=item.id,
        people=people,
    )
    return found
