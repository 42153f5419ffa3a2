"""Preview the stages and requests of an event without storing anything."""

from collections.abc import Sequence

from rolecall.access_requests import separation
from rolecall.access_requests.model import NewRequest, TargetType
from rolecall.access_requests.shapes import RequestConflict
from rolecall.accounts.model import Access
from rolecall.applications import queries as applications
from rolecall.applications.shapes import ApplicationSummary
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db
from rolecall.duties.prevention import PotentialConflict
from rolecall.identities import actions as identities
from rolecall.personnel_events.model import Period, plan
from rolecall.personnel_events.planning import EventDates, planned_requests
from rolecall.personnel_events.shapes import (
    BODIES,
    AbsenceBody,
    EventBody,
    EventPreview,
    EventTypeBody,
    OnboardBody,
    PreviewPrivilege,
    PreviewTarget,
    RequestPreview,
    RoleTransitionBody,
)
from rolecall.personnel_events.situations import situation_of
from rolecall.settings.policy import EventType, Level


async def preview(db: Db, raw: Json, facts: Facts) -> EventPreview:
    # The type determines how the rest of the body is checked.
    type = check(EventTypeBody, raw, facts).type
    body = check(BODIES[type], raw, facts)
    end_date = body.end_date if isinstance(body, AbsenceBody) else None
    # Create the new identity and roll it back, so that access models match it like a stored one.
    async with db.transaction(force_rollback=True):
        planned = await _planned(db, type, body, EventDates(body.effective_date, end_date), facts)
        allowed = await separation.allowed_of_event(db, planned)
    shown = await applications.summaries(db, {request.application_id for request in allowed.requests})
    return EventPreview(
        stages=plan(type, Period(body.effective_date, end_date, facts.zone), facts.approval_lead_days),
        access_requests=[
            _shown(request, shown[request.application_id], separation.shown(found))
            for request, found in zip(allowed.requests, allowed.conflicts, strict=True)
        ],
        left_out=allowed.left_out,
    )


async def _planned(db: Db, type: EventType, body: EventBody, dates: EventDates, facts: Facts) -> list[NewRequest]:
    changes = body.identity if isinstance(body, RoleTransitionBody) else None
    if isinstance(body, OnboardBody):
        identity_id = await identities.create_identity(db, body.identity, facts.now)
    else:
        identity_id = body.identity_id
    situation = await situation_of(
        db,
        type,
        identity_id,
        identities.columns_of(changes) if changes else {},
        identities.custom_fields(changes) if changes else {},
    )
    return planned_requests(type, identity_id, dates, situation)


def _shown(
    request: NewRequest, application: ApplicationSummary, conflicts: Sequence[PotentialConflict]
) -> RequestPreview:
    privileges = [
        PreviewPrivilege(
            initial_access=privilege.initial_access or Access.NONE,
            requested_access=privilege.requested_access,
            header=privilege.header,
            section=privilege.section,
            permission=privilege.permission,
            description=privilege.description,
            risk_rating=privilege.risk_rating or Level.CRITICAL,
        )
        for privilege in request.privileges
    ]
    target = PreviewTarget(TargetType.USER, request.target_name or "", application, privileges)
    would = [RequestConflict(each.rule_id, each.rule, each.risk, each.response, each.duties) for each in conflicts]
    return RequestPreview(request.action, target, request.scheduled_start, would)
