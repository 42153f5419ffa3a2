"""Read delivery reports: e-mails in which a server says whether it delivered a message that it had accepted.

RFC 3464 describes the part `message/delivery-status`. The message that failed is found by its Message-ID, which the
report quotes.
"""

import re
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from itertools import islice
from uuid import UUID

import msgspec

from rolecall.notifications.model import LONGEST_RESPONSE

_FAILED = "failed"
_STATUS_PART = "message/delivery-status"
# A header with the ID of a message, in the report or in the e-mail that it quotes. The ID may be on the next line.
_REFERENCE = re.compile(r"^[> ]*(?:Message-ID|In-Reply-To|References):\s*<([0-9a-f-]{36})@", re.I | re.M)
_MOST_REFERENCES = 10
# Limits against denial of service: anyone can send an e-mail here, and the time to parse it grows with its length times
# its nesting depth. Only the beginning of the e-mail is read, which contains the status and the quoted headers. The
# number of Content-Type headers limits the depth, because each nested part needs one.
_LONGEST_READ = 64 * 1024
_PART_HEADER = re.compile(r"content-type", re.I)
_MOST_PART_HEADERS = 20


class DeliveryReport(msgspec.Struct, frozen=True):
    """A delivery report; `reason` is None unless it reports a permanent failure."""

    references: list[UUID]
    reason: str | None


def report_in(text: str) -> DeliveryReport | None:
    """Return the delivery report in an e-mail. Read only the beginning of the e-mail.

    Return None if there is no report, as in an automatic reply, or if the e-mail has too many parts or cannot be
    parsed.
    """
    text = text[:_LONGEST_READ]
    if len(_PART_HEADER.findall(text)) > _MOST_PART_HEADERS:
        return None
    try:
        statuses = list(_statuses(message_from_string(text)))
    except Exception:  # the parser raises errors of several types for malformed headers
        return None
    if not statuses:
        return None
    reasons = (_reason(each) for each in statuses if _value(each, "Action").lower() == _FAILED)
    return DeliveryReport(list(_references(text)), next(reasons, None))


def _statuses(mail: Message) -> Iterator[Message]:
    """Yield the status fields of each recipient in the report."""
    for part in mail.walk():
        blocks = part.get_payload() if part.get_content_type() == _STATUS_PART else ()
        yield from (each for each in blocks if isinstance(each, Message) and each["Action"])


def _reason(status: Message) -> str:
    """Return the status code and the response of the receiving server as one printable line."""
    said = _value(status, "Diagnostic-Code").partition(";")[2] or "Not delivered"
    words = f"{_value(status, 'Status')} {said}".split()
    return "".join(c if c.isprintable() else " " for c in " ".join(words))[:LONGEST_RESPONSE]


def _value(status: Message, name: str) -> str:
    return str(status.get(name, "")).strip()


def _references(text: str) -> Iterator[UUID]:
    for found in islice(_REFERENCE.finditer(text), _MOST_REFERENCES):
        try:
            yield UUID(found[1])
        except ValueError:
            continue
