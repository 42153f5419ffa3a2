from typing import Any

import httpx2

ENTRY: dict[str, Any] = {
    "email": {"transport": "SMTP", "host": "mail.example.com", "sender": "rolecall@example.com"},
    "kinds": [{"kind": "Waiting", "isLocked": True}],
    "templates": [{"kind": "Decided", "subject": "{{ result }}: {{ what }}"}],
    "reminders": {"remindAfterDays": 2, "holidays": ["2026-12-25"]},
}


async def apply(client: httpx2.AsyncClient, entry: dict[str, Any], path: str = "") -> Any:
    method = "POST" if path else "PUT"
    return (await client.request(method, f"/api/configuration{path}", json={"notifications": entry})).json()


async def exported(client: httpx2.AsyncClient) -> dict[str, Any]:
    entry: dict[str, Any] = (await client.get("/api/configuration")).json()["notifications"]
    return entry


async def test_notification_settings_are_planned_applied_and_exported(client: httpx2.AsyncClient) -> None:
    planned = await apply(client, ENTRY, "/plan")
    assert (await exported(client))["kinds"] == []
    applied = await apply(client, ENTRY)
    again = await apply(client, await exported(client))

    assert planned == applied
    [change] = applied["changes"]
    assert (change["section"], change["change"]) == ("notifications", "Altered")
    assert {field["field"] for field in change["fields"]} >= {"email.host", "kinds", "templates"}
    assert again == {"changes": []}
    entry = await exported(client)
    assert [(rule["kind"], rule["isLocked"]) for rule in entry["kinds"]] == [("Waiting", True)]
    assert entry["templates"][0]["subject"] == "{{ result }}: {{ what }}"
    assert entry["reminders"]["holidays"] == ["2026-12-25"]


async def test_secrets_are_neither_exported_nor_accepted(client: httpx2.AsyncClient) -> None:
    await client.patch("/api/notification-settings", json={"email": {"password": "hunter2"}})

    answer = await apply(client, {"email": {"password": "hunter3"}, "slackUrl": "https://hooks.example.com/x"})

    assert {problem["field"] for problem in answer["errors"]} == {
        "notifications.email.password",
        "notifications.slackUrl",
    }
    assert "hunter" not in str(await exported(client))


async def test_problems_of_notification_settings_name_their_place_in_the_file(client: httpx2.AsyncClient) -> None:
    wrong = {"templates": [{"kind": "Waiting", "body": "{{ persn }}"}], "reminders": {"escalateAfterDays": 1}}

    answer = await apply(client, wrong)

    assert {problem["field"] for problem in answer["errors"]} == {
        "notifications.templates.0.body",
        "notifications.reminders.escalateAfterDays",
    }
    assert (await exported(client))["templates"] == []
