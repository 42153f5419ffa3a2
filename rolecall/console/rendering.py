"""Templates: autoescaped, strict about what they name; every text from outside is text."""

import hashlib
import re
import unicodedata
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rolecall.console.charts import shares
from rolecall.core.caller import Scope

STATIC = Path(__file__).parent / "static"
_environment = Environment(
    loader=PackageLoader("rolecall.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> str:
    return _environment.get_template(template).render(**values)


def _when(moment: datetime | None) -> Markup:
    """A time that the page's script puts in the reader's zone; without it, UTC."""
    if moment is None:
        return Markup("—")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, f"{moment:%Y-%m-%d %H:%M} UTC")


def _day(moment: datetime | None) -> Markup:
    if moment is None:
        return Markup("—")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{0}" title="{0}" data-day>{1}</time>').format(exact, f"{moment:%Y-%m-%d}")


def _date(moment: datetime | None, zone: ZoneInfo) -> Markup:
    """A day of the calendar, which begins in the zone of the service: the same for every reader."""
    if moment is None:
        return Markup("—")
    return Markup('<time datetime="{0}">{0}</time>').format(moment.astimezone(zone).date().isoformat())


_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def _age(moment: datetime, now: datetime) -> Markup:
    seconds = max(0, int((now - moment) / timedelta(seconds=1)))
    age = next((f"{seconds // size} {unit}" for size, unit in _UNITS if seconds >= size), "now")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{0}" title="{0}" data-age>{1}</time>').format(exact, age)


_SPANS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"), (0.001, "millisecond"))


def _lasting(seconds: float | None) -> str:
    """In its largest unit, to one place."""
    if seconds is None:
        return "—"
    size, unit = next((span for span in _SPANS if seconds >= span[0]), _SPANS[-1])
    count = f"{seconds / size:.{0 if size < 1 else 1}f}".removesuffix(".0")
    return f"{count} {unit}{'' if count == '1' else 's'}"


def _shown(text: str) -> Markup:
    """Control and bidi characters are shown, not obeyed."""
    # Nearly every text; character by character, texts were most of what a page costs.
    if text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="hidden-char" title="U+{0:04X}">␣</span>').format(ord(c)) if _is_hidden(c) else escape(c)
        for c in text
    )


def _marked(text: str) -> str:
    """The same where there can be no element, as in an option."""
    return "".join("␣" if _is_hidden(c) else c for c in text)


def _as_word(text: str) -> str:
    """For a command that people copy into a shell: letters, digits and dashes alone."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _is_hidden(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t"


def _with(query: dict[str, Any], **changes: Any) -> str:
    """The query string with some of it changed; what becomes None goes."""
    kept = {name: value for name, value in {**query, **changes}.items() if value not in (None, "") and name != "page"}
    if (page := changes.get("page")) and page != 1:
        kept["page"] = page
    return f"?{urlencode(kept)}" if kept else "?"


@cache
def _asset(name: str) -> str:
    """The address of a file in `static`, another one when its content is another."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


_environment.filters |= {
    "when": _when,
    "day": _day,
    "date": _date,
    "shown": _shown,
    "marked": _marked,
    "as_word": _as_word,
    "age": _age,
    "lasting": _lasting,
}
NAVIGATION = [
    ("Home", "/", "house", None),
    ("Requests", "/requests", "inbox", Scope.ACCESS_REQUESTS_READ),
    ("Events", "/events", "calendar-days", Scope.PERSONNEL_EVENTS_READ),
    ("Identities", "/identities", "users-round", Scope.IDENTITIES_READ),
    ("Applications", "/applications", "app-window", Scope.APPLICATIONS_READ),
    ("Access models", "/access-models", "layers", Scope.ACCESS_REQUESTS_READ),
    ("Webhooks", "/webhooks", "webhook", Scope.WEBHOOKS_MANAGE),
    ("Audit", "/audit", "scroll-text", Scope.AUDIT_READ),
    ("Settings", "/settings", "settings", Scope.CONFIG_MANAGE),
]
# Screens that belong to one with another beginning.
_PART_OF = {"/imports": "/applications", "/accounts": "/applications", "/deliveries": "/webhooks"}


def _is_at(path: str, href: str) -> bool:
    """Whether the path is on a screen of this part of the console."""
    first = "/" + path.split("/")[1] if path else ""
    return _PART_OF.get(first, first) == href


_environment.globals |= {
    "is_at": _is_at,
    "asset": _asset,
    "shares": shares,
    "with_query": _with,
    "NAVIGATION": NAVIGATION,
}
