"""Test connector templates that ship with the service, and templates that people save."""

from typing import Any

import httpx2
import pytest

from rolecall.application_imports.connectors import templates
from rolecall.core.caller import Scope
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.builders import CONNECTOR, a_token, an_application

PATH = "/api/connector-templates"
EXPORT = {
    "name": "Export",
    "vendor": "Acme",
    "files": [{"name": "Users", "content": "users", "columns": {"Opr": "Username"}, "shape": {"headerLine": 2}}],
}


async def saved(client: httpx2.AsyncClient, db: Db, name: str = "Acme export") -> dict[str, Any]:
    application = await an_application(db, connector=EXPORT)
    answer = await client.post(PATH, json={"applicationId": str(application), "name": name, "description": "Nightly"})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
async def test_shipped_template_can_be_used_as_a_connector(client: httpx2.AsyncClient, template: Any) -> None:
    listed = (await client.get(PATH)).json()["templates"]
    (found,) = [each for each in listed if each["name"] == template.name]

    connector = {"name": found["name"], "vendor": found["vendor"], "files": found["files"]}
    is_source = any(file["content"] == "identities" for file in found["files"])
    body = {"name": "Sample", "connector": connector, "isIdentitySource": is_source}
    made = await client.post("/api/applications", json=body)

    assert made.status_code == 201, made.text
    assert (found["id"], found["createdBy"], found["createdDate"]) == (None, None, None)


async def test_connector_is_saved_and_used_by_another_application(
    client: httpx2.AsyncClient, db: Db, imports: Imports
) -> None:
    template = await saved(client, db)
    connector = {"name": "Export", "files": template["files"]}

    other = (await client.post("/api/applications", json={"name": "Other", "connector": connector})).json()["id"]
    run = await imports.finish(other, {"Users": "Operators\nOpr\nada\n"})

    assert run["metrics"]["users"]["new"] == 1
    assert (template["vendor"], template["description"], template["createdBy"]) == (
        "Acme",
        "Nightly",
        "API Token - tests",
    )
    assert template["files"][0]["shape"] == {"headerLine": 2}
    assert (await client.get(PATH)).json()["templates"][0] == template


async def test_saved_template_is_deleted_with_an_audit_entry(client: httpx2.AsyncClient, db: Db) -> None:
    template = await saved(client, db)

    answer = await client.delete(f"{PATH}/{template['id']}")
    again = await client.delete(f"{PATH}/{template['id']}")

    assert (answer.status_code, again.status_code) == (204, 404)
    rows = await fetch_rows(
        db,
        """SELECT entry::jsonb ->> 'action' FROM audit_events
           WHERE entry::jsonb #>> '{entity,kind}' = 'Connector Template' ORDER BY number""",
    )
    assert rows == [("Save connector template",), ("Delete connector template",)]


@pytest.mark.parametrize("name", ["acme EXPORT", "Slack", "slack"])
async def test_template_names_are_unique(client: httpx2.AsyncClient, db: Db, name: str) -> None:
    template = await saved(client, db)
    application = await fetch_value(db, "SELECT id FROM applications")

    answer = await client.post(PATH, json={"applicationId": str(application), "name": name})

    assert answer.status_code == 400
    assert f"A connector template named {name} already exists" in answer.text
    assert (await client.get(PATH)).json()["templates"][0] == template


async def test_application_without_files_cannot_be_saved_as_a_template(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db, connector=None)

    answer = await client.post(PATH, json={"applicationId": str(application), "name": "Nothing"})

    assert answer.status_code == 400
    assert "Application does not support file imports" in answer.text


async def test_reader_lists_templates_and_cannot_save_them(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db, connector=CONNECTOR)
    token = await a_token(db, scopes=[Scope.APPLICATIONS_READ])
    reader = {"Authorization": f"Bearer {token.secret}"}

    listed = await client.get(PATH, headers=reader)
    refused = await client.post(PATH, json={"applicationId": str(application), "name": "Mine"}, headers=reader)

    assert (listed.status_code, refused.status_code) == (200, 403)
