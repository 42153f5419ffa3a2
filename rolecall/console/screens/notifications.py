from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, problems_by_field
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form
from rolecall.console.model import Person
from rolecall.console.notification_choices import choice_of, choices, fields_of, slug
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.notifications import actions, queries
from rolecall.notifications.model import ALWAYS_CONSOLE, OUTCOME_WORDS, MessageOutcome
from rolecall.web.bodies import a_flag, a_word_of


@screen("GET", "/notifications", limits=OWN, query={"isRead": a_flag})
async def show_notifications(db: Db, person: Person, query: dict[str, Any], config: Config, now: datetime) -> HtmlPage:
    page = await queries.newest_first(db, person.id, query["page"], config, now, is_read=query.get("isRead"))
    return HtmlPage("notifications.html", {"page": page, "query": query})


@screen("POST", "/notifications/read", limits=OWN)
async def mark_all_notifications(db: Db, caller: Caller) -> SeeOther:
    await actions.mark_all_read(db, caller)
    return SeeOther("/notifications", "All notifications are marked as read")


@screen("GET", "/notifications/preferences", limits=OWN)
async def show_notification_preferences(db: Db, person: Person, config: Config) -> HtmlPage:
    return await _preferences_page(db, person, config, {}, {})


async def _preferences_page(db: Db, person: Person, config: Config, form: Form, problems: dict[str, str]) -> HtmlPage:
    own = await queries.preferences(db, person.id, config.timezone)
    channels = (await queries.settings(db)).channels
    policy = await queries.policy(db)
    configured = [channel for channel, health in channels.items() if health.is_configured]
    rows = [
        {
            "slug": slug(kind.kind),
            "kind": kind,
            "chosen": first(form, f"choice.{slug(kind.kind)}") or choice_of(kind),
            "choices": choices(configured, kind, default=choice_of(policy.rule_of(kind.kind))),
        }
        for kind in own.kinds
    ]
    values = {
        "rows": rows,
        "own_zone": first(form, "zone") or own.zone,
        "console_only": ALWAYS_CONSOLE,
        "has_email": any(channel == "Email" for channel in configured),
        "problems": problems,
    }
    return HtmlPage("notification_preferences.html", values, 400 if problems else 200)


@screen("POST", "/notifications/preferences", limits=OWN)
async def change_notification_preferences(
    db: Db, person: Person, caller: Caller, form: Form, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    policy = await queries.policy(db)
    kinds: list[Json] = []
    for kind in (await queries.preferences(db, person.id, config.timezone)).kinds:
        choice = first(form, f"choice.{slug(kind.kind)}")
        if choice and not kind.is_locked and kind.kind not in ALWAYS_CONSOLE:
            # Do not store the default, so that a later change of the default applies.
            is_default = choice == choice_of(policy.rule_of(kind.kind))
            kinds.append({"kind": kind.kind} if is_default else {"kind": kind.kind, **fields_of(choice)})
    raw: Json = {"kinds": kinds, "zone": first(form, "zone") or None}
    try:
        async with db.transaction():
            await actions.change_preferences(db, caller, raw, facts)
    except Invalid as error:
        problems = {_place(kinds, field): said for field, said in problems_by_field(error).items()}
        return await _preferences_page(db, person, config, form, problems)
    return SeeOther("/notifications/preferences", "Your preferences were saved")


def _place(kinds: list[Json], field: str) -> str:
    """Return the form field that shows problems of a body field."""
    part, _, rest = field.partition(".")
    number = rest.partition(".")[0]
    return f"choice.{slug(kinds[int(number)]['kind'])}" if part == "kinds" and number.isdecimal() else field


@screen("GET", "/settings/outbox", scope=Scope.CONFIG_MANAGE, query={"outcome": a_word_of(MessageOutcome)})
async def show_outbox(db: Db, query: dict[str, Any]) -> HtmlPage:
    page = await queries.messages(db, query["page"], query.get("outcome"))
    values = {
        "page": page,
        "texts": await queries.texts_of(db, [message.id for message in page.items]),
        "query": query,
        "outcomes": OUTCOME_WORDS,
        "settings": await queries.settings(db),
    }
    return HtmlPage("outbox.html", values)


HANDLERS: list[HTTPRouteHandler] = [
    show_notifications,
    mark_all_notifications,
    show_notification_preferences,
    change_notification_preferences,
    show_outbox,
]
