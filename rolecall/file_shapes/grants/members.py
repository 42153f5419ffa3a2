"""Recognize records of groups that have an inner list of members, and of roles with a list of their holders."""

from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.accounts.kinds import kind_column
from rolecall.file_shapes.columns.header_names import words_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.held import with_users
from rolecall.file_shapes.grants.held_roles import roles
from rolecall.file_shapes.parts import Part, View

_LISTS = ("members", "users", "memberships")
_HOLDERS = ("actors", "holders", "assignees", "principals", "grantees")
_IDS = {"id", "login", "email", "upn", "username", "mail"}
_GROUP_NAMES = ("displayname", "name", "groupname", "cn", "title", "id")
_MEMBER_NAMES = (
    "username", "userprincipalname", "login", "email", "mail", "emailaddress", "display", "displayname", "name",
    "value", "id",
)  # fmt: skip
_ABOUT_MEMBERS = {"type", "kind", "$ref", "ref", "objectid", "upn", "samaccountname", "@odata.type", "objecttype"}
# Attributes of members that describe only the account, such as a status.
_STATES = {"active", "enabled", "disabled", "status", "state", "suspended", "key", "self", "timezone"}


def find_inner_members(view: View) -> list[Part]:
    """Return the groups and their memberships, without members whose kind is group.

    Add the users if the file describes them; otherwise derive them from the memberships.
    """
    outer, _, inner = (view.table.records or "").rpartition("[].")
    name = inner.removesuffix("[]")
    if not outer or not any(step in _LISTS for step in name.lower().split(".")):
        return []
    prefix = f"{name}."
    group = _named(view, _GROUP_NAMES, "")
    member = _login(view, prefix) or _named(view, _MEMBER_NAMES, prefix)
    inner_names = {fold(each.header.removeprefix(prefix)) for each in view.profiles if each.header.startswith(prefix)}
    # Members with other attributes, such as rights, have permissions; other functions read them.
    if group is None or member is None or not inner_names <= {*_MEMBER_NAMES, *_ABOUT_MEMBERS, *_STATES}:
        return []
    why = f"each record of {outer} lists its {name}"
    naming = Meaning(group.header, "Group", 0.85, why)
    listing = Part(Content.GROUPS, {"Group": naming}, {"records": outer, "ignore": [name]}, 0.8, [why])
    fields = {"Username": Meaning(member.header, "Username", 0.8, why), "Group": naming}
    pairs = Part(Content.MEMBERSHIPS, fields, {}, 0.8, [f"{member.header} names the members of {group.header}"])
    kinds = kind_column(view)
    if kinds and kinds.header.startswith(prefix) and kinds.groups:
        pairs.skip_rows({"column": kinds.header, "is": kinds.groups})
        pairs.evidence.append(f"Members whose {kinds.header} is {', '.join(kinds.groups)} are groups and are left out")
    if inner_names & _STATES:
        return [listing, *with_users(view, pairs)]
    pairs.shape["deriveUsers"] = True
    return [listing, pairs]


def find_inner_holders(view: View) -> list[Part]:
    """Read roles as permissions if each lists its holders, some of which are users by their kind, and others groups."""
    outer, _, inner = (view.table.records or "").rpartition("[].")
    name = inner.removesuffix("[]")
    kinds, role = kind_column(view), _named(view, _GROUP_NAMES, "")
    if name.lower() not in _HOLDERS or role is None or not kinds or not kinds.header.startswith(f"{name}."):
        return []
    users = [n for n, kind in enumerate(kinds.cells) if kind.strip() in kinds.users]
    inside = [each for each in view.profiles if each.header.startswith(f"{name}.") and each is not kinds]
    filled = [each for each in inside if users and all(each.cells[n].strip() for n in users)]
    # The ID of an entry identifies the grant, but that of an object in it the user.
    ids = [each for each in filled if words_of(each.header) & _IDS and each.header.count(".") > name.count(".") + 1]
    holder = next(iter(ids), None) or _named(view, _MEMBER_NAMES, f"{name}.")
    if holder is None:
        return []
    why = f"each record of {outer or 'the file'} lists its {name}"
    fields = {
        "Username": Meaning(holder.header, "Username", 0.8, why),
        "Permission": Meaning(role.header, "Permission", 0.8, why),
    }
    return roles(view, fields, [f"{holder.header} names those who have the {role.header}"])


def _login(view: View, prefix: str) -> Profile | None:
    """Return the column `name` of members if it has logins: single words in lower case."""
    column = view.by_header.get(f"{prefix}name")
    return column if column and column.is_login and all(value.islower() for value in column.distinct) else None


def _named(view: View, names: tuple[str, ...], prefix: str) -> Profile | None:
    """Return the column whose name comes first in `names`, preferably one without blank cells."""
    found = {
        fold(each.header.removeprefix(prefix)): each
        for each in view.profiles
        if each.header.startswith(prefix) and "." not in each.header.removeprefix(prefix) and each.values
    }
    filled = [found[name] for name in names if name in found and found[name].is_filled]
    return next(iter([*filled, *(found[name] for name in names if name in found)]), None)
