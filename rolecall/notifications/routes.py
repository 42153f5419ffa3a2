import asyncio
from datetime import datetime
from typing import Any

import msgspec
from litestar import Router

from rolecall.core import address_check, clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.notifications import actions, channel_test, permitted, queries
from rolecall.notifications.bounces import DeliveryReport, report_in
from rolecall.notifications.model import MessageOutcome
from rolecall.notifications.shapes import (
    BounceBody,
    BounceResult,
    ChannelTest,
    MessageDetail,
    MessageItem,
    NotificationItem,
    NotificationPreferences,
    NotificationSettings,
    NotificationSettingsBody,
    PreferencesBody,
    ReadBody,
    TemplatePreview,
    TemplatePreviewBody,
    TestBody,
)
from rolecall.tokens.queries import own_id
from rolecall.web.bodies import AnyRequest, Carried, a_flag, a_word_of
from rolecall.web.operations import operation, plain_json
from rolecall.web.services import Services


@operation("GET", "/", scope=Scope.NOTIFICATIONS_OWN, query={"isRead": a_flag})
async def list_notifications(
    db: Db, caller: Caller, query: dict[str, Any], config: Config, now: datetime
) -> Page[NotificationItem]:
    """List your notifications, newest first. A token lists the notifications of the person who owns it."""
    own = await own_id(db, caller)
    return await queries.newest_first(db, own, query["page"], config, now, is_read=query.get("isRead"))


@operation("PATCH", "/{id:str}", scope=Scope.NOTIFICATIONS_OWN, status=204, body=ReadBody)
async def mark_notification(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> None:
    """Mark one of your notifications as read or unread."""
    await actions.mark_read(db, caller, id, raw, facts)


@operation("POST", "/read", scope=Scope.NOTIFICATIONS_OWN, status=204)
async def mark_all_notifications(db: Db, caller: Caller) -> None:
    """Mark all your notifications as read."""
    await actions.mark_all_read(db, caller)


@operation("GET", "/", scope=Scope.NOTIFICATIONS_OWN)
async def get_notification_preferences(db: Db, caller: Caller, config: Config) -> NotificationPreferences:
    """Get your preferences for notifications: the time zone, and the channel and rhythm for each kind."""
    return await queries.preferences(db, await own_id(db, caller), config.timezone)


@operation("PATCH", "/", scope=Scope.NOTIFICATIONS_OWN, body=PreferencesBody)
async def change_notification_preferences(
    db: Db, caller: Caller, raw: Json, facts: Facts, config: Config
) -> NotificationPreferences:
    """Change the given preferences. A kind without channel and rhythm follows the default again."""
    own = await actions.change_preferences(db, caller, raw, facts)
    return await queries.preferences(db, own, config.timezone)


@operation("GET", "/", scope=Scope.CONFIG_MANAGE)
async def get_notification_settings(db: Db) -> NotificationSettings:
    """Get the settings of notifications and the health of each channel. Secrets are never included."""
    return await queries.settings(db)


async def _with_names(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    urls = [carried.raw.get(field) for field in ("slackUrl", "teamsUrl")]
    # Look up names before the transaction begins, because DNS can take seconds.
    return msgspec.structs.replace(carried, addresses=await address_check.looked_up(urls))


@operation("PATCH", "/", scope=Scope.CONFIG_MANAGE, body=NotificationSettingsBody, prepare=_with_names)
async def change_notification_settings(
    db: Db, caller: Caller, raw: Json, facts: Facts, config: Config
) -> NotificationSettings:
    """Change the given settings.

    A change of `email` also needs `identities:write`, because sign-in links are sent with these settings.
    """
    await actions.change_settings(db, caller, raw, facts, config)
    return await queries.settings(db)


@operation("POST", "/preview", scope=Scope.CONFIG_MANAGE, body=TemplatePreviewBody)
async def preview_notification_template(raw: Json, facts: Facts, config: Config) -> TemplatePreview:
    """Preview a template with example facts, or return what is wrong with it."""
    return actions.preview(raw, facts, config)


async def _send_test(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    """Send the test message before taking a database connection, because the mail or chat server may be slow."""
    services: Services = request.app.state.services
    facts = Facts(now=clock.now(), zone=config.timezone)
    sent = await channel_test.send_test(services.pool, config, carried.raw, facts)
    return msgspec.structs.replace(carried, raw=sent)


@operation("POST", "/test", scope=Scope.CONFIG_MANAGE, body=TestBody, prepare=_send_test)
async def test_notifications(db: Db, raw: channel_test.SentTest) -> ChannelTest:
    """Send a test message at once. The result contains the response of the server."""
    return await channel_test.record_test(db, raw)


@operation("GET", "/", scope=Scope.CONFIG_MANAGE, query={"outcome": a_word_of(MessageOutcome)})
async def list_notification_messages(db: Db, query: dict[str, Any]) -> Page[MessageItem]:
    """List messages with their outcomes, newest first."""
    return await queries.messages(db, query["page"], query.get("outcome"))


@operation("GET", "/{id:str}", scope=Scope.CONFIG_MANAGE)
async def get_notification_message(db: Db, caller: Caller, id: str) -> MessageDetail:
    """Get one message with its text. A message with a sign-in link also needs `identities:write`."""
    message = await queries.get_message(db, id)
    permitted.require_may_read(caller, message)
    return message


class ReturnedMail(msgspec.Struct, frozen=True):
    body: Json
    report: DeliveryReport | None


async def _parsed(request: AnyRequest, config: Config) -> Carried:
    """Parse the untrusted mail in a thread, before the operation takes a database connection: parsing may be slow."""
    carried = await plain_json(request, config)
    mail = carried.raw.get("mail")
    report = await asyncio.to_thread(report_in, mail) if isinstance(mail, str) else None
    return msgspec.structs.replace(carried, raw=ReturnedMail(carried.raw, report))


@operation("POST", "/bounce", scope=Scope.BOUNCES_WRITE, body=BounceBody, read_body=_parsed)
async def report_bounced_message(db: Db, raw: ReturnedMail, facts: Facts, now: datetime) -> BounceResult:
    """Mark a message as bounced if the mail is a delivery report of its permanent failure.

    Any other mail changes nothing.
    """
    check(BounceBody, raw.body, facts)
    return await actions.record_bounce(db, raw.report, now)


notifications = Router(
    "/api/notifications",
    route_handlers=[list_notifications, mark_notification, mark_all_notifications],
    tags=["Administration"],
)
preferences = Router(
    "/api/notification-preferences",
    route_handlers=[get_notification_preferences, change_notification_preferences],
    tags=["Administration"],
)
settings = Router(
    "/api/notification-settings",
    route_handlers=[
        get_notification_settings,
        change_notification_settings,
        preview_notification_template,
        test_notifications,
    ],
    tags=["Administration"],
)
messages = Router(
    "/api/notification-messages",
    route_handlers=[list_notification_messages, get_notification_message, report_bounced_message],
    tags=["Administration"],
)
ROUTERS = (notifications, preferences, settings, messages)
