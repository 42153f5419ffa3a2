from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests import actions, model, queries
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.console.frame import Form, Page, SeeOther, screen
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Invalid, NotFound
from rolecall.settings.policy import RequestAction, RequirementType
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.work_items.model import WorkStatus

_FILTERS = {
    "identityId": a_guid,
    "applicationId": a_guid,
    "status": a_word_of(WorkStatus),
    "type": a_word_of(RequestAction),
    "selected": a_guid,
}
TABS = [None, *WorkStatus]
MILESTONES = {
    "approved_on": "Approved",
    "started_on": "Started",
    "resolved_on": "Resolved",
    "verified_on": "Verified",
    "completed_on": "Completed",
}
# The verbs of a request that need no more than a word: what they are called, and the move they make.
VERBS = {
    "resolve": (actions.resolve, model.RESOLVE),
    "verify": (actions.verify, model.VERIFY),
    "reopen": (actions.reopen, model.REOPEN),
    "resume": (actions.resume, model.RESUME),
    "cancel": (actions.cancel, model.CANCEL),
}


@screen("GET", "/requests", scope=Scope.ACCESS_REQUESTS_READ, query=_FILTERS)
async def show_inbox(db: Db, caller: Caller, query: dict[str, Any]) -> Page:
    page = await queries.newest_first(
        db,
        query["page"],
        identity_id=query.get("identityId"),
        application_id=query.get("applicationId"),
        status=query.get("status"),
        action=query.get("type"),
    )
    chosen: UUID | None = query.get("selected") or (page.items[0].id if page.items else None)
    return Page(
        "requests.html",
        {
            "page": page,
            "query": query,
            "tabs": TABS,
            "actions": list(RequestAction),
            "chosen": chosen,
            **(_shown(await queries.get(db, chosen), caller) if chosen else {"request": None}),
        },
    )


@screen("GET", "/requests/{id:str}", scope=Scope.ACCESS_REQUESTS_READ)
async def show_request(db: Db, caller: Caller, id: str) -> Page:
    return Page("request.html", _shown(await queries.get(db, id), caller))


def _shown(request: AccessRequestDetail, caller: Caller) -> dict[str, Any]:
    return {
        "request": request,
        "milestones": MILESTONES,
        "verbs": {name: WorkStatus(request.status) in move.allowed for name, (_, move) in VERBS.items()},
        "asked": _asked(request, caller),
        "is_open": WorkStatus(request.status) is WorkStatus.OPEN,
    }


def _asked(request: AccessRequestDetail, caller: Caller) -> RequirementType | None:
    """What this person is asked to respond to now."""
    awaited = {status: type for type, status in model.AWAITED.items()}.get(WorkStatus(request.status))
    reviewers = {
        answer.reviewer.id
        for requirement in request.requirements
        if requirement.type == awaited
        for rule in requirement.rules
        for answer in rule.responses
        if answer.response == model.Response.PENDING
    }
    return awaited if caller.id in reviewers else None


@screen("POST", "/requests/{id:str}/respond", scope=Scope.ACCESS_REQUESTS_WRITE)
async def respond(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    raw = _given(form, "type", "response", "comment")
    if raw.get("response") == model.Response.REJECTED and not raw.get("comment"):
        raise Invalid.on("comment", "Say why you reject it")
    request = await actions.respond(db, caller, id, raw, facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is {request.status}")


@screen("POST", "/requests/{id:str}/{verb:str}", scope=Scope.ACCESS_REQUESTS_WRITE)
async def perform(db: Db, caller: Caller, id: str, verb: str, form: Form, facts: Facts) -> SeeOther:
    if verb not in VERBS:
        raise NotFound("Verb", verb)
    request = await VERBS[verb][0](db, caller, id, _given(form, "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is {request.status}")


@screen("POST", "/requests/{id:str}/assign", scope=Scope.ACCESS_REQUESTS_WRITE)
async def assign_to_me(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await actions.assign(db, caller, id, {"assigneeId": str(caller.id)}, facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is yours")


@screen("POST", "/requests/{id:str}/snooze", scope=Scope.ACCESS_REQUESTS_WRITE)
async def snooze(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await actions.snooze(db, caller, id, _given(form, "until", "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} rests until {form['until'][0]}")


@screen("POST", "/requests/{id:str}/comment", scope=Scope.ACCESS_REQUESTS_WRITE)
async def comment(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    await actions.comment(db, caller, id, _given(form, "content"), facts)
    return SeeOther(_after(form, id), "Your comment is there")


@screen("POST", "/requests/respond", scope=Scope.ACCESS_REQUESTS_WRITE)
async def respond_to_several(db: Db, caller: Caller, form: Form, facts: Facts) -> SeeOther:
    """Each on its own: what one refuses does not undo the others."""
    results = []
    for id in form.get("id", []):
        try:
            async with db.transaction():
                request = await actions.respond(db, caller, id, _given(form, "type", "response", "comment"), facts)
            results.append(f"#{request.number} {request.status}")
        except (Invalid, Conflict) as error:
            found = await queries.get(db, id)
            message = error.problems[0].message if isinstance(error, Invalid) else str(error)
            results.append(f"#{found.number} unchanged: {message}")
    return SeeOther(_after(form, ""), "; ".join(results) or "Choose at least one request")


def _given(form: Form, *names: str) -> Json:
    return {name: form[name][0] for name in names if form.get(name, [""])[0].strip()}


def _after(form: Form, id: str) -> str:
    back = form.get("back", [""])[0]
    return back if back.startswith("/requests") else f"/requests/{id}" if id else "/requests"


HANDLERS: list[HTTPRouteHandler] = [
    show_inbox,
    show_request,
    respond_to_several,
    respond,
    assign_to_me,
    snooze,
    comment,
    perform,
]
