import httpx2

from rolecall.core.db import Db, execute
from tests.builders import an_identity
from tests.contract.tables import IDENTITY, mismatches, page_of


async def test_list_of_identities_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Charles", "Babbage")
    await an_identity(db, supervisorId=str(boss), identityType="ServiceAccount", title="Analyst")
    await execute(db, "UPDATE identities SET status = 'Disabled', inactivated_date = now() WHERE id = %(id)s", id=boss)

    answer = await client.get("/api/identities")

    assert answer.status_code == 200
    assert mismatches(answer.json(), page_of(IDENTITY)) == []
    assert [item["lastName"] for item in answer.json()["items"]] == ["Babbage", "Lovelace"]
    assert answer.json()["items"][0]["inactivatedDate"] is not None
    assert answer.json()["items"][1]["type"] == "Service Account"
    assert answer.json()["items"][1]["supervisorName"] == "Babbage, Charles"
    assert {**answer.json(), "items": []} == {
        "items": [],
        "totalCount": 2,
        "page": 1,
        "pageSize": 50,
        "totalPages": 1,
    }


async def test_identity_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_identity(db)

    answer = await client.get(f"/api/identities/{id}")

    assert answer.status_code == 200
    assert mismatches(answer.json(), IDENTITY) == []
    assert answer.json()["id"] == str(id)
    assert answer.json()["inactivatedDate"] is None
    assert answer.json()["supervisorName"] == ""
