"""Test what the page of a request says about a verification by a person, and about the imports after it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account, finish_import
from tests.working import let_the_worker_work

FILES = ("Users", "Memberships", "Permissions")
POSTERS = NewPrivilege(header="Group", permission="Posters")
BY_ADA = "Verified by Ada Admin."


class Verified(msgspec.Struct):
    """A request about Bob's account that Ada Admin verified by hand."""

    id: UUID
    ledger: UUID
    bob: UUID


async def verify_as_ada(administrator: httpx2.AsyncClient, db: Db, **fields: Any) -> Verified:
    ledger = await an_application(db, "Ledger", priority="High")
    bob = await an_identity(db, "Bob", "Stone")
    asked = {"application_id": ledger, "identity_id": bob, "target_name": "bob", **fields}
    id = await an_access_request(db, **asked)
    await execute(db, "UPDATE privileges SET approved_access = requested_access WHERE request_id = %(id)s", id=id)
    await execute(db, "UPDATE access_requests SET status = 'Resolved', resolved_on = now() WHERE id = %(id)s", id=id)
    answer = await administrator.post(f"/requests/{id}/verify")
    assert answer.status_code == 303
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Completed"
    return Verified(id, ledger, bob)


@pytest.fixture
async def verified(administrator: httpx2.AsyncClient, db: Db) -> Verified:
    return await verify_as_ada(administrator, db, privileges=[POSTERS])


async def said(client: httpx2.AsyncClient, id: UUID) -> str:
    """Return what the page says about the verification, as text."""
    page = (await client.get(f"/requests/{id}")).text
    found = re.search(r'<p class="quiet">(Verified by .*?)</p>', page)
    return re.sub(r"<[^>]+>", "", found[1]) if found else ""


async def test_request_that_a_person_verified_says_that_no_import_has_shown_the_access(
    administrator: httpx2.AsyncClient, db: Db, verified: Verified
) -> None:
    without = await said(administrator, verified.id)
    await a_finished_import(db, verified.ledger, *FILES)
    contradicted = await said(administrator, verified.id)
    await an_account(db, verified.ledger, "bob", verified.bob, groups=("Posters",))
    await a_finished_import(db, verified.ledger, "Users")
    undecided = await said(administrator, verified.id)
    rolled = await a_finished_import(db, verified.ledger, *FILES)
    await execute(
        db,
        "INSERT INTO import_runs (import_id, rollback_to) SELECT id, 1 FROM application_imports WHERE number = %(n)s",
        n=rolled,
    )

    assert [without, contradicted, undecided, await said(administrator, verified.id)] == [
        f"{BY_ADA} No import has shown this access yet."
    ] * 4


async def test_request_names_the_first_import_that_shows_the_access_that_a_person_verified(
    administrator: httpx2.AsyncClient, db: Db, verified: Verified
) -> None:
    await an_account(db, verified.ledger, "bob", verified.bob, groups=("Posters",))
    shown = await a_finished_import(db, verified.ledger, *FILES)
    await a_finished_import(db, verified.ledger, *FILES)
    page = (await administrator.get(f"/requests/{verified.id}")).text
    id = await fetch_value(db, "SELECT id FROM application_imports WHERE number = %(n)s", n=shown)

    today = datetime.now(UTC)
    assert await said(administrator, verified.id) == (
        f"{BY_ADA} Import #{shown} of {today.day} {today:%b %Y} shows this access."
    )
    assert f'href="/imports/{id}"' in page


async def test_newest_import_is_compared_even_if_many_imports_came_before_it(
    administrator: httpx2.AsyncClient, db: Db, verified: Verified
) -> None:
    for _ in range(12):
        await a_finished_import(db, verified.ledger, *FILES)
    before = await said(administrator, verified.id)
    await an_account(db, verified.ledger, "bob", verified.bob, groups=("Posters",))
    newest = await a_finished_import(db, verified.ledger, *FILES)

    assert "No import has shown this access yet." in before
    assert f"Import #{newest} of " in await said(administrator, verified.id)


async def test_import_that_the_affected_person_supplied_does_not_count(
    administrator: httpx2.AsyncClient, db: Db, verified: Verified
) -> None:
    await an_account(db, verified.ledger, "bob", verified.bob, groups=("Posters",))
    number = await a_finished_import(db, verified.ledger, *FILES)
    await execute(
        db, "UPDATE application_imports SET supplied_by = %(bob)s WHERE number = %(n)s", bob=verified.bob, n=number
    )

    assert "No import has shown this access yet." in await said(administrator, verified.id)


async def test_removal_that_a_person_verified_is_called_a_change(administrator: httpx2.AsyncClient, db: Db) -> None:
    verified = await verify_as_ada(administrator, db, action="Remove", privileges=[])
    before = await said(administrator, verified.id)
    number = await a_finished_import(db, verified.ledger, *FILES)

    assert before == f"{BY_ADA} No import has shown this change yet."
    assert f"Import #{number} of " in await said(administrator, verified.id)


async def test_request_that_an_import_verified_says_nothing_about_a_person(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ledger = await an_application(db, "Ledger", priority="High")
    bob = await an_identity(db, "Bob", "Stone")
    id = await an_access_request(db, "Remove", application_id=ledger, identity_id=bob, target_name="bob")
    before = await said(administrator, id)
    await execute(db, "UPDATE access_requests SET status = 'Resolved', resolved_on = now() WHERE id = %(id)s", id=id)
    await finish_import(db, ledger, *FILES, at=datetime.now(UTC) + timedelta(hours=1))
    await let_the_worker_work(config)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Completed"
    assert (before, await said(administrator, id)) == ("", "")
