"""Ask about groups that memberships or parents name but the list of groups mostly lacks.

Ask also about permissions of groups that no other file names.
"""

from collections.abc import Iterable, Sequence

from rolecall.applications.model import Content
from rolecall.core.text import counted, some_of
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.cells.values import read_rows
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_MOSTLY = 0.8
_MOST_NAMED = 4


def ask_for_unlisted_groups(files: Sequence[ReadFile]) -> None:
    """Ask whether to import groups that memberships name but the list of groups lacks, if it lacks more than half.

    Ask also about permissions of groups that no other file names.
    """
    _ask_for_holders(files)
    listing = [(file, part) for file in files for part in file.parts if part.content == Content.GROUPS]
    # Do not ask if a list may be incomplete: it is read from a sample, or its names are built from a pattern.
    if not listing or not all(file.view and file.sample.is_whole and "Group" in part.fields for file, part in listing):
        return
    listed = {name.casefold() for file, part in listing for name in _names(file.view, part, part.columns_of_groups)}
    for file in files:
        for part in file.parts:
            if part.content == Content.MEMBERSHIPS and part not in [each for _, each in listing]:
                _ask_for_groups(file.view, part, listed)
    for file, part in listing:
        if file.view and "Parent" in part.fields and "Parent" not in part.shape.get("join", {}):
            _ask_for_parents(file.view, part, part.fields["Parent"], listed)


def _names(view: View | None, part: Part, headers: Iterable[str]) -> list[str]:
    """Return the different values of columns, without those that the content reads as blank."""
    if view is None or "Group" in part.shape.get("join", {}):
        return []
    splits, blank = part.shape.get("split", {}), part.shape.get("blank", [])
    columns = [read_rows(view, part, header) for header in headers]
    found = [name for column in columns for name in values_of(column, splits.get(column.header))]
    return [name for name in dict.fromkeys(found) if name and name not in blank]


def _ask_for_groups(view: View | None, part: Part, listed: set[str]) -> None:
    # Use the column with most of the listed groups: another column may name roles, which are listed elsewhere.
    columns = [_names(view, part, [header]) for header in part.columns_of_groups]
    named = min(columns, key=lambda names: _share(_missing(names, listed), names), default=[])
    missing = _missing(named, listed)
    if 2 * len(missing) <= len(named):
        if missing:
            part.evidence.append(
                f"The list of groups does not have {some_of(missing, _MOST_NAMED)}. Such groups are read too"
            )
        return
    text = (
        f"The memberships name {counted(len(named), 'group')}, and the list of groups does not have "
        f"{_count(missing, named)}: {some_of(missing, _MOST_NAMED)}. Import them as further groups?"
    )
    choice = ProposedChoice("Yes, as further groups", "Username", AS_PROPOSED)
    part.ask(text, choice)


def _ask_for_holders(files: Sequence[ReadFile]) -> None:
    """Ask about permissions of groups if the memberships and groups of the other files have none of these groups."""
    known = (Content.MEMBERSHIPS, Content.GROUPS)
    for file in files:
        held = next(
            (part for part in file.parts if part.content == Content.PERMISSIONS and "Group" in part.fields), None
        )
        others = [(each, part) for each in files if each is not file for part in each.parts if part.content in known]
        is_known = all(each.view and each.sample.is_whole and "Group" in part.fields for each, part in others)
        if held is None or file.view is None or not file.sample.is_whole or not others or not is_known:
            continue
        listed = {name.casefold() for each, part in others for name in _names(each.view, part, part.columns_of_groups)}
        named = _names(file.view, held, held.columns_of_groups)
        if listed and named and _share(_missing(named, listed), named) == 1:
            text = (
                f"{held.fields['Group'].header} names {counted(len(named), 'group')} with permissions, such as "
                f"{some_of(named, _MOST_NAMED)}, and the other files have none of them: no account would have these "
                "permissions through a group. Import them nevertheless?"
            )
            choice = ProposedChoice("Yes, import them", "Permission", AS_PROPOSED)
            held.ask(text, choice)


def _missing(named: Sequence[str], listed: set[str]) -> list[str]:
    return [name for name in named if name.casefold() not in listed]


def _share(missing: Sequence[str], named: Sequence[str]) -> float:
    return len(missing) / len(named) if named else 1.0


def _count(missing: Sequence[str], named: Sequence[str]) -> str:
    if len(missing) == len(named):
        return "this group" if len(named) == 1 else "any of them"
    return f"{len(missing):,} of them"


def _ask_for_parents(view: View, part: Part, parent: Meaning, listed: set[str]) -> None:
    """Ask about parents if most are not names of listed groups. Do not read them if they are IDs of groups."""
    named = _names(view, part, [parent.header])
    missing = _missing(named, listed)
    if 2 * len(missing) <= len(named):
        return
    ids = next((each for each in view.profiles if _identifies(each, missing)), None)
    if ids:
        del part.fields["Parent"]
        naming = part.fields["Group"].header
        text = (
            f"{parent.header} names groups by {ids.header}, not by {naming}. Import the groups without their parents?"
        )
        choice = ProposedChoice("Yes, without parents", "Username", AS_PROPOSED)
    else:
        shown = some_of(missing, _MOST_NAMED)
        text = f"{parent.header} names groups that the file does not list: {shown}. Import them as further groups?"
        choice = ProposedChoice("Yes, as further groups", "Username", AS_PROPOSED)
    part.ask(text, choice)


def _identifies(column: Profile, names: Sequence[str]) -> bool:
    """Return whether a column has a different value in each row, and contains most of these names."""
    return column.is_unique and len({*names} & {*column.distinct}) >= _MOSTLY * len(names)
