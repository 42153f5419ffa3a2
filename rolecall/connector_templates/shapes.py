from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.applications.shapes import ApplicationId, FileGroupConfiguration
from rolecall.core.checking import Body, Name256, Text256


class ConnectorTemplateDetail(msgspec.Struct, rename="camel"):
    """A connector to start an application with. A template without an id ships with the service."""

    id: UUID | None
    name: str
    vendor: str
    description: str
    files: list[FileGroupConfiguration]
    created_by: str | None
    created_date: datetime | None


class ConnectorTemplateList(msgspec.Struct):
    """The templates that people saved, then those that ship with the service, both sorted by name."""

    templates: list[ConnectorTemplateDetail]


class NewConnectorTemplate(Body):
    """The application whose connector is saved, and a name for the template."""

    application_id: ApplicationId
    name: Name256
    description: Text256 = ""
