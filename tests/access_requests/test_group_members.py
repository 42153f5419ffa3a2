"""Test that members of a group do not approve requests about the group."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.permitted import IN_GROUP, REVIEWER_IN_GROUP
from rolecall.console.actions import set_role
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_parties import bearer, is_in_queue, respond
from tests.access_requests.test_rechecking import get
from tests.access_requests.test_separation import URL, approvers
from tests.builders import an_identity
from tests.duties.separating import Company, a_company, join, leave
from tests.holdings import an_account
from tests.nesting import give, some_groups
from tests.stand_ins.office import approve
from tests.stand_ins.standing_in import a_stand_in
from tests.working import let_the_worker_work


class Team:
    """Interns are in Temps. Carla owns the application, Una is an administrator."""

    def __init__(self, company: Company, carla: UUID, una: UUID) -> None:
        self.company, self.carla, self.una = company, carla, una

    async def ask(self, client: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> dict[str, Any]:
        answer = await client.post(URL, json=to_group(self.company, "Temps", "Export run"), headers=headers)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made


@pytest.fixture
async def team(db: Db) -> Team:
    company = await a_company(db)
    una = await an_identity(db, "Una", "Vale")
    await set_role(db, una, Role.ADMINISTRATOR)
    await some_groups(db, company.ledger, {"Temps": "", "Interns": "Temps"}, company.run)
    await give(db, company.ledger, "Approvers", "Export run", company.run, risk="High")
    carla = await fetch_value(db, "SELECT owner_id FROM applications WHERE id = %(id)s", id=company.ledger)
    return Team(company, carla, una)


@pytest.mark.parametrize("group", ["Temps", "Interns"])
async def test_owner_in_the_group_is_not_asked_to_approve(
    client: httpx2.AsyncClient, db: Db, team: Team, group: str
) -> None:
    assert "Carla Abadi" in approvers(await team.ask(client))
    await an_account(db, team.company.ledger, "carla", team.carla, groups=(group,), run=team.company.run)

    made = await team.ask(client)
    reasons = [rule["reason"] for each in made["requirements"] for rule in each["rules"]]
    assert set(approvers(made)) == {"Una Vale"}
    assert any(reason.endswith("because the application owner is in the group") for reason in reasons)


async def test_member_does_not_approve_in_person_by_token_or_by_a_stand_in(
    client: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    sam = await an_identity(db, "Sam", "Else")
    await set_role(db, team.carla, Role.OPERATOR)
    headers = await bearer(db, team.carla)
    made = await team.ask(client)
    assert await is_in_queue(db, team.carla, made["id"])
    await an_account(db, team.company.ledger, "carla", team.carla, groups=("Temps",), run=team.company.run)
    await a_stand_in(db, team.carla, sam)

    assert not await is_in_queue(db, team.carla, made["id"])
    assert await approve(db, team.carla, made["id"], team.carla) == IN_GROUP
    assert await approve(db, sam, made["id"], team.carla) == REVIEWER_IN_GROUP
    assert (await respond(client, made["id"], team.carla)).json()["message"] == REVIEWER_IN_GROUP
    assert (await respond(client, made["id"], team.carla, headers)).status_code == 409


async def test_member_does_not_stand_in_for_a_reviewer(client: httpx2.AsyncClient, db: Db, team: Team) -> None:
    await a_stand_in(db, team.carla, team.company.noor)
    made = await team.ask(client)
    await join(db, team.company, "noor", "Interns")

    assert await approve(db, team.company.noor, made["id"], team.carla) == IN_GROUP
    assert (await respond(client, made["id"], team.carla)).status_code == 200


async def test_administrators_are_asked_if_the_owner_joins_the_group_later(
    client: httpx2.AsyncClient, db: Db, team: Team, config: Config
) -> None:
    made = await team.ask(client)
    await execute(db, "DELETE FROM responses WHERE reviewer_id = %(una)s", una=team.una)
    await an_account(db, team.company.ledger, "carla", team.carla, groups=("Temps",), run=team.company.run)
    await let_the_worker_work(config, datetime.now(UTC))

    assert "Una Vale" in approvers(await get(client, made["id"]))


async def test_administrators_in_the_group_approve_only_if_all_of_them_are_in_it(
    client: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    rosa = await an_identity(db, "Rosa", "Far")
    await set_role(db, rosa, Role.ADMINISTRATOR)
    await an_account(db, team.company.ledger, "una", team.una, groups=("Temps",), run=team.company.run)
    before = await team.ask(client)
    assert set(approvers(before)) == {"Rosa Far", "Carla Abadi"}

    await an_account(db, team.company.ledger, "rosa", rosa, groups=("Temps",), run=team.company.run)
    after = await team.ask(client)
    assert set(approvers(after)) == {"Rosa Far", "Una Vale", "Carla Abadi"}
    assert (await respond(client, after["id"], team.una)).status_code == 200

    # Rosa made the request, so only Una can decide.
    by_rosa = await team.ask(client, await bearer(db, rosa))
    assert set(approvers(by_rosa)) == {"Una Vale", "Carla Abadi"}


async def test_people_who_left_the_group_approve_again(client: httpx2.AsyncClient, db: Db, team: Team) -> None:
    await an_account(db, team.company.ledger, "carla", team.carla, groups=("Temps",), run=team.company.run)
    await leave(db, team.company, "carla", "Temps")
    assert "Carla Abadi" in approvers(await team.ask(client))
