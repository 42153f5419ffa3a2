"""Build HTTP responses: pages, redirects and error pages, with the headers and cookies of the console."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from litestar import MediaType, Response
from litestar.response.base import ASGIResponse

from rolecall.console.answers import HtmlPage, SeeOther, sentence
from rolecall.console.model import SESSION_LASTS
from rolecall.console.rendering import render
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.errors import Forbidden, Invalid, NotFound, RolecallError
from rolecall.notifications.message_text import STYLE_SHA256
from rolecall.web.bodies import AnyRequest
from rolecall.web.correlation import correlation_id
from rolecall.web.errors import ErrorBody

SESSION_COOKIE = "rolecall"
# The hash allows the inline style of e-mails: the frame that previews them inherits this policy.
CSP = (
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none';"
    f" style-src 'self' 'sha256-{STYLE_SHA256}'"
)


def page_of_error(error: RolecallError) -> HtmlPage:
    match error:
        case NotFound(resource="DryRun"):
            return HtmlPage("draft_gone.html", {}, 404)
        case NotFound():
            return _problem(404, f"This {_in_words(error.resource)} does not exist")
        case Forbidden():
            return _problem(403, "Your role does not allow this")
        case Invalid():
            return _problem(400, sentence(error))
    return _problem(400, str(error))


# Advice for the reader, by status.
_ADVICE = {
    403: "Ask an administrator for a role that includes it.",
    404: "It may have been removed, or the address is incomplete.",
    500: "The error was logged. Try again in a moment.",
    503: "Try again in a moment.",
}


def _problem(status: int, message: str) -> HtmlPage:
    return HtmlPage("error.html", {"message": message, "advice": _ADVICE.get(status)}, status)


def _in_words(name: str) -> str:
    """Return a class name in words: `AccessRequest` becomes `access request`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


# Template values of a page without a signed-in person.
_SIGNED_OUT: dict[str, Any] = {
    "person": None,
    "may": frozenset(),
    "notice": None,
    "notice_kind": None,
    "path": "",
    "waits": {},
    "reviews_waiting": 0,
    "navigation": {},
}


def error_response(status: int, message: str) -> ASGIResponse:
    return html_response(status, _error_text(HtmlPage("error.html", {"message": message, "advice": None}, status)))


def _error_text(page: HtmlPage) -> str:
    """Render an error page that does not depend on who is signed in."""
    return render(page.template, **_SIGNED_OUT, now=clock.now(), correlation_id=correlation_id.get(), **page.values)


ErrorHandler = Callable[[AnyRequest, Any], Response[ErrorBody]]


def for_browsers(answer: ErrorHandler) -> Callable[[AnyRequest, Any], Response[Any]]:
    """Return an error handler that answers browsers with an HTML page; below `/api/`, keep the plain response.

    A GET of a URL that only accepts forms is redirected to the page of the form.
    """

    def answer_in_kind(request: AnyRequest, error: Any) -> Response[Any]:
        plain = answer(request, error)
        # Do not use `request.url`, which raises on an invalid Host header.
        is_api = request.scope["path"].startswith("/api/")
        if is_api or "text/html" not in request.headers.get("accept", ""):
            return plain
        status = plain.status_code or 500
        if status == 405 and request.method == "GET":
            return _page_of_form(request)
        # Keep the headers of the plain response, such as Retry-After.
        headers = {**plain.headers, "Content-Security-Policy": CSP}
        text = _error_text(_problem(status, _IN_WORDS.get(status, plain.content.message)))
        return Response(text, status_code=status, headers=headers, media_type=MediaType.HTML)

    return answer_in_kind


def _page_of_form(request: AnyRequest) -> Response[None]:
    """Redirect a GET of a POST-only URL, for example from the address bar, to the page of its form."""
    above = str(request.scope["path"]).rstrip("/").rpartition("/")[0] or "/"
    # The path is decoded here, so quote it again for the header.
    return Response(None, status_code=303, headers={"Location": quote(above)})


_IN_WORDS = {404: "This page does not exist"}


def html_response(status: int, text: str) -> ASGIResponse:
    return ASGIResponse(
        body=text.encode(),
        status_code=status,
        media_type="text/html; charset=utf-8",
        # Send the referrer within the site: the redirect after a rejected form needs it.
        headers={"Content-Security-Policy": CSP, "Referrer-Policy": "same-origin"},
    )


def _is_https(config: Config) -> bool:
    return config.base_url.startswith("https://")


def cookie_name(config: Config, name: str) -> str:
    """Prefix the name with `__Host-`, but only on HTTPS: over plain HTTP (on loopback) browsers reject such cookies."""
    return f"__Host-{name}" if _is_https(config) else name


def a_cookie(config: Config, name: str, value: str, lasts: timedelta) -> str:
    """Build a Set-Cookie header; an empty value deletes the cookie."""
    secure = "Secure; " if _is_https(config) else ""
    life = int(lasts.total_seconds()) if value else 0
    # Lax, not Strict: the browser must also send the cookie if the OpenID provider or another site links to this one.
    return f"{cookie_name(config, name)}={value}; Path=/; {secure}HttpOnly; SameSite=Lax; Max-Age={life}"


# A path of this site. Reject `//` and `/\\`, which browsers read as another host (open redirect).
_LOCAL = re.compile(r"/(?![/\\])[!-~]*")


def redirect(config: Config, answer: SeeOther) -> ASGIResponse:
    headers = {"Location": answer.location if _LOCAL.fullmatch(answer.location) else "/"}
    if answer.session is not None:
        headers["Set-Cookie"] = a_cookie(config, SESSION_COOKIE, answer.session, SESSION_LASTS)
    # After 303 the browser sends a GET, so reloading the next page does not send the form again.
    return ASGIResponse(status_code=303, headers=headers)
