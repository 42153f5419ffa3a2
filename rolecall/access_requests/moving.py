"""A move: its compare-and-set, its activity entry, its events; the same statements for one request as for thousands."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import queries
from rolecall.access_requests.model import START, Move, RequestEvent
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.identities.model import WEBHOOK_TYPES
from rolecall.work_items.actions import record_activity_of


async def move(
    db: Db, move: Move, ids: Sequence[UUID], caller: Caller, now: datetime, content: str, **sets: object
) -> list[UUID]:
    """The requests that moved; the others were in another status and did not change. `sets` are further columns."""
    if not ids:
        return []
    changes = [f"{column} = %(now)s" for column in move.sets]
    changes += [f"{column} = NULL" for column in move.clears]
    changes += [f"{column} = %({column})s" for column in sets]
    if move.to:
        changes += ["status = %(to)s", "status_since = %(now)s"]
    moved = await fetch_rows(
        db,
        f"""WITH locked AS (SELECT id FROM access_requests WHERE id = ANY(%(ids)s) AND status = ANY(%(allowed)s)
                            ORDER BY id FOR UPDATE)
            UPDATE access_requests r SET {", ".join(changes)} FROM locked WHERE r.id = locked.id RETURNING r.id""",
        ids=list(ids),
        allowed=list(move.allowed),
        to=move.to,
        now=now,
        **sets,
    )
    done = [id for (id,) in moved]
    if done:
        await record_activity_of(db, done, author=caller.name, action=move.name, content=content, now=now)
        await record_events(db, move.events, done, caller, now)
    return done


async def start_due(db: Db, ids: Sequence[UUID], now: datetime) -> list[UUID]:
    """Those of the scheduled requests that have no start to wait for."""
    due = await fetch_rows(
        db,
        """SELECT id FROM access_requests WHERE id = ANY(%(ids)s) AND status = 'Scheduled'
           AND (scheduled_start IS NULL OR scheduled_start <= %(now)s)""",
        ids=list(ids),
        now=now,
    )
    return await move(db, START, [id for (id,) in due], SYSTEM, now, "Provisioning starts")


async def record_events(
    db: Db, events: Sequence[RequestEvent], ids: Sequence[UUID], caller: Caller, now: datetime
) -> None:
    if not events:
        return
    requests = await queries.details(db, ids)
    for event in events:
        await execute(
            db,
            """INSERT INTO access_request_events
                   (request_id, application_id, name, created_at, caller_id, caller_name, request)
               SELECT id, application_id, %(name)s, %(now)s, %(caller_id)s, %(caller_name)s, request::json
               FROM unnest(%(ids)s::uuid[], %(applications)s::uuid[], %(requests)s::text[])
                    AS happened(id, application_id, request)""",
            name=event,
            now=now,
            caller_id=caller.id,
            caller_name=caller.name,
            ids=[request.id for request in requests],
            applications=[request.target.application.id for request in requests],
            requests=[_payload(request) for request in requests],
        )


def _payload(request: AccessRequestDetail) -> str:
    if identity := request.target.affected_identity:
        spoken = msgspec.structs.replace(identity, type=WEBHOOK_TYPES[identity.type])
        request = msgspec.structs.replace(
            request, target=msgspec.structs.replace(request.target, affected_identity=spoken)
        )
    return msgspec.json.encode(request).decode()
