"""Validate request bodies with pydantic and report problems with the messages of the specification.

Rules that need the database read *facts*, gathered before validation, so that one response reports every broken rule.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, PydanticUseDefault

from rolecall.core import clock, ids
from rolecall.core.errors import Invalid, Problem
from rolecall.core.text import CONTROL, INVISIBLE, counted, fold, has_control, is_blank

Json = dict[str, Any]
# The resolved addresses of each host name.
Addresses = Mapping[str, Sequence[str]]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that validation needs besides the body, such as the time and which of the mentioned records exist."""

    now: datetime
    zone: ZoneInfo
    enabled_custom_fields: frozenset[int] = frozenset()
    approval_lead_days: int = 0
    # The identity that the body is about, if any.
    subject: UUID | None = None
    identities: frozenset[UUID] = frozenset()
    applications: frozenset[UUID] = frozenset()
    archived_applications: frozenset[UUID] = frozenset()
    addresses: Addresses = {}

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()


class Body(BaseModel):
    """A request body. Unknown fields are ignored, and `check` treats a field that is null as absent."""

    model_config = ConfigDict(
        alias_generator=to_camel, frozen=True, extra="ignore", strict=True, hide_input_in_errors=True
    )


B = TypeVar("B", bound=BaseModel)


def naming_the_person(field: str, rules: Json | None = None) -> ConfigDict:
    """Return settings that document `field`, the person who acts, as required, and add `rules` to the schema.

    Tokens must send the field. The console may omit it, because the person is signed in.
    """

    def describe(schema: Json) -> None:
        schema |= rules or {}
        schema["required"] = [*schema.get("required", ()), field]
        schema["properties"][field] = {"type": "string", "format": "uuid"}

    return ConfigDict(json_schema_extra=describe)


def check(model: type[B], raw: Json, facts: Facts, also: Iterable[Problem] = ()) -> B:
    """Return the validated body; raise Invalid with its problems and those in `also`."""
    problems = list(also)
    try:
        body = model.model_validate(_normalized(raw), context=facts)
    except ValidationError as error:
        raise Invalid(*(_problem(entry) for entry in error.errors(include_url=False)), *problems) from None
    if problems:
        raise Invalid(*problems)
    return body


@cache
def _single_fields(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in model.model_fields.items()}
    return {name: create_model(f"{model.__name__}_{name}", __base__=Body, **{name: fields[name]}) for name in fields}


def valid_fields(model: type[BaseModel], raw: Json, facts: Facts) -> dict[str, Any]:
    """Return the fields that are given and valid on their own.

    Rules that need the database can then be checked even if another field is invalid, so that one response reports
    every problem.
    """
    found, meant = {}, _normalized(raw)
    for name, single in _single_fields(model).items():
        with suppress(ValidationError):
            found[name] = getattr(single.model_validate(meant, context=facts), name)
    return found


def valid_entries(model: type[B], entries: object, facts: Facts, *, most: int) -> dict[int, B]:
    """Return the valid entries among the first `most` of a list, keyed by index."""
    found = {}
    for place, entry in enumerate(_normalized(entries[:most]) if isinstance(entries, list) else ()):
        with suppress(ValidationError):
            found[place] = model.model_validate(entry, context=facts)
    return found


_CLOCKS_DIFFER = timedelta(minutes=5)


def require_past(field: str, moment: datetime, now: datetime) -> datetime:
    """Return the time. Raise Invalid if it is in the future, with a small tolerance for clock skew."""
    if moment > now + _CLOCKS_DIFFER:
        raise Invalid.on(field, f"{human_name([field])} must not be in the future")
    return moment


def mentioned_ids(raw: Any) -> list[UUID]:
    """Return every GUID in the body: each may be the id of a record."""
    match raw:
        case dict():
            return [id for value in raw.values() for id in mentioned_ids(value)]
        case list():
            return [id for value in raw for id in mentioned_ids(value)]
    found = ids.guid(raw)
    return [found] if found else []


def broken(message: str) -> PydanticCustomError:
    """Return a validation error with this message; `{name}` in it is later replaced by the name of the field."""
    return PydanticCustomError("rule", "{message}", {"message": message})


_MISSING = PydanticCustomError("missing", "")


def facts_of(info: ValidationInfo) -> Facts:
    facts = info.context
    assert isinstance(facts, Facts)
    return facts


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and is_blank(value)


def _text(value: object) -> object:
    if isinstance(value, str) and "\x00" in value:
        raise broken("{name} must not contain NUL characters")
    return value


def _guid(value: object) -> object:
    if _is_blank(value):
        raise _MISSING
    if found := ids.guid(value):
        return found
    raise broken("{name} must be a GUID")


def _is_an_identity(id: UUID, info: ValidationInfo) -> UUID:
    if id in facts_of(info).identities:
        return id
    raise broken(f"Identity with id {id} not found")


def _moment(value: object, info: ValidationInfo) -> object:
    if _is_blank(value):
        raise _MISSING
    try:
        # For a value that is not a string, raise the same ValueError as for a string that is not a time.
        return clock.parse(value, facts_of(info).zone) if isinstance(value, str) else datetime.fromisoformat("")
    except (ValueError, OverflowError):
        raise broken("{name} must be an ISO 8601 date or date-time") from None


def _strip(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _required(value: object) -> object:
    if _is_blank(value):
        raise _MISSING
    return _text(value)


def _not_blank(value: object) -> object:
    if _is_blank(value):
        raise broken("{name} must not be blank")
    return _text(value)


def _without_control(value: object) -> object:
    if isinstance(value, str) and has_control(value):
        raise broken("{name} must not contain control characters")
    return value


def _absent_if_blank(value: object) -> object:
    if _is_blank(value):
        raise PydanticUseDefault
    return value


def one_of(kind: Iterable[StrEnum]) -> BeforeValidator:
    """Return a validator that accepts these values of an enum, ignoring case and spaces."""
    words = {fold(member.value): member for member in kind}

    def read(value: object) -> object:
        if isinstance(value, str) and (member := words.get(fold(value))):
            return member
        raise broken(f"{{name}} must be one of {', '.join(kind)}")

    return BeforeValidator(read, json_schema_input_type=Literal[tuple(word.replace(" ", "") for word in kind)])


# JSON Schema for the OpenAPI document; it cannot express every check.
_ANY_TEXT = Annotated[str, Field(pattern=r"^[^\x00]*$")]
_SOME_TEXT = Annotated[str, Field(pattern=rf"^[^\x00]*[^{CONTROL}{INVISIBLE}][^\x00]*$")]
_A_NAME = Annotated[str, Field(pattern=rf"^[^{CONTROL}]*[^{CONTROL}{INVISIBLE}][^{CONTROL}]*$")]
# Repeat the type in each option, because client generators read one option at a time.
_DATE = Annotated[str, WithJsonSchema({"anyOf": [{"type": "string", "format": f} for f in ("date", "date-time")]})]
_T = TypeVar("_T")
_CONTROL_FREE = BeforeValidator(_without_control)

Text = Annotated[str, BeforeValidator(_text, json_schema_input_type=_ANY_TEXT)]
SomeText = Annotated[str, BeforeValidator(_required, json_schema_input_type=_SOME_TEXT)]
OptionalText = Annotated[str, BeforeValidator(_not_blank, json_schema_input_type=_SOME_TEXT)]
Name = Annotated[str, _CONTROL_FREE, BeforeValidator(_required, json_schema_input_type=_A_NAME)]
OptionalName = Annotated[str, _CONTROL_FREE, BeforeValidator(_not_blank, json_schema_input_type=_A_NAME)]
# An optional value: blank text counts as absent, and the default applies.
Maybe = Annotated[_T, BeforeValidator(_absent_if_blank)]
# Strip the white space around a string, so that it cannot be the only difference between two names.
STRIPPED = BeforeValidator(_strip)
Text100 = Annotated[Text, STRIPPED, Field(max_length=100)]
Text128 = Annotated[Text, STRIPPED, Field(max_length=128)]
Text256 = Annotated[Text, STRIPPED, Field(max_length=256)]
Text2048 = Annotated[Text, STRIPPED, Field(max_length=2048)]
Name100 = Annotated[Name, STRIPPED, Field(max_length=100)]
Name256 = Annotated[Name, STRIPPED, Field(max_length=256)]
OptionalName100 = Annotated[OptionalName, STRIPPED, Field(max_length=100)]
OptionalName256 = Annotated[OptionalName, STRIPPED, Field(max_length=256)]
Flag = Annotated[bool, Strict()]
Guid = Annotated[UUID, BeforeValidator(_guid)]
IdentityId = Annotated[Guid, AfterValidator(_is_an_identity)]
Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=_DATE)]
OptionalComment = Maybe[Text | None]


def _normalized(value: Any) -> Any:
    """Remove fields that are null, and convert 5.0 to the whole number 5: JSON does not distinguish 5.0 from 5."""
    if isinstance(value, dict):
        return {key: _normalized(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _plain(limit: float) -> float:
    return int(limit) if limit == int(limit) else limit


_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "{name} is required",
    "string_too_long": lambda ctx: f"{{name}} must be at most {ctx['max_length']} characters",
    "string_type": lambda _: "{name} must be a string",
    "bool_type": lambda _: "{name} must be true or false",
    "bool_parsing": lambda _: "{name} must be true or false",
    "int_type": lambda _: "{name} must be a whole number",
    "int_parsing": lambda _: "{name} must be a whole number",
    "int_from_float": lambda _: "{name} must be a whole number",
    "float_type": lambda _: "{name} must be a number",
    "float_parsing": lambda _: "{name} must be a number",
    "greater_than_equal": lambda ctx: f"{{name}} must be at least {_plain(ctx['ge'])}",
    "less_than_equal": lambda ctx: f"{{name}} must be at most {_plain(ctx['le'])}",
    "too_long": lambda ctx: f"{{name}} must have at most {counted(ctx['max_length'], 'entry', 'entries')}",
    "too_short": lambda ctx: f"{{name}} must have at least {counted(ctx['min_length'], 'entry', 'entries')}",
    "list_type": lambda _: "{name} must be a list",
    "dict_type": lambda _: "{name} must be an object",
    "model_type": lambda _: "{name} must be an object",
    "rule": lambda ctx: str(ctx["message"]),
}


def _not_valid(_: Mapping[str, Any]) -> str:
    return "{name} is not valid"


def _problem(entry: Any) -> Problem:
    *above, last = entry["loc"] or ("body",)
    # Convert the name: for a default value that fails validation, pydantic reports the Python name of the field.
    is_default = entry["input"] is None and isinstance(last, str) and "_" in last
    path = (*above, to_camel(last) if is_default else last)
    # pydantic may report the same length error for strings and lists; a string is measured in characters.
    kind = f"string_{entry['type']}" if isinstance(entry["input"], str) else entry["type"]
    say = _SENTENCES.get(kind) or _SENTENCES.get(entry["type"], _not_valid)
    sentence = say(entry.get("ctx", {}))
    return Problem(".".join(str(part) for part in path), sentence.replace("{name}", human_name(path)))


def human_name(path: Sequence[str | int]) -> str:
    """Convert a path to words: `identity.firstName` → `First name`; `applicationImportId` → `Application import ID`."""
    word = next((part for part in reversed(path) if isinstance(part, str) and part), "body")
    words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", word).lower()
    words = re.sub(r"\b(id|url)\b", lambda found: found[0].upper(), words)
    return words[0].upper() + words[1:]
