"""Ask about groups of several kinds, such as roles and groups, that have the same names in several files."""

from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.core.text import some_of
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import words_of
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.shapes import ProposedChoice

_MOST_NAMED = 3
# Words for kinds of groups in headers.
_KINDS = {
    "role", "roles", "group", "groups", "team", "teams", "profile", "profiles", "agr", "license", "licenses",
    "permissionset", "organization", "project",
}  # fmt: skip


def ask_for_same_groups(files: Sequence[ReadFile]) -> None:
    """Ask whether a role and a group of the same name are one group, if two files of memberships have them."""
    known: list[tuple[ReadFile, str, set[str], dict[str, str]]] = []
    for file in files:
        part = file.parts[0] if file.parts else None
        if part is None or file.view is None or part.content != Content.MEMBERSHIPS or "Group" not in part.fields:
            continue
        header = part.fields["Group"].header
        values = values_of(file.view.by_header[header], part.shape.get("split", {}).get(header))
        names = {name.casefold(): name for name in values if name}
        kinds = words_of(header) & _KINDS
        for other, named, others, listed in known:
            same = [name for key, name in names.items() if key in listed]
            if same and kinds and others and not kinds & others:
                text = (
                    f"{file.sample.name} (column {header}) and {other.sample.name} (column {named}) both have "
                    f"{some_of(same, _MOST_NAMED)}. Is this one group? If not, import one of the files as a separate "
                    "application."
                )
                part.ask(text, ProposedChoice("Yes, one group", "Username", AS_PROPOSED))
        known.append((file, header, kinds, names))
