from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions
from rolecall.console.frame import OWN, screen
from rolecall.console.model import Session
from rolecall.core import clock
from rolecall.core.authors import Author, AuthorKind, by
from rolecall.core.caller import Caller
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
from rolecall.web.lists import LISTS, RECORD, find_all, read_filters


def sign_as(session: Session, caller: Caller, scope: str, action: str) -> Sign:
    """Authorize the person again in the transaction that records the export."""

    async def sign(db: Db) -> Author:
        author = by(AuthorKind.PERSON, caller, action, clock.now(), correlation_id.get())
        person = await actions.sign_as_person(db, session, author)
        if person is None:
            raise Unauthorized
        # The rows were selected for this caller, so the export fails if the role was removed meanwhile.
        if scope not in person.caller().scopes or person.is_limited != caller.is_limited:
            raise Forbidden(scope)
        return author

    return sign


def is_from_here(request: AnyRequest) -> bool:
    """Return whether the link is on our own site, to prevent cross-site request forgery."""
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


# The lists that a limited person may export: they contain only what concerns the person.
OWN_LISTS = ("access-requests", "events", "identities", "search-identities")


@screen("GET", "/export/{id:str}", limits=OWN, query={"format": a_format})
async def export_list(
    request: AnyRequest, id: str, session: Session, caller: Caller, query: dict[str, Any], config: Config, now: datetime
) -> ASGIResponse:
    """Download a whole list under the filters of the API."""
    source = LISTS.get(id) if is_from_here(request) else None
    if source is None:
        raise NotFound("List", id)
    if source.scope not in caller.scopes or (caller.is_limited and id not in OWN_LISTS):
        raise Forbidden(source.scope)
    given = {name: text for name, text in request.query_params.items() if name not in ("format", "page") and text}
    filters = read_filters(source, given)
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
