"""The catalogue in the console: entitlements, their holders and their curated fields."""

from datetime import date, datetime, time
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests import queries as requests
from rolecall.access_requests.permitted import NOT_OWN_OFFBOARDING
from rolecall.console.answers import HtmlPage, SeeOther, sentence
from rolecall.console.finding import label_of, the_person
from rolecall.console.forms import first, problems_by_field, shown
from rolecall.console.frame import screen
from rolecall.console.holders_chart import ChartPeriod, holders_chart
from rolecall.console.inputs import Form, a_day, some_words
from rolecall.core.caller import SYSTEM, Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.core.paging import PAGE_SIZE, Page
from rolecall.effective_access import holders
from rolecall.effective_access.over_time import first_data
from rolecall.effective_access.shapes import Holding
from rolecall.entitlements import actions, queries
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.shapes import EntitlementDetail
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import Level
from rolecall.web.bodies import a_flag, a_guid, a_word_of

FUTURE = "As of must not be in the future"
_QUERY = {
    "search": some_words,
    "applicationId": a_guid,
    "kind": a_word_of(EntitlementKind),
    "riskRating": a_word_of(Level),
    "isPrivileged": a_flag,
    "tag": some_words,
}


@screen("GET", "/access", scope=Scope.APPLICATIONS_READ, query=_QUERY)
async def show_catalogue(db: Db, query: dict[str, Any]) -> HtmlPage:
    filters = queries.EntitlementFilters(
        application_id=query.get("applicationId"),
        kind=query.get("kind"),
        search=query.get("search") or None,
        risk_rating=query.get("riskRating"),
        is_privileged=query.get("isPrivileged"),
        tag=query.get("tag") or None,
    )
    everywhere = await fetch_rows(db, "SELECT id::text, name FROM applications WHERE NOT is_archived ORDER BY list_key")
    return HtmlPage(
        "access.html",
        {
            "page": await queries.by_name(db, query["page"], filters),
            "query": query,
            "applications": everywhere,
            "kinds": list(EntitlementKind),
            "risks": list(Level),
        },
    )


def end_of(day: date | None, config: Config) -> datetime | None:
    return datetime.combine(day, time(23, 59, 59), config.timezone) if day else None


_PAGE = {"asOf": a_day, "history": a_flag, "period": a_word_of(ChartPeriod)}


@screen("GET", "/access/{id:str}", scope=Scope.APPLICATIONS_READ, limits=RecordType.ENTITLEMENT, query=_PAGE)
async def show_entitlement(
    db: Db, id: str, query: dict[str, Any], caller: Caller, config: Config, facts: Facts
) -> HtmlPage:
    entitlement = await queries.get(db, id)
    asked = query.get("asOf")
    day = asked if asked and asked < facts.today else None
    moment = end_of(day, config)
    read = holders.history_of if query.get("history") else holders.holders_of
    giving = await queries.groups_that_give(db, entitlement.id)
    period = query.get("period") or ChartPeriod.YEAR
    first = await first_data(db, entitlement.application.id)
    no_data, page = None, Page[Holding]([], 0, 1, PAGE_SIZE, 0)
    try:
        page = await read(db, entitlement, query["page"], moment, facts.now)
    except Invalid as error:
        no_data = sentence(error)
    return HtmlPage(
        "entitlement.html",
        {
            "entitlement": entitlement,
            "page": page,
            "no_data": no_data,
            "query": query,
            "as_of": day,
            "end_of_day": moment and moment.isoformat(),
            "today": facts.today,
            "problem": FUTURE if asked and asked > facts.today else None,
            "giving": giving,
            "periods": list(ChartPeriod),
            "period": period,
            "first_data": first,
            "chart": await holders_chart(db, entitlement, period, first, facts.now) if first else None,
            "models": await _models(db, entitlement, [group.name for group in giving]),
            "requests": await _requests(db, entitlement, caller),
        },
    )


async def _models(db: Db, entitlement: EntitlementDetail, groups: list[str]) -> list[Any]:
    """Find the committed models that grant it, or a group that gives it; `through` names that group."""
    return await fetch_rows(
        db,
        """SELECT m.id, m.name, CASE WHEN bool_and(g.is_group AND g.permission = ANY(%(groups)s))
                                     THEN min(g.permission) ELSE '' END AS through
           FROM access_model_grants g JOIN access_models m ON m.id = g.model_id
           WHERE g.application_id = %(application)s AND (
               g.is_group = %(is_group)s AND g.permission = %(name)s
                   AND (g.is_group OR (g.header, g.section) = (%(header)s, %(section)s))
               OR g.is_group AND g.permission = ANY(%(groups)s))
           GROUP BY m.id ORDER BY m.name_key""",
        application=entitlement.application.id,
        is_group=entitlement.kind == EntitlementKind.GROUP,
        header=entitlement.header,
        section=entitlement.section,
        name=entitlement.name,
        groups=groups,
    )


_MOST_REQUESTS = 20


async def _requests(db: Db, entitlement: EntitlementDetail, caller: Caller) -> list[Any]:
    """Find the newest requests about it; limited people do not see those of their own offboarding."""
    rows = await fetch_rows(
        db,
        f"""SELECT r.id FROM access_requests r JOIN privileges p ON p.request_id = r.id
            WHERE r.application_id = %(application)s AND p.header = %(header)s AND p.section = %(section)s
              AND p.permission = %(name)s AND {NOT_OWN_OFFBOARDING} ORDER BY r.list_key DESC LIMIT {_MOST_REQUESTS}""",
        application=entitlement.application.id,
        header=entitlement.header,
        section=entitlement.section,
        name=entitlement.name,
        me=caller.id if caller.is_limited else SYSTEM.id,
    )
    return await requests.details(db, [id for (id,) in rows])


@screen("GET", "/access/{id:str}/edit", scope=Scope.CONFIG_MANAGE)
async def edit_entitlement(db: Db, id: str) -> HtmlPage:
    entitlement = await queries.get(db, id)
    said = await queries.curation(db, entitlement.id)
    form = {
        "displayName": said.display_name,
        "explanation": said.explanation,
        "owner": await label_of(db, said.owner_id),
        "riskRating": said.risk_rating or "",
        "tags": ", ".join(said.tags),
        "isPrivileged": "yes" if said.is_privileged else "",
    }
    return HtmlPage("entitlement_form.html", _form(entitlement, form, {}))


def _form(entitlement: EntitlementDetail, form: dict[str, str], problems: dict[str, str]) -> dict[str, Any]:
    return {"entitlement": entitlement, "form": form, "problems": problems, "risks": list(Level)}


@screen("POST", "/access/{id:str}", scope=Scope.CONFIG_MANAGE)
async def curate_entitlement(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    entitlement = await queries.get(db, id)
    owner = first(form, "owner")
    try:
        async with db.transaction():
            raw = {
                "displayName": first(form, "displayName"),
                "explanation": first(form, "explanation"),
                "ownerId": await the_person(db, "owner", owner) if owner else "",
                "riskRating": first(form, "riskRating"),
                "isPrivileged": bool(first(form, "isPrivileged")),
                "tags": [tag.strip() for tag in first(form, "tags").split(",") if tag.strip()],
            }
            await actions.curate_entitlement(db, id, raw, facts)
    except Invalid as error:
        return HtmlPage("entitlement_form.html", _form(entitlement, shown(form), problems_by_field(error)))
    return SeeOther(f"/access/{id}", "The description was saved.")


HANDLERS: list[HTTPRouteHandler] = [show_catalogue, show_entitlement, edit_entitlement, curate_entitlement]
