import pytest

from rolecall.console import finding
from rolecall.core.db import Db
from tests.builders import an_application, an_identity

PEOPLE = {
    ("Ada", "Lovelace"): "ada@example.com",
    ("Anna", "Andersen"): "Anna.A@example.com",
    ("Lovell", "Adams"): "",
}


@pytest.fixture
async def company(db: Db) -> Db:
    for (first, last), email in PEOPLE.items():
        await an_identity(db, first, last, email=email)
    await an_application(db, "Adastra")
    return db


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ada", ["Adams", "Lovelace"]),
        ("an", ["Andersen"]),
        ("Ada Love", ["Adams", "Lovelace"]),
        ("Love Ada", ["Adams", "Lovelace"]),
        ("Love, Ada", ["Lovelace"]),
        ("Love,", ["Lovelace"]),
        ("ANNA.a@example.com ", ["Andersen"]),
        ("nobody@example.com", []),
        ("@", []),
        ("Zuse", []),
        (" ", []),
    ],
)
async def test_people_are_found_by_how_their_names_begin_or_by_their_whole_email(
    company: Db, words: str, expected: list[str]
) -> None:
    listed = await finding.identities_named(company, words, 1)
    suggested = await finding.candidates(company, words)
    found = [each for each in await finding.search(company, words) if each.kind == "Person"]

    assert [each.last_name for each in listed.items] == expected
    assert listed.total_count == len(expected)
    assert [each.name.split()[-1] for each in suggested] == expected
    assert [each.name.split()[-1] for each in found] == expected


async def test_a_search_finds_applications_too(company: Db) -> None:
    found = await finding.search(company, "ada")

    assert [each.kind for each in found] == ["Application", "Person", "Person"]


async def test_no_more_are_suggested_than_asked_for_and_those_who_left_are_not(company: Db) -> None:
    await company.execute("UPDATE identities SET status = 'Disabled' WHERE last_name = 'Adams'")

    assert [each.name for each in await finding.candidates(company, "Ada")] == ["Ada Lovelace"]
    assert len(await finding.candidates(company, "A", 1)) == 1


async def test_of_many_namesakes_the_first_of_the_list_are_suggested(company: Db) -> None:
    for last in "ZYXWVU":
        await an_identity(company, "Grace", last)

    assert [each.name for each in await finding.candidates(company, "Grace", 3)] == ["Grace U", "Grace V", "Grace W"]


async def test_finding_people_reads_an_index_however_few_there_are(company: Db) -> None:
    """A plan that goes through the whole list until it has found enough is quick, unless there is nobody to find."""
    await company.execute("SET enable_seqscan = off")
    for words in ("Zuse", "Konrad Zuse", "nobody@example.com"):
        found, values = finding._people(words, 10)
        rows = await company.execute(f"EXPLAIN {found} SELECT * FROM found", values)
        plan = "\n".join(row[0] for row in await rows.fetchall())

        assert plan.count("Index Cond") == plan.count("Index Scan") + plan.count("Index Only Scan") > 0, plan
