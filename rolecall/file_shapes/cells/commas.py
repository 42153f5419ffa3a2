"""Ask about cells such as `Manager, Sales`: several groups or permissions, or one whose name has a comma."""

import re
from collections import Counter

from rolecall.file_shapes.columns.header_names import names_of
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_COMMA = ","
_PLURAL = re.compile(r"[^s]s$")
# Words that begin the second half of a name, as in `Can view, except passwords`.
_CONTINUES = re.compile(
    r",\s*(?:except|excluding|excl|including|incl|without|with|but|only|no|not|limited|other than"
    r"|ohne|außer|ausser|nur|mit|sauf|sans|hors|avec|excepto|salvo|sin|con|solo|eccetto|senza|behalve|zonder|alleen)\b",
    re.IGNORECASE,
)


def ask_for_commas(view: View, part: Part, held: Profile) -> None:
    """Ask whether cells such as `Can view, except passwords` are one name or a list.

    Do not ask if the header is a plural, or if each value in the lists also occurs in another cell. If each account has
    one row, one such value is enough.
    """
    separators = part.shape.get("split", {})
    is_plural = any(map(_PLURAL.search, names_of(held.header)[:1]))
    if separators.get(held.header) != _COMMA or view.table.merges or is_plural:
        return
    lists = {value: [each.strip() for each in value.split(_COMMA)] for value in held.distinct}
    counts = Counter(each for parts in lists.values() for each in set(parts))
    several = {value: [counts[each] > 1 for each in parts] for value, parts in lists.items() if len(parts) > 1}
    doubtful = [value for value, shared in several.items() if not all(shared)]
    holder = view.by_header.get(part.holder or "")
    is_once = holder is None or holder.is_unique
    if not doubtful or (is_once and any(map(any, several.values()))):
        return
    is_list = not any(map(_CONTINUES.search, doubtful)) and all(any(several[value]) for value in doubtful)
    _ask_if_several(part, held, doubtful[0], is_list=is_list)


def ask_for_exceptions(view: View, part: Part) -> None:
    """Read `Can view, except passwords` as one name in columns of groups and permissions, and ask about it.

    Otherwise a person would seem to have the permission that the second half excludes. Skip columns that already have a
    question about their commas.
    """
    across = part.shape.get("unpivot", {}).get("columns", [])
    read = [part.fields[field].header for field in ("Group", "Permission") if field in part.fields]
    answers = {choice.key for question in part.questions for choice in question.choices}
    split = [header for header, separator in part.shape.get("split", {}).items() if separator == _COMMA]
    for header in [each for each in split if each in (*across, *read) and f"split.{each}" not in answers]:
        column = view.by_header[header]
        if example := next(filter(_CONTINUES.search, column.distinct), None):
            _ask_if_several(part, column, example, is_list=False)


def _ask_if_several(part: Part, held: Profile, example: str, *, is_list: bool) -> None:
    if not is_list:
        del part.shape["split"][held.header]
        part.shape = {key: value for key, value in part.shape.items() if key != "split" or value}
        part.evidence = [each for each in part.evidence if "separated by a comma" not in each]
    proposed = "yes" if is_list else "no"
    what = "permissions" if "Permission" in part.fields else "groups"
    text = f"{held.header} has cells such as {example}. Are these several {what}? Proposed: {proposed}."
    split = ProposedChoice("Yes, separated by a comma", f"split.{held.header}", _COMMA)
    one = ProposedChoice("No, the comma is part of the name", f"split.{held.header}", "")
    part.ask(text, split, one)
