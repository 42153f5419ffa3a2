"""Test that leavers are given no access, and that their accounts are removed despite other events and requests."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.holdings import an_account, finish_import
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
REQUESTS = "/api/access-requests"
WITHHELD = "The identity is Disabled; only active identities can be given access"
LESS = [NewPrivilege(header="Ledger", permission="Post entries", requested_access=Access.NONE)]


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def november() -> None:
    clock.travel_to(START)


@pytest.fixture
async def boss(db: Db) -> str:
    return str(await an_identity(db, "Mary", "Somerville"))


@pytest.fixture
async def ada(db: Db, boss: str) -> UUID:
    return await an_identity(db, department="Finance", supervisorId=boss)


async def read(client: httpx2.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def leave(client: httpx2.AsyncClient, config: Config, ada: UUID, on: datetime = START) -> Any:
    event = await created(client, "offboard", identityId=str(ada), effectiveDate=on.date().isoformat())
    await let_the_worker_work(config, on)
    return await read(client, f"{EVENTS}/{event['id']}")


def requests(event: Any) -> list[tuple[str, str, str]]:
    return [
        (request["action"], request["target"]["name"], request["status"])
        for request in event["stages"][0]["accessRequests"]
    ]


async def test_requests_that_would_give_access_to_a_leaver_are_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, boss: str
) -> None:
    ids = {
        "pending": await an_access_request(db, "Add", identity_id=ada, now=START),
        "scheduled": await an_access_request(
            db, "Add", identity_id=ada, scheduled_start=START + timedelta(days=30), now=START
        ),
        "open": await an_access_request(db, "Restore", identity_id=ada, now=START),
        "snoozed": await an_access_request(db, "Change", identity_id=ada, now=START),
        "taking": await an_access_request(db, "Change", identity_id=ada, privileges=LESS, now=START),
        "removal": await an_access_request(db, "Remove", identity_id=ada, now=START),
        "another's": await an_access_request(db, "Add", identity_id=UUID(boss), now=START),
    }
    yes = {"type": "Approve", "response": "Approved", "reviewerId": boss}
    for name in ("scheduled", "open", "snoozed", "taking"):
        assert (await client.post(f"{REQUESTS}/{ids[name]}/respond", json=yes)).status_code == 200
    until = (START + timedelta(days=5)).isoformat()
    assert (await client.post(f"{REQUESTS}/{ids['snoozed']}/snooze", json={"until": until})).status_code == 200

    await leave(client, config, ada)

    found = {name: await read(client, f"{REQUESTS}/{id}") for name, id in ids.items()}
    assert {name: request["status"] for name, request in found.items()} == {
        "pending": "Canceled",
        "scheduled": "Canceled",
        "open": "Canceled",
        "snoozed": "Canceled",
        "taking": "Open",
        "removal": "Open",
        "another's": "Pending",
    }
    for name in ("pending", "scheduled", "open", "snoozed"):
        assert [(said["author"], said["content"]) for said in found[name]["comments"]] == [("System", WITHHELD)]
        assert (found[name]["activity"][-1]["action"], found[name]["activity"][-1]["content"]) == ("Canceled", WITHHELD)


async def test_overlapping_transition_gives_no_access_after_the_person_left(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    wiki = await an_application(db, "Wiki")
    legal = [[{"field": "department", "operator": "is", "value": "Legal"}]]
    await an_access_model(db, conditions=legal, access=[{"applicationId": str(wiki), "groups": ["Lawyers"]}])
    transition = await created(
        client,
        "role-transition",
        identityId=str(ada),
        effectiveDate="2026-12-10",
        identity={"department": "Legal"},
    )
    await let_the_worker_work(config, day(12, 3))
    planned = await read(client, f"{EVENTS}/{transition['id']}")
    assert [(action, status) for action, _, status in requests(planned)] == [("Add", "Pending")]

    await leave(client, config, ada, day(12, 5))
    await let_the_worker_work(config, day(12, 10))

    over = await read(client, f"{EVENTS}/{transition['id']}")
    assert [(action, status) for action, _, status in requests(over)] == [("Add", "Canceled")]
    assert over["status"] == "Completed"


async def test_event_of_a_person_who_left_gives_no_access(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    wiki, ledger = await an_application(db, "Wiki"), await an_application(db, "Ledger")
    legal = [[{"field": "department", "operator": "is", "value": "Legal"}]]
    both = [{"applicationId": str(id), "groups": ["Lawyers"]} for id in (wiki, ledger)]
    await an_access_model(db, conditions=legal, access=both)
    await leave(client, config, ada)
    await an_account(db, ledger, "ada", ada)
    body = {"identityId": str(ada), "effectiveDate": "2026-11-05", "identity": {"department": "Legal"}}

    preview = await client.post(f"{EVENTS}/preview", json={"type": "RoleTransition", **body})
    event = await created(client, "role-transition", **body)
    await let_the_worker_work(config, day(11, 5))

    assert preview.json()["accessRequests"] == []
    event = await read(client, f"{EVENTS}/{event['id']}")
    assert (event["status"], requests(event)) == ("Completed", [])


@pytest.mark.parametrize("status", ["Disabled", "Removed"])
async def test_access_cannot_be_requested_for_an_inactive_identity(
    client: httpx2.AsyncClient, db: Db, ada: UUID, status: str
) -> None:
    wiki = str(await an_application(db, "Wiki"))
    await db.execute("UPDATE identities SET status = %s WHERE id = %s", (status, ada))

    async def ask(action: str, access: str | None = None) -> httpx2.Response:
        privilege = {"header": "Ledger", "permission": "Post", "access": access}
        body = {"action": action, "applicationId": wiki, "identityId": str(ada), "privileges": [privilege]}
        return await client.post(REQUESTS, json=body)

    for refused in (await ask("Add"), await ask("Restore"), await ask("Change"), await ask("Change", "Modify")):
        assert refused.status_code == 400
        assert refused.json()["errors"][-1] == {
            "field": "identityId",
            "message": f"Identity is {status}; only active identities can be given access",
        }
    for allowed in (
        await ask("Remove"),
        await ask("Suspend"),
        await ask("Change", "None"),
        await ask("Change", "Deny"),
    ):
        assert allowed.status_code == 201, allowed.text


async def test_due_request_of_a_removed_identity_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, boss: str
) -> None:
    pending = await an_access_request(db, "Add", identity_id=ada, now=START)
    due = await an_access_request(db, "Restore", identity_id=ada, scheduled_start=START + timedelta(days=3), now=START)
    yes = {"type": "Approve", "response": "Approved", "reviewerId": boss}
    assert (await client.post(f"{REQUESTS}/{due}/respond", json=yes)).json()["status"] == "Scheduled"
    await db.execute("UPDATE identities SET status = 'Removed' WHERE id = %s", (ada,))

    answer = await client.post(f"{REQUESTS}/{pending}/respond", json=yes)
    await let_the_worker_work(config, START + timedelta(days=4))

    assert [entry["action"] for entry in answer.json()["activity"]] == ["Created", "Approved", "Canceled"]
    assert (await read(client, f"{REQUESTS}/{due}"))["status"] == "Canceled"


async def test_contradicted_request_of_a_leaver_is_canceled_instead_of_reopened(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, boss: str
) -> None:
    ledger = await an_application(db, "Ledger", priority="High")
    asked = {"application_id": ledger, "identity_id": ada, "target_name": "ada", "now": START}
    id = await an_access_request(db, "Restore", **asked)
    yes = {"type": "Approve", "response": "Approved", "reviewerId": boss}
    assert (await client.post(f"{REQUESTS}/{id}/respond", json=yes)).status_code == 200
    assert (await client.post(f"{REQUESTS}/{id}/resolve")).json()["status"] == "Resolved"
    await leave(client, config, ada)
    assert (await read(client, f"{REQUESTS}/{id}"))["status"] == "Resolved"

    later = START + timedelta(hours=1)
    await finish_import(db, ledger, "Users", "Permissions", at=later)
    await let_the_worker_work(config, later)

    request = await read(client, f"{REQUESTS}/{id}")
    assert (request["status"], request["comments"][-1]["content"]) == ("Canceled", WITHHELD)


async def test_account_that_appears_after_approval_is_removed_too(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    wiki, ledger = await an_application(db, "Wiki"), await an_application(db, "Ledger")
    await an_account(db, wiki, "ada", ada)
    event = await created(client, "offboard", identityId=str(ada), effectiveDate="2026-11-20")
    await let_the_worker_work(config, day(11, 13))
    await an_account(db, ledger, "alovelace", ada, groups=("Posters",))
    await an_account(db, ledger, "old", ada, is_active=False)
    # The leave suspends the account, which does not count as a removal.
    await created(client, "leave-of-absence", identityId=str(ada), effectiveDate="2026-11-15")
    await let_the_worker_work(config, day(11, 15))

    await let_the_worker_work(config, day(11, 20))

    event = await read(client, f"{EVENTS}/{event['id']}")
    assert requests(event) == [("Remove", "ada", "Open"), ("Remove", "alovelace", "Open")]
    assert [stage["status"] for stage in event["stages"]] == ["Completed", "Open", "Scheduled"]
    activity = {entry["action"]: entry["content"] for entry in event["activity"]}
    found = "Requested the removal of accounts that appeared after the approval began: alovelace"
    assert activity["Accounts Found"] == found
    late = await read(client, f"{REQUESTS}/{event['stages'][0]['accessRequests'][1]['id']}")
    assert late["target"]["privileges"][0]["permission"]["permission"] == "Posters"
    assert ("Found", "The account appeared after the approval began") in [
        (entry["action"], entry["content"]) for entry in late["activity"]
    ]
    for request in event["stages"][0]["accessRequests"]:
        assert (await client.post(f"{REQUESTS}/{request['id']}/resolve")).status_code == 200
    await let_the_worker_work(config)
    assert (await read(client, f"{EVENTS}/{event['id']}"))["status"] == "Completed"


async def test_removal_of_a_late_account_follows_the_approval_policy(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, boss: str
) -> None:
    rule = {"type": "Approve", "reason": "Mary knows", "responder": "Supervisor", "actions": ["Remove"]}
    assert (await client.patch("/api/settings", json={"approvalPolicy": [rule]})).status_code == 200
    event = await created(client, "offboard", identityId=str(ada), effectiveDate="2026-11-20")
    await let_the_worker_work(config, day(11, 13))
    await an_account(db, await an_application(db, "Ledger"), "alovelace", ada)

    await let_the_worker_work(config, day(11, 20))

    event = await read(client, f"{EVENTS}/{event['id']}")
    assert requests(event) == [("Remove", "alovelace", "Pending")]
    assert [stage["status"] for stage in event["stages"]] == ["Completed", "Open", "Scheduled"]


async def test_leftovers_lists_active_accounts_of_leavers_without_a_removal(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID, boss: str
) -> None:
    wiki, ledger = await an_application(db, "Wiki"), await an_application(db, "Ledger")
    await an_account(db, wiki, "ada", ada)
    await an_account(db, wiki, "mary", boss)
    event = await leave(client, config, ada)

    async def listed() -> list[tuple[str, str, str]]:
        items = (await read(client, f"{REQUESTS}/leftovers"))["items"]
        return [(i["application"]["name"], i["username"], i["affectedIdentity"]["lastName"]) for i in items]

    assert await listed() == []
    # The requests of the event do not cover an account that appears later.
    await an_account(db, ledger, "alovelace", ada)
    await an_account(db, ledger, "old", ada, is_active=False)
    assert await listed() == [("Ledger", "alovelace", "Lovelace")]
    # The account still exists although its removal is completed.
    [request] = event["stages"][0]["accessRequests"]
    assert (await client.post(f"{REQUESTS}/{request['id']}/resolve")).json()["status"] == "Completed"
    assert await listed() == [("Ledger", "alovelace", "Lovelace"), ("Wiki", "ada", "Lovelace")]

    ask = {"action": "Remove", "applicationId": str(ledger), "identityId": str(ada), "targetName": "alovelace"}
    assert (await client.post(REQUESTS, json=ask)).status_code == 201
    assert await listed() == [("Wiki", "ada", "Lovelace")]
