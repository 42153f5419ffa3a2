from uuid import UUID

from psycopg.errors import UniqueViolation

from rolecall.applications.model import NO_FILES
from rolecall.applications.queries import with_mentioned_applications
from rolecall.connector_templates import queries
from rolecall.connector_templates.shapes import NewConnectorTemplate
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.ids import new_id


async def save_template(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    """Save the connector of an application as a template; reject a name that another template has."""
    body = check(NewConnectorTemplate, raw, await with_mentioned_applications(db, facts, raw))
    if await queries.named(db, body.name):
        raise _taken(body.name)
    id = new_id()
    try:
        async with db.transaction():
            saved = await execute(
                db,
                """INSERT INTO connector_templates (id, name, vendor, description, files, created_by, created_date)
                   SELECT %(id)s, %(name)s, c.vendor, %(description)s, json_agg(json_build_object(
                              'name', g.name, 'isOptional', g.is_optional, 'isMultiple', g.is_multiple,
                              'content', g.content, 'columns', g.columns, 'encoding', g.encoding,
                              'allowRejects', g.allow_rejects, 'shape', g.shape) ORDER BY g.position),
                          %(created_by)s, %(now)s
                   FROM connectors c JOIN file_groups g ON g.connector_id = c.id
                   WHERE c.application_id = %(application)s GROUP BY c.id""",
                id=id,
                name=body.name,
                description=body.description,
                application=body.application_id,
                created_by=caller.name,
                now=facts.now,
            )
    except UniqueViolation:
        # Another transaction may have taken the name after the check above.
        raise _taken(body.name) from None
    if not saved:
        raise Invalid.on("applicationId", NO_FILES)
    return id


async def delete_template(db: Db, id: UUID) -> None:
    """Delete a saved template; applications that were made with it keep their connectors."""
    if not await execute(db, "DELETE FROM connector_templates WHERE id = %(id)s", id=id):
        raise NotFound("ConnectorTemplate", id)


def _taken(name: str) -> Invalid:
    return Invalid.on("name", f"A connector template named {name} already exists; choose another name")
