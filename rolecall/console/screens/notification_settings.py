from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import EditConflict, edit_conflict, first, integer, problems_by_field, shown, version_of
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.notification_choices import choice_of, choices, fields_of, slug
from rolecall.core import address_check, clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Invalid, NotFound
from rolecall.notifications import actions, channel_test, queries
from rolecall.notifications.message_text import EXAMPLES, default_template
from rolecall.notifications.model import (
    ALWAYS_CONSOLE,
    MEANINGS,
    CountedDays,
    EscalateTo,
    MessageOutcome,
    NotificationKind,
    Security,
    Transport,
)
from rolecall.notifications.shapes import NotificationSettings
from rolecall.web.bodies import AnyRequest, Carried
from rolecall.web.services import Services

_SCOPE = Scope.CONFIG_MANAGE
_HERE = "/settings/notifications"
# The id of the settings in the audit.
_SETTINGS = UUID(int=0)
_TEXTS = ("transport", "host", "port", "security", "username", "sender")
_SECRETS = ("password", "slackUrl", "teamsUrl")
_KINDS = {slug(kind): kind for kind in NotificationKind}
# Kinds whose channel can be chosen; notifications about a failing channel appear only in the console.
_CHOSEN = [name for name, kind in _KINDS.items() if kind not in ALWAYS_CONSOLE]


@screen("GET", _HERE, scope=_SCOPE)
async def show_notification_settings(db: Db) -> HtmlPage:
    return await _page(db, {}, {})


def _current(found: NotificationSettings) -> Form:
    """Return the current settings as a form, without secrets."""
    email, reminders = msgspec.to_builtins(found.email), msgspec.to_builtins(found.reminders)
    form = {name: [str(email[name])] for name in _TEXTS}
    for kind in found.kinds:
        form[f"choice.{slug(kind.kind)}"] = [choice_of(kind)]
        form[f"locked.{slug(kind.kind)}"] = ["yes" if kind.is_locked else ""]
        form[f"chat.{slug(kind.kind)}"] = ["yes" if kind.is_chat_allowed else ""]
    form |= {name: [str(reminders[name])] for name in ("remindAfterDays", "escalateAfterDays", "escalateTo", "days")}
    return {**form, "holidays": ["\n".join(reminders["holidays"])]}


async def _current_now(db: Db) -> Form:
    return _current(await queries.settings(db))


async def _page(db: Db, form: Form, problems: dict[str, str], late: EditConflict | None = None) -> HtmlPage:
    found = await queries.settings(db)
    current = _current(found)
    configured = [channel for channel, health in found.channels.items() if health.is_configured]
    values = {
        "settings": found,
        "form": shown({**current, "version": [version_of(current)], **form}),
        "problems": problems,
        "late": late,
        "transports": list(Transport),
        "securities": list(Security),
        "configured": configured,
        "rows": [(slug(kind.kind), kind, choices(configured, kind)) for kind in found.kinds],
        "console_only": ALWAYS_CONSOLE,
        "escalate_to": list(EscalateTo),
        "counted_days": list(CountedDays),
    }
    return HtmlPage("notification_settings.html", values, 409 if late else 400 if problems else 200)


async def _with_names(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    urls = [carried.raw.get(name, [""])[0] for name in ("slackUrl", "teamsUrl")]
    return msgspec.structs.replace(carried, addresses=await address_check.looked_up([url for url in urls if url]))


@screen("POST", _HERE, scope=_SCOPE, prepare=_with_names)
async def change_notification_settings(
    db: Db, caller: Caller, form: Form, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    if late := await edit_conflict(db, first(form, "version"), _SETTINGS, _current_now(db)):
        return await _page(db, {**form, "version": [late.version]}, {}, late)
    try:
        async with db.transaction():
            await actions.change_settings(db, caller, _body(form), facts, config)
    except Invalid as error:
        problems = {_place(field): said for field, said in problems_by_field(error).items()}
        return await _page(db, form, problems)
    return SeeOther(_HERE, "The notification settings were saved")


def _body(form: Form) -> Json:
    """Convert the form to a body. An empty secret keeps the stored one; a checkbox removes it."""
    email: Json = {name: integer(first(form, name)) if name == "port" else first(form, name) for name in _TEXTS}
    secrets = {name: "" if first(form, f"remove.{name}") else first(form, name) or None for name in _SECRETS}
    email["password"] = secrets.pop("password")
    reminders: Json = {name: integer(first(form, name)) for name in ("remindAfterDays", "escalateAfterDays")}
    reminders |= {name: first(form, name) for name in ("escalateTo", "days")}
    reminders["holidays"] = first(form, "holidays").split()
    return {"email": email, **secrets, "kinds": [_kind(form, name) for name in _CHOSEN], "reminders": reminders}


def _kind(form: Form, name: str) -> Json:
    chat, locked = (first(form, f"{field}.{name}") == "yes" for field in ("chat", "locked"))
    return {"kind": _KINDS[name], **fields_of(first(form, f"choice.{name}")), "isLocked": locked, "isChatAllowed": chat}


def _place(field: str) -> str:
    """Return the form field that shows problems of a body field."""
    part, _, rest = field.partition(".")
    if part == "kinds":
        return f"choice.{_CHOSEN[int(rest.partition('.')[0])]}"
    if part == "reminders":
        return rest.partition(".")[0]
    return rest if part == "email" else field


async def _send_test(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    """Send the test message before the transaction begins, because the server may be slow."""
    services: Services = request.app.state.services
    raw = {"channel": first(carried.raw, "channel"), "address": first(carried.raw, "address")}
    try:
        sent: object = await channel_test.send_test(
            services.pool, config, raw, Facts(now=clock.now(), zone=config.timezone)
        )
    except (Invalid, Conflict) as error:
        sent = error
    return msgspec.structs.replace(carried, raw=sent)


@screen("POST", f"{_HERE}/test", scope=_SCOPE, prepare=_send_test)
async def test_notifications(db: Db, raw: Any) -> SeeOther:
    if isinstance(raw, Exception):
        raise raw
    found = await channel_test.record_test(db, raw)
    match found.outcome:
        case MessageOutcome.SENT:
            return SeeOther(_HERE, f"The test message was sent. The server responded: {found.response}")
        case MessageOutcome.KEPT:
            return SeeOther(
                _HERE, "The test message is in the outbox. Nothing was sent, because the transport is Outbox"
            )
        case _:
            return SeeOther(_HERE, f"The test failed: {found.response}", "bad")


@screen("GET", f"{_HERE}/templates/{{id:str}}", scope=_SCOPE)
async def show_notification_template(db: Db, id: str, config: Config, facts: Facts) -> HtmlPage:
    return await _template_page(db, _known(id), facts, config, {}, {})


def _known(id: str) -> NotificationKind:
    if id not in _KINDS:
        raise NotFound("Template", id)
    return _KINDS[id]


async def _template_page(
    db: Db,
    kind: NotificationKind,
    facts: Facts,
    config: Config,
    form: Form,
    problems: dict[str, str],
    late: EditConflict | None = None,
) -> HtmlPage:
    current = await _template(db, kind)
    filled = {**current, "version": [version_of(current)], **form}
    preview = None
    if not problems:
        raw = {"kind": kind, "subject": filled["subject"][0], "body": filled["body"][0]}
        try:
            preview = actions.preview(raw, facts, config)
        except Invalid as error:
            problems = problems_by_field(error)
    found = next(each for each in (await queries.settings(db)).templates if each.kind == kind)
    values = {
        "kind": kind,
        "slug": slug(kind),
        "meaning": MEANINGS[kind],
        "stored": found,
        "default": default_template(kind),
        "form": shown(filled),
        "problems": problems,
        "late": late,
        "preview": preview,
        "is_edited": bool(form),
        "names": EXAMPLES,
    }
    # Return 400 only for problems in the submitted text: the stored text can have problems too.
    return HtmlPage("notification_template.html", values, 409 if late else 400 if problems and form else 200)


async def _template(db: Db, kind: NotificationKind) -> Form:
    found = next(each for each in (await queries.settings(db)).templates if each.kind == kind)
    return {"subject": [found.subject], "body": [found.body]}


@screen("POST", f"{_HERE}/templates/{{id:str}}", scope=_SCOPE)
async def change_notification_template(
    db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    """Save, reset or preview the text, depending on the button that was pressed."""
    kind, act = _known(id), first(form, "act")
    # Browsers send line breaks as CRLF; the stored text has LF.
    text = {"subject": first(form, "subject"), "body": "\n".join(form.get("body", [""])[0].splitlines()).strip()}
    edited: Form = {**{name: [value] for name, value in text.items()}, "version": [first(form, "version")]}
    if act == "preview":
        return await _template_page(db, kind, facts, config, edited, {})
    if late := await edit_conflict(db, first(form, "version"), _SETTINGS, _template(db, kind)):
        return await _template_page(db, kind, facts, config, {**edited, "version": [late.version]}, {}, late)
    try:
        async with db.transaction():
            given: Json = {"kind": kind} if act == "reset" else {"kind": kind, **text}
            await actions.change_settings(db, caller, {"templates": [given]}, facts, config)
    except Invalid as error:
        problems = {field.rpartition(".")[2]: said for field, said in problems_by_field(error).items()}
        return await _template_page(db, kind, facts, config, edited, problems)
    said = "uses the built-in text again" if act == "reset" else "uses the new text"
    return SeeOther(f"{_HERE}/templates/{id}", f"The notification {kind} {said}")


HANDLERS: list[HTTPRouteHandler] = [
    show_notification_settings,
    change_notification_settings,
    test_notifications,
    show_notification_template,
    change_notification_template,
]
