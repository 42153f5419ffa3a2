"""Test joiners, leavers, movers and leaves over HTTP, from the event to the import that verifies the access."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from tests.application_imports.running import Files, Imports
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
REQUESTS = "/api/access-requests"
FILES = [
    {"name": "Users", "content": "users"},
    {"name": "Groups", "content": "groups", "isOptional": True},
    {"name": "Memberships", "content": "memberships", "isOptional": True},
]


def day(month: int, number: int, year: int = 2026, hour: int = 1) -> datetime:
    return datetime(year, month, number, hour, tzinfo=UTC)


class Company:
    """A company that is used over HTTP, with a method for each step: events, requests and imports."""

    def __init__(self, client: httpx2.AsyncClient, config: Config) -> None:
        self.client, self.config, self.imports = client, config, Imports(client, config)

    async def post(self, path: str, status: int = 200, **body: Any) -> Any:
        answer = await self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path: str, **params: Any) -> Any:
        answer = await self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def application(self, name: str, **fields: Any) -> str:
        connector = {"name": "Files", "vendor": "Rolecall", "files": FILES}
        made = await self.post("/api/applications", 201, name=name, connector=connector, **fields)
        return str(made["id"])

    async def model(self, name: str, department: str, *access: tuple[str, Sequence[str]]) -> None:
        made = await self.post(
            "/api/access-models",
            201,
            name=name,
            conditions=[[{"field": "department", "operator": "is", "value": department}]],
            access=[{"applicationId": id, "groups": list(groups)} for id, groups in access],
        )
        await self.post(f"/api/access-models/{made['id']}/commit")

    async def employee(self, first: str, last: str, **fields: Any) -> str:
        """Create a person with an onboarding that takes effect today."""
        event = await created(
            self.client,
            "onboard",
            identity={"firstName": first, "lastName": last, **fields},
            effectiveDate=clock.now().date().isoformat(),
        )
        await self.work(clock.now())
        return str(event["affectedIdentity"]["id"])

    async def holds(self, application: str, accounts: Mapping[str, tuple[str, str, Sequence[str]]]) -> int:
        """Import these accounts (username: e-mail, active flag, groups) and `root`; return the import number."""
        accounts = {**accounts, "root": ("", "yes", ["Administrators"])}
        users = [f"{name},{email},{active}" for name, (email, active, _) in accounts.items()]
        members = [f"{name},{group}" for name, (_, _, groups) in accounts.items() for group in groups]
        files: Files = {
            "Users": "\n".join(["Username,Email,Active", *users, ""]),
            "Memberships": "\n".join(["Username,Group", *members, ""]),
        }
        run = await self.imports.upload(UUID(application), files)
        await self.work()
        ended = await self.get(f"/api/application-imports/{run['id']}")
        assert ended["status"] == "Finished", ended["log"]
        return int(ended["number"])

    async def lists(self, application: str, *groups: str) -> None:
        """Import groups without members, so that the catalogue contains the names that models use."""
        files: Files = {"Users": "Username\nroot\n", "Groups": "\n".join(["Group", *groups, ""])}
        await self.imports.finish(UUID(application), files)

    async def work(self, at: datetime | None = None) -> None:
        await let_the_worker_work(self.config, at)

    async def event(self, event: Any) -> Any:
        return await self.get(f"{EVENTS}/{event['id']}")


@pytest.fixture
def company(client: httpx2.AsyncClient, config: Config) -> Company:
    clock.travel_to(OCTOBER)
    return Company(client, config)


def statuses(event: Any) -> list[str]:
    return [event["status"], *(stage["status"] for stage in event["stages"])]


def requests(event: Any, stage: int = 0) -> list[Any]:
    return list(event["stages"][stage]["accessRequests"])


def summarized(event: Any, stage: int = 0) -> list[tuple[str, str, str, str]]:
    return [
        (
            request["action"],
            request["target"]["application"]["name"],
            request["status"],
            str(request["scheduledStart"])[:10],
        )
        for request in requests(event, stage)
    ]


def privileges(detail: Any) -> list[tuple[str, str, str]]:
    return [
        (p["permission"]["permission"], p["initialAccess"], p["requestedAccess"])
        for p in detail["target"]["privileges"]
    ]


async def test_joiner_gets_the_access_of_three_models_in_two_applications(company: Company) -> None:
    owner = await company.employee("Olive", "Owner")
    boss = await company.employee("Mary", "Somerville")
    ledger = await company.application("Ledger", priority="High", ownerId=owner)
    wiki = await company.application("Wiki")
    await company.lists(ledger, "Posters", "Closers", "Auditors")
    await company.lists(wiki, "Readers", "Finance")
    await company.model("Everybody", "Finance", (wiki, ["Readers"]))
    await company.model("Clerks", "Finance", (ledger, ["Posters"]), (wiki, ["Finance"]))
    await company.model("Closers", "Finance", (ledger, ["Closers"]))
    await company.model("Lawyers", "Legal", (ledger, ["Auditors"]))
    joiner = {"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "department": "Finance"}

    event = await created(
        company.client, "onboard", identity=joiner | {"supervisorId": boss}, effectiveDate="2026-11-02"
    )
    ada = event["affectedIdentity"]["id"]
    await company.work(day(10, 26))

    event = await company.event(event)
    assert statuses(event) == ["Pending", "Open", "Scheduled", "Scheduled"]
    assert summarized(event) == [("Add", "Ledger", "Pending", "2026-11-02"), ("Add", "Wiki", "Pending", "2026-11-02")]
    first, second = [await company.get(f"{REQUESTS}/{request['id']}") for request in requests(event)]
    assert first["target"]["name"] == "ada@example.com"
    assert privileges(first) == [("Closers", "None", "Grant"), ("Posters", "None", "Grant")]
    assert privileges(second) == [("Finance", "None", "Grant"), ("Readers", "None", "Grant")]
    assert [(model["name"], model["willBeInEffect"]) for model in first["accessModels"]] == [
        ("Clerks", True),
        ("Closers", True),
    ]

    for request in (first, second):
        await company.post(f"{REQUESTS}/{request['id']}/respond", type="Approve", response="Approved", reviewerId=boss)
    await company.work()
    event = await company.event(event)
    assert statuses(event) == ["Scheduled", "Completed", "Scheduled", "Scheduled"]
    assert event["stages"][0]["completedBy"]["name"] == "API Token - tests"

    await company.work(day(11, 2))
    event = await company.event(event)
    assert statuses(event) == ["Open", "Completed", "Open", "Scheduled"]
    for request in requests(event):
        await company.post(f"{REQUESTS}/{request['id']}/resolve")
    await company.work()
    event = await company.event(event)
    assert [status for _, _, status, _ in summarized(event)] == ["Resolved", "Completed"]
    assert statuses(event) == ["Resolved", "Completed", "Completed", "Open"]

    # The first of two imports lacks a group; the second shows everything as requested.
    await company.holds(ledger, {"ada": ("ada@example.com", "yes", ["Posters"])})
    reopened = await company.get(f"{REQUESTS}/{first['id']}")
    assert (reopened["status"], reopened["activity"][-1]["action"]) == ("Open", "Reopened")
    assert reopened["activity"][-1]["content"].endswith("ada@example.com does not have Group Closers")
    await company.post(f"{REQUESTS}/{first['id']}/resolve")
    clock.travel_to(day(11, 3))
    number = await company.holds(ledger, {"ada": ("ada@example.com", "yes", ["Closers", "Posters"])})

    proved = await company.get(f"{REQUESTS}/{first['id']}")
    assert proved["status"] == "Completed"
    assert (
        proved["activity"][-1]["content"] == f"Import {number} (users.csv, memberships.csv) shows the requested access"
    )
    event = await company.event(event)
    assert statuses(event) == ["Completed", "Completed", "Completed", "Completed"]
    assert event["stages"][2]["completedBy"]["name"] == "System"

    access = await company.get(f"/api/identities/{ada}/access")
    [there] = access["applications"]
    assert there["application"]["name"] == "Ledger"
    [account] = there["accounts"]
    assert (account["username"], [entry["permission"] for entry in account["access"]]) == (
        "ada",
        ["Closers", "Posters"],
    )
    why = account["access"][0]["why"]
    assert why["import"]["number"] == number
    assert [(r["number"], [p["name"] for p in r["approvedBy"]]) for r in why["accessRequests"]] == [
        (proved["number"], ["Mary Somerville"])
    ]
    assert [model["name"] for model in why["accessModels"]] == ["Closers"]


async def test_leaver_loses_forty_accounts(company: Company) -> None:
    ada = await company.employee("Ada", "Lovelace", email="ada@example.com")
    mary = await company.employee("Mary", "Somerville", email="mary@example.com")
    applications = [await company.application(f"Application {n}", priority="Critical") for n in range(2)]
    hers = {f"ada{n}": ("ada@example.com", "yes" if n else "no", ["Users"]) for n in range(20)}
    others = {f"mary{n}": ("mary@example.com", "yes", ["Users"]) for n in range(2)}
    for application in applications:
        await company.holds(application, hers | others)

    event = await created(company.client, "offboard", identityId=ada, effectiveDate="2026-11-30")
    await company.work(day(11, 23))
    event = await company.event(event)
    assert statuses(event) == ["Scheduled", "Completed", "Scheduled", "Scheduled"]
    assert len(requests(event)) == 40
    assert {(action, status) for action, _, status, _ in summarized(event)} == {("Remove", "Scheduled")}

    await company.work(day(11, 30))
    event = await company.event(event)
    assert statuses(event) == ["Open", "Completed", "Open", "Scheduled"]
    assert event["affectedIdentity"]["status"] == "Disabled"
    assert event["affectedIdentity"]["inactivatedDate"] == "2026-11-30T00:00:00Z"
    for request in requests(event):
        await company.post(f"{REQUESTS}/{request['id']}/resolve")
    await company.work()
    event = await company.event(event)
    assert statuses(event) == ["Resolved", "Completed", "Completed", "Open"]

    # The last application still has an account: its request is reopened, the others are verified.
    clock.travel_to(day(12, 1))
    await company.holds(applications[0], others)
    await company.holds(applications[1], others | {"ada7": ("ada@example.com", "yes", ["Users"])})
    event = await company.event(event)
    assert statuses(event) == ["Resolved", "Completed", "Completed", "Open"]
    left = [request for request in requests(event) if request["status"] != "Completed"]
    assert [(request["target"]["name"], request["status"]) for request in left] == [("ada7", "Open")]
    await company.post(f"{REQUESTS}/{left[0]['id']}/resolve")
    clock.travel_to(day(12, 2))
    await company.holds(applications[1], others)

    assert statuses(await company.event(event)) == ["Completed", "Completed", "Completed", "Completed"]
    assert (await company.get(f"/api/identities/{ada}/access"))["applications"] == []
    then = await company.get(f"/api/identities/{ada}/access", asOf="2026-11-29")
    assert [len(there["accounts"]) for there in then["applications"]] == [20, 20]
    assert len((await company.get(f"/api/identities/{mary}/access"))["applications"]) == 2


async def test_mover_keeps_both_roles_until_the_end_date(company: Company) -> None:
    boss, next_boss = await company.employee("Mary", "Somerville"), await company.employee("Grace", "Hopper")
    ada = await company.employee("Ada", "Lovelace", email="ada@example.com", department="Finance", supervisorId=boss)
    ledger, wiki, cases = [await company.application(name, priority="High") for name in ("Ledger", "Wiki", "Cases")]
    await company.lists(wiki, "Everyone", "Finance", "Legal")
    await company.lists(cases, "Readers")
    await company.model("Clerks", "Finance", (ledger, ["Posters"]), (wiki, ["Everyone", "Finance"]))
    await company.model("Lawyers", "Legal", (cases, ["Readers"]), (wiki, ["Everyone", "Legal"]))
    await company.holds(ledger, {"ada": ("ada@example.com", "yes", ["Posters"])})
    await company.holds(wiki, {"ada": ("ada@example.com", "yes", ["Everyone", "Finance"])})

    event = await created(
        company.client,
        "role-transition",
        identityId=ada,
        effectiveDate="2026-11-02",
        endDate="2026-12-01",
        identity={"department": "Legal", "supervisorId": next_boss, "title": "Counsel"},
    )
    await company.work(day(10, 26))
    event = await company.event(event)
    assert statuses(event) == ["Pending", "Open", "Scheduled"]
    assert sorted(summarized(event)) == [
        ("Add", "Cases", "Pending", "2026-11-02"),
        ("Change", "Wiki", "Pending", "2026-11-02"),
        ("Change", "Wiki", "Pending", "2026-12-01"),
        ("Remove", "Ledger", "Scheduled", "2026-12-01"),
    ]
    details = {
        (request["action"], str(request["scheduledStart"])[:10], request["target"]["application"]["name"]): privileges(
            await company.get(f"{REQUESTS}/{request['id']}")
        )
        for request in requests(event)
    }
    assert details == {
        ("Add", "2026-11-02", "Cases"): [("Readers", "None", "Grant")],
        ("Change", "2026-11-02", "Wiki"): [("Legal", "None", "Grant")],
        ("Change", "2026-12-01", "Wiki"): [("Finance", "Grant", "None")],
        ("Remove", "2026-12-01", "Ledger"): [("Posters", "Grant", "None")],
    }
    for request in requests(event):
        if request["status"] == "Pending":
            await company.post(
                f"{REQUESTS}/{request['id']}/respond", type="Approve", response="Approved", reviewerId=boss
            )
    # Before the effective date the identity is unchanged, and the event shows the new fields.
    assert (await company.get(f"/api/identities/{ada}"))["department"] == "Finance"
    assert event["affectedIdentity"]["department"] == "Legal"
    assert event["affectedIdentity"]["supervisorName"] == "Hopper, Grace"

    await company.work(day(11, 2))
    identity = await company.get(f"/api/identities/{ada}")
    assert (identity["department"], identity["title"], identity["supervisorName"]) == (
        "Legal",
        "Counsel",
        "Hopper, Grace",
    )
    event = await company.event(event)
    assert statuses(event) == ["Open", "Completed", "Open"]
    assert sorted(summarized(event)) == [
        ("Add", "Cases", "Open", "2026-11-02"),
        ("Change", "Wiki", "Open", "2026-11-02"),
        ("Change", "Wiki", "Scheduled", "2026-12-01"),
        ("Remove", "Ledger", "Scheduled", "2026-12-01"),
    ]
    await resolve_open(company, event)
    await company.holds(cases, {"alovelace": ("ada@example.com", "yes", ["Readers"])})
    await company.holds(wiki, {"ada": ("ada@example.com", "yes", ["Everyone", "Finance", "Legal"])})
    event = await company.event(event)
    assert [status for *_, status, _ in sorted(summarized(event))] == [
        "Completed",
        "Completed",
        "Scheduled",
        "Scheduled",
    ]
    # The roles overlap: the Transition stage stays open until the old access is removed.
    assert statuses(event) == ["Open", "Completed", "Open"]

    await company.work(day(12, 1))
    await resolve_open(company, await company.event(event))
    await company.holds(ledger, {})
    await company.holds(wiki, {"ada": ("ada@example.com", "yes", ["Everyone", "Legal"])})
    event = await company.event(event)
    assert statuses(event) == ["Completed", "Completed", "Completed"]
    assert event["affectedIdentity"] == await company.get(f"/api/identities/{ada}")


async def resolve_open(company: Company, event: Any, stage: int = 0) -> None:
    for request in requests(event, stage):
        if request["status"] == "Open":
            await company.post(f"{REQUESTS}/{request['id']}/resolve")


async def test_end_of_a_leave_restores_only_accounts_that_still_exist(company: Company) -> None:
    ada = await company.employee("Ada", "Lovelace", email="ada@example.com")
    ledger, mail = await company.application("Ledger", priority="High"), await company.application("Mail")
    await company.holds(ledger, {"ada": ("ada@example.com", "yes", ["Posters"])})
    await company.holds(mail, {"ada@mail": ("ada@example.com", "yes", ["Users"])})

    event = await created(company.client, "leave-of-absence", identityId=ada, effectiveDate="2026-11-02")
    await company.work(day(11, 2))
    event = await company.event(event)
    assert statuses(event) == ["Open", "Completed", "Open", "Snoozed"]
    assert summarized(event) == [("Suspend", "Ledger", "Open", "2026-11-02"), ("Suspend", "Mail", "Open", "2026-11-02")]
    await resolve_open(company, event)
    await company.holds(ledger, {"ada": ("ada@example.com", "no", ["Posters"])})
    event = await company.event(event)
    assert statuses(event) == ["Snoozed", "Completed", "Completed", "Snoozed"]
    assert (await company.get(f"/api/identities/{ada}"))["status"] == "Active"

    clock.travel_to(day(1, 15, 2027))
    await company.holds(mail, {})
    event = await company.post(f"{EVENTS}/{event['id']}/return-date", endDate="2027-02-01")
    assert statuses(event) == ["Scheduled", "Completed", "Completed", "Scheduled"]
    assert event["neededUntil"] == "2027-02-01T00:00:00Z"

    await company.work(day(2, 1, 2027))
    event = await company.event(event)
    assert statuses(event) == ["Open", "Completed", "Completed", "Open"]
    assert [(action, name, status) for action, name, status, _ in summarized(event, 2)] == [
        ("Restore", "Ledger", "Open")
    ]
    [restore] = requests(event, 2)
    assert privileges(await company.get(f"{REQUESTS}/{restore['id']}")) == [("Posters", "Grant", "Grant")]
    assert [comment["content"] for comment in event["comments"]] == [
        "ada@mail is not restored: Mail no longer has this account"
    ]
    await resolve_open(company, event, 2)
    await company.holds(ledger, {"ada": ("ada@example.com", "yes", ["Posters"])})

    event = await company.event(event)
    assert statuses(event) == ["Completed", "Completed", "Completed", "Completed"]
    assert event["completedOn"].startswith("2027-02-01")
