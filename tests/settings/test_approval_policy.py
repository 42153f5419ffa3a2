from typing import Any
from uuid import uuid4

import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity


async def change(client: httpx2.AsyncClient, *rules: dict[str, Any]) -> httpx2.Response:
    return await client.patch("/api/settings", json={"approvalPolicy": rules})


async def test_the_default_policy_can_be_read(client: httpx2.AsyncClient) -> None:
    policy = (await client.get("/api/settings")).json()["approvalPolicy"]

    assert [
        (rule["type"], rule["responder"], rule["actions"], rule["priorities"], rule["risks"]) for rule in policy
    ] == [
        ("Approve", "Supervisor", ["Add", "Change"], [], []),
        ("Approve", "Application Owner", ["Add", "Change"], [], ["High", "Critical"]),
        ("Resolve", "Application Provisioner", [], [], []),
        ("Verify", "Application Owner", [], ["High", "Critical"], []),
    ]


async def test_policy_is_replaced_and_its_words_are_normalized(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    rule = {
        "type": "approve",
        "reason": "Ada sees every leaver",
        "responder": "identity",
        "identityId": ada,
        "eventTypes": ["roletransition"],
    }

    answer = await change(client, rule)

    assert answer.status_code == 200
    kept = (await client.get("/api/settings")).json()["approvalPolicy"]
    assert kept == answer.json()["approvalPolicy"]
    assert kept == [
        {
            "type": "Approve",
            "reason": "Ada sees every leaver",
            "responder": "Identity",
            "identityId": ada,
            "actions": [],
            "eventTypes": ["Role Transition"],
            "priorities": [],
            "risks": [],
        }
    ]
    assert (await client.get("/api/settings")).json()["approvalLeadDays"] == 7


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient) -> None:
    nobody = str(uuid4())

    answer = await change(
        client,
        {"type": "Ask", "responder": "Supervisor", "actions": ["Grant"], "risks": ["Huge"]},
        {"type": "Verify", "reason": "x", "responder": "Identity"},
        {"type": "Verify", "reason": "x", "responder": "Identity", "identityId": nobody},
    )

    assert answer.json()["errors"] == [
        {"field": "approvalPolicy.0.type", "message": "Type must be one of Approve, Resolve, Verify"},
        {"field": "approvalPolicy.0.reason", "message": "Reason is required"},
        {
            "field": "approvalPolicy.0.actions.0",
            "message": "Actions must be one of Add, Change, Remove, Suspend, Restore",
        },
        {"field": "approvalPolicy.0.risks.0", "message": "Risks must be one of None, Low, Moderate, High, Critical"},
        {
            "field": "approvalPolicy.1.responder",
            "message": "Identity ID must be given with the responder Identity, and only with it",
        },
        {"field": "approvalPolicy.2.identityId", "message": f"Identity with id {nobody} not found"},
    ]
