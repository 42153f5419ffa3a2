"""Test requests for people who change roles, and requests about accounts that later match another person.

Also test how imports and rollbacks affect such requests, and the order of locks.
"""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import httpx2
import psycopg

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.opening import move_due
from rolecall.access_requests.separation import allowed_of_event
from rolecall.accounts.model import Access
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, session_options
from rolecall.settings.policy import RequestAction
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_rechecking import a_move, a_mover, approve, commit, get
from tests.access_requests.test_separation import URL, ask
from tests.builders import an_application, an_identity
from tests.conftest import BASE_URL
from tests.duties.separating import Company, a_company, finish_again
from tests.holdings import a_finished_import, an_account
from tests.nesting import some_groups
from tests.working import let_the_worker_work

_ROLES = ("Officers", "Preparers"), ("Approvers", "Releasers")


async def a_company_with_a_bank(client: httpx2.AsyncClient, db: Db) -> tuple[Company, UUID]:
    """Create a company in which Noor prepares payments in the ledger and in the bank."""
    company = await a_company(db, response="Block")
    bank = await an_application(db, "Finance Bank")
    run = await some_groups(db, bank, {"Releasers": "", "Preparers": ""})
    for duty, groups in ((company.release, ("Releasers", "Approvers")), (company.prepare, ("Preparers", "Officers"))):
        await client.patch(f"/api/duties/{duty}", json={"patterns": [{"group": each} for each in groups]})
    await an_account(db, bank, "noorb", company.noor, groups=("Preparers",), run=run)
    await finish_again(db, run)
    return company, bank


async def test_requests_of_a_move_in_two_applications_do_not_wait_for_each_other(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company, bank = await a_company_with_a_bank(client, db)
    before, after = [dict(zip((company.ledger, bank), groups, strict=True)) for groups in _ROLES]

    requests = await a_move(client, db, config, company, before, after)
    removals, gains = [[requests[group] for group in groups] for groups in _ROLES]
    waiting = [(await approve(client, id))["status"] for id in gains]
    removing = [(await approve(client, id))["status"] for id in removals]
    for id in removals:
        await client.post(f"{URL}/{id}/resolve", json={})
    await let_the_worker_work(config)

    assert (waiting, removing) == (["Scheduled"] * 2, ["Open"] * 2)
    assert [(await get(client, id))["status"] for id in gains] == ["Open"] * 2


async def test_earlier_of_two_requests_is_canceled_instead_of_waiting_if_the_rule_came_later(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company, bank = await a_company_with_a_bank(client, db)
    await commit(client, company, enabled=False)
    before, after = [dict(zip((company.ledger, bank), groups, strict=True)) for groups in _ROLES]
    requests = await a_move(client, db, config, company, before, after)
    assert (requests["Officers"], requests["Preparers"]) == (requests["Approvers"], requests["Releasers"])

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)

    numbered = [await get(client, requests[group]) for group in _ROLES[0]]
    earlier = min(numbered, key=lambda each: each["number"])
    assert earlier["status"] == "Canceled"


async def match(client: httpx2.AsyncClient, db: Db, username: str, identity_id: UUID) -> None:
    id = await fetch_value(db, "SELECT id FROM accounts WHERE username = %(username)s", username=username)
    answer = await client.put(f"/api/accounts/{id}/match", json={"identityId": str(identity_id)})
    assert answer.status_code == 200, answer.text


async def test_request_is_canceled_when_its_account_matches_another_person(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "shared", finn, run=company.run)
    made = (await ask(client, company, finn, "Approvers")).json()
    assert (await approve(client, made["id"]))["status"] == "Open"

    await match(client, db, "shared", company.noor)
    await let_the_worker_work(config)

    after = await get(client, made["id"])
    assert after["status"] == "Canceled"
    assert after["comments"][-1]["content"].startswith("Account shared belongs to another identity now")


async def test_request_about_a_group_is_checked_when_an_account_in_it_matches_another_person(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "shared", finn, groups=("Temps",), run=company.run)
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    assert (await approve(client, given["id"]))["status"] == "Open"

    await match(client, db, "shared", company.noor)
    await let_the_worker_work(config)

    assert (await get(client, given["id"]))["status"] == "Canceled"


async def test_completed_request_counts_for_the_person_whom_its_account_matches_now(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    finn, gina = await an_identity(db, "Finn", "Santos"), await an_identity(db, "Gina", "Green")
    await an_account(db, company.ledger, "shared", finn, run=company.run)
    made = (await ask(client, company, finn, "Approvers")).json()
    await approve(client, made["id"])
    await client.post(f"{URL}/{made['id']}/resolve", json={})

    await match(client, db, "shared", gina)

    assert (await ask(client, company, gina, "Officers")).status_code == 400


async def test_access_is_checked_after_an_import_that_shows_that_the_removal_was_not_made(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    mover = await a_mover(client, db, config, "Block")
    await client.post(f"{URL}/{mover.removal}/resolve", json={})
    await approve(client, mover.gain)
    await let_the_worker_work(config)
    assert (await get(client, mover.gain))["status"] == "Open"

    await finish_again(db, await a_finished_import(db, mover.company.ledger, "Memberships"))
    await let_the_worker_work(config)

    assert (await get(client, mover.gain))["status"] == "Canceled"


async def test_completed_request_is_still_treated_as_open_after_a_rollback(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    finn = await an_identity(db, "Finn", "Santos")
    await an_account(db, company.ledger, "finn", finn, run=company.run)
    made = (await ask(client, company, finn, "Officers")).json()
    await approve(client, made["id"])
    await client.post(f"{URL}/{made['id']}/resolve", json={})
    number = await a_finished_import(db, company.ledger, "Memberships")
    await execute(
        db,
        """INSERT INTO import_runs (import_id, rollback_to)
           SELECT id, %(earlier)s FROM application_imports WHERE number = %(number)s""",
        number=number,
        earlier=company.run,
    )

    assert (await ask(client, company, finn, "Approvers")).status_code == 400


async def test_worker_locks_groups_before_people(client: httpx2.AsyncClient, db: Db, clean_database: str) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    person = (await ask(client, company, company.noor, "Juniors")).json()
    group = (await client.post(URL, json=to_group(company, "Temps", "Prepare run"))).json()
    for id, status in ((person["id"], "Scheduled"), (group["id"], "Snoozed")):
        await approve(client, id)
        await execute(
            db,
            """UPDATE access_requests SET status = %(status)s, scheduled_start = now(), snoozed_until = now()
               WHERE id = %(id)s""",
            id=id,
            status=status,
        )

    options = session_options(BASE_URL)
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True, options=options) as other:
        async with db.transaction():
            await fetch_value(db, "SELECT take_turns_of_nesting(false)")
            working = asyncio.create_task(_move_due(other))
            waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
            while not working.done() and not await fetch_value(db, waits):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await execute(db, "SELECT take_turns('person', %(people)s)", people=[str(company.noor)])
        await working

    assert [(await get(client, each["id"]))["status"] for each in (person, group)] == ["Open"] * 2


async def _move_due(db: Db) -> None:
    async with db.transaction():
        await move_due(db, datetime.now(UTC))


async def test_requests_of_an_event_are_split_into_removals_and_the_rest(client: httpx2.AsyncClient, db: Db) -> None:
    company, bank = await a_company_with_a_bank(client, db)

    def of(application_id: UUID, username: str, **wanted: Access) -> NewRequest:
        return NewRequest(
            action=RequestAction.CHANGE,
            application_id=application_id,
            identity_id=company.noor,
            target_name=username,
            privileges=[
                NewPrivilege(header="Group", permission=group, requested_access=access)
                for group, access in wanted.items()
            ],
        )

    # Readers, Writers and Archive give no duty.
    harmless = {"Readers": Access.NONE, "Writers": Access.GRANT, "Archive": Access.DENY}
    ledger = of(company.ledger, "noor", Officers=Access.NONE, Approvers=Access.GRANT, **harmless)
    async with db.transaction():
        allowed = await allowed_of_event(db, [ledger, of(bank, "noorb", Preparers=Access.NONE, Releasers=Access.GRANT)])

    assert [[each.permission for each in new.privileges] for new in allowed.requests] == [
        ["Officers", "Readers", "Archive"],
        ["Approvers", "Writers"],
        ["Preparers"],
        ["Releasers"],
    ]
    assert allowed.left_out == []
