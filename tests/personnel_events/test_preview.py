from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_access_model, an_application, an_identity
from tests.holdings import an_account
from tests.personnel_events.bodies import EVENTS, MISSING, created, day, midnight, planned

ADA = {"firstName": "Ada", "lastName": "Lovelace", "department": "Finance"}


async def previewed(client: httpx2.AsyncClient, **body: Any) -> Any:
    answer = await client.post(f"{EVENTS}/preview", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_preview_of_an_onboarding_stores_nothing(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = str(await an_application(db, "Ledger"))
    await an_access_model(db, "Clerks", access=[{"applicationId": ledger, "groups": ["Posters"]}])
    before = await everything(db)

    preview = await previewed(client, type="Onboard", identity=ADA, effectiveDate=day(10))

    assert preview["stages"] == [
        {"name": "Approval", "status": "Scheduled", "scheduledStart": midnight(3)},
        {"name": "Provision", "status": "Scheduled", "scheduledStart": midnight(10)},
        {"name": "Verification", "status": "Scheduled", "scheduledStart": None},
    ]
    [request] = preview["accessRequests"]
    application = request["target"].pop("application")
    assert (application["id"], application["name"]) == (ledger, "Ledger")
    assert request == {
        "action": "Add",
        "target": {
            "type": "User",
            "name": "Ada Lovelace",
            "privileges": [
                {
                    "initialAccess": "None",
                    "requestedAccess": "Grant",
                    "header": "Group",
                    "section": "",
                    "permission": "Posters",
                    "description": "",
                    # A group that was never imported counts as Critical.
                    "riskRating": "Critical",
                }
            ],
        },
        "scheduledStart": midnight(10),
        "conflicts": [],
    }
    assert await everything(db) == before
    event = await created(client, "onboard", identity=ADA, effectiveDate=day(10))
    assert planned(event) == [tuple(stage.values()) for stage in preview["stages"]]
    assert event["number"] == 1


async def everything(db: Db) -> dict[str, int]:
    tables = ("identities", "personnel_events", "stages", "access_requests", "activity", "identities_to_match")
    rows = [await (await db.execute(f"SELECT count(*) FROM {table}")).fetchone() for table in tables]
    return {table: row[0] for table, row in zip(tables, rows, strict=True) if row}


async def test_preview_of_offboarding_absence_and_role_transition(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, department="Finance")
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    await an_account(db, ledger, "ada", ada, groups=("Posters",))
    await an_access_model(db, "Clerks", access=[{"applicationId": str(ledger), "groups": ["Posters"]}])
    legal = [[{"field": "customField2", "operator": "is", "value": "legal"}]]
    await an_access_model(db, "Lawyers", conditions=legal, access=[{"applicationId": str(wiki), "groups": ["Cases"]}])
    await client.patch("/api/settings", json={"customFields": [{"number": 2, "enabled": True}]})
    body = {"identityId": str(ada), "effectiveDate": day(10)}

    def summarized(preview: Any) -> list[tuple[str, str, str, list[tuple[str, str, str]]]]:
        return [
            (
                request["action"],
                request["target"]["application"]["name"],
                request["target"]["name"],
                [(p["permission"], p["initialAccess"], p["requestedAccess"]) for p in request["target"]["privileges"]],
            )
            for request in preview["accessRequests"]
        ]

    lost = [("Posters", "Grant", "None")]
    assert summarized(await previewed(client, type="offboard", **body)) == [("Remove", "Ledger", "ada", lost)]
    assert summarized(await previewed(client, type="Absence", **body)) == [("Suspend", "Ledger", "ada", lost)]
    moved = await previewed(
        client,
        type="RoleTransition",
        endDate=day(20),
        identity={"department": "Legal", "customField2": "Legal"},
        **body,
    )
    assert summarized(moved) == [
        ("Remove", "Ledger", "ada", lost),
        ("Add", "Wiki", "Ada Lovelace", [("Cases", "None", "Grant")]),
    ]
    assert [request["scheduledStart"] for request in moved["accessRequests"]] == [midnight(20), midnight(10)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"type": "Type is required"}),
        ({"type": "Party"}, {"type": "Type must be one of Onboard, Offboard, Role Transition, Absence"}),
        (
            {"type": "Onboard", "effectiveDate": "2020-01-01"},
            {"identity": "Identity is required", "effectiveDate": "Effective date must be today or later"},
        ),
        (
            {"type": "Absence", "identityId": MISSING, "effectiveDate": "2020-01-02", "endDate": "2020-01-01"},
            {
                "identityId": f"Identity with id {MISSING} not found",
                "effectiveDate": "Effective date must be today or later",
                "endDate": "End date must be after effective date",
            },
        ),
    ],
)
async def test_preview_validates_like_the_event(
    client: httpx2.AsyncClient, body: dict[str, Any], expected: dict[str, str]
) -> None:
    answer = await client.post(f"{EVENTS}/preview", json=body)

    assert answer.status_code == 400
    assert {problem["field"]: problem["message"] for problem in answer.json()["errors"]} == expected
