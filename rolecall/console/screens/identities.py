from collections.abc import Sequence
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests import queries as requests
from rolecall.accounts import queries as accounts
from rolecall.console import finding
from rolecall.console import queries as console
from rolecall.console.frame import Page, screen, some_words
from rolecall.core.caller import Scope
from rolecall.core.db import Db
from rolecall.identities import queries
from rolecall.personnel_events import queries as events


@screen("GET", "/identities", scope=Scope.IDENTITIES_READ, query={"name": some_words})
async def show_identities(db: Db, query: dict[str, Any]) -> Page:
    name, page = query.get("name"), query["page"]
    found = await (finding.identities_named(db, name, page) if name else queries.by_name(db, page))
    return Page("identities.html", {"page": found, "query": query})


@screen("GET", "/people", scope=Scope.IDENTITIES_READ, query={"q": some_words})
async def suggest_people(db: Db, query: dict[str, Any]) -> Page:
    """What a field for a person offers while somebody types."""
    words = query.get("q")
    return Page("people.html", {"people": await finding.candidates(db, words) if words else []})


@screen("GET", "/identities/{id:str}", scope=Scope.IDENTITIES_READ)
async def show_identity(db: Db, id: str) -> Page:
    identity = await queries.get(db, id)
    held = await accounts.of_identity(db, identity.id)
    ids = [account.id for account in held]
    return Page(
        "identity.html",
        {
            "identity": identity,
            "accounts": held,
            "names": await console.application_names(db, [account.application_id for account in held]),
            "memberships": _grouped((row.account_id, row) for row in await accounts.memberships(db, ids)),
            "permissions": _grouped((row.holder_id, row) for row in await accounts.permissions_held(db, ids)),
            "events": await events.by_effective_date(db, 1, identity_id=identity.id),
            "requests": await requests.newest_first(db, 1, identity_id=identity.id),
        },
    )


def _grouped(rows: Any) -> dict[UUID, Sequence[Any]]:
    grouped: dict[UUID, list[Any]] = {}
    for key, row in rows:
        grouped.setdefault(key, []).append(row)
    return {**grouped}


HANDLERS: list[HTTPRouteHandler] = [show_identities, suggest_people, show_identity]
