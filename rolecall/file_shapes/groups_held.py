"""Choose and clean the columns of memberships: the groups and the usernames."""

import re
from collections import Counter
from collections.abc import Collection

from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.header_names import is_known_header, known_for, names_of
from rolecall.file_shapes.meanings import Meaning, meanings
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile

# Placeholders that systems write for no group.
_NO_GROUP = {
    "*none", "none", "(none)", "<none>", "n/a", "na", "-", "--", "null", "nogroup", "*n",
    "no access", "no role", "no roles", "no groups",
}  # fmt: skip
_LIKELY = 0.4
_LISTING = {";", "|", "\n", "json"}
_NUMBERED = re.compile(r"(.*?[^\W\d])[ _.-]*[\[(]?\d{1,2}[\])]?")


def use_filled_group(view: View, fields: dict[str, Meaning]) -> None:
    """Read groups from a column without blank cells, if the column with the best header has blank cells."""
    if "Group" not in fields or view.by_header[fields["Group"].header].is_filled:
        return
    taken = {meaning.header for meaning in fields.values()}
    for other in meanings(Content.MEMBERSHIPS, view.profiles):
        column = view.by_header[other.header]
        is_other = other.field == "Group" and other.score > _LIKELY and other.header not in taken
        if is_other and column.is_filled and not column.ticks and not column.is_opaque:
            fields["Group"] = other
            return


def numbered_groups(view: View) -> list[str]:
    """Return the headers of columns such as Group 1 and Group 2, which name one group each."""
    found: dict[str, list[str]] = {}
    for column in view.profiles:
        match = _NUMBERED.fullmatch(column.header.strip())
        if match and column.values and not column.ticks and not column.numbers and not column.is_dated:
            found.setdefault(match[1], []).append(column.header)
    several = [headers for stem, headers in found.items() if len(headers) > 1 and _names_groups(stem)]
    return max(several, key=len, default=[])


def _names_groups(stem: str) -> bool:
    return bool(known_for("Group").intersection(names_of(stem)))


def name_unread_lists(view: View, read: Collection[str]) -> list[str]:
    """Return evidence that names unread columns of lists in which several accounts have the same value."""
    found = [each.header for each in view.profiles if each.header not in read and _is_shared_list(each)]
    return (
        [f"{', '.join(found[:5])} lists several values and is kept unchanged: it does not name groups"] if found else []
    )


def _is_shared_list(column: Profile) -> bool:
    if is_known_header(column.header) or column.separator not in _LISTING or column.distinguished_names:
        return False
    lists = column.lists if column.is_list else [re.split(r"[;|\n,\[\]{}]+", cell) for cell in column.cells]
    counts = Counter(value.strip() for values in lists for value in set(values) if value.strip())
    return any(1 < count < len(lists) for count in counts.values()) and max(map(len, lists)) > 1


def use_login(view: View, fields: dict[str, Meaning]) -> None:
    """Read a column `name` with logins as the username, rather than the column with e-mail addresses."""
    holder, named = fields.get("Username"), view.named(["name"])
    if holder is None or named is None or view.by_header[holder.header].emails < 1:
        return
    pairs = set(zip(view.by_header[holder.header].cells, named.cells, strict=True))
    is_same = len(pairs) == len(named.distinct) == len(view.by_header[holder.header].distinct)
    if is_same and named.is_login and named.is_filled and names_of(named.header)[:1] == ["name"]:
        fields["Username"] = Meaning(
            named.header, "Username", 0.7, f"its values are logins, one for each {holder.header}"
        )


def skip_no_groups(part: Part, groups: Profile, what: str = "group") -> None:
    """Leave out rows without a group. Their accounts are still read as users of the same file."""
    separator = part.shape.get("split", {}).get(groups.header)
    is_text = separator not in (None, "json")
    parts = {each.strip() for value in groups.distinct for each in (value.split(separator) if is_text else [value])}
    words = sorted(word for word in parts if fold(word) in _NO_GROUP)
    if not groups.is_filled and separator is None and what == "group":
        words.append("")
    if words:
        part.skip_rows({"column": groups.header, "is": words})
    if named := ", ".join(filter(None, words)):
        part.evidence.append(f"{named} in {groups.header} means that there is no {what}")
