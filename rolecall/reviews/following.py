"""Follow what happens after decisions: requests that end, imports that prove or contradict, people who leave.

The worker calls these functions; each finds its work in the tables.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.identities.actions import remove_identities
from rolecall.reviews import queries
from rolecall.reviews.closing import close_if_done, close_review, complete_if_done
from rolecall.reviews.deciding import move_items
from rolecall.reviews.events import OVERDUE, REOPENED, record_item_events, record_notice
from rolecall.reviews.model import WATCHED_AFTER, OnSilence, ReviewEvent, ReviewStatus
from rolecall.reviews.reviewers import reviewers_for
from rolecall.reviews.unexplained import open_unexplained
from rolecall.work_items.actions import record_activity_of


async def follow_requests(db: Db, now: datetime) -> None:
    """Apply requests that ended to their items: completed ones remediate them, canceled ones flag them again."""
    rows = await fetch_rows(db, "DELETE FROM review_news RETURNING number, request_id, name, is_proved")
    for _, request_id, name, is_proved in sorted(rows):
        if name == "AccessRequestCompleted":
            await _remediate_by_request(db, request_id, is_proved, now)
        else:
            await _flag_again(db, request_id, now)


async def _remediate_by_request(db: Db, request_id: UUID, is_proved: bool, now: datetime) -> None:
    """Mark items Remediated; if an import completed the request, cite the last one of the application."""
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items c SET status = 'Remediated', remediated_on = %(now)s, remediated_import = (
               SELECT max(r.number)::int FROM application_imports r
               WHERE %(proved)s AND r.application_id = c.application_id AND r.status = 'Finished')
           WHERE c.request_id = %(request)s AND c.status = 'Flagged' RETURNING c.id, c.review_id""",
        request=request_id,
        proved=is_proved,
        now=now,
    )
    await _note_remediated(db, rows, "The request that removes the access was completed", now)


async def _flag_again(db: Db, request_id: UUID, now: datetime) -> None:
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items SET status = 'Flagged', remediated_on = NULL, remediated_import = NULL
           WHERE request_id = %(request)s AND status IN ('Flagged', 'Remediated') RETURNING id""",
        request=request_id,
    )
    said = "The request that removes the access was canceled; the access is still flagged"
    await _note(db, [id for (id,) in rows], "Flagged", said, now)


async def imports_to_review(db: Db) -> list[int]:
    """Return finished imports that were not compared with items yet, by number."""
    rows = await fetch_rows(db, "SELECT import_number FROM imports_to_review ORDER BY import_number")
    return [number for (number,) in rows]


# Whether what an item of a row `c` is about is held now: true after an import if it shows it.
_HELD_NOW = """(EXISTS (SELECT FROM memberships m JOIN groups o ON o.number = m.group_number
                        WHERE c.subject = 'Access' AND o.id = c.entitlement_id AND m.account_number = c.account_number
                          AND m.until_import IS NULL)
    OR EXISTS (SELECT FROM assignments s JOIN permissions o ON o.number = s.permission_number
               WHERE c.subject IN ('Access', 'Group') AND o.id = c.entitlement_id AND s.until_import IS NULL
                 AND s.holder_number = coalesce(c.account_number, c.group_number)
                 AND s.access NOT IN ('None', 'Deny')
                 AND (c.new_access IS NULL OR access_rank(s.access::text) > access_rank(c.new_access)))
    OR EXISTS (SELECT FROM account_versions v WHERE c.subject = 'Account' AND v.account_number = c.account_number
                 AND v.until_import IS NULL AND v.is_active)
    OR EXISTS (SELECT FROM parents_of(c.group_number) AS l JOIN groups o ON o.number = l.parent
               WHERE c.subject = 'Group' AND o.id = c.entitlement_id AND upper_inf(l.during)))
    AND (c.account_number IS NULL OR EXISTS (
        SELECT FROM account_versions v WHERE v.account_number = c.account_number AND v.until_import IS NULL))"""


# The import is later than the one that the item was taken from.
_LATER = """EXISTS (SELECT FROM review_populations p WHERE p.review_id = c.review_id
                            AND p.application_id = c.application_id AND p.import_number < %(number)s)"""


async def follow_import(db: Db, import_number: int, now: datetime) -> None:
    """Compare items with a finished import: withdraw, remediate or reopen them."""
    taken = await fetch_rows(
        db,
        "DELETE FROM imports_to_review WHERE import_number = %(number)s RETURNING application_id",
        number=import_number,
    )
    for (application_id,) in taken:
        await _lock_reviews(db, application_id)
        # Of several imports only the last shows what is held now, and can be cited.
        if import_number == await _last_import(db, application_id):
            await _withdraw_gone(db, application_id, import_number, now)
            await _remediate_gone(db, application_id, import_number, now)
            await _reopen_returned(db, application_id, import_number, now)
        await open_unexplained(db, application_id, import_number, now)


async def _last_import(db: Db, application_id: UUID) -> int | None:
    sql = "SELECT max(number)::int FROM application_imports WHERE application_id = %(id)s AND status = 'Finished'"
    last: int | None = await fetch_value(db, sql, id=application_id)
    return last


async def _lock_reviews(db: Db, application_id: UUID) -> None:
    """Lock reviews before their items, as submitting does, to avoid deadlocks."""
    await execute(
        db,
        """SELECT FROM reviews r WHERE r.status IN ('Open', 'Closed')
             AND EXISTS (SELECT FROM review_populations p WHERE p.review_id = r.id AND p.application_id = %(id)s)
           ORDER BY r.number FOR UPDATE""",
        id=application_id,
    )


async def _withdraw_gone(db: Db, application_id: UUID, number: int, now: datetime) -> None:
    """Withdraw items that were not decided before their access disappeared."""
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Withdrawn' FROM reviews r
            WHERE r.id = c.review_id AND r.status = 'Open' AND c.application_id = %(application)s
              AND c.status = 'Pending' AND {_LATER} AND NOT {_HELD_NOW} RETURNING c.id, c.review_id""",
        application=application_id,
        number=number,
    )
    await _note(db, [id for id, _ in rows], "Withdrawn", f"Import {number} no longer shows the access", now)
    for review_id in {review_id for _, review_id in rows}:
        await close_if_done(db, review_id, now)


async def _remediate_gone(db: Db, application_id: UUID, number: int, now: datetime) -> None:
    """Mark submitted items Remediated if the import no longer shows their access, and cite it."""
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Remediated', remediated_on = coalesce(c.remediated_on, %(now)s),
                   remediated_import = %(number)s
            WHERE c.application_id = %(application)s AND (c.submission_id IS NOT NULL OR c.request_id IS NOT NULL)
              AND (c.status = 'Flagged' OR c.status = 'Remediated' AND c.remediated_import IS NULL)
              AND {_LATER} AND NOT {_HELD_NOW} RETURNING c.id, c.review_id""",
        application=application_id,
        number=number,
        now=now,
    )
    await _note_remediated(db, rows, await _cited(db, number), now)


async def _cited(db: Db, number: int) -> str:
    """Name an import with its files and their digests."""
    rows = await fetch_rows(
        db,
        """SELECT f.name, encode(f.sha256, 'hex') FROM import_files f
           JOIN application_imports r ON r.id = f.import_id WHERE r.number = %(number)s ORDER BY f.position""",
        number=number,
    )
    files = ", ".join(f"{name}, SHA-256 {digest}" for name, digest in rows)
    return f"Import {number}{f' ({files})' if files else ''} no longer shows the access"


async def _reopen_returned(db: Db, application_id: UUID, number: int, now: datetime) -> None:
    """Flag items again whose removed access this import shows, within a year after it was removed."""
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Flagged', reopened_on = %(now)s, reopened_import = %(number)s,
                   remediated_on = NULL, remediated_import = NULL, accepted_until = NULL
            WHERE c.application_id = %(application)s AND c.status = 'Remediated' AND c.remediated_on > %(since)s
              AND coalesce(c.remediated_import, 0) < %(number)s AND {_HELD_NOW} RETURNING c.id, c.review_id""",
        application=application_id,
        number=number,
        now=now,
        since=now - WATCHED_AFTER,
    )
    said = f"Import {number} shows the removed access again"
    await _note(db, [id for id, _ in rows], "Reopened", said, now)
    for review_id in {review_id for _, review_id in rows}:
        await record_notice(db, REOPENED, review_id, now)


async def _note(db: Db, ids: Sequence[UUID], action: str, said: str, now: datetime) -> None:
    if ids:
        await record_activity_of(db, ids, author=SYSTEM.name, action=action, content=said, now=now)


async def _note_remediated(db: Db, rows: Sequence[tuple[UUID, UUID]], said: str, now: datetime) -> None:
    ids = [id for id, _ in rows]
    await _note(db, ids, "Remediated", said, now)
    await record_item_events(db, ReviewEvent.ITEM_REMEDIATED, ids, now)
    for review_id in {review_id for _, review_id in rows}:
        await complete_if_done(db, review_id, now)


async def follow_due(db: Db, now: datetime) -> None:
    """Close or escalate overdue reviews, and complete closed reviews whose models changed."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM reviews WHERE status = 'Open' AND due_on <= %(now)s AND on_silence <> %(escalate)s
           AND held IS NULL ORDER BY number""",
        now=now,
        escalate=OnSilence.ESCALATE,
    )
    for (id,) in rows:
        await close_review(db, SYSTEM, id, False, now)
    await _escalate(db, now)
    # Fires show_review_items, schema/reviews.sql.
    changed = await fetch_rows(
        db,
        """UPDATE review_items c SET status = 'Remediated', remediated_on = %(now)s FROM access_models m
           WHERE c.subject = 'Model' AND c.status = 'Flagged' AND c.submission_id IS NOT NULL AND m.id = c.model_id
             AND (NOT m.is_in_effect OR m.changed_at > c.decided_on) RETURNING c.id, c.review_id""",
        now=now,
    )
    await _note_remediated(db, changed, "The model was changed", now)


async def _escalate(db: Db, now: datetime) -> None:
    """Notify the owners of reviews that are overdue and wait for decisions, once."""
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
    """Give the undecided items of reviewers who left, or may not decide any more, to their fallbacks."""
    rows = await fetch_rows(
        db,
        """SELECT c.review_id, c.stage, array_agg(c.id) FROM review_items c JOIN reviews r ON r.id = c.review_id
           JOIN identities i ON i.id = c.reviewer_id
           LEFT JOIN console_roles o ON o.identity_id = i.id
           WHERE r.status = 'Open' AND c.status = 'Pending' AND (i.status <> 'Active' OR o.role = 'Auditor')
           GROUP BY 1, 2""",
    )
    for review_id, stage, ids in rows:
        review = await queries.plan_of(db, review_id, lock=True)
        if review.status is ReviewStatus.OPEN:
            news = await reviewers_for(db, ids, None, review.fallback, now)
            await move_items(db, SYSTEM, review, news, stage, now)


async def withdraw_archived(db: Db, now: datetime) -> None:
    """Withdraw undecided items of applications that were archived."""
    # Fires show_review_items, schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items c SET status = 'Withdrawn' FROM reviews r, applications a
           WHERE r.id = c.review_id AND r.status = 'Open' AND c.status = 'Pending' AND a.id = c.application_id
             AND a.is_archived RETURNING c.id, c.review_id""",
    )
    await _note(db, [id for id, _ in rows], "Withdrawn", "The application was archived", now)
    for review_id in {review_id for _, review_id in rows}:
        await close_if_done(db, review_id, now)


async def retire_unknown(db: Db, now: datetime) -> None:
    """Give accounts of Unknown identities to the person who fits them now, and remove identities without an account."""
    # Fires count_matching, keep_past and note_pin (schema/accounts.sql), and note_to_evaluate (schema/duties.sql).
    await execute(
        db,
        """UPDATE accounts a SET identity_id = f.id, matched_on = %(now)s FROM (
               SELECT a.number, (array_agg(i.id))[1] AS id FROM identities u JOIN accounts a ON a.identity_id = u.id
               JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
               JOIN identities i ON i.type <> 'Unknown'
                    AND (v.employee_id <> '' AND lower(i.employee_id) = lower(v.employee_id)
                         OR v.email <> '' AND lower(i.email_address) = lower(v.email))
               WHERE u.type = 'Unknown' AND u.first_name = 'Unknown' AND u.status = 'Active' AND a.pin = 'Pinned'
               GROUP BY a.number HAVING count(DISTINCT i.id) = 1) AS f
           WHERE f.number = a.number""",
        now=now,
    )
    rows = await fetch_rows(
        db,
        """SELECT i.id FROM identities i
           WHERE i.type = 'Unknown' AND i.status = 'Active' AND i.first_name = 'Unknown'
             AND NOT EXISTS (SELECT FROM accounts a WHERE a.identity_id = i.id)
             AND EXISTS (SELECT FROM past_matches m WHERE m.identity_id = i.id)""",
    )
    await remove_identities(db, [id for (id,) in rows], now)
