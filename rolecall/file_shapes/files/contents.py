"""Decide which contents a file has, and how to read each. The first matching rule decides; a person may override it."""

from collections.abc import Callable
from typing import Any

from rolecall.applications.file_shape import JSON, columns_in
from rolecall.applications.model import Content
from rolecall.core.secret_names import looks_secret
from rolecall.file_shapes.accounts import holders, people
from rolecall.file_shapes.accounts.directory import end_by_role
from rolecall.file_shapes.accounts.states_of_roles import read_states_of_roles
from rolecall.file_shapes.accounts.unread_locks import ask_for_unread_locks
from rolecall.file_shapes.cells import keyed_lists
from rolecall.file_shapes.cells.commas import ask_for_exceptions
from rolecall.file_shapes.cells.keyed_columns import ask_for_inner_access, ask_for_unread_states
from rolecall.file_shapes.cells.values import add_dates, add_words
from rolecall.file_shapes.columns.header_names import names_access
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.files.own_headers import resolve_headers
from rolecall.file_shapes.grants import (
    access,
    catalogues,
    grants_by_kind,
    group_permissions,
    groups_with_members,
    levels_in_systems,
    matrices,
    members,
    veza,
)
from rolecall.file_shapes.grants.denials import refuse_access
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice
from rolecall.file_shapes.tables.headers import NO_HEADER
from rolecall.file_shapes.tables.last_lines import without_total
from rolecall.file_shapes.tables.nulls import blank_nulls
from rolecall.file_shapes.tables.sample_table import SampleTable
from rolecall.file_shapes.tables.section_titles import ask_for_titles

# The key of an answer that sets the header line.
HEADER_LINE = "headerLine"


def parts_of(view: View, content: Content | None = None) -> list[Part]:
    """Return the contents of a file.

    If a person chose another `content` than the first one found, return only the chosen one.
    """
    found = next(parts for rule in _RULES if (parts := rule(view)))
    if content and found[0].content != content:
        found = _chosen(view, content)
    found = read_states_of_roles(view, found)
    asked = [*ask_for_header(view.table), *ask_for_titles(view.table.titles)]
    found[0].questions = [*found[0].questions, *asked, *ask_for_inner_access(view, found)]
    return [_finished(view, part) for part in found]


def groups_named(view: View, name: Meaning) -> list[Part]:
    """Return the groups of a list whose names are in the column of `name`."""
    return [_finished(view, Part(Content.GROUPS, view.fields_of_groups(name), {}, name.score, [name.evidence]))]


_RULES: tuple[Callable[[View], list[Part]], ...] = (
    veza.find_payload,
    keyed_lists.find_keyed_lists,
    people.find_people,
    holders.find_users_with_pairs,
    matrices.find_matrix,
    access.find_postgres_roles,
    access.find_sap_authorizations,
    members.find_inner_members,
    members.find_inner_holders,
    groups_with_members.find_groups_with_members,
    access.find_permissions,
    access.find_memberships,
    grants_by_kind.find_grants_by_kind,
    levels_in_systems.find_levels,
    catalogues.find_catalogue,
    access.find_groups,
    groups_with_members.find_group_columns,
    group_permissions.find_permissions_of_groups,
    holders.find_users,
)


def _use_whole_name(view: View, part: Part) -> None:
    r"""If names of groups repeat, read a column that adds their place, such as HOST\Staff for Staff."""
    named = view.by_header[part.fields["Group"].header] if "Group" in part.fields else None
    if named is None or named.is_unique:
        return
    for other in view.profiles:
        pairs = zip(named.cells, other.cells, strict=True)
        if other.is_unique and other.is_filled and all(cell.endswith(f"\\{name}") for name, cell in pairs):
            part.fields["Group"] = Meaning(other.header, "Group", 0.9, f"it has {named.header} with its place")
            return


def _chosen(view: View, content: Content) -> list[Part]:
    """Return the content that a person chose, as a rule finds it, or else with the best column for each field."""
    found = [part for rule in _RULES for part in rule(view) if part.content == content]
    found = found or (people.read_people(view) if content == Content.IDENTITIES else [])
    part = found[0] if found else Part(content, view.fields(content), {}, 1.0, ["Chosen by a person"])
    if content == Content.GROUPS and not found:
        _use_whole_name(view, part)
    if content in (Content.MEMBERSHIPS, Content.PERMISSIONS) and part.origin("Username"):
        # Derive the users from the usernames, because only this content of the file is read, and it lists no users.
        part.shape["deriveUsers"] = True
    return [part]


def _finished(view: View, part: Part) -> Part:
    """Complete a content that a rule found: add the layout of rows, formats of dates, words for values and so on."""
    skipped = part.shape.pop("skipRowsWhere", [])
    part.shape = {**structure(view.table), **part.shape}
    part.skip_rows(*skipped)
    _split_attributes(view, part)
    blank_nulls(view.table, part.shape)
    if part.content == Content.USERS:
        end_by_role(view, part)
    resolve_headers(view, part)
    refuse_access(view, part)
    ask_for_unread_states(view, part)
    ask_for_exceptions(view, part)
    add_dates(view, part)
    add_words(view, part)
    if part.content == Content.USERS:
        # Only the first value of these lists is read; do not keep the whole list as metadata too.
        part.ignore(source for path, source in view.table.paths.items() if path == f"{source}[0]")
    if part.content == Content.USERS:
        ask_for_unread_locks(view, part)
    if part.content in (Content.USERS, Content.GROUPS):
        useless = [profile.header for profile in view.profiles if profile.is_useless]
        if useless:
            part.ignore(useless)
            # Put columns of groups and permissions first, because ignoring them loses access.
            named = ", ".join(sorted(useless, key=lambda header: not names_access(header))[:5])
            part.evidence.append(f"Columns with class names in place of values are not kept ({len(useless)}): {named}")
    secret = [profile.header for profile in view.profiles if profile.is_secret]
    if part.content in (Content.USERS, Content.GROUPS):
        part.ignore(header for header in secret if not looks_secret(header))
    if secret and part.content == Content.USERS:
        are = "look like secrets and are" if len(secret) > 1 else "looks like a secret and is"
        part.evidence.append(f"{', '.join(secret)} {are} not kept")
    return part


def _split_attributes(view: View, part: Part) -> None:
    """Split the attribute of groups in LDIF, because entries may have several values of it."""
    group = part.origin("Group") if part.content == Content.MEMBERSHIPS else None
    if view.table.format == "LDIF" and group and not {"split", "unpivot", "records"} & part.shape.keys():
        part.shape["split"] = dict.fromkeys(columns_in(group), JSON)


def ask_for_header(table: SampleTable) -> list[OpenQuestion]:
    """Return a question about which line is the header, or an empty list if that is clear."""
    if table.candidates:
        line = table.candidates[0]
        text = f"Line {line} looks like a header too. Which line is the header?"
        keep = ProposedChoice(f"Leave line {line} out", "skipLines", "1")
        return [OpenQuestion(text, [ProposedChoice(f"Line {line} is the header", HEADER_LINE, str(line)), keep])]
    if table.is_doubtful:
        line = table.header_line or 1
        text = f"No word of line {line} is a known header. Is this line the header?"
        choices = [(f"Line {line} is the header", str(line)), ("The file has no header", str(NO_HEADER))]
        return [OpenQuestion(text, [ProposedChoice(label, HEADER_LINE, value) for label, value in choices])]
    return []


def structure(table: SampleTable) -> dict[str, Any]:
    """Return the keys of the shape that describe where the rows are."""
    shape: dict[str, Any] = {}
    if table.sheet:
        shape["sheet"] = table.sheet
    if table.is_aligned:
        shape["aligned"] = True
    if table.column_starts:
        shape["columnStarts"] = table.column_starts
    if table.format == "CSV":
        if table.delimiter != "," or table.header_line != 1:
            shape["delimiter"] = table.delimiter
        if table.merges:
            shape["mergeExtraFields"] = True
    if table.format in ("CSV", "XLSX", "Aligned text"):
        if table.skip_lines or table.header_line is None:
            shape["headers"] = table.headers
            shape |= {"skipLines": table.skip_lines} if table.skip_lines else {}
        elif table.header_line > 1:
            shape["headerLine"] = table.header_line
        conditions = [without_total(table.headers[0], text) for text in table.totals]
        if conditions or table.left_out:
            shape["skipRowsWhere"] = [*conditions, *(each for each in table.left_out if each not in conditions)]
    if table.fill_down:
        shape["fillDown"] = table.fill_down
    if table.records:
        shape["records"] = table.records
    return shape
