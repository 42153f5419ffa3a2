"""Define the connectors that ship with the service."""

from rolecall.application_imports.connectors import Connector, FileTemplate
from rolecall.applications.model import Content

standard_files = Connector(
    "Standard files",
    "Rolecall",
    (
        FileTemplate("Users", Content.USERS),
        FileTemplate("Groups", Content.GROUPS, is_optional=True),
        FileTemplate("Memberships", Content.MEMBERSHIPS, is_optional=True),
        FileTemplate("Permissions", Content.PERMISSIONS, is_optional=True, is_multiple=True),
    ),
)

hr_file = Connector("HR file", "Rolecall", (FileTemplate("Identities", Content.IDENTITIES),))
