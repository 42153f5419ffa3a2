from datetime import UTC, datetime

import httpx2
import pytest

from rolecall.access_requests import queries
from rolecall.access_requests.model import NewPrivilege, RelatedItem
from rolecall.core.db import Db
from rolecall.core.ids import new_id
from rolecall.settings.policy import Level
from tests.access_requests.walking import a_cast, a_request_that_is, detail_of
from tests.builders import an_access_request, an_application, an_identity
from tests.counting import counting


async def test_detail_has_exactly_the_fields_of_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    crm = await an_application(db, "CRM", provisionerIds=[str(boss)], ownerId=str(boss), priority="High")
    event = RelatedItem(id=new_id(), kind="Personnel Event", number=12, status="Pending", stage="Approval")
    now = datetime(2026, 12, 1, 8, tzinfo=UTC)
    privilege = NewPrivilege(
        header="Accounts", section="Sales", permission="Edit", risk_rating=Level.CRITICAL, value="E",
        description="May edit", sources=["Clerks"], origins=["Personnel Event"],
    )  # fmt: skip
    id = await an_access_request(
        db,
        identity_id=ada,
        application_id=crm,
        privileges=[privilege],
        metadata=[("Cost centre", "42")],
        related=event,
        comment="Please",
        now=now,
    )

    detail = await detail_of(client, id)

    assert list(detail) == [
        "id", "kind", "number", "action", "status", "reporter", "assignee", "target", "scheduledStart", "startedOn",
        "approvedOn", "resolvedOn", "verifiedOn", "completedOn", "canceledOn", "activity", "comments", "relatedItems",
        "requirements", "accessModels",
    ]  # fmt: skip
    assert list(detail["target"]) == ["type", "name", "affectedIdentity", "application", "privileges", "metadata"]
    assert detail["target"]["affectedIdentity"]["supervisorName"] == "Hopper, Grace"
    assert detail["target"]["privileges"] == [
        {
            "initialAccess": "None",
            "requestedAccess": "Grant",
            "approvedAccess": "None",
            "permission": {
                "header": "Accounts",
                "section": "Sales",
                "permission": "Edit",
                "description": "May edit",
                "riskRating": "Critical",
                "metadata": [],
                "value": "E",
            },
            "sources": ["Clerks"],
            "origins": ["Personnel Event"],
        }
    ]
    assert detail["target"]["metadata"] == [{"key": "Cost centre", "value": "42"}]
    assert detail["activity"] == [
        {
            "createdDate": "2026-12-01T08:00:00Z",
            "author": "System",
            "action": "Created",
            "content": "Access request created",
        }
    ]
    assert detail["comments"] == [{"createdDate": "2026-12-01T08:00:00Z", "author": "System", "content": "Please"}]
    assert detail["relatedItems"] == [
        {"id": str(event.id), "kind": "Personnel Event", "number": 12, "status": "Pending"}
    ]
    asked = [{"reviewer": {"id": str(boss), "name": "Grace Hopper"}, "response": "Pending"}]
    assert [(r["type"], [rule["responses"] for rule in r["rules"]]) for r in detail["requirements"]] == [
        ("Approve", [asked, asked]),
        ("Resolve", [asked]),
        ("Verify", [asked]),
    ]
    assert list(detail["requirements"][0]) == ["type", "description", "rules"]
    assert list(detail["requirements"][0]["rules"][0]) == ["reason", "responses"]
    assert detail["accessModels"] == []


@pytest.mark.parametrize("id", ["00000000-0000-0000-0000-000000000000", "seven", "stalled2"])
async def test_unknown_request_is_not_found(client: httpx2.AsyncClient, id: str) -> None:
    answer = await client.get(f"/api/access-requests/{id}")

    assert answer.status_code == 404
    assert answer.json()["error"] == "not_found"
    assert answer.json()["message"] == f"AccessRequest with id {id} not found"


async def test_detail_takes_one_statement_regardless_of_its_size(clean_database: str) -> None:
    async with counting(clean_database) as counts:
        db = counts.db
        few = await an_access_request(db, privileges=[])
        many = await an_access_request(
            db,
            privileges=[NewPrivilege(header="H", permission=f"P{n}", risk_rating=Level.HIGH) for n in range(30)],
            related=RelatedItem(id=new_id(), kind="Personnel Event", number=12, status="Pending"),
            comment="Please",
        )

        for ids in ([few], [many], [few, many]):
            assert await counts.of(queries.details(db, ids)) == 1


@pytest.mark.parametrize(
    ("status", "responses"),
    [
        ("Pending", ["Pending", "Pending", "Pending"]),
        ("Resolved", ["Approved", "Pending", "Approved", "Pending"]),
        ("Completed", ["Approved", "Approved", "Approved"]),
        ("Canceled", []),
    ],
)
async def test_finished_request_has_no_pending_reviewers(
    client: httpx2.AsyncClient, db: Db, status: str, responses: list[str]
) -> None:
    request = await detail_of(client, await a_request_that_is(client, db, status, await a_cast(db)))

    rules = [rule for requirement in request["requirements"] for rule in requirement["rules"]]
    assert [answer["response"] for rule in rules for answer in rule["responses"]] == responses
    assert [requirement["type"] for requirement in request["requirements"]] == ["Approve", "Resolve", "Verify"]
