from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.accounts import actions as account_actions
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Match
from rolecall.application_imports import actions as imports
from rolecall.application_imports import queries as import_queries
from rolecall.application_imports.dry_runs import queries as dry_runs
from rolecall.application_imports.model import ImportType
from rolecall.applications import actions, queries
from rolecall.applications.permitted import may_import
from rolecall.applications.shapes import ApplicationDetail
from rolecall.console import finding, overview
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import (
    EditConflict,
    edit_conflict,
    filled,
    first,
    given,
    guard_in,
    integer,
    people_in,
    problems_by_field,
    shown,
    version_of,
    with_people,
)
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form, a_day, one_among, past_day, some_words
from rolecall.console.rendering import spelled
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import known_guid
from rolecall.effective_access.queries import access_of_account
from rolecall.entitlements import queries as entitlements
from rolecall.identities import finding as people
from rolecall.identities.authority import IMPORT, RecordType
from rolecall.settings import queries as settings
from rolecall.settings.policy import Level
from rolecall.sources import queries as sources
from rolecall.web.bodies import a_word_of

# The file groups of an application that this form creates; IDENTITY_FILES are those of an identity source.
STANDARD_FILES = [
    {"name": "Users", "content": "users"},
    {"name": "Groups", "content": "groups", "isOptional": True},
    {"name": "Memberships", "content": "memberships", "isOptional": True},
    {"name": "Permissions", "content": "permissions", "isOptional": True, "isMultiple": True},
]
IDENTITY_FILES = [{"name": "Identities", "content": "identities"}]
TABS = ("accounts", "groups", "permissions", "imports", "connector")


@screen("GET", "/applications", scope=Scope.APPLICATIONS_READ, limits=OWN)
async def show_applications(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    page = await queries.readable_by(db, caller, query["page"])
    beside = await console.beside_applications(db, [item.id for item in page.items])
    values = {"page": page, "query": query, "beside": beside, "held": await console.held_imports(db)}
    drafts = await dry_runs.drafts_of(db, caller) if Scope.CONFIG_MANAGE in caller.scopes else []
    live = await sources.by_application(db, list(beside))
    return HtmlPage("applications.html", values | {"live": live, "drafts": drafts})


@screen("GET", "/applications/new", scope=Scope.CONFIG_MANAGE)
async def show_new_form() -> HtmlPage:
    return _form({}, {})


def _form(
    form: Form,
    problems: dict[str, str],
    application: ApplicationDetail | None = None,
    late: EditConflict | None = None,
) -> HtmlPage:
    values = {
        "form": shown(form),
        "provisioners": filled(form, "provisionerIds"),
        "problems": problems,
        "priorities": list(Level),
        "application": application,
        "late": late,
    }
    return HtmlPage("application_form.html", values, 409 if late else 400 if problems else 200)


async def _body(db: Db, form: Form) -> Json:
    named = await with_people(db, form, "ownerId")
    raw = given(named, "name", "priority", "ownerId")
    raw["provisionerIds"] = await people_in(db, form, "provisionerIds")
    raw["isIdentitySource"] = first(form, "isIdentitySource") == "yes"
    raw["surpriseReviews"] = first(form, "surpriseReviews") == "yes"
    months = first(form, "reviewEveryMonths")
    raw["reviewEveryMonths"] = integer(months) or None
    return {**raw, "guard": guard_in(form) or None}


@screen("POST", "/applications/new", scope=Scope.CONFIG_MANAGE)
async def create_application(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            raw = await _body(db, form)
            files = IDENTITY_FILES if raw["isIdentitySource"] else STANDARD_FILES
            raw["connector"] = {"name": "Files", "vendor": "Rolecall", "files": files}
            id = await actions.create_application(db, raw, facts, caller)
    except Invalid as error:
        return _form(form, problems_by_field(error))
    return SeeOther(f"/applications/{id}?tab=connector", f"{first(form, 'name')} was created. Upload its first files.")


@screen("GET", "/applications/{id:str}/edit", scope=Scope.CONFIG_MANAGE)
async def show_edit_form(db: Db, id: str) -> HtmlPage:
    application = await queries.get(db, known_guid("Application", id))
    current = await _current(db, application.id)
    return _form({**current, "version": [version_of(current)]}, {}, application)


async def _current(db: Db, id: UUID) -> Form:
    application = await queries.get(db, id)
    known = await console.application_facts(db, application.id)
    labels = [await finding.label_of(db, person) for person in known.provisioner_ids]
    return {
        "name": [application.name],
        "priority": [application.priority],
        "isIdentitySource": ["yes" if known.is_identity_source else ""],
        "ownerId": [await finding.label_of(db, known.owner_id)],
        "provisionerIds": labels,
        "reviewEveryMonths": [str(known.review_every_months or "")],
        "surpriseReviews": ["yes" if known.surprise_reviews else ""],
        "schedule.cron": [known.cron or ""],
        **{f"schedule.locations.{name}": [place] for name, place in (known.locations or {}).items()},
        **{f"guard.{name}": [f"{value:g}"] for name, value in (known.guard or {}).items()},
    }


@screen("POST", "/applications/{id:str}/edit", scope=Scope.CONFIG_MANAGE)
async def change_application(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    application = await queries.get(db, known_guid("Application", id))
    if late := await edit_conflict(db, first(form, "version"), application.id, _current(db, application.id)):
        return _form({**form, "version": [late.version]}, {}, application, late)
    try:
        async with db.transaction():
            # An absent field would be kept, so a field that was emptied must be null.
            raw = {"ownerId": None, "schedule": None, **await _body(db, form)}
            if cron := first(form, "schedule.cron"):
                begin = "schedule.locations."
                places = {name.removeprefix(begin): first(form, name) for name in form if name.startswith(begin)}
                raw["schedule"] = {"cron": cron, "locations": {name: place for name, place in places.items() if place}}
            await actions.change_application(db, application.id, raw, facts, caller)
    except Invalid as error:
        return _form(form, problems_by_field(error), application)
    return SeeOther(f"/applications/{id}", f"{first(form, 'name')} was saved")


@screen(
    "GET",
    "/applications/{id:str}",
    scope=Scope.APPLICATIONS_READ,
    limits=RecordType.APPLICATION,
    query={"tab": one_among(*TABS), "match": a_word_of(Match), "username": some_words},
)
async def show_application(db: Db, caller: Caller, id: str, query: dict[str, Any], config: Config) -> HtmlPage:
    application = await queries.get(db, known_guid("Application", id))
    known = await console.application_facts(db, application.id)
    tab = query.get("tab") or TABS[0]
    page = await _tab(db, application.id, tab, query)
    people = [known.owner_id, *known.provisioner_ids]
    if tab == "accounts":
        people += [account.identity_id for account in page.items]
    return HtmlPage(
        "application.html",
        {
            "application": application,
            "known": known,
            "may_import": may_import(caller, is_identity_source=known.is_identity_source),
            "failed": await overview.failed_schedule(db, application.id),
            "guard": known.guard or msgspec.to_builtins((await settings.get(db)).guard),
            "names": await console.people_names(db, [id for id in people if id]),
            "tab": tab,
            "tabs": TABS,
            "totals": {"accounts": known.accounts, "groups": known.groups, "permissions": known.permissions},
            "query": query,
            "matches": [(each, spelled(each)) for each in Match],
            "page": page,
            "held": await console.held_imports(db),
            "base_url": config.base_url,
        },
    )


async def _tab(db: Db, id: UUID, tab: str, query: dict[str, Any]) -> Any:
    match tab:
        case "groups":
            return await accounts.groups_of(db, id, query["page"])
        case "permissions":
            return await accounts.permissions_of(db, id, query["page"])
        case "imports":
            return await import_queries.newest_first(db, query["page"], id)
        case "connector":
            return None
    if username := query.get("username"):
        return await accounts.accounts_named(db, id, query["page"], username, query.get("match"))
    return await accounts.accounts_of(db, id, query["page"], match=query.get("match"))


@screen("POST", "/applications/{id:str}/archive", scope=Scope.CONFIG_MANAGE)
async def archive(db: Db, id: str, form: Form, facts: Facts) -> SeeOther:
    archived = first(form, "archived") == "yes"
    application = known_guid("Application", id)
    await actions.change_application(db, application, {"isArchived": archived}, facts)
    name = (await queries.get(db, application)).name
    return SeeOther(f"/applications/{id}", f"{name} was {'archived' if archived else 'restored'}")


@screen("POST", "/applications/{id:str}/stage", scope=Scope.IMPORTS_WRITE, limits=RecordType.APPLICATION, needs=IMPORT)
async def stage_import(db: Db, caller: Caller, id: str, facts: Facts) -> SeeOther:
    run = await imports.stage_import(db, caller, {"applicationId": id}, facts, ImportType.MANUAL)
    return SeeOther(f"/imports/{run}", "The import was created. It starts in a moment.")


@screen("GET", "/accounts/{id:str}", scope=Scope.APPLICATIONS_READ, limits=RecordType.ACCOUNT, query={"asOf": a_day})
async def show_account(db: Db, caller: Caller, id: str, query: dict[str, Any], facts: Facts) -> HtmlPage:
    then = past_day(query, facts)
    account = await accounts.account_item(db, known_guid("Account", id))
    application_id = await console.application_of_account(db, account.id)
    label = await finding.label_of(db, account.identity_id)
    held = await access_of_account(db, account.id, then.moment)
    named = [(application_id, entry.header, entry.section, entry.permission) for entry in held.access]
    # Do not suggest people to someone who sees only their own records.
    candidates = (
        []
        if label or caller.is_limited
        else await people.candidates(db, account.email or account.name or account.username)
    )
    return HtmlPage(
        "account_match.html",
        {
            "account": account,
            "application": await queries.get(db, application_id),
            "label": label,
            "candidates": candidates,
            "held": held,
            "entitlements": await entitlements.ids_by_name(db, named),
            "as_of": then.day,
            "today": facts.today,
            "problem": then.problem,
        },
    )


@screen("POST", "/accounts/{id:str}/match", scope=Scope.CONFIG_MANAGE)
async def pin_account(db: Db, id: str, form: Form, facts: Facts) -> SeeOther:
    never = first(form, "never") == "yes"
    raw = {"never": True} if never else given(await with_people(db, form, "identityId"), "identityId")
    await account_actions.pin_account(db, known_guid("Account", id), raw, facts)
    return SeeOther(f"/accounts/{id}", "The account is marked as having no person" if never else "The match was pinned")


@screen("POST", "/accounts/{id:str}/unpin", scope=Scope.CONFIG_MANAGE)
async def unpin_account(db: Db, id: str, now: datetime) -> SeeOther:
    await account_actions.unpin_account(db, known_guid("Account", id), now)
    return SeeOther(f"/accounts/{id}", "The pin was removed. The account is matched by its fields again.")


HANDLERS: list[HTTPRouteHandler] = [
    show_applications,
    show_new_form,
    create_application,
    show_edit_form,
    change_application,
    show_application,
    archive,
    stage_import,
    show_account,
    pin_account,
    unpin_account,
]
