from typing import Any

from litestar import Router

from rolecall.core.batching import get_batched
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, Pool
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.personnel_events import actions, queries
from rolecall.personnel_events.previewing import preview
from rolecall.personnel_events.shapes import (
    AbsenceBody,
    AssignEventBody,
    CancelBody,
    EventDetail,
    EventItem,
    EventPreview,
    OffboardBody,
    OnboardBody,
    PreviewBody,
    ReturnDateBody,
    RoleTransitionBody,
)
from rolecall.settings.policy import EventType
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.web.operations import operation, optional_json
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import CommentBody


@operation("POST", "/onboard", scope=Scope.PERSONNEL_EVENTS_WRITE, status=201, body=OnboardBody)
async def onboard(db: Db, caller: Caller, raw: Json, facts: Facts) -> EventDetail:
    """Create an onboarding event and the identity of the new person."""
    return await queries.get(db, await actions.onboard(db, caller, raw, facts))


@operation("POST", "/offboard", scope=Scope.PERSONNEL_EVENTS_WRITE, status=201, body=OffboardBody)
async def offboard(db: Db, caller: Caller, raw: Json, facts: Facts) -> EventDetail:
    """Create an offboarding event."""
    return await queries.get(db, await actions.offboard(db, caller, raw, facts))


@operation("POST", "/role-transition", scope=Scope.PERSONNEL_EVENTS_WRITE, status=201, body=RoleTransitionBody)
async def transition_role(db: Db, caller: Caller, raw: Json, facts: Facts) -> EventDetail:
    """Create a role transition event. Only the given identity fields change."""
    return await queries.get(db, await actions.transition_role(db, caller, raw, facts))


@operation("POST", "/leave-of-absence", scope=Scope.PERSONNEL_EVENTS_WRITE, status=201, body=AbsenceBody)
async def begin_absence(db: Db, caller: Caller, raw: Json, facts: Facts) -> EventDetail:
    """Create a leave of absence event."""
    return await queries.get(db, await actions.begin_absence(db, caller, raw, facts))


@operation(
    "GET",
    "/",
    scope=Scope.PERSONNEL_EVENTS_READ,
    query={"identityId": a_guid, "type": a_word_of(EventType), "status": a_word_of(WorkStatus)},
)
async def list_events(db: Db, caller: Caller, query: dict[str, Any]) -> Page[EventItem]:
    """List personnel events, latest effective date first."""
    filters = {"identity_id": query.get("identityId"), "type": query.get("type"), "status": query.get("status")}
    if caller.is_limited:
        return await queries.concerning(db, query["page"], caller.id, **filters)
    return await queries.by_effective_date(db, query["page"], **filters)


@operation("GET", "/{id:str}", scope=Scope.PERSONNEL_EVENTS_READ)
async def get_event(pool: Pool, id: str) -> EventDetail:
    """Get one personnel event."""
    return await get_batched(pool, "PersonnelEvent", queries.by_id, id)


@operation("POST", "/{id:str}/assign", scope=Scope.PERSONNEL_EVENTS_WRITE, body=AssignEventBody)
async def assign_event(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> EventDetail:
    """Assign a personnel event to a person."""
    await actions.assign_event(db, caller, known_guid("PersonnelEvent", id), raw, facts)
    return await queries.get(db, id)


@operation("POST", "/{id:str}/return-date", scope=Scope.PERSONNEL_EVENTS_WRITE, body=ReturnDateBody)
async def set_return_date(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> EventDetail:
    """Set the return date of a leave of absence whose Removal stage has not started."""
    await actions.set_return_date(db, caller, known_guid("PersonnelEvent", id), raw, facts)
    return await queries.get(db, id)


@operation("POST", "/{id:str}/cancel", scope=Scope.PERSONNEL_EVENTS_WRITE, body=CancelBody, read_body=optional_json)
async def cancel_event(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> EventDetail:
    """Cancel a personnel event and its unfinished access requests. Changes that have taken effect stay."""
    await actions.cancel_event(db, caller, known_guid("PersonnelEvent", id), raw, facts)
    return await queries.get(db, id)


@operation("POST", "/{id:str}/comment", scope=Scope.PERSONNEL_EVENTS_WRITE, body=CommentBody)
async def comment_on_event(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> EventDetail:
    """Comment on a personnel event."""
    await actions.comment_on_event(db, caller, known_guid("PersonnelEvent", id), raw, facts)
    return await queries.get(db, id)


@operation("POST", "/preview", scope=Scope.PERSONNEL_EVENTS_READ, body=PreviewBody)
async def preview_event(db: Db, raw: Json, facts: Facts) -> EventPreview:
    """Preview the stages and access requests of an event without storing anything."""
    return await preview(db, raw, await actions.gather_facts(db, raw, facts))


router = Router(
    "/api/personnel-events",
    route_handlers=[onboard, offboard, transition_role, begin_absence, list_events, get_event],
    tags=["Access governance"],
)
administration = Router(
    "/api/personnel-events",
    route_handlers=[preview_event, assign_event, set_return_date, cancel_event, comment_on_event],
    tags=["Administration"],
)
