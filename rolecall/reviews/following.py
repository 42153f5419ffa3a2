"""Update reviews after changes elsewhere, for example after a request ends, a due date passes or a person leaves.

The worker calls these functions; each finds its work in the tables.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.access_models.actions import wait_for_models
from rolecall.access_requests.model import RequestEvent
from rolecall.accounts.matching import take_turn
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.identities.actions import remove_identities
from rolecall.reviews import queries
from rolecall.reviews.accepting import postpone_removals
from rolecall.reviews.changes import ItemChange, record_change, reviews_of
from rolecall.reviews.closing import close_if_done, close_review, complete_if_done
from rolecall.reviews.comparing import HELD_NOW, mark_remediated
from rolecall.reviews.events import (
    ACCEPTANCE_ENDED,
    OVERDUE,
    REMOVAL_CANCELED,
    REOPENED,
    record_notice,
)
from rolecall.reviews.model import WATCHED_AFTER, OnSilence, ReviewStatus
from rolecall.reviews.moving import NOT_SUBMITTED, REVIEWERS, move_items, release_late, replace_parties
from rolecall.reviews.remediating import lock_removals, request_removals
from rolecall.reviews.reviewers import reviewers_for
from rolecall.reviews.shapes import ReviewDetail
from rolecall.work_items.actions import record_activity_of


async def follow_requests(db: Db, now: datetime, zone: ZoneInfo) -> None:
    """Update the items of ended requests. Postpone requests that reach provisioning if their access was accepted.

    Items of canceled requests are flagged. Items of completed requests wait until an import proves the removal.
    """
    rows = await fetch_rows(db, "DELETE FROM review_news RETURNING number, request_id, name")
    await _lock_reviews(
        db,
        "r.id IN (SELECT c.review_id FROM review_items c WHERE c.request_id = ANY(%(requests)s))",
        requests=[request_id for _, request_id, _ in rows],
    )
    # Sort the events by number, because RETURNING yields them in any order.
    for _, request_id, name in sorted(rows):
        if name in _FOLLOWED:
            await _FOLLOWED[name](db, request_id, now)
    started = [request_id for _, request_id, name in sorted(rows) if name == RequestEvent.PROVISIONING]
    await postpone_removals(db, SYSTEM, started, now, zone)


async def _lock_reviews(db: Db, which: str, **params: object) -> None:
    """Lock reviews before their items, as decisions do, to avoid deadlocks."""
    await execute(db, f"SELECT FROM reviews r WHERE {which} ORDER BY r.number FOR UPDATE", **params)


async def _await_proof(db: Db, request_id: UUID, now: datetime) -> None:
    """Record that a request was completed and now waits for an import that proves the removal.

    The import that verified the request may not be that proof: it verifies the removal even if the account is only
    disabled, and then still shows the access.
    """
    rows = await fetch_rows(
        db, "SELECT id FROM review_items WHERE request_id = %(request)s AND status = 'Flagged'", request=request_id
    )
    said = "The request that removes the access was completed; the next import of the application must prove it"
    ids = [id for (id,) in rows]
    await record_activity_of(db, ids, author=SYSTEM.name, action="Awaiting Proof", content=said, now=now)


async def _flag_again(db: Db, request_id: UUID, now: datetime) -> None:
    """Flag the items of a canceled request, including items to keep until a date.

    Notify the owners of the reviews. Items whose access an import has proven to be gone stay Remediated.
    """
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items SET status = 'Flagged'
           WHERE request_id = %(request)s AND (status = 'Flagged' OR status = 'Approved' AND decision = 'Keep Until')
           RETURNING id, review_id""",
        request=request_id,
    )
    said = "The request that removes the access was canceled; the access is still flagged"
    await record_change(db, ItemChange.FLAGGED, rows, said, now)
    for review_id in reviews_of(rows):
        await record_notice(db, REMOVAL_CANCELED, review_id, now)


_FOLLOWED: Mapping[str, Callable[[Db, UUID, datetime], Awaitable[None]]] = {
    RequestEvent.COMPLETED: _await_proof,
    RequestEvent.CANCELED: _flag_again,
}


async def due_reviews(db: Db, now: datetime) -> list[UUID]:
    """Return the overdue reviews that the service must close, in number order; omit held and escalating reviews."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM reviews WHERE status = 'Open' AND due_on <= %(now)s AND on_silence <> %(escalate)s
           AND held IS NULL ORDER BY number""",
        now=now,
        escalate=OnSilence.ESCALATE,
    )
    return [id for (id,) in rows]


async def close_due(db: Db, now: datetime, id: UUID, zone: ZoneInfo) -> None:
    """Close one of the `due_reviews`, or hold it until a person confirms; do nothing if it is no longer one of them."""
    if id in await due_reviews(db, now):
        await close_review(db, SYSTEM, id, False, now, zone)


async def follow_due(db: Db, now: datetime) -> None:
    """Escalate overdue reviews, update the items of changed models, and end expired acceptances."""
    await _escalate(db, now)
    await _follow_models(db, now)
    await _end_acceptances(db, now)


# SQL for the definition that a model had when its item was decided, without name, description and owner.
_MODEL_THEN = """(SELECT v.definition - '{name,description,ownerId}'::text[] FROM access_model_versions v
    WHERE v.model_id = c.model_id AND v.committed_at <= c.decided_on ORDER BY v.version DESC LIMIT 1)"""
_MODEL_NOW = _MODEL_THEN.replace(" AND v.committed_at <= c.decided_on", "")
# SQL that is true if the model of item `c` is not in effect or, since the decision about the item, its conditions
# changed or some of its access was removed or lowered. Added access alone does not count, because it removes nothing.
_IS_CHANGED = f"""(NOT m.is_in_effect OR {_MODEL_NOW} - 'access' IS DISTINCT FROM {_MODEL_THEN} - 'access' OR EXISTS (
    SELECT FROM access_model_grants_in({_MODEL_THEN} -> 'access') AS g WHERE NOT EXISTS (
        SELECT FROM access_model_grants_in({_MODEL_NOW} -> 'access') AS n
        WHERE (n.application_id, n.is_group, n.header, n.section, n.permission)
            = (g.application_id, g.is_group, g.header, g.section, g.permission)
          AND access_rank(n.access) >= access_rank(g.access))))"""


# SQL that is true if review `r` can have items about models, so that the items of other reviews need not be read.
_OF_MODELS = "(r.type = 'Model' OR r.explained = 'by model')"


async def _follow_models(db: Db, now: datetime) -> None:
    """Mark flagged model items Remediated if the model changed; flag them again if it gives the same access again."""
    await _lock_reviews(
        db,
        f"""{_OF_MODELS} AND EXISTS (SELECT FROM review_items c WHERE c.review_id = r.id AND c.subject = 'Model'
                                     AND c.status IN ('Flagged', 'Remediated'))""",
    )
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Remediated', remediated_on = %(now)s
            FROM access_models m, reviews r
            WHERE c.subject = 'Model' AND c.status = 'Flagged' AND m.id = c.model_id AND r.id = c.review_id
              AND {_OF_MODELS} AND (c.submission_id IS NOT NULL OR r.status IN ('Closed', 'Completed'))
              AND {_IS_CHANGED} RETURNING c.id, c.review_id""",
        now=now,
    )
    await mark_remediated(db, rows, "The model was changed", now)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    again = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Flagged', reopened_on = %(now)s, reopened_import = NULL,
                   remediated_on = NULL, accepted_until = NULL
            FROM access_models m, reviews r
            WHERE c.subject = 'Model' AND c.status = 'Remediated' AND c.remediated_on > %(since)s
              AND m.id = c.model_id AND r.id = c.review_id AND {_OF_MODELS} AND NOT {_IS_CHANGED}
            RETURNING c.id, c.review_id""",
        now=now,
        since=now - WATCHED_AFTER,
    )
    await record_change(db, ItemChange.REOPENED, again, "The model gives the same access again", now)
    for review_id in reviews_of(again):
        await record_notice(db, REOPENED, review_id, now)


async def _end_acceptances(db: Db, now: datetime) -> None:
    """End acceptances whose date has passed, and notify the owners of the reviews."""
    ended = "status = 'Flagged' AND accepted_until <= %(now)s"
    await _lock_reviews(db, f"r.id IN (SELECT c.review_id FROM review_items c WHERE {ended})", now=now)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"UPDATE review_items SET accepted_until = NULL WHERE {ended} RETURNING id, review_id",
        now=now,
    )
    await record_change(db, ItemChange.ACCEPTANCE_ENDED, rows, "The acceptance of the access has ended", now)
    for review_id in reviews_of(rows):
        await record_notice(db, ACCEPTANCE_ENDED, review_id, now)


async def _escalate(db: Db, now: datetime) -> None:
    """Notify the owner of each overdue review once."""
    rows = await fetch_rows(
        db,
        """SELECT r.id FROM reviews r WHERE r.status = 'Open' AND r.due_on <= %(now)s AND NOT EXISTS (
               SELECT FROM review_events e WHERE e.review_id = r.id AND e.name = %(overdue)s)""",
        now=now,
        overdue=OVERDUE,
    )
    for (id,) in rows:
        await record_notice(db, OVERDUE, id, now)


async def replace_unavailable(db: Db, now: datetime) -> None:
    """Reassign unsubmitted items whose reviewers can no longer decide or are no longer independent.

    Absent reviewers keep their items.
    """
    rows = await fetch_rows(
        db,
        f"""{REVIEWERS}
            SELECT n.review_id, array_agg(n.reviewer_id) FROM named n JOIN identities i ON i.id = n.reviewer_id
            WHERE review_obstacle(i.id, %(now)s) <> 'is absent' AND EXISTS (
                SELECT FROM review_items c
                WHERE c.review_id = n.review_id AND c.reviewer_id = n.reviewer_id AND {NOT_SUBMITTED})
            GROUP BY 1 ORDER BY 1""",
        review=None,
        now=now,
    )
    for review_id, people in rows:
        review = await queries.plan_of(db, review_id, lock=True)
        # Another transaction may have closed the review before this one locked it.
        if review.status is ReviewStatus.OPEN:
            await _replace(db, review, people, now)
    await replace_parties(db, None, now)


async def _replace(db: Db, review: ReviewDetail, people: Sequence[UUID], now: datetime) -> None:
    rows = await fetch_rows(
        db,
        f"""SELECT c.stage, array_agg(c.id) FROM review_items c
            WHERE c.review_id = %(review)s AND c.reviewer_id = ANY(%(people)s) AND {NOT_SUBMITTED} GROUP BY 1""",
        review=review.id,
        people=list(people),
    )
    for stage, ids in rows:
        news = await reviewers_for(db, ids, None, review.fallback, now)
        await move_items(db, SYSTEM, review, news, stage, now)


async def withdraw_archived(db: Db, now: datetime) -> None:
    """Withdraw undecided items of archived applications; restore them when the application is no longer archived.

    Then complete reviews that wait only for archived applications, and create requests that archiving prevented.
    """
    await _lock_reviews(
        db,
        """r.status IN ('Open', 'Closed') AND (
               EXISTS (SELECT FROM review_populations p JOIN applications a ON a.id = p.application_id
                       WHERE p.review_id = r.id AND a.is_archived)
               OR r.status = 'Open' AND EXISTS (SELECT FROM review_items w WHERE w.review_id = r.id
                                                AND w.status = 'Withdrawn' AND w.withdrawn_import IS NULL))""",
    )
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    restored = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Pending' FROM reviews r, applications a
            WHERE r.id = c.review_id AND r.status = 'Open' AND c.status = 'Withdrawn' AND c.withdrawn_import IS NULL
              AND a.id = c.application_id AND NOT a.is_archived AND {HELD_NOW} RETURNING c.id, c.review_id""",
    )
    await record_change(db, ItemChange.RESTORED, restored, "The application is no longer archived", now)
    await release_late(db, restored, now)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items c SET status = 'Withdrawn', withdrawn_import = NULL FROM reviews r, applications a
           WHERE r.id = c.review_id AND r.status = 'Open' AND c.status = 'Pending' AND a.id = c.application_id
             AND a.is_archived RETURNING c.id, c.review_id""",
    )
    await record_change(db, ItemChange.WITHDRAWN, rows, "The application was archived", now)
    for review_id in reviews_of(rows):
        await close_if_done(db, review_id, now)
    await _complete_archived(db, now)
    await _request_again(db, now)


async def _complete_archived(db: Db, now: datetime) -> None:
    """Complete closed reviews that wait only for removals from archived applications, which no import can prove."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT r.id, r.number FROM reviews r JOIN review_items c ON c.review_id = r.id
               AND c.status = 'Flagged' JOIN applications a ON a.id = c.application_id AND a.is_archived
           WHERE r.status = 'Closed' ORDER BY r.number""",
    )
    for id, _ in rows:
        await complete_if_done(db, id, now)


async def _request_again(db: Db, now: datetime) -> None:
    """Request the removal of flagged access that has no request because its application was archived for a while."""
    rows = await fetch_rows(
        db,
        """SELECT c.id, c.review_id FROM review_items c
           JOIN reviews r ON r.id = c.review_id AND r.status IN ('Open', 'Closed', 'Completed')
           JOIN applications a ON a.id = c.application_id AND NOT a.is_archived
           WHERE c.status = 'Flagged' AND c.request_id IS NULL
             AND (c.submission_id IS NOT NULL OR r.status <> 'Open') ORDER BY r.number, c.list_key FOR UPDATE OF c""",
    )
    await lock_removals(db, [id for id, _ in rows])
    for review_id in reviews_of(rows):
        review = await queries.plan_of(db, review_id)
        await request_removals(db, SYSTEM, review, [id for id, its in rows if its == review_id], now)


# Accounts of Unknown identities, each with the only other identity that has its employee ID or e-mail. The first name
# distinguishes the identities that reviews create (`_unknown_person` in remediating.py).
_KNOWN_NOW = """
    SELECT a.number, (array_agg(i.id))[1] AS id FROM identities u JOIN accounts a ON a.identity_id = u.id
    JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
    JOIN identities i ON i.type <> 'Unknown'
         AND (v.employee_id <> '' AND lower(i.employee_id) = lower(v.employee_id)
              OR v.email <> '' AND lower(i.email_address) = lower(v.email)
                 AND NOT (has_confirmed_bearer(v.email) AND EXISTS (
                     SELECT FROM unconfirmed_emails e WHERE e.identity_id = i.id)))
    WHERE u.type = 'Unknown' AND u.first_name = 'Unknown' AND u.status = 'Active' AND a.pin = 'Pinned'
    GROUP BY a.number HAVING count(DISTINCT i.id) = 1"""
_WITHOUT_ACCOUNTS = """
    SELECT i.id FROM identities i
    WHERE i.type = 'Unknown' AND i.status = 'Active' AND i.first_name = 'Unknown'
      AND NOT EXISTS (SELECT FROM accounts a WHERE a.identity_id = i.id)
      AND EXISTS (SELECT FROM past_matches m WHERE m.identity_id = i.id)"""


async def retire_unknown(db: Db, now: datetime) -> None:
    """Match each account of an Unknown identity to the only other identity that has its employee ID or e-mail.

    Remove Unknown identities without accounts.
    """
    # This runs with every tick, so return before the locks if there is nothing to do.
    if not await fetch_value(db, f"SELECT EXISTS ({_KNOWN_NOW}) OR EXISTS ({_WITHOUT_ACCOUNTS})"):
        return
    # Without these locks, this could overwrite a pin or a match that another transaction sets meanwhile.
    await wait_for_models(db)
    await take_turn(db)
    # Fires count_matching, keep_past and note_pin (schema/accounts.sql), note_to_evaluate (schema/duties.sql) and
    # recheck_requests (schema/access_requests.sql).
    await execute(
        db,
        f"UPDATE accounts a SET identity_id = f.id, matched_on = %(now)s FROM ({_KNOWN_NOW}) AS f"
        " WHERE f.number = a.number",
        now=now,
    )
    rows = await fetch_rows(db, _WITHOUT_ACCOUNTS)
    await remove_identities(db, [id for (id,) in rows], now)
