import httpx2

from rolecall.core.db import Db
from tests.builders import an_application


async def test_list_items_are_summaries_ordered_by_name(client: httpx2.AsyncClient, db: Db) -> None:
    for name in ("zeta", "Éclair", "Alpha", "Edge"):
        await an_application(db, name, connector=None)

    page = (await client.get("/api/applications")).json()

    assert list(page) == ["items", "totalCount", "page", "pageSize", "totalPages"]
    assert [item["name"] for item in page["items"]] == ["Alpha", "Éclair", "Edge", "zeta"]
    assert list(page["items"][0]) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    assert (page["totalCount"], page["page"], page["pageSize"], page["totalPages"]) == (4, 1, 50, 1)


async def test_archived_applications_are_listed_too(client: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db, isArchived=True)

    page = (await client.get("/api/applications")).json()

    assert [item["isArchived"] for item in page["items"]] == [True]


async def test_page_beyond_the_end_is_empty_with_correct_totals(client: httpx2.AsyncClient, db: Db) -> None:
    for number in range(51):
        await an_application(db, f"Application {number:02}", connector=None)

    pages = [(await client.get("/api/applications", params={"page": n})).json() for n in (1, 2, 3)]

    names = [item["name"] for page in pages for item in page["items"]]
    assert names == [f"Application {number:02}" for number in range(51)]
    assert [len(page["items"]) for page in pages] == [50, 1, 0]
    assert {(page["totalCount"], page["totalPages"]) for page in pages} == {(51, 2)}
