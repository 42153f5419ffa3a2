"""Forms as bodies: what was filled in, as the JSON that the API's actions check."""

import hashlib
from collections.abc import Awaitable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from rolecall.audit import queries as audit
from rolecall.console import finding
from rolecall.console.frame import Form
from rolecall.core.checking import Json
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid, Problem


def first(form: Form, name: str) -> str:
    return form.get(name, [""])[0].strip()


def shown(form: Form) -> dict[str, str]:
    """The form as it is shown again beside its problems."""
    return {name: values[0] for name, values in form.items()}


def problems_by_field(error: Invalid) -> dict[str, str]:
    return {problem.field: problem.message for problem in error.problems}


def given(form: Form, *names: str) -> Json:
    """The fields that were filled in; a name with a dot goes into its object."""
    raw: Json = {}
    for name in names:
        if value := first(form, name):
            put(raw, name, value)
    return raw


def guard_in(form: Form) -> Json:
    """What is filled in of a guard."""
    names = ("maxRemovedPercent", "maxNewPercent", "minCount")
    return {name: _number(text) for name in names if (text := first(form, f"guard.{name}"))}


def _number(text: str) -> object:
    """A number if it is one; the shape says what is wrong with anything else."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def put(raw: Json, name: str, value: object) -> None:
    *path, last = name.split(".")
    for part in path:
        raw = raw.setdefault(part, {})
    raw[last] = value


def permission_in(line: str) -> Json:
    """`Header / Section / Permission`, of which the last is always there."""
    *above, permission = (part.strip() for part in line.split(" / "))
    header, section = (*above, "", "")[:2]
    return {"header": header, "section": section, "permission": permission}


async def with_people(db: Db, form: Form, *names: str) -> Form:
    """Fields in which a person is named hold the person's id from here on."""
    found, problems = dict(form), list[Problem]()
    for name in names:
        try:
            if words := first(form, name):
                found[name] = [await finding.the_person(db, name, words)]
        except Invalid as error:
            problems += error.problems
    if problems:
        raise Invalid(*problems)
    return found


class Overtaken(NamedTuple):
    """Somebody else changed the record after a form of it was opened."""

    version: str
    by: str | None
    on: datetime | None


def version_of(shown: object) -> str:
    """Of what a form shows of a record; the form carries it along."""
    return hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:16]


async def overtaken(db: Db, version: str, record: UUID, standing: Awaitable[object]) -> Overtaken | None:
    """Whether the form is older than its record, which is read here; a form without a version asks for no such care."""
    # Of two who save at once, the second waits and sees what the first has written.
    await execute(db, "SELECT pg_advisory_xact_lock(hashtextextended(%(id)s, 162))", id=str(record))
    now = version_of(await standing)
    if version in ("", now):
        return None
    newest = (await audit.newest_first(db, 1, audit.Filter(entity_id=record))).items
    return Overtaken(now, newest[0].caller.name, newest[0].created_date) if newest else Overtaken(now, None, None)


class Sought(NamedTuple):
    """Whose records a list shows, as its form says it."""

    id: UUID | None
    words: str
    problems: dict[str, str]


_NOBODY = UUID(int=0)


async def sought(db: Db, query: dict[str, Any]) -> Sought:
    """A link gives an id, a form words; words that name nobody find nothing."""
    id, words = query.get("identityId"), query.get("person", "")
    if not words:
        return Sought(id, await finding.label_of(db, id) if id else "", {})
    try:
        return Sought(UUID(await finding.the_person(db, "person", words)), words, {})
    except Invalid as error:
        return Sought(_NOBODY, words, problems_by_field(error))
