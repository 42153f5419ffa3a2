import csv
from datetime import date, datetime, time
from io import StringIO
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.access_models import queries as models
from rolecall.access_models.model import Grant
from rolecall.access_requests import queries as requests
from rolecall.applications import queries as applications
from rolecall.console.frame import Page, a_day, screen, some_words
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.effective_access.queries import access_of
from rolecall.effective_access.shapes import EffectiveAccess
from rolecall.identities import finding, queries
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.identities.shapes import IdentityDetail
from rolecall.personnel_events import queries as events
from rolecall.web.bodies import a_word_of

_FILTERS = {
    "name": some_words,
    "status": a_word_of(IdentityStatus),
    "type": a_word_of(IdentityType),
    "department": some_words,
}


@screen("GET", "/identities", scope=Scope.IDENTITIES_READ, query=_FILTERS)
async def show_identities(db: Db, query: dict[str, Any]) -> Page:
    name, page = query.get("name"), query["page"]
    filters = finding.Filters(query.get("status"), query.get("type"), query.get("department") or None)
    if name:
        found = await finding.search(db, name, page, filters=filters)
    else:
        found = await (queries.by_name(db, page) if filters.are_empty() else finding.listed(db, page, filters))
    values = {"page": found, "query": query, "statuses": list(IdentityStatus), "types": list(IdentityType)}
    return Page("identities.html", values)


@screen("GET", "/people", scope=Scope.IDENTITIES_READ, query={"q": some_words})
async def suggest_people(db: Db, query: dict[str, Any]) -> Page:
    """What a field for a person offers while somebody types."""
    words = query.get("q")
    return Page("people.html", {"people": await finding.candidates(db, words) if words else []})


FUTURE = "As of must not be in the future"


def _end_of(day: date | None, config: Config) -> datetime | None:
    return datetime.combine(day, time(23, 59, 59), config.timezone) if day else None


@screen("GET", "/identities/{id:str}", scope=Scope.IDENTITIES_READ, query={"asOf": a_day})
async def show_identity(db: Db, id: str, query: dict[str, Any], config: Config, facts: Facts) -> Page:
    identity = await queries.get(db, id)
    asked = query.get("asOf")
    day = asked if asked and asked <= facts.today else None
    access = await access_of(db, identity.id, _end_of(day, config))
    missing = [] if day else await _missing(db, identity, access)
    return Page(
        "identity.html",
        {
            "identity": identity,
            "as_of": day,
            "today": facts.today,
            "problem": FUTURE if asked and not day else None,
            "access": [there for there in access.applications if not there.is_unknown(access.as_of)],
            "unknown": [there for there in access.applications if there.is_unknown(access.as_of)],
            "missing": missing,
            "names": await applications.names(db, [grant.application_id for grant in missing]),
            "events": await events.by_effective_date(db, 1, identity_id=identity.id),
            "requests": await requests.newest_first(db, 1, identity_id=identity.id),
        },
    )


async def _missing(db: Db, identity: IdentityDetail, access: EffectiveAccess) -> list[Grant]:
    """What the models that match would give and no account holds."""
    if identity.status != IdentityStatus.ACTIVE:
        return []
    held = {
        (there.application.id, entry.header, entry.section, entry.permission)
        for there in access.applications
        for account in there.accounts
        for entry in account.access
    }
    granted = await models.granted(db, await models.matching(db, identity.id))
    return [g for g in granted if (g.application_id, g.header, g.section, g.permission) not in held]


@screen("GET", "/identities/{id:str}/access.csv", scope=Scope.IDENTITIES_READ, query={"asOf": a_day})
async def export_access(db: Db, id: str, query: dict[str, Any], config: Config, facts: Facts) -> ASGIResponse:
    identity = await queries.get(db, id)
    if (day := query.get("asOf")) and day > facts.today:
        raise Invalid.on("asOf", FUTURE)
    access = await access_of(db, identity.id, _end_of(day, config))
    text = StringIO()
    table = csv.writer(text)
    table.writerow(("Application", "Username", "Header", "Section", "Permission", "Access", "Risk", "Group", "Import"))
    for there in access.applications:
        if there.is_unknown(access.as_of):
            table.writerow(
                (_harmless(there.application.name), f"No data before {there.no_data_before:%Y-%m-%dT%H:%M:%SZ}")
            )
        for account in there.accounts:
            for e in account.access:
                row = (there.application.name, account.username, e.header, e.section, e.permission, e.access)
                table.writerow(map(_harmless, (*row, e.risk_rating, e.group, str(e.why.application_import.number))))
    headers = {"Content-Disposition": f'attachment; filename="access-{identity.id}.csv"'}
    return ASGIResponse(body=text.getvalue().encode(), media_type="text/csv; charset=utf-8", headers=headers)


def _harmless(cell: str) -> str:
    """A spreadsheet takes what begins like this for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


HANDLERS: list[HTTPRouteHandler] = [show_identities, suggest_people, show_identity, export_access]
