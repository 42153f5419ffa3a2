"""Define the live sources that the console offers, each with a connector and the proposed contents of the source.

The columns are the record fields of each kind of source; `docs/sources.md` describes the contents.
"""

import msgspec

from rolecall.application_imports.connectors import templates
from rolecall.core.checking import Json
from rolecall.sources.model import SourceKind


class LiveSystem(msgspec.Struct, frozen=True):
    """An option on the screen *Connect a live system*. `files` are file groups, or the name of a template."""

    name: str
    kind: SourceKind
    hint: str
    files: list[Json] | str
    contents: Json

    def file_groups(self) -> list[Json]:
        if isinstance(self.files, list):
            return self.files
        return next(template.files for template in templates() if template.name == self.files)


IDENTITIES = {"name": "Identities", "content": "identities"}
# Do not keep these fields as metadata: they are technical, or their useful parts are read elsewhere.
_IGNORED = {"ignore": ["id", "schemas", "meta", "emails", "groups", "externalId"]}
SCIM_USERS: Json = {
    "name": "Users",
    "content": "users",
    "columns": {
        "userName": "Username",
        "displayName": "Name",
        "name.givenName": "First Name",
        "name.familyName": "Last Name",
        "emails[type=work].value": "Email",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User.employeeNumber": "Employee ID",
        "active": "Active",
    },
    "shape": _IGNORED,
}
# Users that an identity provider pushes contain the names of their groups.
_PUSHED_USERS = {
    **SCIM_USERS,
    "shape": {
        **_IGNORED,
        "contents": [
            {
                "content": "memberships",
                "columns": {"userName": "Username"},
                "shape": {"split": {"groups[].display": "json"}, "join": {"Group": "{groups[].display}"}},
            }
        ],
    },
}
_SCIM_MEMBERS = {
    "name": "Memberships",
    "content": "memberships",
    "isOptional": True,
    "columns": {"members.display": "Username", "displayName": "Group"},
    "shape": {"ignore": ["id", "schemas", "meta"]},
}
_TABLES: list[Json] = [
    {"name": "Users", "content": "users"},
    {"name": "Memberships", "content": "memberships", "isOptional": True},
    {"name": "Permissions", "content": "permissions", "isOptional": True},
]
_SQL_USERS = 'SELECT login AS "Username", full_name AS "Name", mail AS "Email", active AS "Active" FROM staff'
_SQL_MEMBERS = 'SELECT login AS "Username", group_name AS "Group" FROM group_members'
_SQL_PEOPLE = (
    'SELECT employee_id AS "Employee ID", first_name AS "First Name", last_name AS "Last Name", mail AS "Email"'
    " FROM staff"
)
# Proposed contents for an identity source.
PEOPLE: dict[SourceKind, Json] = {
    SourceKind.SCIM: {"path": "Users"},
    SourceKind.SCIM_PUSH: {"path": "Users"},
    SourceKind.REST: {"path": "people", "paging": "Link"},
    SourceKind.LDAP: {"path": "ou=people,dc=example,dc=com", "filter": "(objectClass=inetOrgPerson)"},
    SourceKind.SQL: {"query": _SQL_PEOPLE},
}


# An example URL for each kind of source.
URL_EXAMPLES: dict[SourceKind, str] = {
    SourceKind.SCIM: "https://idp.example.com/scim/v2",
    SourceKind.REST: "https://api.example.com/v1",
    SourceKind.LDAP: "ldaps://ldap.example.com",
    SourceKind.SQL: "postgresql://db.example.com/hr",
}
LIVE_SYSTEMS = (
    LiveSystem(
        "SCIM 2.0 server",
        SourceKind.SCIM,
        "Rolecall reads users and groups from the SCIM address of the system.",
        [SCIM_USERS, _SCIM_MEMBERS],
        {"Users": {"path": "Users"}, "Memberships": {"path": "Groups", "each": "members"}},
    ),
    LiveSystem(
        "Okta, Entra or another identity provider that pushes",
        SourceKind.SCIM_PUSH,
        "The identity provider sends users and groups to Rolecall by SCIM.",
        [_PUSHED_USERS],
        {"Users": {"path": "Users"}},
    ),
    LiveSystem(
        "Active Directory",
        SourceKind.LDAP,
        "Rolecall reads users and their groups by LDAP.",
        "Active Directory (LDIF)",
        {
            "Directory": {
                "path": "DC=corp,DC=example,DC=com",
                "filter": "(&(objectCategory=person)(objectClass=user))",
            }
        },
    ),
    LiveSystem(
        "LDAP directory",
        SourceKind.LDAP,
        "OpenLDAP and others: people (inetOrgPerson) and groups (groupOfNames).",
        "LDAP directory (LDIF)",
        {
            "People": {"path": "ou=people,dc=example,dc=com", "filter": "(objectClass=inetOrgPerson)"},
            "Groups": {"path": "ou=groups,dc=example,dc=com", "filter": "(objectClass=groupOfNames)"},
        },
    ),
    LiveSystem(
        "Database",
        SourceKind.SQL,
        "Rolecall runs a query for each file group, in PostgreSQL or SQLite.",
        _TABLES,
        {"Users": {"query": _SQL_USERS}, "Memberships": {"query": _SQL_MEMBERS}},
    ),
    LiveSystem(
        "JSON API",
        SourceKind.REST,
        "Rolecall reads lists of records page by page. Run a test first, then choose a field for each column.",
        _TABLES,
        {"Users": {"path": "users", "paging": "Link"}},
    ),
)


def proposed_contents(kind: SourceKind, groups: dict[str, bool]) -> Json:
    """Return proposed source contents for an application; `groups` maps each file group to whether it is optional."""
    if list(groups) == [IDENTITIES["name"]]:
        return {str(IDENTITIES["name"]): PEOPLE[kind]}
    of_kind = [system.contents for system in LIVE_SYSTEMS if system.kind is kind]
    known = [contents for contents in of_kind if contents.keys() <= groups.keys()]
    needed = {name: {"path": name.lower()} for name, is_optional in groups.items() if not is_optional}
    return known[0] if known else needed
