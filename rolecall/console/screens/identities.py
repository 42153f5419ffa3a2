from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.access_models import queries as models
from rolecall.access_models.model import Grant
from rolecall.access_requests import queries as requests
from rolecall.access_requests import requests_of_person
from rolecall.applications import queries as applications
from rolecall.conflicts import queries as conflicts
from rolecall.console import record_access
from rolecall.console.answers import HtmlPage
from rolecall.console.finding import known_departments
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import a_day, past_day, some_words
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db
from rolecall.effective_access.queries import access_of
from rolecall.effective_access.shapes import EffectiveAccess
from rolecall.entitlements import queries as entitlements
from rolecall.identities import finding, queries
from rolecall.identities.authority import RecordType, visible_people
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.identities.shapes import IdentityDetail
from rolecall.personnel_events import queries as events
from rolecall.web.bodies import a_flag, a_word_of

_FILTERS = {
    "name": some_words,
    "status": a_word_of(IdentityStatus),
    "type": a_word_of(IdentityType),
    "department": some_words,
    "sort": a_word_of(finding.PeopleOrder),
    "descending": a_flag,
}


@screen("GET", "/identities", scope=Scope.IDENTITIES_READ, limits=OWN, query=_FILTERS)
async def show_identities(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    name, page = query.get("name"), query["page"]
    within = await visible_people(db, caller)
    filters = finding.PeopleFilters(query.get("status"), query.get("type"), query.get("department") or None, within)
    sorting = finding.Sorting(query.get("sort") or finding.PeopleOrder.NAME, query.get("descending") or False)
    if name:
        found = await finding.search(db, name, page, filters=filters, sorting=sorting)
    else:
        found = await finding.listed(db, page, filters, sorting)
    values = {
        "page": found,
        "query": query,
        "sorting": sorting,
        "orders": list(finding.PeopleOrder),
        "statuses": list(IdentityStatus),
        "types": list(IdentityType),
    }
    return HtmlPage("identities.html", {**values, "departments": await known_departments(db, caller)})


@screen("GET", "/people", scope=Scope.IDENTITIES_READ, limits=OWN, query={"q": some_words})
async def suggest_people(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    words, within = query.get("q"), await visible_people(db, caller)
    return HtmlPage("people.html", {"people": await finding.candidates(db, words, within=within) if words else []})


@screen("GET", "/identities/{id:str}", scope=Scope.IDENTITIES_READ, limits=RecordType.PERSON, query={"asOf": a_day})
async def show_identity(db: Db, caller: Caller, id: str, query: dict[str, Any], facts: Facts) -> HtmlPage:
    identity = await queries.get(db, id)
    then = past_day(query, facts)
    access = await access_of(db, identity.id, then.moment)
    # Models say what people should have now, so compare them only with today's access.
    missing = [] if then.day else await _missing(db, identity, access)
    held = [(t.application.id, e) for t in access.applications for account in t.accounts for e in account.access]
    named = [(id, entry.header, entry.section, entry.permission) for id, entry in held]
    return HtmlPage(
        "identity.html",
        {
            "identity": identity,
            "may": await record_access.scopes_on(db, caller, RecordType.PERSON, identity.id),
            "as_of": then.day,
            "end_of_day": then.moment and then.moment.isoformat(),
            "today": facts.today,
            "problem": then.problem,
            "access": [there for there in access.applications if not there.is_unknown(access.as_of)],
            "unknown": [there for there in access.applications if there.is_unknown(access.as_of)],
            "entitlements": await entitlements.ids_by_name(db, named),
            "missing": missing,
            "conflicts": (await conflicts.current_of(db, [identity.id]))[identity.id],
            "names": await applications.names(db, [grant.application_id for grant in missing]),
            **await _work_about(db, caller, identity.id),
        },
    )


async def _work_about(db: Db, caller: Caller, id: UUID) -> dict[str, Any]:
    """Return events and requests about a person.

    People who see only their own records do not see their own planned offboarding.
    """
    limited = caller.is_limited
    return {
        "events": await events.concerning(db, 1, caller.id, identity_id=id)
        if limited
        else await events.by_effective_date(db, 1, identity_id=id),
        "requests": await requests_of_person.concerning(db, 1, caller, identity_id=id)
        if limited
        else await requests.newest_first(db, 1, identity_id=id),
        "is_own": caller.id == id,
    }


async def _missing(db: Db, identity: IdentityDetail, access: EffectiveAccess) -> list[Grant]:
    """Return the access that matching models grant an active person but that none of their accounts holds."""
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


HANDLERS: list[HTTPRouteHandler] = [show_identities, suggest_people, show_identity]
