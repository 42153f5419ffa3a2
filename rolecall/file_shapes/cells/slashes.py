"""Ask about cells such as `Buyer/Cashier`: several groups, or one whose name has a slash."""

from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part
from rolecall.file_shapes.shapes import ProposedChoice

_SLASH = "/"
_MOST_LOOKED_AT = 200


def split_slashes(part: Part, groups: Profile) -> None:
    """Propose to split cells at slashes, and ask about it, if a part of each such cell also occurs as a whole cell."""
    values = groups.distinct[:_MOST_LOOKED_AT]
    joined = {value: [each.strip() for each in value.split(_SLASH)] for value in values if _SLASH in value}
    alone = {value for value in values if _SLASH not in value}
    # In paths such as corp/web, the last part never occurs as a cell of its own.
    is_list = all(all(parts) and alone.intersection(parts) for parts in joined.values())
    if not joined or not is_list or not any(parts[-1] in alone for parts in joined.values()):
        return
    if groups.separator or groups.header in part.shape.get("split", {}) or "Group" not in part.fields:
        return
    part.shape.setdefault("split", {})[groups.header] = _SLASH
    text = f"{groups.header} has cells such as {next(iter(joined))}. Are these several groups? Proposed: yes."
    several = ProposedChoice("Yes, separated by a slash", "Username", AS_PROPOSED)
    one = ProposedChoice("No, the slash is part of the name", f"split.{groups.header}", "")
    part.ask(text, several, one)
