"""Change notifications, messages, preferences and settings."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.audit.actions import record
from rolecall.core import address_check, sealing
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict, Invalid, NotFound, Problem
from rolecall.core.ids import known_guid
from rolecall.core.nudge import nudge
from rolecall.notifications import permitted, queries
from rolecall.notifications.bounces import DeliveryReport
from rolecall.notifications.channel_health import mark_working
from rolecall.notifications.message_text import EXAMPLES, note_of, template_in, template_problems, write
from rolecall.notifications.model import (
    ALWAYS_CONSOLE,
    CHANNEL,
    CHATS,
    DEFAULT_RULES,
    KEPT_FOR,
    Channel,
    EmailSettings,
    KindRule,
    MessageOutcome,
    MessageTemplate,
    NotificationPolicy,
    Security,
    Transport,
)
from rolecall.notifications.notification_facts import NotificationFacts
from rolecall.notifications.queries import SECRET_OWNERS
from rolecall.notifications.shapes import (
    BounceResult,
    KindBody,
    NotificationSettingsBody,
    PreferencesBody,
    ReadBody,
    TemplateBody,
    TemplatePreview,
    TemplatePreviewBody,
)
from rolecall.tokens.queries import own_id

_DELETED_AT_ONCE = 1000
_URLS = {"slackUrl": Channel.SLACK, "teamsUrl": Channel.TEAMS}
_NO_PERSON = "This token belongs to no person. Create a token in the console while you are signed in"
_OTHER_HOST = "The host changes, so enter the password again, or an empty one to remove it"
_SHARED = "Everyone in the {channel} channel would read {kind} messages; set isChatAllowed to true to permit this"


async def mark_read(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> None:
    body, known = check(ReadBody, raw, facts), known_guid("Notification", id)
    marked = await execute(
        db,
        "UPDATE notifications SET is_read = %(read)s WHERE id = %(id)s AND identity_id = %(own)s",
        id=known,
        own=await own_id(db, caller),
        read=body.is_read,
    )
    if not marked:
        raise NotFound("Notification", id)
    await record(db, "Notification", known, {"isRead": body.is_read})


async def mark_all_read(db: Db, caller: Caller) -> None:
    own = await own_id(db, caller)
    # Skip notifications that another transaction is changing, to avoid deadlocks with a change of several requests.
    await execute(
        db,
        """UPDATE notifications SET is_read = true WHERE id IN (
               SELECT id FROM notifications WHERE identity_id = %(own)s AND NOT is_read
               FOR NO KEY UPDATE SKIP LOCKED)""",
        own=own,
    )
    await record(db, "Notification Preferences", own, {"allRead": True})


async def record_bounce(db: Db, report: DeliveryReport | None, now: datetime) -> BounceResult:
    """Mark a message as bounced if the report says that its delivery failed permanently.

    The notifications of the message stay in the console's bell.
    """
    if not report:
        return BounceResult(None, "The mail contains no delivery report that can be read")
    if report.reason is None:
        return BounceResult(None, "The report does not say that delivery has failed permanently")
    # A Message-ID contains the id of the first notification, or the id of a message without notifications: a test or a
    # sign-in link. All attempts of a message have the same Message-ID, so mark the last attempt.
    id: UUID | None = await fetch_value(
        db,
        """SELECT m.id FROM notification_messages m WHERE m.channel = 'Email' AND m.outcome <> 'kept' AND m.id = ANY(
               %(ids)s || ARRAY(SELECT n.message_id FROM notifications n WHERE n.id = ANY(%(ids)s)))
           ORDER BY m.number DESC LIMIT 1""",
        ids=report.references,
    )
    if not id:
        return BounceResult(None, "The delivery report matches no e-mail of the last 90 days")
    await _mark_bounced(db, id, report.reason, now)
    return BounceResult(id, report.reason)


async def _mark_bounced(db: Db, id: UUID, reason: str, now: datetime) -> None:
    await execute(
        db,
        # Only notifications in flight are indexed by message, so find the others by their recipient.
        """WITH bounced AS (
               UPDATE notification_messages SET outcome = 'bounced', response = %(reason)s,
                                                ended_on = coalesce(ended_on, %(now)s)
               WHERE id = %(id)s RETURNING identity_id)
           UPDATE notifications n SET status = 'Failed', next_attempt_on = NULL, lease = NULL
           FROM bounced b WHERE n.identity_id = b.identity_id AND n.message_id = %(id)s""",
        id=id,
        reason=reason,
        now=now,
    )
    await record(db, "Notification Message", id, {"outcome": MessageOutcome.BOUNCED, "response": reason})


async def change_preferences(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    """Change the given preferences of the caller; return the id of the person."""
    body = check(PreferencesBody, raw, facts)
    own = await own_id(db, caller)
    if not await fetch_value(db, "SELECT true FROM identities WHERE id = %(id)s", id=own):
        raise Conflict(_NO_PERSON)
    known = await queries.policy(db)
    if problems := list(_choice_problems(known, body)):
        raise Invalid(*problems)
    for choice in body.kinds or ():
        await _keep_choice(db, own, known.rule_of(choice.kind), choice.model_dump(exclude_none=True))
    if body.zone:
        await execute(
            db,
            """INSERT INTO notification_zones (identity_id, zone) VALUES (%(id)s, %(zone)s)
               ON CONFLICT (identity_id) DO UPDATE SET zone = EXCLUDED.zone""",
            id=own,
            zone=body.zone,
        )
    return own


def _choice_problems(known: NotificationPolicy, body: PreferencesBody) -> Iterator[Problem]:
    for number, choice in enumerate(body.kinds or ()):
        rule = known.rule_of(choice.kind)
        if rule.is_locked:
            yield Problem(f"kinds.{number}.kind", f"An administrator has locked {choice.kind}; you cannot change it")
        elif choice.kind in ALWAYS_CONSOLE:
            yield Problem(f"kinds.{number}.kind", f"{choice.kind} is shown only in the console; remove this entry")
        elif choice.channel in CHATS and not rule.is_chat_allowed:
            yield Problem(
                f"kinds.{number}.channel",
                f"An administrator has not allowed {choice.kind} in {choice.channel}; choose another channel",
            )


async def _keep_choice(db: Db, identity_id: UUID, rule: KindRule, given: Mapping[str, Any]) -> None:
    values = {"channel": rule.channel, "rhythm": rule.rhythm, **given, "id": identity_id}
    # Without a channel and a rhythm, the kind follows the defaults again.
    if len(given) == 1:
        sql = "DELETE FROM notification_preferences WHERE identity_id = %(id)s AND kind = %(kind)s"
    else:
        sql = """INSERT INTO notification_preferences (identity_id, kind, channel, rhythm)
                 VALUES (%(id)s, %(kind)s, %(channel)s, %(rhythm)s) ON CONFLICT (identity_id, kind)
                 DO UPDATE SET channel = EXCLUDED.channel, rhythm = EXCLUDED.rhythm"""
    await execute(db, sql, **values)


async def change_settings(db: Db, caller: Caller | None, raw: Json, facts: Facts, config: Config) -> None:
    """Store only the given settings. Secrets are encrypted and never shown again.

    Without a caller, permissions are not checked.
    """
    # Serialize changes: each one merges its values into the stored settings.
    await execute(db, "LOCK TABLE notification_settings IN SHARE ROW EXCLUSIVE MODE")
    known = await queries.policy(db)
    body = check(NotificationSettingsBody, raw, facts, _url_problems(raw, facts, config))
    changed = _changed(known, body)
    if caller and (changed.email != known.email or (body.email and body.email.password is not None)):
        permitted.require_may_direct_links(caller)
    problems = [*_problems(changed, body), *await _password_problems(db, known.email, body)]
    if problems:
        raise Invalid(*problems)
    before, after = (msgspec.json.decode(msgspec.json.encode(each)) for each in (known, changed))
    for name in (name for name in after if after[name] != before[name]):
        await execute(
            db,
            "INSERT INTO notification_settings (name, value) VALUES (%(name)s, %(value)s)"
            " ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            name=name,
            value=Jsonb(after[name]),
        )
    await _keep_secrets(db, body, config, facts.now)
    for template in body.templates or ():
        # Delete the recorded problem: it applies to the template before this change.
        await execute(db, "DELETE FROM notification_template_faults WHERE kind = %(kind)s", kind=template.kind)
    # End a pause of the channel: the new settings may work.
    if body.email is not None:
        await mark_working(db, Channel.EMAIL)
    await nudge(db, CHANNEL)


def _changed(known: NotificationPolicy, body: NotificationSettingsBody) -> NotificationPolicy:
    email = known.email
    if body.email is not None:
        email = msgspec.structs.replace(email, **body.email.model_dump(exclude_none=True, exclude={"password"}))
    reminders = known.reminders
    if body.reminders is not None:
        reminders = msgspec.structs.replace(reminders, **body.reminders.model_dump(exclude_none=True))
    kinds = {rule.kind: rule for rule in known.kinds}
    for kind in body.kinds or ():
        kinds[kind.kind] = _merged_rule(known.rule_of(kind.kind), kind)
    templates = {template.kind: template for template in known.templates}
    for template in body.templates or ():
        if template.subject is None and template.body is None:
            templates.pop(template.kind, None)
        else:
            templates[template.kind] = _merged_template(known, template)
    # Do not store defaults, so that a later version can change them.
    chosen = [rule for rule in kinds.values() if rule != DEFAULT_RULES[rule.kind]]
    return NotificationPolicy(email, chosen, list(templates.values()), reminders)


def _merged_rule(rule: KindRule, body: KindBody) -> KindRule:
    return msgspec.structs.replace(rule, **body.model_dump(exclude_none=True))


def _merged_template(known: NotificationPolicy, body: TemplateBody) -> MessageTemplate:
    template = template_in(known, body.kind)
    return msgspec.structs.replace(template, **body.model_dump(exclude_none=True))


def _problems(changed: NotificationPolicy, body: NotificationSettingsBody) -> Iterator[Problem]:
    """Yield the problems that the check of the body alone does not find."""
    email, reminders = changed.email, changed.reminders
    if body.email is not None:
        yield from _email_problems(email)
    if body.reminders is not None and 0 < reminders.escalate_after_days <= reminders.remind_after_days:
        said = "Escalate After Days must be more than Remind After Days, or 0 for never"
        yield Problem("reminders.escalateAfterDays", said)
    for number, kind in enumerate(body.kinds or ()):
        if kind.kind in ALWAYS_CONSOLE and kind.channel not in (None, Channel.CONSOLE):
            yield Problem(f"kinds.{number}.channel", f"{kind.kind} is shown only in the console; choose Console")
        rule = changed.rule_of(kind.kind)
        if rule.channel in CHATS and not rule.is_chat_allowed:
            yield Problem(f"kinds.{number}.channel", _SHARED.format(kind=kind.kind, channel=rule.channel))
    for number, template in enumerate(body.templates or ()):
        stored = changed.template_of(template.kind)
        for problem in template_problems(stored) if stored else ():
            yield Problem(f"templates.{number}.{problem.field}", problem.message)


def _email_problems(email: EmailSettings) -> Iterator[Problem]:
    if email.transport is Transport.SMTP and not email.host:
        yield Problem("email.host", "Host is required to send by SMTP")
    if email.transport is Transport.SMTP and not email.sender:
        yield Problem("email.sender", "Sender is required to send by SMTP")
    if email.security is Security.NONE and email.username:
        yield Problem("email.security", "Security must be STARTTLS or TLS when there is a user name")


async def _password_problems(db: Db, known: EmailSettings, body: NotificationSettingsBody) -> list[Problem]:
    """If the host changes, require the password again: the new host could otherwise receive the stored password."""
    if body.email is None or body.email.host in (None, known.host) or body.email.password is not None:
        return []
    stored = "SELECT true FROM notification_secrets WHERE channel = %(channel)s"
    return [Problem("email.password", _OTHER_HOST)] if await fetch_value(db, stored, channel=Channel.EMAIL) else []


def _url_problems(raw: Json, facts: Facts, config: Config) -> list[Problem]:
    given = {field: raw[field] for field in _URLS if isinstance(raw.get(field), str) and raw[field]}
    found = {field: address_check.problem(url, config.webhook_allow, facts.addresses) for field, url in given.items()}
    return [Problem(field, problem) for field, problem in found.items() if problem]


async def _keep_secrets(db: Db, body: NotificationSettingsBody, config: Config, now: datetime) -> None:
    given = {
        Channel.EMAIL: body.email.password if body.email else None,
        Channel.SLACK: body.slack_url,
        Channel.TEAMS: body.teams_url,
    }
    for channel, secret in given.items():
        if secret == "":
            await execute(db, "DELETE FROM notification_secrets WHERE channel = %(channel)s", channel=channel)
        elif secret is not None:
            await execute(
                db,
                """INSERT INTO notification_secrets (channel, secret, set_on) VALUES (%(channel)s, %(secret)s, %(now)s)
                   ON CONFLICT (channel) DO UPDATE SET secret = EXCLUDED.secret, set_on = EXCLUDED.set_on""",
                channel=channel,
                secret=sealing.seal(sealing.load_key(config), secret.encode(), SECRET_OWNERS[channel]),
                now=now,
            )
            await mark_working(db, channel)


def preview(raw: Json, facts: Facts, config: Config) -> TemplatePreview:
    """Return a template filled in with example facts, without storing it."""
    body = check(TemplatePreviewBody, raw, facts)
    template = MessageTemplate(body.kind, body.subject, body.body)
    if problems := template_problems(template):
        raise Invalid(*problems)
    note = note_of(template, _example(), EXAMPLES["recipient"], config.base_url)
    written = write([note], EXAMPLES["recipient"], config.base_url, is_digest=False)
    return TemplatePreview(written.subject, written.text, written.html)


def _example() -> NotificationFacts:
    return msgspec.convert({name: text for name, text in EXAMPLES.items() if name != "recipient"}, NotificationFacts)


async def delete_old(db: Db, now: datetime) -> None:
    """Delete a batch of messages and notifications past the retention period, except those that must still be sent."""
    # Skip rows that other transactions have locked, so that this cleanup does not wait for them.
    oldest, batch = now - KEPT_FOR, _DELETED_AT_ONCE
    for table, condition in (("notification_messages", "ended_on IS NOT NULL"), ("notifications", _NOT_WAITING)):
        await execute(
            db,
            f"""DELETE FROM {table} WHERE id IN (
                    SELECT id FROM {table} WHERE list_key < time_key(%(oldest)s, 0) AND {condition}
                    LIMIT %(batch)s FOR UPDATE SKIP LOCKED)""",
            oldest=oldest,
            batch=batch,
        )


_NOT_WAITING = "status NOT IN ('New', 'Pending')"
