"""One way to serve a screen: who is signed in, what they may, one transaction, the whole page.

A function decorated with `screen` names what it needs among its parameters, as an operation does, and `form` and
`person` besides. It returns a `Page` to show or a `SeeOther` to go to; every page works without JavaScript.
"""

import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions, queries
from rolecall.console.model import SESSION_LASTS, Person, Session
from rolecall.console.rendering import render
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound, RolecallError, UnsupportedMediaType
from rolecall.web.bodies import AnyRequest, Reader, read_bytes, read_query
from rolecall.web.correlation import correlation_id
from rolecall.web.services import Services

COOKIE = "__Host-rolecall"
Form = dict[str, list[str]]


class Page(msgspec.Struct, frozen=True):
    template: str
    values: dict[str, Any] = {}
    status: int = 200


class SeeOther(msgspec.Struct, frozen=True):
    """Where to go after an action, with a notice for the next page; `session` signs someone in, '' signs out."""

    location: str
    notice: str | None = None
    kind: Literal["good", "bad"] = "good"
    session: str | None = None


class Visit(msgspec.Struct):
    """One request on its way through a screen."""

    request: AnyRequest
    config: Config
    now: datetime
    db: Db
    session: Session | None
    person: Person | None
    form: Form = {}
    query: dict[str, Any] = {}

    @property
    def id(self) -> str:
        return str(self.request.path_params["id"])

    @property
    def verb(self) -> str:
        return str(self.request.path_params["verb"])

    @property
    def caller(self) -> Caller:
        assert self.person
        return self.person.caller()

    @property
    def facts(self) -> Facts:
        return Facts(now=self.now, zone=self.config.timezone)


class Screen(msgspec.Struct, frozen=True):
    scope: Scope | None
    is_open: bool
    query: dict[str, Reader]
    function: Callable[..., Awaitable[Page | SeeOther]]
    wants: frozenset[str]


def screen(
    method: Literal["GET", "POST"],
    path: str,
    *,
    scope: Scope | None = None,
    open: bool = False,
    query: dict[str, Reader] | None = None,
) -> Callable[[Callable[..., Awaitable[Page | SeeOther]]], HTTPRouteHandler]:
    """Without a scope any role may; `open` needs no one signed in."""

    def decorate(function: Callable[..., Awaitable[Page | SeeOther]]) -> HTTPRouteHandler:
        spec = Screen(scope, open, query or {}, function, frozenset(inspect.signature(function).parameters))
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
            return _go(SeeOther(f"/sign-in?next={quote(_here(request))}"))
        try:
            _permit(spec, visit)
            visit.query = read_query(request, spec.query)
            answer = await _perform(spec, visit)
        except RolecallError as error:
            answer = _error_page(error)
        if visit.session:
            await actions.mark_seen(db, visit.session, now)
    return _answer(visit, answer)


async def _act(spec: Screen, services: Services, request: AnyRequest) -> ASGIResponse:
    now = clock.now()
    if not _is_from_here(request, services.config):
        return _answer_without_visit(Page("error.html", _said(403, "This form was sent from another site"), 403))
    form = await _read_form(request, services.config)
    async with services.pool.connection() as db:
        visit = await _visit(services, request, db, now)
        if visit.person is None and not spec.is_open:
            return _go(SeeOther("/sign-in"))
        visit.form = form
        try:
            _permit(spec, visit)
            async with db.transaction():
                answer = await _perform(spec, visit)
        except (Invalid, Conflict) as error:
            answer = SeeOther(_back(request), _sentence(error), "bad")
        except RolecallError as error:
            answer = _error_page(error)
        if isinstance(answer, SeeOther) and answer.notice and visit.session:
            await actions.leave_notice(db, visit.session, answer.notice, answer.kind)
    return _answer(visit, answer)


async def _visit(services: Services, request: AnyRequest, db: Db, now: datetime) -> Visit:
    cookie = request.cookies.get(COOKIE)
    session = await queries.session(db, cookie, now) if cookie else None
    person = await queries.person_of(db, session) if session else None
    return Visit(request, services.config, now, db, session if person else None, person)


def _permit(spec: Screen, visit: Visit) -> None:
    if spec.scope and spec.scope not in visit.caller.scopes:
        raise Forbidden(spec.scope)


async def _perform(spec: Screen, visit: Visit) -> Page | SeeOther:
    return await spec.function(**{name: getattr(visit, name) for name in spec.wants})


async def _read_form(request: AnyRequest, config: Config) -> Form:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await read_bytes(request, config.max_body_bytes)
    if content and media_type != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("Send the form as application/x-www-form-urlencoded")
    return parse_qs(content.decode(errors="replace"), keep_blank_values=True, max_num_fields=10_000)


def _is_from_here(request: AnyRequest, config: Config) -> bool:
    """A form of another site may carry the cookie, but cannot claim to come from ours."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc in (request.headers.get("host"), urlsplit(config.base_url).netloc)


def _here(request: AnyRequest) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else str(request.url.path)


def _back(request: AnyRequest) -> str:
    """The page that held the form; never another site."""
    referer = urlsplit(request.headers.get("referer", ""))
    same = referer.netloc == request.headers.get("host")
    return (f"{referer.path}?{referer.query}" if referer.query else referer.path or "/") if same else "/"


def _sentence(error: Invalid | Conflict) -> str:
    return ". ".join(problem.message for problem in error.problems) if isinstance(error, Invalid) else str(error)


def _error_page(error: RolecallError) -> Page:
    match error:
        case NotFound():
            return Page("error.html", _said(404, str(error)), 404)
        case Forbidden():
            return Page("error.html", _said(403, "Your role does not allow this"), 403)
        case Invalid():
            return Page("error.html", _said(400, _sentence(error)), 400)
    return Page("error.html", _said(400, str(error)), 400)


def _said(status: int, message: str) -> dict[str, Any]:
    return {"status": status, "message": message}


def _answer(visit: Visit, answer: Page | SeeOther) -> ASGIResponse:
    if isinstance(answer, SeeOther):
        return _go(answer)
    shown = {
        "person": visit.person,
        "may": visit.caller.scopes if visit.person else frozenset(),
        "notice": visit.session and visit.session.notice,
        "notice_kind": visit.session and visit.session.notice_kind,
        "path": visit.request.url.path,
        "now": visit.now,
        "zone": visit.config.timezone,
        "base_url": visit.config.base_url,
        "correlation_id": correlation_id.get(),
    }
    return _html(answer.status, render(answer.template, **shown, **answer.values))


def _answer_without_visit(page: Page) -> ASGIResponse:
    nobody: dict[str, Any] = {
        "person": None,
        "may": frozenset(),
        "notice": None,
        "notice_kind": None,
        "path": "/",
        "zone": None,
    }
    shown = {**nobody, "now": clock.now(), "base_url": "", "correlation_id": correlation_id.get()}
    return _html(page.status, render(page.template, **shown, **page.values))


def _html(status: int, text: str) -> ASGIResponse:
    return ASGIResponse(
        body=text.encode(),
        status_code=status,
        media_type="text/html; charset=utf-8",
        headers={"Content-Security-Policy": CSP, "Cache-Control": "no-store"},
    )


CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"


def _go(answer: SeeOther) -> ASGIResponse:
    headers = {"Location": answer.location if answer.location.startswith("/") else "/"}
    if answer.session is not None:
        life = int(SESSION_LASTS.total_seconds()) if answer.session else 0
        headers["Set-Cookie"] = f"{COOKIE}={answer.session}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={life}"
    return ASGIResponse(status_code=303, headers=headers)
