"""The wizard: files, how they are read, a dry run, save and import. For a new application, or files that changed."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.application_imports.dry_runs import actions as dry_runs
from rolecall.application_imports.dry_runs import queries
from rolecall.application_imports.dry_runs.model import DryRunStatus
from rolecall.application_imports.model import ChangeType, RecordKind
from rolecall.applications import queries as applications
from rolecall.applications.model import FIELDS, Content
from rolecall.console.answers import HtmlPage, SeeOther, sentence
from rolecall.console.forms import first, problems_by_field
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, one_among
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.files import Upload
from rolecall.core.ids import known_guid
from rolecall.file_shapes import drafts
from rolecall.web.bodies import a_word_of
from rolecall.web.uploads import read_upload

_AT_WORK = (DryRunStatus.PENDING, DryRunStatus.RUNNING)


def _files_page(problems: dict[str, str], name: str = "", application: object = None) -> HtmlPage:
    values = {"problems": problems, "form": {"name": name}, "application": application}
    return HtmlPage("draft_files.html", values, 400 if problems else 200)


@screen("GET", "/drafts/new", scope=Scope.CONFIG_MANAGE)
async def show_draft_files() -> HtmlPage:
    return _files_page({})


@screen("POST", "/drafts/new", scope=Scope.CONFIG_MANAGE, read_body=read_upload)
async def create_draft(db: Db, caller: Caller, raw: Upload, now: datetime, config: Config) -> HtmlPage | SeeOther:
    name = "".join(raw.values("name")).strip()
    try:
        async with db.transaction():
            id = await drafts.draft_upload(db, caller, None, {"name": name}, raw, now, config.store)
    except Invalid as error:
        return _files_page(problems_by_field(error), name)
    return SeeOther(f"/drafts/{id}")


@screen("GET", "/applications/{id:str}/files", scope=Scope.CONFIG_MANAGE)
async def show_changed_files(db: Db, id: str) -> HtmlPage:
    return _files_page({}, application=await applications.get(db, known_guid("Application", id)))


@screen("POST", "/applications/{id:str}/files", scope=Scope.CONFIG_MANAGE, read_body=read_upload)
async def draft_changed_files(
    db: Db, caller: Caller, id: str, raw: Upload, now: datetime, config: Config
) -> HtmlPage | SeeOther:
    application = await applications.get(db, known_guid("Application", id))
    try:
        async with db.transaction():
            draft = await drafts.draft_upload(db, caller, application.id, {}, raw, now, config.store)
    except Invalid as error:
        return _files_page(problems_by_field(error), application=application)
    return SeeOther(f"/drafts/{draft}")


@screen(
    "GET",
    "/drafts/{id:str}",
    scope=Scope.CONFIG_MANAGE,
    query={
        "step": one_among("", "reading"),
        "kind": a_word_of(RecordKind),
        "change": a_word_of(ChangeType),
    },
)
async def show_draft(db: Db, caller: Caller, id: str, query: dict[str, Any]) -> HtmlPage:
    run = await queries.get(db, known_guid("DryRun", id), caller)
    if run.status == DryRunStatus.DRAFT or query.get("step") == "reading":
        return await _reading_page(db, caller, run.id, {})
    shown = {
        "run": run,
        "is_live": run.status in _AT_WORK,
        "query": query,
        "draft": await _named(db, caller, run.id),
        "page": await queries.changes_of(db, run.id, caller, query["page"], query.get("kind"), query.get("change")),
        "rejects": await queries.rejects_of(db, run.id, caller, 1),
        "kinds": list(RecordKind),
        "changes": list(ChangeType),
    }
    return HtmlPage("draft_run.html", shown)


async def _named(db: Db, caller: Caller, id: UUID) -> Json:
    """Return the draft with the name of its application."""
    draft = await queries.draft_of(db, id, caller)
    if draft.application_id is None:
        return draft.body
    return {"name": (await applications.get(db, draft.application_id)).name, **draft.body}


async def _reading_page(db: Db, caller: Caller, id: UUID, problems: dict[str, str]) -> HtmlPage:
    values = {
        "id": id,
        "draft": await _named(db, caller, id),
        "proposal": await queries.proposal_of(db, id),
        "fields": FIELDS,
        "contents": list(Content),
        "problems": problems,
    }
    return HtmlPage("draft.html", values, 400 if problems else 200)


@screen("POST", "/drafts/{id:str}", scope=Scope.CONFIG_MANAGE)
async def change_draft(
    db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    draft = known_guid("DryRun", id)
    try:
        async with db.transaction():
            if "again" in form:
                await drafts.propose_again(db, caller, draft, config.store, _chosen(form))
            else:
                await drafts.change_draft(db, caller, draft, _fields(form), form.get("answer", []), config.store)
            if "try" in form:
                stored = await queries.draft_of(db, draft, caller)
                await dry_runs.check_draft(db, caller, stored.application_id, stored.body, facts)
                await dry_runs.run_draft(db, draft)
    except Invalid as error:
        return await _reading_page(db, caller, draft, {"columns": sentence(error)})
    return SeeOther(f"/drafts/{id}")


_FIELD = re.compile(r"field\.([0-9]{1,4})\.([0-9]{1,4})\.(.*)", re.DOTALL)


def _fields(form: Form) -> dict[tuple[int, int], dict[str, str]]:
    """Return the chosen fields: the form has `field.FILE.CONTENT.HEADER`."""
    found: dict[tuple[int, int], dict[str, str]] = {}
    for name, values in form.items():
        if place := _FIELD.fullmatch(name):
            found.setdefault((int(place[1]), int(place[2])), {})[place[3]] = values[0]
    return found


def _chosen(form: Form) -> dict[str, Json]:
    """Return what a person decided about files: the form has `header.NAME` and `content.NAME`."""
    found: dict[str, Json] = {}
    for name in form:
        kind, _, file = name.partition(".")
        text = first(form, name)
        if kind == "header" and text.isdecimal():
            found.setdefault(file, {})["header_line"] = int(text)
        if kind == "content" and text in list(Content):
            found.setdefault(file, {})["content"] = text
    return found


@screen("POST", "/drafts/{id:str}/try", scope=Scope.CONFIG_MANAGE)
async def try_draft(db: Db, caller: Caller, id: str, form: Form) -> SeeOther:
    draft = known_guid("DryRun", id)
    if "rejects" in form:
        await drafts.allow_rejects(db, caller, draft)
    await queries.draft_of(db, draft, caller)
    await dry_runs.run_draft(db, draft)
    return SeeOther(f"/drafts/{id}")


@screen("POST", "/drafts/{id:str}/save", scope=Scope.CONFIG_MANAGE)
async def save_draft(db: Db, caller: Caller, id: str, facts: Facts) -> SeeOther:
    run = await drafts.save_and_import(db, caller, known_guid("DryRun", id), facts)
    return SeeOther(f"/imports/{run}", "The application was saved. Its import starts in a moment.")


@screen("POST", "/drafts/{id:str}/discard", scope=Scope.CONFIG_MANAGE)
async def discard_draft(db: Db, caller: Caller, id: str) -> SeeOther:
    await dry_runs.discard_draft(db, caller, known_guid("DryRun", id))
    return SeeOther("/applications", "The draft was discarded. Nothing was changed.")


HANDLERS: list[HTTPRouteHandler] = [
    show_draft_files,
    create_draft,
    show_changed_files,
    draft_changed_files,
    show_draft,
    change_draft,
    try_draft,
    save_draft,
    discard_draft,
]
