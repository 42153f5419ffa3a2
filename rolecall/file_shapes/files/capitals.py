"""Ask whether usernames, or names of groups, that differ only in case mean the same account or group."""

from collections import Counter
from collections.abc import Iterable

from rolecall.applications.file_shape import JSON, columns_in
from rolecall.applications.model import Content
from rolecall.core.checking import Json
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# The key of the answer that converts the usernames in all contents of the file to lowercase.
USERNAMES = "join.Username"
_MOST_NAMED = 4


def ask_for_capitals(view: View, parts: Iterable[Part]) -> None:
    """Ask about usernames that differ only in case, in each content from which accounts are read."""
    for part in parts:
        pattern = part.origin("Username")
        is_asked = part.content == Content.USERS or part.shape.get("deriveUsers")
        if pattern is None or not is_asked or not (found := _alike(view, part, pattern)):
            continue
        text = f"{', '.join(found[:_MOST_NAMED])} differ only in case. Are they the same account?"
        same = ProposedChoice("Yes, convert usernames to lowercase", USERNAMES, _in_lowercase(pattern))
        other = ProposedChoice("No, each is a separate account", "Username", AS_PROPOSED)
        part.ask(text, same, other)


def ask_for_capitals_of_groups(view: View, parts: Iterable[Part]) -> None:
    """Ask about up to four names of groups that differ only in case from a usual name; propose the usual one."""
    for part in parts:
        columns = [view.by_header[header] for header in part.columns_of_groups if header in view.by_header]
        if part.content != Content.MEMBERSHIPS or "Group" in part.shape.get("join", {}):
            continue
        split = part.shape.get("split", {})
        counts = Counter(name for each in columns for name in _names_in(each, split.get(each.header)) if name)
        usual: dict[str, str] = {}
        for name, _ in counts.most_common():
            usual.setdefault(name.lower(), name)
        odd = [name for name in counts if usual[name.lower()] != name]
        part.questions = [*part.questions, *(_about_group(name, usual[name.lower()]) for name in odd[:_MOST_NAMED])]


def _names_in(column: Profile, separator: str | None) -> list[str]:
    """Return the names in all cells of a column, with repetitions; split lists into their elements."""
    is_text = separator not in (None, JSON)
    return [part.strip() for value in column.values for part in (value.split(separator) if is_text else [value])]


def _about_group(name: str, usual: str) -> OpenQuestion:
    text = f"{usual} and {name} differ only in case. Are they the same group?"
    same = ProposedChoice(f"Yes, read {name} as {usual}", f"values.Group.{name}", usual)
    return OpenQuestion(text, [same, ProposedChoice("No, each is a separate group", "Username", AS_PROPOSED)])


def _alike(view: View, part: Part, pattern: str) -> list[str]:
    """Return the values that differ only in case, from the columns that form the username."""
    split = part.shape.get("split", {})
    headers = dict.fromkeys(columns_in(pattern))
    columns = [view.by_header[header] for header in headers if header in view.by_header]
    values = dict.fromkeys(value for each in columns for value in values_of(each, split.get(each.header)))
    counts = Counter(map(str.lower, values))
    return sorted((value for value in values if value and counts[value.lower()] > 1), key=str.lower)


def _in_lowercase(pattern: str) -> str:
    return pattern.replace("}", "|lower}")


def lower_usernames(section: Json) -> None:
    """Convert the usernames of a content to lowercase."""
    join = section["shape"].setdefault("join", {})
    header = next((header for header, field in section["columns"].items() if field == "Username"), None)
    if header is not None:
        del section["columns"][header]
        # Do not keep the column as metadata: if it differed between rows of one account, the import would reject them.
        section["shape"]["ignore"] = [*section["shape"].get("ignore", []), header]
    if pattern := join.get("Username") or (f"{{{header}}}" if header else ""):
        join["Username"] = _in_lowercase(pattern)
