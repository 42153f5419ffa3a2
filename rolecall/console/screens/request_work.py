"""Handle the forms on the page of a request, and responses to several requests at once."""

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests import actions, model, permitted, queries
from rolecall.access_requests.moving import lock
from rolecall.access_requests.open_access import take_all_turns
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.console import record_access
from rolecall.console.answers import ItemResult, SeeOther, failure, several
from rolecall.console.forms import first, given
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form
from rolecall.console.model import Person
from rolecall.console.rendering import readable
from rolecall.console.request_details import (
    VERBS,
    may_take,
    next_step,
    own_reason,
    pending_reviewers,
    reviewer_for,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound
from rolecall.core.ids import guid, known_guid
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import RequirementType


@screen("POST", "/requests/{id:str}/respond", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def respond(db: Db, person: Person, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await _respond(db, person, id, form, facts)
    return SeeOther(_after(form, id), await _said(db, request, form))


async def _said(db: Db, request: AccessRequestDetail, form: Form) -> str:
    """Return a notice about the effect of the response; the request may still wait for other reviewers."""
    type = RequirementType(first(form, "type"))
    verb = model.RESPONSE_VERBS[type, model.Response(first(form, "response"))]
    still = " still" if request.status == model.AWAITED[type] else ""
    return f"You {verb} request #{request.number}. It{still} {await next_step(db, request)}"


async def _respond(db: Db, person: Person, id: str, form: Form, facts: Facts) -> AccessRequestDetail:
    """Record the response of the signed-in person, for themselves or as a stand-in; a rejection needs a comment."""
    raw = given(form, "type", "response", "comment")
    if raw.get("response") == model.Response.REJECTED and not raw.get("comment"):
        raise Invalid.on("comment", "Give a reason for rejecting the request")
    awaited = next((type for type in RequirementType if type == raw.get("type")), None)
    request = await queries.get(db, id)
    standing = await permitted.standing_of(db, person.id, request.id)
    # If this person responds for none of these reviewers, use their own id: the action then refuses with the reason.
    mine = reviewer_for(person, awaited, pending_reviewers(request, awaited), standing) or person.id
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
        raise NotFound("Action", verb)
    request = await VERBS[verb][0](db, caller, id, given(form, "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} {await next_step(db, request)}")


@screen("POST", "/requests/{id:str}/assign", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def assign(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    standing = await permitted.standing_of(db, caller.id, known_guid("AccessRequest", id))
    if not may_take(standing):
        raise Conflict(f"{own_reason(standing)}, so another person must carry it out")
    request = await actions.assign(db, caller, id, {"assigneeId": str(caller.id)}, facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is assigned to you")


@screen("POST", "/requests/{id:str}/snooze", scope=Scope.ACCESS_REQUESTS_WRITE, limits=RecordType.REQUEST)
async def snooze(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    request = await actions.snooze(db, caller, id, given(form, "until", "comment"), facts)
    return SeeOther(_after(form, id), f"Request #{request.number} is snoozed until {readable(first(form, 'until'))}")


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
    # Take all locks first, in order, to avoid deadlocks between people who respond to several at once.
    known = [each for id in ids if (each := guid(id))]
    await lock(db, known)
    await take_all_turns(db, known)
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
    return ItemResult(f"#{request.number} {await next_step(db, request)}")


def _after(form: Form, id: str) -> str:
    back = first(form, "back")
    return back if back.startswith("/requests") else f"/requests/{id}" if id else "/requests"


HANDLERS: list[HTTPRouteHandler] = [respond_to_several, respond, assign, snooze, comment, perform]
