"""Test what narrowed and privileged reviews cover, and that applications without data cannot be reviewed."""

import httpx2

from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_application
from tests.holdings import a_finished_import, an_account
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import a_draft, an_open_review, items_of, post
from tests.reviews.test_following import decide_all, status_of


async def covered(client: httpx2.AsyncClient) -> dict[str, int | None]:
    """Return the number of the last review of each application."""
    items = (await client.get("/api/reviews/coverage")).json()["items"]
    return {each["application"]["name"]: each["lastReview"] and each["lastReview"]["number"] for each in items}


async def test_narrowed_review_does_not_cover_an_application(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    group = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Approvers'")
    narrow = await an_open_review(client, "Application", scope={"entitlementIds": [str(group)]})
    await decide_all(client, narrow)

    after_narrow = await covered(client)
    whole = await an_open_review(client, "Application")
    await decide_all(client, whole)

    assert await status_of(client, narrow) == await status_of(client, whole) == "Completed"
    assert (after_narrow, await covered(client)) == ({"Finance Ledger": None}, {"Finance Ledger": 2})


async def test_changed_review_contains_access_that_a_privileged_review_left_out(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_reviewed_company(db)
    await execute(db, "UPDATE entitlements SET is_privileged = true WHERE name = 'Approvers'")
    await decide_all(client, await an_open_review(client, "Privileged"))

    changed = await an_open_review(client, "Changed")

    assert len(await items_of(client, changed)) == 5


async def test_named_application_without_data_is_refused(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    treasury = await an_application(db, "Treasury")
    run = await a_finished_import(db, treasury)
    await an_account(db, treasury, "emre2", company.emre, groups=("Readers",), run=run)
    empty = await an_application(db, "Voting")
    scope = {"applicationIds": [str(each) for each in (company.ledger, treasury, empty)]}
    draft = await a_draft(client, scope=scope)
    await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=treasury)

    refused = await post(client, f"/api/reviews/{draft}/open", status=409)

    assert refused["message"] == (
        "Treasury is archived; Voting has no finished import."
        " Remove these applications from the scope, or import their data"
    )
