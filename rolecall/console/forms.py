"""Forms as bodies: what was filled in, as the JSON that the API's actions check."""

from typing import Any, NamedTuple
from uuid import UUID

from rolecall.console import finding
from rolecall.console.frame import Form
from rolecall.core.checking import Json
from rolecall.core.db import Db
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


def put(raw: Json, name: str, value: object) -> None:
    *path, last = name.split(".")
    for part in path:
        raw = raw.setdefault(part, {})
    raw[last] = value


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
