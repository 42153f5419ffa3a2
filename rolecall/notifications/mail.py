"""Send e-mail by SMTP over a few connections that are kept open between messages.

If the server cannot be used (no connection, no TLS, a wrong password, a refused sender), the outcome applies to the
channel. If the server rejects a message, the outcome applies to that message. If the connection ends or times out while
the text is being sent, the outcome is unknown.
"""

import asyncio
import ssl
from binascii import b2a_qp
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from email.errors import MessageError
from email.header import Header
from email.headerregistry import Address
from email.utils import format_datetime
from functools import lru_cache

import aiosmtplib
import msgspec

from rolecall.core import clock
from rolecall.notifications.model import (
    FRESH_FOR,
    LONGEST_RESPONSE,
    MESSAGE_TAKES,
    EmailSettings,
    MessageOutcome,
    Security,
)
from rolecall.notifications.outbox import OutgoingMessage

_CONNECTIONS = 8
# Replace a connection that was idle for longer than this, because servers close idle connections.
_IDLE_SECONDS = 20.0
_FAILED_LOGIN = "The mail server refused the user name or password"
_TOO_SLOW = "The mail server did not respond in time"
_PERMANENT = 500
# SMTP requires this line break.
_LINE = "\r\n"
# RFC 5322 recommends lines of at most 78 characters.
_SHORT_SUBJECT = 78 - len("Subject: ")
# Exceptions that the email package raises for an address that it cannot parse, such as `ada@` or `<ada@example.com>`.
_BROKEN_ADDRESS = (ValueError, LookupError, AttributeError, MessageError)


class MailAccount(msgspec.Struct, frozen=True):
    settings: EmailSettings
    password: str


class ChannelFault(Exception):
    """The mail server cannot be used, so no message can be sent."""


class Mailer:
    """A pool of connections to one mail server."""

    def __init__(self, account: MailAccount) -> None:
        self.account = account
        self._idle: list[tuple[aiosmtplib.SMTP, float]] = []
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._stopped = False

    def stop(self) -> None:
        """Stop sending: `send` returns `SENDING` for messages that still wait for a connection."""
        self._stopped = True

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for client, _ in idle:
            await _leave(client)

    async def send(self, message: OutgoingMessage) -> tuple[MessageOutcome, str]:
        """Send one message; return the outcome (`SENDING` if sending did not start) and the response or the error."""
        async with self._free:
            now = clock.now()
            if self._stopped or now - message.claimed_on > FRESH_FOR:
                return MessageOutcome.SENDING, ""
            try:
                content = _content(message, self.account.settings.sender, now)
            except _BROKEN_ADDRESS as error:
                return MessageOutcome.REFUSED, f"The address cannot be used: {error}"[:LONGEST_RESPONSE]
            return await self._begin(message.address, content)

    async def _begin(self, address: str, content: bytes) -> tuple[MessageOutcome, str]:
        is_text_sent = False
        try:
            async with asyncio.timeout(MESSAGE_TAKES.total_seconds()), self._connection() as client:
                if rejected := await _address_message(client, self.account.settings.sender, address):
                    return rejected
                is_text_sent = True
                return await _send_content(client, content)
        except ChannelFault as fault:
            return MessageOutcome.CHANNEL, str(fault)[:LONGEST_RESPONSE]
        except TimeoutError:
            return (MessageOutcome.UNKNOWN if is_text_sent else MessageOutcome.CHANNEL), _TOO_SLOW

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[aiosmtplib.SMTP]:
        """Take a connection out of the pool; put it back only after a complete exchange."""
        client = self._take() or await self._connect()
        is_sound = False
        try:
            yield client
            is_sound = client.is_connected and not self._stopped
        finally:
            if is_sound:
                self._idle.append((client, asyncio.get_running_loop().time()))
            else:
                client.close()

    def _take(self) -> aiosmtplib.SMTP | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            client, since = self._idle.pop()
            if client.is_connected and now - since < _IDLE_SECONDS:
                return client
            client.close()
        return None

    async def _connect(self) -> aiosmtplib.SMTP:
        settings = self.account.settings
        is_secure = settings.security is not Security.NONE
        # Private addresses are allowed, unlike those of webhooks, because most mail servers are in the same network.
        client = aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            timeout=MESSAGE_TAKES.total_seconds() / 3,
            use_tls=settings.security is Security.TLS,
            start_tls=settings.security is Security.STARTTLS,
            tls_context=ssl.create_default_context() if is_secure else None,
        )
        try:
            await client.connect()
            if settings.username:
                await client.login(settings.username, self.account.password)
        except aiosmtplib.SMTPAuthenticationError as error:
            client.close()
            raise ChannelFault(f"{_FAILED_LOGIN}: {error.code} {error.message}") from error
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            client.close()
            raise ChannelFault(f"{settings.host}:{settings.port}: {error}") from error
        return client


async def _leave(client: aiosmtplib.SMTP) -> None:
    try:
        await client.quit(timeout=1)
    except (aiosmtplib.SMTPException, OSError):
        client.close()


async def _address_message(client: aiosmtplib.SMTP, sender: str, to: str) -> tuple[MessageOutcome, str] | None:
    """Send the addresses of the sender and the recipient; return the outcome if the server does not accept them.

    Raise ChannelFault if the server refuses the sender permanently.
    """
    try:
        await client.mail(sender, encoding="utf-8")
        await client.rcpt(to, encoding="utf-8")
    except aiosmtplib.SMTPSenderRefused as error:
        # All messages have the same sender, so the channel cannot be used.
        if error.code >= _PERMANENT:
            raise ChannelFault(f"The mail server refused the sender {sender}: {_said(error)}") from error
        return await _rejected(client, error)
    except aiosmtplib.SMTPResponseException as error:
        return await _rejected(client, error)
    except (aiosmtplib.SMTPException, OSError) as error:
        # No text was sent yet, so another attempt cannot produce a duplicate.
        return MessageOutcome.DEFERRED, f"The connection to the mail server failed: {error}"[:LONGEST_RESPONSE]
    return None


async def _send_content(client: aiosmtplib.SMTP, content: bytes) -> tuple[MessageOutcome, str]:
    try:
        answer = await client.data(content)
    except aiosmtplib.SMTPResponseException as error:
        return await _rejected(client, error)
    except (aiosmtplib.SMTPException, OSError) as error:
        said = f"The connection to the mail server failed while the message was being sent: {error}"
        return MessageOutcome.UNKNOWN, said[:LONGEST_RESPONSE]
    return MessageOutcome.SENT, f"{answer.code} {answer.message}"[:LONGEST_RESPONSE]


async def _rejected(client: aiosmtplib.SMTP, error: aiosmtplib.SMTPResponseException) -> tuple[MessageOutcome, str]:
    """Return the outcome: 4xx asks for a later attempt, 5xx is final. Reset the connection for the next message."""
    try:
        await client.rset()
    except (aiosmtplib.SMTPException, OSError):
        client.close()
    outcome = MessageOutcome.REFUSED if error.code >= _PERMANENT else MessageOutcome.DEFERRED
    return outcome, _said(error)


def _said(error: aiosmtplib.SMTPResponseException) -> str:
    text = "".join(c if c.isprintable() else " " for c in error.message)
    return f"{error.code} {text}"[:LONGEST_RESPONSE]


def _content(message: OutgoingMessage, sender: str, now: datetime) -> bytes:
    """Return the encoded message, built by hand: the email package takes ten times as long."""
    boundary = f"part-{message.id.hex}"
    headers = {
        "From": _address(sender, "Rolecall"),
        "To": _address(message.address),
        "Subject": _subject(message.written.subject),
        "Date": format_datetime(now),
        "Message-ID": f"<{message.reference}@{sender.rpartition('@')[2]}>",
        # Ask mail programs to send no automatic reply, such as an out-of-office message (RFC 3834).
        "Auto-Submitted": "auto-generated",
        "MIME-Version": "1.0",
        "Content-Type": f'multipart/alternative; boundary="{boundary}"',
    }
    head = "".join(f"{name}: {value}{_LINE}" for name, value in headers.items())
    parts = (_part(boundary, "plain", message.written.text), _part(boundary, "html", message.written.html))
    return b"".join([head.encode(), _LINE.encode(), *parts, f"--{boundary}--{_LINE}".encode()])


def _subject(text: str) -> str:
    """Encode a subject. Skip the slow encoder for a short ASCII subject, which needs no encoding."""
    if text.isascii() and text.isprintable() and len(text) <= _SHORT_SUBJECT:
        return text
    return Header(text, header_name="Subject").encode(linesep=_LINE)


@lru_cache(maxsize=4096)
def _address(address: str, name: str = "") -> str:
    return str(Address(name, addr_spec=address))


def _part(boundary: str, subtype: str, text: str) -> bytes:
    head = (
        f"--{boundary}",
        f'Content-Type: text/{subtype}; charset="utf-8"',
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "",
    )
    lines = _LINE.join(text.splitlines())
    return _LINE.join(head).encode() + b2a_qp(lines.encode(), istext=True) + _LINE.encode()
