"""Test that only imports with files of what a completed request is about can show the request."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_rows
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_separation import URL, ask
from tests.builders import an_identity
from tests.duties.separating import Company, a_company, finish_again
from tests.holdings import a_finished_import, an_account


async def complete(db: Db, made: httpx2.Response) -> None:
    assert made.status_code == 201, made.text
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = now(), completed_on = now()
           WHERE id = %(id)s""",
        id=made.json()["id"],
    )


async def have_imported(db: Db, company: Company, *file_groups: str) -> None:
    await finish_again(db, await a_finished_import(db, company.ledger, *file_groups))


def of_finn(
    company: Company, finn: UUID, header: str, permission: str, *, action: str = "Add", access: str = "Grant"
) -> dict[str, Any]:
    privileges = [{"header": header, "permission": permission, "access": access}]
    target = {"applicationId": str(company.ledger), "identityId": str(finn), "targetName": "finn"}
    return {"action": action, **target, "privileges": privileges}


@pytest.mark.parametrize(
    ("header", "other", "needed"),
    [("Group", ("Users", "Groups", "Permissions"), "Memberships"), ("Wires", ("Users", "Memberships"), "Permissions")],
)
async def test_access_counts_until_an_import_has_files_of_its_content(
    client: httpx2.AsyncClient, db: Db, header: str, other: tuple[str, ...], needed: str
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    name = "Approvers" if header == "Group" else "Release run"
    await complete(db, await client.post(URL, json=of_finn(company, finn, header, name)))

    await have_imported(db, company, *other)
    before = await ask(client, company, finn, "Officers")
    await have_imported(db, company, needed)
    after = await ask(client, company, finn, "Officers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_groups_above_a_group_are_shown_by_the_file_of_groups(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    gives = to_group(company, "Approvers", "")
    gives["privileges"] = [{"header": "Group", "permission": "Officers"}]
    finn = await an_identity(db, "Finn", "Santos")
    await complete(db, await client.post(URL, json=gives))

    await have_imported(db, company, "Users", "Memberships", "Permissions")
    before = await ask(client, company, finn, "Approvers")
    await have_imported(db, company, "Users", "Groups")
    after = await ask(client, company, finn, "Approvers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_file_with_several_contents_shows_each_of_them(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await execute(
        db,
        """UPDATE file_groups SET shape = '{"contents": [{"content": "memberships"}]}' WHERE name = 'Users'""",
    )
    await complete(db, await ask(client, company, finn, "Approvers"))

    await have_imported(db, company, "Users")

    assert (await ask(client, company, finn, "Officers")).status_code == 201


async def test_access_that_a_later_completed_request_removed_needs_no_file_of_its_content(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, run=company.run)
    await complete(db, await client.post(URL, json=of_finn(company, finn, "Group", "Approvers")))
    removal = of_finn(company, finn, "Group", "Approvers", action="Remove", access="None")
    await complete(db, await client.post(URL, json=removal))

    before = await ask(client, company, finn, "Officers")
    await have_imported(db, company, "Users")
    after = await ask(client, company, finn, "Officers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_requests_are_checked_again_after_the_import_that_shows_completed_ones(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await complete(db, await ask(client, company, finn, "Approvers"))
    await ask(client, company, finn, "Approvers")
    queued = []
    for name in ("Users", "Memberships", "Memberships"):
        await execute(db, "DELETE FROM people_to_recheck")
        await have_imported(db, company, name)
        queued.append((finn,) in await fetch_rows(db, "SELECT identity_id FROM people_to_recheck"))

    assert queued == [False, True, False]
