import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity


async def names(client: httpx2.AsyncClient, page: int = 1) -> list[str]:
    answer = await client.get("/api/identities", params={"page": page})
    assert answer.status_code == 200
    return [f"{item['lastName']}, {item['firstName']}" for item in answer.json()["items"]]


async def test_an_empty_list_has_no_pages(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/identities")

    assert answer.json() == {"items": [], "totalCount": 0, "page": 1, "pageSize": 50, "totalPages": 0}


async def test_names_sort_by_unicode_rules_and_ignore_case(client: httpx2.AsyncClient, db: Db) -> None:
    for first, last in [("A", "Zed"), ("B", "Élan"), ("C", "elan"), ("A", "ELAN"), ("A", "Eden"), ("A", "Frank")]:
        await an_identity(db, first, last)

    assert await names(client) == ["Eden, A", "ELAN, A", "elan, C", "Élan, B", "Frank, A", "Zed, A"]


async def test_accented_names_sort_with_their_base_letters(client: httpx2.AsyncClient, db: Db) -> None:
    names_in_order = ["abel", "Ångström", "Eden", "elan", "Élan", "ELAND", "muller", "Müller", "Orr", "Østby", "Zed"]
    for name in sorted(names_in_order):
        await an_identity(db, "Ada", name)
        await an_identity(db, name, "Same")

    found = await names(client)

    last = [name.partition(", ")[0] for name in found if name.endswith(", Ada")]
    first = [name.partition(", ")[2] for name in found if name.startswith("Same, ")]
    assert (last, first) == (names_in_order, names_in_order)


async def test_pages_of_equal_names_never_overlap(client: httpx2.AsyncClient, db: Db) -> None:
    made = {str(await an_identity(db, "Same", "Name")) for _ in range(120)}

    pages = [(await client.get("/api/identities", params={"page": n})).json() for n in (1, 2, 3, 4)]

    assert [len(page["items"]) for page in pages] == [50, 50, 20, 0]
    assert [item["id"] for page in pages for item in page["items"]] == sorted(made)
    assert {(page["totalCount"], page["totalPages"]) for page in pages} == {(120, 3)}
