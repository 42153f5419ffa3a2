from datetime import datetime
from typing import Any

import msgspec
from litestar import Router

from rolecall.core import address_check
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.web.bodies import AnyRequest, Carried, a_guid, a_word_of, read_text
from rolecall.web.operations import operation
from rolecall.web.services import Services
from rolecall.webhooks import actions, queries
from rolecall.webhooks.model import LARGEST_CALLBACK, DeliveryStatus
from rolecall.webhooks.shapes import (
    CallbackText,
    DeliveryDetail,
    DeliveryItem,
    HookChanges,
    HookDetail,
    HookWithSecret,
    NewHook,
    RecoverBody,
)

_FILTERS = {"webhookId": a_guid, "accessRequestId": a_guid, "status": a_word_of(DeliveryStatus)}


async def _with_secret(db: Db, id: object, secret: str) -> HookWithSecret:
    hook = await queries.get_hook(db, str(id))
    return HookWithSecret(**msgspec.structs.asdict(hook), secret=secret)


@operation("GET", "/", scope=Scope.WEBHOOKS_MANAGE, query={})
async def list_webhooks(db: Db, query: dict[str, Any]) -> Page[HookDetail]:
    """List webhooks, ordered by name."""
    return await queries.hooks_by_name(db, query["page"])


async def _with_names(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    # Look up the host before the transaction begins, because this can take seconds.
    return msgspec.structs.replace(carried, addresses=await address_check.looked_up([carried.raw.get("url")]))


async def _names_of_hook(request: AnyRequest, _: Config, carried: Carried) -> Carried:
    services: Services = request.app.state.services
    names = await actions.names_of_hook(services.pool, request.path_params["id"])
    return msgspec.structs.replace(carried, addresses=names)


@operation("POST", "/", scope=Scope.WEBHOOKS_MANAGE, status=201, body=NewHook, secret=True, prepare=_with_names)
async def create_webhook(db: Db, raw: Json, facts: Facts, config: Config) -> HookWithSecret:
    """Create a webhook. The response contains its secret, which is never shown again."""
    return await _with_secret(db, *await actions.create_hook(db, raw, facts, config))


@operation("GET", "/{id:str}", scope=Scope.WEBHOOKS_MANAGE)
async def get_webhook(db: Db, id: str) -> HookDetail:
    """Get one webhook."""
    return await queries.get_hook(db, id)


@operation("PATCH", "/{id:str}", scope=Scope.WEBHOOKS_MANAGE, body=HookChanges, prepare=_with_names)
async def change_webhook(db: Db, id: str, raw: Json, facts: Facts, config: Config) -> HookDetail:
    """Change the given fields. Disabling a webhook parks its waiting deliveries."""
    await actions.change_hook(db, known_guid("Webhook", id), raw, facts, config)
    return await queries.get_hook(db, id)


@operation("DELETE", "/{id:str}", scope=Scope.WEBHOOKS_MANAGE, status=204)
async def delete_webhook(db: Db, id: str, now: datetime) -> None:
    """Delete a webhook; its deliveries can still be read."""
    await actions.delete_hook(db, known_guid("Webhook", id), now)


@operation("POST", "/{id:str}/test", scope=Scope.WEBHOOKS_MANAGE, prepare=_names_of_hook)
async def test_webhook(db: Db, id: str, facts: Facts, config: Config) -> DeliveryDetail:
    """Send a sample delivery once. The response shows it before it is sent: get the delivery to see the result."""
    delivery = await actions.test_hook(db, known_guid("Webhook", id), facts, config)
    return await queries.get_delivery(db, str(delivery))


@operation("POST", "/{id:str}/rotate-secret", scope=Scope.WEBHOOKS_MANAGE, secret=True)
async def rotate_webhook_secret(db: Db, id: str, config: Config, now: datetime) -> HookWithSecret:
    """Replace the secret. For 24 hours deliveries are signed with both secrets.

    Only this response contains the new secret.
    """
    return await _with_secret(db, id, await actions.rotate_secret(db, known_guid("Webhook", id), config, now))


@operation("POST", "/{id:str}/recover", scope=Scope.WEBHOOKS_MANAGE, body=RecoverBody)
async def recover_webhook(db: Db, id: str, raw: Json, facts: Facts) -> HookDetail:
    """Resend the undelivered deliveries that were created since the given time, except tests."""
    await actions.recover_hook(db, known_guid("Webhook", id), raw, facts)
    return await queries.get_hook(db, id)


@operation("GET", "/", scope=Scope.WEBHOOKS_MANAGE, query=_FILTERS)
async def list_webhook_deliveries(db: Db, query: dict[str, Any]) -> Page[DeliveryItem]:
    """List deliveries, newest first."""
    return await queries.newest_first(
        db,
        query["page"],
        webhook_id=query.get("webhookId"),
        access_request_id=query.get("accessRequestId"),
        status=query.get("status"),
    )


@operation("GET", "/{id:str}", scope=Scope.WEBHOOKS_MANAGE)
async def get_webhook_delivery(db: Db, id: str) -> DeliveryDetail:
    """Get one delivery with its body, attempts and callbacks."""
    return await queries.get_delivery(db, id)


@operation("POST", "/{id:str}/resend", scope=Scope.WEBHOOKS_MANAGE)
async def resend_webhook_delivery(db: Db, id: str, now: datetime) -> DeliveryDetail:
    """Send a delivery again with the same id."""
    await actions.resend_delivery(db, id, now)
    return await queries.get_delivery(db, id)


async def _text(request: AnyRequest, _: Config) -> Carried:
    return await read_text(request, LARGEST_CALLBACK)


# No token is needed: the URL is a capability, because it contains the random id of the delivery.
@operation("POST", "/{id:str}", scope=None, status=204, body=CallbackText, read_body=_text)
async def accept_callback(db: Db, id: str, raw: str, now: datetime) -> None:
    """Post text back to a delivery. If the delivery is about an access request, add the text to its activity."""
    await actions.accept_callback(db, id, raw, now)


hooks = Router(
    "/api/webhooks",
    route_handlers=[
        list_webhooks,
        create_webhook,
        get_webhook,
        change_webhook,
        delete_webhook,
        test_webhook,
        rotate_webhook_secret,
        recover_webhook,
    ],
    tags=["Administration"],
)
deliveries = Router(
    "/api/webhook-deliveries",
    route_handlers=[list_webhook_deliveries, get_webhook_delivery, resend_webhook_delivery],
    tags=["Administration"],
)
callbacks = Router("/webhooks/callback", route_handlers=[accept_callback], tags=["Access governance"])
