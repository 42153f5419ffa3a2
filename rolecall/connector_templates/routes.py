from litestar import Router

from rolecall.connector_templates import actions, queries
from rolecall.connector_templates.shapes import ConnectorTemplateDetail, ConnectorTemplateList, NewConnectorTemplate
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.APPLICATIONS_READ)
async def list_connector_templates(db: Db) -> ConnectorTemplateList:
    """List connectors to start an application with: saved ones, then those that ship with the service.

    Use `name`, `vendor` and `files` as the connector in the body of an application.
    """
    return await queries.all_templates(db)


@operation("POST", "/", scope=Scope.CONFIG_MANAGE, status=201, body=NewConnectorTemplate)
async def save_connector_template(db: Db, caller: Caller, raw: Json, facts: Facts) -> ConnectorTemplateDetail:
    """Save the connector of an application as a template for other applications."""
    return await queries.get(db, await actions.save_template(db, caller, raw, facts))


@operation("DELETE", "/{id:str}", scope=Scope.CONFIG_MANAGE, status=204)
async def delete_connector_template(db: Db, id: str) -> None:
    """Delete a saved template; applications that were made with it keep their connectors."""
    await actions.delete_template(db, known_guid("ConnectorTemplate", id))


router = Router(
    "/api/connector-templates",
    route_handlers=[list_connector_templates, save_connector_template, delete_connector_template],
    tags=["Administration"],
)
