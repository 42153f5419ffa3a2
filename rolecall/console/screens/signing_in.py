import secrets
from datetime import datetime
from urllib.parse import urlsplit

import structlog
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions, sign_in_mail, signing_in
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form
from rolecall.console.model import ATTEMPT_LASTS, SHORTEST_PASSWORD, Person, Session, SignInAttempt, new_secret
from rolecall.console.responses import a_cookie, cookie_name
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, NotFound, RateLimited
from rolecall.web import limits
from rolecall.web.bodies import AnyRequest
from rolecall.web.services import Services

_ATTEMPT = "rolecall-attempt"
# Limit the stored path to return to, because anyone can start an attempt to sign in.
_LONGEST_NEXT = 2000
# The same message whether or not a person has the e-mail, to prevent user enumeration.
_WRONG = "E-mail or password is wrong"
_SPENT = "This link was already used, has expired or is not valid. Ask for a new one"
_NO_MAIL = "Links by e-mail are not available, because no mail server is configured. Ask an administrator for a link"
_NO_LINKS = "Links by e-mail are turned off. Ask an administrator for a link"
_MAILED = (
    "If this is the sign-in e-mail of a person, they get a link in a moment, unless they have an unused one from the"
    " last 5 minutes. A link works once, for 15 minutes"
)
_NO_PASSWORDS = "Passwords are turned off. Ask an administrator for a one-time link"
_DOWN = "Sign-in with {} is not available: {}. Try again in a moment, or sign in {}"
_NOT_YOURS = "This sign-in was started in another browser, was already used or took too long. Start again"
_NO_ROLE = "No active person signs in with {}. Ask {} for help"
# Display names of well-known providers, by host.
_NAMES = {
    "login.microsoftonline.com": "Microsoft",
    "accounts.google.com": "Google",
    "okta.com": "Okta",
    "auth0.com": "Auth0",
}

log = structlog.get_logger("rolecall.console")


def _sign_in_page(
    config: Config,
    problem: str | None,
    next: str = "/",
    email: str = "",
    status: int = 200,
    *,
    mails_links: bool = False,
    said: str | None = None,
) -> HtmlPage:
    values = {
        "mails_links": mails_links,
        "said": said,
        "problem": problem,
        "next": next,
        "email": email,
        "provider": _provider_name(config),
        "passwords": config.passwords,
    }
    return HtmlPage("sign_in.html", values, status)


def _provider_name(config: Config) -> str | None:
    host = urlsplit(config.oidc_issuer or "").hostname
    return host and next((name for known, name in _NAMES.items() if f".{host}".endswith(f".{known}")), host)


@screen("GET", "/sign-in", open=True)
async def show_sign_in(db: Db, request: AnyRequest, config: Config) -> HtmlPage:
    next = request.query_params.get("next", "/")
    return _sign_in_page(config, None, next, mails_links=await sign_in_mail.is_possible(db, config))


@screen("POST", "/sign-in/email", open=True)
async def ask_for_link(db: Db, form: Form, now: datetime, request: AnyRequest, config: Config) -> HtmlPage:
    """Request a one-time link by e-mail. The response does not reveal whether anyone has this e-mail."""
    email = form.get("email", [""])[0].strip()
    services: Services = request.app.state.services
    if not await sign_in_mail.is_possible(db, config):
        return _sign_in_page(config, _NO_MAIL if config.mailed_links else _NO_LINKS, email=email, status=409)
    try:
        _count_address(services, request, now)
        await sign_in_mail.ask(db, email, now)
    except RateLimited as error:
        return _sign_in_page(config, str(error), email=email, status=429, mails_links=True)
    return _sign_in_page(config, None, email=email, mails_links=True, said=_MAILED)


# Count addresses and e-mails under separate keys: someone may enter an e-mail that looks like a network address.
def _count_address(services: Services, request: AnyRequest, now: datetime) -> None:
    host = request.client and request.client.host
    services.sign_ins.count(("address", host), limits.SIGN_INS_FROM_AN_ADDRESS, now)


def _count_person(services: Services, email: str, now: datetime) -> None:
    services.sign_ins.count(("e-mail", email.lower()), limits.SIGN_INS_OF_A_PERSON, now)


@screen("POST", "/sign-in", open=True)
async def sign_in(db: Db, form: Form, now: datetime, request: AnyRequest, config: Config) -> HtmlPage | SeeOther:
    email, password, next = (form.get(name, [""])[0] for name in ("email", "password", "next"))
    if not config.passwords:
        return _sign_in_page(config, _NO_PASSWORDS, next, status=403)
    services: Services = request.app.state.services
    mails_links = await sign_in_mail.is_possible(db, config)
    try:
        # Count the attempt before checking the password, so that above the limit even the right password is refused.
        _count_address(services, request, now)
        _count_person(services, email, now)
        session = await actions.sign_in_by_password(db, email, password, now)
    except RateLimited as error:
        return _sign_in_page(config, str(error), next, email, 429, mails_links=mails_links)
    if session:
        return SeeOther(next, session=session)
    return _sign_in_page(config, _WRONG, next, email, 401, mails_links=mails_links)


@screen("GET", "/sign-in/{id:str}", open=True)
async def show_link() -> HtmlPage:
    """Require a click before the link is used, because mail programs open links to scan them."""
    return HtmlPage("sign_in_link.html")


@screen("POST", "/sign-in/{id:str}", open=True)
async def sign_in_by_link(db: Db, id: str, now: datetime, config: Config) -> HtmlPage | SeeOther:
    # Attempts are not limited: the secret of a link cannot be guessed.
    session = await actions.sign_in_by_link(db, id, now)
    return SeeOther("/", session=session) if session else _sign_in_page(config, _SPENT, status=401)


@screen("GET", "/sign-in/oidc", open=True)
async def go_to_provider(db: Db, request: AnyRequest, config: Config, now: datetime) -> HtmlPage | ASGIResponse:
    """Redirect to the provider. This is a GET, because our Content-Security-Policy blocks forms to other sites."""
    if not config.oidc_issuer:
        raise NotFound("Page", "/sign-in/oidc")
    from rolecall.console import oidc

    services: Services = request.app.state.services
    state = new_secret()
    attempt = SignInAttempt(new_secret(), new_secret(), request.query_params.get("next", "/")[:_LONGEST_NEXT])
    try:
        _count_address(services, request, now)
        location = await oidc.address_of_provider(config, state, attempt, now)
    except RateLimited as error:
        return _sign_in_page(config, str(error), status=429)
    except oidc.Unreachable as error:
        return _down(config, error)
    await actions.begin_attempt(db, state, attempt, now)
    cookie = a_cookie(config, _ATTEMPT, state, ATTEMPT_LASTS)
    return ASGIResponse(status_code=303, headers={"Location": location, "Set-Cookie": cookie})


def _down(config: Config, error: Exception) -> HtmlPage:
    log.warning("OpenID provider unavailable", reason=str(error), issuer=config.oidc_issuer)
    other_way = "with your password" if config.passwords else "by a link from an administrator"
    return _sign_in_page(config, _DOWN.format(_provider_name(config), error, other_way), status=503)


@screen("GET", "/sign-in/oidc/callback", open=True)
async def come_from_provider(db: Db, request: AnyRequest, config: Config, now: datetime) -> HtmlPage | SeeOther:
    if not config.oidc_issuer:
        raise NotFound("Page", "/sign-in/oidc/callback")
    from rolecall.console import oidc

    said = request.query_params
    state, cookie = said.get("state", ""), request.cookies.get(cookie_name(config, _ATTEMPT), "")
    # The cookie binds the state to the browser that started the sign-in, which prevents login CSRF.
    # Some providers name themselves in `iss` (RFC 9207), which detects responses of another provider.
    is_ours = secrets.compare_digest(state.encode(), cookie.encode()) and said.get("iss") in (None, config.oidc_issuer)
    attempt = await actions.end_attempt(db, state, now) if is_ours else None
    if attempt is None:
        return _sign_in_page(config, _NOT_YOURS, status=401)
    if "code" not in said:
        return _sign_in_page(config, "Your provider did not sign you in. Start again", attempt.next, status=401)
    try:
        email = await oidc.verified_email(config, attempt, said["code"], now)
    except RateLimited as error:
        return _sign_in_page(config, str(error), attempt.next, status=429)
    except oidc.Unreachable as error:
        return _down(config, error)
    except oidc.SignInRefused as error:
        return _sign_in_page(config, f"{error}. Ask {await _whom(db)} for help", attempt.next, status=401)
    if session := await actions.sign_in_by_email(db, email, now):
        return SeeOther(attempt.next, session=session)
    return _sign_in_page(config, _NO_ROLE.format(email, await _whom(db)), attempt.next, status=403)


async def _whom(db: Db) -> str:
    return " or ".join(await signing_in.administrators(db)) or "your administrator"


@screen("POST", "/sign-out", limits=OWN, revokes=True)
async def sign_out(db: Db, session: Session) -> SeeOther:
    await actions.sign_out(db, session)
    return SeeOther("/sign-in", session="")


@screen("GET", "/account", limits=OWN)
async def show_account(db: Db, person: Person, session: Session, now: datetime, config: Config) -> HtmlPage:
    has_password = await signing_in.password_of(db, person) is not None
    values = {
        "shortest": SHORTEST_PASSWORD,
        "has_password": has_password,
        "why_not": None if has_password or session.may_set_first_password(now) else actions.SIGN_IN_AGAIN,
        "passwords": config.passwords,
    }
    return HtmlPage("account.html", values)


@screen("POST", "/account", limits=OWN, revokes=True)
async def change_password(
    db: Db, person: Person, session: Session, form: Form, now: datetime, request: AnyRequest, config: Config
) -> SeeOther:
    if not config.passwords:
        raise Conflict(_NO_PASSWORDS)
    services: Services = request.app.state.services
    _count_person(services, person.email, now)
    current, new = (form.get(name, [""])[0] for name in ("current", "password"))
    await actions.change_password(db, person, session, current, new, now)
    return SeeOther("/account", "Your password was set. You are signed out on all other devices.")


HANDLERS: list[HTTPRouteHandler] = [
    show_sign_in,
    ask_for_link,
    sign_in,
    show_link,
    sign_in_by_link,
    go_to_provider,
    come_from_provider,
    sign_out,
    show_account,
    change_password,
]
