import json
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from rolecall.console import actions as console
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.working import let_the_worker_work

PATH = "/api/audit-events"


async def entries(client: httpx2.AsyncClient, **filters: Any) -> list[dict[str, Any]]:
    answer = await client.get(PATH, params=filters)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


async def test_entry_records_caller_entity_and_values_before_and_after(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db, "Payroll")
    token = await fetch_value(db, "SELECT id FROM tokens")

    answer = await client.patch(f"/api/applications/{application}", json={"name": "Wages", "priority": "High"})

    entry = (await entries(client))[0]
    assert list(entry) == [
        "number", "createdDate", "caller", "action", "entity", "before", "after", "correlationId", "chain",
        "previousHash", "hash",
    ]  # fmt: skip
    assert entry["caller"] == {"id": str(token), "kind": "Token", "name": "API Token - tests"}
    assert entry["action"] == "Change application"
    assert entry["entity"] == {"id": str(application), "kind": "Application", "name": "Wages"}
    assert entry["before"].keys() == entry["after"].keys() == {"name", "priority", "lastUpdated"}
    assert (entry["before"]["name"], entry["after"]["name"]) == ("Payroll", "Wages")
    assert entry["correlationId"] == answer.headers["x-correlation-id"]


async def test_list_is_newest_first_and_filtered_by_entity_caller_and_action(
    client: httpx2.AsyncClient, db: Db
) -> None:
    token = await fetch_value(db, "SELECT id FROM tokens")
    application = (await client.post("/api/applications", json={"name": "Payroll"})).json()["id"]
    await client.patch(f"/api/applications/{application}", json={"priority": "High"})
    await client.post("/api/applications", json={"name": "CRM"})

    everything = await entries(client)
    assert [entry["number"] for entry in everything] == [4, 3, 2, 1]
    assert [entry["action"] for entry in await entries(client, entityId=application)] == [
        "Change application", "Create application",
    ]  # fmt: skip
    assert len(await entries(client, callerId=str(token))) == 3
    assert len(await entries(client, action="Create application")) == 2
    assert await entries(client, action="Create application", entityId=str(token)) == []


async def made_at(db: Db, entity_id: str, moment: str) -> None:
    """Change the time of the entries about this entity."""
    await execute(
        db,
        """UPDATE audit_events SET entry = jsonb_set(entry::jsonb, '{createdDate}', to_jsonb(%(moment)s::text))::text,
                  created_key = left(rtrim(%(moment)s, 'Z') || '.000000', 26)
           WHERE entity_id = %(id)s""",
        id=entity_id,
        moment=moment,
    )


@pytest.fixture
async def named_by_day(client: httpx2.AsyncClient, db: Db) -> list[str]:
    """Create applications before, at and after midnight UTC; the name of each is its time of creation."""
    moments = ["2036-03-01T23:59:59.9Z", "2036-03-02T00:00:00Z", "2036-03-02T12:00:00.5Z", "2036-03-03T00:00:00Z"]
    for moment in moments:
        application = (await client.post("/api/applications", json={"name": moment})).json()["id"]
        await made_at(db, application, moment)
    return moments


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"from": "2036-03-02"}, slice(1, 4)),
        ({"from": "2036-03-02", "until": "2036-03-02"}, slice(1, 3)),
        ({"from": "2036-03-01", "until": "2036-03-02T06:00:00Z"}, slice(0, 2)),
        ({"from": "2036-03-02T06:00:00+00:00", "until": "2036-03-02T18:00:00Z"}, slice(2, 3)),
        ({"from": "2036-03-01", "until": "2036-03-05", "action": "CREATE APPLICATION"}, slice(0, 4)),
        ({"until": "2036-03-02T06:00:00Z", "action": "Create application"}, slice(0, 2)),
        ({"from": "2036-03-01", "action": "Change application"}, slice(0, 0)),
        ({"from": "2037-01-01", "until": "2036-01-01"}, slice(0, 0)),
    ],
)
async def test_time_filters_accept_days_and_moments(
    client: httpx2.AsyncClient, named_by_day: list[str], asked: dict[str, str], found: slice
) -> None:
    answer = (await client.get(PATH, params=asked)).json()

    assert [entry["entity"]["name"] for entry in answer["items"]] == named_by_day[found][::-1]
    assert answer["totalCount"] == len(named_by_day[found])


async def test_invalid_time_filter_is_rejected(client: httpx2.AsyncClient) -> None:
    answer = await client.get(PATH, params={"from": "yesterday", "until": "2036-02-30"})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "from"


async def test_action_filter_ignores_case(client: httpx2.AsyncClient, db: Db) -> None:
    await client.post("/api/applications", json={"name": "Payroll"})

    assert len(await entries(client, action="create APPLICATION")) == 1


async def test_import_leaves_entries_about_itself_and_none_about_its_rows(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    files = [{"name": "Identities", "content": "identities"}]
    connector = {"name": "HR file", "vendor": "Rolecall", "files": files}
    source = await an_application(db, "HR", isIdentitySource=True, connector=connector)
    people = "".join(f"E{n},Person,Number {n}\n" for n in range(50))
    run = await Imports(client, config).finish(source, {"Identities": f"Employee ID,First Name,Last Name\n{people}"})
    sha256 = await fetch_value(db, "SELECT encode(sha256, 'hex') FROM import_files")

    found = await entries(client, entityId=run["id"])

    assert [(entry["action"], entry["after"].get("status")) for entry in found] == [
        ("Run import", "Finished"), ("Run import", "Running"), ("Upload import", "Pending"),
    ]  # fmt: skip
    assert found[0]["after"]["metrics"]["users"]["new"] == 50
    assert found[2]["after"]["files.0"]["sha256"] == sha256
    assert {entry["entity"]["kind"] for entry in await entries(client)} == {"Import", "Application", "Token"}


async def test_changes_by_the_worker_are_attributed_to_the_system(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada = await an_identity(db)
    body = {"identityId": str(ada), "effectiveDate": "2035-01-01"}
    event = (await client.post("/api/personnel-events/offboard", json=body)).json()["id"]

    await let_the_worker_work(config, at=datetime(2035, 1, 2, tzinfo=UTC))
    clock.travel_home()

    newest = (await entries(client, entityId=event))[0]
    assert newest["caller"] == {"id": None, "kind": "System", "name": "System"}
    assert (newest["action"], newest["createdDate"][:10]) == ("Follow event", "2035-01-02")
    disabled = (await entries(client, entityId=str(ada)))[0]
    assert disabled["after"]["status"] == "Disabled"


async def test_no_entry_contains_a_secret_or_its_digest(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    hook = {"name": "Tickets", "url": "http://127.0.0.1:9/", "events": ["AccessRequestCreated"]}
    made = (await client.post("/api/webhooks", json=hook)).json()
    rotated = (await client.post(f"/api/webhooks/{made['id']}/rotate-secret")).json()["secret"]
    token = (await client.post("/api/tokens", json={"name": "second"})).json()["secret"]
    link = await console.create_administrator(db, "ada@example.com", facts())
    session = await console.sign_in_by_link(db, link, datetime.now(UTC))
    person = await fetch_value(db, "SELECT identity_id FROM console_roles")
    await console.set_password(db, person, "correct horse battery", datetime.now(UTC))
    stored = await fetch_rows(
        db,
        """SELECT encode(secret_sha256, 'hex') FROM tokens UNION ALL SELECT public_id FROM tokens
           UNION ALL SELECT encode(secret, 'hex') FROM webhooks
           UNION ALL SELECT encode(previous_secret, 'hex') FROM webhooks
           UNION ALL SELECT encode(sha256, 'hex') FROM console_sessions
           UNION ALL SELECT encode(sha256, 'hex') FROM sign_in_links
           UNION ALL SELECT argon2 FROM console_passwords""",
    )
    secrets = [made["secret"], rotated, token, link, session, "correct horse", *(value for (value,) in stored)]

    text = "\n".join(entry for (entry,) in await fetch_rows(db, "SELECT entry FROM audit_events"))

    assert "Rotate webhook secret" in text
    assert [kind for kind in ("Token", "Webhook", "Console User") if f'"kind": "{kind}"' not in text] == []
    assert [secret for secret in secrets if secret and secret in text] == []


async def test_entry_of_a_request_includes_its_parts(client: httpx2.AsyncClient, db: Db) -> None:
    async with db.transaction():
        request = await an_access_request(db)

    after = (await entries(client, entityId=str(request)))[0]["after"]

    assert after["privileges.0"]["permission"] == "Post entries"
    assert after["responses.Approve.0.0"]["reviewerName"] == "Administrators"


@pytest.mark.parametrize("filters", [{"entityId": "no"}, {"callerId": "no"}, {"action": ""}, {"action": "x" * 129}])
async def test_invalid_filter_is_rejected(client: httpx2.AsyncClient, filters: dict[str, str]) -> None:
    answer = await client.get(PATH, params=filters)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == list(filters)


async def test_direct_database_writes_are_attributed_to_the_database_user(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)

    await db.execute("UPDATE applications SET priority = 'Low'")

    entry = (await entries(client, entityId=str(application)))[0]
    assert entry["caller"]["kind"] == "Database"
    assert json.dumps(entry["after"]) == '{"priority": "Low"}'
