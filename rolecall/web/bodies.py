"""Read query parameters, and request bodies within limits of size and time."""

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request
from litestar.exceptions import InternalServerException

from rolecall.core import ids
from rolecall.core.checking import Addresses, Json, human_name
from rolecall.core.errors import Invalid, Problem, TooLarge, UnsupportedMediaType
from rolecall.core.nested_json import DEEPEST_JSON, NestedTooDeeply, decode_nested
from rolecall.core.paging import LAST_PAGE
from rolecall.core.text import byte_size, fold, is_blank, is_storable

AnyRequest = Request[Any, Any, Any]

# The time limit depends on the size: a large upload may take hours on a slow line, a few bytes only seconds.
PATIENCE_SECONDS = 20.0
SLOWEST_BYTES_A_SECOND = 4096


class Carried(msgspec.Struct, frozen=True):
    """A body that was read: its content, a digest for idempotency, resources to release, and resolved host names."""

    raw: Any
    digest: bytes
    held: AbstractContextManager[Any] = nullcontext()
    addresses: Addresses = {}


async def read_bytes(request: AnyRequest, limit: int, what: str = "The body") -> bytes:
    chunks, size = [], 0
    async with in_time() as came:
        async for chunk in request.stream():
            came(chunk)
            size += len(chunk)
            if size > limit:
                raise TooLarge(f"{what} is larger than {byte_size(limit)}")
            chunks.append(chunk)
    return b"".join(chunks)


@asynccontextmanager
async def in_time() -> AsyncGenerator[Callable[[bytes], None]]:
    """Limit the time to read a body, based on a minimum transfer rate.

    Yield a function that the calling code must call with each chunk. Raise Invalid if the body is too slow, or if the
    client disconnects.
    """
    try:
        async with asyncio.timeout(PATIENCE_SECONDS) as limit:

            def came(chunk: bytes) -> None:
                limit.reschedule((limit.when() or 0) + len(chunk) / SLOWEST_BYTES_A_SECOND)

            yield came
    except TimeoutError:
        raise Invalid.on(
            "body", "Body arrived too slowly; send it again over a faster connection, or send less"
        ) from None
    except InternalServerException:  # the client disconnected
        raise Invalid.on(
            "body", "The connection was closed before the whole body arrived; send the request again"
        ) from None


async def read_json(
    request: AnyRequest, limit: int, media_types: Sequence[str] = ("application/json",), most_values: int | None = None
) -> Carried:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        raise UnsupportedMediaType(f"Send the body as {media_types[0]}")
    content = await read_bytes(request, limit)
    # Decoding millions of small values would occupy the event loop for seconds. Count before decoding.
    if most_values is not None and sum(map(content.count, (b"{", b"[", b","))) > most_values:
        raise TooLarge(f"The body has more than {most_values:,} values; send fewer in one request")
    try:
        raw = decode_nested(content)
    except NestedTooDeeply:
        raise Invalid.on("body", f"Body must be nested at most {DEEPEST_JSON} levels deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Invalid.on("body", "Body is not valid JSON") from None
    if not isinstance(raw, dict):
        raise Invalid.on("body", "Body must be a JSON object")
    return Carried(raw, hashlib.sha256(content).digest())


async def read_optional_json(request: AnyRequest, limit: int) -> Carried:
    # Check Transfer-Encoding too, because a chunked body has no Content-Length.
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return Carried({}, b"")
    return await read_json(request, limit)


async def read_text(request: AnyRequest, limit: int) -> Carried:
    """Read plain text in strict UTF-8; it must not be blank."""
    media_type, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]*)", parameters)
    if media_type.strip() != "text/plain" or (charset and charset[1] not in ("utf-8", "utf8", "us-ascii")):
        raise UnsupportedMediaType("Send the body as text/plain in UTF-8")
    content = await read_bytes(request, limit)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Invalid.on("body", "Body is not valid UTF-8; encode it as UTF-8") from None
    if "\x00" in text:
        raise Invalid.on("body", "Body must not contain NUL characters")
    if is_blank(text):
        raise Invalid.on("body", "Body is required")
    return Carried(text, hashlib.sha256(content).digest())


class Reader(msgspec.Struct, frozen=True):
    """The parser of a query parameter and its JSON Schema; `read` raises a ValueError that says what is allowed."""

    read: Callable[[str], object]
    schema: Json
    required: bool = False


def _guid(text: str) -> UUID:
    if found := ids.guid(text):
        return found
    raise ValueError("must be a GUID")


def _page(text: str) -> int:
    # Check the length first: `int` rejects strings of more than 4,300 digits with another message.
    if text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) <= LAST_PAGE:
        return int(text)
    raise ValueError("must be a whole number, 1 or more")


def _flag(text: str) -> bool:
    if (word := fold(text)) in ("true", "false"):
        return word == "true"
    raise ValueError("must be true or false")


def a_word_of(kind: type[StrEnum]) -> Reader:
    words = {fold(member.value): member for member in kind}

    def read(text: str) -> StrEnum:
        if member := words.get(fold(text)):
            return member
        raise ValueError(f"must be one of {', '.join(kind)}")

    return Reader(read, {"type": "string", "enum": [member.replace(" ", "") for member in kind]})


a_guid = Reader(_guid, {"type": "string", "format": "uuid"})
a_flag = Reader(_flag, {"type": "boolean"})
a_page = Reader(_page, {"type": "integer", "minimum": 1, "maximum": LAST_PAGE, "default": 1})


def read_query(request: AnyRequest, filters: dict[str, Reader]) -> Json:
    """Return the page and the given filters by name; report every invalid parameter."""
    given: Json = {"page": 1}
    problems = [
        Problem("query", "Query must not contain NUL characters")
        for name, value in request.query_params.multi_items()
        if name not in filters and not (is_storable(name) and is_storable(value))
    ][:1]
    for name, reader in {"page": a_page, **filters}.items():
        values = request.query_params.getall(name, [])
        try:
            if len(values) > 1:
                raise ValueError("must be given once")
            if reader.required and not "".join(values).strip():
                raise ValueError("is required")
            if not all(map(is_storable, values)):
                raise ValueError("must not contain NUL characters")
            if values:
                given[name] = reader.read(values[0])
        except ValueError as error:
            problems.append(Problem(name, f"{human_name([name])} {error}"))
    if problems:
        raise Invalid(*problems)
    return given


_LONGEST_TEXT = 256


def _text(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"must have at most {_LONGEST_TEXT} characters")
    return text


a_text = Reader(_text, {"type": "string", "pattern": r"^[^\x00]*$", "maxLength": _LONGEST_TEXT})
