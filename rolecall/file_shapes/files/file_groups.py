"""Make the file groups of a proposed connector. Files with the same content share a group."""

from collections.abc import Sequence
from typing import Any

from rolecall.application_imports.read.columns import ALIASES
from rolecall.applications.model import Content, same_header
from rolecall.file_shapes.accounts.holders import OVERLAP
from rolecall.file_shapes.choices import LEAVE_OUT
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.parts import DOUBTFUL

# Keys of shapes whose lists are merged when several files share a file group.
_UNITED = ("ignore", "openQuestions")
# The columns in which any file of access can be saved.
_PAIRS = {
    Content.MEMBERSHIPS: ("Username", "Group"),
    Content.PERMISSIONS: ("Username", "Permission"),
}


def file_groups(files: Sequence[ReadFile]) -> list[dict[str, Any]]:
    """Return the file groups. Files with the same first content share a group if one mapping fits all of them.

    The group starts from the file that is recognized best; a file that does not fit it gets a `problem`.
    """
    groups: dict[Content, dict[str, Any]] = {}
    first: dict[Content, ReadFile] = {}
    filled = [file for file in files if file.parts]
    for file in sorted(filled, key=lambda file: -file.parts[0].confidence):
        group = _group(file)
        content = file.parts[0].content
        known = groups.get(content)
        if known is None:
            file.group = group["name"]
            groups[content], first[content] = group, file
        elif _is_alike(file, first[content]) and _merge(known, group, _mixed(known, group, file, first[content])):
            file.group = known["name"]
        else:
            file.problem = _problem(file, first[content])
            file.parts[0].questions = []
    return [groups[content] for content in dict.fromkeys(file.parts[0].content for file in filled)]


def _is_alike(file: ReadFile, known: ReadFile) -> bool:
    """Return whether a file may share a group: a file that is not recognized must have the same headers."""
    assert file.view
    assert known.view
    return file.parts[0].confidence > DOUBTFUL or file.view.table.headers == known.view.table.headers


def _problem(file: ReadFile, known: ReadFile) -> str:
    content = file.parts[0].content
    if file.parts[0].confidence <= DOUBTFUL:
        return (
            f"its rows are not recognized as accounts, groups or access, and another file has the {content}; give its "
            "columns names such as Username, Group and Permission, or import without this file"
        )
    if any(choice.key == LEAVE_OUT for asked in file.parts[0].questions for choice in asked.choices):
        return (
            f"its rows name neither accounts nor who has access, and {known.sample.name} already has {content}; leave "
            "this file out, or import it as a separate application"
        )
    assert known.view
    columns = [header for header in known.view.table.headers if header in known.parts[0].columns]
    is_plain = not {"split", "unpivot", "join"} & known.parts[0].shape.keys() and len(columns) > 1
    plain = f"the columns {' and '.join(_PAIRS[content])}" if content in _PAIRS else "the same columns"
    how = f"save this file with the columns {' and '.join(columns)}" if is_plain else f"save both files with {plain}"
    each = ", a row for each pair" if content in _PAIRS else ""
    return (
        f"{known.sample.name} already has {content}, in other columns; {how}{each}, or import this file as a separate "
        "application"
    )


def _mixed(known: dict[str, Any], other: dict[str, Any], file: ReadFile, first: ReadFile) -> dict[str, str] | None:
    """Return one mapping for memberships with other headers, such as roles and profiles; None if there cannot be one.

    Both files must name the same accounts, and no file may have two columns for a field.
    """
    columns = {**known["columns"], **other["columns"]}
    if known["content"] != Content.MEMBERSHIPS or not _name_same_accounts(file, first):
        return None
    for each in (file, first):
        fields = (
            [columns[profile.header] for profile in each.view.profiles if profile.header in columns]
            if each.view
            else []
        )
        if len(fields) > len({*fields}):
            return None
    return columns


def _name_same_accounts(file: ReadFile, other: ReadFile) -> bool:
    """Return whether at least half of the accounts of one file are in the other."""
    first, second = (
        {*each.view.by_header[each.parts[0].fields["Username"].header].distinct}
        if each.view and "Username" in each.parts[0].fields
        else set[str]()
        for each in (file, other)
    )
    return len(first & second) >= OVERLAP * min(len(first), len(second)) > 0


def _group(file: ReadFile) -> dict[str, Any]:
    assert file.view
    first, *others = [*file.parts, *(part for other in file.others for part in other.parts)]
    for part in (first, *others):
        if part.questions:
            part.shape["openQuestions"] = [question.text for question in part.questions]
    shape: dict[str, Any] = dict(first.shape)
    if others:
        shape["contents"] = [{"content": part.content, "columns": part.columns, "shape": part.shape} for part in others]
    return {
        "name": first.content.title(),
        "content": first.content,
        "isOptional": False,
        "isMultiple": False,
        "columns": first.columns,
        "encoding": file.view.table.encoding,
        "allowRejects": False,
        # Set a shape for nested names: without one, nested objects do not become columns.
        "shape": shape if shape or any("." in header for header in first.columns) else None,
    }


def _merge(known: dict[str, Any], other: dict[str, Any], mixed: dict[str, str] | None) -> bool:
    """Merge a second file group into a known one if one mapping fits both, and return whether it does.

    `mixed` is a mapping in which a field may have several headers, if such a mapping fits both.
    """
    shapes = [
        {key: value for key, value in (each["shape"] or {}).items() if key not in _UNITED} for each in (known, other)
    ]
    derives = [shape.pop("deriveUsers", False) for shape in shapes]
    if shapes[0] != shapes[1] or known["encoding"] != other["encoding"]:
        return False
    if any(other["columns"].get(header, field) != field for header, field in known["columns"].items()):
        return False
    if known["columns"] != other["columns"]:
        columns = {**_without_aliases(known["columns"]), **_without_aliases(other["columns"])}
        if len(set(columns.values())) < len(columns):
            if mixed is None:
                return False
            columns = mixed
        known["columns"] = columns
    both = {key: [each for one in (known, other) for each in (one["shape"] or {}).get(key, [])] for key in _UNITED}
    united = {key: list(dict.fromkeys(each)) for key, each in both.items() if each}
    known["shape"] = {**shapes[0], **united, **({"deriveUsers": True} if any(derives) else {})} or None
    known["isMultiple"] = True
    return True


def _without_aliases(columns: dict[str, str]) -> dict[str, str]:
    """Return a mapping without headers that are names or aliases of their field, because they need no mapping."""
    names = {field: {same_header(name) for name in (field, *ALIASES.get(field, ()))} for field in columns.values()}
    return {header: field for header, field in columns.items() if same_header(header) not in names[field]}
