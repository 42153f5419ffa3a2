"""Show the carrier of an application: its settings, planned and sent steps, and the requests that its brake holds."""

from datetime import datetime
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.applications import queries as applications
from rolecall.carriers import actions, queries
from rolecall.carriers.model import CarrierKind, CarrierMode, MemberValue, RemovalWay
from rolecall.carriers.shapes import CarrierDetail, CarrierPreview
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, integer, shown
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.peer_forms import as_json, current_peer, json_object, peer_body, problems_by_part
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.ids import known_guid
from rolecall.sources.model import Authentication

_HERE = "/applications/{id:str}/carrier"
_SCOPE = Scope.CONFIG_MANAGE
_TEXTS = (
    "mode",
    "accountName",
    "onRemove",
    "accountsPath",
    "accountAttribute",
    "nameAttribute",
    "activeAttribute",
    "activeValue",
    "inactiveValue",
    "groupsPath",
    "groupAttribute",
    "memberAttribute",
    "memberValue",
)
_LISTS, _NUMBERS = ("objectClasses", "changedAttributes"), ("stepsPerMinute", "removalsPerHour")
# Propose a dry run, so that a new carrier sends nothing until a person turns it on.
_NEW = {"mode": CarrierMode.DRY_RUN, "accountName": "{email}", "stepsPerMinute": "60", "removalsPerHour": "20"}


class OpenRequest(msgspec.Struct, frozen=True):
    """An open request with its planned steps; `can_be_given` says whether a person can give it to the carrier."""

    id: UUID
    number: int
    action: str
    target: str
    preview: CarrierPreview
    can_be_given: bool


@screen("GET", _HERE, scope=_SCOPE)
async def show_carrier(db: Db, id: str, config: Config, now: datetime) -> HtmlPage:
    return await _page(db, known_guid("Application", id), config, now)


@screen("POST", _HERE, scope=_SCOPE)
async def put_carrier(db: Db, id: str, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    application_id = known_guid("Application", id)
    try:
        async with db.transaction():
            await actions.put_carrier(db, application_id, _body(form), facts, config)
    except Invalid as error:
        return await _page(db, application_id, config, facts.now, form, problems_by_part(error))
    return SeeOther(f"/applications/{id}/carrier", "The carrier was saved.")


@screen("POST", f"{_HERE}/remove", scope=_SCOPE)
async def delete_carrier(db: Db, id: str, now: datetime) -> SeeOther:
    await actions.delete_carrier(db, known_guid("Application", id), now)
    return SeeOther(f"/applications/{id}", "The carrier was removed. People must provision its open requests.")


@screen("POST", f"{_HERE}/release", scope=_SCOPE)
async def release_carrier(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    named = {"accessRequestIds": form.get("accessRequestId", [])}
    await actions.release(db, caller, known_guid("Application", id), named, facts)
    return SeeOther(_after(form, id), "The requests were released from the brake.")


@screen("POST", f"{_HERE}/carry-out", scope=_SCOPE)
async def carry_out(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    named = {"accessRequestId": first(form, "accessRequestId")}
    await actions.carry_out(db, caller, known_guid("Application", id), named, facts)
    return SeeOther(_after(form, id), "The request was given to the carrier.")


def _after(form: Form, id: str) -> str:
    """Return the URL of the next page: of the request if the form was sent from there, otherwise of the carrier."""
    back = first(form, "back")
    return back if back.startswith("/requests") else f"/applications/{id}/carrier"


async def _page(
    db: Db,
    id: UUID,
    config: Config,
    now: datetime,
    form: Form | None = None,
    problems: dict[str, str] | None = None,
) -> HtmlPage:
    application = await applications.get(db, id)
    try:
        carrier: CarrierDetail | None = await queries.get(db, id, config, now)
    except NotFound:
        carrier = None
    values = {
        "application": application,
        "carrier": carrier,
        "form": shown(form) if form is not None else _current(carrier),
        "problems": problems or {},
        "kinds": list(CarrierKind),
        "modes": list(CarrierMode),
        "ways": list(RemovalWay),
        "member_values": list(MemberValue),
        "authentications": list(Authentication),
        "open_requests": await _open_requests(db, id, carrier),
        "age": (now - carrier.secret_date).days if carrier and carrier.secret_date else None,
    }
    return HtmlPage("carrier.html", values, 400 if problems else 200)


async def _open_requests(db: Db, id: UUID, detail: CarrierDetail | None) -> list[OpenRequest]:
    carrier = await queries.find(db, id)
    if carrier is None or detail is None:
        return []
    # These requests cannot be given to the carrier: it already works on them, or its brake holds them.
    taken = {each.access_request_id for each in (*detail.brake.held, *detail.waiting)}
    requests = []
    for each in await queries.open_requests(db, id):
        preview = await queries.previewed(db, carrier, each)
        can_be_given = carrier.mode is CarrierMode.ON and preview.reason is None and each.id not in taken
        requests.append(OpenRequest(each.id, each.number, each.action, each.target.name, preview, can_be_given))
    return requests


def _current(carrier: CarrierDetail | None) -> dict[str, str]:
    if carrier is None:
        return {**_NEW, "kind": CarrierKind.SCIM, "timeoutSeconds": "60"}
    stored = msgspec.to_builtins(carrier)
    return {
        **current_peer(carrier),
        **{name: stored[name] for name in _TEXTS},
        **{name: ", ".join(stored[name]) for name in _LISTS},
        **{name: str(stored[name]) for name in _NUMBERS},
        "attributes": as_json(carrier.attributes) if carrier.attributes else "",
    }


def _body(form: Form) -> Json:
    body = {**peer_body(form), "attributes": json_object("attributes", first(form, "attributes"))}
    # Leave out empty fields, so that their defaults apply.
    body |= {name: text for name in _TEXTS if (text := first(form, name))}
    body |= {name: integer(text) for name in _NUMBERS if (text := first(form, name))}
    return body | {name: _split(first(form, name)) for name in _LISTS}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


HANDLERS: list[HTTPRouteHandler] = [show_carrier, put_carrier, delete_carrier, release_carrier, carry_out]
