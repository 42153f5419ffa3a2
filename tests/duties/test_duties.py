from typing import Any

import httpx2

from rolecall.core.db import Db, execute, fetch_rows
from tests.duties.separating import a_company, a_duty, finish_again, join, leave
from tests.nesting import give, some_groups

URL = "/api/duties"


async def test_duty_counts_what_its_patterns_match_and_who_holds_it(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)

    duty = (await client.get(f"{URL}/{company.prepare}")).json()

    [pattern] = duty["patterns"]
    assert (pattern["permission"], pattern["entitlements"]) == ("prepare*", 1)
    assert (duty["holders"], duty["warnings"]) == (2, [])
    assert [rule["name"] for rule in duty["rules"]] == ["Prepare and release"]
    listed = (await client.get(URL)).json()["items"]
    assert [(item["name"], item["entitlements"], item["holders"]) for item in listed] == [
        ("Prepare payments", 1, 2),
        ("Release payments", 1, 1),
    ]


async def test_holders_are_listed_with_access_account_and_groups(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)

    page = (await client.get(f"{URL}/{company.prepare}/holders")).json()

    assert [item["identity"]["name"] for item in page["items"]] == ["Sofia Dubois", "Noor Hansen"]
    [access] = page["items"][0]["access"]
    assert (access["name"], access["account"]["username"], access["path"]) == (
        "Prepare run",
        "sofia",
        ["Juniors", "Officers"],
    )
    assert access["since"]["number"] == company.run


async def test_holders_as_of_a_past_import_are_listed(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    run = await leave(db, company, "noor", "Officers")

    async def names(**params: Any) -> list[str]:
        page = (await client.get(f"{URL}/{company.prepare}/holders", params=params)).json()
        return [item["identity"]["name"] for item in page["items"]]

    assert await names() == ["Sofia Dubois"]
    assert await names(asOf=run - 1) == ["Sofia Dubois", "Noor Hansen"]


async def test_pattern_without_a_match_warns_until_an_import_shows_one(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    body = {"name": "Publish", "patterns": [{"application": "Finance Ledger", "group": "Publishers"}]}

    made = await client.post(URL, json=body)

    assert made.status_code == 201
    said = "Group Publishers is not known in Finance Ledger"
    assert made.json()["warnings"] == [f"The pattern Finance Ledger / Publishers matches no entitlement: {said}"]
    await an_imported_group(db, company.ledger, "Publishers")
    run = await join(db, company, "noor", "Publishers")
    duty = (await client.get(f"{URL}/{made.json()['id']}")).json()
    assert (duty["warnings"], duty["holders"], run > company.run) == ([], 1, True)


async def test_warning_suggests_similar_names_of_the_application(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)
    patterns = [
        {"application": "finance ledger", "group": "Aprovers"},
        {"application": "Finance Ledger", "header": "Wires", "permission": "Relese run"},
        {"application": "Finance Ledger", "permission": "Relese*"},
        {"application": "Unknown", "group": "Approvers"},
    ]

    made = await client.post(URL, json={"name": "Misspelt", "patterns": patterns})

    begin = "The pattern {} matches no entitlement: "
    assert made.json()["warnings"] == [
        begin.format("finance ledger / Aprovers")
        + "Group Aprovers is not known in Finance Ledger; did you mean Approvers?",
        begin.format("Finance Ledger / Wires / Relese run")
        + "Permission Wires Relese run is not known in Finance Ledger;"
        " did you mean Wires Release run or Wires Prepare run?",
        begin.format("Finance Ledger / Relese*") + "check the names in it",
        begin.format("Unknown / Approvers") + "check the names in it",
    ]


async def an_imported_group(db: Db, application_id: Any, name: str) -> None:
    await finish_again(db, await some_groups(db, application_id, {name: ""}))


async def test_pattern_ignores_case_and_requires_its_access_or_more(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)
    modify = await a_duty(db, "Change runs", {"header": "WIRES", "permission": "*RUN", "access": "Modify"})

    assert (await client.get(f"{URL}/{modify}")).json()["holders"] == 0
    changed = await client.patch(f"{URL}/{modify}", json={"patterns": [{"header": "WIRES", "permission": "*RUN"}]})
    assert changed.json()["holders"] == 2


async def test_duty_in_use_cannot_be_deleted_and_the_error_names_its_rules(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    spare = await a_duty(db, "Spare")

    refused = await client.delete(f"{URL}/{company.prepare}")

    said = "Duty Prepare payments is used in rules (Prepare and release): remove it from them first"
    assert (refused.status_code, refused.json()["message"]) == (409, said)
    assert (await client.delete(f"{URL}/{spare}")).status_code == 204
    assert (await client.get(f"{URL}/{spare}")).status_code == 404


async def test_malformed_duties_are_refused_with_clear_messages(client: httpx2.AsyncClient, db: Db) -> None:
    await a_duty(db, "Prepare payments")

    async def problems(**body: Any) -> dict[str, str]:
        answer = await client.post(URL, json={"name": "New", **body})
        assert answer.status_code == 400, answer.text
        return {each["field"]: each["message"] for each in answer.json()["errors"]}

    assert await problems(name="prepare payments") == {
        "name": "A duty named prepare payments already exists; choose another name"
    }
    assert await problems(patterns=[{}]) == {
        "patterns.0": "A pattern must name a group, or a header, section or permission"
    }
    mixed = {"group": "A", "permission": "B"}
    said = "A pattern must name either a group or a permission; set access only for a permission"
    assert await problems(patterns=[mixed]) == {"patterns.0": said}
    assert await problems(patterns=[{"permission": "A", "access": "Deny"}]) == {
        "patterns.0.access": "Access must be one of Grant, Modify, Unrestricted"
    }


async def test_entitlement_linked_to_its_former_name_is_matched_by_that_name(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    before = (await client.get("/api/conflicts", params={"status": "Open"})).json()["items"]
    run = await some_groups(db, company.ledger, {"Release desk": ""})
    await give(db, company.ledger, "Release desk", "Release payments", run)
    for statement in (
        "UPDATE assignments SET until_import = %(run)s FROM permissions p"
        " WHERE permission_number = p.number AND p.permission = 'Release run'",
        "UPDATE permission_versions SET until_import = %(run)s FROM permissions p"
        " WHERE permission_number = p.number AND p.permission = 'Release run'",
    ):
        await execute(db, statement, run=run)
    await finish_again(db, run)
    await join(db, company, "sofia", "Release desk")
    ended = (await client.get("/api/conflicts", params={"status": "Open"})).json()["items"]

    ids: dict[str, str] = dict(
        await fetch_rows(db, "SELECT name, id::text FROM entitlements WHERE kind = 'Permission'")
    )
    renamed = await client.patch(f"/api/entitlements/{ids['Release payments']}", json={"sameAs": ids["Release run"]})
    after = (await client.get("/api/conflicts", params={"status": "Open"})).json()["items"]
    await client.patch(f"/api/entitlements/{ids['Release payments']}", json={"sameAs": ""})
    parted = (await client.get("/api/conflicts", params={"status": "Open"})).json()["items"]

    assert renamed.status_code == 200, renamed.text
    people = [[item["identity"]["name"] for item in each] for each in (before, ended, after, parted)]
    assert people == [["Sofia Dubois"], [], ["Sofia Dubois"], []]


async def test_pattern_whose_entitlements_are_all_gone_warns(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)
    duty = await a_duty(db, "Approve", {"group": "Approvers"})
    before = (await client.get(f"{URL}/{duty}")).json()["warnings"]

    await execute(db, "UPDATE entitlements SET is_present = false WHERE name = 'Approvers'")

    after = (await client.get(f"{URL}/{duty}")).json()["warnings"]
    assert (before, after) == ([], ["The pattern * / Approvers matches no entitlement: check the names in it"])
