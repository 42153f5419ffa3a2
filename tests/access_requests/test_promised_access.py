"""Test requests that add or remove access, or control duties, before an import shows the change."""

from typing import Any

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.separation import allowed_of_event
from rolecall.accounts.model import Access
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.settings.policy import RequestAction
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_rechecking import Mover, a_mover, approve, commit, get
from tests.access_requests.test_separation import BOTH, URL, approvers, ask, conflicts
from tests.builders import an_application, an_identity
from tests.duties.separating import Company, a_company, a_duty, a_rule, finish_again, join
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups
from tests.working import let_the_worker_work


async def a_controlled_company(client: httpx2.AsyncClient, db: Db) -> Company:
    """Create a company with a rule whose control duty is to review payments.

    Members of Reviewers may review payments, and members of Temps may release them; both groups are empty.
    """
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Reviewers": "", "Temps": ""}, company.run)
    await give(db, company.ledger, "Reviewers", "Review run", company.run)
    await give(db, company.ledger, "Temps", "Release run", company.run)
    await finish_again(db, company.run)
    await commit(client, company, without=str(await a_duty(db, "Review", {"permission": "Review run"})))
    return company


async def controlled_access(client: httpx2.AsyncClient, company: Company) -> str:
    """Request a duty and its control duty for Noor in one request, and approve the request; return its id."""
    made = (await ask(client, company, company.noor, "Reviewers", "Approvers")).json()
    id: str = (await approve(client, made["id"]))["id"]
    return id


async def remove_reviewers(client: httpx2.AsyncClient, company: Company) -> dict[str, Any]:
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor), "targetName": "noor"}
    privileges = [{"header": "Group", "permission": "Reviewers", "access": "None"}]
    made: dict[str, Any] = (
        await client.post(URL, json={"action": "Remove", **target, "privileges": privileges})
    ).json()
    return made


async def a_mover_without_the_old_access(client: httpx2.AsyncClient, db: Db, config: Config) -> Mover:
    """Create a mover whose old access is removed and whose new access is approved."""
    mover = await a_mover(client, db, config, "Block")
    await client.post(f"{URL}/{mover.removal}/resolve", json={})
    await let_the_worker_work(config)
    assert (await approve(client, mover.gain))["status"] == "Open"
    return mover


async def test_removed_access_that_is_requested_again_is_checked_as_new(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover_without_the_old_access(client, db, config)

    assert (await ask(client, mover.company, mover.company.noor, "Officers")).status_code == 400


async def test_control_duty_that_another_request_would_give_a_group_prevents_no_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_controlled_company(client, db)
    promise = await client.post(URL, json=to_group(company, "Temps", "Review run"))
    assert promise.status_code == 201, promise.text

    assert (await ask(client, company, company.noor, "Temps")).status_code == 400


@pytest.mark.parametrize("is_completed", [False, True])
async def test_rules_owner_approves_removal_of_a_control_duty_that_no_import_has_shown(
    client: httpx2.AsyncClient, db: Db, *, is_completed: bool
) -> None:
    company = await a_controlled_company(client, db)
    id = await controlled_access(client, company)
    if is_completed:
        await client.post(f"{URL}/{id}/resolve", json={})

    removal = await remove_reviewers(client, company)

    assert (removal["status"], approvers(removal)) == ("Pending", ["Hana Makinen"])
    assert await conflicts(client, removal) == [("Block", BOTH)]
    assert (await get(client, id))["status"] == ("Completed" if is_completed else "Open")


async def test_control_duty_that_an_earlier_request_takes_away_prevents_no_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_controlled_company(client, db)
    assert (await remove_reviewers(client, company))["status"] == "Open"

    assert (await ask(client, company, company.noor, "Reviewers", "Approvers")).status_code == 400


async def test_request_is_canceled_when_its_group_no_longer_gives_the_control_duty(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_controlled_company(client, db)
    id = await controlled_access(client, company)
    await let_the_worker_work(config)

    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """UPDATE assignments SET until_import = %(run)s WHERE until_import IS NULL
           AND holder_number = (SELECT number FROM groups WHERE name = 'Reviewers')""",
        run=run,
    )
    await finish_again(db, run)
    await let_the_worker_work(config)

    assert (await get(client, id))["status"] == "Canceled"


async def test_approval_is_asked_for_although_another_rule_has_the_same_reason(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    policy = (await client.get("/api/settings")).json()["approvalPolicy"]
    for rule in policy:
        if rule["responder"] == "Application Owner":
            rule.update(reason="High risk", priorities=[])
    await client.patch("/api/settings", json={"approvalPolicy": policy})
    request = (await ask(client, company, company.noor, "Approvers")).json()
    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    assert approvers(await get(client, request["id"])) == ["Administrators", "Carla Abadi", "Hana Makinen"]


@pytest.mark.parametrize(("held", "names", "sizes"), [("Pay", ["Pay"], [1, 1]), ("Read", ["Pay", "Ask"], [2, 2])])
async def test_requests_of_an_event_are_split_neither_into_empty_ones_nor_if_they_only_give_access(
    db: Db, held: str, names: list[str], sizes: list[int]
) -> None:
    company = await a_company(db)
    bank = await an_application(db, "Finance Bank")
    there = {company.ledger: company.run, bank: await a_finished_import(db, bank)}
    for application, run in there.items():
        permission = ("Wires", held, "Modify", "High")
        await an_account(db, application, "pay", company.noor, permissions=(permission,), run=run)
        await finish_again(db, run)
    high = await a_duty(db, "Pay more", {"permission": "Pay", "access": "Modify"})
    low = await a_duty(db, "Pay", {"permission": "Pay"})
    await a_rule(db, "High", high, company.release)
    await a_rule(db, "Low", low, company.release)
    planned = [
        NewRequest(
            action=RequestAction.CHANGE,
            application_id=application,
            identity_id=company.noor,
            target_name="pay",
            privileges=[NewPrivilege(header="Wires", permission=name, requested_access=Access.GRANT) for name in names],
        )
        for application in there
    ]

    allowed = await allowed_of_event(db, planned)

    assert [len(each.privileges) for each in allowed.requests] == sizes


async def test_open_request_is_canceled_when_another_application_gives_the_removed_duty(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover_without_the_old_access(client, db, config)

    crm = await an_application(db, "CRM")
    run = await some_groups(db, crm, {"Payers": ""})
    await give(db, crm, "Payers", "Prepare run", run)
    await an_account(db, crm, "noorc", mover.company.noor, groups=("Payers",), run=run)
    await finish_again(db, run)
    await let_the_worker_work(config)

    assert (await get(client, mover.gain))["status"] == "Canceled"


async def call_groups(db: Db, company: Company, nomenclature: str) -> None:
    """Import the groups with another nomenclature."""
    run = await a_finished_import(db, company.ledger)
    await execute(db, "UPDATE group_versions SET until_import = %(run)s WHERE until_import IS NULL", run=run)
    await execute(
        db,
        """INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
           SELECT group_number, %(run)s, description, %(nomenclature)s, parent, metadata FROM group_versions
           WHERE until_import = %(run)s""",
        run=run,
        nomenclature=nomenclature,
    )
    await finish_again(db, run)


@pytest.mark.parametrize("headers", [("", "Role"), ("Role", "Team")])
async def test_requested_membership_counts_after_the_group_got_another_nomenclature(
    client: httpx2.AsyncClient, db: Db, headers: tuple[str, str]
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    before, after = headers
    await call_groups(db, company, before)
    assert (await ask(client, company, finn, "Approvers")).status_code == 201

    await call_groups(db, company, after)

    assert (await ask(client, company, finn, "Officers")).status_code == 400


@pytest.mark.parametrize("control", [{"permission": "Review run"}, {"group": "Reviewers"}])
async def test_removal_of_a_control_duty_counts_after_the_group_got_another_nomenclature(
    client: httpx2.AsyncClient, db: Db, control: dict[str, str]
) -> None:
    company = await a_controlled_company(client, db)
    await commit(client, company, without=str(await a_duty(db, "Control", control)))
    await join(db, company, "noor", "Reviewers")
    assert (await remove_reviewers(client, company))["status"] == "Open"

    await call_groups(db, company, "Role")

    assert (await ask(client, company, company.noor, "Approvers")).status_code == 400
