"""Ask about places in the names of groups, such as `Clerk: East`, if another file has the groups without places."""

import re
from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.core.text import some_of
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Matches a column of groups and then columns of places, in a pattern as places.py writes it.
_WITH_PLACES = re.compile(r"\{([^{}|]+)\}((?:\{[^{}|]+\|unless\([^{}|]+\)\|prefix\(: \)\})+)")
_PLACE = re.compile(r"\{([^{}|]+)\|")
_MOSTLY = 0.5
_MOST_NAMED = 2


def ask_for_places_of_groups(files: Sequence[ReadFile]) -> None:
    """Ask whether to add places to the names of groups, if another file names the same groups without places.

    The proposal is to leave the places out. With places, the permissions of these groups would reach no member.
    """
    for file in files:
        for part in file.parts:
            pattern = part.shape.get("join", {}).get("Group", "")
            found = _WITH_PLACES.fullmatch(pattern) if part.content == Content.MEMBERSHIPS and file.view else None
            if found is None or file.view is None:
                continue
            others = [each for each in files if each is not file and _names_groups(each, file.view, found[1])]
            if others:
                _ask(file.view, part, found[1], _PLACE.findall(found[2]), others[0])


def _names_groups(file: ReadFile, view: View, header: str) -> bool:
    """Return whether a file lists most of the groups in a column, or has permissions of some of them."""
    named = {*view.by_header[header].distinct}
    for part in file.parts:
        if file.view is None:
            continue
        columns = [file.view.by_header[each] for each in part.columns_of_groups]
        if part.content == Content.PERMISSIONS and any(named.intersection(each.distinct) for each in columns):
            return True
        unique = [each for each in file.view.profiles if each.is_unique and part.content == Content.GROUPS]
        if any(len(named.intersection(each.distinct)) >= _MOSTLY * len(named) for each in unique):
            return True
    return False


def _ask(view: View, part: Part, header: str, places: Sequence[str], other: ReadFile) -> None:
    joins = part.shape["join"]
    pattern = joins.pop("Group")
    if not joins:
        del part.shape["join"]
    column, place = view.by_header[header], " and ".join(places)
    part.fields["Group"] = Meaning(header, "Group", 0.7, f"{other.sample.name} names groups in the same way")
    part.evidence = [text for text in part.evidence if "becomes part of the name" not in text]
    cells = [view.by_header[each].cells[0].strip() for each in places]
    example = ": ".join([column.cells[0].strip(), *cells])
    shown = some_of(view.by_header[places[0]].distinct, _MOST_NAMED)
    text = (
        f"Some rows differ only in {place} ({shown}), and {other.sample.name} names the groups by {header} alone. "
        f"Add {place} to their names, as in {example}? The groups then no longer match those of "
        f"{other.sample.name}, and do not have their permissions."
    )
    no = ProposedChoice(f"No, {header} alone", "Username", AS_PROPOSED)
    yes = ProposedChoice(f"Yes, add {place} to the names", "join.Group", pattern)
    part.ask(text, no, yes)
