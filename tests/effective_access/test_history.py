"""Test that the reasons for access at a past time are the same as those reported at that time."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.access_models import actions as models
from rolecall.access_requests import moving, opening
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts import matching
from rolecall.accounts.model import Access
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.effective_access.queries import access_of
from tests.application_imports.running import Imports
from tests.builders import an_access_model, an_access_request, an_application, an_identity, facts
from tests.holdings import an_account

START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
CLOSE = NewPrivilege(header="Books", permission="Close", requested_access=Access.GRANT)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


@asynccontextmanager
async def written(db: Db, hours: float) -> AsyncIterator[datetime]:
    """Run a transaction `hours` after the start of the test's history; yield its time."""
    async with written_by(db, "history", by_system("history", at(hours))):
        yield at(hours)


async def ledger_with(db: Db, *people: UUID) -> UUID:
    """Create an application in which each person has an account in the group Posters and may close books.

    Requests must be verified, because the application has high priority and an owner.
    """
    owner = await an_identity(db, "Olga", "Owner")
    ledger = await an_application(db, "Ledger", priority="High", ownerId=str(owner))
    for n, person in enumerate(people):
        await an_account(db, ledger, f"user{n}", person, groups=("Posters",))
        if not n:
            await an_account(db, ledger, "keeper", None, permissions=(("Books", "Close", "Grant", "High"),))
        await execute(
            db,
            """INSERT INTO assignments SELECT a.number, p.number, 'Grant', 1, NULL, '' FROM accounts a, permissions p
               WHERE a.username = %(name)s""",
            name=f"user{n}",
        )
    await execute(db, "UPDATE application_imports SET build_end = %(at)s", at=START)
    return ledger


async def committed(db: Db, id: UUID, now: datetime, **changes: Any) -> None:
    await models.change_model(db, str(id), changes, facts(now=now))
    await models.commit_model(db, SYSTEM, str(id), now, allow_unknown=True)


async def why(client: httpx2.AsyncClient, id: UUID, hours: float, permission: str = "Posters") -> tuple[list[Any], ...]:
    """Return the reasons for a permission at this hour: names of models, and numbers of requests."""
    answer = await client.get(f"/api/identities/{id}/access", params={"asOf": at(hours).isoformat()})
    [there] = answer.json()["applications"]
    [entry] = [entry for entry in there["accounts"][0]["access"] if entry["permission"] == permission]
    names = [model["name"] for model in entry["why"]["accessModels"]]
    return names, [request["number"] for request in entry["why"]["accessRequests"]]


async def test_leaver_keeps_reasons_of_earlier_days(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, department="Finance")
    ledger = await ledger_with(db, ada)
    async with written(db, 1) as now:
        id = (await models.create_model(db, _clerks(ledger), facts(now=now))).id
        await models.commit_model(db, SYSTEM, str(id), now, allow_unknown=True)
    async with written(db, 5):
        await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=ada)

    assert [await why(client, ada, hours) for hours in (0.5, 1, 4.9, 5)] == [
        ([], []),
        (["Clerks"], []),
        (["Clerks"], []),
        ([], []),
    ]
    assert await why(client, ada, 700) == ([], [])


def _clerks(application_id: UUID) -> dict[str, Any]:
    conditions = [[{"field": "department", "operator": "is", "value": "Finance"}]]
    access = [{"applicationId": str(application_id), "groups": ["Posters"]}]
    return {"name": "Clerks", "conditions": conditions, "access": access}


async def test_past_access_names_the_model_version_of_that_time(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, department="Finance")
    ledger = await ledger_with(db, ada)
    async with written(db, 1) as now:
        id = (await models.create_model(db, _clerks(ledger), facts(now=now))).id
        await models.commit_model(db, SYSTEM, str(id), now, allow_unknown=True)
    async with written(db, 2) as now:
        await committed(db, id, now, name="Bookkeepers")
    async with written(db, 3) as now:
        await committed(db, id, now, access=[])
    async with written(db, 4) as now:
        await committed(db, id, now, access=_clerks(ledger)["access"])
    async with written(db, 5) as now:
        await committed(db, id, now, enabled=False)

    assert [(await why(client, ada, hours + 0.5))[0] for hours in range(6)] == [
        [], ["Clerks"], ["Bookkeepers"], [], ["Bookkeepers"], [],
    ]  # fmt: skip


async def test_request_explains_access_from_its_resolution_until_another_request_removes_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada = await an_identity(db)
    ledger = await ledger_with(db, ada)
    added = await a_request(db, ledger, ada, "Add", Access.GRANT)
    removed = await a_request(db, ledger, ada, "Remove", Access.NONE)
    for id, hours in ((added, 2), (removed, 8)):
        async with written(db, hours) as now:
            assert await moving.resolve(db, [id], SYSTEM, now) == [id]
    async with written(db, 4) as now:
        assert await moving.verify(db, [added], SYSTEM, now) == [added]

    assert [(await why(client, ada, hours, "Close"))[1] for hours in (1.9, 2, 5, 7.9, 8)] == [[], [1], [1], [1], []]
    # No request explains the membership in Posters.
    assert (await why(client, ada, 5))[1] == []
    answer = await client.get(f"/api/identities/{ada}/access", params={"asOf": at(3).isoformat()})
    [reason] = answer.json()["applications"][0]["accounts"][0]["access"][1]["why"]["accessRequests"]
    assert (reason["resolvedOn"], reason["completedOn"]) == (at(2).strftime("%Y-%m-%dT%H:%M:%SZ"), None)


async def a_request(db: Db, ledger: UUID, identity: UUID, action: str, access: Access) -> UUID:
    """Create an approved request for the permission Close, ready to be resolved."""
    asked = msgspec.structs.replace(CLOSE, requested_access=access)
    async with written(db, 0.1) as now:
        id = await an_access_request(
            db, action, application_id=ledger, identity_id=identity, privileges=[asked], now=now
        )
        await opening.approve(db, [id], SYSTEM, now, "Approved")
    return id


async def test_reopened_request_explains_access_only_while_it_was_resolved(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    added = await a_request(db, await ledger_with(db, ada), ada, "Add", Access.GRANT)
    for hours, move in ((2, moving.resolve), (4, opening.reopen), (6, moving.resolve), (8, moving.cancel)):
        async with written(db, hours) as now:
            assert await move(db, [added], SYSTEM, now) == [added]

    assert [(await why(client, ada, hours, "Close"))[1] for hours in (1, 3, 5, 7, 9)] == [[], [1], [], [1], []]


async def test_request_for_one_account_does_not_explain_another_account(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    ledger = await ledger_with(db, ada, ada)
    request = await an_access_request(
        db, application_id=ledger, identity_id=ada, target_name="user1", privileges=[CLOSE], now=at(1)
    )
    await opening.approve(db, [request], SYSTEM, at(1), "Approved")
    await moving.resolve(db, [request], SYSTEM, at(2))

    [there] = (await client.get(f"/api/identities/{ada}/access")).json()["applications"]

    reasons = {
        account["username"]: [reason["number"] for reason in entry["why"]["accessRequests"]]
        for account in there["accounts"]
        for entry in account["access"]
        if entry["permission"] == "Close"
    }
    assert reasons == {"user0": [], "user1": [1]}


async def test_account_once_matched_to_a_leaver_belongs_to_them_in_the_past(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    ada = await an_identity(db)
    ledger = await an_application(db, "Ledger")
    await Imports(client, config).finish(ledger, {"Users": "Username,Name\nada,Ada Lovelace\n"})
    before = datetime.now(UTC)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=ada)
    await matching.match_changed_identities(db, datetime.now(UTC))

    now = await access_of(db, ada, None)
    then = await access_of(db, ada, before)

    assert now.applications == []
    assert [account.username for there in then.applications for account in there.accounts] == ["ada"]


async def test_pin_applies_to_the_past(client: httpx2.AsyncClient, config: Config, db: Db) -> None:
    ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")
    ledger = await an_application(db, "Ledger")
    await Imports(client, config).finish(ledger, {"Users": "Username,Name\nada,Ada Lovelace\n"})
    before = datetime.now(UTC)
    [account] = (await client.get(f"/api/applications/{ledger}/accounts")).json()["items"]
    await client.put(f"/api/accounts/{account['id']}/match", json={"identityId": str(grace)})

    found = [len((await access_of(db, person, before)).applications) for person in (ada, grace)]

    assert found == [0, 1]


async def test_account_given_to_another_person_belongs_to_the_first_one_in_the_past(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")
    imports, ledger = Imports(client, config), await an_application(db, "Ledger")
    await imports.finish(ledger, {"Users": "Username,Name\ncfo,Ada Lovelace\n"})
    before = datetime.now(UTC)
    await imports.finish(ledger, {"Users": "Username,Name\ncfo,Grace Hopper\n"})

    found = [
        len((await access_of(db, person, moment)).applications) for moment in (before, None) for person in (ada, grace)
    ]

    assert found == [1, 0, 0, 1]


async def test_before_the_first_import_there_is_no_data(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    await ledger_with(db, ada)
    await an_application(db, "Never imported")

    answer = await client.get(f"/api/identities/{ada}/access", params={"asOf": at(-1).isoformat()})
    later = await client.get(f"/api/identities/{ada}/access", params={"asOf": at(1).isoformat()})

    [there] = answer.json()["applications"]
    first = at(0).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (there["application"]["name"], there["accounts"], there["noDataBefore"]) == ("Ledger", [], first)
    assert [found["noDataBefore"] for found in later.json()["applications"]] == [first]


async def test_application_without_the_person_is_listed_only_before_its_first_import(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")
    await ledger_with(db, grace)

    then = await client.get(f"/api/identities/{ada}/access", params={"asOf": at(-1).isoformat()})
    later = await client.get(f"/api/identities/{ada}/access", params={"asOf": at(1).isoformat()})

    assert [there["application"]["name"] for there in then.json()["applications"]] == ["Ledger"]
    assert later.json()["applications"] == []


async def test_as_of_an_import_number_means_the_end_of_that_import(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    await ledger_with(db, ada)
    path = f"/api/identities/{ada}/access"

    first, beyond, before = [await client.get(path, params={"asOf": number}) for number in (1, 99, 0)]

    assert first.json()["asOf"] == at(0).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert beyond.json()["errors"][0]["message"].startswith("No import has the number 99")
    assert [there["accounts"][0]["username"] for there in first.json()["applications"]] == ["user0"]
    assert before.json()["errors"] == [
        {"field": "asOf", "message": "No import with the number 0 or lower has finished; use a higher number"}
    ]


class World:
    """A company that changes every hour, and a naive record of the reasons for all access, to compare with."""

    def __init__(self, db: Db, seed: int) -> None:
        self.db = db
        self.random = random.Random(seed)
        self.people: dict[UUID, dict[str, str]] = {}
        self.models: dict[UUID, dict[str, Any]] = {}
        self.requests: dict[UUID, tuple[int, UUID, bool]] = {}
        self.reasons: list[dict[tuple[UUID, str], tuple[list[str], list[int]]]] = []

    async def begin(self) -> None:
        ids = [await an_identity(self.db, f"Person {n}", department="Finance") for n in range(3)]
        self.people = {id: {"department": "Finance", "status": "Active"} for id in ids}
        self.ledger = await ledger_with(self.db, *ids)
        for name in ("Clerks", "Drones"):
            id = await an_access_model(self.db, name, conditions=[], committed=False)
            self.models[id] = {"name": name, "enabled": False, "department": "", "groups": []}

    async def step(self, hour: int) -> None:
        changes = (self.move_person, self.commit_model, self.make_request, self.move_request, self.move_request)
        change = self.random.choice(changes)
        async with written(self.db, hour) as now:
            await change(now)
        fulfilled = await fetch_rows(
            self.db,
            "SELECT id, resolved_on FROM access_requests WHERE status IN ('Resolved', 'Completed')",
        )
        self.reasons.append(
            {(id, key): self.why(id, key, dict(fulfilled)) for id in self.people for key in ("Posters", "Close")}
        )

    async def move_person(self, now: datetime) -> None:
        id = self.random.choice(list(self.people))
        self.people[id] = {
            "department": self.random.choice(("Finance", "Sales")),
            "status": self.random.choice(("Active", "Active", "Disabled")),
        }
        await execute(
            self.db,
            "UPDATE identities SET department = %(department)s, status = %(status)s WHERE id = %(id)s",
            id=id,
            **self.people[id],
        )

    async def commit_model(self, now: datetime) -> None:
        id = self.random.choice(list(self.models))
        model = self.models[id] = {
            "name": f"{self.models[id]['name'][:6]} {now:%d %H}",
            "enabled": self.random.random() < 0.8,
            "department": self.random.choice(("Finance", "Sales")),
            "groups": self.random.choice((["Posters"], [])),
        }
        condition = {"field": "department", "operator": "is", "value": model["department"]}
        access = [{"applicationId": str(self.ledger), "groups": model["groups"], "permissions": []}]
        await committed(
            self.db, id, now, name=model["name"], enabled=model["enabled"], conditions=[[condition]], access=access
        )

    async def make_request(self, now: datetime) -> None:
        identity, gives = self.random.choice(list(self.people)), self.random.random() < 0.6
        action, access = ("Add", Access.GRANT) if gives else ("Remove", Access.NONE)
        asked = msgspec.structs.replace(CLOSE, requested_access=access)
        id = await an_access_request(
            self.db, action, application_id=self.ledger, identity_id=identity, privileges=[asked], now=now
        )
        await opening.approve(self.db, [id], SYSTEM, now, "Approved")
        self.requests[id] = (len(self.requests) + 1, identity, gives)

    async def move_request(self, now: datetime) -> None:
        if not self.requests:
            return
        moves = (moving.resolve, moving.resolve, moving.resolve, moving.verify, opening.reopen, moving.cancel)
        some = self.random.sample(list(self.requests), min(2, len(self.requests)))
        await self.random.choice(moves)(self.db, some, SYSTEM, now)

    def why(self, id: UUID, key: str, fulfilled: dict[UUID, datetime]) -> tuple[list[str], list[int]]:
        if key == "Posters":
            return sorted(
                model["name"]
                for model in self.models.values()
                if model["enabled"]
                and model["groups"]
                and self.people[id] == {"department": model["department"], "status": "Active"}
            ), []
        changes = sorted(
            (fulfilled[request], number, gives)
            for request, (number, identity, gives) in self.requests.items()
            if identity == id and request in fulfilled
        )
        standing: list[int] = []
        for _, number, gives in changes:
            standing = [*standing, number] if gives else []
        return [], sorted(standing)

    async def found(self, id: UUID, moment: datetime) -> dict[str, tuple[list[str], list[int]]]:
        [there] = (await access_of(self.db, id, moment)).applications
        return {
            entry.permission: (
                sorted(model.name for model in entry.why.access_models),
                sorted(request.number for request in entry.why.access_requests),
            )
            for entry in there.accounts[0].access
        }


@pytest.mark.parametrize("seed", range(4))
async def test_reasons_at_a_past_moment_equal_those_recorded_then(db: Db, seed: int) -> None:
    world = World(db, seed)
    await world.begin()
    for hour in range(1, 61):
        await world.step(hour)

    for hour in world.random.sample(range(1, 61), 20):
        for id in world.people:
            expected = {key: reasons for (person, key), reasons in world.reasons[hour - 1].items() if person == id}
            assert await world.found(id, at(hour + world.random.random() * 0.9)) == expected, (hour, id)
    assert any(numbers for reasons in world.reasons for _, numbers in reasons.values())
    assert any(names for reasons in world.reasons for names, _ in reasons.values())
