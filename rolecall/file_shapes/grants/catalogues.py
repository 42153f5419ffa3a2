"""Recognize lists of permissions that name no holders, such as a catalogue of entitlements."""

from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import about_people
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View

_SURE = 0.5
# Headers of permissions, and words in names of their lists. Others, such as action and function, name other things too.
_HEADERS = {
    "permission", "permissions", "permissionname", "permissioncode", "permissionkey", "permissionid", "entitlement",
    "entitlements", "entitlementname", "entitlementvalue", "entitlementid", "privilege", "privileges", "privilegename",
    "privilegecode", "privilegeid", "right", "rights", "rightname", "authorization", "authorizationname", "tcode",
    "capability", "capabilityname", "berechtigung", "berechtigungen", "droit", "permiso",
}  # fmt: skip
_LISTS = {"permission", "permissions", "entitlement", "entitlements", "privilege", "privileges", "capabilities"}
_IN_LISTS = ("name", "displayname", "code", "key", "value", "id")
_PLACES = ("Header", "Section")
_BETWEEN = " / "


def find_catalogue(view: View) -> list[Part]:
    """Return the permissions as groups without members. The rows name neither accounts nor groups."""
    fields = view.fields(Content.PERMISSIONS)
    people = about_people(view) - {"Active", "Name"}
    holders = [field for field in ("Username", "Group") if field in fields and fields[field].score > _SURE]
    column = _permission(view)
    if people or column is None or any(fields[field].header != column.header for field in holders):
        return []
    why = "it names permissions, and no column names who has them"
    groups = view.fields_of_groups(Meaning(column.header, "Group", 0.6, why))
    part = Part(Content.GROUPS, groups, {}, 0.6, [f"{column.header} names permissions, and no column names holders"])
    if not column.is_unique:
        _add_places(view, part, column)
    return [part] if column.is_unique or "join" in part.shape else []


def lists_permissions(view: View, part: Part) -> bool:
    """Return whether a content of groups is such a list of permissions."""
    column = _permission(view)
    return (
        part.content == Content.GROUPS and column is not None and f"{{{column.header}}}" in (part.origin("Group") or "")
    )


def _permission(view: View) -> Profile | None:
    """Return the column with the names of the permissions: rather texts than numbers."""
    named = [each for each in view.profiles if _HEADERS.intersection(names_of(each.header)[:1])]
    # Objects and lists inside the records may name holders.
    is_flat = not any(each.is_list or each.is_object for each in view.profiles)
    if not named and is_flat and words_of((view.table.records or "").rpartition(".")[2]) & _LISTS:
        found = {names_of(each.header)[0]: each for each in reversed(view.profiles) if names_of(each.header)}
        named = [found[name] for name in _IN_LISTS if name in found]
    filled = [each for each in named if each.is_filled and not (each.ticks or each.is_list)]
    return min(filled, key=lambda each: (each.numbers == 1, not each.is_unique), default=None)


def _add_places(view: View, part: Part, column: Profile) -> None:
    """Name each permission with its places, as in `Billing / View`, if the name alone is not unique."""
    fields = view.fields(Content.PERMISSIONS, [column.header])
    places = [view.by_header[fields[field].header] for field in _PLACES if field in fields]
    places = sorted((each for each in places if each.is_filled), key=lambda each: each.position)
    rows = list(zip(*(each.cells for each in (*places, column)), strict=True))
    if not places or len(set(rows)) < len(rows):
        return
    del part.fields["Group"]
    part.fields = {field: each for field, each in part.fields.items() if view.by_header[each.header] not in places}
    part.shape["join"] = {"Group": _BETWEEN.join(f"{{{each.header}}}" for each in (*places, column))}
