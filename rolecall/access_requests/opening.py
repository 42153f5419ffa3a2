"""Open requests for provisioning: approve, start, resume and reopen them.

Before a request opens, it is checked again against the current data. It may then be canceled, returned to approval or
postponed.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from uuid import UUID

from rolecall.access_requests import queries
from rolecall.access_requests.access_fits_action import overtaken
from rolecall.access_requests.asking_owners import record_conflicts
from rolecall.access_requests.model import APPROVE, ASK_AGAIN, POSTPONE, REOPEN, RESUME, SNOOZE, START, Move
from rolecall.access_requests.moving import Ids, Text, cancel_with_reasons, lock_movable, move, withhold
from rolecall.access_requests.open_access import take_all_turns
from rolecall.access_requests.rechecking import ConflictVerdict, recheck
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.work_items.actions import record_activity_of
from rolecall.work_items.model import WorkStatus

_BATCH = 500
_LOOK_AGAIN = timedelta(days=1)


async def approve(
    db: Db,
    ids: Ids,
    caller: Caller,
    now: datetime,
    text: Text,
    *,
    recheck_only: AbstractSet[UUID] | None = None,
) -> list[UUID]:
    """Approve the requested access, or the access that a reviewer lowered it to, and start the requests that are due.

    Before that, check again which conflicts the requests would create. With `recheck_only`, check only the requests in
    this set. Requests that the check stops are not approved.
    """
    ids = await lock_movable(db, APPROVE, ids)
    verdicts = await recheck(db, ids if recheck_only is None else [id for id in ids if id in recheck_only])
    stopped = [id for id, verdict in verdicts.items() if verdict.stops]
    # The approval was given, so it is recorded even if the check stops the request.
    await record_activity_of(db, stopped, author=caller.name, action="Response", content=text, now=now)
    await _apply(db, verdicts, now)
    ids = [id for id in ids if id not in stopped]
    await execute(
        db,
        """UPDATE privileges SET approved_access = coalesce(lowered_access, requested_access)
           WHERE request_id = ANY(%(ids)s)""",
        ids=ids,
    )
    approved = await move(db, APPROVE, ids, caller, now, text)
    due = await fetch_rows(
        db,
        """SELECT id FROM access_requests
           WHERE id = ANY(%(ids)s) AND (scheduled_start IS NULL OR scheduled_start <= %(now)s)""",
        ids=approved,
        now=now,
    )
    await _open(db, START, [id for (id,) in due], SYSTEM, now, verdicts=verdicts)
    return approved


async def reopen(db: Db, ids: Ids, caller: Caller, now: datetime, text: Text | None = None) -> list[UUID]:
    """Reopen requests.

    Reset Resolve and Verify responses to Pending, and delete the responses of people who were not asked.
    """
    ids = await lock_movable(db, REOPEN, ids)
    await execute(db, "DELETE FROM responses WHERE request_id = ANY(%(ids)s) AND NOT asked", ids=ids)
    # Fires note_met_rules (schema/notifications.sql), which does nothing for pending responses.
    await execute(
        db,
        """UPDATE responses SET response = 'Pending', stand_in_id = NULL, stand_in_name = NULL
           WHERE request_id = ANY(%(ids)s) AND type IN ('Resolve', 'Verify') AND response <> 'Pending'""",
        ids=ids,
    )
    await execute(
        db,
        "INSERT INTO people_to_recheck SELECT identity_id FROM access_requests WHERE id = ANY(%(ids)s)",
        ids=ids,
    )
    return await _open(db, REOPEN, ids, caller, now, text)


async def resume(db: Db, ids: Ids, caller: Caller, now: datetime, text: Text | None = None) -> list[UUID]:
    return await _open(db, RESUME, ids, caller, now, text)


async def move_due(db: Db, now: datetime) -> bool:
    """Start and resume a batch of requests that are due; return whether more may be due."""
    # START and RESUME are each allowed in one status only, which `min` returns. A postponed request may have no
    # scheduled start; `greatest` ignores the NULL. Do not wait for locked requests: the next tick finds them.
    found = [
        await fetch_rows(
            db,
            f"""SELECT id FROM access_requests
                WHERE status = '{min(due.allowed)}' AND greatest({column}, postponed_until) <= %(now)s
                ORDER BY greatest({column}, postponed_until) LIMIT {_BATCH} FOR UPDATE SKIP LOCKED""",
            now=now,
        )
        for due, column in ((START, "scheduled_start"), (RESUME, "snoozed_until"))
    ]
    await take_all_turns(db, [id for rows in found for (id,) in rows])
    for due, text, rows in zip((START, RESUME), (None, "The snooze has ended"), found, strict=True):
        await _open(db, due, [id for (id,) in rows], SYSTEM, now, text)
    return any(len(rows) == _BATCH for rows in found)


async def _open(
    db: Db,
    opening: Move,
    ids: Ids,
    caller: Caller,
    now: datetime,
    text: Text | None = None,
    verdicts: Mapping[UUID, ConflictVerdict] | None = None,
) -> list[UUID]:
    """Open requests. Cancel, postpone or return to approval those that must not give the requested access now.

    `verdicts` are the results of the check of duties, if it was already made. Reopened requests are checked later
    (`recheck_waiting`), because they were provisioned before.
    """
    withheld = set(await withhold(db, ids, now, starting=opening is START))
    withheld.update(await _cancel_overtaken(db, ids, now))
    if opening is not REOPEN:
        if verdicts is None:
            verdicts = await recheck(db, [id for id in ids if id not in withheld])
            withheld.update(await _apply(db, verdicts, now))
        waits = {id: verdicts[id].waits or "" for id in ids if id in verdicts and verdicts[id].waits}
        withheld.update(await _postpone(db, {id: why for id, why in waits.items() if id not in withheld}, now))
    return await move(db, opening, [id for id in ids if id not in withheld], caller, now, text)


async def _apply(db: Db, verdicts: Mapping[UUID, ConflictVerdict], now: datetime) -> list[UUID]:
    """Cancel requests that a rule now blocks; reset others to Pending if the owner of a rule must approve them.

    Return the ids of both.
    """
    if not verdicts:
        return []
    await record_conflicts(db, list(verdicts.values()))
    blocked = {
        id: f"The rule {each.refused[0]} blocks this access: one person must not hold these duties together"
        for id, each in verdicts.items()
        if each.refused
    }
    await cancel_with_reasons(db, blocked, now)
    asked = {id: each for id, each in verdicts.items() if each.asked and not each.refused}
    await execute(db, "UPDATE privileges SET approved_access = 'None' WHERE request_id = ANY(%(ids)s)", ids=list(asked))
    said = {id: f"The owner of the rule {each.asked[0]} must approve the request" for id, each in asked.items()}
    await move(db, ASK_AGAIN, list(asked), SYSTEM, now, said)
    return [*blocked, *asked]


async def _postpone(db: Db, why: Mapping[UUID, str], now: datetime) -> list[UUID]:
    """Postpone requests that wait for other requests of the same event.

    They are checked again when one of those requests changes, and after a day at the latest.
    """
    again = now + _LOOK_AGAIN
    # Fires the triggers of a move; `move` lists them. They do nothing, because the requests stay Scheduled or Snoozed.
    rows = await fetch_rows(
        db,
        """UPDATE access_requests SET postponed_until = %(again)s
           WHERE id = ANY(%(ids)s) AND postponed_until IS NOT NULL RETURNING id""",
        ids=list(why),
        again=again,
    )
    # Do not add an activity entry each day to requests that already wait.
    known = [id for (id,) in rows]
    new = [id for id in why if id not in known]
    return known + await move(db, POSTPONE, new, SYSTEM, now, why, postponed_until=again)


async def recheck_waiting(db: Db, now: datetime) -> bool:
    """Recheck the requests of queued people and, if groups are queued, all requests about groups.

    Cancel open requests that would now raise access without an approval. Requests that are not open yet are checked for
    this when they open. A request that no longer waits for another one becomes due. Return whether more people may be
    queued.
    """
    # The queue may contain a person several times and has no key, so use ctid.
    rows = await fetch_rows(
        db,
        f"""DELETE FROM people_to_recheck WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM people_to_recheck LIMIT {_BATCH} FOR UPDATE SKIP LOCKED)) RETURNING identity_id""",
    )
    found = await fetch_rows(
        db,
        """SELECT id, status FROM access_requests r
           WHERE is_to_recheck(status) AND (identity_id = ANY(%(people)s) OR identity_id IS NULL AND %(of_groups)s)
           ORDER BY number FOR UPDATE""",
        people=[id for (id,) in rows if id],
        # NULL in the queue means all requests about groups.
        of_groups=(None,) in rows,
    )
    withheld = set(await withhold(db, [id for id, _ in found], now))
    withheld.update(await _cancel_overtaken(db, [id for id, status in found if status == WorkStatus.OPEN], now))
    ids = [id for id, _ in found if id not in withheld]
    verdicts = await recheck(db, ids)
    await _apply(db, verdicts, now)
    # Only open requests are snoozed here; scheduled and snoozed ones are postponed when they become due.
    waits = {id: each.waits for id, each in verdicts.items() if each.waits and not each.stops}
    await move(db, SNOOZE, list(waits), SYSTEM, now, waits, snoozed_until=now, postponed_until=now + _LOOK_AGAIN)
    # Fires the triggers of a move; `move` lists them. They do nothing, because the requests stay Scheduled or Snoozed.
    await execute(
        db,
        """UPDATE access_requests SET postponed_until = %(now)s
           WHERE id = ANY(%(ids)s) AND id <> ALL(%(waiting)s) AND postponed_until > %(now)s""",
        ids=ids,
        waiting=list(waits),
        now=now,
    )
    return len(rows) == _BATCH


async def _cancel_overtaken(db: Db, ids: Ids, now: datetime) -> list[UUID]:
    """Cancel requests that needed no approval but would now raise access, each with a comment."""
    rows = await fetch_rows(
        db,
        "SELECT r.id FROM access_requests r WHERE r.id = ANY(%(ids)s) AND can_be_overtaken(r)",
        ids=list(ids),
    )
    why = await overtaken(db, await queries.details(db, [id for (id,) in rows]))
    return await cancel_with_reasons(db, why, now)
