"""Choose and clean the columns of memberships: the groups and the usernames."""

from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.header_names import names_of
from rolecall.file_shapes.meanings import Meaning, meanings
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile

# Placeholders that systems write for no group.
_NO_GROUP = {
    "*none", "none", "(none)", "<none>", "n/a", "na", "-", "--", "null", "nogroup", "*n",
    "no access", "no role", "no roles", "no groups",
}  # fmt: skip
_LIKELY = 0.4


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
