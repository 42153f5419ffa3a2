"""Read personnel events with their stages and requests."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import asdict

from rolecall.access_requests import queries as access_requests
from rolecall.core.batching import get_one
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value, json_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import EVERYTHING, Listing, Page, fetch_listed, fetch_page
from rolecall.identities import queries as identities
from rolecall.identities.authority import LINE, MOST_PEOPLE
from rolecall.personnel_events.model import FINISHED, LockedEvent, Stage, StageName, done_when, works_on
from rolecall.personnel_events.shapes import EventDetail, EventItem, StageDetail
from rolecall.settings.policy import EventType
from rolecall.work_items import queries as work_items
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import PersonReference, person

_COLUMNS = f"""
    e.id, e.number, e.type, e.status, e.reporter_id, e.reporter_name, e.assignee_id, e.assignee_name, e.needed_on,
    e.needed_until, e.completed_on, {identities.COLUMNS}"""
# `i` is the identity with the pending changes of the event applied.
_JOINS = f"""
    JOIN identities now ON now.id = e.identity_id
    CROSS JOIN LATERAL jsonb_populate_record(now, e.changes) AS i
    {identities.SUPERVISOR}"""


def _item(row: Sequence[Any]) -> EventItem:
    id, number, type, status, reporter_id, reporter, assignee_id, assignee, *dates = row[:11]
    needed_on, needed_until, completed_on = dates
    return EventItem(
        id=id,
        kind="Personnel Event",
        number=number,
        type=type,
        status=status,
        reporter=PersonReference(reporter_id, reporter),
        assignee=person(assignee_id, assignee),
        affected_identity=identities.from_row(row[11:]),
        needed_on=needed_on,
        needed_until=needed_until,
        completed_on=completed_on,
    )


EVENTS = Listing(
    table="personnel_events",
    row="e",
    columns=_COLUMNS,
    joins=_JOINS,
    make=_item,
    facets=("type", "status"),
    newest_first=True,
)


async def by_effective_date(
    db: Db,
    page: int,
    *,
    identity_id: UUID | None = None,
    type: EventType | None = None,
    status: WorkStatus | None = None,
) -> Page[EventItem]:
    return await fetch_listed(db, EVENTS, page, identity_id=identity_id, type=type, status=status)


MOST_LISTED = 1000


async def concerning(db: Db, page: int, me: UUID, **filters: Any) -> Page[EventItem]:
    """List the events about a person and the people who report to them, and events assigned to the person.

    An offboarding of the person is left out if another person reported it. A page covers only the nearest people in the
    reporting line and the latest events, so that its cost is bounded.
    """
    given = {column: value for column, value in filters.items() if value is not None}
    conditions = "".join(f" AND e.{column} = %({column})s" for column in given)
    is_page = page != EVERYTHING
    near, latest = (f" LIMIT {MOST_PEOPLE}", f" ORDER BY e.list_key DESC LIMIT {MOST_LISTED}") if is_page else ("", "")
    found = f"""WITH RECURSIVE {LINE}, people AS MATERIALIZED (
            SELECT %(me)s::uuid AS id UNION (SELECT id FROM line{near})
        ), listed AS MATERIALIZED (
            SELECT e.id, e.list_key FROM people p CROSS JOIN LATERAL (
                SELECT e.id, e.list_key FROM personnel_events e
                WHERE e.identity_id = p.id AND {NOT_OWN_OFFBOARDING}{conditions}{latest}) e
            UNION
            SELECT e.id, e.list_key FROM personnel_events e
            WHERE e.assignee_id = %(me)s AND {NOT_OWN_OFFBOARDING}{conditions}
        ), found AS MATERIALIZED (SELECT e.id, e.list_key FROM listed e{latest})"""
    return await fetch_page(
        db,
        _item,
        page,
        given=found,
        total="SELECT count(*) FROM found",
        items=f"""SELECT {_COLUMNS} FROM found f JOIN personnel_events e ON e.id = f.id {_JOINS}
                  ORDER BY e.list_key DESC""",
        me=me,
        **given,
    )


# SQL that is false if `e` is an offboarding of %(me)s that another person reported: %(me)s may be unaware of it.
NOT_OWN_OFFBOARDING = "(e.identity_id <> %(me)s OR e.type <> 'Offboard' OR e.reporter_id = %(me)s)"


async def leaving(db: Db, identity_ids: Iterable[UUID]) -> set[UUID]:
    """Return the identities that have an offboarding in progress."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT identity_id FROM personnel_events
           WHERE identity_id = ANY(%(ids)s) AND type = %(type)s AND NOT status = ANY(%(over)s)""",
        ids=list(identity_ids),
        type=EventType.OFFBOARD,
        over=list(FINISHED),
    )
    return {id for (id,) in rows}


async def get(db: Db, id: str | UUID) -> EventDetail:
    return await get_one(db, "PersonnelEvent", by_id, id)


class _EventParts(work_items.History):
    stages: list[StageDetail]


_read_parts = msgspec.json.Decoder(_EventParts).decode
# `by_id` fills in the requests of each stage afterwards.
_STAGES = """
    name, status, started_on AS "startedOn", scheduled_start AS "scheduledStart", completed_on AS "completedOn",
    CASE WHEN completed_by_id IS NOT NULL THEN json_build_object('id', completed_by_id, 'name', completed_by_name) END
    AS "completedBy", '[]'::json AS "accessRequests" FROM stages WHERE event_id = e.id ORDER BY sequence"""
_DETAILS = f"""
    SELECT {_COLUMNS}, json_build_object('stages', {json_rows(_STAGES)}, {work_items.history_of("e.id")})::text,
           EXISTS (SELECT FROM related_items l WHERE l.item_id = e.id)
    FROM personnel_events e {_JOINS} WHERE e.id = ANY(%(ids)s) ORDER BY e.number"""


async def by_id(db: Db, ids: Sequence[UUID]) -> dict[UUID, EventDetail]:
    """Return events by id, in number order."""
    rows = await fetch_rows(db, _DETAILS, ids=list(ids))
    with_requests = [id for id, *_, has_requests in rows if has_requests]
    requests = await access_requests.summaries_by_stage(db, with_requests) if with_requests else {}

    def detail(row: Sequence[Any]) -> EventDetail:
        item, parts = _item(row[:-2]), _read_parts(row[-2])
        for stage in parts.stages:
            stage.access_requests = requests.get((item.id, stage.name), [])
        return EventDetail(**asdict(item), **asdict(parts))

    return {row[0]: detail(row) for row in rows}


async def lock(db: Db, id: UUID) -> LockedEvent:
    """Lock an event until the transaction ends, and return it with its stages."""
    rows = await fetch_rows(
        db,
        """SELECT number, type, status, reporter_id, reporter_name, identity_id, needed_on, needed_until
           FROM personnel_events WHERE id = %(id)s FOR UPDATE""",
        id=id,
    )
    if not rows:
        raise NotFound("PersonnelEvent", id)
    number, type, status, reporter_id, reporter_name, identity_id, needed_on, needed_until = rows[0]
    # Read the stages after the lock, to see the changes of the transaction that held it before.
    stages = await fetch_rows(
        db,
        "SELECT sequence, name, status, scheduled_start FROM stages WHERE event_id = %(id)s ORDER BY sequence",
        id=id,
    )
    return LockedEvent(
        id=id,
        number=number,
        type=EventType(type),
        status=WorkStatus(status),
        # Only the id and the name are used, so the scopes can be empty.
        reporter=Caller(reporter_id, reporter_name, frozenset()),
        identity_id=identity_id,
        needed_on=needed_on,
        needed_until=needed_until,
        stages=[Stage(n, StageName(name), WorkStatus(status), start) for n, name, status, start in stages],
    )


async def changes_of(db: Db, id: UUID) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the identity columns and custom fields that the event will set."""
    [(columns, custom_fields)] = await fetch_rows(
        db, "SELECT changes, custom_fields FROM personnel_events WHERE id = %(id)s", id=id
    )
    return columns, custom_fields


async def confirms_email(db: Db, id: UUID) -> bool:
    """Return whether the caller who created the event may decide which e-mail a person signs in with."""
    return bool(await fetch_value(db, "SELECT confirms_email FROM personnel_events WHERE id = %(id)s", id=id))


async def to_follow(db: Db, now: datetime, limit: int) -> list[UUID]:
    """Return up to `limit` events with a stage that is due, or with a change to one of their requests."""
    rows = await fetch_rows(
        db,
        """SELECT event_id FROM stages WHERE status = 'Scheduled' AND scheduled_start <= %(now)s
           UNION SELECT event_id FROM event_news LIMIT %(limit)s""",
        now=now,
        limit=limit,
    )
    return [id for (id,) in rows]


async def requests_of(db: Db, event_id: UUID) -> list[UUID]:
    rows = await fetch_rows(db, "SELECT request_id FROM related_items WHERE item_id = %(id)s", id=event_id)
    return [id for (id,) in rows]


async def targets_of(db: Db, event_id: UUID) -> set[tuple[UUID, str]]:
    """Return the application and target name of each request of the event."""
    rows = await fetch_rows(
        db,
        """SELECT r.application_id, r.target_name FROM related_items l JOIN access_requests r ON r.id = l.request_id
           WHERE l.item_id = %(id)s""",
        id=event_id,
    )
    return {(application_id, name) for application_id, name in rows}


async def waits_for_requests(db: Db, event: LockedEvent, stage: StageName) -> bool:
    waits: bool = await fetch_value(
        db,
        """SELECT EXISTS (SELECT FROM related_items l JOIN access_requests r ON r.id = l.request_id
                          WHERE l.item_id = %(id)s AND l.stage = %(stage)s AND r.status <> ALL(%(done)s))""",
        id=event.id,
        stage=works_on(stage),
        done=list(done_when(event.type, stage)),
    )
    return waits
