"""Define the description of a call, and functions that build it from the method, path, query and body."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

import msgspec

from rolecall.client.answers import Json

__all__ = ["Call", "Id", "When"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Id = UUID | str
When = date | datetime | str


class Call(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """The description of a call. `files` and `form` are sent as form fields.

    `key` is the idempotency key; without it, each write gets a random one.
    """

    method: str
    path: str
    answer: type[T_co]
    query: Mapping[str, str] = {}
    body: Json | None = None
    files: Sequence[tuple[str, Path]] = ()
    form: Mapping[str, str] = {}
    key: str | None = None


def get(answer: type[T], path: str, *ids: Id, **query: object) -> Call[T]:
    given = {camel(name): str(value) for name, value in query.items() if value is not None}
    return Call(method="GET", path=filled(path, ids), answer=answer, query=given)


def call(method: str, answer: type[T], path: str, *ids: Id, body: Mapping[str, Any] | None = None) -> Call[T]:
    return Call(method=method, path=filled(path, ids), answer=answer, body=None if body is None else camels(body))


def post(answer: type[T], path: str, *ids: Id, **body: object) -> Call[T]:
    """Return the description of a POST; None values are omitted from the body."""
    given = {name: value for name, value in body.items() if value is not None}
    # If all values are None, send an empty object: the operation still expects a body.
    return Call(method="POST", path=filled(path, ids), answer=answer, body=camels(given) if body else None)


def flags(given: Mapping[str, bool | None]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in given.items() if value is not None}


def filled(path: str, ids: Sequence[Id]) -> str:
    # Escape slashes too, so that an id cannot change the path.
    return path.format(*(quote(str(id), safe="") for id in ids))


def camels(fields: Mapping[str, Any]) -> Json:
    return {camel(name): value for name, value in fields.items()}


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
