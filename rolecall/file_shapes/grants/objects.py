"""Find the column with the object of a permission, such as a folder, a mailbox or a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import depends_on
from rolecall.file_shapes.accounts.kinds import kind_column
from rolecall.file_shapes.columns.header_names import is_about_person, is_flag, names_of, words_of
from rolecall.file_shapes.columns.header_words import SCOPES
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import View

# Words in headers about people who decide on access or review it.
_PEOPLE = {"manager", "supervisor", "approver", "reviewer", "requester", "boss", "by"}
_SURE = 0.5
_WHY = "it names what the permission is for"
# Words in headers of columns that name a container of schemas and objects.
_CONTAINERS = {"catalog", "catalogue", "database", "db", "server", "instance", "cluster", "tenant", "host", "project"}
# Columns that limit a grant to a part of a table.
_PARTS = ("columnname", "column", "fieldname")


def find_object(view: View, fields: dict[str, Meaning], group: Meaning | None, join: Mapping[str, str]) -> None:
    """Find the object of permissions, such as a column `name` that is not the group, or the identity of a mailbox.

    Prefer a place outside the object that describes the holder. `join` has the patterns of the holders.
    """
    _leave_object_of_holder(view, fields)
    is_joined = group is not None and any(f"{{{group.header}|" in pattern for pattern in join.values())
    if group and group is not fields.get("Group") and not is_joined:
        _use_as_object(view, fields, group)
    if (object := view.named(["identity"])) and not {"Header", "Section"} & fields.keys():
        # Exports of Exchange name the mailbox in the Identity column.
        _use_as_object(view, fields, Meaning(object.header, "Section", 0.6, _WHY))
    _use_system(view, fields)


def _use_system(view: View, fields: dict[str, Meaning]) -> None:
    """Read a column such as System/Role as the place of permissions if it names several systems."""
    if "Username" not in fields or {"Header", "Section"} & fields.keys():
        return
    taken = {meaning.header for meaning in fields.values()}
    for each in view.profiles:
        first, *others = each.header.split("/")
        is_system = bool(others) and bool(SCOPES.intersection(names_of(first)))
        if is_system and each.header not in taken and each.is_filled and len(each.distinct) > 1 and not each.ticks:
            fields["Header"] = Meaning(each.header, "Header", 0.6, "it names the system of each permission")
            return


def _leave_object_of_holder(view: View, fields: dict[str, Meaning]) -> None:
    """Read the place of a grant from a column outside the object that describes its holder, if there is one.

    For example, `subjects.namespace` is the place of the account, not of the grant.
    """
    kind = kind_column(view)
    place = kind.header.rpartition(".")[0] if kind else ""
    inner = [each.header for each in view.profiles if place and each.header.startswith(f"{place}.")]
    found = view.fields(Content.PERMISSIONS, inner) if fields["Permission"].header not in inner else {}
    taken = {each.header for each in fields.values()}
    for field in ("Header", "Section"):
        other = found.get(field)
        if field in fields and fields[field].header in inner and other and other.header not in taken:
            fields[field] = other


def _names_holders(view: View, fields: dict[str, Meaning], name: Meaning) -> bool:
    """Return whether a column contains the full name of each holder."""
    if "Username" not in fields:
        return False
    column, holder = view.by_header[name.header], view.by_header[fields["Username"].header]
    return column.names > 0.5 and depends_on(column, holder) and depends_on(holder, column)


def _use_as_object(view: View, fields: dict[str, Meaning], name: Meaning) -> None:
    """Use the column `name` or `identity` as the object of permissions, unless it names the holders."""
    taken = {meaning.header for meaning in fields.values()}
    is_plain = names_of(name.header)[:1] in (["name"], ["identity"]) and not _names_holders(view, fields, name)
    if is_plain and "Section" not in fields and name.header not in taken:
        fields["Section"] = Meaning(name.header, "Section", 0.6, _WHY)


def add_inner_place(view: View, fields: dict[str, Meaning], evidence: list[str]) -> None:
    """Read two columns of places if one value of the first has several values of the second beside it.

    For example, one server has several folders. The column with fewer values is the Header.
    """
    if "Section" not in fields or "Header" in fields:
        return
    outer, taken = fields["Section"], {meaning.header for meaning in fields.values()}
    holders = [view.by_header[fields[field].header] for field in ("Username", "Group") if field in fields]
    for inner in meanings(Content.PERMISSIONS, view.profiles):
        column = view.by_header[inner.header]
        is_place = inner.field == "Section" and inner.score > _SURE and inner.header not in taken
        is_other = is_place and not depends_on(column, view.by_header[outer.header])
        # A place of the person, such as a site, does not differ between the rows of a person.
        if is_other and column.is_filled and not column.ticks and not any(depends_on(column, each) for each in holders):
            places = sorted((outer, inner), key=lambda each: len(view.by_header[each.header].distinct))
            for field, each in zip(("Header", "Section"), places, strict=True):
                fields[field] = Meaning(each.header, field, each.score, _WHY)
            evidence.append(f"{places[0].header} and {places[1].header} together say where each permission applies")
            return


def tell_apart(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Read an unread column as the object of permissions if some rows differ only in it and would be merged otherwise.

    If the object is known, put its database or server before it. Always add the part of a table, such as a column,
    to its name.
    """
    _add_part(view, fields, shape, evidence)
    joined = " ".join(shape.get("join", {}).values())
    headers = {each.header for each in fields.values()}
    is_joined = {each.header: f"{{{each.header}|" in joined or f"{{{each.header}}}" in joined for each in view.profiles}
    read = [each for each in view.profiles if each.header in headers or is_joined[each.header]]
    keys = list(zip(*(each.cells for each in read), strict=True))
    if len(set(keys)) == len(keys):
        return
    if "Section" in fields or "Section" in shape.get("join", {}):
        _add_container(view, fields, shape, evidence, keys)
        return
    fits = [each for each in view.profiles if each not in read and _may_be_object(each)]
    fits = [each for each in fits if len(set(zip(keys, each.cells, strict=True))) == len(keys)]
    if len(fits) == 1:
        fields["Section"] = Meaning(fits[0].header, "Section", 0.5, _WHY)
        evidence.append(f"Some rows differ only in {fits[0].header}: it says what each permission is for")


def _add_container(
    view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str], keys: Sequence[tuple[str, ...]]
) -> None:
    """Put the database or server before the schema if objects in several of them have the same name."""
    headers, count = {each.header for each in fields.values()}, len(set(keys))
    unread = [each for each in view.profiles if each.header not in headers and words_of(each.header) & _CONTAINERS]
    tell = [each for each in unread if len(set(zip(keys, each.cells, strict=True))) > count and not each.is_dated]
    if not tell:
        return
    column = tell[0].header
    if inner := fields.pop("Header", None):
        shape.setdefault("join", {})["Header"] = f"{{{column}}}{{{inner.header}|prefix(.)}}"
    else:
        fields["Header"] = Meaning(column, "Header", 0.6, _WHY)
    evidence.append(f"Some rows differ only in {column}: it becomes part of the name of each permission")


def _add_part(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Append the name of a column to that of its table: a right on one column is less than one on the whole table."""
    object, part = fields.get("Section"), view.named(_PARTS)
    used = {each.header for each in fields.values()}.union(shape.get("split", {}))
    if object is None or part is None or not part.values or part.header in used:
        return
    del fields["Section"]
    shape.setdefault("join", {})["Section"] = f"{{{object.header}}}{{{part.header}|prefix(.)}}"
    evidence.append(f"{part.header} limits some grants to a part of {object.header}; the part is added to the name")


def _may_be_object(profile: Profile) -> bool:
    if not profile.is_filled or profile.is_dated or profile.ticks or profile.numbers or profile.statuses == 1:
        return False
    is_other = is_flag(profile.header) or is_about_person(profile.header) or bool(words_of(profile.header) & _PEOPLE)
    return not is_other and not profile.is_unique
