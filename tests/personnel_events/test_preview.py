from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute
from tests.builders import an_access_model, an_access_request, an_application, an_identity, an_import
from tests.holdings import a_rollback, an_account, finish_import
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


async def a_clerk_without_access(db: Db) -> tuple[UUID, UUID]:
    """Create Ada, who has an account but lacks the group and the permission that her model grants; return both ids."""
    ada, ledger = await an_identity(db, department="Finance"), await an_application(db, "Ledger")
    permissions = [{"header": "Books", "permission": "Close", "access": "Modify"}]
    access = [{"applicationId": str(ledger), "groups": ["Posters"], "permissions": permissions}]
    await an_access_model(db, "Clerks", access=access)
    return ada, ledger


async def lost_in_transition(client: httpx2.AsyncClient, ada: UUID) -> list[str]:
    """Preview a move to a department without models; return the privileges that would be removed."""
    body = {"identityId": str(ada), "effectiveDate": day(10), "identity": {"department": "Legal"}}
    preview = await previewed(client, type="RoleTransition", **body)
    return [p["permission"] for request in preview["accessRequests"] for p in request["target"]["privileges"]]


async def test_role_transition_removes_only_access_that_the_account_holds(client: httpx2.AsyncClient, db: Db) -> None:
    ada, ledger = await a_clerk_without_access(db)
    await an_account(db, ledger, "ada", ada, permissions=(("Books", "Close", "Modify", "Low"),))

    assert await lost_in_transition(client, ada) == ["Close"]


async def test_role_transition_removes_suspended_access_until_it_is_restored(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, ledger = await a_clerk_without_access(db)
    await an_account(db, ledger, "ada", ada)
    asked: dict[str, Any] = {"application_id": ledger, "identity_id": ada, "target_name": "ada"}
    posters = NewPrivilege(header="Group", permission="Posters", initial_access=Access.GRANT)
    denied = NewPrivilege(header="Books", permission="Close", initial_access=Access.DENY)
    taken = [msgspec.structs.replace(each, requested_access=Access.NONE) for each in (posters, denied)]
    suspension = await an_access_request(db, "Suspend", privileges=taken, **asked)
    found = [await lost_in_transition(client, ada)]

    # A Restore of other access, and one that is canceled, restore nothing.
    readers = NewPrivilege(header="Group", permission="Readers")
    await an_access_request(db, "Restore", privileges=[readers], **asked)
    restore = await an_access_request(db, "Restore", privileges=[posters], **asked)
    await execute(db, "UPDATE access_requests SET status = 'Canceled' WHERE id = %(id)s", id=restore)
    found.append(await lost_in_transition(client, ada))
    completed = "UPDATE access_requests SET status = 'Completed', completed_on = now() WHERE id = %(id)s"
    await execute(db, completed, id=restore)
    await finish_import(db, ledger, "Memberships", at=datetime.now(UTC) + timedelta(minutes=1))
    found.append(await lost_in_transition(client, ada))
    for canceled in (restore, suspension):
        await execute(db, "UPDATE access_requests SET status = 'Canceled' WHERE id = %(id)s", id=canceled)
    found.append(await lost_in_transition(client, ada))

    assert found == [["Posters"], ["Posters"], [], []]


async def test_role_transition_removes_only_access_that_is_requested_for_the_person_or_suspended(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, ledger = await a_clerk_without_access(db)
    grace, wiki = await an_identity(db, "Grace", "Hopper"), await an_application(db, "Wiki")
    await an_account(db, ledger, "ada", ada)
    given = NewPrivilege(header="Group", permission="Posters", initial_access=Access.GRANT)
    taken = msgspec.structs.replace(given, requested_access=Access.NONE)
    readers = NewPrivilege(header="Group", permission="Readers", initial_access=Access.GRANT)
    of_ada: dict[str, Any] = {"application_id": ledger, "identity_id": ada, "target_name": "ada"}
    of_grace: dict[str, Any] = {"application_id": ledger, "identity_id": grace, "target_name": "grace"}
    in_wiki = of_ada | {"application_id": wiki}
    for action in ("Add", "Suspend"):
        await an_access_request(db, action, privileges=[readers], **of_ada)
        for other in (of_grace, in_wiki):
            await an_access_request(db, action, privileges=[given if action == "Add" else taken], **other)
    for action in ("Change", "Remove"):
        await an_access_request(db, action, privileges=[taken], **of_ada)
    canceled = await an_access_request(db, privileges=[given], **of_ada)
    await execute(db, "UPDATE access_requests SET status = 'Canceled' WHERE id = %(id)s", id=canceled)
    found = [await lost_in_transition(client, ada)]

    await an_access_request(db, privileges=[given], **of_ada)
    found.append(await lost_in_transition(client, ada))

    assert found == [[], ["Posters"]]


async def test_role_transition_removes_suspended_access_that_only_earlier_or_other_requests_restored(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, ledger = await a_clerk_without_access(db)
    await an_account(db, ledger, "ada", ada)
    now = datetime.now(UTC)

    async def a_completed_request(action: str, after: int, access: Access, **fields: Any) -> UUID:
        posters = NewPrivilege(
            header="Group", permission="Posters", initial_access=Access.GRANT, requested_access=access
        )
        asked = {"application_id": ledger, "identity_id": ada, "target_name": "ada", **fields}
        id = await an_access_request(db, action, privileges=[posters], **asked)
        done = "UPDATE access_requests SET status = 'Completed', resolved_on = %(on)s, completed_on = %(on)s"
        await execute(db, f"{done} WHERE id = %(id)s", id=id, on=now + timedelta(seconds=after))
        return id

    await a_completed_request("Suspend", 1, Access.NONE)
    earlier = await a_completed_request("Restore", 2, Access.GRANT)
    await a_completed_request("Suspend", 3, Access.NONE)
    others = {"application_id": await an_application(db, "Wiki")}, {"target_name": "other"}
    for other in (*others, {"identity_id": await an_identity(db, "Grace", "Hopper")}):
        await a_completed_request("Restore", 4, Access.GRANT, **other)
    await finish_import(db, ledger, "Memberships", at=now + timedelta(minutes=1))
    found = [await lost_in_transition(client, ada)]

    # A Restore that was requested before the suspension and provisioned after it gives the access back.
    await execute(
        db,
        "UPDATE access_requests SET resolved_on = %(on)s WHERE id = %(id)s",
        on=now + timedelta(seconds=5),
        id=earlier,
    )
    found.append(await lost_in_transition(client, ada))

    assert found == [["Posters"], []]


async def test_role_transition_removes_completed_access_until_an_import_could_show_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, ledger = await a_clerk_without_access(db)
    await an_account(db, ledger, "ada", ada)
    posters = [NewPrivilege(header="Group", permission="Posters")]
    await an_access_request(db, application_id=ledger, identity_id=ada, target_name="ada", privileges=posters)
    await execute(db, "UPDATE access_requests SET status = 'Completed', completed_on = clock_timestamp()")
    found = [await lost_in_transition(client, ada)]

    later = datetime.now(UTC) + timedelta(minutes=1)
    await finish_import(db, await an_application(db, "Wiki"), "Memberships", at=later)
    await finish_import(db, ledger, "Users", at=later)
    await an_import(db, ledger, "Failed", created_at=later)
    await a_rollback(db, ledger)
    found.append(await lost_in_transition(client, ada))
    await finish_import(db, ledger, "Memberships", at=later)
    found.append(await lost_in_transition(client, ada))

    assert found == [["Posters"], ["Posters"], []]


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
