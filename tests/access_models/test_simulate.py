from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.db import Db
from tests.builders import an_access_model, an_application, an_identity

PATH = "/api/access-models"


def in_department(name: str) -> list[list[dict[str, str]]]:
    return [[{"field": "department", "operator": "is", "value": name}]]


def gives(application: UUID, *permissions: str, group: str | None = None, access: str = "Grant") -> dict[str, Any]:
    return {
        "applicationId": str(application),
        "groups": [group] if group else [],
        "permissions": [{"permission": name, "access": access} for name in permissions],
    }


async def simulated(client: httpx2.AsyncClient, id: UUID, page: int = 1, **changes: Any) -> dict[str, Any]:
    await client.patch(f"{PATH}/{id}", json=changes)
    answer = await client.post(f"{PATH}/{id}/simulate", json={"page": page})
    assert answer.status_code == 200, answer.text
    simulation: dict[str, Any] = answer.json()
    return simulation


def summarized(simulation: dict[str, Any]) -> list[tuple[str, str, list[str], list[str]]]:
    def words(given: list[dict[str, Any]]) -> list[str]:
        return [f"{each['permission']} {each['access']}" for each in given]

    return [(item["name"], item["change"], words(item["gains"]), words(item["loses"])) for item in simulation["items"]]


async def test_simulation_lists_who_joins_and_leaves_and_their_access_changes(
    client: httpx2.AsyncClient, db: Db
) -> None:
    crm = await an_application(db)
    await an_identity(db, "Ada", "Alpha", department="Finance")
    await an_identity(db, "Bob", "Beta", department="Sales")
    await an_identity(db, "Cleo", "Gamma", department="IT")
    id = await an_access_model(db, access=[gives(crm, "Post", group="Clerks")])

    simulation = await simulated(client, id, conditions=in_department("Sales"))

    assert summarized(simulation) == [
        ("Ada Alpha", "Leaves", [], ["Post Grant", "Clerks Grant"]),
        ("Bob Beta", "Joins", ["Post Grant", "Clerks Grant"], []),
    ]
    counts = {name: simulation[name] for name in ("joining", "leaving", "staying", "totalCount", "totalPages")}
    assert counts == {"joining": 1, "leaving": 1, "staying": 0, "totalCount": 2, "totalPages": 1}
    assert (await client.get(f"{PATH}/{id}")).json()["memberCount"] == 1


async def test_remaining_members_gain_and_lose_the_difference(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)
    await an_identity(db, "Ada", "Alpha", department="Finance")
    id = await an_access_model(db, access=[gives(crm, "Post", "Read")])

    same = await simulated(client, id, description="Other words")
    changed = await simulated(client, id, access=[gives(crm, "Read", "Void")])

    assert (same["staying"], same["totalCount"], same["items"]) == (1, 0, [])
    assert summarized(changed) == [("Ada Alpha", "Stays", ["Void Grant"], ["Post Grant"])]


async def test_simulation_compares_the_access_of_all_models_together(client: httpx2.AsyncClient, db: Db) -> None:
    crm = await an_application(db)
    await an_identity(db, "Ada", "Alpha", department="Finance", title="Clerk")
    title = [[{"field": "title", "operator": "is", "value": "Clerk"}]]
    await an_access_model(db, "Other", conditions=title, access=[gives(crm, "Post", access="Modify")])
    id = await an_access_model(db, access=[gives(crm, "Post", "Read")])

    without = await simulated(client, id, enabled=False)
    more = await simulated(client, id, enabled=True, access=[gives(crm, "Post", "Read", access="Unrestricted")])

    assert summarized(without) == [("Ada Alpha", "Leaves", [], ["Read Grant"])]
    assert summarized(more) == [
        ("Ada Alpha", "Stays", ["Post Unrestricted", "Read Unrestricted"], ["Post Modify", "Read Grant"])
    ]


async def test_simulation_is_paged(client: httpx2.AsyncClient, db: Db) -> None:
    for n in range(60):
        await an_identity(db, f"P{n:02}", "Same", department="Finance")
    id = await an_access_model(db, committed=False)

    pages = [await simulated(client, id, page) for page in (1, 2, 3)]

    assert [len(page["items"]) for page in pages] == [50, 10, 0]
    assert [item["name"] for page in pages for item in page["items"]] == [f"P{n:02} Same" for n in range(60)]
    assert {page["totalCount"] for page in pages} == {60}
