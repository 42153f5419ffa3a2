from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.access_requests import queries as access_requests
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.carriers.model import (
    CARRYING,
    REMOVALS,
    CarriedRequest,
    CarriedState,
    Carrier,
    CarrierMode,
    Inexpressible,
    RecordedStep,
    SentStep,
    Step,
    StepVerb,
    Verification,
)
from rolecall.carriers.planning import another_persons, plan
from rolecall.carriers.request_facts import request_facts
from rolecall.carriers.shapes import (
    CarriedItem,
    CarrierBrake,
    CarrierDetail,
    CarrierPreview,
    CarrierProgress,
    CarrierStepItem,
)
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.sources import queries as sources
from rolecall.sources.model import SourceKind
from rolecall.sources.references import file_date
from rolecall.work_items.model import WorkStatus

HOUR = timedelta(hours=1)
_SHOWN = 20
_OVER = (WorkStatus.COMPLETED, WorkStatus.CANCELED)
_SENT_LAST = "s.application_id = %(id)s AND s.sent_on IS NOT NULL ORDER BY s.sent_on DESC, s.position DESC"
# The requests that a carrier `c` takes up or continues: opened since its mode was set, reopened after it took them up,
# or waiting until a time that has come. Skip people in `people_to_recheck`: their requests are checked again first.
_DUE = """
    carriers c JOIN applications a ON a.id = c.application_id AND NOT a.is_archived
    JOIN access_requests r ON r.application_id = c.application_id AND r.status = 'Open'
    LEFT JOIN carried_requests k ON k.request_id = r.id
    WHERE c.definition ->> 'mode' IN ('On', 'Dry Run')
      AND NOT EXISTS (SELECT FROM people_to_recheck q WHERE q.identity_id IS NOT DISTINCT FROM r.identity_id)
      AND CASE WHEN k.request_id IS NULL THEN r.status_since >= c.mode_since
               WHEN k.state = 'Waiting' THEN k.next_on <= %(now)s AND (c.definition ->> 'mode' = 'On')
               ELSE k.opened_on <> r.status_since END"""

# Canceled requests that the carrier took up and whose steps are not undone yet. The trigger nudge_carriers sets their
# state to Waiting (schema/carriers.sql).
CANCELED = """
    carried_requests k JOIN access_requests r ON r.id = k.request_id AND r.status = 'Canceled'
    WHERE k.state = 'Waiting'"""


async def find(db: Db, application_id: UUID) -> Carrier | None:
    stored = await fetch_value(db, "SELECT definition FROM carriers WHERE application_id = %(id)s", id=application_id)
    return msgspec.convert(stored, Carrier) if stored else None


async def by_application(db: Db, ids: Iterable[UUID]) -> dict[UUID, Carrier]:
    rows = await fetch_rows(
        db, "SELECT application_id, definition FROM carriers WHERE application_id = ANY(%(ids)s)", ids=list(ids)
    )
    return {id: msgspec.convert(stored, Carrier) for id, stored in rows}


async def applications_with_work(db: Db, now: datetime) -> list[UUID]:
    """Return the applications with requests to carry out or to undo, or with changes that an import must verify."""
    rows = await fetch_rows(
        db,
        f"""SELECT DISTINCT c.application_id FROM {_DUE}
            UNION SELECT application_id FROM carriers WHERE unverified_on IS NOT NULL
            UNION SELECT k.application_id FROM {CANCELED}""",
        now=now,
    )
    return [id for (id,) in rows]


async def verification(db: Db, application_id: UUID, failed_before: datetime) -> Verification | None:
    """Lock the carrier; return the state of the import that verifies its changes; None if no change needs it."""
    found = await fetch_value(
        db,
        # An import counts only if the worker fetched its files, and if it began after the last change by the carrier.
        """SELECT CASE
               WHEN a.is_archived OR NOT EXISTS (SELECT FROM sources s WHERE s.application_id = a.id)
                 OR EXISTS (SELECT FROM application_imports i
                            WHERE i.application_id = a.id AND i.supplied_by IS NULL AND i.status = 'Finished'
                              AND i.build_start >= c.unverified_on) THEN 'Ended'
               WHEN EXISTS (SELECT FROM application_imports i
                            WHERE i.application_id = a.id AND i.supplied_by IS NULL
                              AND (i.build_start IS NULL OR i.build_start >= c.unverified_on)
                              AND (i.build_end IS NULL OR i.build_end >= %(failed_before)s)) THEN 'Waiting'
               ELSE 'Due' END
           FROM carriers c JOIN applications a ON a.id = c.application_id
           WHERE c.application_id = %(id)s AND c.unverified_on IS NOT NULL FOR UPDATE OF c""",
        id=application_id,
        failed_before=failed_before,
    )
    return Verification(found) if found else None


async def due_requests(db: Db, application_id: UUID, now: datetime, most: int) -> list[UUID]:
    rows = await fetch_rows(
        db,
        f"SELECT r.id FROM {_DUE} AND c.application_id = %(id)s ORDER BY r.number LIMIT %(most)s",
        id=application_id,
        now=now,
        most=most,
    )
    return [id for (id,) in rows]


async def lock_due(db: Db, request_id: UUID, now: datetime) -> Carrier | None:
    """Lock and return the carrier of a request, or return None if the request is not due.

    All code locks a carrier before its requests, to avoid deadlocks.
    """
    stored = await fetch_value(
        db, f"SELECT c.definition FROM {_DUE} AND r.id = %(id)s FOR SHARE OF c", id=request_id, now=now
    )
    return msgspec.convert(stored, Carrier) if stored else None


async def lock(db: Db, application_id: UUID) -> None:
    """Lock a carrier, so that it starts no request until the transaction ends."""
    await execute(db, "SELECT FROM carriers WHERE application_id = %(id)s FOR UPDATE", id=application_id)


async def carried(db: Db, request_id: UUID) -> CarriedRequest | None:
    return await fetch_one(
        db,
        CarriedRequest,
        "SELECT opened_on, state, attempts, is_released, planned_with FROM carried_requests WHERE request_id = %(id)s",
        id=request_id,
    )


async def unfinished_steps(db: Db, request_id: UUID) -> list[RecordedStep]:
    """Return the steps without a result, and whether each was sent before.

    A step counts as sent before if its response was lost, if it was planned again after it was sent, or if it creates
    an account that another request of the same person has created already: imports may not show the account yet.
    """
    rows = await fetch_rows(
        db,
        """SELECT s.position, s.step, s.state = 'Sent' OR EXISTS (
                  SELECT FROM carrier_steps e JOIN access_requests q ON q.id = e.request_id
                  WHERE q.application_id = r.application_id AND q.identity_id = r.identity_id
                    AND e.step - 'attributes' = s.step - 'attributes' AND e.state <> 'Planned'
                    AND (q.id = r.id AND e.position < s.position
                         OR e.state = 'Done' AND e.step ->> 'verb' = %(create)s))
           FROM carrier_steps s JOIN access_requests r ON r.id = s.request_id
           WHERE s.request_id = %(id)s AND s.state <> 'Done' ORDER BY s.position""",
        id=request_id,
        create=StepVerb.CREATE,
    )
    return [RecordedStep(position, msgspec.convert(step, Step), was_sent) for position, step, was_sent in rows]


async def canceled_requests(db: Db, application_id: UUID, most: int) -> list[UUID]:
    """Return canceled requests whose steps must be undone, in number order."""
    rows = await fetch_rows(
        db,
        f"SELECT r.id FROM {CANCELED} AND k.application_id = %(id)s ORDER BY r.number LIMIT %(most)s",
        id=application_id,
        most=most,
    )
    return [id for (id,) in rows]


async def giving_steps(db: Db, request_id: UUID) -> list[SentStep]:
    """Return the steps that were sent and that give access, with their results."""
    rows = await fetch_rows(
        db,
        """SELECT step, answer FROM carrier_steps
           WHERE request_id = %(id)s AND state <> 'Planned' AND step ->> 'verb' = ANY(%(giving)s) ORDER BY position""",
        id=request_id,
        giving=[StepVerb.CREATE, StepVerb.ENABLE, StepVerb.ADD_MEMBER],
    )
    return [SentStep(msgspec.convert(step, Step), answer) for step, answer in rows]


async def owner_of(db: Db, application_id: UUID, account: str) -> UUID | None:
    """Return the identity of an account; None if the account is unmatched or was not imported yet."""
    found: UUID | None = await fetch_value(
        db,
        "SELECT identity_id FROM accounts WHERE application_id = %(id)s AND username = %(account)s",
        id=application_id,
        account=account,
    )
    return found


async def given_by_others(db: Db, request_id: UUID, account: str) -> set[str]:
    """Return the names of the access that other requests give this account or the person of this request.

    Leave out requests that were canceled, or were resolved before this request was created. The name is empty for a
    request that only enables or creates an account.
    """
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT coalesce(p.permission, '') FROM access_requests r
           JOIN access_requests q ON q.application_id = r.application_id AND q.id <> r.id
                AND (q.identity_id = r.identity_id OR q.target_name = %(account)s)
           LEFT JOIN privileges p ON p.request_id = q.id
           WHERE r.id = %(id)s AND gives(q) AND q.status <> 'Canceled'
             AND (q.resolved_on IS NULL OR q.resolved_on >= r.created_at)
             AND (p.request_id IS NULL OR coalesce(p.lowered_access, p.requested_access) NOT IN ('None', 'Deny'))""",
        id=request_id,
        account=account,
    )
    return {name for (name,) in rows}


async def obstacle(db: Db, request_id: UUID, account: str) -> str | None:
    """Return why a person must take over, or None.

    The reasons are: the request was assigned meanwhile; the account belongs to another person; the account belongs to
    no person, and the action is not Add.
    """
    ((assignee, is_anothers),) = await fetch_rows(
        db,
        """SELECT CASE WHEN r.assignee_id IS DISTINCT FROM k.assignee_id THEN r.assignee_name END,
                  EXISTS (SELECT FROM accounts a WHERE a.application_id = r.application_id AND a.username = %(account)s
                          AND (a.identity_id <> r.identity_id OR a.identity_id IS NULL AND r.action <> 'Add'))
           FROM access_requests r JOIN carried_requests k ON k.request_id = r.id WHERE r.id = %(id)s""",
        id=request_id,
        account=account,
    )
    if assignee:
        return f"it was assigned to {assignee}"
    return another_persons(account) if is_anothers else None


async def unfinished_requests(db: Db, application_id: UUID) -> list[UUID]:
    """Return the open requests that the carrier took up and has neither finished nor left to a person."""
    rows = await fetch_rows(
        db,
        """SELECT r.id FROM carried_requests k JOIN access_requests r ON r.id = k.request_id AND r.status = 'Open'
           WHERE k.application_id = %(id)s AND k.state IN ('Waiting', 'Held') ORDER BY r.number""",
        id=application_id,
    )
    return [id for (id,) in rows]


async def removals_since(db: Db, application_id: UUID, since: datetime) -> int:
    """Return how many removals were sent since this time, or are planned in waiting requests."""
    count: int = await fetch_value(
        db,
        """SELECT count(*) FROM carrier_steps s JOIN carried_requests k USING (request_id)
           WHERE s.application_id = %(id)s AND s.is_removal
             AND (s.sent_on > %(since)s OR s.sent_on IS NULL AND k.state = 'Waiting')""",
        id=application_id,
        since=since,
    )
    return count


async def nth_last_sent(db: Db, application_id: UUID, n: int) -> datetime | None:
    """Return when the n-th most recent step was sent; None if fewer were sent."""
    found: datetime | None = await fetch_value(
        db,
        """SELECT sent_on FROM carrier_steps WHERE application_id = %(id)s AND sent_on IS NOT NULL
           ORDER BY sent_on DESC OFFSET %(before)s LIMIT 1""",
        id=application_id,
        before=n - 1,
    )
    return found


async def covers(db: Db, application_id: UUID, *, memberships: bool) -> bool:
    """Return whether the live source fetches accounts, and memberships if those must be verified too."""
    source = await sources.find(db, application_id)
    # Pushed records change only when the identity provider sends them, so an import may not show the changes yet.
    if source is None or source.kind is SourceKind.SCIM_PUSH:
        return False
    rows = await fetch_rows(
        db,
        """SELECT unnest(contents_of(g)) FROM file_groups g JOIN connectors c ON c.id = g.connector_id
           WHERE c.application_id = %(id)s AND g.name = ANY(%(names)s)""",
        id=application_id,
        names=list(source.contents),
    )
    shown = {content for (content,) in rows}
    return {"users", "memberships"} <= shown if memberships else "users" in shown


async def get(db: Db, application_id: UUID, config: Config, now: datetime) -> CarrierDetail:
    rows = await fetch_rows(
        db,
        """SELECT c.definition, c.changed_on, c.mode_since, k.set_on FROM carriers c
           LEFT JOIN source_secrets k ON k.application_id = c.application_id AND k.name = %(name)s
           WHERE c.application_id = %(id)s""",
        id=application_id,
        name=CARRYING,
    )
    if not rows:
        await sources.application(db, application_id)
        raise NotFound("Carrier of application", application_id)
    stored, changed_on, mode_since, set_on = rows[0]
    carrier = msgspec.convert(stored, Carrier)
    return CarrierDetail(
        **msgspec.structs.asdict(carrier),
        changed_date=changed_on,
        mode_date=mode_since,
        secret_date=set_on or file_date(carrier.secret_ref, config),
        brake=CarrierBrake(
            await removals_since(db, application_id, now - HOUR),
            carrier.removals_per_hour,
            await _requests_in(db, application_id, CarriedState.HELD),
        ),
        waiting=await _requests_in(db, application_id, CarriedState.WAITING),
        left=await _requests_in(db, application_id, CarriedState.LEFT),
        last_steps=await _steps(db, _SENT_LAST, id=application_id),
    )


async def _requests_in(db: Db, application_id: UUID, state: CarriedState) -> list[CarriedItem]:
    """Return the most recent open requests in this state."""
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.number, r.action, r.target_name, k.reason, k.changed_on, k.next_on
           FROM carried_requests k JOIN access_requests r ON r.id = k.request_id AND r.status = 'Open'
           WHERE k.application_id = %(id)s AND k.state = %(state)s
           ORDER BY k.changed_on DESC, r.number LIMIT %(most)s""",
        id=application_id,
        state=state,
        most=_SHOWN,
    )
    return [CarriedItem(*row) for row in rows]


async def _steps(db: Db, which: str, **values: object) -> list[CarrierStepItem]:
    rows = await fetch_rows(
        db,
        f"""SELECT r.id, r.number, s.step, s.state, s.answer, s.sent_on FROM carrier_steps s
            JOIN access_requests r ON r.id = s.request_id WHERE {which} LIMIT %(most)s""",
        most=_SHOWN,
        **values,
    )
    return [
        CarrierStepItem(id, number, msgspec.convert(step, Step).described(), state, answer, sent_on)
        for id, number, step, state, answer, sent_on in rows
    ]


async def previewed(db: Db, carrier: Carrier, request: AccessRequestDetail) -> CarrierPreview:
    """Return the plan of a request, or why it would be left to a person. Do not record or send anything."""
    try:
        steps = plan(request, carrier, await request_facts(db, request))
    except Inexpressible as why:
        return CarrierPreview(request.id, [], 0, str(why))
    removals = sum(step.verb in REMOVALS for step in steps)
    return CarrierPreview(request.id, [step.described() for step in steps], removals, None)


async def progress(db: Db, request: AccessRequestDetail) -> CarrierProgress | None:
    """Return the progress of the carrier with a request.

    Return None if there is no carrier. Also return None for a request that the carrier has not taken up, if the carrier
    is off or the request is completed or canceled.
    """
    rows = await fetch_rows(
        db,
        """SELECT c.definition, k.state, coalesce(k.reason, ''), k.next_on,
                  r.status = 'Open' AND r.status_since < c.mode_since AND k.state IS DISTINCT FROM 'Waiting'
           FROM access_requests r JOIN carriers c ON c.application_id = r.application_id
           LEFT JOIN carried_requests k ON k.request_id = r.id
                AND (r.status <> 'Open' OR k.opened_on = r.status_since)
           WHERE r.id = %(id)s""",
        id=request.id,
    )
    if not rows:
        return None
    stored, state, reason, next_on, is_earlier = rows[0]
    carrier = msgspec.convert(stored, Carrier)
    if state is None and (carrier.mode is CarrierMode.OFF or request.status in _OVER):
        return None
    is_taken = state in (CarriedState.WAITING, CarriedState.HELD, CarriedState.DONE)
    is_free = state is None and request.assignee is None and not is_earlier
    return CarrierProgress(
        carrier.mode,
        CarriedState(state) if state else None,
        reason,
        next_on,
        carrier.mode is CarrierMode.ON and (is_taken or is_free),
        await _steps(db, "s.request_id = %(id)s ORDER BY s.position", id=request.id),
        await previewed(db, carrier, request) if request.status == WorkStatus.OPEN else None,
    )


async def progress_mark(db: Db, request_id: UUID) -> str:
    """Return a string that changes whenever the status of a request or the progress of its carrier changes."""
    found = await fetch_value(
        db,
        """SELECT concat_ws(' ', r.status, k.state, k.attempts, extract(epoch FROM k.next_on)::bigint,
                            (SELECT string_agg(left(s.state, 1), '' ORDER BY s.position) FROM carrier_steps s
                             WHERE s.request_id = r.id))
           FROM access_requests r LEFT JOIN carried_requests k ON k.request_id = r.id WHERE r.id = %(id)s""",
        id=request_id,
    )
    return str(found)


async def open_requests(db: Db, application_id: UUID) -> list[AccessRequestDetail]:
    """Return at most 20 open requests of an application, in the order in which they were opened."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM access_requests WHERE application_id = %(id)s AND status = 'Open'
           ORDER BY status_since, number LIMIT %(most)s""",
        id=application_id,
        most=_SHOWN,
    )
    return await access_requests.details(db, [id for (id,) in rows])


async def request_of(db: Db, application_id: UUID, request_id: UUID) -> AccessRequestDetail:
    """Return a request; raise NotFound if it belongs to another application."""
    request = await access_requests.get(db, request_id)
    if request.target.application.id != application_id:
        raise NotFound("AccessRequest", request_id)
    return request
