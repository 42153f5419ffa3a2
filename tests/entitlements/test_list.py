from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.entitlements.actions import curate_entitlement
from tests.application_imports.running import Files, Imports
from tests.builders import an_application, an_identity, facts
from tests.holdings import an_account
from tests.nesting import give, refresh, some_groups
from tests.reports.reporting import a_report, rows_of


async def listed(client: httpx2.AsyncClient, **params: Any) -> Any:
    answer = await client.get("/api/entitlements", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(page: Any) -> list[str]:
    return [item["name"] for item in page["items"]]


async def a_ledger(db: Db, name: str = "Ledger") -> UUID:
    """Create a ledger: Clerks are nested in Wire approvers, who may Approve; ada is a clerk and may also Close."""
    ledger = await an_application(db, name)
    run = await some_groups(db, ledger, {"Wire approvers": "", "Clerks": "Wire approvers"})
    await give(db, ledger, "Wire approvers", "Approve", run, risk="Critical")
    ada = await an_identity(db, "Ada", name)
    await an_account(
        db, ledger, "ada", ada, groups=("Clerks",), permissions=(("Books", "Close", "Grant", "Low"),), run=run
    )
    await an_account(db, ledger, "bo", None, groups=("Wire approvers",), run=run)
    return ledger


async def entitlement(client: httpx2.AsyncClient, name: str) -> Any:
    [found] = [item for item in (await listed(client))["items"] if item["name"] == name]
    return found


async def test_list_has_groups_and_permissions_of_all_applications_sorted_by_name(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_ledger(db)

    page = await listed(client)

    assert (names(page), page["totalCount"]) == (["Approve", "Clerks", "Close", "Wire approvers"], 4)
    approve = page["items"][0]
    assert (approve["firstSeen"], approve["lastSeen"]) != (None, None)
    assert approve == {
        "id": approve["id"],
        "kind": "Permission",
        "application": {**approve["application"], "id": str(ledger), "name": "Ledger"},
        "name": "Approve",
        "header": "Wires",
        "section": "",
        "description": "",
        "displayName": "",
        "explanation": "",
        "riskRating": "Critical",
        "isPrivileged": False,
        "owner": None,
        "formerOwner": None,
        "tags": [],
        "holders": {"accounts": 2, "identities": 1},
        "firstSeen": approve["firstSeen"],
        "lastSeen": approve["lastSeen"],
    }
    assert [item["riskRating"] for item in page["items"]] == ["Critical", "Critical", "Low", "Critical"]
    assert [item["holders"]["accounts"] for item in page["items"]] == [2, 1, 1, 2]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"kind": "group"}, ["Clerks", "Wire approvers"]),
        ({"riskRating": "Low"}, ["Close"]),
        ({"kind": "Group", "riskRating": "Critical"}, ["Clerks", "Wire approvers"]),
        ({"search": "WIRE"}, ["Approve", "Wire approvers"]),
        ({"search": "wires  approve"}, ["Approve"]),
        ({"search": "nothing"}, []),
        ({"tag": "SOX"}, []),
        ({"isPrivileged": "true"}, []),
        ({"isPrivileged": "false", "kind": "Permission"}, ["Approve", "Close"]),
        ({"ownerId": "00000000-0000-4000-8000-000000000000"}, []),
        ({"applicationId": "00000000-0000-4000-8000-000000000000"}, []),
    ],
)
async def test_list_contains_only_entitlements_that_match_all_filters(
    client: httpx2.AsyncClient, db: Db, filters: dict[str, str], found: list[str]
) -> None:
    await a_ledger(db)

    page = await listed(client, **filters)

    assert (names(page), page["totalCount"]) == (found, len(found))


async def test_unknown_filter_values_are_reported_together(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/entitlements", params={"kind": "role", "ownerId": "x", "asOf": "yesterday"})

    assert [problem["field"] for problem in answer.json()["errors"]] == ["asOf", "kind", "ownerId"]


async def test_as_of_must_not_be_in_the_future(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    id = (await entitlement(client, "Approve"))["id"]
    ahead = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    for path in ("", f"/{id}/holders", f"/{id}/history"):
        answer = await client.get(f"/api/entitlements{path}", params={"asOf": ahead})
        assert (answer.status_code, answer.json()["errors"]) == (
            400,
            [{"field": "asOf", "message": "As of must not be in the future"}],
        )


async def test_past_list_has_the_entitlements_that_were_imported_then(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    second = await some_groups(db, ledger, {"Auditors": ""})
    await execute(db, "UPDATE permission_versions SET until_import = %(run)s WHERE risk_rating = 'Low'", run=second)
    await refresh(db, ledger, second)
    await execute(
        db, "UPDATE application_imports SET build_end = now() - interval '9 days' WHERE number < %(n)s", n=second
    )
    then = (datetime.now(UTC) - timedelta(days=5)).isoformat()

    assert names(await listed(client)) == ["Approve", "Auditors", "Clerks", "Wire approvers"]
    past = await listed(client, asOf=then)
    assert names(past) == ["Approve", "Clerks", "Close", "Wire approvers"]
    assert past["items"][2]["holders"] == {"accounts": 1, "identities": 1}
    assert names(await listed(client, asOf=then, kind="Group", search="clerk")) == ["Clerks"]
    before = await listed(client, asOf="2020-01-01")
    assert (before["totalCount"], [one["application"] for one in before["noDataBefore"]]) == (0, ["Ledger"])


async def test_past_list_has_the_descriptions_and_ratings_of_that_time(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    first = await some_groups(db, ledger, {"Clerks": ""})
    await give(db, ledger, "Clerks", "Wire", first, risk="Low")
    await execute(db, "UPDATE group_versions SET nomenclature = 'Role', description = 'Old words'")
    await execute(db, "UPDATE permission_versions SET description = 'Old'")
    second = await some_groups(db, ledger, {"Clerks": ""})
    await execute(db, "UPDATE permission_versions SET until_import = %(run)s", run=second)
    await execute(
        db,
        """INSERT INTO permission_versions SELECT permission_number, %(run)s, NULL, 'New', 'Critical'
           FROM permission_versions""",
        run=second,
    )
    await execute(
        db, "UPDATE group_versions SET nomenclature = 'Team', description = 'New words' WHERE until_import IS NULL"
    )
    await refresh(db, ledger, second)

    def shown(page: Any) -> list[tuple[str, ...]]:
        return [(i["name"], i["header"], i["description"], i["riskRating"]) for i in page["items"]]

    now, then = await listed(client), await listed(client, asOf=str(first))

    assert shown(now) == [("Clerks", "Team", "New words", "Critical"), ("Wire", "Wires", "New", "Critical")]
    assert shown(then) == [("Clerks", "Role", "Old words", "Low"), ("Wire", "Wires", "Old", "Low")]
    assert shown(await listed(client, asOf=str(first), riskRating="Low")) == shown(then)
    assert shown(await listed(client, asOf=str(first), riskRating="Critical")) == []


async def test_past_counts_of_holders_are_stored_until_a_match_changes(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    days = [str(datetime.now(UTC).date() - timedelta(days=days)) for days in (3, 4, 5)]
    stored = "SELECT count(*) FROM stored_pages WHERE list LIKE 'holder counts%%' AND page > 0"

    async def identities() -> int:
        items = [(await listed(client, asOf=day, kind="Permission"))["items"] for day in days]
        [count] = {item["holders"]["identities"] for each in items for item in each if item["name"] == "Approve"}
        return int(count)

    assert (await identities(), await fetch_value(db, stored)) == (1, 1)
    bo = await an_identity(db, "Bo", "Larsen")
    await execute(db, "UPDATE accounts SET identity_id = %(bo)s, match = 'Email' WHERE username = 'bo'", bo=bo)
    assert (await identities(), await fetch_value(db, stored)) == (2, 2)
    await listed(client, asOf=days[0], search="Approve")
    assert await fetch_value(db, stored) == 2


async def test_past_counts_follow_an_account_that_got_another_identity_between_two_days(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '80 days'")
    ada, bo = await an_identity(db, "Ada", "Clark"), await an_identity(db, "Bo", "Clark")
    for person, days in ((ada, 60), (None, 20), (bo, 10)):
        await execute(
            db,
            """UPDATE accounts SET identity_id = %(id)s, match = 'Email', pin = NULL,
               matched_on = now() - make_interval(days => %(days)s) WHERE username = 'bo'""",
            id=person,
            days=days,
        )

    async def identities(days: int) -> int:
        moment = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        [item] = (await listed(client, asOf=moment, kind="Group"))["items"][1:]
        return int(item["holders"]["identities"])

    # The account bo, a member of the second group, was matched to nobody from 20 to 10 days ago.
    assert [await identities(days) for days in (15, 5, 40)] == [1, 2, 2]


async def test_past_list_by_owner_follows_an_owner_who_leaves(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    then, owner = str(datetime.now(UTC).date() - timedelta(days=3)), await an_identity(db, "Olga", "Owner")
    answer = await client.patch(
        f"/api/entitlements/{(await entitlement(client, 'Approve'))['id']}", json={"ownerId": str(owner)}
    )
    assert answer.status_code == 200

    before = await listed(client, asOf=then, ownerId=str(owner))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=owner)
    after = await listed(client, asOf=then, ownerId=str(owner))

    assert (before["totalCount"], after["totalCount"]) == (1, 0)


async def test_curation_that_began_earlier_and_is_written_later_is_in_the_past_list(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    then = {"asOf": str(datetime.now(UTC).date() - timedelta(days=3)), "isPrivileged": "true"}
    ids = {name: (await entitlement(client, name))["id"] for name in ("Approve", "Close")}
    began = facts()
    await client.patch(f"/api/entitlements/{ids['Approve']}", json={"isPrivileged": True})
    before = await listed(client, **then)

    async with db.transaction():
        await curate_entitlement(db, ids["Close"], {"isPrivileged": True}, began)

    after = await listed(client, **then)
    assert (before["totalCount"], names(after), after["totalCount"]) == (1, ["Approve", "Close"], 2)


async def test_entitlement_can_be_read_after_imports_no_longer_show_it(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    id = (await entitlement(client, "Close"))["id"]
    second = await some_groups(db, ledger, {})
    await execute(db, "UPDATE permission_versions SET until_import = %(run)s WHERE risk_rating = 'Low'", run=second)
    await refresh(db, ledger, second)

    gone = (await client.get(f"/api/entitlements/{id}")).json()

    assert (gone["name"], gone["isPresent"]) == ("Close", False)
    assert gone["lastSeen"] < await last_import(db)


async def last_import(db: Db) -> str:
    moment = await fetch_value(db, "SELECT max(build_end) FROM application_imports")
    return str(moment.astimezone(UTC).isoformat().replace("+00:00", "Z"))


async def test_group_shows_the_groups_above_it_and_whether_they_form_a_cycle(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_ledger(db)
    clerks = await entitlement(client, "Clerks")
    before = (await client.get(f"/api/entitlements/{clerks['id']}")).json()
    await some_groups(db, ledger, {"Wire approvers": "clerks"})

    after = (await client.get(f"/api/entitlements/{clerks['id']}")).json()

    assert ([parent["name"] for parent in before["parents"]], before["cycle"]) == (["Wire approvers"], [])
    assert ([p["name"] for p in after["parents"]], after["cycle"]) == (["Wire approvers"], ["Clerks", "Wire approvers"])


async def test_an_unknown_entitlement_is_not_found(client: httpx2.AsyncClient) -> None:
    for path in ("", "/holders", "/history"):
        answer = await client.get(f"/api/entitlements/nonsense{path}")
        assert (answer.status_code, answer.json()["message"]) == (404, "Entitlement with id nonsense not found")


async def test_moments_between_two_imports_share_stored_pages(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    today = datetime.now(UTC).date().isoformat()
    for second in range(3):
        await listed(client, asOf=f"{today}T00:00:0{second}Z")
    await listed(client, asOf=today, search="Approve")

    stored = "SELECT count(DISTINCT list) FROM stored_pages WHERE list LIKE 'entitlements at%%'"
    assert await fetch_value(db, stored) == 1


async def test_long_search_is_rejected(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/entitlements", params={"search": "x" * 257})

    assert answer.json()["errors"] == [{"field": "search", "message": "Search must have at most 256 characters"}]


async def test_a_past_list_shows_the_imported_fields_of_that_time(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    imports, ledger = Imports(client, config), await an_application(db, "Ledger")

    def files(words: str, noun: str, risk: str) -> Files:
        return {
            "Users": "Username\nada\n",
            "Groups": f"Group,Description,Nomenclature\nClerks,{words},{noun}\n",
            "Memberships": "Username,Group\nada,Clerks\n",
            "Permissions": "Username,Group,Header,Permission,Access,Description,Risk Rating\n"
            f",Clerks,H,Wire,Grant,{words},{risk}\n",
        }

    first = await imports.finish(ledger, files("Old words", "Role", "Low"))
    await imports.finish(ledger, files("New words", "Team", "Critical"))
    then = {"asOf": first["number"]}
    report = await a_report(client, "access", "Access")

    past = (await listed(client, **then))["items"]
    rows = await rows_of(client, report["id"], asOf=str(first["number"]))

    shown = [(item["header"], item["description"], item["riskRating"]) for item in past]
    assert shown == [("Role", "Old words", "Low"), ("H", "Old words", "Low")]
    assert names(await listed(client, **then, riskRating="Low")) == ["Clerks", "Wire"]
    assert names(await listed(client, **then, riskRating="Critical")) == []
    assert names(await listed(client, **then, search="role")) == ["Clerks"]
    assert sorted((row["entitlement"]["header"], row["entitlement"]["riskRating"]) for row in rows) == [
        ("H", "Low"),
        ("Role", "Low"),
    ]


async def test_past_list_includes_an_import_that_was_committed_late(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = '2026-03-01T08:00:00.2Z'")
    before = await listed(client, asOf="2026-03-02")
    await a_ledger(db, "Treasury")
    await execute(db, "UPDATE application_imports SET build_end = '2026-03-01T08:00:00.1Z' WHERE number > 1")

    after = await listed(client, asOf="2026-03-02")

    assert (before["totalCount"], after["totalCount"]) == (4, 8)
