"""Manage drafts of the console: propose how to read uploaded files, change the proposal, save it, import the files."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions as imports
from rolecall.application_imports.dry_runs import actions, queries
from rolecall.application_imports.dry_runs.model import Draft
from rolecall.application_imports.model import ImportType
from rolecall.application_imports.read.column_uses import Section
from rolecall.applications import actions as applications
from rolecall.applications.model import Content
from rolecall.applications.permitted import require_import_right
from rolecall.applications.queries import configuration
from rolecall.connector_templates import actions as saved_templates
from rolecall.connector_templates import queries as templates
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict, Invalid, Problem
from rolecall.core.files import Store, Upload
from rolecall.file_shapes.accounts.statuses import OPPOSITE
from rolecall.file_shapes.as_access import BY_A_PERSON
from rolecall.file_shapes.choices import AS_PROPOSED, LEAVE_OUT, SEPARATOR
from rolecall.file_shapes.draft_access import Place, decide_access, parts_by_place, section_at
from rolecall.file_shapes.draft_answers import (
    FIELDS_ASKED,
    OUT_OF_DATE,
    answer,
    choices_of,
    decided_again,
    keep_open,
    leave_out,
    set_fields,
    split,
)
from rolecall.file_shapes.files.accounting import sections_of, use_again
from rolecall.file_shapes.files.capitals import USERNAMES, lower_usernames
from rolecall.file_shapes.files.group_names import GROUPS
from rolecall.file_shapes.files.proposing import Reading, propose_in_child, understand_in_child
from rolecall.file_shapes.shapes import ContentProposal, FileProposal, ProposalDetail, ProposedChoice
from rolecall.file_shapes.tables.json_lists import WHOLE
from rolecall.file_shapes.tables.sample import sample_of, stored_sample


async def draft_upload(
    db: Db, caller: Caller, application_id: UUID | None, body: Json, upload: Upload, now: datetime, store: Store
) -> UUID:
    """Create a draft and return its ID; raise Invalid if a file cannot be read.

    If the form has a `template`, read the files with it. Otherwise, if each file has all columns of a file group of the
    application, read the files with the connector of the application, to keep earlier decisions.
    """
    files = imports.chosen(upload)
    problems = [Problem("files", "Choose at least one file")] if not files else []
    problems += [problem for file in files for problem in imports.name_problems(file, "files")]
    if not application_id and not str(body.get("name", "")).strip():
        problems.append(Problem("name", "Name is required"))
    template = await _template(db, "".join(upload.values("template")))
    if problems:
        raise Invalid(*problems)
    if not application_id:
        await applications.require_free_name(db, str(body["name"]).strip())
    # A proposal identifies files by name.
    for position, file in enumerate(files):
        if any(other.name == file.name for other in files[:position]):
            raise Invalid.on("files", f"Two files are named {file.name}; rename one")
    if application_id and not template:
        template = await _known_connector(db, application_id)
    # Propose before the files are stored, so that unreadable files are not kept.
    found = _readable(await propose_in_child([sample_of(file.path, file.name) for file in files], {}, template))
    id = await actions.create_draft(db, caller, application_id, body, now)
    await actions.add_files(db, id, [("", file) for file in files], store, now)
    await _store(db, id, _drafted(Draft(application_id, body), found), found)
    return id


async def _template(db: Db, name: str) -> Json | None:
    if not name:
        return None
    found = await templates.named(db, name)
    if found is None:
        raise Invalid.on("template", f"No connector template is named {name}; choose another one")
    return {"name": found.name, "vendor": found.vendor, "files": msgspec.to_builtins(found.files)}


async def _known_connector(db: Db, application_id: UUID) -> Json | None:
    """Return the connector of an application as a template; None if it has no files."""
    known = (await configuration(db, application_id)).connector
    if known is None or not known.files:
        return None
    files = msgspec.to_builtins(known.files)
    return {"name": "of this application", "vendor": known.vendor, "files": files, "must_fit": True}


async def propose_again(db: Db, caller: Caller, id: UUID, store: Store, chosen: Mapping[str, Json]) -> None:
    """Propose again how to read the files of a draft. `chosen` maps file names to the decisions of a person."""
    draft = await queries.draft_of(db, id, caller)
    stored = await queries.proposal_of(db, id)
    files = msgspec.convert(stored, ProposalDetail).files if stored else []
    chosen = {**chosen, **{file.name: _of_new_place(file, chosen[file.name]) for file in files if file.name in chosen}}
    samples = [stored_sample(store, file.location, file.name, file.size) for file in await queries.files_of(db, id)]
    found = _readable(await propose_in_child(samples, chosen))
    await _store(db, id, _drafted(draft, found), found)


def _of_new_place(file: FileProposal, decided: Json) -> Json:
    """Return the decisions of a person, without header line and content if the person chose another sheet or list."""
    current = file.records or WHOLE
    if (decided.get("sheet") or file.sheet) == file.sheet and (decided.get("records") or current) == current:
        return decided
    return {name: value for name, value in decided.items() if name not in ("header_line", "content")}


def _readable(found: ProposalDetail) -> ProposalDetail:
    if bad := [Problem("files", f"{file.name}: {file.problem}") for file in found.files if file.problem]:
        raise Invalid(*bad)
    return found


def _drafted(draft: Draft, found: ProposalDetail) -> Json:
    """Return the body of the application with the proposed connector."""
    body = {**draft.body, "connector": {**found.connector, "name": str(draft.body.get("name") or "Files")}}
    if draft.application_id is None or found.is_identity_source:
        body["isIdentitySource"] = found.is_identity_source
    return body


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


async def rename_draft(db: Db, caller: Caller, id: UUID, name: str) -> None:
    """Rename the new application of a draft."""
    draft = await queries.draft_of(db, id, caller)
    if draft.application_id is None and name.strip():
        body = {**draft.body, "name": name.strip(), "connector": {**draft.body["connector"], "name": name.strip()}}
        await execute(db, "UPDATE dry_runs SET draft = %(draft)s WHERE id = %(id)s", id=id, draft=Jsonb(body))


async def require_free_name(db: Db, caller: Caller, id: UUID) -> None:
    """Raise Invalid if another application has meanwhile been given the name of the new application."""
    draft = await queries.draft_of(db, id, caller)
    if draft.application_id is None:
        await applications.require_free_name(db, str(draft.body["name"]))


class DraftChanges(NamedTuple):
    """The changes that a person made to a proposal: fields, lists in cells, answers, and decisions about access."""

    fields: Mapping[Place, Mapping[str, str]]
    # The column to split and the name of its separator; an empty column means no split.
    splits: Mapping[Place, tuple[str, str]]
    # Each answer is a text `file|content|key|value`.
    answers: Sequence[str]
    # Decisions about columns, each a text `file|column|content`. `file` and `column` are positions. `content` is a
    # content, a key of `DESCRIBING` if the column describes permissions, `SCOPE` if it says where groups apply, or
    # `NO_ACCESS` if it is not access.
    access: Sequence[str] = ()


async def change_draft(db: Db, caller: Caller, id: UUID, changes: DraftChanges, store: Store) -> None:
    """Change how the files are read.

    If a person chose a header line, a content, or what the rows of a matrix are, propose again and ignore the other
    changes.
    """
    draft = await queries.draft_of(db, id, caller)
    stored = await queries.proposal_of(db, id)
    if stored is None:
        raise Invalid.on("columns", OUT_OF_DATE)
    proposal = msgspec.convert(stored, ProposalDetail)
    offered = _offered(proposal)
    for place in (*changes.fields, *changes.splits):
        if place not in parts_by_place(proposal):
            raise Invalid.on("columns", OUT_OF_DATE)
    if not offered.keys() >= set(changes.answers):
        raise Invalid.on("columns", OUT_OF_DATE)
    chosen = [offered[answer] for answer in changes.answers]
    if await _decided_again(db, caller, id, proposal, chosen, store):
        return
    for place, columns in changes.fields.items():
        set_fields(section_at(draft.body, proposal, place), parts_by_place(proposal)[place], columns)
    for place, (column, separator) in changes.splits.items():
        split(section_at(draft.body, proposal, place), parts_by_place(proposal)[place], column, separator)
    for place, choice in chosen:
        if choice.key == USERNAMES:
            _lower_usernames(draft.body, proposal, place.file)
        else:
            answer(section_at(draft.body, proposal, place), choice)
        part = parts_by_place(proposal)[place]
        _show_answer(part, choice)
        _close_questions(draft.body, proposal, place, choice)
    for text in changes.access:
        decide_access(draft.body, proposal, text)
    await _show_again(db, id, draft.body, proposal, store)


def _close_questions(body: Json, proposal: ProposalDetail, place: Place, choice: ProposedChoice) -> None:
    """Close the answered questions of a content, also for other files that are read with the same settings."""
    part, section = parts_by_place(proposal)[place], section_at(body, proposal, place)
    answered = [asked.text for asked in part.questions if choice in choices_of(asked, part.shape)]
    parts = parts_by_place(proposal).items()
    alike = [each for other, each in parts if section_at(body, proposal, other) is section]
    keep_open(section["shape"], alike, answered)


async def _decided_again(
    db: Db,
    caller: Caller,
    id: UUID,
    proposal: ProposalDetail,
    chosen: Sequence[tuple[Place, ProposedChoice]],
    store: Store,
) -> bool:
    """Propose again if a person chose a header line, a content or the like, or left files out; return whether so."""
    left = {proposal.files[place.file].name for place, choice in chosen if choice.key == LEAVE_OUT}
    await _leave_out_files(db, id, proposal, left)
    again = decided_again(proposal.files, [(place.file, choice) for place, choice in chosen])
    if left or again:
        await propose_again(db, caller, id, store, again)
    return bool(left or again)


async def _leave_out_files(db: Db, id: UUID, proposal: ProposalDetail, names: Set[str]) -> None:
    """Remove files from a draft that has others; `sweep_files` deletes them later."""
    if not names < {file.name for file in proposal.files}:
        raise Invalid.on("columns", "The draft has no other file; discard it")
    await execute(
        db, "DELETE FROM dry_run_files WHERE dry_run_id = %(id)s AND name = ANY(%(names)s)", id=id, names=[*names]
    )


def _show_answer(part: ContentProposal, choice: ProposedChoice) -> None:
    """Update the field that each column of a content is read as, after a person answered a question."""
    field = "Active" if choice.key == OPPOSITE else choice.key.removeprefix("join.")
    for each in part.columns if field in FIELDS_ASKED and choice.value != AS_PROPOSED else []:
        other = None if each.field == field else each.field
        each.field = field if each.header == choice.value else other
    for each in part.columns if choice.key == GROUPS else []:
        # This column is no longer one field: patterns divide its values between Username and Group.
        each.field = None if choice.value.startswith(f"{each.header}{SEPARATOR}") else each.field


def _lower_usernames(body: Json, proposal: ProposalDetail, at: int) -> None:
    """Convert usernames to lowercase in all contents of a file, so that grants still match their accounts."""
    for n, part in enumerate(proposal.files[at].contents):
        section = section_at(body, proposal, Place(at, n))
        lower_usernames(section)
        for column in part.columns:
            column.field = section["columns"].get(column.header)
            column.is_ignored = column.header in section["shape"].get("ignore", [])


def _offered(proposal: ProposalDetail) -> dict[str, tuple[Place, ProposedChoice]]:
    """Map the value of each button in the form to its choice, and to the content that it is about."""
    return {
        f"{place.file}|{place.part}|{choice.key}|{choice.value}": (place, choice)
        for place, part in parts_by_place(proposal).items()
        for question in part.questions
        for choice in choices_of(question, part.shape)
    }


async def _show_again(db: Db, id: UUID, body: Json, proposal: ProposalDetail, store: Store) -> None:
    """Store the changed draft with its first rows, read again with the changes."""
    stored = {file.name: file for file in await queries.files_of(db, id)}
    readings = []
    for place, part in parts_by_place(proposal).items():
        file, section = proposal.files[place.file], section_at(body, proposal, place)
        part.shape = section["shape"]
        sample = stored_sample(store, stored[file.name].location, file.name, stored[file.name].size)
        # None means the default encoding, which a proposal shows as utf-8.
        encoding = None if file.encoding == "utf-8" else file.encoding
        # If a person chose to read a column as access, an account may have one row for each grant.
        is_per_grant = part.content == Content.USERS and any(
            other.evidence == [BY_A_PERSON] for other in file.contents if other.place == part.place
        )
        readings.append(Reading(sample, file.format or "", encoding, part.content, section, is_per_grant))
    for (place, part), found in zip(parts_by_place(proposal).items(), await understand_in_child(readings), strict=True):
        part.understood, part.statements = found.rows, found.statements
        leave_out(section_at(body, proposal, place)["shape"], part, found.differing)
    for at, file in enumerate(proposal.files):
        _account_again(body, proposal, at, file)
    await _store(db, id, body, proposal)


def _account_again(body: Json, proposal: ProposalDetail, at: int, file: FileProposal) -> None:
    places: dict[str | None, list[tuple[Content, Json]]] = {}
    for n, part in enumerate(file.contents):
        places.setdefault(part.place, []).append((part.content, section_at(body, proposal, Place(at, n))))
    use_again(file.columns, {place: _own_sections(parts, file, place) for place, parts in places.items()})


def _own_sections(parts: list[tuple[Content, Json]], file: FileProposal, place: str | None) -> list[Section]:
    return sections_of(parts, file.records if place is None else parts[0][1]["shape"].get("records"))


def questions_of(body: Json) -> list[str]:
    """Return the open questions of all contents of a draft."""
    shapes = [group.get("shape") or {} for group in (body.get("connector") or {}).get("files") or []]
    shapes += [each.get("shape") or {} for shape in shapes for each in shape.get("contents", [])]
    return [question for shape in shapes for question in shape.get("openQuestions", [])]


async def allow_rejects(db: Db, caller: Caller, id: UUID) -> None:
    """Allow the import to leave out rows that cannot be read."""
    draft = await queries.draft_of(db, id, caller)
    for group in draft.body["connector"]["files"]:
        group["allowRejects"] = True
    await execute(db, "UPDATE dry_runs SET draft = %(draft)s WHERE id = %(id)s", id=id, draft=Jsonb(draft.body))


async def save_and_import(db: Db, caller: Caller, id: UUID, facts: Facts, template: str = "") -> UUID:
    """Save the application of the draft, delete the draft, and return the ID of a new import of its files.

    If `template` is set, save the connector as a template with this name.
    """
    draft = await queries.draft_of(db, id, caller)
    files = await queries.files_of(db, id)
    if not files or any(not file.file_group for file in files):
        raise Conflict("The draft has no files, or a file without a file group; start again and upload the files")
    if asked := questions_of(draft.body):
        raise Conflict(f"Answer the open questions about the files first: {asked[0]}")
    require_import_right(caller, is_identity_source=bool(draft.body.get("isIdentitySource")))
    application_id = await _saved(db, caller, draft.application_id, draft.body, facts)
    if template:
        await saved_templates.save_template(db, caller, {"applicationId": str(application_id), "name": template}, facts)
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
