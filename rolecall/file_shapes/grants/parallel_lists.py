"""Read lists of places beside permissions, and ask about lists in several columns that may belong together."""

from rolecall.applications.file_shape import separated_by
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View

# The columns that may have lists of places, holders or levels beside a list of permissions.
_PLACES = ("Header", "Section", "Group")
_BESIDE = (*_PLACES, "Value")
# Separators that are rarely part of a name. Names of places may contain a comma, such as `Berlin, Germany`.
_SURE = (";", "|", "\n")
# Multivalue databases write two colons or a closing bracket between values.
_PARALLEL = ("::", ";", "|", "\n", "]", ",")


def split_places(view: View, part: Part) -> None:
    """Read each value of a list of places as a place of its own.

    If the permissions are a list with as many values, its first value may belong to the first place only. Ask about it,
    because a shape cannot read such pairs.
    """
    permission = view.by_header[part.fields["Permission"].header]
    columns = {field: view.by_header[part.fields[field].header] for field in _BESIDE if field in part.fields}
    columns = {field: each for field, each in columns.items() if each is not permission}
    signs = {each.header: sign for each in columns.values() if (sign := _common_separator(permission, each))}
    for field, column in columns.items():
        sign = signs.get(column.header, column.separator)
        is_list = sign in _SURE or (sign == "," and column.header in signs)
        if field in _PLACES and is_list and (permission.separator == sign or column.header not in signs):
            part.shape.setdefault("split", {})[column.header] = sign
            part.evidence.append(f"{column.header} lists several values, {separated_by(str(sign))}")
    if signs:
        *others, last = [permission.header, *signs]
        text = (
            f"{', '.join(others)} and {last} list values, {separated_by(next(iter(signs.values())))}. "
            "Does every value of one apply to every value of the other? If not, export one row for each pair."
        )
        part.ask(text)


def _common_separator(one: Profile, other: Profile) -> str | None:
    """Return a separator that both columns contain equally often in every row; None if there is none."""
    for sign in _PARALLEL:
        counts = [(a.count(sign), b.count(sign)) for a, b in zip(one.cells, other.cells, strict=True)]
        is_comma = sign == ","
        if is_comma and not one.separator == other.separator == sign:
            continue
        if any(a for a, _ in counts) and all(a == b for a, b in counts):
            return sign
    return None
