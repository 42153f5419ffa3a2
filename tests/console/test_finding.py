import pytest

from rolecall.console import finding
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.identities import finding as people
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
    await db.execute("UPDATE identities SET employee_id = '4711' WHERE last_name = 'Adams'")
    await an_application(db, "Adastra")
    return db


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Ada Love", ["Adams", "Lovelace"]),
        ("Love, Ada", ["Lovelace"]),
        ("ANNA.a@example.com ", ["Andersen"]),
        ("4711", ["Adams"]),
        ("Zuse", []),
        (" ", []),
    ],
)
async def test_a_search_and_the_suggestions_of_a_field_find_the_same_people(
    company: Db, words: str, expected: list[str]
) -> None:
    suggested = await people.candidates(company, words)
    found = [each for each in await finding.search(company, words) if each.kind == "Person"]

    assert [each.name.split()[-1] for each in suggested] == expected
    assert [each.name.split()[-1] for each in found] == expected


async def test_a_search_finds_applications_too(company: Db) -> None:
    found = await finding.search(company, "ada")

    assert [each.kind for each in found] == ["Application", "Person", "Person"]


async def test_no_more_are_suggested_than_asked_for_and_those_who_left_are_not(company: Db) -> None:
    await company.execute("UPDATE identities SET status = 'Disabled' WHERE last_name = 'Adams'")

    assert [each.name for each in await people.candidates(company, "Ada")] == ["Ada Lovelace"]
    assert len(await people.candidates(company, "A", 1)) == 1


async def test_of_many_namesakes_the_first_of_the_list_are_suggested(company: Db) -> None:
    for last in "ZYXWVU":
        await an_identity(company, "Grace", last)

    assert [each.name for each in await people.candidates(company, "Grace", 3)] == ["Grace U", "Grace V", "Grace W"]


async def test_a_field_takes_a_whole_name_before_one_that_begins_so_and_the_active_of_namesakes(company: Db) -> None:
    shorter = await an_identity(company, "Ada", "Love")
    left = await an_identity(company, "Ada", "Love")
    await company.execute("UPDATE identities SET status = 'Removed' WHERE id = %s", (left,))

    assert await finding.the_person(company, "ownerId", "Ada Love") == str(shorter)
    assert await finding.the_person(company, "ownerId", "Anna And") == await finding.the_person(company, "x", "Anna.A@example.com")  # fmt: skip # noqa: E501


async def test_a_field_names_those_whom_its_words_may_mean(company: Db) -> None:
    other = await an_identity(company, "Ada", "Lovelace")
    ada = await finding.the_person(company, "ownerId", "ada@example.com")

    with pytest.raises(Invalid) as refused:
        await finding.the_person(company, "ownerId", "Ada Lovelace")

    (problem,) = refused.value.problems
    ids = [f"Ada Lovelace, ada@example.com, {ada}", f"Ada Lovelace, {other}"]
    assert problem.field == "ownerId"
    assert problem.message.startswith("Ada Lovelace matches several people; choose one by id: ")
    assert all(id in problem.message for id in ids)
