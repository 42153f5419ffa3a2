"""Decide which other sheets of a workbook, or lists of a JSON file, are read too."""

from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import OVERLAP, overlap
from rolecall.file_shapes.columns.header_names import names_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.files.contents import groups_named
from rolecall.file_shapes.files.read_files import ReadFile, place_of
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.tables.headers import known_words
from rolecall.file_shapes.tables.sample_table import SampleTable

_NAMES = (["name"], ["displayname"], ["title"], ["label"])


def choose_others(files: Sequence[ReadFile]) -> None:
    """Also read other sheets and lists with known headers, if no file gives their contents yet.

    Do not do so for a file of people. List the unread ones in the evidence.
    """
    taken = {part.content for file in files for part in file.parts}
    for file in files:
        kept: list[ReadFile] = []
        left: list[ReadFile] = []
        for other in file.others:
            new = _new_parts(files, [file, *kept], other, taken)
            if file.parts[0].content == Content.IDENTITIES or not _is_sure(other) or not new:
                left.append(other)
                continue
            other.parts = new
            taken.update(part.content for part in new)
            kept.append(other)
        file.others, file.left = kept, left
    _read_names(files, taken)
    for file in [each for each in files if each.view]:
        assert file.view
        found = file.view.table
        read = {found.sheet, *(other.view.table.sheet for other in file.others if other.view)}
        unread = [name for name in found.sheets if name not in read] if found.sheet else []
        found.evidence += [*map(_read_too, file.others), *_not_read(file.left, unread), *_inner_lists(found)]
        found.beside |= left_beside(file.left, unread)


def _is_sure(other: ReadFile) -> bool:
    """Return whether the headers are known, or the table is a matrix."""
    assert other.view
    has_header = other.view.table.header_line is not None or bool(other.view.table.skip_lines)
    is_matrix = has_header and any("unpivot" in part.shape for part in other.parts)
    return (is_matrix or known_words(other.view.table.headers) > 1) and not other.view.table.is_doubtful


def _new_parts(files: Sequence[ReadFile], own: Sequence[ReadFile], other: ReadFile, taken: set[Content]) -> list[Part]:
    """Return the contents of a sheet or list if no file gives them yet; return an empty list if some file does.

    Without its users, a sheet of grants is read too if another sheet or file lists these users.
    """
    new = [part for part in other.parts if part.content not in taken]
    rest = {part.content for part in other.parts} - {part.content for part in new}
    is_complete = not rest or (rest == {Content.USERS} and _are_listed(other, new, [*files, *own]))
    return new if is_complete else []


def _are_listed(other: ReadFile, grants: Sequence[Part], files: Sequence[ReadFile]) -> bool:
    """Return whether the users of a file have at least half of the accounts that these grants name."""
    held = next((part.holder for part in grants if part.holder), None)
    column = other.view.by_header.get(held) if other.view and held else None
    listing = [file.view for file in files if any(part.content == Content.USERS for part in file.parts)]
    named = {*column.distinct} if column else set[str]()
    return any(overlap(each, named) >= OVERLAP for view in listing if view and named for each in view.profiles)


def _read_names(files: Sequence[ReadFile], taken: set[Content]) -> None:
    """Read a list with the names of groups that memberships name by IDs as the list of groups."""
    if Content.GROUPS in taken:
        return
    ids = [column for file in files for each in (file, *file.others) for column in _ids_of_groups(each)]
    for file in files:
        for other in file.left:
            if other.view and (column := _names_of(other.view, ids)):
                why = f"Memberships name groups by IDs, and {column.header} has their names"
                other.parts = groups_named(other.view, Meaning(column.header, "Group", 0.7, why))
                file.left.remove(other)
                file.others.append(other)
                return


def _ids_of_groups(file: ReadFile) -> list[Profile]:
    parts = [part for part in file.parts if part.content == Content.MEMBERSHIPS and "Group" in part.fields]
    found = [file.view.by_header[part.fields["Group"].header] for part in parts if file.view]
    return [each for each in found if each.is_opaque]


def _names_of(view: View, ids: Sequence[Profile]) -> Profile | None:
    """Return the column with the names of the groups with these IDs; None if the list does not have most of them."""
    keys = [each for each in view.profiles if each.is_unique]
    has_ids = any(2 * len({*each.distinct} & {*key.distinct}) > len(each.distinct) for each in ids for key in keys)
    named = [each for each in view.profiles if has_ids and names_of(each.header)[:1] in _NAMES]
    return next((each for each in named if each.is_filled and each.is_unique and not each.is_opaque), None)


def _read_too(other: ReadFile) -> str:
    contents = " and ".join(part.content for part in other.parts)
    return f"{place_of(other)} gives {contents}"


def _not_read(others: Sequence[ReadFile], sheets: Sequence[str]) -> list[str]:
    if not others and not sheets:
        return []
    lists = [f"{place_of(each)} ({len(each.view.table.rows):,})" for each in others if each.view and not sheets]
    named = ", ".join([*lists, *(f"sheet {name}" for name in sheets)])
    return [f"Not read: {named}. Choose one of them to read it instead, or import it as a separate application"]


def left_beside(others: Sequence[ReadFile], sheets: Sequence[str]) -> dict[str, str]:
    """Map each unread sheet or list to its first headers, or to an empty string if these are not known."""
    left = {place_of(each): ", ".join(each.view.table.headers[:5]) for each in others if each.view}
    return {**{f"sheet {name}": "" for name in sheets}, **left}


def _inner_lists(found: SampleTable) -> list[str]:
    """Describe the lists inside records that could be read instead."""
    inner = [path for path in found.choices if path.startswith(f"{found.records or ''}[].")]
    return [f"Each record has lists inside: {', '.join(inner[:5])}. Choose one to read its entries"] if inner else []
