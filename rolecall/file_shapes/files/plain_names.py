"""Ask what rows with a name are if nothing in the files says that they are groups.

They may be products, servers or tickets, or permissions that nobody is said to have.
"""

import re
from collections.abc import Collection, Sequence, Set

from rolecall.applications.file_shape import columns_in
from rolecall.applications.model import Content
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT, LEAVE_OUT
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.header_words import OF_GROUPS
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.grants.catalogues import lists_permissions
from rolecall.file_shapes.grants.matrix_rows import are_roles
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# The confidence in groups if a list has permissions that another file grants.
_UNLIKELY = 0.4
# Headers that may name anything.
_ANYTHING = {"name", "displayname", "cn", "title", "label", "id", "key"}
_GROUPS = re.compile(
    r"group|grp|role|team|profile|permission|privilege|entitlement|membership|access|cohort|gruppe|rolle|grupo|gruppo"
    r"|ruolo|groep|perfil",
    re.IGNORECASE,
)
# Headers that show that the rows are groups, besides those with words for groups.
_OF_GROUPS = {"members", "member", "membercount", "users", "usercount", "parent", "parents", "memberof", "objectclass"}


def ask_for_groups(files: Sequence[ReadFile], chosen: Collection[str]) -> None:
    """Ask what the rows of a file are if they are read as groups only because they have a name.

    `chosen` has the names of the files whose content a person chose; do not ask about them.
    """
    named = _named_groups(files)
    for file in files:
        part = file.parts[0] if len(file.parts) == 1 else None
        is_open = part is not None and part.content == Content.GROUPS and file.sample.name not in chosen
        if not file.view or not part or not is_open:
            continue
        if named & _values(file.view):
            continue
        if lists_permissions(file.view, part) or _granting(files, file.view):
            _ask_for_catalogue(files, file.view, part)
        elif not _says_groups(file, file.view, part):
            _ask(file.view, part, _leaving_out(files, "Neither: leave the file out"))


def _named_groups(files: Sequence[ReadFile]) -> set[str]:
    """Return the groups that other contents name."""
    found: set[str] = set()
    for file in files:
        for part in [each for each in file.parts if each.content != Content.GROUPS]:
            for header in part.columns_of_groups:
                split = part.shape.get("split", {}).get(header)
                found.update(values_of(file.view.by_header[header], split) if file.view else ())
    return found - {""}


def _values(view: View) -> set[str]:
    return {value for each in view.profiles if each.is_unique for value in each.distinct}


def _says_groups(file: ReadFile, view: View, part: Part) -> bool:
    """Return whether a header, most names, or the name of the file, sheet or list says that the rows are groups."""
    group = part.fields.get("Group")
    if group is None or names_of(group.header)[:1] == [] or names_of(group.header)[0] not in _ANYTHING:
        return True
    if are_roles(view.by_header[group.header].distinct):
        return True
    table, headers = view.table, [each.header for each in view.profiles]
    places = (file.sample.name, table.records or "", table.sheet or "", table.name)
    is_named = any(map(_GROUPS.search, (*places, *headers)))
    return is_named or any(OF_GROUPS.union(_OF_GROUPS).intersection(names_of(header)) for header in headers)


def _ask(view: View, part: Part, leaving_out: Sequence[ProposedChoice]) -> None:
    header = part.fields["Group"].header
    first = ", ".join(view.by_header[header].distinct[:3])
    text = (
        f"No header names accounts, groups or permissions. What are the rows of {header}, such as {first}? If they are "
        "none of these, do not import the file."
    )
    choices = [
        ProposedChoice("Groups or roles", "Username", AS_PROPOSED),
        ProposedChoice("Accounts", CONTENT, Content.USERS),
        *leaving_out,
    ]
    part.questions = [OpenQuestion(text, choices), *part.questions]


def _leaving_out(files: Sequence[ReadFile], label: str) -> list[ProposedChoice]:
    """Return the choice to leave a file out, if there are others."""
    return [ProposedChoice(label, LEAVE_OUT, "")] if len({file.sample.name for file in files}) > 1 else []


def _ask_for_catalogue(files: Sequence[ReadFile], view: View, part: Part) -> None:
    """Ask whether to import permissions without holders as groups. If another file grants them, advise against it."""
    named = [view.by_header[header] for header in columns_in(part.origin("Group") or "")]
    first = ", ".join(named[-1].distinct[:3])
    grants = _granting(files, view)
    text = f"The rows list permissions, such as {first}, and no column names who has them. What are they?"
    if grants:
        # Another list of groups is more likely to be one.
        part.confidence = _UNLIKELY
        text += f" {grants.sample.name} says who has them and needs no such list."
    choices = [
        ProposedChoice("A catalogue of entitlements: import them as groups", "Username", AS_PROPOSED),
        *_leaving_out(files, "Leave the file out"),
    ]
    if len(choices) == 1:
        text += " If accounts are granted these permissions, import the file that says so instead."
    part.questions = [OpenQuestion(text, choices[::-1] if grants else choices), *part.questions]


def _granting(files: Sequence[ReadFile], view: View) -> ReadFile | None:
    """Return another file that grants at least half of the permissions in a list, by their names or IDs, or None."""
    names = [{*each.distinct} for each in view.profiles if _names_permission(each.header) or each.is_unique]
    others = [file for file in files if file.view is not view]
    return next((file for file in others if any(_grants(file, each) for each in names)), None)


def _grants(file: ReadFile, names: Set[str]) -> bool:
    """Return whether at least half of the permissions of a file are among these names, or the other way round."""
    parts = [part for part in file.parts if part.content == Content.PERMISSIONS and part.origin("Permission")]
    headers = [header for part in parts for header in columns_in(part.origin("Permission") or "")]
    found = [file.view.by_header[header] for header in headers if file.view and header in file.view.by_header]
    found = [each for each in found if _names_permission(each.header)]
    return any(2 * len(names & {*each.distinct}) >= min(len(names), len(each.distinct)) > 0 for each in found)


def _names_permission(header: str) -> bool:
    return bool(words_of(header) & {"permission", "permissions", "privilege", "privileges", "entitlement", "right"})
