"""Test conflicts of members and new members of a group from which a request takes a control duty."""

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.access_requests.test_rechecking import approve, commit, get
from tests.access_requests.test_separation import BOTH, URL, ask, conflicts
from tests.duties.separating import Company, a_company, a_duty, conflict_of, finish_again, join
from tests.holdings import an_account
from tests.nesting import give, some_groups
from tests.working import let_the_worker_work


async def with_control_of_groups(client: httpx2.AsyncClient, db: Db, *patterns: dict[str, str]) -> Company:
    """Create a company with a rule whose control duty is to review payments, defined by `patterns`.

    Reviewers may review payments. Team is in Readers, which is in Reviewers.
    """
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Reviewers": "", "Readers": "Reviewers", "Team": "Readers"}, company.run)
    await give(db, company.ledger, "Reviewers", "Review run", company.run)
    await finish_again(db, company.run)
    review = await a_duty(db, "Review", *patterns)
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    return company


def removal(company: Company, group: str, *names: tuple[str, str]) -> dict[str, object]:
    privileges = [{"header": header, "permission": name, "access": "None"} for header, name in names]
    return {"action": "Remove", "applicationId": str(company.ledger), "group": group, "privileges": privileges}


PERMISSION, GROUP = {"permission": "Review run"}, {"group": "Reviewers"}


@pytest.mark.parametrize("pattern", [PERMISSION, GROUP])
@pytest.mark.parametrize(("group", "above"), [("Team", "Readers"), ("Readers", "Reviewers")])
async def test_members_lose_the_control_duty_when_their_group_leaves_the_group_above_it(
    client: httpx2.AsyncClient, db: Db, pattern: dict[str, str], group: str, above: str
) -> None:
    company = await with_control_of_groups(client, db, pattern)
    await join(db, company, "sofia", "Team")
    assert await conflict_of(db, company.sofia) is None

    answer = await client.post(URL, json=removal(company, group, ("Group", above)))

    assert await conflicts(client, answer.json()) == [("Block", BOTH)]


LOSSES = {
    "permission": ("Reviewers", [("Wires", "Review run")]),
    "nesting": ("Readers", [("Group", "Reviewers")]),
    "group": ("Reviewers", []),
}


@pytest.mark.parametrize("lost", LOSSES)
async def test_group_about_to_lose_the_control_duty_does_not_give_it_to_new_members(
    client: httpx2.AsyncClient, db: Db, lost: str
) -> None:
    company = await with_control_of_groups(client, db, PERMISSION)
    group, names = LOSSES[lost]

    made = await client.post(URL, json=removal(company, group, *names))
    refused = await ask(client, company, company.noor, "Team", "Approvers")
    await client.post(f"{URL}/{made.json()['id']}/cancel", json={})
    allowed = await ask(client, company, company.noor, "Team", "Approvers")

    assert [each.status_code for each in (made, refused, allowed)] == [201, 400, 201], refused.text


async def test_request_without_privileges_takes_the_control_duty_only_if_it_takes_the_group(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await with_control_of_groups(client, db, GROUP)
    await join(db, company, "sofia", "Reviewers")
    of_group = {"applicationId": str(company.ledger), "group": "Reviewers"}
    # This account has the name of the group.
    await an_account(db, company.ledger, "Reviewers", company.sofia, run=company.run)
    of_account = {"applicationId": str(company.ledger), "identityId": str(company.sofia), "targetName": "Reviewers"}

    bodies = [{"action": "Add", **of_group}, {"action": "Remove", **of_account}, {"action": "Suspend", **of_group}]
    made = [(await client.post(URL, json=body)).json() for body in bodies]

    assert [await conflicts(client, each) for each in made] == [[], [], [("Block", BOTH)]]


async def test_control_duty_that_a_request_repeats_counts_only_until_another_request_removes_it(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await with_control_of_groups(client, db, GROUP)
    await join(db, company, "noor", "Reviewers")
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor), "targetName": "noor"}

    async def change(**access: str) -> str:
        privileges = [{"header": "Group", "permission": name, "access": wanted} for name, wanted in access.items()]
        made = await client.post(URL, json={"action": "Change", **target, "privileges": privileges})
        return str(made.json()["id"])

    id = await change(Reviewers="Grant", Approvers="Grant")
    assert (await approve(client, id))["status"] == "Open"
    await change(Reviewers="None")
    await commit(client, company, description="Changed")
    await let_the_worker_work(config)

    assert (await get(client, id))["status"] == "Canceled"
