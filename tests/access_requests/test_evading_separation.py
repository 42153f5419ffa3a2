"""Test attempts to evade separation of duties: with other accounts, control duties, timing and groups."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.separation import conflicts_created
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.duties.prevention import ProposedAccess, duties_given
from rolecall.settings.policy import RequestAction
from tests.access_requests.test_separation import BOTH, URL, approvers, ask, conflicts
from tests.builders import an_application, an_identity, facts
from tests.duties.separating import Company, a_company, a_duty, conflict_of, finish_again, join, leave
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups
from tests.stand_ins.standing_in import CLERK


async def a_company_with_a_control_duty(client: httpx2.AsyncClient, db: Db) -> Company:
    """Create a company whose rule allows both duties to members of Reviewers."""
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Reviewers": ""}, company.run)
    review = await a_duty(db, "Review", {"group": "Reviewers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    return company


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


async def test_requested_control_duty_prevents_conflicts_only_of_its_own_request(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company_with_a_control_duty(client, db)

    control = await ask(client, company, company.noor, "Reviewers")
    alone = await ask(client, company, company.noor, "Approvers")
    together = await ask(client, company, company.noor, "Reviewers", "Approvers")

    assert [each.status_code for each in (control, alone, together)] == [201, 400, 201]


async def test_second_of_two_concurrent_requests_is_checked_together_with_the_first(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    other = await an_identity(db, "Finn", "Santos")

    def wanting(group: str) -> dict[str, object]:
        privileges = [{"header": "Group", "permission": group}]
        target = {"applicationId": str(company.ledger), "identityId": str(other)}
        return {"action": "Add", **target, "privileges": privileges}

    assert (await second_of_two(client, db, wanting("Officers"), wanting("Approvers"))).status_code == 400


async def second_of_two(client: httpx2.AsyncClient, db: Db, first: Any, second: Any) -> httpx2.Response:
    """Send a request while the transaction of an earlier one is still open; commit, and return the response."""
    async with db.transaction():
        await actions.request_access(db, CLERK, first, facts())
        sent = asyncio.create_task(client.post(URL, json=second))
        waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
        while not sent.done() and not await fetch_value(db, waits):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return await sent


async def test_request_about_a_group_is_checked_with_a_concurrent_request_of_a_member(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    other = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", other, groups=("Temps",), run=company.run)
    gives = {"action": "Add", "applicationId": str(company.ledger)}
    of_group = {**gives, "group": "Temps", "privileges": [{"header": "Wires", "permission": "Release run"}]}
    of_member = {**gives, "identityId": str(other), "privileges": [{"header": "Group", "permission": "Officers"}]}

    assert (await second_of_two(client, db, of_member, of_group)).status_code == 400


async def test_completed_request_is_treated_as_open_until_an_import_could_show_its_access(
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
    # The import shows that the access was never given.
    await finish_again(db, await a_finished_import(db, company.ledger, "Memberships"))
    after = await ask(client, company, other, "Approvers")

    assert (before.status_code, after.status_code) == (400, 201), after.text


async def test_group_cannot_be_given_what_its_members_must_not_have(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")

    async def give(group: str) -> httpx2.Response:
        privileges = [{"header": "Wires", "permission": "Release run"}]
        body = {"action": "Add", "applicationId": str(company.ledger), "group": group, "privileges": privileges}
        return await client.post(URL, json=body)

    # Noor is in Officers. Juniors is nested in Officers and contains only Sofia, who is already in conflict.
    refused, allowed = await give("Officers"), await give("Juniors")

    assert (refused.status_code, allowed.status_code) == (400, 201), allowed.text
    assert refused.json()["errors"][0]["field"] == "privileges.0.permission"


async def test_group_request_is_shown_with_the_conflicts_of_its_members(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    privileges = [{"header": "Wires", "permission": "Release run"}]
    body = {"action": "Add", "applicationId": str(company.ledger), "group": "Officers", "privileges": privileges}

    request = (await client.post(URL, json=body)).json()

    assert await conflicts(client, request) == [("Approve", BOTH)]


def to_group(company: Company, group: str, permission: str, action: str = "Add") -> dict[str, Any]:
    privileges = [{"header": "Wires", "permission": permission}]
    return {"action": action, "applicationId": str(company.ledger), "group": group, "privileges": privileges}


async def test_membership_is_checked_with_what_open_requests_give_the_group(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": "Temps"}, company.run)

    empty = await client.post(URL, json=to_group(company, "Temps", "Release run"))
    member = await ask(client, company, company.noor, "Temps")
    below = await ask(client, company, company.noor, "Interns")
    canceled = await client.post(f"{URL}/{empty.json()['id']}/cancel", json={})
    after = await ask(client, company, company.noor, "Temps")

    assert [each.status_code for each in (empty, member, below, canceled, after)] == [201, 400, 400, 200, 201]


async def test_request_about_a_group_is_checked_for_people_who_asked_to_join_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": "Temps"}, company.run)

    member = await ask(client, company, company.noor, "Interns")
    given = await client.post(URL, json=to_group(company, "Temps", "Release run"))

    assert (member.status_code, given.status_code) == (201, 400), given.text


async def test_request_of_a_member_is_checked_with_open_requests_about_the_group(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, groups=("Temps",), run=company.run)

    given = await client.post(URL, json=to_group(company, "Temps", "Prepare run"))
    asked = await ask(client, company, finn, "Approvers")

    assert (given.status_code, asked.status_code) == (201, 400), asked.text


async def test_checks_of_an_empty_group_and_a_new_membership_wait_for_each_other(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    member = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(company.noor)}
    member["privileges"] = [{"header": "Group", "permission": "Temps"}]  # type: ignore[assignment]

    assert (await second_of_two(client, db, to_group(company, "Temps", "Release run"), member)).status_code == 400


async def with_control(client: httpx2.AsyncClient, db: Db, response: str) -> Company:
    """Let Noor hold both duties under a control duty, which the group Reviewers gives her."""
    company = await a_company(db, response=response)
    await some_groups(db, company.ledger, {"Reviewers": ""}, company.run)
    review = await a_duty(db, "Review", {"group": "Reviewers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    await join(db, company, "noor", "Reviewers")
    await join(db, company, "noor", "Approvers")
    assert await conflict_of(db, company.noor) is None
    return company


async def remove(client: httpx2.AsyncClient, company: Company, *groups: str, action: str = "Remove") -> httpx2.Response:
    privileges = [{"header": "Group", "permission": group, "access": "None"} for group in groups]
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor), "targetName": "noor"}
    return await client.post(URL, json={"action": action, **target, "privileges": privileges})


@pytest.mark.parametrize("action", ["Remove", "Suspend", "Change"])
async def test_removal_of_a_control_duty_is_shown_and_the_rules_owner_approves(
    client: httpx2.AsyncClient, db: Db, action: str
) -> None:
    company = await with_control(client, db, "Block")

    answer = await remove(client, company, "Reviewers", action=action)

    assert answer.status_code == 201, answer.text
    assert await conflicts(client, answer.json()) == [("Block", BOTH)]
    assert "Hana Makinen" in approvers(answer.json())


async def test_removal_of_a_control_duty_together_with_a_duty_creates_no_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await with_control(client, db, "Block")

    answer = await remove(client, company, "Reviewers", "Approvers")

    assert await conflicts(client, answer.json()) == []


async def test_control_duty_that_an_open_request_takes_away_does_not_prevent_a_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await with_control(client, db, "Block")
    await leave(db, company, "noor", "Approvers")

    removal = await remove(client, company, "Reviewers")
    refused = await ask(client, company, company.noor, "Approvers")
    await client.post(f"{URL}/{removal.json()['id']}/cancel", json={})
    allowed = await ask(client, company, company.noor, "Approvers")

    assert [each.status_code for each in (removal, refused, allowed)] == [201, 400, 201]


async def test_removal_of_a_control_duty_from_a_group_is_shown(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Reviewers": ""}, company.run)
    await give(db, company.ledger, "Reviewers", "Review run", company.run)
    await finish_again(db, company.run)
    review = await a_duty(db, "Review", {"permission": "Review run"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    await join(db, company, "sofia", "Reviewers")
    assert await conflict_of(db, company.sofia) is None

    answer = await client.post(URL, json=to_group(company, "Reviewers", "Review run", "Remove"))

    assert await conflicts(client, answer.json()) == [("Approve", BOTH)]


async def test_removal_of_the_group_that_gives_the_control_duty_is_shown(client: httpx2.AsyncClient, db: Db) -> None:
    company = await with_control(client, db, "Approve")

    answer = await client.post(
        URL, json={"action": "Remove", "applicationId": str(company.ledger), "group": "Reviewers"}
    )

    assert await conflicts(client, answer.json()) == [("Approve", BOTH)]


async def test_open_removal_of_a_group_takes_its_control_duty_away(client: httpx2.AsyncClient, db: Db) -> None:
    company = await with_control(client, db, "Block")
    await leave(db, company, "noor", "Approvers")
    await client.post(URL, json={"action": "Remove", "applicationId": str(company.ledger), "group": "Reviewers"})

    assert (await ask(client, company, company.noor, "Approvers")).status_code == 400


async def test_restored_membership_of_a_group_that_is_gone_gives_what_the_group_gave(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, groups=("Approvers",), run=company.run)
    run = await a_finished_import(db, company.ledger)
    gone = """UPDATE {table} SET until_import = %(run)s WHERE until_import IS NULL
              AND {column} = (SELECT number FROM groups WHERE name = 'Approvers')"""
    for table, column in (
        ("group_versions", "group_number"),
        ("memberships", "group_number"),
        ("assignments", "holder_number"),
    ):
        await execute(db, gone.format(table=table, column=column), run=run)
    await finish_again(db, run)

    access = ProposedAccess(company.ledger, "Group", "", "Approvers", Access.GRANT)

    assert await duties_given(db, [access]) == {access: {company.release}}


async def test_lowest_access_of_a_pattern_applies_to_a_permission_that_no_import_has_shown(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    patterns = [{"header": "Wires", "permission": "Release*", "access": "Modify"}]
    await client.patch(f"/api/duties/{company.release}", json={"patterns": patterns})

    def of(access: Access) -> ProposedAccess:
        return ProposedAccess(company.ledger, "Wires", "", "Release abroad", access)

    given = await duties_given(db, [of(Access.GRANT), of(Access.MODIFY), of(Access.UNRESTRICTED)])

    assert list(given.values()) == [set(), {company.release}, {company.release}]


@pytest.mark.parametrize(("action", "count"), [(RequestAction.RESTORE, 0), (RequestAction.ADD, 1)])
async def test_control_duty_in_another_application_prevents_a_conflict_if_restored_together(
    client: httpx2.AsyncClient, db: Db, action: RequestAction, count: int
) -> None:
    company = await a_company(db, response="Block")
    crm = await an_application(db, "CRM")
    await some_groups(db, crm, {"Reviewers": ""})
    review = await a_duty(db, "Review", {"application": "CRM", "group": "Reviewers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")

    def of(application_id: UUID, group: str) -> NewRequest:
        privileges = [NewPrivilege(header="Group", permission=group)]
        target = {"application_id": application_id, "identity_id": company.noor, "target_name": "noor"}
        return NewRequest(action=action, privileges=privileges, **target)  # type: ignore[arg-type]

    async with db.transaction():
        found = await conflicts_created(db, [of(company.ledger, "Approvers"), of(crm, "Reviewers")])

    assert [len(each) for each in found] == [count, 0]


async def test_approver_cannot_approve_access_without_its_control_duty(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company_with_a_control_duty(client, db)
    made = (await ask(client, company, company.noor, "Reviewers", "Approvers")).json()
    (reviewer,) = await fetch_rows(
        db, "SELECT reviewer_id FROM responses WHERE request_id = %(id)s AND type = 'Approve' LIMIT 1", id=made["id"]
    )

    async def lower(*groups: str) -> httpx2.Response:
        lowered = [{"header": "Group", "permission": group, "access": "None"} for group in groups]
        body = {"type": "Approve", "response": "Approved", "reviewerId": str(reviewer[0]), "approvedAccess": lowered}
        return await client.post(f"{URL}/{made['id']}/respond", json=body)

    refused = await lower("Reviewers")
    both = await lower("Reviewers", "Approvers")

    assert refused.status_code == 400, refused.text
    assert refused.json()["errors"][0]["message"].startswith("With this access the request would create a conflict")
    assert both.status_code == 200, both.text


async def test_group_keeps_a_duty_that_a_permission_of_the_same_name_gives_too(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Tellers": ""}, company.run)
    for header in ("Wires", "Cards"):
        await give(db, company.ledger, "Tellers", "Release run", company.run, header=header)
    kai = await an_identity(db, "Kai", "Kim")
    await an_account(db, company.ledger, "kai", kai, groups=("Tellers",), run=company.run)
    await finish_again(db, company.run)
    wires, cards = ({"header": header, "permission": "Release run", "access": "None"} for header in ("Wires", "Cards"))
    prepare = {"header": "Wires", "permission": "Prepare run", "access": "Grant"}
    target = {"action": "Change", "applicationId": str(company.ledger), "group": "Tellers"}

    one = await client.post(URL, json={**target, "privileges": [wires, prepare]})
    both = await client.post(URL, json={**target, "privileges": [wires, cards, prepare]})

    assert one.status_code == 400, one.text
    assert both.status_code == 201, both.text


async def test_person_keeps_a_duty_if_a_permission_replaces_the_group_that_gave_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    wanted = (("Group", "Officers", "None"), ("Group", "Approvers", "Grant"), ("Wires", "Prepare run", "Grant"))
    privileges = [{"header": header, "permission": name, "access": access} for header, name, access in wanted]
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor), "targetName": "noor"}

    answer = await client.post(URL, json={"action": "Change", **target, "privileges": privileges})

    assert answer.status_code == 400, answer.text
    # Without the permission, Noor would no longer prepare payments.
    answer = await client.post(URL, json={"action": "Change", **target, "privileges": privileges[:2]})
    assert answer.status_code == 201, answer.text
