"""Compare the items of reviews with each finished import, which shows whether access was removed or has returned."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import moving
from rolecall.applications.model import Content
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.reviews import queries
from rolecall.reviews.changes import ChangedItem, ItemChange, record_change, reviews_of
from rolecall.reviews.closing import close_if_done, complete_if_done
from rolecall.reviews.events import REOPENED, record_item_events, record_notice
from rolecall.reviews.item_queries import IS_HELD
from rolecall.reviews.model import WATCHED_AFTER, ReviewEvent
from rolecall.reviews.moving import release_late
from rolecall.reviews.remediating import lock_removals, request_removals
from rolecall.reviews.unexplained import open_unexplained


async def imports_to_review(db: Db) -> list[int]:
    """Return the numbers of finished imports that have not been compared with items yet, in ascending order."""
    rows = await fetch_rows(db, "SELECT import_number FROM imports_to_review ORDER BY import_number")
    return [number for (number,) in rows]


# SQL that is true if the access of item `c` is still held or, for an item about an account, if the account is still
# active. After a decision to lower the access, it is true if the access is still higher than decided.
HELD_NOW = f"""((EXISTS (SELECT FROM memberships m JOIN groups o ON o.number = m.group_number
                        WHERE c.subject = 'Access' AND {IS_HELD} AND m.account_number = c.account_number
                          AND m.until_import IS NULL)
    OR EXISTS (SELECT FROM assignments s JOIN permissions o ON o.number = s.permission_number
               WHERE c.subject IN ('Access', 'Group') AND {IS_HELD} AND s.until_import IS NULL
                 AND s.holder_number = coalesce(c.account_number, c.group_number)
                 AND s.access NOT IN ('None', 'Deny')
                 AND (c.new_access IS NULL OR access_rank(s.access::text) > access_rank(c.new_access)))
    OR EXISTS (SELECT FROM account_versions v WHERE c.subject = 'Account' AND v.account_number = c.account_number
                 AND v.until_import IS NULL AND v.is_active)
    OR EXISTS (SELECT FROM parents_of(c.group_number) AS l JOIN groups o ON o.number = l.parent
               WHERE c.subject = 'Group' AND {IS_HELD} AND upper_inf(l.during)))
    AND (c.account_number IS NULL OR EXISTS (
        SELECT FROM account_versions v WHERE v.account_number = c.account_number AND v.until_import IS NULL)))"""


# SQL that is true if the import is later than the one that the item was taken from.
_LATER = """EXISTS (SELECT FROM review_populations p WHERE p.review_id = c.review_id
                            AND p.application_id = c.application_id AND p.import_number < %(number)s)"""


# SQL that is true if the import can prove that the access of item `c` is gone: the person who supplied the import does
# not hold the item's account, did not carry out the item's request and is not its assignee.
_TRUSTED = """(%(supplier)s::uuid IS NULL OR c.identity_id IS DISTINCT FROM %(supplier)s
        AND NOT EXISTS (SELECT FROM accounts own WHERE own.number = c.account_number AND own.identity_id = %(supplier)s)
        AND (c.request_id IS NULL OR c.request_id <> ALL(%(doubted)s)))"""


# SQL that is true if the import has a file of the kind that shows the access or account of item `c`; otherwise the
# current data comes from an older import. Only a file of users can show that an account no longer exists.
_COVERED = f"""CASE
        WHEN c.subject = 'Account' OR c.account_number IS NOT NULL AND NOT EXISTS (
            SELECT FROM account_versions v WHERE v.account_number = c.account_number AND v.until_import IS NULL)
          THEN '{Content.USERS}'
        WHEN EXISTS (SELECT FROM permissions o WHERE o.id = c.entitlement_id) THEN '{Content.PERMISSIONS}'
        WHEN c.subject = 'Group' THEN '{Content.GROUPS}'
        ELSE '{Content.MEMBERSHIPS}' END = ANY(%(contents)s)"""


class ComparedImport(msgspec.Struct, frozen=True):
    """A finished import, the kinds of content in its files, and the person who supplied the files.

    `doubted` are the requests that this person carried out or is assigned to. The import is no proof that they were
    carried out.
    """

    application_id: UUID
    number: int
    contents: list[str]
    supplier: UUID | None
    doubted: list[UUID]


async def follow_import(db: Db, import_number: int, now: datetime) -> None:
    """Compare items with a finished import, and open reviews of unexplained access that it shows for the first time."""
    taken = await fetch_rows(
        db,
        "DELETE FROM imports_to_review WHERE import_number = %(number)s RETURNING application_id",
        number=import_number,
    )
    for (application_id,) in taken:
        await _lock_reviews(db, application_id)
        # Only the last import shows what is held now, so only it can be cited as evidence.
        if import_number == await _last_import(db, application_id):
            run = await _compared(db, application_id, import_number)
            for step in _ROLLBACK_STEPS if await _is_rollback(db, import_number) else _STEPS:
                await step(db, run, now)
        await open_unexplained(db, application_id, import_number, now)


async def _is_rollback(db: Db, import_number: int) -> bool:
    return bool(
        await fetch_value(
            db,
            """SELECT true FROM application_imports r JOIN import_runs u ON u.import_id = r.id
               WHERE r.number = %(number)s AND u.rollback_to IS NOT NULL""",
            number=import_number,
        )
    )


async def _compared(db: Db, application_id: UUID, number: int) -> ComparedImport:
    supplier = await fetch_value(
        db,
        """SELECT i.id FROM application_imports r LEFT JOIN tokens t ON t.id = r.supplied_by
           JOIN identities i ON i.id = coalesce(t.owner_id, r.supplied_by) WHERE r.number = %(number)s""",
        number=number,
    )
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT r.id FROM review_items c JOIN access_requests r ON r.id = c.request_id
           WHERE c.application_id = %(id)s AND c.status IN ('Flagged', 'Remediated')
             AND %(supplier)s = ANY(with_token_owners(done_by(r.id) || r.assignee_id))""",
        id=application_id,
        supplier=supplier,
    )
    contents = await fetch_rows(
        db,
        """SELECT DISTINCT unnest(contents_of(g)) FROM application_imports r JOIN import_files f ON f.import_id = r.id
           JOIN file_groups g ON g.id = f.file_group_id WHERE r.number = %(number)s""",
        number=number,
    )
    return ComparedImport(
        application_id, number, [content for (content,) in contents], supplier, [id for (id,) in rows]
    )


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


async def _restore_returned(db: Db, run: ComparedImport, now: datetime) -> None:
    """Make withdrawn items of open reviews pending again if this import shows their access again."""
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Pending', withdrawn_import = NULL FROM reviews r
            WHERE r.id = c.review_id AND r.status = 'Open' AND c.application_id = %(application)s
              AND c.status = 'Withdrawn' AND {HELD_NOW} RETURNING c.id, c.review_id""",
        application=run.application_id,
    )
    said = f"Import {run.number} shows the access again"
    await record_change(db, ItemChange.RESTORED, rows, said, now, import_number=run.number)
    await release_late(db, rows, now)


async def _withdraw_gone(db: Db, run: ComparedImport, now: datetime) -> None:
    """Withdraw undecided items of open reviews if this import proves that their access is gone."""
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Withdrawn', withdrawn_import = %(number)s FROM reviews r
            WHERE r.id = c.review_id AND r.status = 'Open' AND c.application_id = %(application)s
              AND c.status = 'Pending' AND {_LATER} AND NOT {HELD_NOW} AND {_TRUSTED} AND {_COVERED}
            RETURNING c.id, c.review_id""",
        application=run.application_id,
        number=run.number,
        contents=run.contents,
        supplier=run.supplier,
        doubted=run.doubted,
    )
    said = f"Import {run.number} no longer shows the access"
    await record_change(db, ItemChange.WITHDRAWN, rows, said, now, import_number=run.number)
    for review_id in reviews_of(rows):
        await close_if_done(db, review_id, now)


async def _remediate_gone(db: Db, run: ComparedImport, now: datetime) -> None:
    """Mark flagged items Remediated if this import proves that their access is gone, and cite the import.

    The items must be submitted or have a request that carries out the decision.
    """
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Remediated', remediated_on = coalesce(c.remediated_on, %(now)s),
                   remediated_import = %(number)s
            WHERE c.application_id = %(application)s AND (c.submission_id IS NOT NULL OR c.request_id IS NOT NULL)
              AND (c.status = 'Flagged' OR c.status = 'Remediated' AND c.remediated_import IS NULL)
              AND {_LATER} AND NOT {HELD_NOW} AND {_TRUSTED} AND {_COVERED} RETURNING c.id, c.review_id""",
        application=run.application_id,
        number=run.number,
        contents=run.contents,
        supplier=run.supplier,
        doubted=run.doubted,
        now=now,
    )
    said = await cited(db, run.number)
    await mark_remediated(db, rows, said, now, run.number)
    await _end_requests(db, [id for id, _ in rows], said, now)


async def _end_requests(db: Db, item_ids: Sequence[UUID], said: str, now: datetime) -> None:
    """Complete the requests whose items are all remediated, and cancel those that cannot be completed.

    A request left open, such as a Change, could grant the removed access again when it is carried out.
    """
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT c.request_id FROM review_items c
           WHERE c.id = ANY(%(ids)s) AND c.request_id IS NOT NULL AND NOT EXISTS (
               SELECT FROM review_items o WHERE o.request_id = c.request_id AND o.status <> 'Remediated')""",
        ids=list(item_ids),
    )
    ids = [id for (id,) in rows]
    await moving.lock(db, ids)
    # Each move skips requests whose status does not allow it, so only requests that are not completed are canceled.
    await moving.resolve(db, ids, SYSTEM, now, said)
    await moving.verify(db, ids, SYSTEM, now, said)
    await moving.cancel_with_reasons(db, dict.fromkeys(ids, f"{said}, so nothing is left to do"), now)


async def cited(db: Db, number: int) -> str:
    """Return a text that cites an import, with the names and digests of its files, as proof that the access is gone."""
    rows = await fetch_rows(
        db,
        """SELECT f.name, encode(f.sha256, 'hex') FROM import_files f
           JOIN application_imports r ON r.id = f.import_id WHERE r.number = %(number)s ORDER BY f.position""",
        number=number,
    )
    files = ", ".join(f"{name}, SHA-256 {digest}" for name, digest in rows)
    return f"Import {number}{f' ({files})' if files else ''} no longer shows the access"


# SQL that is true if a request that is newer than {since} approved the access or account of item `c`, with at least the
# level that is held now. A request that restores what a leave suspended approves the account, but not its access.
_GRANTED_SINCE = """EXISTS (
    SELECT FROM accounts a JOIN access_requests q ON q.application_id = a.application_id AND q.target_name = a.username
         AND q.created_at > {since} AND q.status IN ('Open', 'Resolved', 'Completed')
    WHERE a.number = c.account_number AND (
        c.subject = 'Account' AND q.action IN ('Add', 'Restore') OR q.action <> 'Restore' AND EXISTS (
            SELECT FROM privileges p JOIN entitlements e ON e.id IN (c.entitlement_id, latest_self(c.entitlement_id))
                 AND (p.header, p.section, p.permission) = (e.header, e.section, e.name)
            WHERE p.request_id = q.id AND p.approved_access NOT IN ('None', 'Deny') AND NOT EXISTS (
                SELECT FROM assignments s WHERE e.kind = 'Permission' AND s.permission_number = e.number
                  AND s.holder_number = c.account_number AND s.until_import IS NULL
                  AND access_rank(s.access::text) > access_rank(p.approved_access)))))"""
# Like _GRANTED_SINCE, for requests that are newer than the request that removes the access or, if there is no such
# request, newer than the removal.
_GRANTED_AGAIN = _GRANTED_SINCE.format(
    since="coalesce((SELECT x.created_at FROM access_requests x WHERE x.id = c.request_id), c.remediated_on)"
)


async def _reopen_returned(db: Db, run: ComparedImport, now: datetime) -> None:
    """Flag items again if their removed access returned within a year and no new request approved the access."""
    which = """c.status = 'Remediated' AND c.remediated_on > %(since)s
               AND coalesce(c.remediated_import, 0) < %(number)s"""
    await _reopen(db, run, which, f"Import {run.number} shows the removed access again", now)


async def _reopen_kept(db: Db, run: ComparedImport, now: datetime) -> None:
    """Reopen items, at most once, if their request was completed but a later import still shows their access."""
    which = f"""(c.status = 'Flagged' AND c.accepted_until IS NULL
                OR c.status = 'Approved' AND c.decision = 'Keep Until')
               AND c.reopened_on IS NULL AND {_COVERED} AND EXISTS (
                   SELECT FROM access_requests x JOIN application_imports r ON r.number = %(number)s
                   WHERE x.id = c.request_id AND x.status = 'Completed' AND x.completed_on < r.created_at)"""
    said = f"The request that removes the access was completed, but import {run.number} still shows the access"
    await _reopen(db, run, which, said, now)


async def _reopen(db: Db, run: ComparedImport, which: str, said: str, now: datetime) -> None:
    """Flag the items selected by `which` if their access is held and was not approved again.

    Request the removal of the access, and notify the owners of the reviews.
    """
    # Clear `request_id`, so that `request_removals` makes a new request.
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET status = 'Flagged', reopened_on = %(now)s, reopened_import = %(number)s,
                   remediated_on = NULL, remediated_import = NULL, accepted_until = NULL, request_id = NULL
            WHERE c.application_id = %(application)s AND {which} AND {HELD_NOW} AND NOT {_GRANTED_AGAIN}
            RETURNING c.id, c.review_id""",
        application=run.application_id,
        number=run.number,
        contents=run.contents,
        now=now,
        since=now - WATCHED_AFTER,
    )
    await record_change(db, ItemChange.REOPENED, rows, said, now, import_number=run.number)
    await lock_removals(db, [id for id, _ in rows])
    for review_id in reviews_of(rows):
        review = await queries.plan_of(db, review_id)
        await request_removals(db, SYSTEM, review, [id for id, its in rows if its == review_id], now)
        await record_notice(db, REOPENED, review_id, now)


async def _uncover_returned(db: Db, run: ComparedImport, now: datetime) -> None:
    """Record withdrawn items whose access returned within a year after their review ended.

    Nobody decided about this access, so the review no longer covers the application. Leave out access
    that was approved by a request made after the review was opened.
    """
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        f"""UPDATE review_items c SET withdrawn_import = NULL FROM reviews r
            WHERE r.id = c.review_id AND r.status IN ('Closed', 'Completed') AND r.closed_on > %(since)s
              AND c.application_id = %(application)s AND c.status = 'Withdrawn' AND c.withdrawn_import < %(number)s
              AND {HELD_NOW} AND NOT {_GRANTED_SINCE.format(since="r.opened_on")} RETURNING c.id, c.review_id""",
        application=run.application_id,
        number=run.number,
        since=now - WATCHED_AFTER,
    )
    said = f"Import {run.number} shows the access again, after the review ended without a decision about it"
    await record_change(db, ItemChange.WITHDRAWN, rows, said, now, import_number=run.number)
    for review_id in reviews_of(rows):
        await record_notice(db, REOPENED, review_id, now)


# A rollback restores old data, so it cannot prove a removal. But access that it shows again must be decided or removed.
_ROLLBACK_STEPS = (_restore_returned, _reopen_returned, _uncover_returned)
_STEPS = (_restore_returned, _withdraw_gone, _remediate_gone, _reopen_returned, _reopen_kept, _uncover_returned)


async def mark_remediated(
    db: Db, rows: Sequence[ChangedItem], said: str, now: datetime, import_number: int | None = None
) -> None:
    await record_change(db, ItemChange.REMEDIATED, rows, said, now, import_number=import_number)
    await record_item_events(db, ReviewEvent.ITEM_REMEDIATED, [id for id, _ in rows], now)
    for review_id in reviews_of(rows):
        await complete_if_done(db, review_id, now)
