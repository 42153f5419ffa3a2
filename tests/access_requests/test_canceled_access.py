"""Test that access of a canceled request counts if the request was provisioned, until an import could show it."""

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_promised_access import a_controlled_company, remove_reviewers
from tests.access_requests.test_rechecking import a_mover, approve, get
from tests.access_requests.test_separation import URL, ask
from tests.builders import an_identity
from tests.duties.separating import a_company, finish_again, join
from tests.holdings import a_finished_import
from tests.working import let_the_worker_work


async def must_verify(client: httpx2.AsyncClient) -> None:
    """Let the owner of the application verify every request, so that a provisioned request is Resolved."""
    policy = (await client.get("/api/settings")).json()["approvalPolicy"]
    for rule in policy:
        if rule["type"] == "Verify":
            rule.update(priorities=[], risks=[])
    answer = await client.patch("/api/settings", json={"approvalPolicy": policy})
    assert answer.status_code == 200, answer.text


async def provision(client: httpx2.AsyncClient, made: httpx2.Response) -> str:
    assert made.status_code == 201, made.text
    id: str = made.json()["id"]
    await approve(client, id)
    await move(client, id, "resolve")
    assert (await get(client, id))["status"] == "Resolved"
    return id


async def move(client: httpx2.AsyncClient, id: str, *verbs: str) -> None:
    for verb in verbs:
        answer = await client.post(f"{URL}/{id}/{verb}", json={})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("verbs", [("cancel",), ("reopen", "cancel")])
async def test_canceled_access_counts_until_an_import_could_show_it(
    client: httpx2.AsyncClient, db: Db, verbs: tuple[str, ...]
) -> None:
    company = await a_company(db, response="Block")
    await must_verify(client)
    finn = await an_identity(db, "Finn", "Santos")
    await move(client, await provision(client, await ask(client, company, finn, "Approvers")), *verbs)

    before = await ask(client, company, finn, "Officers")
    await finish_again(db, await a_finished_import(db, company.ledger, "Users", "Memberships"))
    after = await ask(client, company, finn, "Officers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_access_counts_if_a_carrier_sent_a_step_of_the_canceled_request(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    made = (await ask(client, company, finn, "Approvers")).json()
    await execute(
        db,
        """INSERT INTO carried_requests (request_id, application_id, opened_on, state, next_on, changed_on)
           SELECT id, application_id, now(), 'Waiting', now(), now() FROM access_requests WHERE id = %(id)s""",
        id=made["id"],
    )
    await execute(
        db,
        """INSERT INTO carrier_steps (request_id, position, application_id, step, is_removal, state, sent_on)
           SELECT id, 0, application_id, '{}', false, 'Sent', now() FROM access_requests WHERE id = %(id)s""",
        id=made["id"],
    )
    await move(client, made["id"], "cancel")

    assert (await ask(client, company, finn, "Officers")).status_code == 400


async def test_request_canceled_before_it_was_provisioned_gives_nothing(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await move(client, (await ask(client, company, finn, "Approvers")).json()["id"], "cancel")

    assert (await ask(client, company, finn, "Officers")).status_code == 201


async def test_control_duty_is_lost_by_a_removal_that_was_provisioned_and_canceled(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_controlled_company(client, db)
    await must_verify(client)
    await join(db, company, "noor", "Reviewers")
    made = await remove_reviewers(client, company)
    await move(client, made["id"], "resolve", "cancel")

    assert (await ask(client, company, company.noor, "Approvers")).status_code == 400


async def test_control_duty_that_a_canceled_request_gave_a_group_prevents_no_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_controlled_company(client, db)
    await must_verify(client)
    id = await provision(client, await client.post(URL, json=to_group(company, "Temps", "Review run")))
    given = await ask(client, company, company.noor, "Temps")
    await move(client, given.json()["id"], "cancel")
    await move(client, id, "cancel")

    refused = await ask(client, company, company.noor, "Temps")

    assert (given.status_code, refused.status_code) == (201, 400)


async def test_blocked_access_is_canceled_when_a_provisioned_removal_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await must_verify(client)
    mover = await a_mover(client, db, config, "Block")
    await move(client, mover.removal, "resolve", "cancel")
    await let_the_worker_work(config)

    assert (await get(client, mover.gain))["status"] == "Canceled"


async def test_open_request_is_checked_again_after_an_import_could_show_canceled_access(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await must_verify(client)
    await ask(client, company, company.sofia, "Officers")
    privileges = [{"header": "Group", "permission": "Juniors", "access": "None"}]
    target = {"applicationId": str(company.ledger), "identityId": str(company.sofia), "targetName": "sofia"}
    removal = await client.post(URL, json={"action": "Remove", **target, "privileges": privileges})
    await move(client, removal.json()["id"], "resolve", "cancel")
    await execute(db, "DELETE FROM people_to_recheck")

    await finish_again(db, await a_finished_import(db, company.ledger, "Users", "Memberships"))

    assert (company.sofia,) in await fetch_rows(db, "SELECT identity_id FROM people_to_recheck")
