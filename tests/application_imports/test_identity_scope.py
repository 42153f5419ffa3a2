"""Test that imports of an identity source need `identities:write`: they set supervisors, who approve access."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from tests.application_imports.running import Imports
from tests.builders import a_token, an_application, an_import

HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
SCHEDULE = {"cron": "0 5 * * *", "locations": {"People": "/srv/people.csv"}}
FILE = "Employee ID,First Name,Last Name\nE1,Ada,Lovelace\n"
PATH = "/api/application-imports"
OPERATIONS = ("upload", "stage", "cancel", "continue", "rollback")
LACKS = "The token lacks the scope identities:write"


async def an_application_of(db: Db, *, is_source: bool) -> UUID:
    if is_source:
        return await an_application(db, "HR", isIdentitySource=True, connector=HR, schedule=SCHEDULE)
    return await an_application(db, schedule={"cron": "0 5 * * *", "locations": {"Users": "/srv/users.csv"}})


async def perform(
    client: httpx2.AsyncClient, db: Db, operation: str, application: UUID, secret: str
) -> httpx2.Response:
    """Call an operation with a valid request and the token `secret`, which may lack the scope."""
    headers = {"Authorization": f"Bearer {secret}"}
    body: dict[str, Any] = {}
    match operation:
        case "upload":
            group = await fetch_value(db, "SELECT id FROM file_groups ORDER BY position LIMIT 1")
            files = {str(group): ("people.csv", FILE)}
            return await client.post(f"{PATH}/upload?applicationId={application}", files=files, headers=headers)
        case "stage":
            path, body = f"{PATH}/stage", {"applicationId": str(application)}
        case "cancel":
            path, body = f"{PATH}/cancel", {"applicationImportId": str(await an_import(db, application))}
        case "continue":
            id = await an_import(db, application, "Running")
            await execute(db, "INSERT INTO import_runs (import_id, held) VALUES (%(id)s, 'much')", id=id)
            path = f"{PATH}/{id}/continue"
        case _:
            id = await an_import(db, application, "Finished")
            number = await fetch_value(db, "SELECT number FROM application_imports WHERE id = %(id)s", id=id)
            path, body = f"/api/applications/{application}/rollback", {"importNumber": number}
    return await client.post(path, json=body, headers=headers)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_identity_source_needs_its_own_scope(anonymous: httpx2.AsyncClient, db: Db, operation: str) -> None:
    application = await an_application_of(db, is_source=True)
    without = await a_token(db, "without", scopes=["imports:write"])
    having = await a_token(db, "having", scopes=["imports:write", "identities:write"])

    refused = await perform(anonymous, db, operation, application, without.secret)
    allowed = await perform(anonymous, db, operation, application, having.secret)

    assert (refused.status_code, refused.json()["message"]) == (403, LACKS)
    assert allowed.status_code in (200, 201), allowed.text


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_other_applications_need_only_imports_write(
    anonymous: httpx2.AsyncClient, db: Db, operation: str
) -> None:
    application = await an_application_of(db, is_source=False)
    token = await a_token(db, "importer", scopes=["imports:write"])

    answer = await perform(anonymous, db, operation, application, token.secret)

    assert answer.status_code in (200, 201), answer.text


async def test_new_token_cannot_import_people_by_default(anonymous: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application_of(db, is_source=True)

    answer = await perform(anonymous, db, "upload", application, (await a_token(db)).secret)

    assert (answer.status_code, answer.json()["message"]) == (403, LACKS)


async def test_rollback_of_a_former_identity_source_needs_the_scope(imports: Imports, db: Db) -> None:
    application = await an_application_of(db, is_source=True)
    await imports.finish(application, {"People": FILE})
    await execute(db, "UPDATE applications SET is_identity_source = false")
    token = await a_token(db, "importer", scopes=["imports:write"])

    answer = await perform(imports.client, db, "rollback", application, token.secret)

    assert (answer.status_code, answer.json()["message"]) == (403, LACKS)
