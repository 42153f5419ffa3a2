from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.access_models import actions, model, queries
from rolecall.access_models.shapes import AccessModelDetail
from rolecall.accounts.model import Access
from rolecall.applications import queries as application_queries
from rolecall.console import finding
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import (
    EditConflict,
    edit_conflict,
    first,
    given,
    permission_in,
    problems_by_field,
    version_of,
    with_people,
)
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, one_among
from rolecall.console.picking import FoundAccess, access_like, is_searched, with_lines
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid
from rolecall.identities import queries as identities
from rolecall.identities.authority import RecordType

_READ, _WRITE = Scope.ACCESS_REQUESTS_READ, Scope.CONFIG_MANAGE
TABS = ("contents", "members", "simulation")
# The numbers of empty conditions in each group of the form, and of empty groups. To get more, save and edit again.
_SPARE_CONDITIONS, _SPARE_GROUPS = 2, 1


@screen("GET", "/access-models", scope=_READ)
async def show_models(db: Db, query: dict[str, Any]) -> HtmlPage:
    page = await queries.by_name(db, query["page"])
    members = await queries.member_counts(db, [item.id for item in page.items])
    return HtmlPage("access_models.html", {"page": page, "query": query, "members": members})


@screen("GET", "/access-models/new", scope=_WRITE)
async def show_new_form(db: Db) -> HtmlPage:
    return await _form(db, {"name": "", "enabled": True, "conditions": [], "access": []}, "", {})


async def _form(
    db: Db,
    raw: Json,
    owner: str,
    problems: dict[str, str],
    found: AccessModelDetail | None = None,
    late: EditConflict | None = None,
    picks: dict[int, FoundAccess] | None = None,
) -> HtmlPage:
    """Show the model as a form, with empty lines for more conditions and applications."""
    blank = {"field": "", "operator": "", "value": ""}
    groups = [[*group, *[blank] * _SPARE_CONDITIONS] for group in raw["conditions"]]
    values = {
        "form": {"name": "", **raw, "ownerId": owner},
        "groups": [*groups, *[[blank] * _SPARE_CONDITIONS] * _SPARE_GROUPS],
        "access": [*raw["access"], {"applicationId": "", "groups": [], "permissions": []}],
        "problems": problems,
        "fields": list(model.Field),
        "operators": list(model.Operator),
        "applications": await console.live_applications(db),
        "departments": await identities.departments(db),
        "model": found,
        "late": late,
        "picks": picks or {},
    }
    return HtmlPage("access_model_form.html", values, 409 if late else 400 if problems else 200)


def _body(form: Form) -> Json:
    # Read one condition group and one application beyond the limits, so that validation reports the excess.
    return {
        **given(form, "name", "description", "ownerId"),
        "enabled": first(form, "enabled") == "yes",
        "conditions": [group for n in range(101) if (group := _conditions(form, n))],
        "access": [access for n in range(1001) if (access := _access(form, n))],
    }


def _conditions(form: Form, group: int) -> list[Json]:
    rows = zip(*(form.get(f"{name}.{group}", []) for name in ("field", "operator", "value")), strict=False)
    return [
        {"field": field, "operator": operator, "value": _words(operator, value)}
        for field, operator, value in rows
        if field
    ]


def _words(operator: str, value: str) -> object:
    return [word.strip() for word in value.split(",")] if operator == model.Operator.IS_ONE_OF else value.strip()


def _access(form: Form, n: int) -> Json | None:
    if not (application := first(form, f"applicationId.{n}")):
        return None
    groups = with_lines(first(form, f"groups.{n}"), form.get(f"pickGroups.{n}", [])).splitlines()
    permissions = with_lines(first(form, f"permissions.{n}"), form.get(f"pick.{n}", [])).splitlines()
    return {"applicationId": application, "groups": groups, "permissions": [_permission(line) for line in permissions]}


async def _picks(db: Db, form: Form) -> dict[int, FoundAccess] | None:
    """Return the search results for each application of the form; None if the form requests no search."""
    searched = {n: words for n in range(1001) if (words := first(form, f"find.{n}"))}
    if not first(form, "search") and not any(is_searched(form, f".{n}") for n in searched):
        return None
    # When the form is shown again, it omits entries without an application, so number only the others.
    chosen = [n for n in range(1001) if first(form, f"applicationId.{n}")]
    return {
        chosen.index(n) if n in chosen else len(chosen): await access_like(
            db, guid(first(form, f"applicationId.{n}")), words
        )
        for n, words in (searched or {0: ""}).items()
    }


def _permission(line: str) -> Json:
    """Parse `Header / Section / Permission = Access`; the default access is Grant."""
    names, _, access = line.partition(" = ")
    return {**permission_in(names), "access": access.strip() or Access.GRANT}


@screen("POST", "/access-models/new", scope=_WRITE)
async def create_access_model(db: Db, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    if (picks := await _picks(db, form)) is not None:
        return await _form(db, _body(form), first(form, "ownerId"), {}, picks=picks)
    try:
        async with db.transaction():
            found = await actions.create_model(db, _body(await with_people(db, form, "ownerId")), facts)
    except Invalid as error:
        return await _form(db, _body(form), first(form, "ownerId"), problems_by_field(error))
    return SeeOther(
        f"/access-models/{found.id}?tab=simulation", "The draft was created. It has no effect until you commit it."
    )


@screen("GET", "/access-models/{id:str}", scope=_READ, limits=RecordType.MODEL, query={"tab": one_among(*TABS)})
async def show_model(db: Db, id: str, query: dict[str, Any], facts: Facts) -> HtmlPage:
    found = await queries.get(db, id)
    tab = query.get("tab") or TABS[0]
    shown = found.committed or found.draft
    assert shown
    definitions = [one for one in (found.committed, found.draft) if one]
    applications = [access.application_id for one in definitions for access in one.access]
    simulation = None
    if tab == "simulation" and found.draft:
        simulation = await actions.simulate_model(db, id, {"page": query["page"]}, facts)
        applications += [given.application_id for one in simulation.items for given in (*one.gains, *one.loses)]
    return HtmlPage(
        "access_model.html",
        {
            "model": found,
            "shown": shown,
            "tab": tab,
            "tabs": TABS,
            "query": query,
            "names": await application_queries.names(db, applications),
            "owners": await console.people_names(db, [one.owner_id for one in definitions if one.owner_id]),
            "members": await queries.members(db, id, query["page"]) if tab == "members" else None,
            "simulation": simulation,
        },
    )


@screen("GET", "/access-models/{id:str}/edit", scope=_WRITE)
async def show_edit_form(db: Db, id: str) -> HtmlPage:
    found = await queries.get(db, id)
    raw = await _current(db, id)
    owner = await finding.label_of(db, raw["ownerId"])
    return await _form(db, {**raw, "version": version_of(raw)}, owner, {}, found)


async def _current(db: Db, id: str) -> Json:
    """Return the draft, or the committed version if there is none, as the body of an edit."""
    found = await queries.get(db, id)
    current = found.draft or found.committed
    assert current
    return {
        "name": current.name,
        "description": current.description,
        "enabled": current.enabled,
        "ownerId": current.owner_id,
        "conditions": [
            [{"field": one.field, "operator": one.operator, "value": one.value} for one in group]
            for group in current.conditions
        ],
        "access": [
            {
                "applicationId": str(one.application_id),
                "groups": one.groups,
                "permissions": [
                    {"header": p.header, "section": p.section, "permission": p.permission, "access": p.access}
                    for p in one.permissions
                ],
            }
            for one in current.access
        ],
    }


@screen("POST", "/access-models/{id:str}/edit", scope=_WRITE)
async def change_access_model(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    found = await queries.get(db, id)
    version, owner = first(form, "version"), first(form, "ownerId")
    if (picks := await _picks(db, form)) is not None:
        return await _form(db, {**_body(form), "version": version}, owner, {}, found, picks=picks)
    if late := await edit_conflict(db, version, found.id, _current(db, id)):
        return await _form(db, {**_body(form), "version": late.version}, owner, {}, found, late)
    try:
        async with db.transaction():
            await actions.change_model(db, id, _body(await with_people(db, form, "ownerId")), facts)
    except Invalid as error:
        return await _form(db, {**_body(form), "version": version}, owner, problems_by_field(error), found)
    return SeeOther(f"/access-models/{id}?tab=simulation", "The draft was saved. It has no effect until you commit it.")


@screen("POST", "/access-models/{id:str}/commit", scope=_WRITE)
async def commit_access_model(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> SeeOther:
    allowed = first(form, "allowUnknown") == "yes"
    found = await actions.commit_model(db, caller, id, facts.now, allow_unknown=allowed)
    assert found.committed
    effect = "is in effect" if found.committed.enabled else "disables the model"
    return SeeOther(f"/access-models/{id}", f"Version {found.version} was committed and {effect}.")


HANDLERS: list[HTTPRouteHandler] = [
    show_models,
    show_new_form,
    create_access_model,
    show_model,
    show_edit_form,
    change_access_model,
    commit_access_model,
]
