from functools import cache
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.connectors import ConnectorTemplate, templates
from rolecall.applications.file_shape_body import stored_shape
from rolecall.applications.shapes import ConnectorBody, FileGroupConfiguration
from rolecall.connector_templates.shapes import ConnectorTemplateDetail, ConnectorTemplateList
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import NotFound


async def all_templates(db: Db) -> ConnectorTemplateList:
    """Return the saved templates, then the templates that ship with the service."""
    rows = await fetch_rows(
        db,
        """SELECT id, name, vendor, description, files, created_by, created_date FROM connector_templates
           ORDER BY lower(name)""",
    )
    return ConnectorTemplateList([*(_from_row(row) for row in rows), *_shipped()])


async def get(db: Db, id: UUID) -> ConnectorTemplateDetail:
    found = [each for each in (await all_templates(db)).templates if each.id == id]
    if not found:
        raise NotFound("ConnectorTemplate", id)
    return found[0]


async def named(db: Db, name: str) -> ConnectorTemplateDetail | None:
    """Return the template with this name, ignoring case as the index of saved templates does."""
    return next((each for each in (await all_templates(db)).templates if each.name.lower() == name.lower()), None)


def _from_row(row: tuple[Any, ...]) -> ConnectorTemplateDetail:
    id, name, vendor, description, files, created_by, created = row
    groups = msgspec.convert(files, list[FileGroupConfiguration])
    return ConnectorTemplateDetail(id, name, vendor, description, groups, created_by, created)


@cache
def _shipped() -> tuple[ConnectorTemplateDetail, ...]:
    return tuple(_detail(template) for template in templates())


def _detail(template: ConnectorTemplate) -> ConnectorTemplateDetail:
    """Return a template that ships with the service, with its file groups in the format of the API."""
    body = ConnectorBody.model_validate({"name": template.name, "files": template.files})
    files = [
        msgspec.convert(
            {**file.model_dump(by_alias=True, exclude={"shape"}), "shape": stored_shape(file.shape)},
            FileGroupConfiguration,
        )
        for file in body.files or ()
    ]
    return ConnectorTemplateDetail(None, template.name, template.vendor, template.description, files, None, None)
