"""Run a real SMTP server on loopback that refuses, defers or hangs up for certain recipients."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from types import SimpleNamespace
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

# SMTP responses by the local part of the recipient, without digits at its end.
REFUSED = {
    "unknown": "550 5.1.1 No such user here",
    "full": "452 4.2.2 Mailbox full",
    "overfull": "552 5.2.2 Over quota",
}
GREYLISTED = "451 4.7.1 Greylisted, try again later"


def _hang_up(server: SMTP) -> None:
    assert isinstance(server.transport, asyncio.Transport)
    server.transport.abort()


class Mailbox:
    """Accept messages and keep them; count the attempts for each address."""

    def __init__(self) -> None:
        # Parse messages only when they are read, because parsing takes longer than receiving.
        self._contents: list[bytes] = []
        self._messages: list[EmailMessage] = []
        self.asked = Counter[str]()
        self.password = ""
        self.senders_refused = False
        self.late_seconds = 0.0

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        if self.senders_refused:
            return "553 5.7.1 Sender rejected"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        self.asked[address] += 1
        word = address.partition("@")[0].rstrip("0123456789")
        if word == "grey" and self.asked[address] == 1:
            return GREYLISTED
        if word == "hangup" and self.asked[address] == 1:
            _hang_up(server)
            return "421 Bye"
        if word in REFUSED:
            return REFUSED[word]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        address = envelope.rcpt_tos[0]
        if address.startswith("spam"):
            return "554 5.7.1 Message rejected as spam"
        content = envelope.content
        assert isinstance(content, bytes)
        self._contents.append(content)
        if address.startswith("lost") and self.asked[address] == 1:
            _hang_up(server)
        await asyncio.sleep(self.late_seconds)
        return "250 2.0.0 Queued"

    @property
    def count(self) -> int:
        return len(self._messages) + len(self._contents)

    @property
    def messages(self) -> list[EmailMessage]:
        while self._contents:
            message = message_from_bytes(self._contents.pop(0), policy=default)
            assert isinstance(message, EmailMessage)
            self._messages.append(message)
        return self._messages

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any
    ) -> AuthResult:
        fits = isinstance(given, LoginPassword) and given.password == self.password.encode()
        return AuthResult(success=fits, handled=False)

    def to(self, address: str) -> list[EmailMessage]:
        return [message for message in self.messages if message["To"] == address]


class _Controller(Controller):
    def __init__(self, mailbox: Mailbox, **settings: Any) -> None:
        # Pass only the hooks: at each connection aiosmtpd reads every attribute, and `messages` would parse all mails.
        hooks = {name: getattr(mailbox, name) for name in ("handle_MAIL", "handle_RCPT", "handle_DATA")}
        super().__init__(SimpleNamespace(**hooks), hostname="127.0.0.1", port=0, **settings)

    def _trigger_server(self) -> None:
        """Store the port that the system chose, because the controller then connects to it."""
        assert self.server
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextmanager
def receiving(mailbox: Mailbox, **settings: Any) -> Iterator[int]:
    """Serve SMTP on loopback; yield the port."""
    controller = _Controller(mailbox, loop=asyncio.new_event_loop(), **settings)
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()
