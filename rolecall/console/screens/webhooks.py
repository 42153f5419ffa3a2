from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests.model import CONDITIONS, RequestEvent
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import EditConflict, edit_conflict, first, given, problems_by_field, shown, version_of
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.rendering import readable
from rolecall.core import address_check
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.ids import known_guid
from rolecall.reviews.model import REVIEW_CONDITIONS
from rolecall.web.bodies import AnyRequest, Carried, a_guid, a_word_of
from rolecall.webhooks import actions, queries
from rolecall.webhooks.model import DeliveryStatus

_SCOPE = Scope.WEBHOOKS_MANAGE
_FILTERS = {"webhookId": a_guid, "accessRequestId": a_guid, "status": a_word_of(DeliveryStatus)}
EVENT_WORDS: dict[str, str] = {str(event): words for event, words in (*CONDITIONS.items(), *REVIEW_CONDITIONS.items())}


@screen("GET", "/webhooks", scope=_SCOPE)
async def show_hooks(db: Db, query: dict[str, Any]) -> HtmlPage:
    page = await queries.hooks_by_name(db, query["page"])
    numbers = await console.hook_numbers(db, [hook.id for hook in page.items])
    return HtmlPage("webhooks.html", {"page": page, "query": query, "numbers": numbers})


@screen("GET", "/webhooks/new", scope=_SCOPE)
async def show_form(db: Db, config: Config) -> HtmlPage:
    return await _form(db, config, {"events": list(RequestEvent), "enabled": ["yes"]}, {})


async def _form(db: Db, config: Config, form: Form, problems: dict[str, str]) -> HtmlPage:
    values = {
        "form": shown(form),
        "problems": problems,
        "chosen": form.get("events", []),
        "events": EVENT_WORDS,
        "applications": await console.live_applications(db),
        "allowed": [str(network) for network in config.webhook_allow],
    }
    return HtmlPage("webhook_form.html", values, 400 if problems else 200)


def _body(form: Form) -> Json:
    # Null removes the restriction to one application.
    application = first(form, "applicationId") or None
    return {
        **given(form, "name", "url"),
        "events": form.get("events", []),
        "applicationId": application,
        "enabled": first(form, "enabled") == "yes",
    }


async def _with_names(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    """Before the transaction, resolve the host of the URL in the form or, for a test, of the webhook's URL."""
    if request.path_params.get("verb") == "test":
        names = await actions.names_of_hook(request.app.state.services.pool, request.path_params["id"])
    else:
        names = await address_check.looked_up(carried.raw.get("url", []))
    return msgspec.structs.replace(carried, addresses=names)


@screen("POST", "/webhooks/new", scope=_SCOPE, prepare=_with_names)
async def create_webhook(db: Db, form: Form, facts: Facts, config: Config) -> HtmlPage:
    try:
        async with db.transaction():
            id, secret = await actions.create_hook(db, _body(form), facts, config)
    except Invalid as error:
        return await _form(db, config, form, problems_by_field(error))
    return _secret_page(f"/webhooks/{id}", first(form, "name"), secret)


def _secret_page(href: str, name: str, secret: str) -> HtmlPage:
    # Do not redirect: only this response contains the secret.
    return HtmlPage("secret.html", {"what": f"Secret of {name}", "secret": secret, "href": href, "name": name})


@screen("GET", "/webhooks/{id:str}", scope=_SCOPE)
async def show_hook(db: Db, id: str, config: Config) -> HtmlPage:
    current = await _current(db, id)
    return await _hook_page(db, config, id, {**current, "version": [version_of(current)]}, {})


async def _current(db: Db, id: str) -> Form:
    hook = await queries.get_hook(db, id)
    return {
        "name": [hook.name],
        "url": [hook.url],
        "applicationId": [str(hook.application_id or "")],
        "enabled": ["yes" if hook.enabled else ""],
        "events": [str(event) for event in hook.events],
    }


async def _hook_page(
    db: Db, config: Config, id: str, form: Form, problems: dict[str, str], late: EditConflict | None = None
) -> HtmlPage:
    hook = await queries.get_hook(db, id)
    numbers = await console.hook_numbers(db, [hook.id])
    return HtmlPage(
        "webhook.html",
        {
            **(await _form(db, config, form, problems)).values,
            "hook": hook,
            # Without a lookup of the name, which may take seconds.
            "blocked": address_check.problem(hook.url, config.webhook_allow, {}),
            "late": late,
            "numbers": numbers[hook.id],
            "deliveries": (await queries.newest_first(db, 1, webhook_id=hook.id)).items[:20],
        },
        409 if late else 400 if problems else 200,
    )


@screen("POST", "/webhooks/{id:str}", scope=_SCOPE, prepare=_with_names)
async def change_webhook(db: Db, id: str, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    hook = await queries.get_hook(db, id)
    if late := await edit_conflict(db, first(form, "version"), hook.id, _current(db, id)):
        return await _hook_page(db, config, id, {**form, "version": [late.version]}, {}, late)
    try:
        async with db.transaction():
            await actions.change_hook(db, hook.id, _body(form), facts, config)
    except Invalid as error:
        return await _hook_page(db, config, id, form, problems_by_field(error))
    return SeeOther(f"/webhooks/{id}", f"{first(form, 'name')} was saved")


@screen("POST", "/webhooks/{id:str}/rotate", scope=_SCOPE)
async def rotate_webhook_secret(db: Db, id: str, facts: Facts, config: Config) -> HtmlPage:
    hook = await queries.get_hook(db, id)
    secret = await actions.rotate_secret(db, hook.id, config, facts.now)
    return _secret_page(f"/webhooks/{id}", hook.name, secret)


_OPERATIONS = {
    "test": "test_webhook",
    "pause": "change_webhook",
    "resume": "change_webhook",
    "recover": "recover_webhook",
    "delete": "delete_webhook",
}


@screen("POST", "/webhooks/{id:str}/{verb:str}", scope=_SCOPE, verbs=_OPERATIONS, prepare=_with_names)
async def perform(db: Db, id: str, verb: str, form: Form, facts: Facts, config: Config) -> SeeOther:
    hook = known_guid("Webhook", id)
    match verb:
        case "test":
            delivery = await actions.test_hook(db, hook, facts, config)
            return SeeOther(f"/deliveries/{delivery}", "A test is being sent. Reload the page to see the response.")
        case "pause" | "resume":
            await actions.change_hook(db, hook, {"enabled": verb == "resume"}, facts, config)
            return SeeOther(
                f"/webhooks/{id}", "The webhook was paused" if verb == "pause" else "The webhook was resumed"
            )
        case "recover":
            await actions.recover_hook(db, hook, given(form, "since"), facts)
            return SeeOther(
                f"/webhooks/{id}",
                f"Deliveries since {readable(first(form, 'since'))} that have not arrived are sent again",
            )
        case "delete":
            await actions.delete_hook(db, hook, facts.now)
            return SeeOther("/webhooks", "The webhook was deleted. Its deliveries stay readable.")
    raise NotFound("Action", verb)


@screen("GET", "/deliveries", scope=_SCOPE, query=_FILTERS)
async def show_deliveries(db: Db, query: dict[str, Any]) -> HtmlPage:
    page = await queries.newest_first(
        db,
        query["page"],
        webhook_id=query.get("webhookId"),
        access_request_id=query.get("accessRequestId"),
        status=query.get("status"),
    )
    names = await console.hook_names(db, [item.webhook_id for item in page.items])
    return HtmlPage("deliveries.html", {"page": page, "query": query, "names": names, "tabs": [None, *DeliveryStatus]})


@screen("GET", "/deliveries/{id:str}", scope=_SCOPE)
async def show_delivery(db: Db, id: str) -> HtmlPage:
    delivery = await queries.get_delivery(db, id)
    names = await console.hook_names(db, [delivery.webhook_id])
    about = delivery.access_request_id
    numbers = await console.record_names(db, [about] if about else [])
    body = msgspec.json.format(bytes(delivery.body), indent=2).decode()
    values = {
        "delivery": delivery,
        "hook": names[delivery.webhook_id],
        "body": body,
        "request_number": numbers.get(str(about)),
    }
    return HtmlPage("delivery.html", values)


@screen("POST", "/deliveries/{id:str}/resend", scope=_SCOPE)
async def resend_webhook_delivery(db: Db, id: str, facts: Facts) -> SeeOther:
    await actions.resend_delivery(db, id, facts.now)
    return SeeOther(f"/deliveries/{id}", "The delivery is being sent again. Reload the page to see the response.")


HANDLERS: list[HTTPRouteHandler] = [
    show_hooks,
    show_form,
    create_webhook,
    show_hook,
    change_webhook,
    rotate_webhook_secret,
    perform,
    show_deliveries,
    show_delivery,
    resend_webhook_delivery,
]
