"""Show the catalogue: entitlements, their holders and their curated fields."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.access_models import queries as models
from rolecall.access_requests import requests_of_person
from rolecall.accounts.model import PermissionName
from rolecall.conflicts import queries as conflicts
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.finding import label_of, the_person
from rolecall.console.forms import first, person_filter, problems_by_field, shown
from rolecall.console.frame import screen
from rolecall.console.holders_chart import ChartPeriod, holders_chart, sparklines
from rolecall.console.inputs import Form, a_day, past_day, some_words
from rolecall.console.picking import line_of
from rolecall.console.rendering import chosen
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.paging import PAGE_SIZE, Page
from rolecall.effective_access import holders
from rolecall.effective_access.over_time import first_data
from rolecall.effective_access.shapes import Holding
from rolecall.entitlements import actions, queries
from rolecall.entitlements.facets import Facets, facets
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.shapes import EntitlementDetail
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import Level
from rolecall.web.bodies import a_flag, a_guid, a_word_of

_QUERY = {
    "search": some_words,
    "applicationId": a_guid,
    "kind": a_word_of(EntitlementKind),
    "riskRating": a_word_of(Level),
    "isPrivileged": a_flag,
    "tag": some_words,
    "ownerId": a_guid,
    "person": some_words,
    "asOf": a_day,
    # Only the page itself sets this parameter, to load sparklines that take long to compute.
    "trends": a_flag,
}
# How many applications are shown as filter links; the others are in a select field.
_MOST_APPLICATIONS = 12


@screen("GET", "/access", scope=Scope.APPLICATIONS_READ, query=_QUERY)
async def show_catalogue(db: Db, caller: Caller, query: dict[str, Any], facts: Facts) -> HtmlPage:
    owner = await person_filter(db, {**query, "identityId": query.get("ownerId")}, caller)
    filters = queries.EntitlementFilters(
        application_id=query.get("applicationId"),
        kind=query.get("kind"),
        search=query.get("search") or None,
        risk_rating=query.get("riskRating"),
        is_privileged=query.get("isPrivileged"),
        tag=query.get("tag") or None,
        owner_id=owner.id,
    )
    then = past_day(query, facts)
    applications = await console.live_applications(db)
    found = await facets(db, filters, [one.id for one in applications])
    page = await queries.by_name(db, query["page"], filters, then.moment)
    # Remove the parameter, so that the links of the page do not contain it.
    can_wait = bool(query.pop("trends", False))
    trends = await sparklines(db, page.items, then.moment or facts.now, facts.now, can_wait=can_wait)
    return HtmlPage(
        "access.html",
        {
            "page": page,
            "trends": trends,
            "late": [one.id for one in page.items if one.id not in trends],
            "query": query,
            "who": owner,
            "as_of": then.day,
            "end_of_day": then.moment and then.moment.isoformat(),
            "today": facts.today,
            "bad_day": then.problem,
            "more_applications": len(applications) > _MOST_APPLICATIONS,
            "applications": [(str(one.id), one.name) for one in applications],
            "facets": _facets(found, query, {one.id: one.name for one in applications}),
        },
    )


class Facet(msgspec.Struct, frozen=True):
    """A filter whose values are links: the query parameter, and each value with its label and count."""

    title: str
    field: str
    values: list[tuple[str, str, int]]


def _facets(found: Facets, query: dict[str, Any], names: dict[UUID, str]) -> list[Facet]:
    """Return the filters; values without matches are omitted unless they are selected."""
    most = sorted(found.applications, key=lambda one: -found.applications[one])[:_MOST_APPLICATIONS]
    every = [
        Facet("Risk", "riskRating", [(level, level, found.risks[level]) for level in reversed(Level)]),
        Facet("Application", "applicationId", [(str(id), names[id], found.applications[id]) for id in most]),
        Facet("Kind", "kind", [(kind, kind, found.kinds[kind]) for kind in EntitlementKind]),
        Facet("Owner", "ownerId", [(str(owner.id), owner.name, total) for owner, total in found.owners]),
        Facet("More", "isPrivileged", [("true", "Privileged", found.privileged)]),
    ]
    kept = [
        Facet(one.title, one.field, [value for value in one.values if value[2] or value[0] == chosen(query, one.field)])
        for one in every
    ]
    return [one for one in kept if one.values]


# The maximum number of conflicts on the page of an entitlement.
_MOST_CONFLICTS = 10
_PAGE = {"asOf": a_day, "history": a_flag, "period": a_word_of(ChartPeriod)}


@screen("GET", "/access/{id:str}", scope=Scope.APPLICATIONS_READ, limits=RecordType.ENTITLEMENT, query=_PAGE)
async def show_entitlement(db: Db, id: str, query: dict[str, Any], caller: Caller, facts: Facts) -> HtmlPage:
    entitlement = await queries.get(db, id)
    then = past_day(query, facts)
    read = holders.history_of if query.get("history") else holders.holders_of
    period = query.get("period") or ChartPeriod.YEAR
    first = await first_data(db, entitlement.application.id)
    no_data, page = False, Page[Holding]([], 0, 1, PAGE_SIZE, 0)
    try:
        page = await read(db, entitlement, query["page"], then.moment, facts.now)
    # The application has no data for this day.
    except Invalid:
        no_data = True
    return HtmlPage(
        "entitlement.html",
        {
            "entitlement": entitlement,
            "page": page,
            "no_data": no_data,
            "query": query,
            "as_of": then.day,
            "end_of_day": then.moment and then.moment.isoformat(),
            "today": facts.today,
            "problem": then.problem,
            "periods": list(ChartPeriod),
            "period": period,
            "first_data": first,
            "chart": await holders_chart(db, entitlement, period, first, facts.now) if first else None,
            "groups": await _groups(db, entitlement, page.items),
            "line": line_of(PermissionName(entitlement.header, entitlement.section, entitlement.name)),
            **await _beside(db, entitlement, caller),
        },
    )


async def _groups(db: Db, entitlement: EntitlementDetail, holdings: Sequence[Holding]) -> dict[str, UUID]:
    return await queries.groups_named(db, entitlement.application.id, {name for one in holdings for name in one.path})


async def _beside(db: Db, entitlement: EntitlementDetail, caller: Caller) -> dict[str, Any]:
    giving = await queries.groups_that_give(db, entitlement.id)
    return {
        "giving": giving,
        "models": await models.granting(db, entitlement, [group.name for group in giving]),
        "conflicts": await conflicts.concerning(db, entitlement.id, _MOST_CONFLICTS),
        "requests": await requests_of_person.about(db, entitlement, caller),
    }


@screen("GET", "/access/{id:str}/edit", scope=Scope.CONFIG_MANAGE)
async def edit_entitlement(db: Db, id: str) -> HtmlPage:
    entitlement = await queries.get(db, id)
    said = await queries.curation(db, entitlement.id)
    form = {
        "sameAs": str(entitlement.same_as.id) if entitlement.same_as else "",
        "displayName": said.display_name,
        "explanation": said.explanation,
        "owner": await label_of(db, said.owner_id),
        "riskRating": said.risk_rating or "",
        "tags": ", ".join(said.tags),
        "isPrivileged": "yes" if said.is_privileged else "",
    }
    return await _form(db, entitlement, form, {})


async def _form(db: Db, entitlement: EntitlementDetail, form: dict[str, str], problems: dict[str, str]) -> HtmlPage:
    values = {
        "entitlement": entitlement,
        "form": form,
        "problems": problems,
        "risks": list(Level),
        "former": await queries.former_names(db, entitlement),
    }
    return HtmlPage("entitlement_form.html", values, 400 if problems else 200)


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
            if "sameAs" in form:
                raw["sameAs"] = first(form, "sameAs")
            await actions.curate_entitlement(db, id, raw, facts)
    except Invalid as error:
        return await _form(db, entitlement, shown(form), problems_by_field(error))
    return SeeOther(f"/access/{id}", "The description was saved.")


HANDLERS: list[HTTPRouteHandler] = [show_catalogue, show_entitlement, edit_entitlement, curate_entitlement]
