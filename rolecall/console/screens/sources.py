"""Show the live source of an application: its settings, a test of the connection, and the last failure."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.applications import queries as applications
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, integer, problems_by_field, shown
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.live_systems import URL_EXAMPLES, proposed_contents
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
from rolecall.sources.kinds import KINDS
from rolecall.sources.model import Authentication, SourceKind
from rolecall.sources.references import SEALED
from rolecall.sources.shapes import SourceDetail
from rolecall.web.bodies import AnyRequest, Carried, a_word_of
from rolecall.web.services import Services

_HERE = "/applications/{id:str}/source"
_SCOPE = Scope.CONFIG_MANAGE
_COMMON = frozenset({"kind", "url", "contents", "secret"})
_ENTER_AGAIN = "No secret is stored for this URL and login: enter it under New secret and save again."


@screen("GET", _HERE, scope=_SCOPE, query={"kind": a_word_of(SourceKind)})
async def show_source(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> HtmlPage:
    return await _page(db, known_guid("Application", id), config, now, SourceView(kind=query.get("kind")))


@screen("POST", _HERE, scope=_SCOPE)
async def put_source(db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    application_id = known_guid("Application", id)
    try:
        async with db.transaction():
            await actions.put_source(db, caller, application_id, _body(form), facts, config)
    except Invalid as error:
        return await _page(db, application_id, config, facts.now, SourceView(form, problems_by_part(error)))
    if await _is_without_secret(db, application_id):
        return SeeOther(f"/applications/{id}/source", f"The source was saved. {_ENTER_AGAIN}", "warn")
    is_push = fold(first(form, "kind")) == fold(SourceKind.SCIM_PUSH)
    advice = "Create a token for the identity provider." if is_push else "Test the connection before you import."
    return SeeOther(f"/applications/{id}/source", f"The source was saved. {advice}")


TestResult = SourceTest | NotFound | Invalid


class TestedForm(msgspec.Struct, frozen=True):
    """The form that was tested without saving (None if the saved source was tested), and the result."""

    form: Form | None
    result: TestResult


async def _is_without_secret(db: Db, id: UUID) -> bool:
    """Return whether the source needs a stored secret but none is stored for its URL and login."""
    source = await queries.find(db, id)
    is_sealed = source is not None and source.secret_ref == SEALED
    return is_sealed and await queries.sealed_secret(db, id, queries.FETCHING) is None


async def _test(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    """Test the source in the form, or the saved source, before the transaction, because the source may be slow."""
    services: Services = request.app.state.services
    id = known_guid("Application", request.path_params["id"])
    facts = Facts(now=clock.now(), zone=config.timezone)
    try:
        raw = {"source": _body(carried.raw)} if "kind" in carried.raw else {}
        result: TestResult = await tests.test_source(services.pool, request.user, id, raw, facts, config)
    # Keep the error for the screen, which can show problems next to the fields.
    except (NotFound, Invalid) as error:
        result = error
    return msgspec.structs.replace(carried, raw=TestedForm(carried.raw if "kind" in carried.raw else None, result))


@screen("POST", f"{_HERE}/test", scope=_SCOPE, prepare=_test)
async def test_source(db: Db, caller: Caller, id: str, raw: TestedForm, config: Config, now: datetime) -> HtmlPage:
    application_id = known_guid("Application", id)
    if isinstance(raw.result, Invalid):
        return await _page(db, application_id, config, now, SourceView(raw.form, problems_by_part(raw.result)))
    if isinstance(raw.result, NotFound):
        raise raw.result
    await tests.record_test(db, caller, application_id, raw.result)
    return await _page(db, application_id, config, now, SourceView(raw.form, result=raw.result))


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
        view = SourceView(token_problems=problems_by_field(error))
        return await _page(db, application_id, config, facts.now, view)
    # Do not redirect: only this response contains the secret.
    said = {"what": f"Secret of {token.name}", "secret": token.secret, "href": f"/applications/{id}/source"}
    return HtmlPage("secret.html", said)


# No `delay_seconds`: each SCIM request looks up its token, so the revocation takes effect at once.
@screen("POST", "/scim-tokens/{id:str}/revoke", scope=_SCOPE, revokes=True)
async def revoke_push_token(db: Db, caller: Caller, id: str, now: datetime) -> SeeOther:
    application_id = await pushes.revoke_push_token(db, caller, known_guid("SCIM token", id), now)
    said = "The token was revoked. Requests that use it are refused from now on."
    return SeeOther(f"/applications/{application_id}/source", said)


class SourceView(msgspec.Struct, frozen=True):
    """What the page shows in addition to the saved source: the submitted form, its problems and the test result."""

    form: Form | None = None
    problems: dict[str, str] = {}
    result: SourceTest | None = None
    token_problems: dict[str, str] = {}
    kind: SourceKind | None = None


async def _page(db: Db, id: UUID, config: Config, now: datetime, view: SourceView) -> HtmlPage:
    application = await applications.get(db, id)
    try:
        source: SourceDetail | None = await queries.get(db, id, config, now)
    except NotFound:
        source = None
    facts = await queries.application(db, id)
    is_push = source is not None and source.kind is SourceKind.SCIM_PUSH
    push = await push_queries.detail(db, id, config) if is_push else None
    values = {
        "application": application,
        "source": source,
        "form": shown(view.form) if view.form is not None else _current(source, facts.groups, view.kind),
        "problems": view.problems,
        "token_problems": view.token_problems,
        "groups": facts.groups,
        "url_examples": URL_EXAMPLES,
        "examples": {kind: as_json(proposed_contents(kind, facts.groups)) for kind in SourceKind},
        "is_unsaved": view.form is not None and _is_changed(view.form, _current(source, facts.groups, view.kind)),
        "kinds": list(SourceKind),
        "authentications": list(Authentication),
        "result": view.result,
        "is_listed": {group: bool(content.each) for group, content in (source.contents.items() if source else ())},
        "failures": _failures(view.result) if view.result else {},
        "push": push,
        "of_leavers": [token.id for token in push.tokens if token.outlives_owner(now)] if push else [],
        "days": DEFAULT_DAYS,
        "age": (now - source.secret_date).days if source and source.secret_date else None,
    }
    return HtmlPage("source.html", values, 400 if view.problems or view.token_problems else 200)


def _is_changed(form: Form, current: dict[str, str]) -> bool:
    """Return whether the form differs from the saved source, ignoring line endings, which browsers change."""
    sent = {name: text.replace("\r\n", "\n") for name, text in shown(form).items()}
    return any(text != current.get(name, "") for name, text in sent.items())


def _failures(result: SourceTest) -> dict[str, str]:
    """Return the problem of each file group; a problem that several groups share is returned only for the first."""
    found: dict[str, str] = {}
    for tested in result.contents:
        if tested.problem and _said(tested.problem) not in map(_said, found.values()):
            found[tested.file_group] = tested.problem
    return found


def _said(problem: str) -> str:
    """Remove the URL path from the start of a problem."""
    return problem.partition(": ")[2] if problem.startswith("/") else problem


def _current(source: SourceDetail | None, groups: dict[str, bool], kind: SourceKind | None) -> dict[str, str]:
    if source is None:
        kind = kind or SourceKind.REST
        bearer = {"authentication": Authentication.BEARER} if kind is SourceKind.SCIM else {}
        return {"kind": kind, "contents": as_json(proposed_contents(kind, groups)), "timeoutSeconds": "60", **bearer}
    return {**current_peer(source), "contents": as_json(source.contents)}


def _body(form: Form) -> Json:
    """Convert the form to the body of the API, without the fields that the chosen kind does not have."""
    kind = next((each for each in SourceKind if fold(each) == fold(first(form, "kind"))), None)
    body = {**peer_body(form), "contents": json_object("contents", first(form, "contents"))}
    return {name: value for name, value in body.items() if kind is None or name in _COMMON | KINDS[kind].keys}


HANDLERS: list[HTTPRouteHandler] = [
    show_source,
    put_source,
    test_source,
    delete_source,
    create_push_token,
    revoke_push_token,
]
