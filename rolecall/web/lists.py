"""Register lists: one description serves the pages of the API, exports, reports and the console.

`operation` registers every list of the API.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import human_name
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, Problem
from rolecall.core.formats.columns import Column, columns_of
from rolecall.core.paging import EVERYTHING, Page
from rolecall.core.text import is_storable
from rolecall.web.bodies import Reader

# The filter that identifies the parent record of a nested list, such as the accounts of an application.
RECORD = "id"


class ListSource(msgspec.Struct, frozen=True, kw_only=True):
    """A list; `wants` are the parameters of `function`: some of `db`, `query`, `id`, `caller`, `config` and `now`."""

    name: str
    scope: Scope
    filters: dict[str, Reader]
    item: Any
    function: Callable[..., Awaitable[Page[Any]]]
    wants: frozenset[str]

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(self.item)

    @property
    def is_below_record(self) -> bool:
        return RECORD in self.wants


LISTS: dict[str, ListSource] = {}


def name_of(function: Callable[..., Any]) -> str:
    return function.__name__.removeprefix("list_").replace("_", "-")


def register(source: ListSource) -> None:
    LISTS[source.name] = source


def read_filters(source: ListSource, given: Mapping[str, str]) -> dict[str, Any]:
    """Parse the filters of a list as its operation does; report every invalid filter under `filters`."""
    problems: list[Problem] = []
    read: dict[str, Any] = {}
    known = [*source.filters, *([RECORD] if source.is_below_record else [])]
    for name, text in given.items():
        if name not in known:
            choice = f"use {', '.join(known)}" if known else "it has no filters"
            problems.append(Problem(f"filters.{name}", f"The list {source.name} has no filter {name}; {choice}"))
        elif not is_storable(text):
            problems.append(Problem(f"filters.{name}", f"{human_name([name])} must not contain NUL characters"))
        # The function of the list parses the id of the record itself, and raises NotFound if there is no such record.
        elif name != RECORD:
            try:
                read[name] = source.filters[name].read(text)
            except ValueError as error:
                problems.append(Problem(f"filters.{name}", f"{human_name([name])} {error}"))
    required = [RECORD] if source.is_below_record else []
    required += [name for name, reader in source.filters.items() if reader.required]
    problems += [
        Problem(f"filters.{name}", f"{human_name([name])} is required") for name in required if not given.get(name)
    ]
    if problems:
        raise Invalid(*problems)
    return read


async def find_all(
    source: ListSource, db: Db, query: Mapping[str, Any], id: str, caller: Caller, config: Config, now: datetime
) -> Page[Any]:
    """Return the whole list for parsed filters; its rows are read later."""
    known = {
        "db": db,
        "query": {**query, "page": EVERYTHING},
        "id": id,
        "caller": caller,
        "config": config,
        "now": now,
    }
    return await source.function(**{name: known[name] for name in source.wants})


def choose_columns(source: ListSource, names: list[str] | None) -> tuple[Column, ...]:
    """Return the columns with these names, in this order, or all columns. Reject unknown and repeated names."""
    if not names:
        return source.columns
    known = {column.name: column for column in source.columns}
    if unknown := [name for name in names if name not in known]:
        choice = f"use one of {', '.join(known)}"
        raise Invalid(
            *(Problem("columns", f"The list {source.name} has no column {name}; {choice}") for name in unknown)
        )
    if len(set(names)) < len(names):
        raise Invalid.on("columns", "Columns must not contain duplicates")
    return tuple(known[name] for name in names)
