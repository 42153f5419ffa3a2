"""Parse input from browsers: forms and query parameters."""

from datetime import date, datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec

from rolecall.accounts.moments import end_of_day
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.errors import RolecallError, UnsupportedMediaType
from rolecall.core.text import is_storable
from rolecall.web.bodies import AnyRequest, Carried, Reader, read_bytes

LONGEST_TEXT = 256
# Far from the limits of `datetime`, so that a neighbouring month or another time zone cannot overflow.
FIRST_YEAR, LAST_YEAR = 1900, 9000
_MOST_FIELDS = 10_000
Form = dict[str, list[str]]


class BrokenForm(RolecallError):
    """A malformed form, which our pages never send. The response is an error page instead of the form."""


async def plain_form(request: AnyRequest, config: Config) -> Carried:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await read_bytes(request, config.max_body_bytes)
    if content and media_type != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("Send the form as application/x-www-form-urlencoded")
    try:
        # Keep empty fields: some forms distinguish a field that was emptied from one that they do not have.
        form = parse_qs(content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BrokenForm("The form is not valid UTF-8 or has too many fields. Reload the page and try again") from None
    if not all(is_storable(text) for name, values in form.items() for text in (name, *values)):
        raise BrokenForm("A field of the form contains a NUL character. Remove it and try again")
    return Carried(form, b"")


def optional(reader: Reader) -> Reader:
    """Return a reader that treats an empty parameter as missing, because a form also sends its empty fields."""
    return Reader(lambda text: reader.read(text) if text.strip() else None, reader.schema)


def _words(text: str) -> str:
    if len(text) > LONGEST_TEXT or "\x00" in text:
        raise ValueError(f"must be at most {LONGEST_TEXT} characters and must not contain NUL")
    return text.strip()


some_words = Reader(_words, {"type": "string"})


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError("must be a date such as 2030-01-31")
    return day


a_day = Reader(_day, {"type": "string", "format": "date"})


class PastDay(msgspec.Struct, frozen=True):
    """The past day that a page shows, and the end of that day; both are None for the current state."""

    day: date | None = None
    moment: datetime | None = None
    problem: str | None = None


def past_day(query: dict[str, Any], facts: Facts) -> PastDay:
    """Return the day in the parameter `asOf`, or a problem if it is in the future."""
    asked: date | None = query.get("asOf")
    if asked is None or asked == facts.today:
        return PastDay()
    if asked > facts.today:
        return PastDay(problem="The day must not be in the future. Choose today or an earlier day")
    return PastDay(asked, end_of_day(asked, facts.zone))


def one_among(*words: str) -> Reader:
    """Return a reader that accepts these words, and reads any other value as the first of them."""
    return Reader(lambda text: text if text in words else words[0], {"type": "string", "enum": list(words)})
