"""Ways around the check of duties before access is given: other accounts, controls, timing and groups."""

import asyncio
from typing import Any

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.core.db import Db, execute, fetch_value
from tests.access_requests.test_separation import BOTH, URL, ask, conflicts
from tests.builders import an_identity, facts
from tests.duties.separating import a_company, a_duty, finish_again
from tests.holdings import a_finished_import, an_account
from tests.nesting import some_groups
from tests.stand_ins.standing_in import CLERK


@pytest.mark.parametrize(("accounts", "status"), [(("noor",), 201), (("noor", "noor2"), 400)])
async def test_access_that_another_account_keeps_is_not_lost(
    client: httpx2.AsyncClient, db: Db, accounts: tuple[str, ...], status: int
) -> None:
    company = await a_company(db, response="Block")
    for username in accounts[1:]:
        await an_account(db, company.ledger, username, company.noor, groups=("Officers",), run=company.run)

    wanted = {"Officers": "None", "Approvers": "Grant"}
    privileges = [{"header": "Group", "permission": group, "access": access} for group, access in wanted.items()]
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor), "targetName": "noor"}
    answer = await client.post(URL, json={"action": "Change", **target, "privileges": privileges})

    assert answer.status_code == status, answer.text


async def test_control_duty_that_is_only_requested_controls_nothing(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Reviewers": ""}, company.run)
    review = await a_duty(db, "Review", {"group": "Reviewers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")

    control = await ask(client, company, company.noor, "Reviewers")
    alone = await ask(client, company, company.noor, "Approvers")
    together = await ask(client, company, company.noor, "Reviewers", "Approvers")

    assert [each.status_code for each in (control, alone, together)] == [201, 400, 201]


async def test_two_requests_at_once_see_each_other(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    other = await an_identity(db, "Finn", "Santos")

    def wanting(group: str) -> dict[str, object]:
        privileges = [{"header": "Group", "permission": group}]
        target = {"applicationId": str(company.ledger), "identityId": str(other)}
        return {"action": "Add", **target, "privileges": privileges}

    assert (await second_of_two(client, db, wanting("Officers"), wanting("Approvers"))).status_code == 400


async def second_of_two(client: httpx2.AsyncClient, db: Db, first: Any, second: Any) -> httpx2.Response:
    """Send a request while another one, made before it, is not committed yet."""
    async with db.transaction():
        await actions.request_access(db, CLERK, first, facts())
        sent = asyncio.create_task(client.post(URL, json=second))
        waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
        while not sent.done() and not await fetch_value(db, waits):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return await sent


async def test_request_of_a_group_sees_the_request_of_a_member(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    other = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", other, groups=("Temps",), run=company.run)
    gives = {"action": "Add", "applicationId": str(company.ledger)}
    of_group = {**gives, "group": "Temps", "privileges": [{"header": "Wires", "permission": "Release run"}]}
    of_member = {**gives, "identityId": str(other), "privileges": [{"header": "Group", "permission": "Officers"}]}

    assert (await second_of_two(client, db, of_member, of_group)).status_code == 400


async def test_completed_request_counts_until_an_import_could_show_its_access(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    other = await an_identity(db, "Finn", "Santos")
    first = (await ask(client, company, other, "Officers")).json()
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = now(), completed_on = now()
           WHERE id = %(id)s""",
        id=first["id"],
    )

    before = await ask(client, company, other, "Approvers")
    # The import shows that the access never came.
    await finish_again(db, await a_finished_import(db, company.ledger))
    after = await ask(client, company, other, "Approvers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_group_cannot_be_given_what_its_members_must_not_have(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")

    async def give(group: str) -> httpx2.Response:
        privileges = [{"header": "Wires", "permission": "Release run"}]
        body = {"action": "Add", "applicationId": str(company.ledger), "group": group, "privileges": privileges}
        return await client.post(URL, json=body)

    # Noor is in Officers; Juniors, with Sofia, who is in conflict already, is below it.
    refused, allowed = await give("Officers"), await give("Juniors")

    assert (refused.status_code, allowed.status_code) == (400, 201), allowed.text
    assert refused.json()["errors"][0]["field"] == "privileges.0.permission"


async def test_group_request_is_shown_with_the_conflicts_of_its_members(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    privileges = [{"header": "Wires", "permission": "Release run"}]
    body = {"action": "Add", "applicationId": str(company.ledger), "group": "Officers", "privileges": privileges}

    request = (await client.post(URL, json=body)).json()

    assert await conflicts(client, request) == [("Approve", BOTH)]
