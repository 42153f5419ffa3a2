"""Define the type of a client command: its call, an example and the columns of its table."""

from collections.abc import Callable
from typing import Any

import msgspec

from rolecall.client import calls

EXAMPLE_ID = "0192e4a0-7c1e-7000-8000-000000000001"
PEOPLE = ("id", "last_name", "first_name", "email_address", "type", "department", "status")


class Verb(msgspec.Struct, frozen=True):
    """A command such as `list` of the noun `event`. `columns` are the paths of its table columns in an item."""

    call: Callable[..., calls.Call[Any]]
    example: str
    columns: tuple[str, ...] = ()


class Noun(msgspec.Struct, frozen=True):
    help: str
    verbs: dict[str, Verb]
