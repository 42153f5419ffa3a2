"""The live source of an application: its settings, a test of the connection, and what the last import said."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.applications import queries as applications
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, integer, problems_by_field, shown
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, plain_form
from rolecall.console.peer_forms import as_json, current_peer, json_object, peer_body, problems_by_part
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.ids import known_guid
from rolecall.core.text import fold
from rolecall.scim_server import actions as pushes
from rolecall.scim_server import queries as push_queries
from rolecall.scim_server.shapes import DEFAULT_DAYS
from rolecall.source_tests import actions as tests
from rolecall.source_tests.shapes import SourceTest
from rolecall.sources import actions, queries
from rolecall.sources.model import Authentication, SourceKind
from rolecall.sources.shapes import SourceDetail
from rolecall.web.bodies import AnyRequest, Carried
from rolecall.web.services import Services

_HERE = "/applications/{id:str}/source"
_SCOPE = Scope.CONFIG_MANAGE


@screen("GET", _HERE, scope=_SCOPE)
async def show_source(db: Db, id: str, config: Config, now: datetime) -> HtmlPage:
    return await _page(db, known_guid("Application", id), config, now)


@screen("POST", _HERE, scope=_SCOPE)
async def put_source(db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    application_id = known_guid("Application", id)
    try:
        async with db.transaction():
            await actions.put_source(db, caller, application_id, _body(form), facts, config)
    except Invalid as error:
        return await _page(db, application_id, config, facts.now, form, problems_by_part(error))
    is_push = fold(first(form, "kind")) == fold(SourceKind.SCIM_PUSH)
    advice = "Create a token for the identity provider." if is_push else "Test the connection before you import."
    return SeeOther(f"/applications/{id}/source", f"The source was saved. {advice}")


async def _test(request: AnyRequest, config: Config) -> Carried:
    """Ask the source before the transaction, because it may be slow."""
    carried = await plain_form(request, config)
    services: Services = request.app.state.services
    id = known_guid("Application", request.path_params["id"])
    facts = Facts(now=clock.now(), zone=config.timezone)
    try:
        result: object = await tests.test_source(services.pool, request.user, id, {}, facts, config)
    except NotFound as error:
        result = error
    return msgspec.structs.replace(carried, raw=result)


@screen("POST", f"{_HERE}/test", scope=_SCOPE, read_body=_test)
async def test_source(db: Db, caller: Caller, id: str, raw: Any, config: Config, now: datetime) -> HtmlPage:
    if isinstance(raw, Exception):
        raise raw
    application_id = known_guid("Application", id)
    await tests.record_test(db, caller, application_id, raw)
    return await _page(db, application_id, config, now, result=raw)


@screen("POST", f"{_HERE}/remove", scope=_SCOPE)
async def delete_source(db: Db, caller: Caller, id: str, now: datetime) -> SeeOther:
    await actions.delete_source(db, caller, known_guid("Application", id), now)
    return SeeOther(f"/applications/{id}?tab=connector", "The source was removed. Imported data stays.")


@screen("POST", f"{_HERE}/tokens", scope=_SCOPE)
async def create_push_token(db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config) -> HtmlPage:
    application_id = known_guid("Application", id)
    days = first(form, "expiresInDays")
    raw = {"name": first(form, "name"), "expiresInDays": integer(days) if days else None}
    try:
        async with db.transaction():
            token = await pushes.create_push_token(db, caller, application_id, raw, facts)
    except Invalid as error:
        return await _page(db, application_id, config, facts.now, token_problems=problems_by_field(error))
    said = {"what": f"Secret of {token.name}", "secret": token.secret, "href": f"/applications/{id}/source"}
    return HtmlPage("secret.html", said)


@screen("POST", "/scim-tokens/{id:str}/revoke", scope=_SCOPE, revokes=True)
async def revoke_push_token(db: Db, caller: Caller, id: str, now: datetime) -> SeeOther:
    application_id = await pushes.revoke_push_token(db, caller, known_guid("SCIM token", id), now)
    said = "The token was revoked. The next request with it is refused."
    return SeeOther(f"/applications/{application_id}/source", said)


async def _page(
    db: Db,
    id: UUID,
    config: Config,
    now: datetime,
    form: Form | None = None,
    problems: dict[str, str] | None = None,
    result: SourceTest | None = None,
    token_problems: dict[str, str] | None = None,
) -> HtmlPage:
    application = await applications.get(db, id)
    try:
        source: SourceDetail | None = await queries.get(db, id, config, now)
    except NotFound:
        source = None
    facts = await queries.application(db, id)
    is_push = source is not None and source.kind is SourceKind.SCIM_PUSH
    values = {
        "application": application,
        "source": source,
        "form": shown(form) if form is not None else _current(source, facts.groups),
        "problems": problems or {},
        "token_problems": token_problems or {},
        "kinds": list(SourceKind),
        "authentications": list(Authentication),
        "result": result,
        "push": await push_queries.detail(db, id, config) if is_push else None,
        "days": DEFAULT_DAYS,
        "age": (now - source.secret_date).days if source and source.secret_date else None,
    }
    return HtmlPage("source.html", values, 400 if problems or token_problems else 200)


def _current(source: SourceDetail | None, groups: dict[str, bool]) -> dict[str, str]:
    if source is None:
        needed = {name: {"path": name.lower()} for name, is_optional in groups.items() if not is_optional}
        return {"kind": SourceKind.REST, "contents": as_json(needed), "timeoutSeconds": "60"}
    return {**current_peer(source), "contents": as_json(source.contents)}


def _body(form: Form) -> Json:
    """Convert the form to the body of the API."""
    return {**peer_body(form), "contents": json_object("contents", first(form, "contents"))}


HANDLERS: list[HTTPRouteHandler] = [
    show_source,
    put_source,
    test_source,
    delete_source,
    create_push_token,
    revoke_push_token,
]
