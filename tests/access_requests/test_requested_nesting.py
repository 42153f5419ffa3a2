"""Test access that several open requests give together: nested groups, their permissions and their new members."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.separation import conflicts_created
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.settings.policy import RequestAction
from tests.access_requests.test_evading_separation import second_of_two, to_group
from tests.access_requests.test_rechecking import approve, commit, get
from tests.access_requests.test_separation import BOTH, URL, ask, conflicts
from tests.builders import an_application
from tests.duties.separating import Company, a_company, finish_again, join, leave
from tests.holdings import an_account
from tests.nesting import some_groups
from tests.working import let_the_worker_work

ORDERS = [(0, 1, 2, 3), (3, 2, 1, 0), (3, 0, 2, 1), (1, 3, 0, 2)]


def nested(company: Company, group: str, parent: str) -> dict[str, Any]:
    privileges = [{"header": "Group", "permission": parent}]
    return {"action": "Add", "applicationId": str(company.ledger), "group": group, "privileges": privileges}


def joining(company: Company, group: str) -> dict[str, Any]:
    privileges = [{"header": "Group", "permission": group}]
    target = {"applicationId": str(company.ledger), "identityId": str(company.noor)}
    return {"action": "Add", **target, "privileges": privileges}


async def statuses(client: httpx2.AsyncClient, *bodies: dict[str, Any]) -> list[int]:
    return [(await client.post(URL, json=body)).status_code for body in bodies]


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
async def test_last_of_three_requests_is_refused_in_every_order(
    client: httpx2.AsyncClient, db: Db, order: Sequence[int]
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": ""}, company.run)
    chain = to_group(company, "Temps", "Release run"), nested(company, "Interns", "Temps"), joining(company, "Interns")

    assert await statuses(client, *(chain[place] for place in order)) == [201, 201, 400]


@pytest.mark.parametrize("order", ORDERS, ids=str)
async def test_requested_and_imported_nesting_are_followed_together(
    client: httpx2.AsyncClient, db: Db, order: Sequence[int]
) -> None:
    company = await a_company(db, response="Block")
    groups = {"Top": "", "Upper": "Top", "Middle": "", "Lower": "Middle", "Bottom": ""}
    await some_groups(db, company.ledger, groups, company.run)
    await finish_again(db, company.run)
    chain = [
        to_group(company, "Top", "Release run"),
        nested(company, "Middle", "Upper"),
        nested(company, "Bottom", "Lower"),
        joining(company, "Bottom"),
    ]

    assert await statuses(client, *(chain[place] for place in order)) == [201, 201, 201, 400]


@pytest.mark.parametrize("order", ORDERS, ids=str)
async def test_conflict_is_found_despite_a_cycle_of_requested_nesting(
    client: httpx2.AsyncClient, db: Db, order: Sequence[int]
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": ""}, company.run)
    chain = [
        to_group(company, "Temps", "Release run"),
        nested(company, "Interns", "Temps"),
        nested(company, "Temps", "Interns"),
        joining(company, "Interns"),
    ]
    found = await statuses(client, *(chain[place] for place in order))

    # The conflict does not need the nesting of Temps in Interns.
    needed = [status for place, status in zip(order, found, strict=True) if place != 2]
    assert (needed, found[order.index(2)]) == ([201, 201, 400], 201)


async def test_membership_waits_for_a_request_about_a_group_two_steps_above(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": ""}, company.run)
    assert await statuses(client, nested(company, "Interns", "Temps")) == [201]

    above = to_group(company, "Temps", "Release run")

    assert (await second_of_two(client, db, above, joining(company, "Interns"))).status_code == 400


async def test_request_about_a_group_waits_for_a_membership_two_steps_below(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": "", "Interns": ""}, company.run)
    assert await statuses(client, nested(company, "Interns", "Temps")) == [201]

    above = to_group(company, "Temps", "Release run")

    assert (await second_of_two(client, db, joining(company, "Interns"), above)).status_code == 400


async def test_group_request_is_checked_only_for_people_in_that_group(client: httpx2.AsyncClient, db: Db) -> None:
    """Test an account without a person, a former member, and a group of the same name in another application."""
    company = await a_company(db, response="Block")
    bank = await an_application(db, "Finance Bank")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await an_account(db, company.ledger, "orphan", None, groups=("Temps",), run=company.run)
    await join(db, company, "noor", "Temps")
    await leave(db, company, "noor", "Temps")
    await some_groups(db, bank, {"Temps": ""})
    temps = {
        "action": "Add",
        "identityId": str(company.noor),
        "privileges": [{"header": "Group", "permission": "Temps"}],
    }
    elsewhere = await client.post(URL, json={**temps, "applicationId": str(bank)})
    assert elsewhere.status_code == 201, elsewhere.text

    both = [{"header": "Wires", "permission": name} for name in ("Prepare run", "Release run")]
    allowed = await client.post(URL, json={**to_group(company, "Temps", "Release run"), "privileges": both})
    refused = await client.post(URL, json={**temps, "applicationId": str(company.ledger)})

    assert (allowed.status_code, refused.status_code) == (201, 400), allowed.text


async def test_permission_in_a_section_is_no_membership_of_the_group_with_its_name(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    assert await statuses(client, to_group(company, "Temps", "Release run")) == [201]
    sections = ("Forms", "")
    new = NewRequest(
        action=RequestAction.ADD,
        application_id=company.ledger,
        identity_id=company.noor,
        privileges=[NewPrivilege(header="Group", section=section, permission="Temps") for section in sections],
    )

    (found,) = await conflicts_created(db, [new])

    assert [[access.section for access in each.gains] for each in found] == [[""]]


async def test_membership_is_not_checked_with_what_a_later_request_gives_its_group(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    member = (await ask(client, company, company.noor, "Temps")).json()
    given = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()

    approved = await approve(client, member["id"])
    await commit(client, company, description="Changed")
    await let_the_worker_work(config)

    assert [await conflicts(client, each) for each in (member, given)] == [[], [("Approve", BOTH)]]
    assert (approved["status"], (await get(client, member["id"]))["status"]) == ("Open", "Open")
