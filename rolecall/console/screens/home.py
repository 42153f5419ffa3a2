from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.console import finding, overview
from rolecall.console.charts import Stack, stacked_bars
from rolecall.console.frame import Page, screen, some_words
from rolecall.console.model import Person
from rolecall.console.rendering import NAVIGATION
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.work_items.model import WorkStatus


@screen("GET", "/")
async def show_home(db: Db, person: Person, caller: Caller, now: datetime) -> Page:
    sees_requests = Scope.ACCESS_REQUESTS_READ in caller.scopes
    days = await overview.by_day(db, now) if sees_requests else {}
    bars = [Stack(f"{day:%d %b}", parts) for day, parts in days.items()]
    beginnings = await overview.beginnings(db)
    return Page(
        "home.html",
        {
            "tiles": await overview.tiles(db, person, now),
            "times": await overview.medians(db, now),
            "chart": stacked_bars("Requests made in the last 30 days, by status", _drawn(bars), bars),
            "has_requests": beginnings.requests,
            "steps": [
                ("Add the system that knows your people", "/applications/new", beginnings.applications),
                ("Upload its first files", "/applications", beginnings.imports),
                ("See the people it brought", "/identities", beginnings.identities),
                ("Say in a model who gets what", "/access-models", beginnings.models),
                ("Onboard somebody, and follow the requests", "/events/new?type=Onboard", beginnings.requests),
            ],
        },
    )


def _drawn(bars: list[Stack]) -> list[str]:
    """The statuses that occur, those that wait lowest."""
    return [status for status in WorkStatus if any(bar.parts.get(status) for bar in bars)]


@screen("GET", "/search", query={"q": some_words})
async def show_results(db: Db, caller: Caller, query: dict[str, Any]) -> Page:
    words = query.get("q") or ""
    found = [one for one in await finding.search(db, words) if _SCOPES[one.kind] in caller.scopes]
    screens = [
        finding.Found("Screen", name, "", address)
        for name, address, _, scope in NAVIGATION
        if words and name.lower().startswith(words.lower()) and (scope is None or scope in caller.scopes)
    ]
    return Page("search.html", {"words": words, "found": screens + found})


_SCOPES = {
    "Request": Scope.ACCESS_REQUESTS_READ,
    "Event": Scope.PERSONNEL_EVENTS_READ,
    "Import": Scope.IMPORTS_READ,
    "Application": Scope.APPLICATIONS_READ,
    "Access model": Scope.ACCESS_REQUESTS_READ,
    "Person": Scope.IDENTITIES_READ,
}

HANDLERS: list[HTTPRouteHandler] = [show_home, show_results]
