"""Render the console's templates.

Templates are autoescaped and fail on an unknown name. Untrusted text goes through the filter `shown`, which makes
hidden characters visible. Other filters format values, such as dates and durations.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from rolecall.console import review_words
from rolecall.console.charts import meter, shares
from rolecall.console.model import Person
from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.templates import environment

STATIC = Path(__file__).parent / "static"
_environment = environment("rolecall.console")


def render(template: str, **values: Any) -> str:
    return _environment.get_template(template).render(**values)


def _in_words(day: date) -> str:
    """Return a day such as `3 Sep 2026`; `shortDate` in console.js writes the same."""
    return f"{day.day} {day:%b %Y}"


def _when(moment: datetime | None) -> Markup:
    """Return a time in UTC as HTML; the script of the page converts it to the time zone of the reader."""
    if moment is None:
        return Markup("—")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    shown = f"{_in_words(moment)}, {moment:%H:%M} UTC"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, shown)


def _day(moment: datetime | None) -> Markup:
    if moment is None:
        return Markup("—")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{0}" title="{0}" data-day>{1}</time>').format(exact, _in_words(moment))


def _date(moment: datetime | None, zone: ZoneInfo) -> Markup:
    """Return a calendar day in the time zone of the service as HTML; it is the same for every reader."""
    if moment is None:
        return Markup("—")
    day = clock.local(moment, zone).date()
    return Markup('<time datetime="{0}">{1}</time>').format(day.isoformat(), _in_words(day))


def _imported_day(text: str) -> Markup:
    """Return the day of an imported time as HTML; times that cannot be parsed are shown as they are."""
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return _shown(text)
    return Markup('<time datetime="{0}">{1}</time>').format(day.isoformat(), _in_words(day))


def _distance(moment: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return in words how many calendar days remain, such as `tomorrow`; empty for days in the past."""
    days = (clock.local(moment, zone).date() - now.astimezone(zone).date()).days
    return "today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days" if days > 1 else ""


_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def _age(moment: datetime, now: datetime) -> Markup:
    """Return how long ago a time was, in whole days, hours or minutes, as HTML."""
    seconds = max(0, int((now - moment) / timedelta(seconds=1)))
    age = next((_count(seconds // size, unit) for size, unit in _UNITS if seconds >= size), "just now")
    exact = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{0}" title="{0}" data-age>{1}</time>').format(exact, age)


def _size(count: int) -> str:
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return _count(count, "byte")


def _count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 request`, `2,500 requests`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


_SPANS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"), (0.001, "millisecond"))


def _lasting(seconds: float | None) -> str:
    """Return a duration in its largest unit, with at most one decimal place."""
    if seconds is None:
        return "—"
    size, unit = next((span for span in _SPANS if seconds >= span[0]), _SPANS[-1])
    count = f"{seconds / size:.{0 if size < 1 else 1}f}".removesuffix(".0")
    return f"{count} {unit}{'' if count == '1' else 's'}"


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{share:.0%}".replace("%", "\u00a0%")


def _seconds(seconds: float) -> str:
    """Return a short duration with an abbreviated unit: `21 s`, `4 min`."""
    # No-break spaces keep a number and its unit on one line.
    return f"{seconds:.0f}\u00a0s" if seconds < 120 else f"{seconds / 60:.0f}\u00a0min"


def _shown(text: str) -> Markup:
    """Return text with each control or format character replaced by ␣, with its code point as the tooltip.

    Newlines and tabs are kept.
    """
    # Most text is printable. Without this shortcut, the loop over all characters would dominate the rendering time.
    if text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="hidden-char" title="U+{0:04X}">␣</span>').format(ord(c)) if _is_hidden(c) else escape(c)
        for c in text
    )


def _address(text: str) -> Markup:
    """Return an e-mail address that wraps before its @ where it does not fit on one line."""
    return _shown(text).replace("@", Markup("<wbr>@"))


def marked(text: str) -> str:
    """Replace hidden characters in plain text, for places that allow no HTML elements, such as `<option>`."""
    return "".join("␣" if _is_hidden(c) else c for c in text)


def _as_word(text: str) -> str:
    """Reduce text to a-z, 0-9 and dashes, so that it is safe in a command that people paste into a shell."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _initials(name: str) -> str:
    """Return the initials of a name: the first letters of the first and last word."""
    words = [word for word in name.split() if word[0].isalnum()]
    # A name of one word has one initial.
    return "".join(word[0] for word in dict.fromkeys((words[0], words[-1]))).upper() if words else "?"


def _first_last(name: str) -> str:
    """Convert a name from `Nair, Emre` to `Emre Nair`."""
    last, comma, first = name.partition(", ")
    return f"{first} {last}" if comma and ", " not in first else name


def _tint(name: str) -> str:
    """Return the letter of one of six colours; a name has the same colour on every page."""
    # Do not use `hash`: its results for strings differ between processes.
    return "abcdef"[sum(map(ord, name)) % 6]


# How labels spell these words of field names.
_SPELLED = {"id": "ID", "url": "URL", "api": "API", "email": "E-mail", "utc": "UTC"}


def _field(name: str) -> str:
    """Return the name of a field in words: `isIdentitySource` becomes `Is identity source`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower().split()
    text = " ".join(_SPELLED.get(word, word) for word in words)
    return text[:1].upper() + text[1:]


def spelled(text: str) -> str:
    """Return a value or text of the API as the console spells it: `Email` becomes `E-mail`."""
    return re.sub(r"\bEmail\b", "E-mail", text)


def _audit_field(name: str) -> str:
    """Return the name of an audited field in words, without positions such as those in `responses.Approve.0.0`."""
    return ", ".join(_field(part) for part in name.split(".") if not part.isdecimal())


def readable(value: Any) -> str:
    """Return a changed value as text: `Yes` or `No`, `—` if it is empty, and lists and objects on one line.

    Days and times in UTC are written as elsewhere: `19 Nov 2026, 08:00 UTC`.
    """
    match value:
        case bool():
            return "Yes" if value else "No"
        case None:
            return "—"
        case str() | list() | dict() if not value:
            return "—"
        case dict():
            return ", ".join(f"{_field(str(name))}: {readable(each)}" for name, each in value.items())
        case list():
            return ", ".join(map(readable, value))
        case float():
            return f"{value:,g}"
        case str() if found := _MOMENT.fullmatch(value):
            return _readable_day(found[1]) + (f", {found[2]} UTC" if found[2] else "")
    return str(value)


def _readable_day(text: str) -> str:
    try:
        return _in_words(date.fromisoformat(text))
    except ValueError:
        return text


_PLURALS = {"Identity": "identities"}


def _kind(kind: str, count: int = 2) -> str:
    """Return a kind of record as a noun: in the singular for a count of 1, such as `group`, otherwise in the plural."""
    return kind.lower() if count == 1 else _PLURALS.get(kind, f"{kind.lower()}s")


def _change_counts(tallies: Mapping[str, Any]) -> str:
    """Return the number of changes of each kind as text: `accounts 2 new, 1 altered; memberships 3 removed`."""
    parts = []
    for kind, tally in tallies.items():
        words = {"new": tally.new, "altered": tally.altered, "removed": tally.removed}
        said = [f"{count:,} {word}" for word, count in words.items() if count]
        if said:
            parts.append(f"{_kind(kind)} {', '.join(said)}")
    return "; ".join(parts) or "nothing changes"


_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00))?", re.ASCII)


def _is_hidden(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t"


def _with(query: dict[str, Any], **changes: Any) -> str:
    """Return a query string with some parameters changed; omit empty values.

    Omit the page number too, unless `changes` sets it, because a changed filter starts at the first page.
    """
    kept = {name: value for name, value in {**query, **changes}.items() if value not in (None, "") and name != "page"}
    if (page := changes.get("page")) and page != 1:
        kept["page"] = page
    return f"?{urlencode(kept)}" if kept else "?"


def chosen(query: dict[str, Any], field: str) -> str:
    """Return the value of a filter as it is written in a URL; empty if the filter is not set."""
    value = query.get(field)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _asset(name: str) -> str:
    """Return the URL of a file in `static`, with its checksum, so that browsers fetch a changed file."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


_environment.filters |= {
    "when": _when,
    "day": _day,
    "date": _date,
    "imported_day": _imported_day,
    "distance": _distance,
    "shown": _shown,
    "address": _address,
    "marked": marked,
    "as_word": _as_word,
    "age": _age,
    "count_of": _count,
    "kind_of_record": _kind,
    "size_of": _size,
    "lasting": _lasting,
    "percent": _percent,
    "seconds": _seconds,
    "initials": _initials,
    "tint": _tint,
    "first_last": _first_last,
    "field_name": _field,
    "spelled": spelled,
    "list_title": lambda name: name.replace("-", " ").capitalize(),
    "audit_field": _audit_field,
    "readable": readable,
    "change_counts": _change_counts,
}
# The groups of the main navigation: the name, path, icon and required scope of each screen.
NAVIGATION: dict[str, list[tuple[str, str, str, Scope | None]]] = {
    "My work": [
        ("Home", "/", "house", None),
        ("Requests", "/requests", "inbox", Scope.ACCESS_REQUESTS_READ),
        ("Reviews", "/reviews", "clipboard-check", Scope.REVIEWS_READ),
        ("Events", "/events", "calendar-days", Scope.PERSONNEL_EVENTS_READ),
    ],
    "Who has what": [
        ("People", "/identities", "users-round", Scope.IDENTITIES_READ),
        ("Access", "/access", "shield-check", Scope.APPLICATIONS_READ),
        ("Applications", "/applications", "app-window", Scope.APPLICATIONS_READ),
    ],
    "How it is governed": [
        ("Models", "/access-models", "layers", Scope.ACCESS_REQUESTS_READ),
        ("Duties", "/duties", "scale", Scope.DUTIES_READ),
        ("Reports", "/reports", "file-text", Scope.APPLICATIONS_READ),
    ],
    "System": [
        ("Webhooks", "/webhooks", "webhook", Scope.WEBHOOKS_MANAGE),
        ("Audit", "/audit", "scroll-text", Scope.AUDIT_READ),
        ("Settings", "/settings", "settings", Scope.CONFIG_MANAGE),
    ],
}
# The navigation of people who see only their own records.
_OWN_NAVIGATION: dict[str, list[tuple[str, str, str, Scope | None]]] = {
    "My work": [
        ("Home", "/", "house", None),
        ("Requests", "/requests", "inbox", None),
        ("Reviews", "/reviews", "clipboard-check", None),
        ("Events", "/events", "calendar-days", Scope.PERSONNEL_EVENTS_WRITE),
    ],
    "Who has what": [
        ("My people", "/identities", "users-round", Scope.PERSONNEL_EVENTS_WRITE),
        ("My access", "/identities/{me}", "shield-check", None),
        ("My applications", "/applications", "app-window", Scope.APPLICATIONS_READ),
    ],
}


def navigation(person: Person | None) -> dict[str, list[tuple[str, str, str]]]:
    """Return the groups of screens that a person may open: the name, path and icon of each."""
    if person is None:
        return {}
    scopes = person.caller().scopes
    groups = {
        group: [
            (name, href.format(me=person.id), icon)
            for name, href, icon, scope in screens
            if scope is None or scope in scopes
        ]
        for group, screens in (_OWN_NAVIGATION if person.is_limited else NAVIGATION).items()
    }
    return {group: screens for group, screens in groups.items() if screens}


# Paths without a navigation entry, each with the path of the entry that is marked as current instead.
_PART_OF = {
    **dict.fromkeys(("/imports", "/drafts", "/connector-templates"), "/applications"),
    **dict.fromkeys(("/rules", "/conflicts"), "/duties"),
    "/accounts": "/access",
    **dict.fromkeys(("/review-items", "/review-templates"), "/reviews"),
    "/deliveries": "/webhooks",
}


def _is_at(path: str, href: str) -> bool:
    """Return whether the path belongs to this entry of the navigation."""
    if path == href:
        return True
    first = "/" + path.split("/")[1] if path else ""
    return _PART_OF.get(first, first) == href


_environment.globals |= {
    "is_at": _is_at,
    "asset": _asset,
    "review_words": review_words,
    "meter": meter,
    "shares": shares,
    "with_query": _with,
    "chosen": chosen,
}
