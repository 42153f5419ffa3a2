from datetime import datetime

from litestar.handlers import HTTPRouteHandler

from rolecall.console import actions, queries
from rolecall.console.frame import Form, Page, SeeOther, screen
from rolecall.console.model import SHORTEST_PASSWORD, Person, Session
from rolecall.core.db import Db
from rolecall.core.errors import RateLimited
from rolecall.web import limits
from rolecall.web.bodies import AnyRequest
from rolecall.web.services import Services

_WRONG = "E-mail or password is wrong"
_SPENT = "This link was used already or has expired"


def _sign_in_page(problem: str | None, next: str = "/", email: str = "", status: int = 200) -> Page:
    return Page("sign_in.html", {"problem": problem, "next": next, "email": email}, status)


@screen("GET", "/sign-in", open=True)
async def show_sign_in(request: AnyRequest) -> Page:
    return _sign_in_page(None, request.query_params.get("next", "/"))


@screen("POST", "/sign-in", open=True)
async def sign_in(db: Db, form: Form, now: datetime, request: AnyRequest) -> Page | SeeOther:
    email, password, next = (form.get(name, [""])[0] for name in ("email", "password", "next"))
    services: Services = request.app.state.services
    try:
        # Before the password is looked at: past the limit, the right one is refused as well.
        services.sign_ins.count(request.client and request.client.host, limits.SIGN_INS_FROM_AN_ADDRESS, now)
        services.sign_ins.count(email.lower(), limits.SIGN_INS_OF_A_PERSON, now)
        session = await actions.sign_in_by_password(db, email, password, now)
    except RateLimited as error:
        return _sign_in_page(str(error), next, email, 429)
    if session:
        return SeeOther(next, session=session)
    return _sign_in_page(_WRONG, next, email, 401)


@screen("GET", "/sign-in/{id:str}", open=True)
async def show_link() -> Page:
    """A click, not the visit, uses the link up: mail programs look at links too."""
    return Page("sign_in_link.html")


@screen("POST", "/sign-in/{id:str}", open=True)
async def sign_in_by_link(db: Db, id: str, now: datetime) -> Page | SeeOther:
    session = await actions.sign_in_by_link(db, id, now)
    return SeeOther("/", session=session) if session else _sign_in_page(_SPENT, status=401)


@screen("POST", "/sign-out")
async def sign_out(db: Db, session: Session) -> SeeOther:
    await actions.sign_out(db, session)
    return SeeOther("/sign-in", session="")


@screen("GET", "/account")
async def show_account(db: Db, person: Person) -> Page:
    has_password = await queries.password_of(db, person) is not None
    return Page("account.html", {"shortest": SHORTEST_PASSWORD, "has_password": has_password})


@screen("POST", "/account")
async def change_password(
    db: Db, person: Person, session: Session, form: Form, now: datetime, request: AnyRequest
) -> SeeOther:
    services: Services = request.app.state.services
    services.sign_ins.count(person.email.lower(), limits.SIGN_INS_OF_A_PERSON, now)
    current, new = (form.get(name, [""])[0] for name in ("current", "password"))
    await actions.change_password(db, person, session, current, new, now)
    return SeeOther("/account", "Your password is set; you are signed out everywhere else")


HANDLERS: list[HTTPRouteHandler] = [
    show_sign_in,
    sign_in,
    show_link,
    sign_in_by_link,
    sign_out,
    show_account,
    change_password,
]
