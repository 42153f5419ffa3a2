"""Validate a shape in a request. `file_shape.py` defines the stored form, which the reader uses."""

import re
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rolecall.applications.field_words import WORDS, YES_NO_FIELDS
from rolecall.applications.file_shape import DATE_FORMATS, JSON, GroupShape, Placeholder, pattern_parts
from rolecall.applications.model import FIELDS, Content, same_header
from rolecall.core.checking import Body, Flag, Text256, Text2048, broken, one_of
from rolecall.core.text import fold

MOST_HEADERS = 20_000
_MOST = 1_000
_MOST_POSITIONS = 100_000
_LONGEST_SEPARATOR = 10


def _word(value: object) -> object:
    """Convert booleans and numbers to text, because YAML reads words such as Yes and 1 as these types."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(value) if isinstance(value, int | float) else value


def _listed(value: object) -> object:
    return [_word(each) for each in value] if isinstance(value, list) else [_word(value)]


Word = Annotated[Text256, BeforeValidator(_word, json_schema_input_type=str | bool | int | float)]
WordList = Annotated[
    list[Text256],
    Field(max_length=_MOST),
    BeforeValidator(_listed, json_schema_input_type=str | bool | int | float | list[str | bool | int | float]),
]
Columns = Annotated[list[Text256], Field(max_length=MOST_HEADERS)]


def _known_format(text: str) -> str:
    known = {fold(name): name for name in DATE_FORMATS}
    if (name := known.get(fold(text))) is not None:
        return name
    if "%" not in text or not re.search(r"%[YyDFsc+]", text):
        raise broken(f"{{name}} must be one of {', '.join(DATE_FORMATS)}, or a pattern such as %d.%m.%Y %H:%M")
    return text


def _known_separator(text: str) -> str:
    if not text or len(text) > _LONGEST_SEPARATOR:
        raise broken("{name} must be a separator such as ; or the word json")
    return JSON if fold(text) == JSON else text


def _known_pattern(pattern: str) -> str:
    try:
        parts = pattern_parts(pattern)
    except ValueError as error:
        raise broken(f"{{name}}: {error}") from None
    for part in parts:
        for name, argument in part.filters if isinstance(part, Placeholder) else ():
            if name == "past":
                _known_format(argument)
    return pattern


Pattern = Annotated[Text2048, AfterValidator(_known_pattern)]
DateFormat = Annotated[Text256, AfterValidator(_known_format)]
# A separator may be a space, so it is not stripped.
Separator = Annotated[str, AfterValidator(_known_separator)]


class RowConditionBody(Body):
    column: Text256
    is_: WordList | None = Field(default=None, alias="is")
    is_not: WordList | None = None
    starts_with: WordList | None = None
    ends_with: WordList | None = None
    is_past: DateFormat | None = None

    @model_validator(mode="after")
    def one_condition(self) -> "RowConditionBody":
        given = (self.is_, self.is_not, self.starts_with, self.ends_with, self.is_past)
        if sum(each is not None for each in given) != 1:
            raise broken("A condition needs exactly one of is, isNot, startsWith, endsWith and isPast")
        if "" in (*(self.starts_with or ()), *(self.ends_with or ())):
            raise broken("{name}: startsWith and endsWith need a text, because an empty one matches every row")
        return self


class UnpivotBody(Body):
    keep: Columns | None = None
    columns: Annotated[Columns, Field(min_length=1)] | None = None
    headers: Text256 = "Permission"
    cells: Text256 = "Access"

    @model_validator(mode="after")
    def keep_or_columns(self) -> "UnpivotBody":
        if (self.keep is None) == (self.columns is None):
            raise broken("A matrix must have either keep or columns, not both")
        return self


class FileShapeBody(Body):
    header_line: Annotated[int, Field(ge=1, le=_MOST)] | None = None
    headers: Columns | None = None
    skip_lines: Annotated[int, Field(ge=0, le=_MOST)] | None = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    aligned: Flag | None = None
    column_starts: Annotated[list[Annotated[int, Field(ge=1, le=_MOST_POSITIONS)]], Field(max_length=_MOST)] | None = (
        None
    )
    merge_extra_fields: Flag | None = None
    skip_rows_where: Annotated[list[RowConditionBody], Field(max_length=_MOST)] | None = None
    fill_down: Columns | None = None
    sheet: Text256 | None = None
    records: Text256 | None = None
    values: dict[Text256, dict[Text256, Word]] | None = None
    invert: Columns | None = None
    blank: WordList | None = None
    split: dict[Text256, Separator] | None = None
    unpivot: UnpivotBody | None = None
    join: dict[Text256, Pattern] | None = None
    dates: dict[Text256, DateFormat] | None = None
    ignore: Columns | None = None
    keep: Columns | None = None
    derive_users: Flag | None = None
    open_questions: Annotated[list[Text2048], Field(max_length=_MOST)] | None = None

    @field_validator("invert")
    @classmethod
    def yes_or_no(cls, fields: list[str]) -> list[str]:
        return [_field(field, YES_NO_FIELDS, "{name} accepts only the fields") for field in fields]

    @field_validator("values")
    @classmethod
    def known_words(cls, values: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        for field, words in values.items():
            known = next((words for name, words in WORDS.items() if same_header(name) == same_header(field)), None)
            for word, value in words.items():
                if known is not None and value and fold(value) not in known:
                    raise broken(f"{{name}}: {value} (for {word}) is not a value of {field}")
        return values

    @model_validator(mode="after")
    def one_header(self) -> "FileShapeBody":
        if self.header_line and self.headers:
            raise broken("A shape must not have both headerLine and headers")
        if self.aligned and (self.delimiter or self.headers):
            raise broken("A shape with aligned must not have delimiter or headers")
        if self.column_starts:
            self._check_starts(self.column_starts)
        return self

    def _check_starts(self, starts: list[int]) -> None:
        if self.aligned or self.delimiter or len(self.headers or ()) != len(starts):
            raise broken(
                "A shape with columnStarts needs one header for each position, and must not have aligned or delimiter"
            )
        if starts != sorted(set(starts)):
            raise broken("columnStarts must ascend, such as 1, 6, 15")


def _known_columns(columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    """Check columns against the `content` of the same body, unless `content` is missing or invalid.

    If the group accepts several files, several headers may be mapped to a field, because its files may differ.
    """
    several = bool(info.data.get("is_multiple"))
    return _mapped_fields(columns, info.data["content"], several=several) if "content" in info.data else columns


def known_shape(shape: FileShapeBody, info: ValidationInfo) -> FileShapeBody:
    """Check a shape against the `content` and `columns` of the same body, unless one is missing or invalid."""
    if "content" in info.data and "columns" in info.data:
        _check_fields(shape, info.data["content"], info.data["columns"])
    return shape


ColumnFields = Annotated[dict[str, Text256], AfterValidator(_known_columns)]


class ContentShapeBody(Body):
    content: Annotated[Content, one_of(Content)]
    columns: ColumnFields = Field(default_factory=dict)
    shape: Annotated[FileShapeBody, AfterValidator(known_shape)] | None = None

    @field_validator("content")
    @classmethod
    def not_people(cls, content: Content) -> Content:
        # Identities must be the content of the group itself: only that content is compared with `isIdentitySource`.
        if content == Content.IDENTITIES:
            raise broken("{name} must not be identities here; identities must be the content of the file group itself")
        return content


class GroupShapeBody(FileShapeBody):
    contents: Annotated[list[ContentShapeBody], Field(max_length=len(Content))] | None = None


def _mapped_fields(columns: dict[str, str], content: Content, *, several: bool) -> dict[str, str]:
    """Check a mapping of headers to fields; return it with the fields as the service spells them."""
    if any("\x00" in header for header in columns):
        raise broken("{name} must not contain NUL characters")
    mapped = {
        header: _field(field, FIELDS[content], f"{field} is not a field of {content}; use one of")
        for header, field in columns.items()
    }
    if (twice := repeated(mapped.values())) and not several:
        raise broken(f"Two headers are mapped to {twice}; remove one of them")
    if twice := repeated(same_header(header) for header in mapped):
        raise broken(f"Header {twice} is mapped twice; remove one")
    return mapped


def _check_fields(shape: FileShapeBody, content: Content, columns: dict[str, str]) -> None:
    """Check that a shape uses only fields of its content, and builds no field that `columns` maps too."""
    unpivot = [shape.unpivot.headers, shape.unpivot.cells] if shape.unpivot else []
    for field in (*(shape.values or ()), *(shape.invert or ()), *(shape.join or ()), *unpivot):
        _field(field, FIELDS[content], f"{{name}}: {field} is not a field of {content}; use one of")
    mapped = {same_header(field) for field in columns.values()}
    for field in (*(shape.join or ()), *unpivot):
        if same_header(field) in mapped:
            raise broken(f"{{name}}: {field} is also mapped in columns; remove one of the two")
    if shape.derive_users and content not in (Content.MEMBERSHIPS, Content.PERMISSIONS):
        raise broken("{name}: deriveUsers is only for memberships and permissions")


def _field(name: str, fields: Iterable[str], otherwise: str) -> str:
    known = {same_header(field): field for field in fields}
    if (found := known.get(same_header(name))) is None:
        raise broken(f"{otherwise} {', '.join(known.values())}")
    return found


def repeated(names: Iterable[str]) -> str | None:
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def stored_shape(body: GroupShapeBody | None) -> dict[str, Any] | None:
    """Return the shape as it is stored, without default values."""
    if body is None:
        return None
    given = body.model_dump(by_alias=True, exclude_none=True)
    stored: dict[str, Any] = msgspec.to_builtins(msgspec.convert(given, GroupShape))
    return stored
