"""Write messages for Slack and Teams, and post them to an incoming webhook.

`Outgoing` refuses private addresses that the configuration does not allow.
"""

from collections.abc import Sequence

import msgspec

from rolecall.notifications.message_text import Note, without_links
from rolecall.notifications.model import LONGEST_RESPONSE, Channel, MessageOutcome
from rolecall.webhooks.model import AttemptOutcome
from rolecall.webhooks.outgoing import Outgoing

_JSON = {"Content-Type": "application/json"}
# Status codes by which Slack and Teams ask for a retry.
_TRY_AGAIN = (408, 429)
_SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def body_of(channel: Channel, recipient: str, notes: Sequence[Note]) -> bytes:
    to = without_links(recipient)
    return msgspec.json.encode(_slack(to, notes) if channel is Channel.SLACK else _teams(to, notes))


def _slack(recipient: str, notes: Sequence[Note]) -> object:
    parts = []
    for note in notes:
        facts = [f"{label}: {_escaped(value)}" for label, value in note.facts]
        said = [f"*{_escaped(note.subject)}*", *map(_escaped, note.paragraphs), *facts]
        parts.append("\n".join([*said, f"<{note.link}|{note.opens}>"]))
    return {"text": "\n\n".join([f"For {_escaped(recipient)}", *parts])}


def _escaped(text: str) -> str:
    """Escape what Slack reads as a mention or a link."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def _teams(recipient: str, notes: Sequence[Note]) -> object:
    """Build an adaptive card, the format that Teams workflows accept."""
    body: list[object] = [_plain(f"For {recipient}", isSubtle=True)]
    for note in notes:
        body.append(_plain(note.subject, weight="Bolder"))
        body += [_plain(said) for said in note.paragraphs]
        body += [_plain(f"{label}: {value}") for label, value in note.facts]
        opens = {"type": "Action.OpenUrl", "title": note.opens, "url": note.link}
        body.append({"type": "ActionSet", "actions": [opens]})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _plain(text: str, **style: object) -> object:
    """Build a text block that Teams does not parse as Markdown: a name could contain `[Approve](https://…)`."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


async def post(outgoing: Outgoing, url: str, body: bytes) -> tuple[MessageOutcome, str]:
    answer = await outgoing.post(url, _JSON, body)
    said = f"{answer.status_code or answer.outcome} {answer.response or ''}".strip()[:LONGEST_RESPONSE]
    if answer.outcome is AttemptOutcome.DELIVERED:
        return MessageOutcome.SENT, said
    status = answer.status_code or 0
    # A wrong or revoked URL fails for every message, so it is an error of the channel.
    is_refused = 400 <= status < 500 and status not in (401, 403, 404, 410, *_TRY_AGAIN)
    return (MessageOutcome.REFUSED if is_refused else MessageOutcome.CHANNEL), said
