"""Show the wizard for a new application or changed files: upload, proposal, dry run, save and import."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.application_imports import queries as import_queries
from rolecall.application_imports.dry_runs import actions as dry_runs
from rolecall.application_imports.dry_runs import queries
from rolecall.application_imports.dry_runs.model import DryRunStatus
from rolecall.application_imports.dry_runs.shapes import DryRunDetail
from rolecall.application_imports.model import ChangeType, RecordKind
from rolecall.application_imports.read.accounting import warnings_in
from rolecall.application_imports.read.code_pages import CODE_PAGES
from rolecall.application_imports.read.columns import REQUIRED
from rolecall.applications import queries as applications
from rolecall.applications.model import FIELDS, Content
from rolecall.applications.shapes import ApplicationDetail
from rolecall.connector_templates import actions as saved_templates
from rolecall.connector_templates import queries as templates
from rolecall.console.answers import HtmlPage, SeeOther, sentence
from rolecall.console.forms import first, problems_by_field
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, one_among, some_words
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.files import Upload
from rolecall.core.ids import known_guid
from rolecall.file_shapes import drafts
from rolecall.file_shapes.draft_access import Place, access_offers, maybe_access
from rolecall.file_shapes.draft_answers import SEPARATORS, choices_of
from rolecall.file_shapes.drafts import DraftChanges
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice
from rolecall.web.bodies import a_word_of
from rolecall.web.uploads import read_upload

# What a person can choose if the proposal is wrong. Delimiters have names, because forms alter some characters.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "colon": ":", "caret": "^", "tilde": "~"}
ENCODINGS = (
    "utf-8",
    "iso-8859-1",
    "iso-8859-2",
    *CODE_PAGES,
    "utf-16-le",
    "utf-16-be",
    "cp437",
)
_AT_WORK = (DryRunStatus.PENDING, DryRunStatus.RUNNING)


async def _files_page(
    db: Db, caller: Caller, problems: dict[str, str], form: Json | None = None, app: ApplicationDetail | None = None
) -> HtmlPage:
    values = {
        "problems": problems,
        "form": {"template": "", **(form or {})},
        "application": app,
        "drafts": await queries.drafts_of(db, caller, app.id if app else None),
        "templates": (await templates.all_templates(db)).templates,
    }
    return HtmlPage("draft_files.html", values, 400 if problems else 200)


@screen("GET", "/drafts/new", scope=Scope.CONFIG_MANAGE, query={"template": some_words})
async def show_draft_files(db: Db, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    return await _files_page(db, caller, {}, {"template": query.get("template", "")})


@screen("POST", "/drafts/new", scope=Scope.CONFIG_MANAGE, read_body=read_upload)
async def create_draft(db: Db, caller: Caller, raw: Upload, now: datetime, config: Config) -> HtmlPage | SeeOther:
    name = "".join(raw.values("name")).strip()
    try:
        async with db.transaction():
            id = await drafts.draft_upload(db, caller, None, {"name": name}, raw, now, config.store)
    except Invalid as error:
        form = {"name": name, "template": "".join(raw.values("template"))}
        return await _files_page(db, caller, problems_by_field(error), form)
    return SeeOther(f"/drafts/{id}")


@screen("GET", "/applications/{id:str}/files", scope=Scope.CONFIG_MANAGE)
async def show_changed_files(db: Db, caller: Caller, id: str) -> HtmlPage:
    return await _files_page(db, caller, {}, app=await applications.get(db, known_guid("Application", id)))


@screen("POST", "/applications/{id:str}/files", scope=Scope.CONFIG_MANAGE, read_body=read_upload)
async def draft_changed_files(
    db: Db, caller: Caller, id: str, raw: Upload, now: datetime, config: Config
) -> HtmlPage | SeeOther:
    application = await applications.get(db, known_guid("Application", id))
    try:
        async with db.transaction():
            draft = await drafts.draft_upload(db, caller, application.id, {}, raw, now, config.store)
    except Invalid as error:
        form = {"template": "".join(raw.values("template"))}
        return await _files_page(db, caller, problems_by_field(error), form, application)
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
    return await _run_page(db, caller, run, query, {})


async def _run_page(
    db: Db, caller: Caller, run: DryRunDetail, query: dict[str, Any], problems: dict[str, str]
) -> HtmlPage:
    draft = await _named(db, caller, run.id)
    undecided = maybe_access(await queries.proposal_of(db, run.id))
    names = ", ".join(undecided)
    said = [f"Some columns may be access but are not read as access: {names}. Decide how to read them"] if names else []
    shown = {
        "run": run,
        "asked": drafts.questions_of(draft),
        "undecided": undecided,
        "warnings": [*warnings_in(run.log), *said],
        "is_live": run.status in _AT_WORK,
        "progress": await import_queries.progress_of(db, run.id),
        "query": query,
        "draft": draft,
        "page": await queries.changes_of(db, run.id, caller, query["page"], query.get("kind"), query.get("change")),
        "rejects": await queries.rejects_of(db, run.id, caller, 1),
        "kinds": list(RecordKind),
        "changes": list(ChangeType),
        "problems": problems,
    }
    return HtmlPage("draft_run.html", shown, 400 if problems else 200)


async def _named(db: Db, caller: Caller, id: UUID) -> Json:
    """Return the draft with the name of its application, and whether the application is an identity source."""
    draft = await queries.draft_of(db, id, caller)
    if draft.application_id is None:
        return draft.body
    known = await applications.configuration(db, draft.application_id)
    return {"name": known.name, "isIdentitySource": known.is_identity_source, **draft.body}


def _choices_of(question: Json, shape: Json) -> list[ProposedChoice]:
    return choices_of(msgspec.convert(question, OpenQuestion), shape)


async def _reading_page(db: Db, caller: Caller, id: UUID, problems: dict[str, str]) -> HtmlPage:
    draft, proposal = await _named(db, caller, id), await queries.proposal_of(db, id)
    values = {
        "id": id,
        "draft": draft,
        "proposal": proposal,
        "undecided": maybe_access(proposal),
        "offers": access_offers(draft, proposal),
        "choices_of": _choices_of,
        "missing": _missing(proposal),
        "read_elsewhere": _read_elsewhere(proposal),
        "fields": FIELDS,
        "contents": list(Content),
        "delimiters": DELIMITERS,
        "encodings": ENCODINGS,
        "separators": SEPARATORS,
        "problems": problems,
    }
    return HtmlPage("draft.html", values, 400 if problems else 200)


def _missing(proposal: Json | None) -> list[list[list[str]]]:
    """For each content of each file, return the required fields without a column.

    If one of several fields is required and none has a column, return only the first of these fields.
    """
    return [[_lacking(part) for part in file["contents"]] for file in (proposal["files"] if proposal else [])]


def _lacking(part: Json) -> list[str]:
    shape = part["shape"]
    unpivot = shape.get("unpivot") or {}
    given = {column["field"] for column in part["columns"]} | {*shape.get("join", {})}
    given |= {unpivot.get("headers", "Permission"), unpivot.get("cells", "Access")} if unpivot else set()
    return [choice[0] for choice in REQUIRED[Content(part["content"])] if not given.intersection(choice)]


def _read_elsewhere(proposal: Json | None) -> list[list[dict[str, dict[str, str]]]]:
    """For each content of each file, return the columns that other contents of the same table read.

    Each column maps the other contents to the fields that they read from it.
    """
    files = proposal["files"] if proposal else []
    return [[_others_read(part, file["contents"]) for part in file["contents"]] for file in files]


def _others_read(part: Json, contents: Sequence[Json]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for other in contents:
        if other is not part and other.get("place") == part.get("place"):
            for column in other["columns"]:
                if column["field"]:
                    found.setdefault(column["header"], {})[other["content"]] = column["field"]
    return found


@screen("POST", "/drafts/{id:str}", scope=Scope.CONFIG_MANAGE)
async def change_draft(
    db: Db, caller: Caller, id: str, form: Form, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    draft = known_guid("DryRun", id)
    try:
        async with db.transaction():
            await drafts.rename_draft(db, caller, draft, first(form, "name"))
            if "again" in form:
                await drafts.propose_again(db, caller, draft, config.store, _chosen(form))
            else:
                changes = DraftChanges(_fields(form), _splits(form), form.get("answer", []), form.get("access", []))
                await drafts.change_draft(db, caller, draft, changes, config.store)
            if "dry-run" in form:
                stored = await queries.draft_of(db, draft, caller)
                await dry_runs.check_draft(db, caller, stored.application_id, stored.body, facts)
                await dry_runs.run_draft(db, draft)
    except Invalid as error:
        return await _reading_page(db, caller, draft, _problems(error))
    return SeeOther(f"/drafts/{id}")


def _problems(error: Invalid) -> dict[str, str]:
    """Join the problems of the name into one message, under `name`, and all others into another, under `columns`."""
    named = [problem for problem in error.problems if problem.field == "name"]
    others = [problem for problem in error.problems if problem.field != "name"]
    found = {"name": named, "columns": others}
    return {field: sentence(Invalid(*problems)) for field, problems in found.items() if problems}


# A header can contain line breaks.
_FIELD = re.compile(r"field\.([0-9]{1,4})\.([0-9]{1,4})\.(.*)", re.DOTALL)
_SPLIT = re.compile(r"split\.([0-9]{1,4})\.([0-9]{1,4})")
_LINE = re.compile(r"[0-9]{1,4}")


def _fields(form: Form) -> dict[Place, dict[str, str]]:
    """Return the chosen fields, which the form sends as `field.FILE.CONTENT.HEADER`."""
    found: dict[Place, dict[str, str]] = {}
    for name, values in form.items():
        if place := _FIELD.fullmatch(name):
            found.setdefault(Place(int(place[1]), int(place[2])), {})[place[3]] = values[0]
    return found


def _splits(form: Form) -> dict[Place, tuple[str, str]]:
    """Return the columns to split, which the form sends as `split.FILE.CONTENT` and `separator.FILE.CONTENT`."""
    return {
        Place(int(place[1]), int(place[2])): (values[0], first(form, f"separator.{place[1]}.{place[2]}"))
        for name, values in form.items()
        if (place := _SPLIT.fullmatch(name))
    }


def _chosen(form: Form) -> dict[str, Json]:
    """Return the choices for each file, which the form sends as `header.NAME`, `content.NAME` and so on."""
    found: dict[str, Json] = {}
    for name in form:
        kind, _, file = name.partition(".")
        text = first(form, name)
        if kind == "header" and _LINE.fullmatch(text):
            found.setdefault(file, {})["header_line"] = int(text)
        if kind == "content" and text in list(Content):
            found.setdefault(file, {})["content"] = text
        if kind == "delimiter" and text in DELIMITERS:
            found.setdefault(file, {})["delimiter"] = DELIMITERS[text]
        if kind == "encoding" and text in ENCODINGS:
            found.setdefault(file, {})["encoding"] = text
        if kind in ("sheet", "records") and text:
            found.setdefault(file, {})[kind] = text
    return found


@screen("POST", "/drafts/{id:str}/try", scope=Scope.CONFIG_MANAGE)
async def try_draft(db: Db, caller: Caller, id: str, form: Form) -> SeeOther:
    draft = known_guid("DryRun", id)
    if "rejects" in form:
        await drafts.allow_rejects(db, caller, draft)
    # Lock the draft, and raise NotFound unless it is a draft of this person.
    await queries.draft_of(db, draft, caller)
    await dry_runs.run_draft(db, draft)
    return SeeOther(f"/drafts/{id}")


@screen("POST", "/drafts/{id:str}/save", scope=Scope.CONFIG_MANAGE)
async def save_draft(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    draft = known_guid("DryRun", id)
    try:
        # If the name is taken, report this on the page where it can be changed.
        await drafts.require_free_name(db, caller, draft)
    except Invalid as error:
        return await _reading_page(db, caller, draft, _problems(error))
    try:
        async with db.transaction():
            started = await drafts.save_and_import(db, caller, draft, facts, first(form, "template"))
    except Invalid as error:
        run = await queries.get(db, draft, caller)
        return await _run_page(db, caller, run, {"page": 1}, {"template": sentence(error)})
    return SeeOther(f"/imports/{started}", "The application was saved. Its import starts in a moment.")


async def _templates_page(db: Db, problems: dict[str, str]) -> HtmlPage:
    values = {"templates": (await templates.all_templates(db)).templates, "problems": problems}
    return HtmlPage("connector_templates.html", values, 400 if problems else 200)


@screen("GET", "/connector-templates", scope=Scope.CONFIG_MANAGE)
async def show_templates(db: Db) -> HtmlPage:
    return await _templates_page(db, {})


@screen("POST", "/applications/{id:str}/template", scope=Scope.CONFIG_MANAGE)
async def save_connector_template(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    name = first(form, "template")
    body = {"applicationId": str(known_guid("Application", id)), "name": name}
    try:
        async with db.transaction():
            await saved_templates.save_template(db, caller, body, facts)
    except Invalid as error:
        return await _templates_page(db, {"template": sentence(error)})
    return SeeOther("/connector-templates", f"The template {name} was saved. Choose it when you add an application.")


@screen("POST", "/connector-templates/{id:str}/delete", scope=Scope.CONFIG_MANAGE)
async def delete_connector_template(db: Db, id: str) -> SeeOther:
    await saved_templates.delete_template(db, known_guid("ConnectorTemplate", id))
    return SeeOther("/connector-templates", "The template was deleted. Applications keep their connectors.")


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
    show_templates,
    save_connector_template,
    delete_connector_template,
]
