"""Show accounts across applications."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.accounts import roster
from rolecall.accounts.model import Match
from rolecall.accounts.routes import a_number_of_days
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage
from rolecall.console.frame import screen
from rolecall.console.inputs import some_words
from rolecall.console.rendering import spelled
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db
from rolecall.web.bodies import a_flag, a_guid, a_word_of

_QUERY = {
    "search": some_words,
    "applicationId": a_guid,
    "match": a_word_of(Match),
    "isActive": a_flag,
    "leaver": a_flag,
    "privileged": a_flag,
    "neverUsed": a_flag,
    "dormantDays": a_number_of_days,
}


@screen("GET", "/accounts", scope=Scope.APPLICATIONS_READ, query=_QUERY)
async def show_accounts(db: Db, query: dict[str, Any], facts: Facts) -> HtmlPage:
    filters = roster.RosterFilters(
        application_id=query.get("applicationId"),
        match=query.get("match"),
        search=query.get("search") or None,
        is_active=query.get("isActive"),
        leaver=query.get("leaver"),
        dormant_days=query.get("dormantDays"),
        privileged=query.get("privileged"),
        never_used=query.get("neverUsed"),
    )
    return HtmlPage(
        "accounts.html",
        {
            "page": await roster.list_accounts(db, query["page"], filters, None, facts.now),
            "query": query,
            "applications": [(str(one.id), one.name) for one in await console.live_applications(db)],
            "matches": [(each, spelled(each)) for each in Match],
        },
    )


HANDLERS: list[HTTPRouteHandler] = [show_accounts]
