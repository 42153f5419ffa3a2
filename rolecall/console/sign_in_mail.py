"""Send one-time links to people who request one on the sign-in page.

The page stores each e-mail that is entered, so that neither the response nor its duration reveals whether a person has
this e-mail (user enumeration). The worker finds the person and sends the link to their sign-in e-mail.

A person with an unused link from the last five minutes gets no second link. Thus a stranger who requests links for
someone's e-mail can cause at most twelve mails per hour, and cannot prevent that person from signing in.
"""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.console import actions, signing_in
from rolecall.console.model import LONGEST_EMAIL, MAILED_LINK_LASTS, Person
from rolecall.core import clock, sealing
from rolecall.core.authors import by_system, written_by
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value
from rolecall.core.errors import RateLimited
from rolecall.core.ids import new_id
from rolecall.core.nudge import nudge
from rolecall.notifications import direct
from rolecall.notifications import queries as notifications
from rolecall.notifications.message_text import Note, write
from rolecall.notifications.model import SIGN_IN_LINK, Channel, MessageOutcome, Transport
from rolecall.notifications.outbox import OutgoingMessage
from rolecall.notifications.queries import Delivery

CHANNEL = "sign-in-mails"
_REDACTED = "…"
# How long an unused link prevents another one from being sent. The link is valid for longer.
_FRESH_FOR = timedelta(minutes=5)
# The maximum number of addresses that wait for a link; above it, requests for links are rejected.
_MOST_WAITING = 1000
_RETRY = timedelta(seconds=30)
_ATTEMPTS = 3
_AT_ONCE = 20


async def is_possible(db: Db, config: Config) -> bool:
    """Return whether links are turned on, and a mail server or the outbox is configured."""
    return config.mailed_links and (await notifications.policy(db)).email.transport is not Transport.OFF


async def ask(db: Db, email: str, now: datetime) -> None:
    """Store the e-mail address for the worker, in the same way whether or not it belongs to a person.

    Ignore input that cannot be an address; raise RateLimited if too many addresses are waiting.
    """
    if not email or len(email) > LONGEST_EMAIL or not email.isprintable():
        return
    if await fetch_value(db, "SELECT count(*) FROM sign_in_mails WHERE next_attempt_on IS NOT NULL") >= _MOST_WAITING:
        raise RateLimited(60)
    await execute(
        db,
        """INSERT INTO sign_in_mails (id, email, asked_at, next_attempt_on) VALUES (%(id)s, %(email)s, %(now)s, %(now)s)
           ON CONFLICT (lower(email)) WHERE next_attempt_on IS NOT NULL DO NOTHING""",
        id=new_id(),
        email=email,
        now=now,
    )
    await nudge(db, CHANNEL)


class _LinkMail(msgspec.Struct, frozen=True):
    """A message with a link, for row `mail_id` of sign_in_mails; `attempt` is the number of this attempt, from 1."""

    mail_id: UUID
    attempt: int
    secret: str
    message: OutgoingMessage
    # The message without the secret of its link, for the log of messages.
    redacted: OutgoingMessage


async def send_links(pool: Pool, config: Config, now: datetime) -> bool:
    """Send the links that are due; return whether more may be due."""
    async with pool.connection() as db:
        delivery = await notifications.delivery(db, sealing.load_key(config))
        async with written_by(db, "sign-in-mails", by_system("send_sign_in_links", now)):
            mails = await _claim(db, delivery, config, now)
    for mail in mails:
        # Send outside of a transaction, because the mail server may be slow.
        outcome, response = await direct.deliver(mail.message, delivery, config)
        async with pool.connection() as db, written_by(db, "sign-in-mails", by_system("send_sign_in_links", now)):
            await _record(db, mail, delivery, outcome, response, now)
    return len(mails) == _AT_ONCE


async def _claim(db: Db, delivery: Delivery, config: Config, now: datetime) -> list[_LinkMail]:
    """Claim due rows; return a message with a new link for each row that gets a mail, and close the other rows."""
    # If this worker dies, the rows are due again at the time of the retry.
    rows = await fetch_rows(
        db,
        f"""UPDATE sign_in_mails SET attempts = attempts + 1, next_attempt_on = %(later)s WHERE id IN (
                SELECT id FROM sign_in_mails WHERE next_attempt_on <= %(now)s
                ORDER BY next_attempt_on LIMIT {_AT_ONCE} FOR UPDATE SKIP LOCKED)
            RETURNING id, email, attempts""",
        now=now,
        later=now + _RETRY,
    )
    mails = []
    for id, email, attempt in rows:
        person = await signing_in.person_with_email(db, email)
        may_send = config.mailed_links and Channel.EMAIL in delivery.channels and attempt <= _ATTEMPTS
        if not may_send or not person or await _has_fresh_link(db, person.id, now):
            await _end(db, id)
            continue
        secret = await actions.create_link(db, person.id, now, MAILED_LINK_LASTS)
        link = f"{config.base_url}/sign-in/"
        message = _message(person, link + secret, config)
        # The log may keep the redacted message instead of the sent one, so both have the same id.
        mails.append(_LinkMail(id, attempt, secret, message, _message(person, link + _REDACTED, config, message.id)))
    return mails


async def _has_fresh_link(db: Db, person_id: UUID, now: datetime) -> bool:
    """Return whether the person has an unused link that was mailed recently; ignore links from administrators."""
    return bool(
        await fetch_value(
            db,
            """SELECT true FROM sign_in_links WHERE identity_id = %(id)s AND used_at IS NULL
               AND expires_at > %(fresh)s AND expires_at <= %(latest)s LIMIT 1""",
            id=person_id,
            fresh=now + MAILED_LINK_LASTS - _FRESH_FOR,
            latest=now + MAILED_LINK_LASTS,
        )
    )


async def _end(db: Db, id: UUID) -> None:
    await execute(db, "UPDATE sign_in_mails SET next_attempt_on = NULL WHERE id = %(id)s", id=id)


def _message(person: Person, link: str, config: Config, id: UUID | None = None) -> OutgoingMessage:
    note = Note(
        "Your link to sign in to Rolecall",
        [
            "You or another person asked for a link on the sign-in page.",
            f"The link works once, for {int(MAILED_LINK_LASTS.total_seconds() / 60)} minutes."
            " If you did not ask for it, no action is needed: only people who read your e-mail can use the link.",
        ],
        [],
        link,
        "Sign in",
    )
    about = "Anyone who has the link can sign in with it once. Do not forward it."
    written = write([note], person.name, config.base_url, is_digest=False, about_link=about)
    known = id or new_id()
    return OutgoingMessage(
        known, known, Channel.EMAIL, person.name, person.email, written, [note], known, clock.now(), 1
    )


async def _record(
    db: Db, mail: _LinkMail, delivery: Delivery, outcome: MessageOutcome, response: str, now: datetime
) -> None:
    """Record the message, with its link only if it stays in the outbox.

    Delete the link of a message that cannot have arrived; the next attempt, if there is one, creates another link.
    """
    is_kept = delivery.policy.email.transport is Transport.OUTBOX
    await direct.log_message(db, mail.message if is_kept else mail.redacted, SIGN_IN_LINK, (outcome, response), now)
    if outcome not in (MessageOutcome.SENT, MessageOutcome.KEPT, MessageOutcome.UNKNOWN):
        await actions.delete_link(db, mail.secret)
    is_over = outcome in (MessageOutcome.SENT, MessageOutcome.KEPT, MessageOutcome.REFUSED)
    if is_over or mail.attempt >= _ATTEMPTS:
        await _end(db, mail.mail_id)
