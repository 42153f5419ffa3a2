"""Read roles as permissions: roles in applications, and roles that users and groups hold."""

from typing import Any

from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.holders import depends_on
from rolecall.file_shapes.accounts.kinds import share_column
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.header_words import PLACES, SCOPES
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.denials import read_access
from rolecall.file_shapes.grants.held import with_users
from rolecall.file_shapes.parts import Part, View

Fields = dict[str, Meaning]
_RESOURCES = {"resource", "resourcename", "resourcedisplayname", "resourceid", "scope", "target"}
# Words that headers of the same thing may have besides: AppRoleValue names what AppRoleId identifies.
_NAMING = {"name", "display", "value", "label", "title", "code", "email", "login", "user", "key"}


def scope_of_roles(view: View, fields: Fields) -> Profile | None:
    """Return the column with the place where each row grants its role, such as an application or a project."""
    column = view.named(SCOPES)
    is_other = column is not None and column.header not in {meaning.header for meaning in fields.values()}
    return column if column and is_other and len(column.distinct) > 1 and column.is_filled else None


def of_applications(fields: Fields, application: Profile) -> tuple[Fields, list[str]]:
    """Return the fields of access to applications that is given to users, to some of them through groups."""
    user = fields["Username"]
    why = "each row gives access to one, some through a group"
    chosen = {"Username": user, "Permission": Meaning(application.header, "Permission", 0.8, why)}
    return chosen, [f"Each row gives {user.header} access to the {application.header}"]


def in_scopes(fields: Fields, scope: Profile) -> tuple[Fields, list[str]]:
    """Return the fields of roles that are held in a scope, such as an application, which has its own roles."""
    role = fields["Group"].header
    chosen = {
        "Username": fields["Username"],
        "Header": Meaning(scope.header, "Header", 0.8, "it says where the role is held"),
        "Permission": Meaning(role, "Permission", 0.8, f"each {scope.header} has its own roles"),
    }
    return chosen, [f"Each row gives {fields['Username'].header} a {role} in {scope.header}"]


def held_by_kinds(view: View, fields: Fields) -> tuple[Fields, list[str]]:
    """Return the fields of roles that users and groups hold, because only accounts can have memberships.

    If rows of one role have several places, such as resources, each place has its own roles.
    """
    role, holder = (_named_beside(view, view.by_header[fields[field].header]) for field in ("Group", "Username"))
    chosen = {
        "Username": Meaning(holder.header, "Username", fields["Username"].score, fields["Username"].evidence),
        "Permission": Meaning(role.header, "Permission", 0.8, "users and groups hold it"),
    }
    evidence = [f"Each row pairs a user or a group with {role.header}"]
    if place := _place_of(view, role):
        chosen["Header"] = Meaning(place.header, "Header", 0.6, f"rows of one {role.header} differ in it")
        evidence.append(f"The {role.header} applies to the {place.header} of its row")
    return chosen, evidence


def _named_beside(view: View, column: Profile) -> Profile:
    """Return the column with the names or addresses of what a column of numbers or GUIDs identifies, or the column."""
    about = words_of(column.header) - {"id"}
    if not column.is_opaque or not about:
        return column
    named = [each for each in view.profiles if about < words_of(each.header) <= about | _NAMING]
    fits = [each for each in named if each.is_filled and not (each.is_opaque or each.is_dated or each.ticks)]
    # Names of people are not unique.
    fits = [each for each in fits if each.emails == 1 or each.is_login or "role" in about]
    return next(iter(fits), column)


def _place_of(view: View, role: Profile) -> Profile | None:
    """Return a column with places in which rows of one role differ."""
    known = PLACES | _RESOURCES
    named = [each for each in view.profiles if known.intersection(names_of(each.header)[:1]) and each is not role]
    fits = [each for each in named if each.values and not (each.ticks or depends_on(each, role))]
    return min(fits, key=lambda each: each.is_opaque, default=None)


def roles(view: View, fields: Fields, evidence: list[str]) -> list[Part]:
    shape: dict[str, Any] = {}
    share_column(view, fields, shape, evidence)
    read_access(view, fields, shape, evidence)
    return with_users(view, Part(Content.PERMISSIONS, fields, shape, 0.75, evidence))
