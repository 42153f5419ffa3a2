"""Find the place where a role applies, such as a database: in the objects of a list, or in another column."""

from rolecall.core.nested_json import decode_nested
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.header_words import SCOPES
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_PLACES = SCOPES | {
    "db", "namespace", "realm", "organization", "organisation", "site", "domain", "environment", "space",
}  # fmt: skip
# Words in names of JSON members that contain the place of a role, such as teamSlug.
PLACE_WORDS = _PLACES | {"team", "group", "org", "account", "zone"}
_FORMATS = ("JSON", "JSON lines")
# Names of columns beside a role that say in which system or for which object each account has it. The entity of a
# person is an employer, not a system.
_SYSTEMS = SCOPES - {"entity", "entityname"} | {"resource", "resourcename", "channel", "channelname", "targetsystem"}
_ROLES = {"role", "roles"}
_MOST_SHOWN = 2


def ask_for_systems(view: View, part: Part, groups: Profile) -> None:
    """Ask whether roles of one name are several roles, because the accounts have them in several systems."""
    origin = part.origin("Group")
    others = [each for each in view.profiles if each.is_filled and not (each.is_list or each.is_object or each.ticks)]
    named = [each for each in others if _SYSTEMS.intersection(names_of(each.header)) and each is not groups]
    differing = [each for each in named if _has_several(groups, each)]
    if not differing or origin is None or not words_of(groups.header) & _ROLES or "|" in origin:
        return
    system = differing[0]
    shown = ", ".join(system.distinct[:_MOST_SHOWN])
    text = (
        f"{groups.header} has the same values in rows with different {system.header} ({shown}). "
        f"Does {system.header} say where each role applies?"
    )
    pattern = f"{origin}{{{system.header}|unless({groups.header}=)|prefix(: )}}"
    yes = ProposedChoice(f"Yes, add {system.header} to the name", "join.Group", pattern)
    part.ask(text, yes, ProposedChoice("No, it is the same role", "Username", AS_PROPOSED))


def _has_several(groups: Profile, system: Profile) -> bool:
    """Return whether some group occurs with several values of another column."""
    pairs = {pair for pair in zip(groups.cells, system.cells, strict=True) if pair[0].strip()}
    return len(pairs) > len(groups.distinct)


def name_with_scope(view: View, part: Part, groups: Profile) -> bool:
    """Use group names such as `shop: reader` if roles of one name belong to different places; return whether they do.

    Read a record for each entry of the list: two columns of lists would not show which role belongs to which place.
    """
    scope = scope_of(view, groups)
    if scope is None:
        return False
    outer, _, member = groups.header.partition("[].")
    part.fields.pop("Group", None)
    part.shape["records"] = f"{view.table.records or ''}[].{outer}[]"
    part.shape.setdefault("join", {})["Group"] = f"{{{outer}.{scope}|suffix(:)}} {{{outer}.{member}}}"
    part.evidence.append(f"The same {member} occurs with several {outer}[].{scope}, so names of groups contain both")
    return True


def scope_of(view: View, groups: Profile) -> str | None:
    """Return the member with the place that distinguishes objects of the same name; None if there is no such member."""
    outer, _, member = groups.header.partition("[].")
    records = view.table.records or ""
    if not member or "[]" in f"{records}{member}" or records == "$" or view.table.format not in _FORMATS:
        return None
    listed = view.by_header.get(outer) or groups
    entries = [entry for cell in listed.cells for entry in entries_in(cell)]
    members = dict.fromkeys(name for entry in entries for name in entry)
    for scope in [each for each in members if each != member and _PLACES.intersection(names_of(each))]:
        places = [entry.get(scope) for entry in entries]
        pairs = {(str(entry.get(member)), str(place)) for entry, place in zip(entries, places, strict=True)}
        texts = all(isinstance(place, str | None) for place in places) and any(places)
        if texts and len(pairs) > len({name for name, _ in pairs}):
            return scope
    return None


def entries_in(cell: str) -> list[dict[str, object]]:
    """Return the objects in a cell with a JSON list of objects."""
    if not cell.startswith("[{"):
        return []
    return [entry for entry in decode_nested(cell, list[object]) if isinstance(entry, dict)]
