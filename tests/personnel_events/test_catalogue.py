"""Test that the requests of events depend on the catalogue and on the access that accounts hold."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.builders import an_access_model, an_access_request, an_application, an_identity, an_import
from tests.holdings import a_finished_import, an_account
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def november() -> None:
    clock.travel_to(NOW)


async def asked(client: httpx2.AsyncClient, config: Config, event: Any) -> list[Any]:
    await let_the_worker_work(config)
    event = (await client.get(f"{EVENTS}/{event['id']}")).json()
    ids = [request["id"] for request in event["stages"][0]["accessRequests"]]
    return [(await client.get(f"/api/access-requests/{id}")).json() for id in ids]


def rated(request: Any) -> list[tuple[str, str]]:
    return [
        (each["permission"]["permission"], each["permission"]["riskRating"]) for each in request["target"]["privileges"]
    ]


async def test_model_privilege_that_the_catalogue_lacks_is_critical(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "root", None, groups=("Clerks",), permissions=(("Books", "Post", "Grant", "Low"),))
    names = [{"header": "Books", "permission": "Post"}, {"header": "Books", "permission": "Pots"}]
    access = {"applicationId": str(ledger), "groups": ["Clerks", "Clerkz"], "permissions": names}
    await an_access_model(db, access=[access])
    person = {"firstName": "Eve", "lastName": "Newcomer", "department": "Finance"}

    event = await created(client, "onboard", identity=person, effectiveDate="2026-11-02")
    (request,) = await asked(client, config, event)

    assert rated(request) == [("Post", "Low"), ("Pots", "Critical"), ("Clerks", "None"), ("Clerkz", "Critical")]
    # The owner must approve too, or the administrators in their place.
    assert len(request["requirements"][0]["rules"]) == 2


# Requests for a group: action, access, status, and the seconds from the last import to the completion.
REQUESTED: dict[str, tuple[str, Access, str | None, int]] = {
    "Adding": ("Add", Access.GRANT, None, 0),
    "Changing": ("Change", Access.MODIFY, None, 0),
    "Restoring": ("Restore", Access.GRANT, None, 0),
    "Given": ("Add", Access.GRANT, "Completed", 1),
    "Missing": ("Add", Access.GRANT, "Completed", -1),
    "Canceled": ("Add", Access.GRANT, "Canceled", 0),
    "Dropping": ("Change", Access.NONE, None, 0),
    "Denying": ("Change", Access.DENY, None, 0),
}


async def test_role_transition_removes_only_access_that_is_held_or_requested(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada, ledger = await an_identity(db, department="Finance"), await an_application(db, "Ledger")
    wiki, grace = await an_application(db, "Wiki"), await an_identity(db, "Grace", "Hopper")
    not_held = (("Books", "Denied", "Deny", "None"), ("Books", "None", "None", "None"))
    await an_account(db, ledger, "ada", ada, groups=("Held",), permissions=not_held)
    groups = ["Held", "Never", "Grace's", "Wiki's", *REQUESTED]
    denied = [{"header": header, "permission": permission} for header, permission, *_ in not_held]
    await an_access_model(db, access=[{"applicationId": str(ledger), "groups": groups, "permissions": denied}])
    await a_finished_import(db, ledger, "Memberships")
    imported = await fetch_value(db, "SELECT max(created_at) FROM application_imports")
    for name, (action, access, status, seconds) in REQUESTED.items():
        id = await a_request(db, ada, ledger, name, action, access)
        at = imported + timedelta(seconds=seconds)
        if status:
            sql = "UPDATE access_requests SET status = %s, completed_on = %s WHERE id = %s"
            await db.execute(sql, (status, at, id))
    # Requests of another person or in another application do not count, and a failed import does not count either.
    await a_request(db, grace, ledger, "Grace's")
    await a_request(db, ada, wiki, "Wiki's")
    for application, status in ((ledger, "Failed"), (wiki, "Finished")):
        await an_import(db, application, status, created_at=imported + timedelta(hours=1))

    event = await created(
        client, "role-transition", identityId=str(ada), effectiveDate="2026-11-02", identity={"department": "Sales"}
    )
    (request,) = await asked(client, config, event)

    assert request["action"] == "Remove"
    assert sorted(name for name, _ in rated(request)) == ["Adding", "Changing", "Given", "Held", "Restoring"]


async def a_request(
    db: Db, identity: UUID, application: UUID, group: str, action: str = "Add", access: Access = Access.GRANT
) -> UUID:
    privileges = [NewPrivilege(header="Group", permission=group, requested_access=access)]
    return await an_access_request(db, action, identity_id=identity, application_id=application, privileges=privileges)
