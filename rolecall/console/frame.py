"""Serve screens: find the signed-in person, check the scope, run the screen and render the page.

A form (POST) runs in one transaction. A screen that shows its form again after an error writes in a nested transaction:
the error rolls back to the savepoint, and the outer transaction can still read what the page shows.

The parameters of a function decorated with `screen` are named after attributes of `Visit`, such as `db`, `form`,
`person` and `session`. The function returns an `HtmlPage` to show, a `SeeOther` to redirect to, or a finished response.
Every page works without JavaScript. People without a role and Provisioners see only their own records (`is_limited`).
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import SplitResult, quote, urlsplit

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions, overview, record_access, signing_in
from rolecall.console.answers import Answer, HtmlPage, SeeOther, sentence
from rolecall.console.inputs import BrokenForm, Form, optional, plain_form
from rolecall.console.model import Person, Session
from rolecall.console.rendering import navigation, render
from rolecall.console.responses import (
    SESSION_COOKIE,
    cookie_name,
    error_response,
    html_response,
    page_of_error,
    redirect,
)
from rolecall.core import clock
from rolecall.core.authors import Author, AuthorKind, by, sign, wait_to_revoke
from rolecall.core.caller import NOBODY, Caller, Scope
from rolecall.core.checking import Addresses, Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, transaction
from rolecall.core.errors import Conflict, Forbidden, Invalid, RolecallError, Unauthorized
from rolecall.identities.authority import SEE, RecordType
from rolecall.notifications.queries import count_unread
from rolecall.reviews.workspace import count_waiting
from rolecall.settings.policy import RequirementType
from rolecall.web.bodies import AnyRequest, Carried, Reader, read_query
from rolecall.web.correlation import correlation_id
from rolecall.web.operations import Prepare, ReadBody
from rolecall.web.services import Services


class Visit(msgspec.Struct):
    """The state of one HTTP request; its attributes are the parameters that a screen can have."""

    request: AnyRequest
    config: Config
    now: datetime
    db: Db
    session: Session | None
    person: Person | None
    pool: Pool
    raw: Any = None
    query: dict[str, Any] = {}
    addresses: Addresses = {}
    # The number of requests that are waiting for this person, shown in the navigation.
    waits: dict[RequirementType, int] = {}
    # The number of open reviews that are waiting for this person, shown in the navigation.
    reviews_waiting: int = 0
    unread: int = 0
    # Whether the person may open the screen only because of their relation to the record.
    acts_by_relation: bool = False

    @property
    def form(self) -> Form:
        assert isinstance(self.raw, dict)
        return self.raw

    @property
    def is_fragment(self) -> bool:
        """Return whether htmx requests only the detail pane, so that the rest of the page can be skipped."""
        return self.request.headers.get("hx-target") == "detail"

    @property
    def is_prefetch(self) -> bool:
        """Return whether this is a prefetch: a script fetches the page, which the person has not opened yet."""
        return self.request.headers.get("purpose") == "prefetch"

    @property
    def id(self) -> str:
        return str(self.request.path_params["id"])

    @property
    def verb(self) -> str:
        return str(self.request.path_params["verb"])

    @property
    def caller(self) -> Caller:
        assert self.person
        caller = self.person.caller()
        if not self.acts_by_relation:
            return caller
        return msgspec.structs.replace(caller, is_limited=True, scopes=caller.scopes | caller.own_scopes)

    @property
    def facts(self) -> Facts:
        return Facts(now=self.now, zone=self.config.timezone, addresses=self.addresses)


Function = Callable[..., Awaitable[Answer]]


# The value of `limits` for a screen that itself selects the records that the person may see.
OWN: Literal["own"] = "own"
Limits = RecordType | Literal["own"] | None


class Screen(msgspec.Struct, frozen=True):
    scope: Scope | None
    # Which people may open the screen even if they see only their own records, or if their role lacks the scope.
    # None: nobody. OWN: everyone, because the screen selects the records. A type: people related to the record.
    limits: Limits
    needs: str | None
    is_open: bool
    query: dict[str, Reader]
    read_body: ReadBody
    prepare: Prepare | None
    # For a path with a verb: the audited operation of each verb.
    verbs: Mapping[str, str]
    delay_seconds: float
    revokes: bool
    function: Function
    wants: frozenset[str]


def screen(
    method: Literal["GET", "POST"],
    path: str,
    *,
    scope: Scope | None = None,
    limits: Limits = None,
    needs: str | None = None,
    open: bool = False,
    query: dict[str, Reader] | None = None,
    read_body: ReadBody = plain_form,
    prepare: Prepare | None = None,
    verbs: Mapping[str, str] | None = None,
    delay_seconds: float = 0,
    revokes: bool = False,
) -> Callable[[Function], HTTPRouteHandler]:
    """Register a screen; `scope` is the scope that it needs, and `open` screens need no sign-in.

    `limits` says whether people who see only their own records may open it: see `Screen`. `needs` is the verb that
    their relation to the record must allow; the default is to see it. `delay_seconds` delays the response
    after the commit; `revokes` serializes the screen with others that revoke authority, and `prepare` does slow work
    before the transaction, as in operations of the API.
    """

    def decorate(function: Function) -> HTTPRouteHandler:
        readers = {name: optional(reader) for name, reader in (query or {}).items()}
        wants = frozenset(inspect.signature(function).parameters)
        spec = Screen(
            scope, limits, needs, open, readers, read_body, prepare,
            verbs or {}, delay_seconds, revokes, function, wants,
        )  # fmt: skip
        serve = _show if method == "GET" else _act

        async def endpoint(request: Request[Any, Any, Any]) -> ASGIResponse:
            services: Services = request.app.state.services
            return await serve(spec, services, request)

        endpoint.__name__ = function.__name__
        return HTTPRouteHandler(path, http_method=method, opt={"screen": spec}, status_code=200)(endpoint)

    return decorate


async def _show(spec: Screen, services: Services, request: AnyRequest) -> ASGIResponse:
    now = clock.now()
    async with services.pool.connection() as db:
        visit = await _visit(services, request, db, now)
        if visit.person is None and not spec.is_open:
            return redirect(services.config, SeeOther(f"/sign-in?next={quote(_here(request))}"))
        try:
            _permit(spec, visit)
            await _permit_record(spec, visit)
            visit.query = read_query(request, spec.query)
            answer = await _perform(spec, visit)
        except RolecallError as error:
            answer = page_of_error(error)
        # Only a page shows the notice; a redirect or a download leaves it for the next page.
        if visit.session and isinstance(answer, HtmlPage):
            await actions.mark_seen(db, visit.session, now)
    return _answer(visit, answer)


async def _act(spec: Screen, services: Services, request: AnyRequest) -> ASGIResponse:
    now = clock.now()
    if not _is_from_here(request, services.config):
        return error_response(403, "This form was sent from another site. Open the page here and send the form again")
    async with services.pool.connection() as db:
        visit = await _visit(services, request, db, now)
    if visit.person is None and not spec.is_open:
        # After signing in, return to the page of the form, because the URL of a form often accepts only POST.
        return redirect(services.config, SeeOther(f"/sign-in?next={quote(_back(request))}"))
    try:
        _permit(spec, visit)
        # Functions that read the body may need the caller (`request.user`).
        if visit.person:
            request.scope["user"] = visit.caller
        # Read the body before taking a database connection, so that a slow sender does not exhaust the pool.
        carried = await _read_body(spec, request, services.config)
        with carried.held:
            if spec.prepare:
                async with services.pool.connection() as visit.db, visit.db.transaction():
                    await _sign(spec, visit)
                request.scope["user"] = visit.caller
                carried = await spec.prepare(request, services.config, carried)
            async with services.pool.connection() as visit.db, transaction(visit.db, "screen"):
                await _sign(spec, visit)
                visit.raw, visit.addresses = carried.raw, carried.addresses
                answer = await _perform(spec, visit)
        if spec.delay_seconds:
            await asyncio.sleep(spec.delay_seconds)
    except Unauthorized:
        answer = SeeOther(f"/sign-in?next={quote(_back(request))}")
    except (Invalid, Conflict) as error:
        answer = SeeOther(_back(request), sentence(error), "bad")
    except RolecallError as error:
        answer = page_of_error(error)
    # Store the notice in a new transaction, because the transaction of the screen may have been rolled back.
    if isinstance(answer, SeeOther) and answer.notice and visit.session:
        async with services.pool.connection() as db:
            await actions.leave_notice(db, visit.session, answer.notice, answer.kind)
    return _answer(visit, answer)


async def _read_body(spec: Screen, request: AnyRequest, config: Config) -> Carried:
    try:
        return await spec.read_body(request, config)
    except Invalid as error:
        raise BrokenForm(sentence(error)) from None


async def _visit(services: Services, request: AnyRequest, db: Db, now: datetime) -> Visit:
    secret = request.cookies.get(cookie_name(services.config, SESSION_COOKIE))
    session = await signing_in.session(db, secret, now) if secret else None
    person = await signing_in.person_of(db, session.identity_id, now) if session else None
    # Ignore the session of a person who may no longer sign in.
    return Visit(request, services.config, now, db, session if person else None, person, services.pool)


async def _sign(spec: Screen, visit: Visit) -> None:
    """Record the author of the transaction, and check the person again: the form may have taken minutes to arrive."""
    # This order prevents deadlocks: the lock on revocations, then the one on the person's own session.
    if spec.revokes:
        await wait_to_revoke(visit.db)
    # Read the clock again: receiving the body and waiting for the lock may have taken minutes.
    visit.now = clock.now()
    if visit.session:
        visit.person = await actions.sign_as_person(visit.db, visit.session, _author(spec, visit))
    if visit.person is None:
        visit.session = None
        if not spec.is_open:
            raise Unauthorized
        await sign(visit.db, _author(spec, visit))
    _permit(spec, visit)
    await _permit_record(spec, visit)


def _author(spec: Screen, visit: Visit) -> Author:
    """Return the author for the audit. The action is named after the verb or the function of the screen."""
    action = spec.verbs.get(visit.request.path_params.get("verb", ""), spec.function.__name__)
    caller = visit.caller if visit.person else NOBODY
    return by(AuthorKind.PERSON, caller, action, visit.now, correlation_id.get())


def _permit(spec: Screen, visit: Visit) -> None:
    # Reset the result of the last check: a POST checks twice, and the role may have changed in between.
    visit.acts_by_relation = False
    if spec.scope and spec.scope not in visit.caller.scopes:
        if spec.limits is None or spec.scope not in visit.caller.own_scopes:
            raise Forbidden(spec.scope)
        visit.acts_by_relation = True
    # A screen without `limits` shows everyone's records, so refuse people who see only their own.
    if visit.person and visit.person.is_limited and spec.limits is None and not spec.is_open:
        raise Forbidden(spec.scope or Scope.CONFIG_MANAGE)


async def _permit_record(spec: Screen, visit: Visit) -> None:
    """Check that the person may apply a verb to the record in the path: `needs` or, by default, SEE.

    For a form about an event, the path contains the verb. The actions of requests check their own verbs.
    """
    if isinstance(spec.limits, RecordType) and visit.person:
        named = visit.request.path_params.get("verb", SEE) if spec.limits is RecordType.EVENT else SEE
        await record_access.require(visit.db, visit.caller, spec.limits, visit.id, spec.needs or named)


async def _perform(spec: Screen, visit: Visit) -> Answer:
    answer = await spec.function(**{name: getattr(visit, name) for name in spec.wants})
    # Only whole pages have the navigation, which shows these counts.
    if isinstance(answer, HtmlPage) and visit.person and not visit.is_fragment:
        may_respond = Scope.ACCESS_REQUESTS_WRITE in visit.caller.scopes
        visit.waits = await overview.waiting(visit.db, visit.person) if may_respond else {}
        visit.reviews_waiting = await count_waiting(visit.db, visit.person.reviews_as())
        visit.unread = await count_unread(visit.db, visit.person.id, most=100)
    return answer


def _is_from_here(request: AnyRequest, config: Config) -> bool:
    """Return whether a request comes from our own site (CSRF): another site can send our cookie, but not our origin.

    A request without `Sec-Fetch-Site` and `Origin` is accepted.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        # `same-site` is not enough: it includes other hosts of the same domain.
        return site == "same-origin"
    # Browsers send Sec-Fetch-Site or Origin with a form. A request with neither header is not from a browser.
    origin = request.headers.get("origin")
    return origin is None or _parts(origin).netloc in (request.headers.get("host"), urlsplit(config.base_url).netloc)


def _parts(url: str) -> SplitResult:
    """Split the URL in a header; an invalid URL counts as another site."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("//invalid")


def _here(request: AnyRequest) -> str:
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.scope['path']}?{query}" if query else request.scope["path"]


def _back(request: AnyRequest) -> str:
    """Return the page that contained the form, or the home page if the referrer is missing or on another site."""
    referer = _parts(request.headers.get("referer", ""))
    same = referer.netloc == request.headers.get("host")
    return (f"{referer.path}?{referer.query}" if referer.query else referer.path or "/") if same else "/"


def _answer(visit: Visit, answer: Answer) -> ASGIResponse:
    match answer:
        case ASGIResponse():
            return answer
        case SeeOther():
            return redirect(visit.config, answer)
    shown = {
        "person": visit.person,
        "may": visit.caller.scopes if visit.person else frozenset(),
        "notice": visit.session and visit.session.notice,
        "notice_kind": visit.session and visit.session.notice_kind,
        "path": visit.request.scope["path"],
        "waits": visit.waits,
        "reviews_waiting": visit.reviews_waiting,
        "unread": visit.unread,
        "navigation": navigation(visit.person),
        "now": visit.now,
        "zone": visit.config.timezone,
        "correlation_id": correlation_id.get(),
    }
    return html_response(answer.status, render(answer.template, **{**shown, **answer.values}))
