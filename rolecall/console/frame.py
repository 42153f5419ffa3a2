"""One way to serve a screen: who is signed in, what they may, one transaction, the whole page.

A function decorated with `screen` names what it needs among its parameters, as an operation does, and `form`,
`person`, `session` and `pool` besides. It returns a `Page` to show, a `SeeOther` to go to, or an answer that is sent as
it is; every page works without JavaScript.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

import msgspec
from litestar import MediaType, Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions, overview, queries
from rolecall.console.model import SESSION_LASTS, Person, Session
from rolecall.console.rendering import render
from rolecall.core import clock
from rolecall.core.authors import Author, AuthorKind, by, sign, wait_to_revoke
from rolecall.core.caller import NOBODY, Caller, Scope
from rolecall.core.checking import Addresses, Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, transaction
from rolecall.core.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RolecallError,
    Unauthorized,
    UnsupportedMediaType,
)
from rolecall.core.text import is_storable
from rolecall.settings.policy import RequirementType
from rolecall.web.bodies import AnyRequest, Carried, Reader, read_bytes, read_query
from rolecall.web.correlation import correlation_id
from rolecall.web.errors import ErrorBody
from rolecall.web.operations import ReadBody
from rolecall.web.services import Services

LONGEST_TEXT = 256
SESSION_COOKIE = "rolecall"
FIRST_YEAR, LAST_YEAR = 1900, 9000
_MOST_FIELDS = 10_000
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


class Result(msgspec.Struct, frozen=True):
    """The result for one record of a bulk action."""

    text: str
    failed: bool = False


def failure(record: str, error: RolecallError) -> Result:
    return Result(f"{record} is unchanged: {_sentence(error)}", failed=True)


def several(location: str, results: Sequence[Result]) -> SeeOther:
    """Report one marked line per record; the notice is an error if any record failed."""
    lines = [f"{'✗' if one.failed else '✓'} {' '.join(one.text.split())}" for one in results]
    return SeeOther(location, "\n".join(lines), "bad" if any(one.failed for one in results) else "good")


class Visit(msgspec.Struct):
    """One request on its way through a screen."""

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
    # Requests that wait for this person, as the navigation shows them.
    waits: dict[RequirementType, int] = {}

    @property
    def form(self) -> Form:
        assert isinstance(self.raw, dict)
        return self.raw

    @property
    def is_fragment(self) -> bool:
        """Whether the page replaces its detail alone, so that nothing else of the answer is shown."""
        return self.request.headers.get("hx-target") == "detail"

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
        return Facts(now=self.now, zone=self.config.timezone, addresses=self.addresses)


Answer = Page | SeeOther | ASGIResponse
Function = Callable[..., Awaitable[Answer]]


class Screen(msgspec.Struct, frozen=True):
    scope: Scope | None
    is_open: bool
    query: dict[str, Reader]
    read_body: ReadBody
    # For a path with a verb: the operation that each stands for.
    verbs: Mapping[str, str]
    delay_seconds: float
    revokes: bool
    function: Function
    wants: frozenset[str]


class BrokenForm(RolecallError):
    """A malformed form, which no page of ours sends; the answer is an error page instead of the form."""


async def plain_form(request: AnyRequest, config: Config) -> Carried:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await read_bytes(request, config.max_body_bytes)
    if content and media_type != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("Send the form as application/x-www-form-urlencoded")
    try:
        form = parse_qs(content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BrokenForm("The form cannot be read") from None
    if not all(is_storable(text) for name, values in form.items() for text in (name, *values)):
        raise BrokenForm("A field of the form holds a NUL character, which no text has")
    return Carried(form, b"")


def screen(
    method: Literal["GET", "POST"],
    path: str,
    *,
    scope: Scope | None = None,
    open: bool = False,
    query: dict[str, Reader] | None = None,
    read_body: ReadBody = plain_form,
    verbs: Mapping[str, str] | None = None,
    delay_seconds: float = 0,
    revokes: bool = False,
) -> Callable[[Function], HTTPRouteHandler]:
    """Without a scope any role may; `open` needs no one signed in; `delay_seconds`, `revokes` as for an operation."""

    def decorate(function: Function) -> HTTPRouteHandler:
        readers = {name: _or_nothing(reader) for name, reader in (query or {}).items()}
        wants = frozenset(inspect.signature(function).parameters)
        spec = Screen(scope, open, readers, read_body, verbs or {}, delay_seconds, revokes, function, wants)
        serve = _show if method == "GET" else _act

        async def endpoint(request: Request[Any, Any, Any]) -> ASGIResponse:
            services: Services = request.app.state.services
            return await serve(spec, services, request)

        endpoint.__name__ = function.__name__
        return HTTPRouteHandler(path, http_method=method, opt={"screen": spec}, status_code=200)(endpoint)

    return decorate


def _or_nothing(reader: Reader) -> Reader:
    """A form sends the fields that were left empty, too."""
    return Reader(lambda text: reader.read(text) if text.strip() else None, reader.schema)


async def _show(spec: Screen, services: Services, request: AnyRequest) -> ASGIResponse:
    now = clock.now()
    async with services.pool.connection() as db:
        visit = await _visit(services, request, db, now)
        if visit.person is None and not spec.is_open:
            return _go(services.config, SeeOther(f"/sign-in?next={quote(_here(request))}"))
        try:
            _permit(spec, visit)
            visit.query = read_query(request, spec.query)
            answer = await _perform(spec, visit)
        except RolecallError as error:
            answer = _error_page(error)
        if visit.session and isinstance(answer, Page):
            await actions.mark_seen(db, visit.session, now)
    return _answer(visit, answer)


async def _act(spec: Screen, services: Services, request: AnyRequest) -> ASGIResponse:
    now = clock.now()
    if not _is_from_here(request, services.config):
        return error_page(403, "This form was sent from another site")
    async with services.pool.connection() as db:
        visit = await _visit(services, request, db, now)
    if visit.person is None and not spec.is_open:
        return _go(services.config, SeeOther(f"/sign-in?next={quote(_back(request))}"))
    try:
        _permit(spec, visit)
        # Read without a connection in hand: a slow sender must not keep others waiting.
        carried = await _read_body(spec, request, services.config)
        with carried.held:
            async with services.pool.connection() as visit.db, transaction(visit.db, "screen"):
                await _sign(spec, visit)
                visit.raw, visit.addresses = carried.raw, carried.addresses
                answer = await _perform(spec, visit)
        if spec.delay_seconds:
            await asyncio.sleep(spec.delay_seconds)
    except Unauthorized:
        answer = SeeOther(f"/sign-in?next={quote(_back(request))}")
    except (Invalid, Conflict) as error:
        answer = SeeOther(_back(request), _sentence(error), "bad")
    except RolecallError as error:
        answer = _error_page(error)
    if isinstance(answer, SeeOther) and answer.notice and visit.session:
        async with services.pool.connection() as db:
            await actions.leave_notice(db, visit.session, answer.notice, answer.kind)
    return _answer(visit, answer)


async def _read_body(spec: Screen, request: AnyRequest, config: Config) -> Carried:
    try:
        return await spec.read_body(request, config)
    except Invalid as error:
        raise BrokenForm(_sentence(error)) from None


async def _visit(services: Services, request: AnyRequest, db: Db, now: datetime) -> Visit:
    secret = request.cookies.get(cookie_name(services.config, SESSION_COOKIE))
    session = await queries.session(db, secret, now) if secret else None
    person = await queries.person_of(db, session) if session else None
    return Visit(request, services.config, now, db, session if person else None, person, services.pool)


async def _sign(spec: Screen, visit: Visit) -> None:
    """Authorise the person again inside the writing transaction: the form may have taken minutes to arrive."""
    if spec.revokes:
        await wait_to_revoke(visit.db)
    visit.now = clock.now()
    if visit.session:
        visit.person = await actions.sign_as_person(visit.db, visit.session, _author(spec, visit))
    if visit.person is None:
        visit.session = None
        if not spec.is_open:
            raise Unauthorized
        await sign(visit.db, _author(spec, visit))
    _permit(spec, visit)


def _author(spec: Screen, visit: Visit) -> Author:
    """Return the author, with the action named as in the API, so that the audit has one name for it."""
    action = spec.verbs.get(visit.request.path_params.get("verb", ""), spec.function.__name__)
    caller = visit.caller if visit.person else NOBODY
    return by(AuthorKind.PERSON, caller, action, visit.now, correlation_id.get())


def _permit(spec: Screen, visit: Visit) -> None:
    if spec.scope and spec.scope not in visit.caller.scopes:
        raise Forbidden(spec.scope)


async def _perform(spec: Screen, visit: Visit) -> Answer:
    answer = await spec.function(**{name: getattr(visit, name) for name in spec.wants})
    if isinstance(answer, Page) and visit.person and not visit.is_fragment:
        may_respond = Scope.ACCESS_REQUESTS_WRITE in visit.caller.scopes
        visit.waits = await overview.waiting(visit.db, visit.person) if may_respond else {}
    return answer


def _words(text: str) -> str:
    if len(text) > LONGEST_TEXT or "\x00" in text:
        raise ValueError(f"must be at most {LONGEST_TEXT} characters")
    return text.strip()


some_words = Reader(_words, {"type": "string"})


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError("must be a date such as 2030-01-31")
    return day


a_day = Reader(_day, {"type": "string", "format": "date"})


def one_among(*words: str) -> Reader:
    """A word that a link of ours carries; any other means the first."""
    return Reader(lambda text: text if text in words else words[0], {"type": "string", "enum": list(words)})


def _is_from_here(request: AnyRequest, config: Config) -> bool:
    """A form of another site may carry the cookie, but cannot claim to come from ours."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or _parts(origin).netloc in (request.headers.get("host"), urlsplit(config.base_url).netloc)


def _parts(url: str) -> SplitResult:
    """Split the URL in a header; treat an invalid one as another site's."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("//invalid")


def _here(request: AnyRequest) -> str:
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.scope['path']}?{query}" if query else request.scope["path"]


def _back(request: AnyRequest) -> str:
    """The page that held the form; never another site."""
    referer = _parts(request.headers.get("referer", ""))
    same = referer.netloc == request.headers.get("host")
    return (f"{referer.path}?{referer.query}" if referer.query else referer.path or "/") if same else "/"


def _sentence(error: RolecallError) -> str:
    """Return the error's message; for an invalid form, all broken rules."""
    return ". ".join(problem.message for problem in error.problems) if isinstance(error, Invalid) else str(error)


def _error_page(error: RolecallError) -> Page:
    match error:
        case NotFound():
            return _problem(404, f"This {_in_words(error.resource)} does not exist")
        case Forbidden():
            return _problem(403, "Your role does not allow this")
        case Invalid():
            return _problem(400, _sentence(error))
    return _problem(400, str(error))


# What somebody can do about it.
_ADVICE = {
    403: "Ask an administrator for another role.",
    404: "It may have been removed, or the address is incomplete.",
    500: "The error was logged. Try again in a moment.",
    503: "Try again in a moment.",
}


def _problem(status: int, message: str) -> Page:
    return Page("error.html", {"message": message, "advice": _ADVICE.get(status)}, status)


def _in_words(name: str) -> str:
    """`AccessRequest` is an access request."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


# What a page shows when it is not known who asks.
_NOBODY: dict[str, Any] = {
    "person": None,
    "may": frozenset(),
    "notice": None,
    "notice_kind": None,
    "path": "",
    "waits": {},
}


def error_page(status: int, message: str) -> ASGIResponse:
    return _html(status, _error_text(Page("error.html", {"message": message, "advice": None}, status)))


def _error_text(page: Page) -> str:
    """For whoever it is."""
    return render(page.template, **_NOBODY, now=clock.now(), correlation_id=correlation_id.get(), **page.values)


ErrorHandler = Callable[[AnyRequest, Any], Response[ErrorBody]]


def for_browsers(answer: ErrorHandler) -> Callable[[AnyRequest, Any], Response[Any]]:
    """The same answer as a page, outside the API, for whoever can read one."""

    def answer_in_kind(request: AnyRequest, error: Any) -> Response[Any]:
        plain = answer(request, error)
        # Not by `request.url`, which a Host that cannot be makes a fault of its own.
        is_api = request.scope["path"].startswith("/api/")
        if is_api or "text/html" not in request.headers.get("accept", ""):
            return plain
        headers = {**plain.headers, "Content-Security-Policy": CSP}
        status = plain.status_code or 500
        text = _error_text(_problem(status, _IN_WORDS.get(status, plain.content.message)))
        return Response(text, status_code=status, headers=headers, media_type=MediaType.HTML)

    return answer_in_kind


_IN_WORDS = {404: "This page does not exist"}


def _answer(visit: Visit, answer: Answer) -> ASGIResponse:
    match answer:
        case ASGIResponse():
            return answer
        case SeeOther():
            return _go(visit.config, answer)
    shown = {
        "person": visit.person,
        "may": visit.caller.scopes if visit.person else frozenset(),
        "notice": visit.session and visit.session.notice,
        "notice_kind": visit.session and visit.session.notice_kind,
        "path": visit.request.scope["path"],
        "waits": visit.waits,
        "now": visit.now,
        "zone": visit.config.timezone,
        "correlation_id": correlation_id.get(),
    }
    return _html(answer.status, render(answer.template, **shown, **answer.values))


def _html(status: int, text: str) -> ASGIResponse:
    return ASGIResponse(
        body=text.encode(),
        status_code=status,
        media_type="text/html; charset=utf-8",
        # A refused form goes back to its page, which only the referrer knows.
        headers={"Content-Security-Policy": CSP, "Referrer-Policy": "same-origin"},
    )


CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"


def _is_https(config: Config) -> bool:
    return config.base_url.startswith("https://")


def cookie_name(config: Config, name: str) -> str:
    """A browser keeps a `__Host-` cookie only from an encrypted site; without one the service is on loopback."""
    return f"__Host-{name}" if _is_https(config) else name


def a_cookie(config: Config, name: str, value: str, lasts: timedelta) -> str:
    """Without a value it goes."""
    secure = "Secure; " if _is_https(config) else ""
    life = int(lasts.total_seconds()) if value else 0
    return f"{cookie_name(config, name)}={value}; Path=/; {secure}HttpOnly; SameSite=Lax; Max-Age={life}"


# A path of ours: to a browser, `//` and `/\\` begin the name of another site.
_LOCAL = re.compile(r"/(?![/\\])[!-~]*")


def _go(config: Config, answer: SeeOther) -> ASGIResponse:
    headers = {"Location": answer.location if _LOCAL.fullmatch(answer.location) else "/"}
    if answer.session is not None:
        headers["Set-Cookie"] = a_cookie(config, SESSION_COOKIE, answer.session, SESSION_LASTS)
    return ASGIResponse(status_code=303, headers=headers)
