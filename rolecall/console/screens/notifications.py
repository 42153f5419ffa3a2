from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.frame import OWN, screen
from rolecall.console.model import Person
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.notifications import actions, queries
from rolecall.notifications.model import MessageOutcome
from rolecall.web.bodies import a_flag, a_word_of


@screen("GET", "/notifications", limits=OWN, query={"isRead": a_flag})
async def show_notifications(db: Db, person: Person, query: dict[str, Any], config: Config, now: datetime) -> HtmlPage:
    page = await queries.newest_first(db, person.id, query["page"], config, now, is_read=query.get("isRead"))
    return HtmlPage("notifications.html", {"page": page, "query": query})


@screen("POST", "/notifications/read", limits=OWN)
async def mark_all_notifications(db: Db, caller: Caller) -> SeeOther:
    await actions.mark_all_read(db, caller)
    return SeeOther("/notifications", "All notifications are marked as read")


@screen("GET", "/settings/outbox", scope=Scope.CONFIG_MANAGE, query={"outcome": a_word_of(MessageOutcome)})
async def show_outbox(db: Db, query: dict[str, Any]) -> HtmlPage:
    """Show sent messages and the health of the channels."""
    page = await queries.messages(db, query["page"], query.get("outcome"))
    values = {
        "page": page,
        "texts": await queries.texts_of(db, [message.id for message in page.items]),
        "query": query,
        "outcomes": list(MessageOutcome),
        "settings": await queries.settings(db),
    }
    return HtmlPage("outbox.html", values)


HANDLERS: list[HTTPRouteHandler] = [show_notifications, mark_all_notifications, show_outbox]
