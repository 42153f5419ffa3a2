"""Test the reasons for access: the requests and models that explain why accounts hold or held an entitlement."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.entitlements.test_curate import a_rename, curate
from tests.entitlements.test_holders import read
from tests.entitlements.test_list import entitlement
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups
from tests.reports.reporting import a_report, rows_of


async def test_holders_of_a_past_day_are_listed_with_their_reasons(client: httpx2.AsyncClient, db: Db) -> None:
    """Ada asked for the group, her supervisor approved, a model grants it too; later she left the group."""
    boss = await an_identity(db, "Carla", "Abadi")
    ada = await an_identity(db, "Ada", "Lovelace", department="Finance", supervisorId=str(boss))
    bank = await an_application(db, "CoreBank")
    run = await some_groups(db, bank, {"Wire approvers": "", "Clerks": "Wire approvers"})
    await give(db, bank, "Wire approvers", "Approve wires", run, risk="Critical")
    await an_account(db, bank, "ada", ada, groups=("Clerks",), run=run)
    await an_access_model(db, "Clerks", access=[{"applicationId": str(bank), "groups": ["Clerks"]}])
    asked = NewPrivilege(header="Group", permission="Clerks")
    request = await an_access_request(db, application_id=bank, identity_id=ada, privileges=[asked])
    # Complete the request, and move the request, the model and the import into the past.
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = now() - interval '30 days',
           completed_on = now() - interval '30 days' WHERE id = %(id)s""",
        id=request,
    )
    await execute(
        db,
        """UPDATE responses SET response = 'Approved', reviewer_id = %(boss)s, reviewer_name = 'Carla Abadi'
           WHERE request_id = %(id)s AND type = 'Approve'""",
        id=request,
        boss=boss,
    )
    await execute(db, "UPDATE privileges SET approved_access = 'Grant'")
    await execute(db, "UPDATE access_model_versions SET committed_at = now() - interval '40 days'")
    await execute(db, "UPDATE access_model_members SET since = now() - interval '40 days'")
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '35 days'")
    left = await a_finished_import(db, bank)
    await execute(db, "UPDATE memberships SET until_import = %(n)s", n=left)
    id = (await entitlement(client, "Approve wires"))["id"]

    then = await read(client, id, asOf=(datetime.now(UTC) - timedelta(days=20)).isoformat())

    assert (await read(client, id))["items"] == []
    [item] = then["items"]
    assert (item["identity"]["name"], item["account"]["username"]) == ("Ada Lovelace", "ada")
    assert item["path"] == ["Clerks", "Wire approvers"]
    [given] = item["why"]["accessRequests"]
    assert {"id": str(boss), "name": "Carla Abadi"} in given["approvedBy"]
    [model] = item["why"]["accessModels"]
    assert (model["name"], model["version"], model["committedBy"]["name"]) == ("Clerks", 1, "System")
    assert datetime.fromisoformat(model["committedOn"]) < datetime.now(UTC) - timedelta(days=39)


async def test_approval_by_a_stand_in_names_the_person_who_responded(client: httpx2.AsyncClient, db: Db) -> None:
    boss, sam = await an_identity(db, "Carla", "Abadi"), await an_identity(db, "Sam", "Ray")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    bank = await an_application(db, "CoreBank")
    run = await some_groups(db, bank, {"Approvers": ""})
    await an_account(db, bank, "ada", ada, groups=("Approvers",), run=run)
    await a_granted_request(db, bank, ada, "Approvers", given=1)
    await execute(
        db,
        """UPDATE responses SET response = 'Approved', reviewer_id = %(boss)s, reviewer_name = 'Carla Abadi',
           stand_in_id = %(sam)s, stand_in_name = 'Sam Ray' WHERE type = 'Approve'""",
        boss=boss,
        sam=sam,
    )
    report = await a_report(client, "access", "Access")

    [holder] = (await read(client, (await entitlement(client, "Approvers"))["id"]))["items"]
    [given] = holder["why"]["accessRequests"]
    [row] = await rows_of(client, report["id"])

    approver = {"id": str(boss), "name": "Carla Abadi", "standIn": {"id": str(sam), "name": "Sam Ray"}}
    assert approver in given["approvedBy"]
    assert "approved by Sam Ray for Carla Abadi" in row["requests"]


async def a_granted_request(
    db: Db, application: Any, person: Any, name: str, header: str = "Group", **days: int
) -> int:
    """Create a request completed `given` days ago, or a removal completed `removed` days ago; return its number."""
    kind = "removed" if "removed" in days else "given"
    asked = NewPrivilege(header=header, permission=name, requested_access=Access.GRANT)
    request = await an_access_request(db, application_id=application, identity_id=person, privileges=[asked])
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = now() - make_interval(days => %(days)s),
           completed_on = now() - make_interval(days => %(days)s) WHERE id = %(id)s""",
        id=request,
        days=days[kind],
    )
    await execute(
        db,
        "UPDATE privileges SET approved_access = %(access)s WHERE request_id = %(id)s",
        id=request,
        access="None" if kind == "removed" else "Grant",
    )
    number: int = await fetch_value(db, "SELECT number FROM access_requests WHERE id = %(id)s", id=request)
    return number


def requests(page: Any) -> list[list[int]]:
    return [[each["number"] for each in item["why"]["accessRequests"]] for item in page["items"]]


async def test_history_keeps_the_reasons_that_access_had_while_it_was_held(client: httpx2.AsyncClient, db: Db) -> None:
    """Access is requested, held for a month, and removed by another request before an import shows its removal."""
    bank, ada = await an_application(db, "CoreBank"), await an_identity(db, "Ada", "Lovelace", department="Finance")
    run = await some_groups(db, bank, {"Approvers": ""})
    await an_account(db, bank, "ada", ada, groups=("Approvers",), run=run)
    given = await a_granted_request(db, bank, ada, "Approvers", given=40)
    await a_granted_request(db, bank, ada, "Approvers", removed=11)
    await an_access_model(db, "Approvers", access=[{"applicationId": str(bank), "groups": ["Approvers"]}])
    await execute(db, "UPDATE access_model_versions SET committed_at = now() - interval '50 days'")
    await execute(db, "UPDATE access_model_members SET since = now() - interval '50 days'")
    await execute(
        db,
        """WITH gone AS (DELETE FROM access_model_members RETURNING *)
           INSERT INTO past_model_members (identity_id, model_id, since, until)
           SELECT identity_id, model_id, since, now() - interval '12 days' FROM gone
           ON CONFLICT (identity_id, model_id, since) DO UPDATE SET until = EXCLUDED.until""",
    )
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '39 days'")
    gone = await a_finished_import(db, bank)
    await execute(db, "UPDATE memberships SET until_import = %(n)s", n=gone)
    id = (await entitlement(client, "Approvers"))["id"]

    history = await read(client, id, "history")

    assert requests(history) == [[given]]
    assert [model["name"] for model in history["items"][0]["why"]["accessModels"]] == ["Approvers"]


async def test_a_request_explains_a_group_whose_nomenclature_changed(client: httpx2.AsyncClient, db: Db) -> None:
    bank, ada = await an_application(db, "CoreBank"), await an_identity(db, "Ada", "Lovelace")
    run = await some_groups(db, bank, {"Clerks": ""})
    await an_account(db, bank, "ada", ada, groups=("Clerks",), run=run)
    await execute(db, "UPDATE group_versions SET nomenclature = 'Role'")
    given = await a_granted_request(db, bank, ada, "Clerks", "Role", given=0)
    await some_groups(db, bank, {"Clerks": ""})
    await execute(db, "UPDATE group_versions SET nomenclature = 'Team' WHERE until_import IS NULL")
    id = (await entitlement(client, "Clerks"))["id"]

    [there] = (await client.get(f"/api/identities/{ada}/access")).json()["applications"]

    assert requests(await read(client, id)) == requests(await read(client, id, "history")) == [[given]]
    assert [[each["number"] for each in e["why"]["accessRequests"]] for e in there["accounts"][0]["access"]] == [
        [given]
    ]


async def test_renamed_entitlement_keeps_the_reasons_for_its_access(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    ledger = await fetch_value(db, "SELECT id FROM applications")
    bo = await an_identity(db, "Bo", "Clark", department="Finance")
    await execute(db, "UPDATE accounts SET identity_id = %(bo)s WHERE username = 'bo'", bo=bo)
    given = await a_granted_request(db, ledger, bo, "Wire approvers", given=0)
    await an_access_model(db, "Clerks", access=[{"applicationId": str(ledger), "groups": ["Wire approvers"]}])

    alone = await read(client, new)
    await curate(client, new, sameAs=old)
    joined = [item for item in (await read(client, new))["items"] if item["account"]["username"] == "bo"]
    [there] = (await client.get(f"/api/identities/{bo}/access")).json()["applications"]

    assert not any(requests(alone))
    entry = next(e for e in there["accounts"][0]["access"] if e["permission"] == "Payment approvers")
    for why in (joined[0]["why"], entry["why"]):
        assert [each["number"] for each in why["accessRequests"]] == [given]
        assert [each["name"] for each in why["accessModels"]] == ["Clerks"]


async def test_history_has_a_row_for_each_person_that_an_account_belonged_to(
    client: httpx2.AsyncClient, db: Db
) -> None:
    bank = await an_application(db, "CoreBank")
    ada, bo = await an_identity(db, "Ada", "Lovelace"), await an_identity(db, "Bo", "Clark")
    run = await some_groups(db, bank, {"Approvers": ""})
    await an_account(db, bank, "approver", None, groups=("Approvers",), run=run)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '80 days'")
    given = await a_granted_request(db, bank, ada, "Approvers", given=79)
    for person, days in ((ada, 90), (ada, 60), (None, 20), (bo, 10)):
        await execute(
            db,
            """UPDATE accounts SET identity_id = %(id)s, match = %(match)s, pin = NULL,
               matched_on = now() - make_interval(days => %(days)s)""",
            id=person,
            match="Email" if person else "Disputed",
            days=days,
        )
    id = (await entitlement(client, "Approvers"))["id"]

    def held(page: Any) -> list[tuple[str | None, int, bool, bool]]:
        return [
            (
                item["identity"] and item["identity"]["name"],
                len(item["why"]["accessRequests"]),
                item["matchedFrom"] is not None,
                item["matchedUntil"] is not None,
            )
            for item in page["items"]
        ]

    history = await read(client, id, "history")
    early = await read(client, id, "history", asOf=(datetime.now(UTC) - timedelta(days=15)).isoformat())

    assert held(history) == [
        ("Bo Clark", 0, True, False),
        (None, 0, True, True),
        ("Ada Lovelace", 1, False, True),
    ]
    assert history["items"][2]["why"]["accessRequests"][0]["number"] == given
    assert (history["totalCount"], held(early)) == (3, [(None, 0, True, False), held(history)[2]])
    late = await read(client, id, "history", asOf=(datetime.now(UTC) - timedelta(days=5)).isoformat())
    assert (late["totalCount"], held(late)) == (3, held(history))
    export = await client.get(f"/api/entitlements/{id}/history", params={"format": "jsonl"})
    assert len(export.text.splitlines()) == 3
