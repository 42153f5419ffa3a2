"""Test how the privileges of a new request are rated, including through nested groups."""

from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core.db import Db, fetch_value
from rolecall.settings.policy import RequestAction
from tests.access_requests.enriching import created, privileges_of
from tests.builders import an_application, an_identity
from tests.holdings import an_account


async def a_nested_ledger(db: Db, ada: UUID) -> UUID:
    """Nest Clerks in Staff, Staff in Officers and, to form a cycle, Officers in Clerks.

    Officers has a Critical permission. The parent of Guests does not exist.
    """
    ledger = await an_application(db)
    groups = ("Clerks", "Staff", "Officers", "Guests")
    await an_account(db, ledger, "root", None, groups=groups, permissions=(("Books", "Post", "Grant", "Critical"),))
    await db.execute("UPDATE assignments SET holder_number = (SELECT number FROM groups WHERE name = 'Officers')")
    for child, parent in (("Clerks", "STAFF"), ("Staff", "Officers"), ("Officers", "Clerks"), ("Guests", "Nowhere")):
        await db.execute(
            "UPDATE group_versions SET parent = %s WHERE group_number = (SELECT number FROM groups WHERE name = %s)",
            (parent, child),
        )
    await an_account(db, ledger, "ada01", ada, groups=("Clerks", "Guests"))
    return ledger


@pytest.mark.parametrize("action", ["Remove", "Suspend"])
async def test_whole_account_requests_rate_groups_through_their_parents(
    client: httpx2.AsyncClient, db: Db, action: str
) -> None:
    ada, olga = await an_identity(db), await an_identity(db, "Olga", "Owner")
    ledger = await a_nested_ledger(db, ada)
    await client.patch(f"/api/applications/{ledger}", json={"ownerId": str(olga)})
    rule = {"type": "Approve", "reason": "Critical", "responder": "Application Owner", "risks": ["Critical"]}
    await client.patch("/api/settings", json={"approvalPolicy": [rule]})

    request = await created(client, ledger, action=action, identityId=str(ada))

    assert privileges_of(request) == [
        ("Clerks", "Grant", "None", "Critical", ["Direct"]),
        ("Guests", "Grant", "None", "None", ["Direct"]),
    ]
    assert request["status"] == "Pending"


async def test_previews_and_effective_access_rate_groups_like_requests(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    await a_nested_ledger(db, ada)
    body = {"type": "Offboard", "identityId": str(ada), "effectiveDate": "2099-01-01"}

    preview = (await client.post("/api/personnel-events/preview", json=body)).json()
    access = (await client.get(f"/api/identities/{ada}/access")).json()

    previewed = preview["accessRequests"][0]["target"]["privileges"]
    assert [each["riskRating"] for each in previewed] == ["Critical", "None"]
    held = access["applications"][0]["accounts"][0]["access"]
    direct = [each for each in held if each["header"] == "Group" and not each["path"]]
    assert [each["riskRating"] for each in direct] == ["Critical", "None"]


async def test_requests_in_bulk_rate_each_group_once(db: Db) -> None:
    ada = await an_identity(db)
    ledger = await a_nested_ledger(db, ada)
    asked = [NewPrivilege(header="Group", permission=name) for name in ("Clerks", "Guests")]
    new = NewRequest(action=RequestAction.CHANGE, application_id=ledger, identity_id=ada, privileges=asked)
    calls = "SELECT sum(calls) FROM pg_stat_xact_user_functions WHERE funcname = 'known_risk'"

    async with db.transaction():
        await db.execute("SET LOCAL track_functions = 'all'")
        completed = await enrich(db, [new] * 5)
        rated = await fetch_value(db, calls)

    assert [[privilege.risk_rating for privilege in each.privileges] for each in completed] == [
        ["Critical", "None"]
    ] * 5
    assert rated == 2


async def test_request_about_a_group_has_the_highest_risk_of_its_permissions(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_nested_ledger(db, await an_identity(db))
    rule = {"type": "Approve", "reason": "Critical", "responder": "Application Owner", "risks": ["Critical"]}
    await client.patch("/api/settings", json={"approvalPolicy": [rule]})

    risky = await created(client, ledger, action="Remove", group="clerks")
    harmless = await created(client, ledger, action="Remove", group="Guests")

    assert (risky["status"], harmless["status"]) == ("Pending", "Open")


async def test_membership_has_the_highest_risk_of_the_permissions_of_the_group(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(
        db, ledger, "ada01", ada, groups=("Clerks",), permissions=(("Books", "Post", "Grant", "Critical"),)
    )
    await db.execute("UPDATE assignments SET holder_number = (SELECT number FROM groups)")

    request = await created(
        client,
        ledger,
        identityId=str(ada),
        privileges=[{"header": "Group", "permission": "Clerks"}, {"header": "Books", "permission": "Post"}],
    )

    assert privileges_of(request) == [
        ("Clerks", "Grant", "Grant", "Critical", ["Direct"]),
        ("Post", "Grant", "Grant", "Critical", ["Clerks"]),
    ]
