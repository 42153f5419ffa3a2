"""Test rules that all request bodies share, on every body."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from rolecall.app import create_app
from rolecall.core.checking import Body, Name, SomeText, check
from rolecall.core.config import Config
from rolecall.core.errors import Invalid
from tests.builders import facts

create_app(Config(database_url="postgresql://"))


def bodies(kind: type[BaseModel] = Body) -> Iterator[type[BaseModel]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from bodies(inner)


def is_code(schema: Any) -> bool:
    """Return whether a field contains an id, a date or an enum value."""
    options = [schema, *schema.get("anyOf", ())]
    nested = [inner for option in options for inner in option.get("anyOf", ())]
    return any("format" in option or "enum" in option for option in [*options, *nested])


BLANK_IS_ABSENT = sorted(
    {
        (body.__name__, name): (body, name)
        for body in bodies()
        for name, schema in body.model_json_schema().get("properties", {}).items()
        if name not in body.model_json_schema().get("required", ()) and (name == "comment" or is_code(schema))
    }.values(),
    key=lambda one: (one[0].__name__, one[1]),
)


def problems(body: type[BaseModel], raw: dict[str, Any]) -> list[str]:
    try:
        check(body, raw, facts(subject=UUID(int=1)))
    except Invalid as error:
        return [problem.field for problem in error.problems]
    return []


def test_optional_fields_of_every_body_are_found() -> None:
    named = {(body.__name__, name) for body, name in BLANK_IS_ABSENT}

    assert {
        ("NewIdentity", "supervisorId"),
        ("NewIdentity", "identityType"),
        ("AbsenceBody", "endDate"),
        ("NewRequestBody", "scheduledStart"),
        ("RespondBody", "reviewerId"),
        ("VerbBody", "comment"),
        ("NewApplication", "priority"),
        ("ModelPermissionBody", "access"),
    } <= named


@pytest.mark.parametrize(
    ("body", "name"), BLANK_IS_ABSENT, ids=[f"{body.__name__}.{name}" for body, name in BLANK_IS_ABSENT]
)
@pytest.mark.parametrize("blank", ["", " \u00a0", "\u200b"])
def test_blank_optional_id_date_enum_value_or_comment_counts_as_absent(
    body: type[BaseModel], name: str, blank: str
) -> None:
    assert name not in problems(body, {name: blank})
    assert problems(body, {name: blank}) == problems(body, {})


@pytest.mark.parametrize("blank", ["", " \t", "\x81", "\x1f\u2028", "\u200b"])
@pytest.mark.parametrize("kind", [SomeText, Name])
def test_schema_of_a_required_text_rejects_what_the_service_rejects(kind: Any, blank: str) -> None:
    pattern = TypeAdapter(kind).json_schema(mode="validation")["pattern"]

    assert not re.search(pattern, blank)
    assert re.search(pattern, "Ticket")
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(blank)
