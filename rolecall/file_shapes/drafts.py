"""Drafts of the console: propose how uploaded files are read, change the proposal, save it and import the files."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions as imports
from rolecall.application_imports.dry_runs import actions, queries
from rolecall.application_imports.model import ImportType
from rolecall.applications import actions as applications
from rolecall.applications.permitted import require_import_right
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict, Invalid, Problem
from rolecall.core.files import Store, Upload
from rolecall.file_shapes.sample import stored_sample
from rolecall.file_shapes.shapes import ProposalDetail

# The values of a column's select that are no fields.
METADATA, IGNORED = "", "ignore"


async def draft_upload(
    db: Db, caller: Caller, application_id: UUID | None, body: Json, upload: Upload, now: datetime, store: Store
) -> UUID:
    """Store files as a draft with a proposal; refuse files that cannot be read."""
    files = imports.chosen(upload)
    problems = [Problem("files", "Choose at least one file")] if not files else []
    if not application_id and not str(body.get("name", "")).strip():
        problems.append(Problem("name", "Name is required"))
    if problems:
        raise Invalid(*problems)
    id = await actions.create_draft(db, caller, application_id, body, now)
    # Names tell files of a proposal apart.
    for position, file in enumerate(files):
        if any(other.name == file.name for other in files[:position]):
            raise Invalid.on("files", f"Two files are named {file.name}; rename one")
    await actions.add_files(db, id, [("", file) for file in files], store, now)
    await propose_again(db, caller, id, store, {})
    return id


async def propose_again(db: Db, caller: Caller, id: UUID, store: Store, chosen: Mapping[str, Json]) -> None:
    """Propose how the files of a draft are read; `chosen` by file name has what a person decided."""
    from rolecall.file_shapes.proposals import Chosen, propose

    draft = await queries.draft_of(db, id, caller)
    samples = [stored_sample(store, file.location, file.name, file.size) for file in await queries.files_of(db, id)]
    known = {name: msgspec.convert(each, Chosen) for name, each in chosen.items()}
    found = await asyncio.to_thread(propose, samples, known)
    if bad := [Problem("files", f"{file.name}: {file.problem}") for file in found.files if file.problem]:
        raise Invalid(*bad)
    body = {**draft.body, "connector": {**found.connector, "name": str(draft.body.get("name") or "Files")}}
    if draft.application_id is None or found.is_identity_source:
        body["isIdentitySource"] = found.is_identity_source
    await _store(db, id, body, found)


async def _store(db: Db, id: UUID, body: Json, proposal: ProposalDetail) -> None:
    await execute(
        db,
        "UPDATE dry_runs SET draft = %(draft)s, proposal = %(proposal)s, status = 'Draft' WHERE id = %(id)s",
        id=id,
        draft=Jsonb(body),
        proposal=Jsonb(msgspec.to_builtins(proposal)),
    )
    for file in proposal.files:
        await execute(
            db,
            "UPDATE dry_run_files SET file_group = %(group)s WHERE dry_run_id = %(id)s AND name = %(name)s",
            id=id,
            group=file.file_group or "",
            name=file.name,
        )


async def change_draft(
    db: Db,
    caller: Caller,
    id: UUID,
    fields: Mapping[tuple[int, int], Mapping[str, str]],
    answers: Sequence[str],
    store: Store,
) -> None:
    """Change the fields of columns, by file and content, and answer questions: `file|content|key|value`."""
    from rolecall.file_shapes.proposals import understood_by

    draft = await queries.draft_of(db, id, caller)
    proposal = msgspec.convert(await queries.proposal_of(db, id), ProposalDetail)
    body = draft.body
    parts = {(at, n): part for at, file in enumerate(proposal.files) for n, part in enumerate(file.contents)}
    offered = {
        f"{at}|{n}|{choice.key}|{choice.value}"
        for (at, n), part in parts.items()
        for question in part.questions
        for choice in question.choices
    }
    if not (fields.keys() <= parts.keys() and offered.issuperset(answers)):
        raise Invalid.on("columns", "This form is out of date; choose again")
    for (file, part), columns in fields.items():
        _set_fields(_section(body, proposal, file, part), proposal, file, part, columns)
    for answer in answers:
        of_file, of_part, key, value = answer.split("|", 3)
        _answer(_section(body, proposal, int(of_file), int(of_part)), key, value)
        content = proposal.files[int(of_file)].contents[int(of_part)]
        content.questions = [each for each in content.questions if key not in {choice.key for choice in each.choices}]
    stored = {file.name: file for file in await queries.files_of(db, id)}
    for at, shown in enumerate(proposal.files):
        sample = stored_sample(store, stored[shown.name].location, shown.name, stored[shown.name].size)
        for number, content in enumerate(shown.contents):
            section = _section(body, proposal, at, number)
            content.understood = understood_by(sample, shown.format or "", content.content, section)
    await _store(db, id, body, proposal)


def _section(body: Json, proposal: ProposalDetail, file: int, part: int) -> Json:
    """Return the part of the connector that reads one content of a file."""
    group = next(each for each in body["connector"]["files"] if each["name"] == proposal.files[file].file_group)
    group["shape"] = group["shape"] or {}
    section: Json = group if part == 0 else group["shape"]["contents"][part - 1]
    section["shape"] = section.get("shape") or {}
    return section


def _set_fields(section: Json, proposal: ProposalDetail, file: int, part: int, chosen: Mapping[str, str]) -> None:
    shown = proposal.files[file].contents[part].columns
    taken = [field for field in chosen.values() if field not in (METADATA, IGNORED)]
    if twice := next((field for field in taken if taken.count(field) > 1), None):
        raise Invalid.on("columns", f"Two columns are read as {twice}; choose one")
    section["columns"] = {header: field for header, field in chosen.items() if field not in (METADATA, IGNORED)}
    joins = section["shape"].get("join", {})
    for field in [field for field in joins if field in section["columns"].values()]:
        del joins[field]
    ignored = [header for header, field in chosen.items() if field == IGNORED]
    section["shape"].pop("ignore", None)
    if ignored:
        section["shape"]["ignore"] = ignored
    for column in shown:
        field = chosen.get(column.header, METADATA)
        column.is_ignored, column.field = field == IGNORED, field if field not in (METADATA, IGNORED) else None


def _answer(section: Json, key: str, value: str) -> None:
    """Set a key of the shape, such as `values.Active.Q` or `dates.Last Login`."""
    if key == "Username":
        section["columns"] = {header: field for header, field in section["columns"].items() if header != value}
        section["columns"][value] = "Username"
    elif key in ("headerLine", "skipLines"):
        section["shape"][key] = int(value)
    else:
        first, _, rest = key.partition(".")
        place: dict[str, Any] = section["shape"].setdefault(first, {})
        field, _, word = rest.partition(".") if first == "values" else (rest, "", "")
        if word:
            place.setdefault(field, {})[word] = value
        else:
            place[rest] = value


async def allow_rejects(db: Db, caller: Caller, id: UUID) -> None:
    """Let the import leave out rows that cannot be read."""
    draft = await queries.draft_of(db, id, caller)
    for group in draft.body["connector"]["files"]:
        group["allowRejects"] = True
    await execute(db, "UPDATE dry_runs SET draft = %(draft)s WHERE id = %(id)s", id=id, draft=Jsonb(draft.body))


async def save_and_import(db: Db, caller: Caller, id: UUID, facts: Facts) -> UUID:
    """Save the application as the draft has it and import the files; the draft ends."""
    draft = await queries.draft_of(db, id, caller)
    files = await queries.files_of(db, id)
    if not files or any(not file.file_group for file in files):
        raise Conflict("The draft has no files to import")
    require_import_right(caller, is_identity_source=bool(draft.body.get("isIdentitySource")))
    application_id = await _saved(db, caller, draft.application_id, draft.body, facts)
    run = await imports.create_import(db, application_id, caller, type=ImportType.MANUAL, now=facts.now, supplied=True)
    await execute(
        db,
        """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size, location)
           SELECT f.id, %(run)s, f.position, g.id, g.name, f.name, f.sha256, f.size, f.location
           FROM dry_run_files f JOIN file_groups g ON g.name = f.file_group JOIN connectors c ON c.id = g.connector_id
           WHERE f.dry_run_id = %(id)s AND c.application_id = %(application)s""",
        run=run,
        id=id,
        application=application_id,
    )
    await execute(db, "DELETE FROM dry_runs WHERE id = %(id)s", id=id)
    return run


async def _saved(db: Db, caller: Caller, application_id: UUID | None, body: Json, facts: Facts) -> UUID:
    if application_id is None:
        return await applications.create_application(db, body, facts, caller)
    await applications.change_application(db, application_id, body, facts, caller)
    return application_id
