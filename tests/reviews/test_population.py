"""Test that items and exclusions add up to what was held, and that the population can be computed again."""

import random
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from rolecall.accounts import matching
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_access_model, an_application, an_identity
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import a_draft, an_open_review, decide, items_of, keep_all, post, submit_all

GROUPS, PERMISSIONS = ["G1", "G2", "G3"], ["P1", "P2", "P3", "P4"]


async def a_random_history(db: Db, chance: random.Random) -> Any:
    """Import accounts with random groups and permissions, remove some of these later, and return the application."""
    application = await an_application(db, "Ledger")
    people = [await an_identity(db, f"First {n}", "Last", department=chance.choice(["A", "B"])) for n in range(6)]
    run = await a_finished_import(db, application)
    for n in range(8):
        held = tuple(
            ("Area", f"P{n}{k}", chance.choice(["Grant", "Modify"]), "Low") for k in range(chance.randint(0, 2))
        )
        who = chance.choice([*people, None])
        groups = tuple(chance.sample(GROUPS, chance.randint(0, 3)))
        await an_account(
            db, application, f"u{n}", who, groups=groups, permissions=held, run=run, is_active=chance.random() < 0.8
        )
    await execute(db, "UPDATE accounts SET matched_on = now() - interval '1 day'")
    for _ in range(chance.randint(1, 4)):
        await change_at_random(db, application, chance)
    return application


async def change_at_random(db: Db, application: Any, chance: random.Random) -> None:
    """Import data in which some memberships and permissions ended."""
    run = await a_finished_import(db, application)
    for table, column in (("memberships", "account_number"), ("assignments", "holder_number")):
        rows = await fetch_rows(db, f"SELECT ctid::text, {column} FROM {table} WHERE until_import IS NULL")
        for place, _ in chance.sample(rows, min(len(rows), chance.randint(0, 2))):
            sql = f"UPDATE {table} SET until_import = %(run)s WHERE ctid = %(place)s::tid"
            await execute(db, sql, run=run, place=place)
    await finish_again(db, run)


@pytest.mark.parametrize("seed", range(8))
async def test_items_and_exclusions_add_up_to_what_was_held(client: httpx2.AsyncClient, db: Db, seed: int) -> None:
    chance = random.Random(seed)
    application = await a_random_history(db, chance)
    scope: dict[str, Any] = {"applicationIds": [str(application)]}
    if chance.random() < 0.5:
        scope["departments"] = ["A"]
    held = await fetch_value(
        db,
        """SELECT (SELECT count(*) FROM memberships WHERE until_import IS NULL)
                + (SELECT count(*) FROM assignments WHERE until_import IS NULL)""",
    )
    draft = await a_draft(client, chance.choice(["Application", "Supervisor", "Unexplained"]), scope=scope)
    answer = await client.post(f"/api/reviews/{draft}/open")
    if answer.status_code == 409:
        assert answer.json()["message"].startswith("The population is empty")
        return
    [population] = answer.json()["population"]

    for _ in range(3):
        await change_at_random(db, application, chance)
    await execute(db, "UPDATE identities SET department = 'B'")
    checked = await post(client, f"/api/reviews/{draft}/check")

    assert population["held"] == held == population["items"] + sum(population["excluded"].values())
    assert len(await items_of(client, draft)) == population["items"]
    assert checked["isSame"] is True


async def test_an_empty_population_is_refused_with_the_reason(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    scope = {"applicationIds": [str(company.ledger)], "departments": ["Nowhere"]}
    draft = await a_draft(client, scope=scope)

    answer = await client.post(f"/api/reviews/{draft}/open")

    assert answer.status_code == 409
    assert answer.json()["message"].startswith(
        "The population is empty: 1 × account without a person, 4 × other department"
    )


async def test_scope_by_risk_excludes_with_a_reason(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Application", scope={"minRisk": "High"})

    [population] = (await client.get(f"/api/reviews/{review}")).json()["population"]

    assert (population["items"], population["excluded"]) == (1, {"Risk too low": 4})


async def test_unmatched_accounts_are_items_as_a_whole(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Unmatched")

    [item] = await items_of(client, review)
    [population] = (await client.get(f"/api/reviews/{review}")).json()["population"]

    assert (item["subject"], item["account"]["username"], item["identity"]) == ("Account", "svc", None)
    assert (item["reasons"], population["excluded"]) == (["Unmatched Account"], {"Account of a person": 3})


async def test_accounts_of_leavers_are_recommended_to_be_revoked(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=company.emre)
    review = await an_open_review(client, "Leavers")

    [item] = await items_of(client, review)

    assert (item["identity"]["name"], item["recommendation"]["verdict"]) == ("Emre Berg", "Revoke")


async def test_items_of_a_group_contents_review_are_what_groups_give(client: httpx2.AsyncClient, db: Db) -> None:
    owner = await an_identity(db, "Owen", "Park")
    application = await an_application(db, "Ledger", ownerId=str(owner))
    run = await some_groups(db, application, {"Officers": "", "Juniors": "Officers"})
    await give(db, application, "Officers", "Prepare run", run)
    await finish_again(db, run)
    review = await an_open_review(client, "Group Contents")

    items = await items_of(client, review)

    held = {(item["group"]["name"], item["entitlement"]["name"]) for item in items}
    assert held == {("Officers", "Prepare run"), ("Juniors", "Officers")}


async def test_a_model_review_is_decided_by_the_owners_of_models(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await an_access_model(db, "Accounting", ownerId=str(company.greta))
    review = await an_open_review(client, "Model")

    [item] = await items_of(client, review)

    assert (item["subject"], item["model"]["name"], item["reviewer"]["name"]) == ("Model", "Accounting", "Greta Das")


async def test_unexplained_review_excludes_access_that_a_model_explains(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted)
    review = await an_open_review(client, "Unexplained")

    [population] = (await client.get(f"/api/reviews/{review}")).json()["population"]

    assert population["excluded"] == {"Explained by a model or a request": 2}


async def test_changed_review_contains_access_added_since_the_last_one(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    before = await an_open_review(client, "Application")
    await keep_all(client, before)
    run = await a_finished_import(db, company.ledger)
    await an_account(db, company.ledger, "new", company.joana, groups=("Approvers",), run=run)
    await finish_again(db, run)
    review = await an_open_review(client, "Changed")

    items = await items_of(client, review)

    assert [item["account"]["username"] for item in items] == ["new"]
    assert "New Since Last Review" in items[0]["reasons"]


async def test_access_that_appears_later_is_listed_separately(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    run = await a_finished_import(db, company.ledger)
    await an_account(db, company.ledger, "late", company.joana, groups=("Approvers",), run=run)

    listed = (await client.get(f"/api/reviews/{review}/new-access")).json()

    assert [(each["account"]["name"], each["entitlement"]["name"]) for each in listed["items"]] == [
        ("late", "Approvers")
    ]


async def keep_everything(client: httpx2.AsyncClient, review: str) -> None:
    await keep_all(client, review)


async def import_account(db: Db, application: Any, username: str, is_active: bool) -> None:
    """Import an account as active or, if `is_active` is false, as disabled."""
    run = await a_finished_import(db, application)
    number = await fetch_value(db, "SELECT number FROM accounts WHERE username = %(name)s", name=username)
    sql = "UPDATE account_versions SET until_import = %(run)s WHERE account_number = %(n)s AND until_import IS NULL"
    await execute(db, sql, run=run, n=number)
    await execute(
        db,
        """INSERT INTO account_versions VALUES
               (%(n)s, %(run)s, NULL, %(name)s, '', '', '', '', %(active)s, false, '', '', '{}', '', '')""",
        n=number,
        run=run,
        name=username,
        active=is_active,
    )
    await finish_again(db, run)


async def test_changed_review_contains_an_account_that_was_disabled_in_the_last_one(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    await import_account(db, company.ledger, "emre", is_active=False)
    await keep_everything(client, await an_open_review(client, "Application"))
    await import_account(db, company.ledger, "emre", is_active=True)

    changed = await an_open_review(client, "Changed")

    assert [item["account"]["username"] for item in await items_of(client, changed)] == ["emre"]
    assert (await post(client, f"/api/reviews/{changed}/check"))["isSame"] is True


async def test_changed_review_contains_what_came_into_scope_and_not_what_was_reviewed(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    scope = {"departments": ["Finance"]}
    await keep_everything(client, await an_open_review(client, "Application", scope=scope))
    await execute(db, "UPDATE identities SET department = 'Finance' WHERE id = %(id)s", id=company.carla)
    second = await an_open_review(client, "Changed", scope=scope)
    seen = [item["account"]["username"] for item in await items_of(client, second)]
    await keep_everything(client, second)

    third = await client.post(f"/api/reviews/{await a_draft(client, 'Changed', scope=scope)}/open")

    assert seen == ["carla"]
    assert "unchanged since the last review" in third.json()["message"]


async def test_account_whose_removal_was_canceled_is_still_unmatched(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    first = await an_open_review(client, "Unmatched")
    [item] = await items_of(client, first)
    await decide(client, item, "Revoke")
    await submit_all(client, first)
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await post(client, f"/api/access-requests/{request['id']}/cancel", {"comment": "not now"})

    second = await an_open_review(client, "Unmatched")
    await execute(db, "UPDATE identities SET type = 'Shared' WHERE type = 'Unknown'")

    [again] = await items_of(client, second)
    assert (again["account"]["username"], again["reasons"]) == ("svc", ["Unmatched Account"])
    assert (await post(client, f"/api/reviews/{second}/check"))["isSame"] is True


async def test_rename_recorded_after_opening_does_not_change_the_population(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE identities SET department = 'Finance'")
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted)
    join = """INSERT INTO curations (entitlement_id, same_as, changed_on)
              SELECT n.id, f.id, now() FROM entitlements n, entitlements f
              WHERE n.name = 'Approvers' AND f.name = 'Bookkeeper'"""
    before = await an_open_review(client, "Unexplained")
    await execute(db, join)
    after = await an_open_review(client, "Unexplained")
    unchanged = await post(client, f"/api/reviews/{before}/check")
    await execute(db, "DELETE FROM curations")

    assert "carla" in {item["account"]["username"] for item in await items_of(client, before)}
    assert "carla" not in {item["account"]["username"] for item in await items_of(client, after)}
    assert (unchanged["isSame"], (await post(client, f"/api/reviews/{after}/check"))["isSame"]) == (True, True)


async def test_match_that_began_before_opening_and_is_stored_after_it_does_not_change_the_population(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    began = datetime.now(UTC)
    await execute(db, "UPDATE account_versions SET email = 'greta@example.com' WHERE name = 'svc'")
    await execute(db, "UPDATE identities SET email_address = 'greta@example.com' WHERE id = %(id)s", id=company.greta)
    review = await an_open_review(client, "Application")

    async with db.transaction():
        await matching.match_imported(db, company.run, began)

    whose = await fetch_value(db, "SELECT identity_id FROM accounts WHERE username = 'svc'")
    assert whose == company.greta
    assert (await post(client, f"/api/reviews/{review}/check"))["isSame"] is True
