"""Make the file groups of a proposed connector. Files with the same content share a group."""

from collections.abc import Sequence
from typing import Any

from rolecall.application_imports.read.columns import ALIASES
from rolecall.applications.model import Content, same_header
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.parts import DOUBTFUL

# Keys of shapes whose lists are merged when several files share a file group.
_UNITED = ("ignore", "openQuestions")


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
        elif _is_alike(file, first[content]) and _merge(known, group):
            file.group = known["name"]
        else:
            file.problem = _problem(file, content)
    return [groups[content] for content in dict.fromkeys(file.parts[0].content for file in filled)]


def _is_alike(file: ReadFile, known: ReadFile) -> bool:
    """Return whether a file may share a group: a file that is not recognized must have the same headers."""
    assert file.view
    assert known.view
    return file.parts[0].confidence > DOUBTFUL or file.view.table.headers == known.view.table.headers


def _problem(file: ReadFile, content: Content) -> str:
    if file.parts[0].confidence <= DOUBTFUL:
        return (
            f"its rows are not recognized as accounts, groups or access, and another file has the {content}; give its "
            "columns names such as Username, Group and Permission, or import without this file"
        )
    return (
        f"another file already has {content}, in other columns; import this file as a separate application, "
        "or give both files the same columns"
    )


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


def _merge(known: dict[str, Any], other: dict[str, Any]) -> bool:
    """Merge a second file group into a known one if one mapping fits both, and return whether it does."""
    shapes = [
        {key: value for key, value in (each["shape"] or {}).items() if key not in _UNITED} for each in (known, other)
    ]
    if shapes[0] != shapes[1] or known["encoding"] != other["encoding"]:
        return False
    if known["columns"] != other["columns"]:
        columns = {**_without_aliases(known["columns"]), **_without_aliases(other["columns"])}
        # A mapping cannot read one field from two columns.
        if len(set(columns.values())) < len(columns):
            return False
        known["columns"] = columns
    both = {key: [each for one in (known, other) for each in (one["shape"] or {}).get(key, [])] for key in _UNITED}
    known["shape"] = {**shapes[0], **{key: list(dict.fromkeys(each)) for key, each in both.items() if each}} or None
    known["isMultiple"] = True
    return True


def _without_aliases(columns: dict[str, str]) -> dict[str, str]:
    """Return a mapping without headers that are names or aliases of their field, because they need no mapping."""
    names = {field: {same_header(name) for name in (field, *ALIASES.get(field, ()))} for field in columns.values()}
    return {header: field for header, field in columns.items() if same_header(header) not in names[field]}
