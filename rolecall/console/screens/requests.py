from datetime import datetime
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests import actions, model, permitted, queries, requests_of_person
from rolecall.access_requests.moving import lock
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.console import overview, record_access
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, ItemResult, SeeOther, failure, several
from rolecall.console.forms import (
    first,
    given,
    permission_in,
    person_filter,
    problems_by_field,
    shown,
    visible_label,
    with_people,
)
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form, some_words
from rolecall.console.model import Person
from rolecall.console.picking import FoundAccess, access_as, access_like, is_searched, with_lines
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound
from rolecall.core.ids import guid
from rolecall.core.paging import totals_by
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import RequestAction, RequirementType
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.webhooks import queries as webhooks
from rolecall.work_items.model import WorkStatus

_FILTERS = {
    "identityId": a_guid,
    "person": some_words,
    "applicationId": a_guid,
    "status": a_word_of(WorkStatus),
    "type": a_word_of(RequestAction),
    "asks": a_word_of(RequirementType),
    "selected": a_guid,
}
_AWAITED: dict[WorkStatus | None, RequirementType] = {status: type for type, status in model.AWAITED.items()}
# The tabs of requests that wait for this person.
ASKS = {
    RequirementType.APPROVE: "To approve",
    RequirementType.RESOLVE: "To provision",
    RequirementType.VERIFY: "To verify",
}
TO_DO = {
    RequirementType.APPROVE: "approve it",
    RequirementType.RESOLVE: "provision it",
    RequirementType.VERIFY: "verify it",
}
DONE_BY = {
    RequirementType.APPROVE: "approved it",
    RequirementType.RESOLVE: "provisioned it",
    RequirementType.VERIFY: "verified it",
}
# The verbs of a request without fields: the action and the move of each.
VERBS = {
    "resolve": (actions.resolve, model.RESOLVE),
    "verify": (actions.verify, model.VERIFY),
    "reopen": (actions.reopen, model.REOPEN),
    "resume": (actions.resume, model.RESUME),
    "cancel": (actions.cancel, model.CANCEL),
}


@screen("GET", "/requests", scope=Scope.ACCESS_REQUESTS_READ, limits=OWN, query=_FILTERS)
async def show_inbox(db: Db, person: Person, query: dict[str, Any], is_fragment: bool) -> HtmlPage:
    who = await person_filter(db, query, person.caller())
    page = await _listed(db, person, query, who.id)
    ids = [item.id for item in page.items]
    verb = query.get("asks") or _AWAITED.get(query.get("status"))
    chosen: UUID | None = query.get("selected") or (ids[0] if ids else None)
    if chosen and chosen not in ids:
        await record_access.require(db, person.caller(), RecordType.REQUEST, str(chosen))
    values = {
        "page": page,
        "query": query,
        "answerable": await _answerable(db, person, verb, ids),
        "chosen": chosen,
        "next": _next(ids, chosen),
        **(await _shown(db, await queries.get(db, chosen), person) if chosen else {"request": None}),
    }
    if is_fragment and chosen:
        return HtmlPage("request_detail.html", values)
    around = {
        "beside": await overview.beside(db, ids),
        "asks": ASKS,
        "statuses": [(each, each) for each in WorkStatus] if person.is_limited else await _statuses(db),
        "is_cut": person.is_limited and page.total_count == requests_of_person.MOST_LISTED,
        "actions": list(RequestAction),
        "who": who,
        "applications": [(one.id, one.name) for one in await console.live_applications(db)],
        "verb": verb,
    }
    return HtmlPage("requests.html", values | around)


async def _listed(db: Db, person: Person, query: dict[str, Any], identity_id: UUID | None) -> Any:
    if query.get("asks"):
        return await overview.asking(db, person, query["asks"], query["page"])
    filters: dict[str, Any] = {
        "identity_id": identity_id,
        "application_id": query.get("applicationId"),
        "status": query.get("status"),
        "action": query.get("type"),
    }
    if person.is_limited:
        return await requests_of_person.concerning(db, query["page"], person.caller(), **filters)
    return await queries.newest_first(db, query["page"], **filters)


async def _answerable(db: Db, person: Person, type: RequirementType | None, ids: list[UUID]) -> set[UUID]:
    """Return the listed requests that can be selected: those that await a response of this type from this person."""
    if type is None or Scope.ACCESS_REQUESTS_WRITE not in person.caller().scopes:
        return set()
    return await overview.asked_among(db, person, type, ids)


async def _statuses(db: Db) -> list[tuple[str, str]]:
    """Offer each status with the number of requests that have it."""
    counts = await totals_by(db, "access_requests", "status", list(WorkStatus))
    return [(status, f"{status} ({counts[status]:,})") for status in WorkStatus]


def _next(ids: list[UUID], chosen: UUID | None) -> UUID | None:
    """Return the request to show once the chosen one is answered."""
    after = ids[ids.index(chosen) + 1 :] if chosen in ids else ids
    return next(iter(after), None)


@screen("GET", "/requests/waiting", scope=Scope.ACCESS_REQUESTS_READ)
async def show_waiting(db: Db, query: dict[str, Any], now: datetime) -> HtmlPage:
    return HtmlPage("waiting.html", {"page": await queries.stalled(db, query["page"], now), "query": query})


@screen(
    "GET",
    "/requests/new",
    scope=Scope.ACCESS_REQUESTS_WRITE,
    limits=OWN,
    query={"identityId": a_guid, "applicationId": a_guid, "action": a_word_of(RequestAction), "privileges": some_words},
)
async def show_form(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    label = await visible_label(db, caller, query.get("identityId") or (caller.id if caller.is_limited else None))
    named = {"applicationId": "", "action": "", "privileges": ""}
    form = {name: [str(query.get(name) or nothing)] for name, nothing in named.items()}
    return await _form(db, {"identityId": [label], **form}, {})


async def _form(db: Db, form: Form, problems: dict[str, str], found: FoundAccess | None = None) -> HtmlPage:
    values = {
        "form": shown(form),
        "problems": problems,
        "found": found,
        "actions": list(RequestAction),
        "applications": await console.live_applications(db),
    }
    return HtmlPage("request_form.html", values, 400 if problems else 200)


async def _find_access(db: Db, caller: Caller, form: Form) -> HtmlPage:
    """Show the form again with the groups and permissions that were searched for."""
    application, person, words = guid(first(form, "applicationId")), first(form, "sameAs"), first(form, "find")
    try:
        found = await (
            access_as(db, application, "sameAs", person, caller) if person else access_like(db, application, words)
        )
    except Invalid as error:
        return await _form(db, form, problems_by_field(error))
    return await _form(db, {**form, "find": [""], "sameAs": [""]}, {}, found)


@screen("POST", "/requests/new", scope=Scope.ACCESS_REQUESTS_WRITE, limits=OWN)
async def create_access_request(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    form = {**form, "privileges": [with_lines(first(form, "privileges"), form.get("pick", []))]}
    if first(form, "search") or is_searched(form) or first(form, "sameAs"):
        return await _find_access(db, caller, form)
    try:
        async with db.transaction():
            named = await with_people(db, form, "identityId", caller=caller)
            raw = given(named, "action", "applicationId", "identityId", "scheduledStart", "comment")
            raw["privileges"] = [permission_in(line) for line in first(form, "privileges").splitlines() if line.strip()]
            request = await actions.request_access(db, caller, raw, facts)
    except Invalid as error:
        return await _form(db, form, problems_by_field(error))
    return SeeOther(f"/requests/{request.id}", f"Request #{request.number} is {request.status}")


@screen("GET", "/requests/{id:str}", scope=Scope.ACCESS_REQUESTS_READ, limits=RecordType.REQUEST)
async def show_request(db: Db, person: Person, id: str) -> HtmlPage:
    return HtmlPage("request.html", await _shown(db, await queries.get(db, id), person))


async def _shown(db: Db, request: AccessRequestDetail, person: Person) -> dict[str, Any]:
    status = WorkStatus(request.status)
    awaited = _AWAITED.get(status)
    sees_hooks = Scope.WEBHOOKS_MANAGE in person.caller().scopes
    deliveries = await webhooks.newest_first(db, 1, access_request_id=request.id) if sees_hooks else None
    waits_for = _waits_for(request, awaited)
    target = request.target.affected_identity
    standing = await permitted.standing_of(db, person.id, request.id)
    verbs = {name: _why_not(move, status, standing) for name, (_, move) in VERBS.items()}
    mine = _mine(person, awaited, waits_for, standing)
    may_respond = awaited and mine and not permitted.response_refusal(standing, person.caller(), awaited, mine)
    return {
        "request": request,
        "sees_person": target is None or await record_access.sees(db, person.caller(), RecordType.PERSON, target.id),
        "conflicts": await queries.conflicts_of(db, request.id),
        "milestones": _milestones(request, awaited),
        "to_do": TO_DO,
        "done_by": DONE_BY,
        "verbs": verbs,
        "awaited": awaited,
        "asked": awaited if may_respond else None,
        "is_alone": standing.is_alone and not standing.is_independent(mine),
        "stands_in_for": waits_for.get(mine) if mine and (mine, awaited) in person.caller().stands_in_for else None,
        "is_own": person.id in (request.reporter.id, target and target.id),
        "waits_for": list(waits_for.values()),
        "may_snooze": not _why_not(model.SNOOZE, status, standing),
        "may_assign": not _why_not(model.ASSIGN, status, standing),
        "refused": _refused(status, standing),
        "is_over": status in (WorkStatus.COMPLETED, WorkStatus.CANCELED),
        "rejecting": False,
        "deliveries": deliveries.items if deliveries else [],
    }


def _mine(
    person: Person, awaited: RequirementType | None, asked: dict[UUID, str], standing: permitted.Standing
) -> UUID | None:
    """Return the reviewer for whom the person responds: themselves if they are asked, else the first who allows it."""
    if awaited is None:
        return None
    mine = [id for id in person.answers_as(awaited) if id in asked]
    allowed = [id for id in mine if not permitted.response_refusal(standing, person.caller(), awaited, id)]
    return next(iter(allowed or mine), None)


def _milestones(
    request: AccessRequestDetail, awaited: RequirementType | None
) -> list[tuple[str, datetime | None, str, bool]]:
    """List the steps of a request: its name, when it was reached, who is next, and whether it is the current one."""
    is_over = request.canceled_on is not None
    steps = {
        RequirementType.APPROVE: ("Approved", request.approved_on),
        RequirementType.RESOLVE: ("Provisioned", request.resolved_on),
        RequirementType.VERIFY: ("Verified", request.verified_on),
    }
    named = {type: " or ".join(_waits_for(request, type).values()) for type in steps}
    asked = min((entry.created_date for entry in request.activity), default=None)
    return [
        ("Requested", asked, "", False),
        *(
            (name, moment, "" if is_over else named[type] or "not required", type == awaited)
            for type, (name, moment) in steps.items()
        ),
        ("Completed", request.completed_on, "" if is_over else "not yet", False),
    ]


def _why_not(move: model.Move, status: WorkStatus, standing: permitted.Standing) -> str | None:
    """Return why an action is unavailable: the refusal, or the statuses in which it is available."""
    if status in move.allowed:
        return permitted.refusal(standing, move)
    return f"Available while the request is {' or '.join(s.lower() for s in WorkStatus if s in move.allowed)}"


def _refused(status: WorkStatus, standing: permitted.Standing) -> dict[str, list[str]]:
    """Group the actions that the status allows and this person may not take, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, (_, move) in VERBS.items():
        if status in move.allowed and (reason := permitted.refusal(standing, move)):
            reasons.setdefault(reason, []).append(name)
    return reasons


def _waits_for(request: AccessRequestDetail, awaited: RequirementType | None) -> dict[UUID, str]:
    """Return the pending reviewers of rules that are not met yet."""
    return {
        answer.reviewer.id: answer.reviewer.name
        for requirement in request.requirements
        if requirement.type == awaited
        for rule in requirement.rules
        if all(answer.response != model.Response.APPROVED for answer in rule.responses)
        for answer in rule.responses
        if answer.response == model.Response.PENDING
    }


@screen("POST", "/requests/{id:str}/respond", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def respond(db: Db, person: Person, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await _respond(db, person, id, form, facts)
    return SeeOther(_after(form, id), _said(request, form))


def _said(request: AccessRequestDetail, form: Form) -> str:
    """Say what the response did; a request may still wait for other reviewers."""
    type = RequirementType(first(form, "type"))
    verb = model.RESPONSE_VERBS[type, model.Response(first(form, "response"))]
    others = _waits_for(request, type).values() if request.status == model.AWAITED[type] else []
    after = f"It still waits for {', '.join(others)}" if others else f"It is {request.status}"
    return f"You {verb} request #{request.number}. {after}"


async def _respond(db: Db, person: Person, id: str, form: Form, facts: Facts) -> AccessRequestDetail:
    """Record the response of the signed-in person, and ignore any other reviewer in the form."""
    raw = given(form, "type", "response", "comment")
    if raw.get("response") == model.Response.REJECTED and not raw.get("comment"):
        raise Invalid.on("comment", "Give a reason for rejecting the request")
    awaited = next((type for type in RequirementType if type == raw.get("type")), None)
    request = await queries.get(db, id)
    standing = await permitted.standing_of(db, person.id, request.id)
    mine = _mine(person, awaited, _waits_for(request, awaited), standing) or person.id
    return await actions.respond(db, person.caller(), id, {**raw, "reviewerId": str(mine)}, facts)


_OPERATIONS = {verb: act.__name__ for verb, (act, *_) in VERBS.items()}


@screen(
    "POST",
    "/requests/{id:str}/{verb:str}",
    scope=Scope.ACCESS_REQUESTS_WRITE,
    limits=RecordType.REQUEST,
    verbs=_OPERATIONS,
)
async def perform(db: Db, caller: Caller, id: str, verb: str, form: Form, facts: Facts) -> SeeOther:
    if verb not in VERBS:
        raise NotFound("Verb", verb)
    request = await VERBS[verb][0](db, caller, id, given(form, "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is {request.status}")


@screen("POST", "/requests/{id:str}/assign", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def assign(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await actions.assign(db, caller, id, {"assigneeId": str(caller.id)}, facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is assigned to you")


@screen("POST", "/requests/{id:str}/snooze", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def snooze(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await actions.snooze(db, caller, id, given(form, "until", "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is snoozed until {form['until'][0]}")


@screen("POST", "/requests/{id:str}/comment", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def comment(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    await actions.comment(db, caller, id, given(form, "content"), facts)
    return SeeOther(_after(form, id), "Your comment was added")


@screen("POST", "/requests/respond", scope=Scope.ACCESS_REQUESTS_WRITE, limits=OWN)
async def respond_to_several(db: Db, person: Person, form: Form, facts: Facts) -> SeeOther:
    """Respond to each request on its own; a failure does not roll back the others."""
    ids = form.get("id", [])
    if not ids:
        raise Invalid.on("id", "Select at least one request")
    await lock(db, [known for id in ids if (known := guid(id))])
    return several(_after(form, ""), [await _respond_to_one(db, person, id, form, facts) for id in ids])


async def _respond_to_one(db: Db, person: Person, id: str, form: Form, facts: Facts) -> ItemResult:
    try:
        await record_access.require(db, person.caller(), RecordType.REQUEST, id)
        request = await queries.get(db, id)
    except NotFound as error:
        return ItemResult(str(error), failed=True)
    try:
        async with db.transaction():
            request = await _respond(db, person, id, form, facts)
    except (Invalid, Conflict, Forbidden) as error:
        return failure(f"#{request.number}", error)
    return ItemResult(f"#{request.number} is {request.status}")


def _after(form: Form, id: str) -> str:
    back = first(form, "back")
    return back if back.startswith("/requests") else f"/requests/{id}" if id else "/requests"


HANDLERS: list[HTTPRouteHandler] = [
    show_inbox,
    show_waiting,
    show_form,
    create_access_request,
    show_request,
    respond_to_several,
    respond,
    assign,
    snooze,
    comment,
    perform,
]
