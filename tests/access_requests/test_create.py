from typing import Any
from uuid import uuid4

import httpx2
import pytest

from rolecall.access_requests.model import PriorApproval
from rolecall.core.db import Db
from rolecall.settings.policy import RequestAction
from tests.access_requests.walking import PATH, events_of
from tests.builders import an_access_request, an_application, an_identity


async def create(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post(PATH, json=body)


async def test_request_for_an_identity_is_created_with_all_fields(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, email="ada@example.com", supervisorId=str(boss))
    crm = await an_application(db)
    privilege = {"header": "Sales", "section": "EU", "permission": "Leads", "access": "modify"}

    answer = await create(
        client,
        action="add",
        applicationId=str(crm),
        identityId=str(ada),
        privileges=[privilege],
        scheduledStart="2099-01-01",
        comment="Please",
    )

    assert answer.status_code == 201
    request = answer.json()
    assert (request["action"], request["status"], request["target"]["name"]) == ("Add", "Pending", "ada@example.com")
    assert request["reporter"]["name"] == "API Token - tests"
    assert request["scheduledStart"] == "2099-01-01T00:00:00Z"
    assert [comment["content"] for comment in request["comments"]] == ["Please"]
    (asked,) = request["target"]["privileges"]
    assert (asked["initialAccess"], asked["requestedAccess"], asked["approvedAccess"]) == ("None", "Modify", "None")
    assert [event["name"] for event in await events_of(db, request["id"])] == ["AccessRequestCreated"]


async def test_target_of_a_person_without_email_is_their_name(client: httpx2.AsyncClient, db: Db) -> None:
    ada, crm = await an_identity(db, "Ada", "Lovelace"), await an_application(db)

    answer = await create(client, action="Add", applicationId=str(crm), identityId=str(ada))

    assert answer.json()["target"]["name"] == "Ada Lovelace"


async def test_request_for_a_group_has_no_affected_identity(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)

    answer = await create(client, action="Remove", applicationId=str(crm), group="Clerks")

    target = answer.json()["target"]
    assert (target["type"], target["name"], target["affectedIdentity"]) == ("Group", "Clerks", None)
    assert answer.json()["status"] == "Open"


async def test_remove_requests_access_none_for_its_privileges(client: httpx2.AsyncClient, db: Db) -> None:
    ada, crm = await an_identity(db), await an_application(db)

    answer = await create(
        client,
        action="Remove",
        applicationId=str(crm),
        identityId=str(ada),
        targetName="adal",
        privileges=[{"permission": "Leads"}],
    )

    assert answer.json()["target"]["name"] == "adal"
    assert answer.json()["target"]["privileges"][0]["requestedAccess"] == "None"


async def test_a_request_needs_an_identity_or_a_group_and_not_both(client: httpx2.AsyncClient, db: Db) -> None:
    ada, crm = await an_identity(db), await an_application(db)
    rule = [{"field": "identityId", "message": "Either identity ID or group is required, not both"}]

    neither = await create(client, action="Add", applicationId=str(crm))
    both = await create(client, action="Add", applicationId=str(crm), identityId=str(ada), group="Clerks")

    assert neither.json()["errors"] == rule
    assert both.json()["errors"] == rule


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    nobody, old = str(uuid4()), await an_application(db, isArchived=True)

    answer = await create(
        client,
        action="Grant",
        applicationId=str(old),
        identityId=nobody,
        scheduledStart="soon",
        privileges=[{"permission": "A", "access": "All"}, {"header": "B"}],
        targetName=" ",
    )

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "action", "message": "Action must be one of Add, Change, Remove, Suspend, Restore"},
        {"field": "applicationId", "message": "Application is archived"},
        {"field": "identityId", "message": f"Identity with id {nobody} not found"},
        {"field": "targetName", "message": "Target name must not be blank"},
        {
            "field": "privileges.0.access",
            "message": "Access must be one of None, Unrestricted, Grant, Deny, Modify",
        },
        {"field": "privileges.1.permission", "message": "Permission is required"},
        {"field": "scheduledStart", "message": "Scheduled start must be an ISO 8601 date or date-time"},
    ]
    assert (await client.get(PATH)).json()["totalCount"] == 0


async def test_same_privilege_twice_is_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)
    twice = [{"permission": "A"}, {"permission": "A", "access": "Deny"}]

    answer = await create(client, action="Add", applicationId=str(crm), group="Clerks", privileges=twice)

    assert answer.json()["errors"] == [
        {"field": "privileges", "message": "Privileges must not name a permission twice"}
    ]


async def test_same_idempotency_key_creates_one_request(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)
    body = {"action": "Remove", "applicationId": str(crm), "group": "Clerks"}

    answers = [await client.post(PATH, json=body, headers={"Idempotency-Key": "once"}) for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert (await client.get(PATH)).json()["totalCount"] == 1


async def test_empty_optional_fields_count_as_absent(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)
    privilege = {"permission": "Post", "access": ""}

    answer = await create(
        client,
        action="Add",
        applicationId=str(crm),
        group="Clerks",
        identityId="",
        scheduledStart="",
        comment=" ",
        privileges=[privilege],
    )

    assert answer.status_code == 201, answer.text
    request = answer.json()
    assert (request["scheduledStart"], request["comments"]) == (None, [])
    assert [one["requestedAccess"] for one in request["target"]["privileges"]] == ["Grant"]


async def test_missing_application_hides_no_other_problem_and_causes_none(client: httpx2.AsyncClient, db: Db) -> None:
    target = {"identityId": str(await an_identity(db)), "targetName": "adal", "privileges": [{"permission": "Leads"}]}
    missing = {"field": "applicationId", "message": "Application ID is required"}
    twice = {"field": "privileges", "message": "Privileges must not name a permission twice"}

    for action in RequestAction:
        assert (await create(client, action=action, **target)).json()["errors"] == [missing]
        assert (await create(client, action=action, group="Clerks")).json()["errors"] == [missing]
    both = await create(client, action="Restore", **{**target, "privileges": [{"permission": "Leads"}] * 2})
    assert both.json()["errors"] == [missing, twice]


@pytest.mark.parametrize(
    ("reasons", "content"), [([], "No approval is required"), (["Ada agreed", "Bo agreed"], "Ada agreed; Bo agreed")]
)
async def test_activity_says_why_a_new_request_needs_no_approval(
    client: httpx2.AsyncClient, db: Db, reasons: list[str], content: str
) -> None:
    id = await an_access_request(db, "Remove", approvals=[PriorApproval(reason, uuid4(), "Ada") for reason in reasons])

    activity = (await client.get(f"{PATH}/{id}")).json()["activity"]

    assert [entry["content"] for entry in activity if entry["action"] == "Approved"] == [content]
