"""Read the members of groups from JSON objects whose keys are the members or the roles of the members."""

from collections.abc import Sequence

from rolecall.application_imports.read.keyed_values import BETWEEN, are_levels
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part
from rolecall.file_shapes.shapes import ProposedChoice

_MOST_NAMED = 3


def read_keyed_members(part: Part, naming: Profile, members: Profile) -> None:
    """Read members of groups and their levels, as in `{"ada": "owner"}`, or roles, as in `{"owners": ["ada"]}`.

    Ask whether to add the levels to the names of the groups, or whether the keys are roles.
    """
    if not members.is_keyed:
        return
    pairs = [value.partition(BETWEEN) for value in members.distinct if BETWEEN in value]
    names, values = ([*dict.fromkeys(pair[at] for pair in pairs)] for at in (0, 2))
    before, after = (f"{{{members.header}|{filter}({BETWEEN})}}" for filter in ("before", "after"))
    part.fields.pop("Username", None)
    join = part.shape.setdefault("join", {})
    join["Username"] = before
    if pairs and are_levels(values):
        levels = f"{members.header} has a level of each member, such as {values[0]} for {names[0]}"
        example = f"{next(iter(naming.distinct), naming.header)}{BETWEEN}{values[0]}"
        choices = [
            ProposedChoice(f"Yes, as in {example}", "join.Group", f"{{{naming.header}}}{BETWEEN}{after}"),
            ProposedChoice("No, leave the levels out", "join.Username", before),
        ]
        part.ask(f"{levels}. Add the level to the name of the group?", *choices)
    elif pairs:
        del part.fields["Group"]
        join |= {"Username": after, "Group": f"{{{naming.header}}}{BETWEEN}{before}"}
        otherwise = "If not, exchange the filters before and after in join.Username and join.Group"
        choices = [ProposedChoice(f"Yes, {_listed(values)} are members", "join.Username", after)]
        text = (
            f"{members.header} lists {values[0]} under {names[0]}. Are {_listed(values)} members, and "
            f"{_listed(names)} their roles? {otherwise}"
        )
        part.ask(text, *choices)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED])
