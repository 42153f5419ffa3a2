"""Ask about commas in a file with one row for each grant: a comma there is often part of a name, not a separator."""

import re
from collections import Counter

from rolecall.file_shapes.header_names import names_of
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

_COMMA = ","
_PLURAL = re.compile(r"[^s]s$")
# Words that begin the second half of a name, as in `Can view, except passwords`.
_CONTINUES = re.compile(
    r",\s*(?:except|excluding|excl|including|incl|without|with|but|only|no|not|limited|other than"
    r"|ohne|außer|ausser|nur|mit|sauf|sans|hors|avec|excepto|salvo|sin|con|solo|eccetto|senza|behalve|zonder|alleen)\b",
    re.IGNORECASE,
)


def ask_for_commas(view: View, part: Part, held: Profile) -> None:
    """Ask whether cells such as `Can view, except passwords` are one name, if accounts have several rows.

    Do not ask if every value between the commas also occurs in another cell, or if the header is a plural: such cells
    are lists.
    """
    separators = part.shape.get("split", {})
    holder = view.by_header.get(part.holder or "")
    if separators.get(held.header) != _COMMA or view.table.merges or holder is None or holder.is_unique:
        return
    if any(map(_PLURAL.search, names_of(held.header)[:1])):
        return
    lists = {value: [each.strip() for each in value.split(_COMMA)] for value in held.distinct}
    counts = Counter(each for parts in lists.values() for each in set(parts))
    doubtful = [value for value, parts in lists.items() if len(parts) > 1 and any(counts[each] < 2 for each in parts)]
    if not doubtful:
        return
    is_list = not any(map(_CONTINUES.search, doubtful)) and all(
        any(counts[each] > 1 for each in lists[value]) for value in doubtful
    )
    if not is_list:
        del separators[held.header]
        part.shape = {key: value for key, value in part.shape.items() if key != "split" or value}
        part.evidence = [each for each in part.evidence if not each.endswith("separated by a comma")]
    proposed = "yes" if is_list else "no"
    what = "permissions" if "Permission" in part.fields else "groups"
    text = f"{held.header} has cells such as {doubtful[0]}. Are these several {what}? Proposed: {proposed}."
    several = ProposedChoice("Yes, separated by a comma", f"split.{held.header}", _COMMA)
    one = ProposedChoice("No, the comma is part of the name", f"split.{held.header}", "")
    part.questions = [*part.questions, OpenQuestion(text, [several, one])]
