"""Manage drafts of the console: propose how to read uploaded files, change the proposal, save it, import the files."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions as imports
from rolecall.application_imports.dry_runs import actions, queries
from rolecall.application_imports.dry_runs.model import Draft
from rolecall.application_imports.model import ImportType
from rolecall.applications import actions as applications
from rolecall.applications.file_shape import JSON
from rolecall.applications.model import FIELDS
from rolecall.applications.permitted import require_import_right
from rolecall.connector_templates import actions as saved_templates
from rolecall.connector_templates import queries as templates
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict, Invalid, Problem
from rolecall.core.files import Store, Upload
from rolecall.file_shapes.ending import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.header_names import is_inverted
from rolecall.file_shapes.json_lists import WHOLE
from rolecall.file_shapes.matrices import HEADERS_ACROSS
from rolecall.file_shapes.proposing import Reading, propose_in_child, understand_in_child
from rolecall.file_shapes.sample import sample_of, stored_sample
from rolecall.file_shapes.shapes import ContentProposal, FileProposal, OpenQuestion, ProposalDetail, ProposedChoice
from rolecall.file_shapes.statuses import OPPOSITE

# The options for a column besides fields: keep it as metadata, or ignore it.
METADATA, IGNORED = "", "ignore"
# Separators have names in forms, because forms change line breaks and strip spaces.
SEPARATORS = {
    "semicolon": ";", "comma": ",", "bar": "|", "hash": "#", "tilde": "~", "slash": "/", "space": " ",
    "line break": "\n", "several spaces": "  ", "JSON list": JSON,
}  # fmt: skip
# Fields whose column a question may ask for.
_FIELDS_ASKED = ("Username", "Active", "Status")
# The key of an answer that changes nothing; its value is the text of the question.
KEEP = "keep"
_OUT_OF_DATE = "This form is out of date; choose again"


class Place(NamedTuple):
    """The position of a file in a proposal, and of a content in the file."""

    file: int
    part: int


async def draft_upload(
    db: Db, caller: Caller, application_id: UUID | None, body: Json, upload: Upload, now: datetime, store: Store
) -> UUID:
    """Create a draft from readable files and return its ID. The form may name a `template` to use as the proposal."""
    files = imports.chosen(upload)
    problems = [Problem("files", "Choose at least one file")] if not files else []
    if not application_id and not str(body.get("name", "")).strip():
        problems.append(Problem("name", "Name is required"))
    template = await _template(db, "".join(upload.values("template")))
    if problems:
        raise Invalid(*problems)
    # A proposal identifies files by name.
    for position, file in enumerate(files):
        if any(other.name == file.name for other in files[:position]):
            raise Invalid.on("files", f"Two files are named {file.name}; rename one")
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


class DraftChanges(NamedTuple):
    """The changes that a person made to a proposal: fields of columns, lists in cells, answers to questions."""

    fields: Mapping[Place, Mapping[str, str]]
    # The column to split and the name of its separator; an empty column means no split.
    splits: Mapping[Place, tuple[str, str]]
    # Each answer is a text `file|content|key|value`.
    answers: Sequence[str]


async def change_draft(db: Db, caller: Caller, id: UUID, changes: DraftChanges, store: Store) -> None:
    """Change how the files are read. If a header line was chosen, propose again and ignore the other changes."""
    draft = await queries.draft_of(db, id, caller)
    stored = await queries.proposal_of(db, id)
    if stored is None:
        raise Invalid.on("columns", _OUT_OF_DATE)
    proposal = msgspec.convert(stored, ProposalDetail)
    offered = _offered(proposal)
    for place in (*changes.fields, *changes.splits):
        if place not in _parts(proposal):
            raise Invalid.on("columns", _OUT_OF_DATE)
    if not offered.keys() >= set(changes.answers):
        raise Invalid.on("columns", _OUT_OF_DATE)
    chosen = [offered[answer] for answer in changes.answers]
    if headers := [(place, choice) for place, choice in chosen if choice.key == "headerLine"]:
        lines = {}
        for place, choice in headers:
            file = proposal.files[place.file]
            lines[file.name] = {"header_line": int(choice.value), "sheet": file.sheet, "records": file.records}
        await propose_again(db, caller, id, store, lines)
        return
    for place, columns in changes.fields.items():
        _set_fields(_section(draft.body, proposal, place), _parts(proposal)[place], columns)
    for place, (column, separator) in changes.splits.items():
        _split(_section(draft.body, proposal, place), _parts(proposal)[place], column, separator)
    for place, choice in chosen:
        _answer(_section(draft.body, proposal, place), choice)
        part = _parts(proposal)[place]
        field = "Active" if choice.key == OPPOSITE else choice.key
        for each in part.columns if field in _FIELDS_ASKED and choice.value != AS_PROPOSED else []:
            other = None if each.field == field else each.field
            each.field = field if each.header == choice.value else other
        part.questions = [asked for asked in part.questions if choice not in _choices(asked)]
        _keep_open(_section(draft.body, proposal, place)["shape"], part)
    await _show_again(db, id, draft.body, proposal, store)


def _parts(proposal: ProposalDetail) -> dict[Place, ContentProposal]:
    return {Place(at, n): part for at, file in enumerate(proposal.files) for n, part in enumerate(file.contents)}


def _offered(proposal: ProposalDetail) -> dict[str, tuple[Place, ProposedChoice]]:
    """Map the values of the buttons in the form to the choices of all questions."""
    return {
        f"{place.file}|{place.part}|{choice.key}|{choice.value}": (place, choice)
        for place, part in _parts(proposal).items()
        for question in part.questions
        for choice in _choices(question)
    }


def _choices(question: OpenQuestion) -> list[ProposedChoice]:
    """Return the possible answers to a question, including the answer that keeps the proposal."""
    return [*question.choices, ProposedChoice("Keep the proposal", KEEP, question.text)]


async def _show_again(db: Db, id: UUID, body: Json, proposal: ProposalDetail, store: Store) -> None:
    """Store the changed draft with its first rows, read again with the changes."""
    stored = {file.name: file for file in await queries.files_of(db, id)}
    readings = []
    for place, part in _parts(proposal).items():
        file, section = proposal.files[place.file], _section(body, proposal, place)
        part.shape = section["shape"]
        sample = stored_sample(store, stored[file.name].location, file.name, stored[file.name].size)
        encoding = None if file.encoding == "utf-8" else file.encoding
        readings.append(Reading(sample, file.format or "", encoding, part.content, section))
    for part, rows in zip(_parts(proposal).values(), await understand_in_child(readings), strict=True):
        part.understood = rows
    await _store(db, id, body, proposal)


def _section(body: Json, proposal: ProposalDetail, place: Place) -> Json:
    """Return the part of the connector that reads one content of a file."""
    group = next(each for each in body["connector"]["files"] if each["name"] == proposal.files[place.file].file_group)
    group["shape"] = group["shape"] or {}
    section: Json = group if place.part == 0 else group["shape"]["contents"][place.part - 1]
    section["shape"] = section.get("shape") or {}
    return section


def _set_fields(section: Json, part: ContentProposal, chosen: Mapping[str, str]) -> None:
    headers = {column.header for column in part.columns}
    if not (headers >= chosen.keys() and {METADATA, IGNORED, *FIELDS[part.content]}.issuperset(chosen.values())):
        raise Invalid.on("columns", _OUT_OF_DATE)
    taken = [field for field in chosen.values() if field not in (METADATA, IGNORED)]
    if twice := next((field for field in taken if taken.count(field) > 1), None):
        raise Invalid.on("columns", f"Two columns are read as {twice}; choose one")
    section["columns"] = {header: field for header, field in chosen.items() if field not in (METADATA, IGNORED)}
    joins = section["shape"].get("join", {})
    for field in [field for field in joins if field in section["columns"].values()]:
        del joins[field]
    _use_one_column(section)
    hidden = [header for header in section["shape"].pop("ignore", []) if header not in headers]
    ignored = [*hidden, *(header for header, field in chosen.items() if field == IGNORED)]
    if ignored:
        section["shape"]["ignore"] = ignored
    for column in part.columns:
        field = chosen.get(column.header, METADATA)
        column.is_ignored, column.field = field == IGNORED, field if field not in (METADATA, IGNORED) else None


def _use_one_column(section: Json) -> None:
    """Read a field from the column that a person chose for it, instead of from several columns together."""
    shape = section["shape"]
    unpivot = shape.get("unpivot", {})
    chosen = [header for header, field in section["columns"].items() if field == unpivot.get("cells")]
    if not chosen or unpivot.get("headers") != unpivot["cells"]:
        return
    del shape["unpivot"]
    shape["split"] = {header: separator for header, separator in shape.get("split", {}).items() if header in chosen}


def _split(section: Json, part: ContentProposal, column: str, separator: str) -> None:
    if not column:
        section["shape"].pop("split", None)
        return
    known = {**SEPARATORS, **{each: each for each in section["shape"].get("split", {}).values()}}
    if column not in {each.header for each in part.columns} or separator not in known:
        raise Invalid.on("columns", _OUT_OF_DATE)
    section["shape"]["split"] = {column: known[separator]}


def _answer(section: Json, choice: ProposedChoice) -> None:
    """Apply an answer: set a key of the shape, such as `values.Active.Q`, or the column of a field."""
    key, value = choice.key, choice.value
    if key == KEEP:
        return
    if key in _FIELDS_ASKED and value == AS_PROPOSED:
        return
    if key == OPPOSITE:
        section["columns"][value], section["shape"]["invert"] = "Active", ["Active"]
    elif key in _FIELDS_ASKED:
        pattern = section["shape"].get("join", {}).pop(key, "")
        if pattern.count("{") > 1:
            # Drop the words for several joined columns, because they do not apply to a single column.
            section["shape"].get("values", {}).pop(key, None)
        section["columns"] = {
            header: field for header, field in section["columns"].items() if value != header and field != key
        }
        section["columns"][value] = key
        if key == "Active":
            _set_inversion(section["shape"], value)
    elif key == SKIP_ROWS:
        column, *how = value.split(SEPARATOR)
        if how:
            condition = {"column": column, **({"isPast": how[0]} if len(how) == 1 else {how[0]: how[1:]})}
            section["shape"]["skipRowsWhere"] = [*section["shape"].get("skipRowsWhere", []), condition]
    elif key == "skipLines":
        section["shape"][key] = int(value)
    else:
        if key == HEADERS_ACROSS:
            _derive_users(section["shape"], value)
        first, _, rest = key.partition(".")
        place: dict[str, Any] = section["shape"].setdefault(first, {})
        if first == "values":
            field, _, word = rest.partition(".")
            place.setdefault(field, {})[word] = value
        else:
            place[rest] = value


def _derive_users(shape: Json, across: str) -> None:
    """Derive users from the headers of a matrix if the headers are users."""
    if across == "Username":
        shape["deriveUsers"] = True
    elif across == "Group":
        shape.pop("deriveUsers", None)


def _keep_open(shape: Json, part: ContentProposal) -> None:
    """Store the open questions in the shape; imports are held as long as there are any."""
    shape["openQuestions"] = [question.text for question in part.questions]
    if not part.questions:
        del shape["openQuestions"]


def questions_of(body: Json) -> list[str]:
    """Return the open questions of all contents of a draft."""
    shapes = [group.get("shape") or {} for group in (body.get("connector") or {}).get("files") or []]
    shapes += [each.get("shape") or {} for shape in shapes for each in shape.get("contents", [])]
    return [question for shape in shapes for question in shape.get("openQuestions", [])]


def _set_inversion(shape: Json, header: str) -> None:
    others = [field for field in shape.pop("invert", []) if field != "Active"]
    if inverted := [*others, *(["Active"] if is_inverted(header) else [])]:
        shape["invert"] = inverted


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
        raise Conflict("The draft has no files to import; start again and upload them")
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
