"""Test the conflicts recorded with requests: who must approve when people, duties, rules or their owners change."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest, RelatedItem
from rolecall.access_requests.permitted import OWN_REQUEST
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from rolecall.settings.policy import EventType, RequestAction
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_rechecking import approve, commit, get, last_entry
from tests.access_requests.test_separation import BOTH, URL, approvers, ask, conflicts
from tests.builders import a_token, an_application, an_identity, facts
from tests.duties.separating import Company, a_company, a_duty, a_rule, finish_again, join, leave
from tests.holdings import an_account
from tests.nesting import some_groups
from tests.stand_ins.standing_in import caller_of
from tests.working import let_the_worker_work


async def returning_from_leave(client: httpx2.AsyncClient, db: Db) -> list[str]:
    """Let the end of Noor's leave restore Approvers in the ledger and the control duty in another application.

    The request for the ledger also restores Checkers, which gives the control duty of an unrelated rule. Return the ids
    of both requests.
    """
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Checkers": ""}, company.run)
    check, *apart = [await a_duty(db, name, {"group": name}) for name in ("Checkers", "X", "Y")]
    await a_rule(db, "Unrelated", *apart, without=str(check), response="Warn")
    crm = await an_application(db, "CRM")
    run = await some_groups(db, crm, {"Reviewers": ""})
    await an_account(db, crm, "noorc", company.noor, run=run)
    review = await a_duty(db, "Review", {"application": "CRM", "group": "Reviewers"})
    await commit(client, company, without=str(review))
    event = RelatedItem(
        id=new_id(),
        kind="Personnel Event",
        number=1,
        status="Open",
        stage="Removal",
        event_type=EventType.ABSENCE,
    )

    def of(application_id: UUID, username: str, *groups: str) -> NewRequest:
        return NewRequest(
            action=RequestAction.RESTORE,
            application_id=application_id,
            identity_id=company.noor,
            target_name=username,
            related=event,
            privileges=[NewPrivilege(header="Group", permission=group) for group in groups],
        )

    news = [of(company.ledger, "noor", "Approvers", "Checkers"), of(crm, "noorc", "Reviewers")]
    async with db.transaction():
        return [str(id) for id in await create_requests(db, SYSTEM, news, datetime.now(UTC))]


@pytest.mark.parametrize(("verb", "status"), [("resolve", "Open"), ("cancel", "Canceled")])
async def test_restored_access_waits_until_its_control_duty_is_provisioned(
    client: httpx2.AsyncClient, db: Db, config: Config, verb: str, status: str
) -> None:
    access, control = await returning_from_leave(client, db)
    await let_the_worker_work(config)
    waiting = await get(client, access)

    await client.post(f"{URL}/{control}/{verb}", json={})
    await let_the_worker_work(config)

    action, said = last_entry(waiting)
    assert (waiting["status"], action) == ("Scheduled", "Postponed")
    assert f"waits until request #{(await get(client, control))['number']} is provisioned" in said
    assert (await get(client, access))["status"] == status


async def test_owner_is_asked_about_a_person_who_joins_the_group_later(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await join(db, company, "noor", "Temps")
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    assert (await approve(client, given["id"]))["status"] == "Open"

    await finn_in(db, company, "Officers")
    await join(db, company, "finn", "Temps")
    await let_the_worker_work(config)

    after = await get(client, given["id"])
    assert (after["status"], approvers(after).count("Hana Makinen")) == ("Pending", 2)
    assert (await approve(client, given["id"]))["status"] == "Open"
    await commit(client, company, description="Changed")
    await let_the_worker_work(config)
    assert (await get(client, given["id"]))["status"] == "Open"


async def test_warning_about_one_member_does_not_count_as_approval_by_a_stricter_rule(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Warn")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await finn_in(db, company, "Officers", "Temps")
    await join(db, company, "noor", "Temps")
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    await leave(db, company, "noor", "Officers")

    # Only Finn is in conflict when the owner is asked.
    await commit(client, company, response="Approve")
    await let_the_worker_work(config)
    assert (await approve(client, given["id"]))["status"] == "Open"
    await join(db, company, "noor", "Officers")
    await let_the_worker_work(config)

    assert (await get(client, given["id"]))["status"] == "Pending"


async def finn_in(db: Db, company: Company, *groups: str) -> UUID:
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, groups=groups, run=company.run)
    await finish_again(db, company.run)
    return finn


async def a_request_of_another_owner(client: httpx2.AsyncClient, db: Db) -> tuple[Company, str]:
    company = await a_company(db)
    await commit(client, company, ownerId=str(await an_identity(db, "Fred", "Friend")))
    made = (await ask(client, company, company.noor, "Approvers")).json()
    assert "Fred Friend" in approvers(made)
    return company, made["id"]


async def test_new_owner_of_a_rule_is_asked_instead_of_the_former_one(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Neither another approval of the request nor the former owner's approval of another request prevents this."""
    company, id = await a_request_of_another_owner(client, db)
    finn = await finn_in(db, company, "Officers")
    other = (await ask(client, company, finn, "Approvers")).json()["id"]
    for request, name in ((id, "Carla"), (other, "Fred")):
        reviewer = await fetch_value(db, "SELECT id FROM identities WHERE first_name = %(name)s", name=name)
        body = {"type": "Approve", "response": "Approved", "reviewerId": str(reviewer)}
        assert (await client.post(f"{URL}/{request}/respond", json=body)).status_code == 200

    await commit(client, company, ownerId=str(company.owner))
    await let_the_worker_work(config)

    after = [approvers(await get(client, each)) for each in (id, other)]
    names = ("Carla Abadi", "Fred Friend", "Hana Makinen")
    assert [[each.count(name) for name in names] for each in after] == [[1, 0, 1], [1, 1, 1]]
    assert (await approve(client, id))["status"] == "Open"


async def test_new_owner_of_a_rule_is_asked_about_what_the_former_one_approved(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company, id = await a_request_of_another_owner(client, db)
    assert (await approve(client, id))["status"] == "Open"

    await commit(client, company, ownerId=str(company.owner))
    await let_the_worker_work(config)

    after = await get(client, id)
    assert (after["status"], approvers(after).count("Hana Makinen")) == ("Pending", 1)


async def test_administrators_who_already_approve_are_asked_in_place_of_owners_who_left(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    carla = await fetch_value(db, "SELECT id FROM identities WHERE first_name = 'Carla'")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=carla)
    request = (await ask(client, company, company.noor, "Approvers")).json()
    before = approvers(request)

    asked = list[list[str]]()
    for left in (company.owner, carla):
        await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=left)
        await let_the_worker_work(config)
        asked.append(approvers(await get(client, request["id"])))

    carlas, all_three = ["Carla Abadi", "Carla Abadi"], ["Carla Abadi", "Administrators"]
    assert before == [*carlas, "Hana Makinen"]
    assert asked == [
        [*carlas, "Hana Makinen", "Carla Abadi"],
        [*all_three, *all_three, "Hana Makinen", *all_three],
    ]


async def test_approval_of_an_owner_who_left_is_refused_and_administrators_are_asked(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    chief = await an_identity(db, "Alan", "Turing")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=chief)
    await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=company.owner)

    body = {"type": "Approve", "response": "Approved", "reviewerId": str(company.owner)}
    refused = await client.post(f"{URL}/{made['id']}/respond", json=body)
    await let_the_worker_work(config)

    assert refused.status_code == 409, refused.text
    assert refused.json()["message"].startswith("Hana Makinen is Removed")
    assert "Alan Turing" in approvers(await get(client, made["id"]))


async def test_renamed_duty_is_not_asked_about_again(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    company = await a_company(db)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    assert (await approve(client, made["id"]))["status"] == "Open"

    await client.patch(f"/api/duties/{company.release}", json={"name": "Pay out"})
    await commit(client, company, description="Changed")
    await let_the_worker_work(config)

    after = await get(client, made["id"])
    assert (after["status"], await conflicts(client, after)) == ("Open", [("Approve", BOTH)])


async def test_stored_request_found_in_conflict_needs_the_approvals_of_a_new_request(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    earlier = (await ask(client, company, company.noor, "Approvers")).json()

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    needed = approvers(await get(client, earlier["id"]))
    await client.post(f"{URL}/{earlier['id']}/cancel", json={})
    later = (await ask(client, company, company.noor, "Approvers")).json()
    assert sorted(needed) == sorted(approvers(later))


async def test_conflict_found_later_adds_only_the_approvals_that_it_needs(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    boss = await an_identity(db, "Bo", "Boss")
    await execute(db, "UPDATE identities SET supervisor_id = %(boss)s WHERE id = %(id)s", boss=boss, id=company.noor)

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    def reviewers(request: dict[str, Any]) -> Counter[str]:
        rules = [rule for requirement in request["requirements"] for rule in requirement["rules"]]
        return Counter(each["reviewer"]["name"] for rule in rules for each in rule["responses"])

    added = reviewers(await get(client, made["id"])) - reviewers(made)
    assert added == {"Carla Abadi": 1, "Hana Makinen": 1}


async def test_policy_rule_is_not_applied_again_when_one_of_its_reviewers_was_already_asked(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    pia, per = [str(await an_identity(db, name, "Engineer")) for name in ("Pia", "Per")]
    ledger = f"/api/applications/{company.ledger}"
    await client.patch(ledger, json={"provisionerIds": [pia]})
    rule = {"type": "Approve", "reason": "Risky", "responder": "Application Provisioner", "risks": ["Critical"]}
    await client.patch("/api/settings", json={"approvalPolicy": [rule]})
    made = (await ask(client, company, company.noor, "Approvers")).json()
    assert approvers(made) == ["Pia Engineer", "Hana Makinen"]

    await client.patch(ledger, json={"provisionerIds": [pia, per]})
    await commit(client, company, ownerId=str(await an_identity(db, "Fred", "Friend")))
    await let_the_worker_work(config)

    assert approvers(await get(client, made["id"])) == ["Pia Engineer", "Fred Friend"]


async def a_rule_about_tellers(db: Db, company: Company, response: str) -> None:
    """Make Noor a teller, and add a rule that keeps tellers from releasing payments."""
    await some_groups(db, company.ledger, {"Tellers": ""}, company.run)
    tell = await a_duty(db, "Tell", {"group": "Tellers"})
    await join(db, company, "noor", "Tellers")
    await a_rule(db, "Tell and release", company.release, tell, risk="Low", response=response)


async def test_no_owner_is_asked_about_a_request_that_another_rule_blocks(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    made = (await ask(client, company, company.noor, "Approvers")).json()

    await a_rule_about_tellers(db, company, "Block")
    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    after = await get(client, made["id"])
    reasons = [rule["reason"] for requirement in after["requirements"] for rule in requirement["rules"]]
    assert await conflicts(client, after) == [("Approve", BOTH), ("Block", ["Release payments", "Tell"])]
    assert (after["status"], [each for each in reasons if "owner of the rule" in each]) == ("Canceled", [])


async def test_person_found_in_a_conflict_of_a_rule_that_only_warns_does_not_decide(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Warn")
    await client.patch(f"/api/applications/{company.ledger}", json={"provisionerIds": [str(company.noor)]})
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    assert (await approve(client, given["id"]))["status"] == "Open"

    await join(db, company, "noor", "Temps")
    await let_the_worker_work(config)

    assert await conflicts(client, given) == [("Warn", BOTH)]
    with pytest.raises(Conflict, match=OWN_REQUEST):
        await actions.resolve(db, await caller_of(db, company.noor), given["id"], {}, facts())


async def test_duties_that_an_owner_approved_earlier_are_remembered_but_no_longer_shown(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Auditors": ""}, company.run)
    audit = await a_duty(db, "Audit", {"group": "Auditors"})
    await commit(client, company, conflicts=[str(company.prepare), str(company.release), str(audit)])
    await a_rule_about_tellers(db, company, "Warn")
    made = (await ask(client, company, company.noor, "Approvers")).json()
    warning = ("Warn", ["Release payments", "Tell"])
    assert await conflicts(client, made) == [("Approve", BOTH), warning]
    assert (await approve(client, made["id"]))["status"] == "Open"

    await leave(db, company, "noor", "Officers")
    await join(db, company, "noor", "Auditors")
    await let_the_worker_work(config)
    assert await conflicts(client, made) == [("Approve", ["Release payments", "Audit"]), warning]
    assert (await approve(client, made["id"]))["status"] == "Open"
    await join(db, company, "noor", "Officers")
    await let_the_worker_work(config)

    assert (await get(client, made["id"]))["status"] == "Open"


async def test_conflict_found_later_leaves_the_recorded_conflicts_of_other_requests(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    known = (await ask(client, company, company.noor, "Approvers")).json()
    await commit(client, company, enabled=False)
    finn = await finn_in(db, company, "Officers")
    later = (await ask(client, company, finn, "Approvers")).json()
    assert await conflicts(client, later) == []

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    assert [await conflicts(client, each) for each in (known, later)] == [[("Approve", BOTH)]] * 2


async def test_token_of_the_person_does_not_record_the_approval_of_the_rules_owner(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    own = await a_token(db, "of Noor", owner=company.noor, scopes=["access-requests:write"])
    made = (await ask(client, company, company.noor, "Approvers")).json()

    body = {"type": "Approve", "response": "Approved", "reviewerId": str(company.owner)}
    headers = {"Authorization": f"Bearer {own.secret}"}
    refused = await client.post(f"{URL}/{made['id']}/respond", json=body, headers=headers)

    assert refused.status_code == 409, refused.text
    assert "another person must decide" in refused.json()["message"]


async def test_conflict_of_a_later_member_is_shown_with_the_duties_of_earlier_ones(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": "", "Auditors": ""}, company.run)
    audit = await a_duty(db, "Audit", {"group": "Auditors"})
    await commit(client, company, conflicts=[str(company.prepare), str(company.release), str(audit)])
    await join(db, company, "noor", "Temps")
    await finn_in(db, company, "Auditors")
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    assert await conflicts(client, given) == [("Approve", BOTH)]

    await join(db, company, "finn", "Temps")
    await let_the_worker_work(config)

    [(_, duties)] = await conflicts(client, given)
    assert sorted(duties) == ["Audit", *BOTH]
