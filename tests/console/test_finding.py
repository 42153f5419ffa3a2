import pytest

from rolecall.console import finding
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid
from rolecall.entitlements import queries as entitlements
from rolecall.identities import finding as people
from tests.builders import an_application, an_identity
from tests.holdings import an_account

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
async def test_search_and_field_suggestions_find_the_same_people(company: Db, words: str, expected: list[str]) -> None:
    suggested = await people.candidates(company, words)
    found = [each for each in await finding.search(company, words, SYSTEM) if each.kind == "Person"]

    assert [each.name.split()[-1] for each in suggested] == expected
    assert [each.name.split()[-1] for each in found] == expected


async def test_search_finds_applications(company: Db) -> None:
    found = await finding.search(company, "ada", SYSTEM)

    assert [each.kind for each in found] == ["Application", "Person", "Person"]


async def test_search_finds_reports_and_webhooks_by_any_part_of_their_names(company: Db) -> None:
    await company.execute("SELECT ship_reports()")
    await company.execute(
        """INSERT INTO webhooks (id, name, url, events, secret, enabled, created_date, deleted_on) VALUES
               (gen_random_uuid(), 'Old dormant hook', 'https://a.example', '{}', 'x', false, now(), now()),
               (gen_random_uuid(), 'Ticket of dormant accounts', 'https://a.example', '{}', 'x', true, now(), NULL)"""
    )

    found = await finding.search(company, "DORMANT  acc", SYSTEM)

    assert [(each.kind, each.name) for each in found] == [
        ("Report", "Dormant accounts"),
        ("Webhook", "Ticket of dormant accounts"),
    ]


async def test_search_finds_reviews_by_name_and_number(company: Db) -> None:
    await company.execute(
        """INSERT INTO reviews (id, name, type, stages, due_on, explained, on_silence, statement, created_by,
                                created_at)
           VALUES (gen_random_uuid(), 'Finance systems', 'Supervisor', '[]', now(), 'each', 'escalate', '', '',
                   now())"""
    )

    named = await finding.search(company, "finance", SYSTEM)
    numbered = await finding.search(company, "#1", SYSTEM)

    assert [(each.kind, each.name, each.about) for each in named] == [("Review", "Finance systems", "#1, Draft")]
    assert [(each.kind, each.name) for each in numbered] == [("Review", "#1 Finance systems")]


async def test_search_finds_entitlements_by_a_part_of_either_name(company: Db) -> None:
    ledger = await an_application(company, "Ledger")
    permissions = (("Wires", "PMT_APPR", "Grant", "High"), ("Wires", "Enter wires", "Grant", "Low"))
    await an_account(company, ledger, "ada", None, permissions=permissions)
    await execute(company, "UPDATE entitlements SET display_name = 'Approve wires' WHERE name = 'PMT_APPR'")

    found = {words: await finding.search(company, words, SYSTEM) for words in ("wires", "approve", "appr", "enter w")}

    names = {words: [one.name for one in results if one.kind == "Permission"] for words, results in found.items()}
    assert names == {
        "wires": ["Approve wires", "Enter wires"],
        "approve": ["Approve wires"],
        "appr": ["Approve wires"],
        "enter w": ["Enter wires"],
    }


async def test_search_leaves_out_entitlements_that_the_catalogue_does_not_list(company: Db) -> None:
    for name in ("Ledger", "Old ledger"):
        there = await an_application(company, name)
        await an_account(company, there, "ada", None, permissions=(("Wires", "Enter wires", "Grant", "Low"),))
    await execute(company, "UPDATE applications SET is_archived = true WHERE name = 'Old ledger'")

    found = [one.about for one in await finding.search(company, "wires", SYSTEM) if one.kind == "Permission"]
    suggested = [one.application.name for one in await entitlements.suggested(company, [], "wires")]

    assert (found, suggested) == (["Ledger"], ["Ledger"])


async def test_suggestions_are_limited_and_contain_only_active_people(company: Db) -> None:
    await company.execute("UPDATE identities SET status = 'Disabled' WHERE last_name = 'Adams'")

    assert [each.name for each in await people.candidates(company, "Ada")] == ["Ada Lovelace"]
    assert len(await people.candidates(company, "A", 1)) == 1


async def test_suggestions_for_a_common_name_follow_list_order(company: Db) -> None:
    for last in "ZYXWVU":
        await an_identity(company, "Grace", last)

    assert [each.name for each in await people.candidates(company, "Grace", 3)] == ["Grace U", "Grace V", "Grace W"]


async def test_field_prefers_exact_names_and_active_people(company: Db) -> None:
    shorter = await an_identity(company, "Ada", "Love")
    left = await an_identity(company, "Ada", "Love")
    await company.execute("UPDATE identities SET status = 'Removed' WHERE id = %s", (left,))

    assert await finding.the_person(company, "ownerId", "Ada Love") == str(shorter)
    assert await finding.the_person(company, "ownerId", "Anna And") == await finding.the_person(company, "x", "Anna.A@example.com")  # fmt: skip # noqa: E501


async def test_field_lists_the_candidates_of_an_ambiguous_name(company: Db) -> None:
    other = await an_identity(company, "Ada", "Lovelace")
    ada = await finding.the_person(company, "ownerId", "ada@example.com")

    with pytest.raises(Invalid) as refused:
        await finding.the_person(company, "ownerId", "Ada Lovelace")

    (problem,) = refused.value.problems
    ids = [f"Ada Lovelace, ada@example.com, {ada}", f"Ada Lovelace, {other}"]
    assert problem.field == "ownerId"
    assert problem.message.startswith("Ada Lovelace matches several people; choose one by id: ")
    assert all(id in problem.message for id in ids)


async def test_search_finds_usernames_in_any_case(company: Db) -> None:
    await an_account(company, await an_application(company, "Ledger"), "McDonald", None)

    for words in ("mcdonald", "MCD", "McDo"):
        found = await finding.search(company, words, SYSTEM)
        assert [each.name for each in found if each.kind == "Account"] == ["McDonald"], words


async def test_hidden_records_do_not_displace_own_records_in_a_search(company: Db) -> None:
    owner = await an_identity(company, "Zoe", "Owner")
    others, own = await an_application(company, "Alpha"), await an_application(company, "Zeta", ownerId=str(owner))
    for n in range(25):
        await an_account(company, others, f"svc{n:02}", None, groups=(f"Approvers {n:02}",))
    await an_account(company, own, "svc of zeta", None, groups=("Approvers of Zeta",))
    me = Caller(owner, "Zoe Owner", frozenset(), is_limited=True, is_person=True)

    assert [each.name for each in await finding.search(company, "Approvers", me)] == ["Approvers of Zeta"]
    assert [each.name for each in await finding.search(company, "svc", me)] == ["svc of zeta"]
