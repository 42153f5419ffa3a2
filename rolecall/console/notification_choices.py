"""Combine the channel and the rhythm of a kind of notification into one choice of a form."""

from collections.abc import Collection

from rolecall.core.checking import Json
from rolecall.notifications.model import CHATS, Channel, KindRule, NotificationKind, Rhythm
from rolecall.notifications.shapes import KindDetail

_RHYTHMS = {Rhythm.AT_ONCE: "at once", Rhythm.DIGEST: "in the daily digest"}
_CHANNELS = {Channel.EMAIL: "E-mail", Channel.SLACK: "Slack", Channel.TEAMS: "Teams"}
_OFF = f"{Channel.CONSOLE}/{Rhythm.AT_ONCE}"
_LABELS = {
    **{f"{channel}/{rhythm}": f"{_CHANNELS[channel]} {_RHYTHMS[rhythm]}" for channel in _CHANNELS for rhythm in Rhythm},
    _OFF: "Off, in the console only",
}


def slug(kind: NotificationKind) -> str:
    """Convert the kind to a slug for paths and field names."""
    return kind.lower().replace(" ", "-")


def choice_of(rule: KindRule | KindDetail) -> str:
    return _OFF if rule.channel is Channel.CONSOLE else f"{rule.channel}/{rule.rhythm}"


def fields_of(choice: str) -> Json:
    """Return the body fields for a choice; the validation of the body reports an invalid choice."""
    channel, _, rhythm = choice.partition("/")
    return {"channel": channel, "rhythm": rhythm}


def choices(configured: Collection[Channel], kind: KindDetail, default: str | None = None) -> list[tuple[str, str]]:
    """Return the choices with their labels: e-mail, the chats that can be chosen, off, and the current choice."""
    chats = [chat for chat in CHATS if chat in configured and (kind.is_chat_allowed or default is None)]
    offered = {f"{channel}/{rhythm}" for channel in (Channel.EMAIL, *chats) for rhythm in Rhythm}
    # Offer the current choice even if its channel is no longer configured, so that saving the form keeps it.
    offered |= {_OFF, choice_of(kind)}
    labels = {choice: label for choice, label in _LABELS.items() if choice in offered}
    return [(choice, f"{label} (default)" if choice == default else label) for choice, label in labels.items()]
