"""A call as data, and the types of its parameters."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from rolecall.client.answers import Json

T = TypeVar("T")
Id = UUID | str
When = date | datetime | str


class Call(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A call as data. `files` and `form` are the fields of a form. `key`: send an idempotency key with it."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str] = {}
    body: Json | None = None
    files: Sequence[tuple[str, Path]] = ()
    form: Mapping[str, str] = {}
    key: str | None = None
