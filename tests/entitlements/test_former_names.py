"""Test former names of entitlements that imports show again."""

from typing import Any

import httpx2

from rolecall.core.db import Db, execute, fetch_value
from tests.entitlements.test_curate import a_rename, curate
from tests.entitlements.test_list import entitlement
from tests.holdings import an_account
from tests.nesting import only_groups, refresh, some_groups


async def usernames(client: httpx2.AsyncClient, id: str, what: str = "holders") -> list[str]:
    page = (await client.get(f"/api/entitlements/{id}/{what}")).json()
    return sorted(item["account"]["username"] for item in page["items"])


async def get(client: httpx2.AsyncClient, id: str) -> Any:
    return (await client.get(f"/api/entitlements/{id}")).json()


async def test_a_former_name_that_comes_back_has_the_rating_that_all_names_share(
    client: httpx2.AsyncClient, db: Db
) -> None:
    old, new = await a_rename(client, db)
    await curate(client, new, sameAs=old)
    await curate(client, new, riskRating="Moderate")
    ledger = await fetch_value(db, "SELECT id FROM applications")

    # The rename is undone.
    await only_groups(db, ledger, {"Wire approvers": "", "Clerks": "Wire approvers"})

    assert (await entitlement(client, "Wire approvers"))["riskRating"] == "Moderate"
    assert await fetch_value(db, "SELECT group_risk(number) FROM groups WHERE name = 'Wire approvers'") == "Moderate"
    assert (await curate(client, new, riskRating=""))["riskRating"] == "None"
    assert (await get(client, old))["riskRating"] == "Critical"


async def test_a_permission_that_comes_back_rates_its_groups_by_the_shared_rating(
    client: httpx2.AsyncClient, db: Db
) -> None:
    old, _ = await a_rename(client, db)
    ledger = await fetch_value(db, "SELECT id FROM applications")
    close = (await entitlement(client, "Close"))["id"]
    gone = await some_groups(db, ledger, {})
    await execute(db, "UPDATE permission_versions SET until_import = %(n)s WHERE risk_rating = 'Low'", n=gone)
    await execute(
        db, "UPDATE assignments SET until_import = %(n)s WHERE holder_number IN (SELECT number FROM accounts)", n=gone
    )
    await an_account(db, ledger, "cy", None, permissions=(("Books", "Close books", "Grant", "Low"),), run=gone)
    await refresh(db, ledger, gone)
    later = (await entitlement(client, "Close books"))["id"]
    await curate(client, later, sameAs=close)
    await curate(client, later, riskRating="Critical")

    back = await some_groups(db, ledger, {})
    await execute(
        db,
        """INSERT INTO permission_versions SELECT number, %(n)s, NULL, '', 'Low' FROM permissions
           WHERE permission = 'Close'""",
        n=back,
    )
    await execute(
        db,
        """INSERT INTO assignments SELECT g.number, p.number, 'Grant', %(n)s, NULL, '' FROM groups g, permissions p
           WHERE g.name = 'Clerks' AND p.permission = 'Close'""",
        n=back,
    )
    await refresh(db, ledger, back)

    assert (await entitlement(client, "Close"))["riskRating"] == "Critical"
    assert (await entitlement(client, "Clerks"))["riskRating"] == "Critical"
    rated = "SELECT privilege_risk(number, NULL) FROM permissions WHERE permission = 'Close'"
    assert (await fetch_value(db, rated), (await get(client, old))["isPresent"]) == ("Critical", False)


async def test_a_former_name_that_comes_back_together_with_the_new_one_is_another_entitlement(
    client: httpx2.AsyncClient, db: Db
) -> None:
    old, new = await a_rename(client, db)
    await curate(client, new, sameAs=old)
    before = await usernames(client, new), await usernames(client, new, "history")
    ledger = await fetch_value(db, "SELECT id FROM applications")

    run = await some_groups(db, ledger, {"Wire approvers": ""})
    await an_account(db, ledger, "zed", None, groups=("Wire approvers",), run=run)

    assert await usernames(client, old) == ["zed"]
    assert (await usernames(client, new), await usernames(client, new, "history")) == before
    assert (await entitlement(client, "Payment approvers"))["holders"]["accounts"] == len(before[0])
