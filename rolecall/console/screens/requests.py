from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from psycopg import Rollback

from rolecall.access_requests import actions, queries, requests_of_person
from rolecall.access_requests.request_body import problems_without_target
from rolecall.access_requests.shapes import AccessRequestDetail, Privilege, RequestConflict
from rolecall.carriers import queries as carriers
from rolecall.console import finding, overview, record_access
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
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
from rolecall.console.picking import FoundAccess, access_as, access_like, is_searched, with_held, with_lines
from rolecall.console.request_details import AWAITED, next_step, shown_request
from rolecall.console.streams import changes, stream_response
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db, Pool
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid, known_guid
from rolecall.core.paging import totals_by
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import RequestAction, RequirementType
from rolecall.web.bodies import AnyRequest, a_guid, a_word_of
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
# The tabs with requests that wait for this person.
ASKS = {
    RequirementType.APPROVE: "To approve",
    RequirementType.RESOLVE: "To provision",
    RequirementType.VERIFY: "To verify",
}


@screen("GET", "/requests", scope=Scope.ACCESS_REQUESTS_READ, limits=OWN, query=_FILTERS)
async def show_inbox(db: Db, person: Person, query: dict[str, Any], is_fragment: bool) -> HtmlPage:
    who = await person_filter(db, query, person.caller())
    page = await _listed(db, person, query, who.id)
    ids = [item.id for item in page.items]
    verb = query.get("asks") or AWAITED.get(query.get("status"))
    chosen: UUID | None = query.get("selected") or (ids[0] if ids else None)
    # A link can select a request that this page of the list does not contain.
    if chosen and chosen not in ids:
        await record_access.require(db, person.caller(), RecordType.REQUEST, str(chosen))
    values = {
        "page": page,
        "query": query,
        "answerable": await _answerable(db, person, verb, ids),
        "chosen": chosen,
        "next": _next(ids, chosen),
        **(await shown_request(db, await queries.get(db, chosen), person) if chosen else {"request": None}),
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
    """Return which listed requests can be selected, because they await a response of this type from this person."""
    if type is None or Scope.ACCESS_REQUESTS_WRITE not in person.caller().scopes:
        return set()
    return await overview.asked_among(db, person, type, ids)


async def _statuses(db: Db) -> list[tuple[str, str]]:
    """Return the statuses as choices, each with the number of its requests."""
    counts = await totals_by(db, "access_requests", "status", list(WorkStatus))
    return [(status, f"{status} ({counts[status]:,})") for status in WorkStatus]


def _next(ids: list[UUID], chosen: UUID | None) -> UUID | None:
    """Return the request to show after a response: the one after `chosen` or, if `chosen` is not listed, the first."""
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


async def _form(
    db: Db,
    form: Form,
    problems: dict[str, str],
    found: FoundAccess | None = None,
    conflicts: Sequence[RequestConflict] = (),
    unchanged: Sequence[Privilege] = (),
) -> HtmlPage:
    values = {
        "conflicts": conflicts,
        "unchanged": unchanged,
        "confirmations": _confirmations(form, conflicts, unchanged),
        "form": shown(form),
        "problems": problems,
        "found": found,
        "actions": list(RequestAction),
        "applications": await console.live_applications(db),
    }
    return HtmlPage("request_form.html", values, 400 if problems else 200)


async def _find_access(db: Db, caller: Caller, form: Form) -> HtmlPage:
    """Show the form again with the groups and permissions that the search found."""
    application, person, words = guid(first(form, "applicationId")), first(form, "sameAs"), first(form, "find")
    try:
        found = await (
            access_as(db, application, "sameAs", person, caller) if person else access_like(db, application, words)
        )
    except Invalid as error:
        return await _form(db, form, problems_by_field(error))
    # While the person is missing or unknown, no choice is marked as held.
    with suppress(Invalid):
        about = UUID(await finding.the_person(db, "identityId", first(form, "identityId"), caller))
        found = await with_held(db, found, application, about)
    # Empty the search fields: with a person in `sameAs`, sending the form would search again and create no request.
    return await _form(db, {**form, "find": [""], "sameAs": [""]}, {}, found)


async def _request_access(db: Db, caller: Caller, form: Form, facts: Facts) -> AccessRequestDetail:
    """Create the request; report a missing or unknown person together with the problems of the other fields."""
    raw = given(form, "action", "applicationId", "scheduledStart", "comment")
    raw["privileges"] = [permission_in(line) for line in first(form, "privileges").splitlines() if line.strip()]
    try:
        if not first(form, "identityId"):
            raise Invalid.on("identityId", "Person is required")
        named = await with_people(db, form, "identityId", caller=caller)
    except Invalid as error:
        others = await problems_without_target(db, raw, facts)
        raise Invalid(*error.problems, *others) from None
    return await actions.request_access(db, caller, raw | given(named, "identityId"), facts)


@screen("POST", "/requests/new", scope=Scope.ACCESS_REQUESTS_WRITE, limits=OWN)
async def create_access_request(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    form = {**form, "privileges": [with_lines(first(form, "privileges"), form.get("pick", []))]}
    if first(form, "search") or is_searched(form) or first(form, "sameAs"):
        return await _find_access(db, caller, form)
    would, unchanged = list[RequestConflict](), list[Privilege]()
    try:
        async with db.transaction() as made:
            request = await _request_access(db, caller, form, facts)
            would = (await queries.conflicts_of(db, request.id)).conflicts
            unchanged = _unchanged(request)
            # Undo a request that would create conflicts or change nothing, unless the person has confirmed this.
            if not _is_confirmed(form, would, unchanged):
                raise Rollback(made)
    except Invalid as error:
        return await _form(db, form, problems_by_field(error))
    if not _is_confirmed(form, would, unchanged):
        return await _form(db, form, {}, conflicts=would, unchanged=unchanged)
    return SeeOther(f"/requests/{request.id}", f"Request #{request.number} was sent. It {await next_step(db, request)}")


def _unchanged(request: AccessRequestDetail) -> list[Privilege]:
    """Return the privileges of the request if it changes none of them, otherwise an empty list."""
    changes = any(each.initial_access != each.requested_access for each in request.target.privileges)
    return [] if changes else request.target.privileges


def _is_confirmed(form: Form, conflicts: Sequence[RequestConflict], unchanged: Sequence[Privilege]) -> bool:
    return _confirmations(form, conflicts, unchanged) <= set(form.get("confirmed", []))


def _confirmations(form: Form, conflicts: Sequence[RequestConflict], unchanged: Sequence[Privilege]) -> set[str]:
    """Return strings that identify what the caller confirms.

    Each string begins with the rule and duties of one conflict, or with the word `unchanged` if the request changes
    nothing. It ends with the values of the form: the person who gets the access, action, application and privileges.
    """
    asked = [first(form, name) for name in ("identityId", "action", "applicationId", "privileges")]
    doubts = [[str(each.rule_id), *each.duties] for each in conflicts] + ([["unchanged"]] if unchanged else [])
    return {" ".join(" ".join([*doubt, *asked]).split()) for doubt in doubts}


@screen("GET", "/requests/{id:str}", scope=Scope.ACCESS_REQUESTS_READ, limits=RecordType.REQUEST)
async def show_request(db: Db, person: Person, id: str) -> HtmlPage:
    request = await queries.get(db, id)
    scopes = await record_access.scopes_on(db, person.caller(), RecordType.REQUEST, request.id)
    return HtmlPage("request.html", {**await shown_request(db, request, person), "may": scopes})


@screen("GET", "/requests/{id:str}/log", scope=Scope.ACCESS_REQUESTS_READ, limits=RecordType.REQUEST)
async def follow_request(id: str, pool: Pool, request: AnyRequest) -> ASGIResponse:
    """Send a server-sent event when the progress of a request differs from what the page shows."""
    current = partial(carriers.progress_mark, request_id=known_guid("AccessRequest", id))
    return stream_response(changes(pool, request.query_params.get("shown", ""), current))


HANDLERS: list[HTTPRouteHandler] = [
    show_inbox,
    show_waiting,
    show_form,
    create_access_request,
    show_request,
    follow_request,
]
