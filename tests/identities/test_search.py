from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db, execute
from rolecall.identities import finding
from rolecall.identities.shapes import IdentityDetail
from tests.builders import a_token, an_identity

PEOPLE = {
    ("Ada", "Lovelace"): {"email": "ada@example.com"},
    ("Anna", "Andersen"): {"email": "Anna.A@example.com"},
    ("Lovell", "Adams"): {},
    ("Ludwig Maria", "van Beethoven"): {},
    ("Éva", "Núñez"): {},
}
_SHOWN = {finding.PeopleOrder.NAME: "first_name", finding.PeopleOrder.SUPERVISOR: "supervisor_name"}
ID = "0192e4a0-7c1e-7000-8000-00000000000a"


@pytest.fixture
async def company(db: Db) -> Db:
    for (first, last), fields in PEOPLE.items():
        await an_identity(db, first, last, **fields)
    await execute(db, "UPDATE identities SET employee_id = 'E-7', status = 'Disabled' WHERE last_name = 'Adams'")
    await execute(db, "UPDATE identities SET id = %(id)s WHERE last_name = 'Andersen'", id=ID)
    return db


async def found(client: httpx2.AsyncClient, words: str, **more: Any) -> list[str]:
    answer = await client.get("/api/identities/search", params={"q": words, **more})
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert page["totalCount"] == len(page["items"])
    return [item["lastName"] for item in page["items"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ada", ["Adams", "Lovelace"]),
        ("an", ["Andersen"]),
        ("Ada Love", ["Adams", "Lovelace"]),
        ("Love  Ada", ["Adams", "Lovelace"]),
        ("Love, Ada", ["Lovelace"]),
        ("Love,", ["Lovelace"]),
        ("ludwig van", ["van Beethoven"]),
        ("van Beet", ["van Beethoven"]),
        ("Ludwig Maria van B", ["van Beethoven"]),
        ("EVA nunez", ["Núñez"]),
        ("Núñez", ["Núñez"]),
        ("ANNA.a@example.com ", ["Andersen"]),
        ("anna.a@example", ["Andersen"]),
        ("anna.a", []),
        ("e-7", ["Adams"]),
        ("e-", []),
        (ID.upper(), ["Andersen"]),
        (f"{{{ID}}}", ["Andersen"]),
        (f"urn:uuid:{ID}", ["Andersen"]),
        ("nobody@example.com", []),
        ("@", []),
        ("Zuse", []),
        ("a b c d e f g h i j k l m n o p", []),
    ],
)
async def test_people_are_found_by_name_prefix_email_employee_id_and_id(
    client: httpx2.AsyncClient, company: Db, words: str, expected: list[str]
) -> None:
    assert await found(client, words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Ada Lovelace", ["Lovelace"]),
        ("lovelace, ada", ["Lovelace"]),
        ("Lovelace Ada", ["Lovelace"]),
        ("Ada Love", []),
        ("Ada", []),
        ("Lovelace,", []),
        ("Ludwig Maria van Beethoven", ["van Beethoven"]),
        ("van Beethoven, Ludwig Maria", ["van Beethoven"]),
        ("Ludwig Beethoven", []),
        ("Éva Nunez", ["Núñez"]),
        ("ada@EXAMPLE.com", ["Lovelace"]),
        ("E-7", ["Adams"]),
        (ID, ["Andersen"]),
    ],
)
async def test_whole_search_ignores_longer_names(
    client: httpx2.AsyncClient, company: Db, words: str, expected: list[str]
) -> None:
    assert await found(client, words, whole="true") == expected


async def test_search_results_are_paged_in_list_order(client: httpx2.AsyncClient, db: Db) -> None:
    for number in range(60):
        await an_identity(db, f"Grace {number % 7}", "Hopper")
    await an_identity(db, "Grace", "Adams")
    await an_identity(db, "Bob", "Stone")

    pages = [(await client.get("/api/identities/search", params={"q": "Grace", "page": n})).json() for n in (1, 2, 3)]
    listed = [
        item for n in (1, 2) for item in (await client.get("/api/identities", params={"page": n})).json()["items"]
    ]

    assert [item for page in pages for item in page["items"]] == [
        each for each in listed if each["lastName"] != "Stone"
    ]
    assert [(page["totalCount"], page["totalPages"], len(page["items"])) for page in pages] == [
        (61, 2, 50),
        (61, 2, 11),
        (61, 2, 0),
    ]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"q": " "}, ("q", "Q is required")),
        ({"q": "a\x00"}, ("q", "Q must not contain NUL characters")),
        ({"q": "a", "page": "0"}, ("page", "Page must be a whole number, 1 or more")),
        ({"q": "a", "whole": "perhaps"}, ("whole", "Whole must be true or false")),
    ],
)
async def test_invalid_search_parameters_are_rejected(
    client: httpx2.AsyncClient, asked: dict[str, str], problem: tuple[str, str]
) -> None:
    answer = await client.get("/api/identities/search", params=asked)

    assert answer.status_code == 400
    assert [(each["field"], each["message"]) for each in answer.json()["errors"]] == [problem]


async def test_search_needs_the_identities_read_scope(client: httpx2.AsyncClient, db: Db) -> None:
    narrow = await a_token(db, "narrow", scopes=["config:manage"])

    answer = await client.get(
        "/api/identities/search", params={"q": "Ada"}, headers={"Authorization": f"Bearer {narrow.secret}"}
    )

    assert answer.status_code == 403


async def test_search_scans_only_ranges_of_indexes(db: Db) -> None:
    """A plan that scans the list until the page is full would be slow if nobody matches."""
    await execute(
        db,
        """INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, email_address, employee_id,
                                   created_date, updated_date, first_seen_date)
           SELECT gen_random_uuid(), 'A', 'B', md5('f' || n), md5('l' || n), md5('e' || n), md5('i' || n), now(), now(),
                  now()
           FROM generate_series(1, 5000) AS n""",
    )
    await db.execute("ANALYZE identities")
    for words in ("Zuse", "Konrad Zuse", "Zuse, Konrad", "nobody@example.com"):
        for limit in (None, 10):
            for whole in (False, True):
                sql, values = finding.people(words, limit, whole=whole)
                rows = await db.execute(f"EXPLAIN {sql} SELECT * FROM found", values)
                plan = "\n".join(row[0] for row in await rows.fetchall())

                assert "Seq Scan" not in plan, plan
                assert plan.count("Index Cond") == plan.count("Index Scan") + plan.count("Index Only Scan") > 0, plan


async def test_sort_order_spans_all_pages(db: Db) -> None:
    for n in range(55):
        await an_identity(db, f"Person {n:02}", "Smith", department=("Sales", "audit")[n % 2], office=f"{n % 3}")

    async def everyone(order: finding.PeopleOrder, *, is_descending: bool) -> list[IdentityDetail]:
        sorting = finding.Sorting(order, is_descending)
        pages = [await finding.listed(db, page, finding.PeopleFilters(), sorting) for page in (1, 2)]
        return [one for page in pages for one in page.items]

    for order in finding.PeopleOrder:
        up, down = [await everyone(order, is_descending=way) for way in (False, True)]
        shown = _SHOWN.get(order, order.lower())
        assert [getattr(one, shown).lower() for one in up] == sorted(getattr(one, shown).lower() for one in up), order
        assert [one.id for one in down] == [one.id for one in reversed(up)]
        assert len({one.id for one in up}) == 55


async def test_people_without_a_department_come_last_in_both_directions(db: Db) -> None:
    for first, department in (("Ada", ""), ("Bo", "Sales"), ("Cy", "Audit")):
        await an_identity(db, first, "Smith", department=department)

    async def order(*, is_descending: bool) -> list[str]:
        sorting = finding.Sorting(finding.PeopleOrder.DEPARTMENT, is_descending)
        return [one.first_name for one in (await finding.listed(db, 1, finding.PeopleFilters(), sorting)).items]

    assert await order(is_descending=False) == ["Cy", "Bo", "Ada"]
    assert await order(is_descending=True) == ["Bo", "Cy", "Ada"]
