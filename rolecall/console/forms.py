"""Convert forms to the JSON bodies that the actions of the API validate, and detect concurrent edits."""

import hashlib
import re
from collections.abc import Awaitable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from rolecall.audit import queries as audit
from rolecall.console import finding, record_access
from rolecall.console.inputs import Form
from rolecall.core.caller import Caller
from rolecall.core.checking import Json
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid, Problem
from rolecall.identities.authority import RecordType

# Matches names of fields that contain the id of a record. An employee ID is not the id of a record.
_NAMES_A_RECORD = re.compile(r"(?<!employee)Id$")
_ID = re.compile(r"^(.+?) ID\b")


def first(form: Form, name: str) -> str:
    return form.get(name, [""])[0].strip()


def shown(form: Form) -> dict[str, str]:
    """Return the first value of each field, so that the form can be shown again with its problems."""
    return {name: values[0] for name, values in form.items() if values}


def problems_by_field(error: Invalid) -> dict[str, str]:
    """Return one message for each field, with all its problems.

    For a field with the id of a record, leave "ID" out of the message, because forms show names instead of ids.
    """
    found: dict[str, list[str]] = {}
    for problem in error.problems:
        is_record = _NAMES_A_RECORD.search(problem.field)
        said = _ID.sub(r"\1", problem.message) if is_record else problem.message
        found.setdefault(problem.field, []).append(said)
    return {field: _sentences(list(dict.fromkeys(said))) for field, said in found.items()}


def _sentences(said: list[str]) -> str:
    return said[0] if len(said) == 1 else " ".join(each if each.endswith(("?", ".")) else f"{each}." for each in said)


def given(form: Form, *names: str) -> Json:
    """Return the fields that are not empty; a name with a dot becomes a nested object."""
    raw: Json = {}
    for name in names:
        if value := first(form, name):
            put(raw, name, value)
    return raw


def guard_in(form: Form) -> Json:
    names = ("maxRemovedPercent", "maxNewPercent", "minCount")
    return {name: _number(text) for name in names if (text := first(form, f"guard.{name}"))}


def _number(text: str) -> object:
    """Convert text to a number; return text that is not a number unchanged, so that validation reports it."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def integer(text: str) -> object:
    """Convert digits, at most the first 9, to an integer; return other text unchanged, to be reported as invalid."""
    # Nine digits exceed the maximum of every field, so a longer number is reported as too large.
    return int(text[:9]) if text.isascii() and text.isdecimal() else text


def put(raw: Json, name: str, value: object) -> None:
    *path, last = name.split(".")
    for part in path:
        raw = raw.setdefault(part, {})
    raw[last] = value


# Matches a slash with white space, or the start or end of the line, on each side: a part may be empty.
_SLASH = re.compile(r"(?:^|(?<=\s))/(?=\s|$)")


def permission_in(line: str) -> Json:
    """Parse `Header / Section / Permission`; header and section are optional."""
    *above, permission = (part.strip() for part in _SLASH.split(line.strip()))
    header, section = (*above, "", "")[:2]
    return {"header": header, "section": section, "permission": permission}


async def visible_label(db: Db, caller: Caller, id: UUID | None) -> str:
    """Return the label of a person whom the caller may see, or an empty string."""
    is_seen = id is not None and await record_access.sees(db, caller, RecordType.PERSON, id)
    return await finding.label_of(db, id) if is_seen else ""


async def with_people(db: Db, form: Form, *names: str, caller: Caller | None = None) -> Form:
    """Return the form with the names of people replaced by ids; with a caller, find only people whom they may see."""
    found, problems = dict(form), list[Problem]()
    for name in names:
        try:
            if words := first(form, name):
                found[name] = [await finding.the_person(db, name, words, caller)]
        except Invalid as error:
            problems += error.problems
    if problems:
        raise Invalid(*problems)
    return found


def filled(form: Form, name: str) -> list[str]:
    """Return the values of a repeated field, without empty ones."""
    return [words for each in form.get(name, []) if (words := each.strip())]


async def people_in(db: Db, form: Form, name: str) -> list[str]:
    """Return the ids of the people who are named in a repeated field."""
    return [await finding.the_person(db, name, words) for words in filled(form, name)]


class EditConflict(NamedTuple):
    """A change of the record after the form was opened: the current version, and who made the change and when."""

    version: str
    by: str | None
    on: datetime | None


def version_of(shown: object) -> str:
    """Return a checksum of the values in a form. The form sends it back, to detect concurrent edits."""
    return hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:16]


async def edit_conflict(db: Db, version: str, record: UUID, current: Awaitable[object]) -> EditConflict | None:
    """Return the conflict if the record changed after the form was opened; None if not, or without a version."""
    # Serialize concurrent saves, so that the second one sees the changes of the first.
    await execute(db, "SELECT pg_advisory_xact_lock(hashtextextended(%(id)s, 162))", id=str(record))
    # Await the current state only now that the lock is held, so that it includes earlier saves.
    now = version_of(await current)
    if version in ("", now):
        return None
    newest = (await audit.newest_first(db, 1, audit.Filter(entity_id=record))).items
    return EditConflict(now, newest[0].caller.name, newest[0].created_date) if newest else EditConflict(now, None, None)


class PersonFilter(NamedTuple):
    """The person whose records a list shows, and the text in the filter field."""

    id: UUID | None
    words: str
    problems: dict[str, str]


_NO_PERSON = UUID(int=0)


async def person_filter(db: Db, query: dict[str, Any], caller: Caller) -> PersonFilter:
    """Return the person to filter by, from the id in a link or the text in a form.

    Text that does not identify exactly one person selects no records.
    """
    id, words = query.get("identityId"), query.get("person", "")
    if not words:
        return PersonFilter(id, await visible_label(db, caller, id), {})
    try:
        return PersonFilter(UUID(await finding.the_person(db, "person", words, caller)), words, {})
    except Invalid as error:
        return PersonFilter(_NO_PERSON, words, problems_by_field(error))
