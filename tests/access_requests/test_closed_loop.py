from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from psycopg.types.json import Jsonb

from rolecall.access_requests.closed_loop import ask_import_to_verify
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account, finish_import
from tests.working import let_the_worker_work

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
POSTERS = NewPrivilege(header="Group", permission="Posters")
NO_POSTERS = NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)
CLOSE = NewPrivilege(header="Books", permission="Close", requested_access=Access.MODIFY)


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.travel_to(NOON)


@pytest.fixture
async def ledger(db: Db) -> UUID:
    """Create an application whose requests require verification."""
    return await an_application(db, "Ledger", priority="High")


async def resolved(client: httpx2.AsyncClient, db: Db, ledger: UUID, action: str, **fields: Any) -> str:
    ada = fields.pop("identity_id", None) or await an_identity(db)
    boss = await an_identity(db, "Mary", "Somerville")
    await db.execute("UPDATE identities SET supervisor_id = %s WHERE id = %s", (boss, ada))
    id = await an_access_request(
        db, action, application_id=ledger, identity_id=ada, target_name="ada", now=NOON, **fields
    )
    if action in ("Add", "Change", "Restore"):
        answer = await client.post(
            f"/api/access-requests/{id}/respond",
            json={"type": "Approve", "response": "Approved", "reviewerId": str(boss)},
        )
        assert answer.status_code == 200, answer.text
    answer = await client.post(f"/api/access-requests/{id}/resolve")
    assert answer.json()["status"] == "Resolved", answer.text
    return str(id)


async def after_import(client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID, id: str, *files: str) -> Any:
    clock.travel_to(NOON + HOUR)
    await finish_import(db, ledger, *files or ("Users", "Memberships", "Permissions"), at=NOON + HOUR)
    await let_the_worker_work(config)
    return (await client.get(f"/api/access-requests/{id}")).json()


@pytest.mark.parametrize(
    ("group", "shape"),
    [
        ("Users", {"contents": [{"content": "memberships"}, {"content": "permissions"}]}),
        ("Memberships", {"deriveUsers": True, "contents": [{"content": "permissions"}]}),
        ("Permissions", {"contents": [{"content": "memberships", "shape": {"deriveUsers": True}}]}),
    ],
)
async def test_file_with_several_contents_is_evidence_about_each_of_them(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID, group: str, shape: dict[str, Any]
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Add", identity_id=ada, privileges=[POSTERS, CLOSE])
    await an_account(db, ledger, "ada", ada, groups=("Posters",), permissions=(("Books", "Close", "Modify", "None"),))
    await execute(db, "UPDATE file_groups SET shape = %(s)s WHERE name = %(name)s", s=Jsonb(shape), name=group)

    request = await after_import(client, db, config, ledger, id, group)

    assert request["status"] == "Completed"
    shown = f"Import 2 ({group.lower()}.csv) shows the requested access"
    assert request["activity"][-1]["content"] == shown


async def test_import_that_shows_the_requested_access_verifies_the_request(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Add", identity_id=ada, privileges=[POSTERS, CLOSE])
    await an_account(db, ledger, "ada", ada, groups=("Posters",), permissions=(("Books", "Close", "Modify", "None"),))

    request = await after_import(client, db, config, ledger, id)

    assert request["status"] == "Completed"
    assert request["verifiedOn"] == request["completedOn"] is not None
    entry = request["activity"][-1]
    assert (entry["author"], entry["action"]) == ("System", "Verified")
    assert entry["content"] == "Import 2 (users.csv, memberships.csv, permissions.csv) shows the requested access"


async def test_files_of_an_import_are_named_in_the_order_they_were_sent(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Add", identity_id=ada, privileges=[])
    await an_account(db, ledger, "ada", ada)
    clock.travel_to(NOON + HOUR)
    await finish_import(db, ledger, "Users", at=NOON + HOUR)
    await db.execute(
        """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size, location)
           SELECT gen_random_uuid(), import_id, 90, file_group_id, file_group, 'more.csv', '', 1, gen_random_uuid()
           FROM import_files"""
    )
    await let_the_worker_work(config)

    request = (await client.get(f"/api/access-requests/{id}")).json()

    assert request["activity"][-1]["content"] == "Import 2 (users.csv, more.csv) shows the requested access"


@pytest.mark.parametrize(
    ("action", "held", "privileges", "found"),
    [
        ("Add", None, [POSTERS], "ada does not exist"),
        ("Add", {"is_active": False}, [], "ada is not active"),
        ("Add", {}, [POSTERS], "ada does not have Group Posters"),
        (
            "Add",
            {"permissions": (("Books", "Close", "Grant", "None"),)},
            [CLOSE],
            "ada has Books Close as Grant, not Modify",
        ),
        ("Change", {"groups": ("Posters",)}, [NO_POSTERS], "ada still has Group Posters"),
        ("Change", None, [POSTERS], "ada does not exist"),
        ("Remove", {}, [], "ada still exists"),
        ("Remove", {"groups": ("Posters",)}, [NO_POSTERS], "ada still has Group Posters"),
        ("Suspend", {}, [NO_POSTERS], "ada is still active"),
        ("Restore", {"is_active": False}, [POSTERS], "ada is not active"),
    ],
)
async def test_import_that_contradicts_a_request_reopens_it_with_the_reason(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    ledger: UUID,
    action: str,
    held: dict[str, Any] | None,
    privileges: list[NewPrivilege],
    found: str,
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, action, identity_id=ada, privileges=privileges)
    if held is not None:
        await an_account(db, ledger, "ada", ada, **held)

    request = await after_import(client, db, config, ledger, id)

    assert (request["status"], request["resolvedOn"]) == ("Open", None)
    entry = request["activity"][-1]
    assert entry["action"] == "Reopened"
    assert entry["content"].endswith(f" contradicts the request: {found}")


@pytest.mark.parametrize(
    ("action", "held", "privileges"),
    [
        ("Remove", None, [NO_POSTERS]),
        ("Remove", {"is_active": False, "groups": ("Posters",)}, [NO_POSTERS]),
        ("Remove", {}, [NO_POSTERS]),
        ("Suspend", {"is_active": False}, [NO_POSTERS]),
        ("Suspend", None, []),
        ("Restore", {"groups": ("Posters",)}, [POSTERS]),
        ("Change", {"is_active": False}, [NO_POSTERS]),
        # A new account under another name is found by its identity.
        ("Add", {"username": "lovelace01", "groups": ("Posters",)}, [POSTERS]),
    ],
)
async def test_each_action_is_verified_by_its_own_evidence(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    ledger: UUID,
    action: str,
    held: dict[str, Any] | None,
    privileges: list[NewPrivilege],
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, action, identity_id=ada, privileges=privileges)
    if held is not None:
        await an_account(db, ledger, identity_id=ada, **{"username": "ada", **held})

    assert (await after_import(client, db, config, ledger, id))["status"] == "Completed"


async def test_files_that_do_not_cover_a_request_leave_it_unchanged(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Add", identity_id=ada, privileges=[POSTERS])
    earlier = await a_finished_import(db, ledger, "Memberships")
    await an_account(db, ledger, "ada", ada, groups=("Posters",), run=earlier)

    assert (await after_import(client, db, config, ledger, id, "Users"))["status"] == "Resolved"


async def test_group_is_judged_by_permissions_when_no_file_lists_groups(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    body: dict[str, Any] = {"action": "Change", "applicationId": str(ledger), "group": "Posters"}
    body |= {"privileges": [{"header": "Books", "permission": "Close", "access": "Grant"}]}
    id = (await client.post("/api/access-requests", json=body)).json()["id"]
    waiting = (await client.get(f"/api/access-requests/{id}")).json()
    reviewer = waiting["requirements"][0]["rules"][0]["responses"][0]["reviewer"]["id"]
    approval = {"type": "Approve", "response": "Approved", "reviewerId": reviewer}
    assert (await client.post(f"/api/access-requests/{id}/respond", json=approval)).status_code == 200
    assert (await client.post(f"/api/access-requests/{id}/resolve")).json()["status"] == "Resolved"

    request = await after_import(client, db, config, ledger, id, "Users", "Permissions")

    assert request["status"] == "Open"
    assert request["activity"][-1]["content"].endswith("contradicts the request: Posters does not have Books Close")


async def test_request_waits_for_an_import_in_addition_to_people_until_it_is_reopened(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    ada = await an_identity(db)
    ids = [
        await an_access_request(db, "Remove", application_id=ledger, identity_id=ada, target_name=name, now=NOON)
        for name in ("ada", "ada2")
    ]

    async def verifiers(id: UUID) -> list[list[str]]:
        requirements = (await client.get(f"/api/access-requests/{id}")).json()["requirements"]
        rules = [rule for each in requirements if each["type"] == "Verify" for rule in each["rules"]]
        return [[response["reviewer"]["name"] for response in rule["responses"]] for rule in rules]

    people, _ = [await verifiers(id) for id in ids]
    await ask_import_to_verify(db, ids[:1])
    waiting = [await verifiers(id) for id in ids]
    for verb in ("resolve", "reopen"):
        assert (await client.post(f"/api/access-requests/{ids[0]}/{verb}")).status_code == 200

    assert people != []
    assert waiting == [[*people, ["System"]], people]
    assert await verifiers(ids[0]) == people


async def test_import_of_another_application_leaves_the_request_unchanged(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    id = await resolved(client, db, ledger, "Remove")
    elsewhere = await an_application(db, "Wiki")

    assert (await after_import(client, db, config, elsewhere, id))["status"] == "Resolved"


async def test_account_in_another_application_proves_nothing(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Add", identity_id=ada, privileges=[POSTERS])
    await an_account(db, await an_application(db, "Wiki"), "ada", ada, groups=("Posters",))

    request = await after_import(client, db, config, ledger, id)

    assert request["status"] == "Open"
    assert request["activity"][-1]["content"].endswith("contradicts the request: ada does not exist")


async def test_reappeared_access_is_reported_once_and_reopens_nothing(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    ada = await an_identity(db)
    id = await resolved(client, db, ledger, "Remove", identity_id=ada, privileges=[NO_POSTERS])
    assert (await after_import(client, db, config, ledger, id))["status"] == "Completed"

    for later in (2, 3):
        clock.travel_to(NOON + later * HOUR)
        run = await finish_import(db, ledger, "Users", "Memberships", at=clock.now())
        if later == 2:
            await an_account(db, ledger, "ada", ada, groups=("Posters",), run=run)
        await let_the_worker_work(config)

    request = (await client.get(f"/api/access-requests/{id}")).json()
    assert request["status"] == "Completed"
    drift = [entry["content"] for entry in request["activity"] if entry["action"] == "Drift"]
    assert drift == ["Import 2 (users.csv, memberships.csv) shows removed access again: ada still has Group Posters"]


async def test_rollback_neither_verifies_nor_reopens_requests(
    client: httpx2.AsyncClient, db: Db, config: Config, ledger: UUID
) -> None:
    proved = await resolved(client, db, ledger, "Remove")
    bo = await an_identity(db, "Bo", "Boss")
    asked: dict[str, Any] = {"identity_id": bo, "target_name": "bo", "privileges": []}
    contradicted = str(await an_access_request(db, "Remove", application_id=ledger, now=NOON, **asked))
    assert (await client.post(f"/api/access-requests/{contradicted}/resolve")).json()["status"] == "Resolved"
    await an_account(db, ledger, "bo", bo)

    async def statuses() -> list[str]:
        await let_the_worker_work(config)
        return [(await client.get(f"/api/access-requests/{id}")).json()["status"] for id in (proved, contradicted)]

    clock.travel_to(NOON + HOUR)
    runs = "INSERT INTO import_runs (import_id, rollback_to) SELECT id, %(to)s FROM application_imports"
    runs += " WHERE number = %(n)s"
    await execute(db, runs, to=1, n=await finish_import(db, ledger, "Users", at=clock.now()))
    after_rollback = await statuses()
    await execute(db, runs, to=None, n=await finish_import(db, ledger, "Users", at=clock.now()))

    assert after_rollback == ["Resolved", "Resolved"]
    assert await statuses() == ["Completed", "Open"]
