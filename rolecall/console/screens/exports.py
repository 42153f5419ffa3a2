from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions, record_access
from rolecall.console.frame import OWN, screen
from rolecall.console.lists import ONE_PERSON, OWN_LISTS, list_named, record_in
from rolecall.console.model import Session
from rolecall.core import clock
from rolecall.core.authors import Author, AuthorKind, by
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Forbidden, NotFound, Unauthorized
from rolecall.core.exporting import Plan
from rolecall.core.formats.formats import Format
from rolecall.core.ids import new_id
from rolecall.web import exporting
from rolecall.web.bodies import AnyRequest
from rolecall.web.correlation import correlation_id
from rolecall.web.exporting import Sign, a_format
from rolecall.web.lists import RECORD, ListSource, find_all, read_filters


def sign_as(session: Session, caller: Caller, scope: str, action: str) -> Sign:
    """Return a function that checks session and rights again, in the transaction that records the export."""

    async def sign(db: Db) -> Author:
        author = by(AuthorKind.PERSON, caller, action, clock.now(), correlation_id.get())
        person = await actions.sign_as_person(db, session, author)
        if person is None:
            raise Unauthorized
        # The rows were selected with the rights of this caller, so refuse the export if the role has changed.
        if scope not in {*person.caller().scopes, Scope.NOTIFICATIONS_OWN} or person.is_limited != caller.is_limited:
            raise Forbidden(scope)
        return author

    return sign


def is_from_here(request: AnyRequest) -> bool:
    """Return False for a request that another site sent, to prevent cross-site request forgery."""
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


async def require_list(db: Db, caller: Caller, source: ListSource, given: dict[str, str]) -> None:
    """Raise an error unless the person may export the list; everyone may export their own notifications."""
    if source.scope not in {*caller.scopes, Scope.NOTIFICATIONS_OWN}:
        raise Forbidden(source.scope)
    filter, wider = ONE_PERSON.get(source.name, ("", source.scope))
    if wider not in {*caller.scopes, Scope.NOTIFICATIONS_OWN} and given.get(filter) != str(caller.id):
        raise Forbidden(wider)
    if not caller.is_limited or source.name in OWN_LISTS:
        return
    if (record := record_in(source.name, given)) is None:
        raise Forbidden(source.scope)
    type, id = record
    await record_access.require(db, caller, type, str(id))


# The screen declares no scope, because `require_list` checks the scope of the list.
@screen("GET", "/export/{id:str}", limits=OWN, query={"format": a_format})
async def export_list(
    request: AnyRequest,
    db: Db,
    id: str,
    session: Session,
    caller: Caller,
    query: dict[str, Any],
    config: Config,
    now: datetime,
) -> ASGIResponse:
    source = list_named(id) if is_from_here(request) else None
    if source is None:
        raise NotFound("List", id)
    # Leave out the format, the page number and empty form fields, which are not filters.
    given = {name: text for name, text in request.query_params.items() if name not in ("format", "page") and text}
    filters = read_filters(source, given)
    await require_list(db, caller, source, given)
    # `a_format` returns None for JSON, which is not offered here.
    format = query.get("format") or Format.CSV
    plan = Plan(id=new_id(), list=source.name, filters=given, columns=source.columns, format=format)
    return await exporting.begin(
        request.app.state.services,
        plan,
        caller.id,
        lambda db: find_all(source, db, filters, given.get(RECORD, ""), caller, config, now),
        sign_as(session, caller, source.scope, "export_list"),
    )


HANDLERS: list[HTTPRouteHandler] = [export_list]
