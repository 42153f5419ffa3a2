"""Move access requests in bulk: a compare-and-set of the status, an activity entry and the events of the move.

Functions that move requests return the ids of the requests that moved. Requests in a status that does not allow the
move stay unchanged. The number of statements does not depend on the number of requests.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import queries
from rolecall.access_requests.model import (
    CANCEL,
    FINISH,
    RESOLVE,
    VERIFY,
    Move,
    RequestEvent,
    gives_access,
)
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows, insert_rows
from rolecall.identities import administrators
from rolecall.identities.model import WEBHOOK_TYPES, IdentityStatus
from rolecall.settings.policy import RequirementType
from rolecall.work_items.actions import record_activity_of
from rolecall.work_items.shapes import PersonReference

Ids = Sequence[UUID]
# The text of the activity entry: one for all requests, or one for each.
Text = str | Mapping[UUID, str]
Verb = Callable[[Db, Ids, Caller, datetime], Awaitable[list[UUID]]]
_UNPROVISIONED = list(CANCEL.allowed - VERIFY.allowed)


async def lock(db: Db, ids: Ids) -> None:
    """Lock requests in number order to avoid deadlocks between transactions that change several."""
    await execute(db, "SELECT FROM access_requests WHERE id = ANY(%(ids)s) ORDER BY number FOR UPDATE", ids=list(ids))


async def lock_with_unfinished(db: Db, ids: Ids, identity_id: UUID) -> None:
    """Lock these requests and all requests of a person that are not provisioned yet, in one step.

    Call this before changing both: to lock the two kinds one after the other would break the order.
    """
    await execute(
        db,
        """SELECT FROM access_requests
           WHERE id = ANY(%(ids)s) OR identity_id = %(identity)s AND status = ANY(%(waiting)s)
           ORDER BY number FOR UPDATE""",
        ids=list(ids),
        identity=identity_id,
        waiting=_UNPROVISIONED,
    )


async def move(
    db: Db, move: Move, ids: Ids, caller: Caller, now: datetime, text: Text | None = None, **columns: object
) -> list[UUID]:
    """Move the requests whose status allows it, skip the others, and return the ids of the moved requests.

    Also set the given columns, such as `snoozed_until`.
    """
    if not ids:
        return []
    changes = [f"{column} = %(now)s" for column in move.sets]
    changes += [f"{column} = NULL" for column in move.clears]
    changes += [f"{column} = %({column})s" for column in columns]
    if move.to:
        changes += ["status = %(to)s", "status_since = %(now)s"]
    # Fires keep_waiting_on_update, keep_past and recheck_requests (schema/access_requests.sql), nudge_carriers
    # (schema/carriers.sql) and notify_of_moved_requests (schema/notifications.sql).
    # An UPDATE locks rows in no fixed order, so lock them first. FOR UPDATE tests the status again after a wait.
    moved = await fetch_rows(
        db,
        f"""WITH locked AS (SELECT id FROM access_requests WHERE id = ANY(%(ids)s) AND status = ANY(%(allowed)s)
                            ORDER BY number FOR UPDATE)
            UPDATE access_requests r SET {", ".join(changes)} FROM locked WHERE r.id = locked.id RETURNING r.id""",
        ids=list(ids),
        allowed=list(move.allowed),
        to=move.to,
        now=now,
        **columns,
    )
    done = [id for (id,) in moved]
    if done:
        await record_activity_of(
            db, done, author=caller.name, action=move.name, content=move.text if text is None else text, now=now
        )
        await record_events(db, move.events, done, caller, now)
    return done


async def resolve(db: Db, ids: Ids, caller: Caller, now: datetime, text: Text | None = None) -> list[UUID]:
    """Move requests to Resolved, or to Completed if they require no verification."""
    ids = await lock_movable(db, RESOLVE, ids)
    # Record the responses before the move, because its event contains the request with its responses.
    await _record_responses(db, RequirementType.RESOLVE, ids, caller)
    verified = await fetch_rows(
        db,
        "SELECT DISTINCT request_id FROM responses WHERE request_id = ANY(%(ids)s) AND type = 'Verify'",
        ids=ids,
    )
    to_verify = {id for (id,) in verified}
    await _ask_others_to_verify(db, list(to_verify), caller)
    resolved = await move(db, RESOLVE, [id for id in ids if id in to_verify], caller, now, text)
    return resolved + await move(db, FINISH, [id for id in ids if id not in to_verify], caller, now, text)


async def _ask_others_to_verify(db: Db, ids: Ids, caller: Caller) -> None:
    """Ask administrators to verify a request if all verifiers of a rule have provisioned it or are its assignee."""
    rules = await fetch_rows(
        db,
        """SELECT v.request_id, v.rule, v.last, v.reason,
                  parties(r) || c.by
            FROM (SELECT request_id, rule, reason, max(position) AS last, array_agg(reviewer_id) AS asked
                  FROM responses WHERE request_id = ANY(%(ids)s) AND type = 'Verify'
                  GROUP BY request_id, rule, reason) v
            JOIN access_requests r ON r.id = v.request_id
            CROSS JOIN LATERAL (SELECT with_token_owners(
                array_remove(ARRAY[%(caller)s, r.assignee_id], NULL) || done_by(r.id)) AS by) c
            WHERE v.asked <@ c.by""",
        ids=list(ids),
        caller=caller.id,
    )
    if not rules:
        return
    active = await administrators.active(db)
    rows = []
    for request_id, rule, last, reason, excluded in rules:
        available = [PersonReference(id, name) for id, name in active.items() if id not in excluded] or [ADMINISTRATORS]
        for position, reviewer in enumerate(available, last + 1):
            row = {"request_id": request_id, "type": RequirementType.VERIFY, "rule": rule, "position": position}
            asked = {"reviewer_id": reviewer.id, "reviewer_name": reviewer.name, "response": "Pending", "asked": True}
            rows.append(row | {"reason": reason} | asked)
    await insert_rows(db, "responses", rows)


async def verify(db: Db, ids: Ids, caller: Caller, now: datetime, text: Text | None = None) -> list[UUID]:
    ids = await lock_movable(db, VERIFY, ids)
    await _record_responses(db, RequirementType.VERIFY, ids, caller)
    return await move(db, VERIFY, ids, caller, now, text)


async def cancel(db: Db, ids: Ids, caller: Caller, now: datetime, text: Text | None = None) -> list[UUID]:
    return await move(db, CANCEL, ids, caller, now, text)


async def withhold(db: Db, ids: Ids, now: datetime, *, starting: bool = False) -> list[UUID]:
    """Cancel requests that would give access to an inactive identity, or to another identity's account.

    With `starting`, also cancel requests about an unmatched account. After the start, such an account is not a reason
    to cancel, because the request may have created it.
    """
    # COLLATE "C" is the collation of accounts.username, so the lookup can use its index.
    rows = await fetch_rows(
        db,
        """SELECT r.id, i.status, r.target_name, a.identity_id IS NOT NULL, r.action,
                  array(SELECT requested_access FROM privileges p WHERE p.request_id = r.id)
           FROM access_requests r JOIN identities i ON i.id = r.identity_id
           LEFT JOIN accounts a ON a.application_id = r.application_id AND a.username = r.target_name COLLATE "C"
                AND (a.identity_id <> r.identity_id OR %(starting)s AND a.identity_id IS NULL AND EXISTS (
                    SELECT FROM account_versions v WHERE v.account_number = a.number AND v.until_import IS NULL))
           WHERE r.id = ANY(%(ids)s) AND (i.status <> %(active)s OR a.id IS NOT NULL)""",
        ids=list(ids),
        active=IdentityStatus.ACTIVE,
        starting=starting,
    )
    why = {
        id: _withheld(status, name, is_owned=is_owned)
        for id, status, name, is_owned, action, accesses in rows
        if gives_access(action, accesses)
    }
    return await cancel_with_reasons(db, why, now)


def _withheld(status: str, account: str, *, is_owned: bool) -> str:
    if status != IdentityStatus.ACTIVE:
        return f"The identity is {status}; only active identities can be given access"
    if is_owned:
        return f"Account {account} belongs to another identity now; request the access for that identity"
    return f"Account {account} matches no identity; match it first, then request the access again"


async def cancel_with_reasons(db: Db, why: Mapping[UUID, str], now: datetime) -> list[UUID]:
    """Cancel requests, each with a comment that says why."""
    canceled = await move(db, CANCEL, list(why), SYSTEM, now, why)
    comments = [{"item_id": id, "created_date": now, "author": SYSTEM.name, "content": why[id]} for id in canceled]
    await insert_rows(db, "comments", comments)
    return canceled


async def withhold_from(db: Db, identity_id: UUID, now: datetime) -> None:
    """Cancel unprovisioned requests that would give access to an identity that has just become inactive."""
    # Resolved requests stay, because their access is removed with the account.
    await withhold(db, await lock_unfinished(db, identity_id), now)


async def lock_unfinished(db: Db, identity_id: UUID) -> list[UUID]:
    """Lock and return a person's requests that are not provisioned yet.

    To avoid deadlocks, call this before a check of duties, which locks people.
    """
    rows = await fetch_rows(
        db,
        """SELECT id FROM access_requests WHERE identity_id = %(identity)s AND status = ANY(%(waiting)s)
           ORDER BY number FOR UPDATE""",
        identity=identity_id,
        waiting=_UNPROVISIONED,
    )
    return [id for (id,) in rows]


async def lock_movable(db: Db, move: Move, ids: Ids) -> list[UUID]:
    """Lock and return the requests whose status allows the move, in number order."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM access_requests WHERE id = ANY(%(ids)s) AND status = ANY(%(allowed)s)
           ORDER BY number FOR UPDATE""",
        ids=list(ids),
        allowed=list(move.allowed),
    )
    return [id for (id,) in rows]


async def _record_responses(db: Db, type: RequirementType, ids: Ids, caller: Caller) -> None:
    """Record the caller as the reviewer who met every open rule of this type, even if the caller was not asked."""
    # Fires the trigger note_met_rules in schema/notifications.sql.
    await execute(
        db,
        """INSERT INTO responses AS r
               (request_id, type, rule, position, reason, reviewer_id, reviewer_name, response, asked)
           SELECT request_id, type, rule,
                  coalesce(min(position) FILTER (WHERE reviewer_id = %(id)s), max(position) + 1),
                  reason, %(id)s, %(name)s, 'Approved', false
           FROM responses WHERE request_id = ANY(%(ids)s) AND type = %(type)s
           GROUP BY request_id, type, rule, reason HAVING bool_and(response <> 'Approved')
           ON CONFLICT (request_id, type, rule, position) DO UPDATE SET response = 'Approved'""",
        ids=list(ids),
        type=type,
        id=caller.id,
        name=caller.name,
    )


async def record_events(db: Db, events: Sequence[RequestEvent], ids: Ids, caller: Caller, now: datetime) -> None:
    """Record each of the events for each request, with the current state of the request."""
    if not events:
        return
    requests = await queries.details(db, ids)
    # Send one JSON document, because psycopg quotes each element of an array separately.
    payloads = b"[" + b",".join(_payload(request) for request in requests) + b"]"
    for event in events:
        # Fires note_event_news (schema/personnel_events.sql), fan_out_on_insert (schema/webhooks.sql),
        # notify_of_request_events (schema/notifications.sql) and follow_review_requests (schema/reviews.sql).
        await execute(
            db,
            """INSERT INTO access_request_events
                   (request_id, application_id, name, created_at, caller_id, caller_name, request)
               SELECT (request ->> 'id')::uuid, (request #>> '{target,application,id}')::uuid, %(name)s, %(now)s,
                      %(caller_id)s, %(caller_name)s, request
               FROM json_array_elements(%(payloads)s::json) AS request""",
            name=event,
            now=now,
            caller_id=caller.id,
            caller_name=caller.name,
            payloads=payloads.decode(),
        )


def _payload(request: AccessRequestDetail) -> bytes:
    if identity := request.target.affected_identity:
        for_webhooks = msgspec.structs.replace(identity, type=WEBHOOK_TYPES[identity.type])
        target = msgspec.structs.replace(request.target, affected_identity=for_webhooks)
        request = msgspec.structs.replace(request, target=target)
    return msgspec.json.encode(request)
