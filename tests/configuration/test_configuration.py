from typing import Any
from uuid import UUID

import httpx2
import pytest
from pydantic import BaseModel

from rolecall.access_models.shapes import ModelChanges
from rolecall.applications.shapes import ApplicationChanges
from rolecall.configuration.shapes import (
    ApplicationEntry,
    ApplicationEntryBody,
    ModelEntry,
    ModelEntryBody,
    SettingsEntry,
    SettingsEntryBody,
    WebhookEntry,
    WebhookEntryBody,
)
from rolecall.core.address_check import LONGEST_URL
from rolecall.core.caller import Scope
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.settings.shapes import SettingsBody
from rolecall.webhooks.shapes import HookChanges
from tests.builders import CONNECTOR, a_token, an_access_model, an_application, an_identity
from tests.conftest import EMPTY

URL = "/api/configuration"


async def people(db: Db) -> None:
    """Create the same people in every instance; Eve shares Bob's address, so both are named by employee ID."""
    await an_identity(db, "Ada", email="Ada@example.com")
    for first, id in (("Bob", "E-2"), ("Eve", "E-3")):
        person = await an_identity(db, first, email="desk@example.com")
        await execute(db, "UPDATE identities SET employee_id = %(id)s WHERE id = %(person)s", id=id, person=person)


RICH: dict[str, Any] = {
    "settings": {
        "customFields": [{"number": 3, "enabled": True, "label": "Cost centre"}],
        "approvalLeadDays": 10,
        "guard": {"maxRemovedPercent": 15},
        "approvalPolicy": [
            {"type": "approve", "reason": "Bob looks", "responder": "Identity", "identity": "E-2", "actions": ["add"]},
            {"type": "Resolve", "reason": "Someone does it", "responder": "Application Provisioner"},
        ],
    },
    "applications": [
        {
            "name": "Ledger",
            "priority": "high",
            "owner": "ada@EXAMPLE.com",
            "provisioners": ["E-3", "E-2"],
            "connector": {
                "name": "Standard files",
                "vendor": "Rolecall",
                "files": [
                    {"name": "Users", "content": "users", "columns": {"Kennung": "username"}, "encoding": "cp1252"},
                    {"name": "Rights", "content": "permissions", "isOptional": True, "allowRejects": True},
                ],
            },
            "schedule": {"cron": "0 6 * * 1-5", "locations": {"Users": "/srv/exports/users-*.csv"}},
            "guard": {"maxRemovedPercent": 5},
        },
        {"name": "Old", "isArchived": True},
        {"name": "HR", "isIdentitySource": True, "connector": {"name": "HR file", "vendor": "", "files": None}},
    ],
    "accessModels": [
        {
            "name": "Clerks",
            "description": "Those who post",
            "owner": "ada@example.com",
            "conditions": [[{"field": "type", "operator": "is", "value": "service account"}]],
            "access": [
                {"application": "Ledger", "groups": ["clerks"], "permissions": [{"permission": "Post"}]},
            ],
        },
        {"name": "An idea", "isCommitted": False},
    ],
    "webhooks": [
        {
            "name": "tickets",
            "url": "https://93.184.216.34/hook",
            "events": ["AccessRequestProvisioning"],
            "application": "Ledger",
            "enabled": False,
        }
    ],
}


async def test_export_applied_to_an_empty_instance_round_trips(db: Db, client: httpx2.AsyncClient) -> None:
    await people(db)
    applied = await client.put(URL, json=RICH)
    assert applied.status_code == 200, applied.text
    exported = (await client.get(URL)).json()

    await db.execute(EMPTY)
    await people(db)
    client.headers["Authorization"] = f"Bearer {(await a_token(db, scopes=list(Scope))).secret}"
    empty = (await client.get(URL)).json()
    assert (await client.put(URL, json=exported)).status_code == 200

    assert (empty["applications"], empty["accessModels"], empty["webhooks"]) == ([], [], [])
    assert (await client.get(URL)).json() == exported
    ledger = next(entry for entry in exported["applications"] if entry["name"] == "Ledger")
    assert (ledger["owner"], ledger["provisioners"]) == ("Ada@example.com", ["E-3", "E-2"])
    assert [model["isCommitted"] for model in exported["accessModels"]] == [False, True]
    assert exported["settings"]["approvalPolicy"][0]["identity"] == "E-2"
    assert (await client.put(URL, json=exported)).json() == {"changes": []}


async def test_plan_lists_changes_without_applying_them(db: Db, client: httpx2.AsyncClient) -> None:
    await an_application(db, "Payroll", priority="Low")
    before = (await client.get(URL)).json()
    wanted = {"applications": [{"name": "Payroll", "priority": "High"}, {"name": "Ledger"}]}

    planned = (await client.post(f"{URL}/plan", json=wanted)).json()

    assert planned["changes"] == [
        {
            "section": "applications",
            "name": "Payroll",
            "change": "Altered",
            "fields": [{"field": "priority", "before": "Low", "after": "High"}],
        },
        {"section": "applications", "name": "Ledger", "change": "New", "fields": []},
    ]
    assert (await client.get(URL)).json() == before
    assert (await client.put(URL, json=wanted)).json() == planned
    assert (await client.post(f"{URL}/plan", json=wanted)).json() == {"changes": []}


async def test_unchanged_entries_are_not_written(db: Db, client: httpx2.AsyncClient) -> None:
    id = await an_application(db, "Payroll")
    await an_access_model(db, "Clerks")
    updated = (await client.get(f"/api/applications/{id}")).json()["lastUpdated"]
    exported = (await client.get(URL)).json()

    assert (await client.put(URL, json=exported)).json() == {"changes": []}

    assert (await client.get(f"/api/applications/{id}")).json()["lastUpdated"] == updated
    assert (await client.get("/api/access-models")).json()["items"][0]["version"] == 1


async def test_omitted_fields_stay_and_null_fields_are_removed(db: Db, client: httpx2.AsyncClient) -> None:
    owner = str(await an_identity(db, email="ada@example.com"))
    id = await an_application(db, "Payroll", ownerId=owner, schedule={"cron": "0 6 * * *"})

    await client.put(URL, json={"applications": [{"name": "Payroll", "schedule": None}]})

    found = (await client.get(f"/api/applications/{id}/configuration")).json()
    assert found["schedule"] is None
    assert found["ownerId"] == owner
    assert found["connector"]["files"][3] == {
        "name": "Permissions", "isOptional": True, "isMultiple": True, "content": "permissions",
        "columns": {}, "encoding": None, "allowRejects": False, "shape": None,
    }  # fmt: skip


async def test_all_errors_are_reported_at_once_and_nothing_is_applied(db: Db, client: httpx2.AsyncClient) -> None:
    await people(db)
    before = (await client.get(URL)).json()
    broken = {
        "settings": {"approvalLeadDays": 0},
        "applications": [
            {"name": "Good"},
            {"name": "Good"},
            {"name": "Ledger", "owner": "desk@example.com", "provisioners": ["E-2", "nobody"], "colour": "red"},
            {"name": "Paths", "schedule": {"cron": "0 6 * * *", "locations": {"Users": "/x"}}},
            {"name": "Files", "connector": {"name": "x", "files": [{"name": "Users", "content": "users", "x": 1}]}},
            7,
        ],
        "accessModels": [{"name": "Clerks", "owner": "nobody", "access": [{"application": "Paths"}]}],
        "webhooks": [{"name": "tickets", "application": "Nowhere"}],
        "colours": [],
    }

    answer = await client.put(URL, json=broken)

    assert answer.status_code == 400
    told = {problem["field"]: problem["message"] for problem in answer.json()["errors"]}
    assert told.keys() == {
        "settings.approvalLeadDays", "applications.1.name", "applications.2.colour",
        "applications.2.owner", "applications.2.provisioners.1",
        "applications.3.schedule.locations.Users", "applications.4.connector.files.0.x", "applications.5",
        "accessModels.0.owner", "webhooks.0.application", "webhooks.0.url", "webhooks.0.events", "colours",
    }  # fmt: skip
    assert told["accessModels.0.owner"] == "No identity has the name, confirmed e-mail, employee ID or id nobody"
    assert (await client.get(URL)).json() == before


async def test_name_matching_several_people_or_none_is_an_error(db: Db, client: httpx2.AsyncClient) -> None:
    await people(db)
    entry = {"name": "Ledger", "owner": "desk@example.com", "provisioners": ["e-2", "Ada Lovelace", "nobody"]}
    ids: dict[str, UUID] = dict(await fetch_rows(db, "SELECT first_name, id FROM identities"))

    answer = await client.post(f"{URL}/plan", json={"applications": [entry]})

    fits = [f"{name} Lovelace, desk@example.com, {ids[name]}" for name in ("Bob", "Eve")]
    several = f"desk@example.com matches several people; choose one by id: {'; '.join(fits)}"
    assert answer.json()["errors"] == [
        {"field": "applications.0.owner", "message": several},
        {
            "field": "applications.0.provisioners.2",
            "message": "No identity has the name, confirmed e-mail, employee ID or id nobody",
        },
    ]


async def test_existing_draft_is_not_committed_with_a_file(db: Db, client: httpx2.AsyncClient) -> None:
    id = await an_access_model(db, "Clerks")
    await client.patch(f"/api/access-models/{id}", json={"description": "Half done"})
    same = {"accessModels": [{"name": "Clerks", "description": ""}]}
    other = {"accessModels": [{"name": "Clerks", "description": "By file"}]}

    assert (await client.put(URL, json=same)).json() == {"changes": []}
    refused = await client.put(URL, json=other)

    assert refused.json()["errors"] == [
        {"field": "accessModels.0.name", "message": "Access model Clerks has a draft; commit or discard it first"}
    ]
    assert (await client.get(f"/api/access-models/{id}")).json()["draft"]["description"] == "Half done"
    await client.post(f"/api/access-models/{id}/commit")
    assert (await client.put(URL, json=other)).json()["changes"][0]["fields"] == [
        {"field": "description", "before": "Half done", "after": "By file"}
    ]
    assert (await client.get(f"/api/access-models/{id}")).json()["version"] == 3


async def test_webhooks_need_their_own_scope(db: Db, client: httpx2.AsyncClient) -> None:
    narrow = await a_token(db, "narrow", scopes=["config:manage"])
    headers = {"Authorization": f"Bearer {narrow.secret}"}

    exported = await client.get(URL, headers=headers)
    refused = await client.put(URL, json={"webhooks": []}, headers=headers)

    assert exported.json()["webhooks"] is None
    assert refused.status_code == 403
    assert (await client.put(URL, json=exported.json(), headers=headers)).json() == {"changes": []}


@pytest.mark.parametrize("raw", [{"applications": {}}, {"applications": [None]}, {"settings": []}, {"webhooks": [[]]}])
async def test_malformed_configuration_is_rejected(client: httpx2.AsyncClient, raw: dict[str, Any]) -> None:
    assert (await client.put(URL, json=raw)).status_code == 400


async def test_connector_of_an_application_can_be_read(db: Db, client: httpx2.AsyncClient) -> None:
    id = await an_application(db)

    connector = (await client.get(f"/api/applications/{id}/configuration")).json()["connector"]

    assert [file["name"] for file in connector["files"]] == [file["name"] for file in CONNECTOR["files"]]
    assert (await client.get("/api/applications/x/configuration")).status_code == 404


async def test_changes_are_audited_and_a_plan_is_not(db: Db, client: httpx2.AsyncClient) -> None:
    async def entries() -> list[tuple[str, str]]:
        items = (await client.get("/api/audit-events")).json()["items"]
        return [
            (item["caller"]["name"], item["entity"]["name"])
            for item in items
            if item["entity"]["kind"] == "Application"
        ]

    wanted = {"applications": [{"name": "Payroll", "priority": "High"}]}

    await client.post(f"{URL}/plan", json=wanted)
    assert await entries() == []
    await client.put(URL, json=wanted)
    made = await entries()
    await client.put(URL, json=wanted)

    assert set(made) == {("API Token - tests", "Payroll")}
    assert await entries() == made


def test_file_covers_every_setting_of_the_api() -> None:
    def said(shape: Any) -> set[str]:
        return set(shape.model_fields if hasattr(shape, "model_fields") else shape.__struct_fields__)

    named = {"owner_id": "owner", "provisioner_ids": "provisioners", "application_id": "application"}
    shapes: list[tuple[type[BaseModel], type[Any], type[BaseModel]]] = [
        (SettingsBody, SettingsEntry, SettingsEntryBody),
        (ApplicationChanges, ApplicationEntry, ApplicationEntryBody),
        (ModelChanges, ModelEntry, ModelEntryBody),
        (HookChanges, WebhookEntry, WebhookEntryBody),
    ]
    for body, entry, entry_body in shapes:
        wanted = {named.get(field, field) for field in said(body)}
        assert wanted <= said(entry), entry
        assert said(entry) == said(entry_body), entry_body
        # A field of a file is validated like the field of the API with the same name.
        for field in (said(body) & said(entry_body)) - {"name", "access", "approval_policy"}:
            assert entry_body.model_fields[field].annotation == body.model_fields[field].annotation, field


async def test_webhook_with_the_longest_allowed_url_can_be_applied(client: httpx2.AsyncClient) -> None:
    url = "https://desk.example.com/".ljust(LONGEST_URL, "x")
    hook = {"name": "Desk", "url": url, "events": ["AccessRequestCreated"]}
    assert (await client.post("/api/webhooks", json=hook)).status_code == 201

    exported = (await client.get(URL)).json()
    longer = {"webhooks": [{"name": "Desk", "url": url + "x"}]}

    assert (await client.post(f"{URL}/plan", json=exported)).json() == {"changes": []}
    assert (await client.post(f"{URL}/plan", json=longer)).json()["errors"] == [
        {"field": "webhooks.0.url", "message": f"URL must be at most {LONGEST_URL} characters"}
    ]


async def test_spaces_around_names_are_ignored(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, email="ada@example.com")
    said = {
        "applications": [{"name": " Wiki", "owner": " ada@example.com "}],
        "accessModels": [{"name": "Readers ", "access": [{"application": "Wiki ", "groups": [" Readers"]}]}],
        "webhooks": [{"name": " Desk ", "url": "https://desk.example.com/", "events": ["AccessRequestCreated"]}],
    }

    first = await client.put(URL, json=said)
    again = await client.put(URL, json=said)
    twice = await client.put(URL, json={"applications": [{"name": "Wiki"}, {"name": "Wiki "}]})

    assert [change["name"] for change in first.json()["changes"]] == ["Wiki", "Readers", "Desk"], first.text
    assert again.json() == {"changes": []}
    said_twice = "Wiki is listed twice; keep one entry"
    assert twice.json()["errors"] == [{"field": "applications.1.name", "message": said_twice}]


async def test_person_cannot_be_named_by_an_unconfirmed_e_mail(db: Db, client: httpx2.AsyncClient) -> None:
    ada, eve = (
        await an_identity(db, "Ada", email="new@example.com"),
        await an_identity(db, "Eve", email="bob@example.com"),
    )
    await execute(
        db,
        """INSERT INTO unconfirmed_emails (identity_id, sign_in_email, set_on)
           VALUES (%(ada)s, 'ada@example.com', now()), (%(eve)s, '', now())""",
        ada=ada,
        eve=eve,
    )

    async def apply(owner: str) -> httpx2.Response:
        return await client.put(URL, json={"applications": [{"name": "Ledger", "owner": owner}]})

    refused = [await apply(email) for email in ("new@example.com", "bob@example.com")]
    applied = await apply("ada@example.com")

    assert [answer.status_code for answer in refused] == [400, 400]
    assert "No identity has the name, confirmed e-mail, employee ID or id bob@example.com" in refused[1].text
    assert applied.status_code == 200, applied.text
    assert await fetch_rows(db, "SELECT owner_id FROM applications") == [(ada,)]
    exported = (await client.get(URL)).json()["applications"]
    assert [each["owner"] for each in exported] == [str(ada)]
