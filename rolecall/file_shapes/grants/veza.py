"""Read a Veza OAA payload: one JSON document with lists of accounts, groups and permissions."""

from typing import Any

from rolecall.applications.file_shape import JSON
from rolecall.applications.model import Content
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.tables.json_lists import VEZA_ACCOUNTS

_GROUPS = "applications[].local_groups[]"
_HELD = "identity_to_permissions[].application_permissions[]"
_ROLES = "identity_to_permissions[].role_assignments[]"
_FIELDS = {"Username": "local_users.name", "Active": "local_users.is_active", "Last Login": "local_users.last_login_at"}


def find_payload(view: View) -> list[Part]:
    """Recognize a Veza payload by the path of its accounts."""
    if view.table.records != VEZA_ACCOUNTS or _FIELDS["Username"] not in view.by_header:
        return []
    why = "the document is a payload of Veza OAA"
    fields = {field: Meaning(name, field, 0.9, why) for field, name in _FIELDS.items() if name in view.by_header}
    users = Part(Content.USERS, fields, {}, 0.9, [f"{VEZA_ACCOUNTS} has the accounts: {why}"])
    users.ignore(each.header for each in view.profiles if not each.header.startswith("local_users."))
    if _ROLES in view.table.choices:
        users.evidence.append(f"Not read: {_ROLES}, the roles of the accounts. Import them from a separate file")
    parts = [users]
    if groups := view.by_header.get("local_users.groups"):
        users.ignore([groups.header])
        pairs = {"Username": fields["Username"], "Group": Meaning(groups.header, "Group", 0.9, why)}
        split = {"split": {groups.header: JSON}}
        parts.append(Part(Content.MEMBERSHIPS, pairs, split, 0.9, [f"{groups.header} lists groups"]))
    further = {
        _GROUPS: (Content.GROUPS, {"Group": "{local_groups.name}"}),
        _HELD: (
            Content.PERMISSIONS,
            {
                "Username": "{identity|when(identity_type=local_user)}",
                "Group": "{identity|when(identity_type=local_group)}",
                "Permission": "{application_permissions.permission}",
                "Section": "{application_permissions.application}",
            },
        ),
    }
    for path, (content, join) in further.items():
        if path in view.table.choices:
            shape: dict[str, Any] = {"records": path, "join": join}
            if content == Content.GROUPS:
                # Attributes of the application that contains the groups are not attributes of the groups.
                around = [each.header for each in view.profiles if not each.header.startswith("local_users.")]
                shape["ignore"] = ["local_users", *(header for header in around if header != "local_groups")]
            parts.append(Part(content, {}, shape, 0.9, [f"{path} has the {content}"]))
            if content == Content.PERMISSIONS:
                parts[-1].evidence.append("Not read: the resources to which permissions are limited")
    return parts
