from calendar import Calendar
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.console import queries as console
from rolecall.console import record_access
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.finding import known_departments
from rolecall.console.forms import (
    first,
    given,
    person_filter,
    problems_by_field,
    put,
    shown,
    visible_label,
    with_people,
)
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import FIRST_YEAR, LAST_YEAR, Form, some_words
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.ids import guid, known_guid
from rolecall.core.paging import totals_by
from rolecall.identities.authority import RecordType, may
from rolecall.identities.model import IdentityType
from rolecall.personnel_events import actions, previewing, queries
from rolecall.personnel_events.model import FINISHED
from rolecall.personnel_events.permitted import NOT_INVOLVED, EventVerb, refusal_of, require_own_people
from rolecall.personnel_events.shapes import EventPreview
from rolecall.settings import queries as settings
from rolecall.settings.model import CUSTOM_FIELDS
from rolecall.settings.policy import EventType
from rolecall.web.bodies import Reader, a_guid, a_word_of
from rolecall.work_items.model import WorkStatus

_FILTERS = {"type": a_word_of(EventType), "status": a_word_of(WorkStatus), "identityId": a_guid, "person": some_words}
_PERSON = ("firstName", "lastName", "email", "title", "department", "division", "company", "office", "supervisorId")
_IDENTITY = tuple(
    f"identity.{name}" for name in (*_PERSON, "identityType", *(f"customField{n}" for n in CUSTOM_FIELDS))
)
# The action and the form fields of each type of event.
KINDS = {
    EventType.ONBOARD: (actions.onboard, ("effectiveDate", "comment", *_IDENTITY)),
    EventType.OFFBOARD: (actions.offboard, ("identityId", "effectiveDate", "comment")),
    EventType.ROLE_TRANSITION: (
        actions.transition_role,
        ("identityId", "effectiveDate", "endDate", "comment", *_IDENTITY),
    ),
    EventType.ABSENCE: (actions.begin_absence, ("identityId", "effectiveDate", "endDate", "comment")),
}
# The action of each verb, the fields of its form, and the notice that is shown afterwards.
VERBS = {
    EventVerb.ASSIGN: (actions.assign_event, ("assigneeId",), "The event is assigned to you"),
    EventVerb.RETURN_DATE: (actions.set_return_date, ("endDate",), "The return date is set"),
    EventVerb.CANCEL: (actions.cancel_event, ("comment",), "The event is canceled"),
    EventVerb.COMMENT: (actions.comment_on_event, ("content",), "Your comment was added"),
}


@screen("GET", "/events", scope=Scope.PERSONNEL_EVENTS_READ, limits=OWN, query=_FILTERS)
async def show_events(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    who = await person_filter(db, query, caller)
    filters: dict[str, Any] = {"identity_id": who.id, "type": query.get("type"), "status": query.get("status")}
    page = await (
        queries.concerning(db, query["page"], caller.id, **filters)
        if caller.is_limited
        else queries.by_effective_date(db, query["page"], **filters)
    )
    # Show no totals to people who see only their own records, because totals include the events of everyone.
    counts = {} if caller.is_limited else await totals_by(db, "personnel_events", "status", list(WorkStatus))
    values = {
        "page": page,
        "query": query,
        "types": list(EventType),
        "who": who,
        "tabs": [None, *WorkStatus],
        "counts": counts,
    }
    return HtmlPage("events.html", values)


def _month(text: str) -> date:
    """Parse a month. The year is limited, so that the previous and the next month are valid in every time zone."""
    try:
        month = date.fromisoformat(f"{text}-01")
    except ValueError:
        month = date.min
    if not FIRST_YEAR <= month.year <= LAST_YEAR:
        raise ValueError("must be a month such as 2030-01")
    return month


@screen("GET", "/events/calendar", scope=Scope.PERSONNEL_EVENTS_READ, limits=OWN, query={"month": Reader(_month, {})})
async def show_calendar(db: Db, caller: Caller, query: dict[str, Any], now: datetime, config: Config) -> HtmlPage:
    today = now.astimezone(config.timezone).date()
    month = query.get("month") or today.replace(day=1)
    weeks = Calendar().monthdatescalendar(month.year, month.month)
    begin, end = (datetime.combine(day, time(), config.timezone) for day in (weeks[0][0], weeks[-1][-1]))
    by_day: dict[date, list[console.EventOfDay]] = {}
    since, until = begin.astimezone(UTC), (end + timedelta(days=1)).astimezone(UTC)
    for event in await console.events_between(db, since, until, caller):
        by_day.setdefault(clock.local(event.needed_on, config.timezone).date(), []).append(event)
    # The page uses only the month and the year of these days.
    around = {"before": month - timedelta(days=1), "after": month + timedelta(days=31)}
    return HtmlPage("calendar.html", {"month": month, "weeks": weeks, "events": by_day, "today": today, **around})


@screen("GET", "/events/new", scope=Scope.PERSONNEL_EVENTS_WRITE, limits=OWN, query=_FILTERS)
async def show_form(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    label = await visible_label(db, caller, query.get("identityId"))
    return await _form(db, caller, query.get("type") or EventType.ONBOARD, {"identityId": [label]} if label else {})


async def _form(
    db: Db,
    caller: Caller,
    type: EventType,
    form: Form,
    problems: dict[str, str] | None = None,
    preview: EventPreview | None = None,
) -> HtmlPage:
    fields = KINDS[type][1]
    return HtmlPage(
        "event_form.html",
        {
            "type": type,
            "types": list(EventType),
            "fields": fields,
            "form": shown(form),
            "problems": problems or {},
            "preview": preview,
            "departments": await known_departments(db, caller),
            "identity_types": list(IdentityType),
            "custom_fields": [field for field in (await settings.get(db)).custom_fields if field.enabled],
        },
        400 if problems else 200,
    )


@screen("POST", "/events/new", scope=Scope.PERSONNEL_EVENTS_WRITE, limits=OWN)
async def create_event(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    type = next((kind for kind in EventType if kind == first(form, "type")), EventType.ONBOARD)
    create, fields = KINDS[type]
    try:
        async with db.transaction():
            named = await with_people(db, form, "identityId", "identity.supervisorId", caller=caller)
            raw = given(named, *fields)
            # An empty id removes the supervisor; `given` leaves out empty fields.
            if first(form, "noSupervisor") and not first(form, "identity.supervisorId"):
                put(raw, "identity.supervisorId", "")
            if first(form, "preview"):
                # A preview can reveal the access of a person, so it needs the same right as the event.
                await require_own_people(db, caller, guid(raw.get("identityId")))
                known = await actions.gather_facts(db, raw, facts)
                shown_plan = await previewing.preview(db, {**raw, "type": type}, known)
                return await _form(db, caller, type, form, preview=shown_plan)
            id = await create(db, caller, raw, facts)
    except Invalid as error:
        return await _form(db, caller, type, form, problems_by_field(error))
    start = (await queries.get(db, id)).stages[0].scheduled_start
    is_later = start is not None and start > facts.now
    when = f"are created on {start.astimezone(facts.zone):%-d %B %Y}" if start and is_later else "follow in a moment"
    return SeeOther(f"/events/{id}", f"{type} is scheduled. Its requests {when}.")


@screen("GET", "/events/{id:str}", scope=Scope.PERSONNEL_EVENTS_READ, limits=RecordType.EVENT)
async def show_event(db: Db, id: str, caller: Caller) -> HtmlPage:
    event = await queries.get(db, id)
    affected, reporter = event.affected_identity.id, event.reporter.id
    refused = {
        verb: await refusal_of(db, verb, caller, identity_id=affected, reporter_id=reporter) for verb in EventVerb
    }
    by_relation = caller.is_limited or Scope.PERSONNEL_EVENTS_WRITE in caller.own_scopes
    acting = msgspec.structs.replace(caller, is_limited=by_relation)
    record = await record_access.record_for(db, acting, RecordType.EVENT, event.id)
    refused |= {verb: NOT_INVOLVED for verb in EventVerb if not may(acting, verb, record)}
    scopes = await record_access.scopes_on(db, caller, RecordType.EVENT, event.id)
    values = {"event": event, "is_over": event.status in FINISHED, "refused": refused, "may": scopes}
    return HtmlPage("event.html", values)


_OPERATIONS: dict[str, str] = {verb: act.__name__ for verb, (act, *_) in VERBS.items()}


@screen(
    "POST",
    "/events/{id:str}/{verb:str}",
    scope=Scope.PERSONNEL_EVENTS_WRITE,
    limits=RecordType.EVENT,
    verbs=_OPERATIONS,
)
async def perform(db: Db, caller: Caller, id: str, verb: str, form: Form, facts: Facts) -> SeeOther:
    if verb not in VERBS:
        raise NotFound("Action", verb)
    act, fields, notice = VERBS[EventVerb(verb)]
    if verb == EventVerb.ASSIGN and not first(form, "assigneeId"):
        form = {"assigneeId": [str(caller.id)]}
    raw = given(await with_people(db, form, "assigneeId", caller=caller), *fields)
    await act(db, caller, known_guid("PersonnelEvent", id), raw, facts)
    return SeeOther(f"/events/{id}", notice)


HANDLERS: list[HTTPRouteHandler] = [show_events, show_calendar, show_form, create_event, show_event, perform]
