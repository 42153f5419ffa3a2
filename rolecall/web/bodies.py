"""What a request carries: a JSON object within its limit, and query parameters."""

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request

from rolecall.core import ids
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid, Problem, TooLarge, UnsupportedMediaType
from rolecall.core.paging import LAST_PAGE
from rolecall.core.text import fold

AnyRequest = Request[Any, Any, Any]


class Carried(msgspec.Struct, frozen=True):
    """A body as read: what it says, and the digest that an idempotency key is held against."""

    raw: Any
    digest: bytes


async def read_bytes(request: AnyRequest, limit: int, what: str = "The body") -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"{what} is larger than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def read_json(request: AnyRequest, limit: int) -> Carried:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("Send the body as application/json")
    content = await read_bytes(request, limit)
    try:
        raw = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise Invalid.on("body", "Body is not valid JSON") from None
    if not isinstance(raw, dict):
        raise Invalid.on("body", "Body must be a JSON object")
    return Carried(raw, hashlib.sha256(content).digest())


async def read_optional_json(request: AnyRequest, limit: int) -> Carried:
    """For verbs whose body may be left out."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return Carried({}, b"")
    return await read_json(request, limit)


Reader = Callable[[str], object]


def a_guid(text: str) -> UUID:
    if found := ids.guid(text):
        return found
    raise ValueError("must be a GUID")


def a_word_of(kind: type[StrEnum]) -> Reader:
    words = {fold(member.value): member for member in kind}

    def read(text: str) -> StrEnum:
        if member := words.get(fold(text)):
            return member
        raise ValueError(f"must be one of {', '.join(kind)}")

    return read


def a_page(text: str) -> int:
    if text.isascii() and text.isdecimal() and 1 <= int(text[:12]) <= LAST_PAGE:
        return int(text)
    raise ValueError("must be a whole number, 1 or more")


def read_query(request: AnyRequest, filters: dict[str, Reader]) -> Json:
    """The page and the filters that were given, by name; every bad one is reported."""
    given: Json = {"page": 1}
    problems = []
    for name, read in {"page": a_page, **filters}.items():
        values = request.query_params.getall(name, [])
        try:
            if len(values) > 1:
                raise ValueError("must be given once")
            if values:
                given[name] = read(values[0])
        except ValueError as error:
            problems.append(Problem(name, f"{name[0].upper()}{name[1:]} {error}"))
    if problems:
        raise Invalid(*problems)
    return given
