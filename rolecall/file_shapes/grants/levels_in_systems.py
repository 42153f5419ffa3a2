"""Recognize rows that give a user a level in a system, such as `ada, CRM, Read`."""

from rolecall.applications.file_shape import separated_by
from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import about_people
from rolecall.file_shapes.cells.groups_held import skip_no_groups
from rolecall.file_shapes.columns.header_names import names_level, names_of
from rolecall.file_shapes.columns.header_words import SCOPES
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.held import with_users
from rolecall.file_shapes.grants.parallel_lists import split_places
from rolecall.file_shapes.parts import Part, View

_SURE = 0.5
_LEVELS = {"level", "access", "accesslevel", "accesstype", "rights", "zugriff", "stufe", "niveau", "nivel"}
_SYSTEMS = SCOPES | {"site", "resource", "service", "tool", "module", "environment", "share", "vault"}


def find_levels(view: View) -> list[Part]:
    """Read the level as the permission, and the system as the place where it applies."""
    fields = view.fields(Content.PERMISSIONS)
    holder, level, system = fields.get("Username"), _level(view), view.named(_SYSTEMS)
    if holder is None or holder.score <= _SURE or level is None or system is None or not system.is_filled:
        return []
    column = view.by_header[holder.header]
    if column in (level, system) or (about_people(view) and column.is_unique):
        return []
    why = f"it says how much each row allows in {system.header}"
    chosen = {
        "Username": holder,
        "Header": Meaning(system.header, "Header", 0.7, "it says where the level applies"),
        "Permission": Meaning(level.header, "Permission", 0.7, why),
    }
    part = Part(
        Content.PERMISSIONS, chosen, {}, 0.7, [f"Each row has the {level.header} of {holder.header} in {system.header}"]
    )
    if level.separator:
        part.shape["split"] = {level.header: level.separator}
        part.evidence.append(f"{level.header} lists several levels, {separated_by(level.separator)}")
    split_places(view, part)
    skip_no_groups(part, level, "permission")
    return with_users(view, part)


def _level(view: View) -> Profile | None:
    """Return the column with levels of access: words, not ticks, numbers or dates."""
    named = [
        each for each in view.profiles if names_level(each.header) or _LEVELS.intersection(names_of(each.header)[:1])
    ]
    fits = [each for each in named if each.values and not (each.ticks or each.numbers == 1 or each.is_dated)]
    return next(iter(fits), None)
