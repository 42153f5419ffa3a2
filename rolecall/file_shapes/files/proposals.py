"""Propose a connector for several files together: the values of one file may decide what a column of another means."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from rolecall.application_imports.read.json_pages import missing_pages
from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.addresses import with_addresses
from rolecall.file_shapes.accounts.realms import ask_for_granted_accounts
from rolecall.file_shapes.accounts.refusals import check_is_about_access
from rolecall.file_shapes.cells.keyed_columns import with_json_lists
from rolecall.file_shapes.files.agreement import (
    agree_on_groups,
    agree_on_usernames,
    leave_out_listed_users,
    leave_out_repeats,
    read_grants_as_memberships,
)
from rolecall.file_shapes.files.by_template import choose_group, fits, parts_by, with_questions
from rolecall.file_shapes.files.capitals import ask_for_capitals, ask_for_capitals_of_groups
from rolecall.file_shapes.files.contents import parts_of
from rolecall.file_shapes.files.file_groups import file_groups
from rolecall.file_shapes.files.group_names import ask_for_group_names
from rolecall.file_shapes.files.other_places import choose_others, left_beside
from rolecall.file_shapes.files.places_of_groups import ask_for_places_of_groups
from rolecall.file_shapes.files.plain_names import ask_for_groups
from rolecall.file_shapes.files.read_files import ReadFile, place_of
from rolecall.file_shapes.files.references import (
    ask_for_ended_groups,
    ask_for_inner_groups,
    ask_for_names,
    ask_for_references,
    ask_for_same_names,
    ask_for_unread_lists,
)
from rolecall.file_shapes.files.same_groups import ask_for_same_groups
from rolecall.file_shapes.files.showing import shown_file
from rolecall.file_shapes.files.understood import state_unlisted
from rolecall.file_shapes.files.unlisted_groups import ask_for_unlisted_groups
from rolecall.file_shapes.parts import view_of
from rolecall.file_shapes.shapes import ProposalDetail
from rolecall.file_shapes.tables.nulls import without_nulls
from rolecall.file_shapes.tables.recognize import recognize
from rolecall.file_shapes.tables.sample import Sample
from rolecall.file_shapes.tables.sample_table import Decided, Unreadable


class Chosen(Decided, frozen=True):
    """The decisions of a person about a file and its first content."""

    content: Content | None = None


class Template(msgspec.Struct, frozen=True):
    """A connector template to read files with, instead of a proposal."""

    name: str
    vendor: str
    files: list[dict[str, Any]]
    # Whether the template is used only if each file can be read and has all columns of one of its file groups.
    # Otherwise, the proposal for all files is made without the template.
    must_fit: bool = False


def propose(
    samples: Sequence[Sample],
    chosen: Mapping[str, Chosen] = MappingProxyType({}),
    template: Template | None = None,
    problems: Mapping[str, str] = MappingProxyType({}),
) -> ProposalDetail:
    """Propose a connector for the files.

    `chosen` maps file names to decisions that override the proposal. `problems` says why some files cannot be read.
    """
    files = [
        ReadFile(sample, problem=problems[sample.name])
        if sample.name in problems
        else _read(sample, chosen.get(sample.name, Chosen()))
        for sample in samples
    ]
    _name_missing_pages(files)
    if template and template.must_fit and not all(file.view and fits(file.view, template.files) for file in files):
        template = None
    if template:
        groups = _by_template(files, template)
    else:
        choose_others(files)
        every = [each for file in files for each in (file, *file.others)]
        decided = [name for name, each in chosen.items() if each.content]
        read_grants_as_memberships(every, decided)
        leave_out_listed_users(every)
        agree_on_usernames(every)
        ask_for_places_of_groups(every)
        agree_on_groups(every)
        leave_out_repeats(every)
        ask_for_groups(every, decided)
        _ask_for_doubts(files, every)
        groups = file_groups(files)
    connector = {"name": "Files", "vendor": template.vendor if template else "", "files": groups}
    is_source = any(group["content"] == Content.IDENTITIES for group in groups)
    shown = [shown_file(file) for file in files]
    read = [each for file in files for each in (file, *file.others) if not file.problem]
    state_unlisted([(part.content, part.shape, part.understood) for each in read for part in each.parts])
    return ProposalDetail(connector, is_source, shown)


def _ask_for_doubts(files: Sequence[ReadFile], every: Sequence[ReadFile]) -> None:
    """Ask about usernames and groups, using all files. `every` also has their other sheets and lists."""
    viewed = [(each.view, each.parts) for each in every if each.view]
    for view, parts in viewed:
        ask_for_capitals(view, parts)
        ask_for_capitals_of_groups(view, parts)
    ask_for_same_groups(files)
    ask_for_references(viewed)
    ask_for_unlisted_groups(every)
    ask_for_granted_accounts(viewed)
    ask_for_inner_groups(viewed)
    ask_for_same_names(viewed)
    ask_for_ended_groups(viewed)
    for view, parts in viewed:
        ask_for_group_names(view, parts)
    for file in files:
        unread = [(place_of(each), each.view) for each in file.left if each.view]
        for view, parts in [(each.view, each.parts) for each in (file, *file.others) if each.view]:
            ask_for_names(view, parts, unread)
            ask_for_unread_lists(view, parts, unread)


def _read(sample: Sample, chosen: Chosen) -> ReadFile:
    try:
        first, *others = [
            with_addresses(view_of(with_json_lists(without_nulls(found)))) for found in recognize(sample, chosen)
        ]
        first.table.rows_of_matrix = chosen.rows
        # By choosing a content, a person decides that the file is about access.
        if chosen.content is None:
            check_is_about_access(first)
    except Unreadable as error:
        return ReadFile(sample, problem=str(error))
    if not first.table.rows:
        return ReadFile(sample, first, problem="there is a header but no row; export the file with its data")
    further = [ReadFile(sample, view, parts_of(view)) for view in others if view.table.rows]
    return ReadFile(sample, first, parts_of(first, chosen.content), others=further)


def _name_missing_pages(files: Sequence[ReadFile]) -> None:
    """Put a warning first in the evidence if the files are only some pages of a list."""
    tables = [file.view.table for file in files if file.view and file.view.table.page]
    missing = missing_pages([table.page for table in tables if table.page])
    for table in tables if missing else ():
        why = f"This looks like one page of several, because {missing}"
        table.evidence.insert(0, f"{why}. Export all pages: an import removes the records that are not in the files")


def _by_template(files: Sequence[ReadFile], template: Template) -> list[dict[str, Any]]:
    """Assign each file to a file group of the template.

    A group without a file becomes optional, and a group with several files accepts several.
    """
    for file in files:
        if file.view is None:
            continue
        # A template decides what is read, so other sheets and lists are not read.
        file.view.table.beside |= left_beside(file.others, [])
        file.others = []
        group = choose_group(file.view, template.files)
        file.group = group["name"] if group else None
        file.parts = parts_by(file.view, group, template.name) if group else []
        if group is None:
            wanted = ", ".join(each["name"] for each in template.files)
            file.problem = (
                f"no file group of the template {template.name} has the columns of this file; "
                f"choose another template, or a file for one of its groups: {wanted}"
            )
    given = [file.group for file in files]
    asking = [_asking(group, files) for group in template.files]
    return [
        {
            **group,
            "isOptional": group["isOptional"] or group["name"] not in given,
            "isMultiple": group["isMultiple"] or given.count(group["name"]) > 1,
        }
        for group in asking
    ]


def _asking(group: dict[str, Any], files: Sequence[ReadFile]) -> dict[str, Any]:
    """Return a file group with the questions about its files: those of the first file that has any."""
    read = [file.parts for file in files if file.group == group["name"]]
    parts = next((parts for parts in read if any(part.questions for part in parts)), [])
    return with_questions(group, parts) if parts else group
