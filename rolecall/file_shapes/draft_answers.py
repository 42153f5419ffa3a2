"""Apply what a person decided about a content of a draft: fields of columns, a list in cells, answers to questions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rolecall.applications.file_shape import JSON
from rolecall.applications.model import FIELDS
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.file_shapes.accounts.statuses import OPPOSITE
from rolecall.file_shapes.cells.groups_held import FILL_DOWN
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_inverted
from rolecall.file_shapes.files.contents import HEADER_LINE
from rolecall.file_shapes.files.group_names import GROUPS, read_as_groups
from rolecall.file_shapes.grants.matrix_rows import HEADERS_ACROSS, ROWS
from rolecall.file_shapes.shapes import ContentProposal, FileProposal, OpenQuestion, ProposedChoice

# The options for a column besides fields: keep it as metadata, or ignore it.
METADATA, IGNORED = "", "ignore"
# Separators have names in forms, because forms change line breaks and strip spaces.
SEPARATORS = {
    "semicolon": ";", "comma": ",", "bar": "|", "hash": "#", "tilde": "~", "slash": "/", "space": " ",
    "line break": "\n", "several spaces": "  ", "JSON list": JSON,
}  # fmt: skip
# Fields whose column a question may ask for.
FIELDS_ASKED = ("Username", "Active", "Status", "Permission", "Locked")
# The answers after which a file must be proposed again: maps the key of each to the name of the decision.
_AGAIN = {HEADER_LINE: "header_line", ROWS: "rows", CONTENT: "content"}
# The key of an answer that changes nothing; its value is the text of the question.
KEEP = "keep"
OUT_OF_DATE = "This form is out of date; choose again"


def set_fields(section: Json, part: ContentProposal, chosen: Mapping[str, str]) -> None:
    headers = {column.header for column in part.columns}
    if not (headers >= chosen.keys() and {METADATA, IGNORED, *FIELDS[part.content]}.issuperset(chosen.values())):
        raise Invalid.on("columns", OUT_OF_DATE)
    taken = [field for field in chosen.values() if field not in (METADATA, IGNORED)]
    if twice := next((field for field in taken if taken.count(field) > 1), None):
        raise Invalid.on("columns", f"Two columns are read as {twice}; choose one")
    # Another file of the group may have other headers.
    others = {header: field for header, field in section["columns"].items() if header not in headers}
    section["columns"] = {
        **others, **{header: field for header, field in chosen.items() if field not in (METADATA, IGNORED)}
    }  # fmt: skip
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


def split(section: Json, part: ContentProposal, column: str, separator: str) -> None:
    if not column:
        section["shape"].pop("split", None)
        return
    known = {**SEPARATORS, **{each: each for each in section["shape"].get("split", {}).values()}}
    if column not in {each.header for each in part.columns} or separator not in known:
        raise Invalid.on("columns", OUT_OF_DATE)
    section["shape"]["split"] = {column: known[separator]}


def choices_of(question: OpenQuestion, shape: Json) -> list[ProposedChoice]:
    """Return the possible answers to a question and, if there is a proposal, an answer that keeps it.

    Answers that change nothing contain the text of the question, so that an answer to one question is not taken for
    an answer to another.
    """
    key = question.choices[0].key if question.choices else ""
    choices = [
        ProposedChoice(each.label, KEEP, question.text) if _changes_nothing(each) else each for each in question.choices
    ]
    has_kept = any(each.key == KEEP for each in choices) or not _has_proposal(key, shape)
    return choices if has_kept else [*choices, ProposedChoice("Keep the proposal", KEEP, question.text)]


def _changes_nothing(choice: ProposedChoice) -> bool:
    return choice.key in FIELDS_ASKED and choice.value == AS_PROPOSED


def _has_proposal(key: str, shape: Json) -> bool:
    """Return whether a question with this key has a proposed answer.

    All questions have one, except those about a word that `values` does not contain.
    """
    field, _, word = key.removeprefix("values.").partition(".")
    return not key.startswith("values.") or not word or word in (shape.get("values") or {}).get(field, {})


def answer(section: Json, choice: ProposedChoice) -> None:
    """Apply an answer: set a key of the shape, such as `values.Active.Q`, or the column of a field."""
    key, value = choice.key, choice.value
    if key == KEEP or _changes_nothing(choice):
        return
    if key == OPPOSITE:
        section["columns"][value], section["shape"]["invert"] = "Active", ["Active"]
    elif key in FIELDS_ASKED:
        pattern = section["shape"].get("join", {}).pop(key, "")
        if pattern.count("{") > 1:
            # Drop `values`: its words come from several joined columns, and do not apply to a single one.
            section["shape"].get("values", {}).pop(key, None)
        section["columns"] = {
            header: field for header, field in section["columns"].items() if value != header and field != key
        }
        section["columns"][value] = key
        if key == "Active":
            _set_inversion(section["shape"], value)
    elif key == SKIP_ROWS:
        _skip_rows(section["shape"], value)
    elif key == FILL_DOWN:
        _fill_down(section["shape"], value)
    elif key == GROUPS:
        read_as_groups(section, value)
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
        elif first == "split" and not value:
            place.pop(rest, None)
        else:
            place[rest] = value
        if first == "join":
            section["columns"] = {header: field for header, field in section["columns"].items() if field != rest}


def decided_again(files: Sequence[FileProposal], chosen: Sequence[tuple[int, ProposedChoice]]) -> dict[str, Json]:
    """Map the name of each file that must be proposed again to the decisions of a person about it.

    `chosen` has the answers, each with the position of its file.
    """
    found: dict[str, Json] = {}
    for at, choice in chosen:
        if choice.key in _AGAIN:
            decided = found.setdefault(files[at].name, _layout(files[at]))
            decided[_AGAIN[choice.key]] = int(choice.value) if choice.key == HEADER_LINE else choice.value
    return found


def _layout(file: FileProposal) -> Json:
    """Return the sheet and list of a file, and its header line if there is no open question about it."""
    choices = [choice for part in file.contents for asked in part.questions for choice in asked.choices]
    is_known = file.header_line is not None and not any(choice.key == HEADER_LINE for choice in choices)
    known = {"header_line": file.header_line} if is_known else {}
    return {"sheet": file.sheet, "records": file.records, **known}


def _skip_rows(shape: Json, value: str) -> None:
    column, *how = value.split(SEPARATOR)
    if how:
        condition = {"column": column, **({"isPast": how[0]} if len(how) == 1 else {how[0]: how[1:]})}
        shape["skipRowsWhere"] = [*shape.get("skipRowsWhere", []), condition]


def _fill_down(shape: Json, column: str) -> None:
    """Repeat the values of a column in the blank cells below them, and keep the rows with these cells."""
    blank = {"column": column, "is": [""]}
    kept = [each for each in shape.pop("skipRowsWhere", []) if each != blank]
    shape.update({FILL_DOWN: [column], **({"skipRowsWhere": kept} if kept else {})})


def _derive_users(shape: Json, across: str) -> None:
    """Set `deriveUsers` if the headers of a matrix are users; remove it if they are groups."""
    if across == "Username":
        shape["deriveUsers"] = True
    elif across == "Group":
        shape.pop("deriveUsers", None)


def keep_open(shape: Json, parts: Sequence[ContentProposal], answered: Sequence[str]) -> None:
    """Remove answered questions, and store the open ones in the shape; imports are held as long as there are any.

    `parts` are the contents that the shape reads, one for each file of its group.
    """
    for part in parts:
        part.questions = [question for question in part.questions if question.text not in answered]
    shape["openQuestions"] = list(dict.fromkeys(question.text for part in parts for question in part.questions))
    if not shape["openQuestions"]:
        del shape["openQuestions"]


def _set_inversion(shape: Json, header: str) -> None:
    others = [field for field in shape.pop("invert", []) if field != "Active"]
    if inverted := [*others, *(["Active"] if is_inverted(header) else [])]:
        shape["invert"] = inverted


def leave_out(shape: Json, part: ContentProposal, differing: Sequence[str]) -> None:
    """Ignore the columns `differing`, in which rows of one account differ: an import would reject such rows."""
    if differing:
        shape["ignore"] = list(dict.fromkeys([*shape.get("ignore", []), *differing]))
    for column in part.columns:
        column.is_ignored = column.is_ignored or column.header in differing
