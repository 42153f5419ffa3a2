"""Test that stored requests are checked for conflicts again when they open, and when data that they rely on changes."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import opening
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.ids import new_id
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_separation import BOTH, URL, approvers, ask, conflicts
from tests.builders import a_token, an_access_model, an_application, an_identity
from tests.duties.separating import Company, a_company, a_duty, finish_again, join, leave
from tests.holdings import an_account
from tests.nesting import some_groups
from tests.personnel_events.bodies import created, day
from tests.working import let_the_worker_work


class Mover:
    """Noor moves from Ops, which prepares payments in the ledger, to Treasury, which releases them in the bank."""

    def __init__(self, company: Company, removal: str, gain: str) -> None:
        self.company, self.removal, self.gain = company, removal, gain


async def a_mover(client: httpx2.AsyncClient, db: Db, config: Config, response: str) -> Mover:
    company = await a_company(db, response=response)
    bank = await an_application(db, "Finance Bank")
    run = await some_groups(db, bank, {"Releasers": ""})
    await client.patch(f"/api/duties/{company.release}", json={"patterns": [{"group": "Releasers"}]})
    await an_account(db, bank, "noorb", company.noor, run=run)
    rows = await a_move(client, db, config, company, {company.ledger: "Officers"}, {bank: "Releasers"})
    return Mover(company, rows["Officers"], rows["Releasers"])


async def a_move(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    company: Company,
    ops: dict[UUID, str],
    treasury: dict[UUID, str],
) -> dict[str, str]:
    """Move Noor from the model Ops to the model Treasury; return the id of the request for each group.

    `ops` and `treasury` contain the group that the model gives in each application.
    """
    await execute(db, "UPDATE identities SET department = 'Ops' WHERE id = %(id)s", id=company.noor)
    for department, groups in (("Ops", ops), ("Treasury", treasury)):
        conditions = [[{"field": "department", "operator": "is", "value": department}]]
        access = [{"applicationId": str(id), "groups": [group]} for id, group in groups.items()]
        await an_access_model(db, department, conditions=conditions, access=access)
    who = {"identityId": str(company.noor), "identity": {"department": "Treasury"}}
    await created(client, "role-transition", effectiveDate=day(0), **who)
    await let_the_worker_work(config)
    return dict(await fetch_rows(db, "SELECT p.permission, p.request_id::text FROM privileges p"))


async def get(client: httpx2.AsyncClient, id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"{URL}/{id}")).json()
    return found


async def approve(client: httpx2.AsyncClient, id: str) -> dict[str, Any]:
    """Give every approval that the request waits for."""
    for requirement in (await get(client, id))["requirements"]:
        for rule in requirement["rules"] if requirement["type"] == "Approve" else []:
            body = {"type": "Approve", "response": "Approved", "reviewerId": rule["responses"][0]["reviewer"]["id"]}
            if rule["responses"][0]["response"] == "Pending":
                await client.post(f"{URL}/{id}/respond", json=body)
    return await get(client, id)


def last_entry(request: dict[str, Any]) -> tuple[str, str]:
    return request["activity"][-1]["action"], request["activity"][-1]["content"]


async def test_blocked_access_is_canceled_when_the_removal_it_relies_on_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    assert (await get(client, mover.gain))["status"] == "Pending"

    await client.post(f"{URL}/{mover.removal}/cancel", json={})
    await let_the_worker_work(config)

    gain = await get(client, mover.gain)
    said = "The rule Prepare and release (Prepare payments and Release payments) blocks this access: one person"
    assert gain["status"] == "Canceled"
    assert gain["comments"][-1]["content"].startswith(said)
    assert await conflicts(client, gain) == [("Block", BOTH)]


async def test_request_is_canceled_at_approval_if_the_removal_was_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    await client.post(f"{URL}/{mover.removal}/cancel", json={})

    gain = await approve(client, mover.gain)

    assert gain["status"] == "Canceled"
    assert [each["action"] for each in gain["activity"]][-2:] == ["Response", "Canceled"]


async def test_rules_owner_is_asked_when_the_removal_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Approve")
    assert "Hana Makinen" not in approvers(await get(client, mover.gain))

    await client.post(f"{URL}/{mover.removal}/cancel", json={})
    await let_the_worker_work(config)

    gain = await get(client, mover.gain)
    assert (gain["status"], await conflicts(client, gain)) == ("Pending", [("Approve", BOTH)])
    assert "Hana Makinen" in approvers(gain)
    asked = "SELECT kind FROM notifications WHERE identity_id = %(owner)s AND item_id = %(gain)s"
    assert await fetch_rows(db, asked, owner=mover.company.owner, gain=mover.gain) == [("Waiting",)]
    assert (await approve(client, mover.gain))["status"] == "Open"


@pytest.mark.parametrize("verb", ["resolve", "cancel"])
async def test_access_waits_until_the_removal_is_provisioned(
    client: httpx2.AsyncClient, db: Db, config: Config, verb: str
) -> None:
    mover = await a_mover(client, db, config, "Block")

    waiting = await approve(client, mover.gain)
    await let_the_worker_work(config, datetime.now(UTC) + timedelta(days=2))
    still = await get(client, mover.gain)
    shown = (await client.get(f"{URL}/{mover.gain}/conflicts")).json()["waits"]
    await client.post(f"{URL}/{mover.removal}/{verb}", json={})
    await let_the_worker_work(config)

    assert (waiting["status"], still["status"]) == ("Scheduled", "Scheduled")
    assert still["activity"] == waiting["activity"]
    action, said = last_entry(waiting)
    assert action == "Postponed"
    assert "waits until request #" in said
    assert "the rule Prepare and release" in said
    assert shown == said
    assert (await get(client, mover.gain))["status"] == {"resolve": "Open", "cancel": "Canceled"}[verb]


async def test_access_waits_only_for_requests_that_prevent_the_conflict(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    bank, wiki = await an_application(db, "Finance Bank"), await an_application(db, "Wiki")
    run = await some_groups(db, bank, {"Releasers": ""})
    await some_groups(db, wiki, {"Readers": ""})
    await client.patch(f"/api/duties/{company.release}", json={"patterns": [{"group": "Releasers"}]})
    await an_account(db, bank, "noorb", company.noor, run=run)
    treasury = {bank: "Releasers", wiki: "Readers"}
    rows = await a_move(client, db, config, company, {company.ledger: "Officers"}, treasury)

    waiting = await approve(client, rows["Releasers"])

    removal = await get(client, rows["Officers"])
    assert f"waits until request #{removal['number']} is provisioned" in last_entry(waiting)[1]


async def test_open_access_waits_again_when_the_removal_is_reopened(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    await execute(db, "UPDATE access_requests SET status = 'Resolved', resolved_on = now() WHERE id = %(id)s",
                  id=mover.removal)  # fmt: skip
    assert (await approve(client, mover.gain))["status"] == "Open"

    await client.post(f"{URL}/{mover.removal}/reopen", json={})
    await let_the_worker_work(config)
    waiting = await get(client, mover.gain)
    resumed = (await client.post(f"{URL}/{mover.gain}/resume", json={})).json()
    await client.post(f"{URL}/{mover.removal}/resolve", json={})
    await let_the_worker_work(config)

    assert [waiting["status"], resumed["status"]] == ["Snoozed", "Snoozed"]
    assert (await get(client, mover.gain))["status"] == "Open"


async def test_rule_that_only_warns_delays_nothing(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    mover = await a_mover(client, db, config, "Warn")

    assert (await approve(client, mover.gain))["status"] == "Open"

    await client.post(f"{URL}/{mover.removal}/cancel", json={})
    await let_the_worker_work(config)
    gain = await get(client, mover.gain)
    assert (gain["status"], await conflicts(client, gain)) == ("Open", [("Warn", BOTH)])


async def commit(client: httpx2.AsyncClient, company: Company, **changes: object) -> None:
    await client.patch(f"/api/duty-rules/{company.rule}", json=changes)
    answer = await client.post(f"/api/duty-rules/{company.rule}/commit")
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("response", "status", "owners"), [("Block", "Canceled", 0), ("Approve", "Pending", 1), ("Warn", "Open", 0)]
)
async def test_rule_in_effect_again_applies_to_open_requests(
    client: httpx2.AsyncClient, db: Db, config: Config, response: str, status: str, owners: int
) -> None:
    company = await a_company(db, response=response)
    await commit(client, company, enabled=False)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    unaffected = (await ask(client, company, await an_identity(db, "Finn", "Santos"), "Juniors")).json()
    for each in (made, unaffected):
        assert (await approve(client, each["id"]))["status"] == "Open"

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    assert {each["approvedAccess"] for each in (await get(client, unaffected["id"]))["target"]["privileges"]} == {
        "Grant"
    }
    after = await get(client, made["id"])
    assert (after["status"], approvers(after).count("Hana Makinen")) == (status, owners)
    assert await conflicts(client, after) == [(response, BOTH)]
    if response == "Approve":
        assert last_entry(after)[0] == "Conflict Found"
        assert (after["approvedOn"], after["startedOn"]) == (None, None)
        assert {each["approvedAccess"] for each in after["target"]["privileges"]} == {"None"}
        assert (await approve(client, made["id"]))["status"] == "Open"


async def test_request_made_while_a_duty_covered_nothing_is_checked_when_it_is_approved(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    duty = f"/api/duties/{company.release}"
    patterns = (await client.get(duty)).json()["patterns"]
    await client.patch(duty, json={"patterns": [{"permission": "Nothing"}]})
    made = (await ask(client, company, company.noor, "Approvers")).json()
    await client.patch(duty, json={"patterns": patterns})

    approved = await approve(client, made["id"])

    assert (approved["status"], await conflicts(client, approved)) == ("Pending", [("Approve", BOTH)])
    assert "Hana Makinen" in approvers(approved)


async def test_owner_of_the_token_that_made_a_request_does_not_approve_its_new_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    duty = f"/api/duties/{company.release}"
    patterns = (await client.get(duty)).json()["patterns"]
    await client.patch(duty, json={"patterns": [{"permission": "Nothing"}]})
    token = await a_token(db, owner=company.owner, scopes=["access-requests:write"])
    privileges = [{"header": "Group", "permission": "Approvers"}]
    body = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(company.noor)}
    headers = {"Authorization": f"Bearer {token.secret}"}
    made = (await client.post(URL, json={**body, "privileges": privileges}, headers=headers)).json()
    await client.patch(duty, json={"patterns": patterns})

    approved = await approve(client, made["id"])

    assert (approved["status"], await conflicts(client, approved)) == ("Pending", [("Approve", BOTH)])
    assert "Hana Makinen" not in approvers(approved)


async def test_conflict_that_the_owner_approved_is_not_asked_about_again(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    assert (await approve(client, made["id"]))["status"] == "Open"

    await commit(client, company, description="Changed")
    await let_the_worker_work(config)

    assert (await get(client, made["id"]))["status"] == "Open"


async def test_stricter_response_applies_although_the_conflict_was_known(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Warn")
    made = (await ask(client, company, company.noor, "Approvers")).json()

    await commit(client, company, response="Block")
    await let_the_worker_work(config)

    assert (await get(client, made["id"]))["status"] == "Canceled"


async def test_of_two_open_requests_the_later_one_creates_the_conflict(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await commit(client, company, enabled=False)
    first, second = [(await ask(client, company, finn, each)).json() for each in ("Officers", "Approvers")]

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    assert [(await get(client, each["id"]))["status"] for each in (first, second)] == ["Pending", "Canceled"]


async def test_open_request_for_held_access_still_gives_its_duty_after_that_access_is_lost(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    reserve = (await ask(client, company, company.noor, "Officers")).json()
    assert (await approve(client, reserve["id"]))["status"] == "Open"

    await leave(db, company, "noor", "Officers")
    refused = await ask(client, company, company.noor, "Approvers")

    assert refused.status_code == 400, refused.text


async def test_approved_request_is_checked_after_the_person_gets_the_other_duty(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    reserve = (await ask(client, company, company.noor, "Officers")).json()
    await approve(client, reserve["id"])

    await leave(db, company, "noor", "Officers")
    await join(db, company, "noor", "Approvers")
    await let_the_worker_work(config)

    assert (await get(client, reserve["id"]))["status"] == "Canceled"


async def test_scheduled_request_is_checked_when_it_starts(client: httpx2.AsyncClient, db: Db) -> None:
    """The check does not rely on the queue of people to recheck."""
    company, later = await a_company(db, response="Block"), datetime.now(UTC) + timedelta(days=2)
    body = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(company.noor)}
    privileges = [{"header": "Group", "permission": "Officers"}]
    made = await client.post(URL, json={**body, "privileges": privileges, "scheduledStart": later.isoformat()})
    assert (await approve(client, made.json()["id"]))["status"] == "Scheduled"
    await leave(db, company, "noor", "Officers")
    await join(db, company, "noor", "Approvers")

    await opening.move_due(db, later)

    started = await get(client, made.json()["id"])
    assert started["status"] == "Canceled"
    assert await conflicts(client, started) == [("Block", BOTH)]


async def test_request_about_a_group_is_checked_when_people_join_it(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    given = await client.post(URL, json=to_group(company, "Temps", "Release run"))
    assert given.status_code == 201, given.text

    await join(db, company, "noor", "Temps")
    await let_the_worker_work(config)

    assert (await get(client, given.json()["id"]))["status"] == "Canceled"


async def test_membership_is_checked_when_the_group_is_given_a_duty(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    member = (await ask(client, company, company.noor, "Temps")).json()

    await client.patch(f"/api/duties/{company.release}", json={"patterns": [{"group": "Temps"}]})
    await let_the_worker_work(config)

    assert (await get(client, member["id"]))["status"] == "Canceled"


async def test_reopened_request_is_checked_against_a_rule_added_meanwhile(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await commit(client, company, enabled=False)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    await execute(db, "UPDATE access_requests SET status = 'Resolved', resolved_on = now()")
    await commit(client, company, enabled=True)
    await let_the_worker_work(config)
    assert (await get(client, made["id"]))["status"] == "Resolved"

    reopened = (await client.post(f"{URL}/{made['id']}/reopen", json={})).json()
    assert reopened["status"] == "Open"
    await let_the_worker_work(config)

    assert (await get(client, made["id"]))["status"] == "Canceled"


async def test_conflict_of_members_with_different_duties_of_a_rule_is_approved_once(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": "", "Auditors": ""}, company.run)
    audit = await a_duty(db, "Audit", {"group": "Auditors"})
    await commit(client, company, conflicts=[str(company.prepare), str(company.release), str(audit)])
    await join(db, company, "noor", "Temps")
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, groups=("Auditors", "Temps"), run=company.run)
    await finish_again(db, company.run)

    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()

    [(_, duties)] = await conflicts(client, given)
    assert sorted(duties) == ["Audit", *BOTH]
    assert (await approve(client, given["id"]))["status"] == "Open"
    await commit(client, company, description="Changed")
    await let_the_worker_work(config)
    assert (await get(client, given["id"]))["status"] == "Open"


async def test_people_without_requests_are_not_queued(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await ask(client, company, company.noor, "Juniors")
    await execute(db, "DELETE FROM people_to_recheck")

    await join(db, company, "sofia", "Officers")
    await leave(db, company, "sofia", "Approvers")

    queued: list[tuple[UUID | None]] = await fetch_rows(db, "SELECT identity_id FROM people_to_recheck")
    assert queued == []


async def test_access_is_canceled_when_the_removal_no_longer_prevents_the_conflict(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    company = mover.company
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await join(db, company, "noor", "Temps")
    await let_the_worker_work(config)
    assert (await get(client, mover.gain))["status"] == "Pending"

    patterns = [{"group": "Officers"}, {"group": "Temps"}]
    await client.patch(f"/api/duties/{company.prepare}", json={"patterns": patterns})
    await let_the_worker_work(config)

    assert (await get(client, mover.gain))["status"] == "Canceled"


async def test_request_does_not_rely_on_the_removals_of_an_event_that_it_does_not_belong_to(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    await client.post(f"{URL}/{mover.gain}/cancel", json={})
    await commit(client, mover.company, enabled=False)
    bank = (await get(client, mover.gain))["target"]["application"]["id"]
    privileges = [{"header": "Group", "permission": "Releasers"}]
    body = {"action": "Add", "applicationId": bank, "identityId": str(mover.company.noor), "privileges": privileges}
    made = (await client.post(URL, json=body)).json()

    await commit(client, mover.company, enabled=True)
    await let_the_worker_work(config)

    assert (await get(client, mover.removal))["status"] != "Canceled"
    assert (await get(client, made["id"]))["status"] == "Canceled"


async def test_recheck_continues_until_no_person_is_queued(db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_BATCH", 2)
    for _ in range(3):
        await execute(db, "INSERT INTO people_to_recheck VALUES (%(id)s)", id=new_id())

    now = datetime.now(UTC)

    assert [await opening.recheck_waiting(db, now) for _ in range(2)] == [True, False]


async def test_request_that_is_canceled_for_a_leaver_is_not_checked_for_conflicts(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=company.noor)

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    after = await get(client, made["id"])
    assert (after["status"], await conflicts(client, after)) == ("Canceled", [])
    assert [entry["action"] for entry in after["activity"]].count("Canceled") == 1


async def test_removal_of_a_control_duty_waits_only_for_the_other_removals(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    crm, wiki = await an_application(db, "CRM"), await an_application(db, "Wiki")
    run = await some_groups(db, crm, {"Reviewers": ""})
    await some_groups(db, wiki, {"Readers": ""})
    await an_account(db, crm, "noorc", company.noor, groups=("Reviewers",), run=run)
    await finish_again(db, run)
    review = await a_duty(db, "Review", {"application": "CRM", "group": "Reviewers"})
    await commit(client, company, without=str(review))
    await join(db, company, "noor", "Approvers")

    ops = {company.ledger: "Officers", crm: "Reviewers"}
    rows = await a_move(client, db, config, company, ops, {wiki: "Readers"})

    control, removal = await get(client, rows["Reviewers"]), await get(client, rows["Officers"])
    assert (control["status"], removal["status"]) == ("Scheduled", "Open")
    assert f"waits until request #{removal['number']} is provisioned" in last_entry(control)[1]
