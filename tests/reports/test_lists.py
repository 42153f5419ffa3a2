"""Compare the shipped reports with lists and operations that show the same data."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.reports.model import ReportPeriod, filters_of
from tests.application_imports.running import Imports
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.entitlements.test_curate import a_rename, curate
from tests.entitlements.test_list import a_ledger
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups
from tests.reports.reporting import a_report, rows_of, shipped


def ways(rows: list[Any]) -> list[tuple[str, str, str]]:
    return [(row["account"]["username"], row["entitlement"]["name"], row["path"]) for row in rows]


async def access(client: httpx2.AsyncClient, **filters: Any) -> list[Any]:
    answer = await client.get("/api/reports")
    known = {item["name"]: item["id"] for item in answer.json()["items"]}
    id = known.get("Access") or (await a_report(client, "access", "Access"))["id"]
    return await rows_of(client, id, **filters)


async def a_bank(db: Db) -> tuple[UUID, UUID]:
    """Create a bank whose accounts ada (a clerk) and bo can approve wires; return the ids of Ada and the bank."""
    ada = await an_identity(db, "Ada", "Lovelace", department="Finance")
    bank = await an_application(db, "CoreBank")
    run = await some_groups(db, bank, {"Wire approvers": "", "Clerks": "Wire approvers"})
    await give(db, bank, "Wire approvers", "Approve wires", run, risk="Critical")
    await an_account(db, bank, "ada", ada, groups=("Clerks",), run=run)
    await an_account(db, bank, "bo", None, groups=("Wire approvers",), run=run)
    return ada, bank


async def a_fulfilled_request(db: Db, bank: UUID, ada: UUID) -> UUID:
    asked = NewPrivilege(header="Group", permission="Clerks")
    request = await an_access_request(db, application_id=bank, identity_id=ada, privileges=[asked])
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = now(), completed_on = now(),
                  approved_on = now() WHERE id = %(id)s""",
        id=request,
    )
    await execute(
        db, "UPDATE responses SET response = 'Approved', reviewer_name = 'Carla Abadi' WHERE type = 'Approve'"
    )
    await execute(
        db, "DELETE FROM responses WHERE type = 'Approve' AND (rule, position) > (SELECT min(rule), 0 FROM responses)"
    )
    await execute(db, "UPDATE privileges SET approved_access = 'Grant'")
    return request


async def test_everyones_access_has_a_row_for_each_path(client: httpx2.AsyncClient, db: Db) -> None:
    ada, _ = await a_bank(db)

    rows = await access(client)

    assert ways(rows) == [
        ("ada", "Approve wires", "Clerks > Wire approvers"),
        ("ada", "Clerks", ""),
        ("ada", "Wire approvers", "Clerks"),
        ("bo", "Approve wires", "Wire approvers"),
        ("bo", "Wire approvers", ""),
    ]
    assert rows[0]["identity"]["id"] == str(ada)
    assert (rows[0]["application"], rows[0]["access"], rows[0]["since"]["number"]) == ("CoreBank", "Grant", 1)
    assert rows[3]["identity"] is None


async def test_everyones_access_equals_the_holders_of_each_entitlement(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await a_bank(db)
    held = []
    for entitlement in (await client.get("/api/entitlements")).json()["items"]:
        holders = (await client.get(f"/api/entitlements/{entitlement['id']}/holders")).json()["items"]
        held += [(entitlement["id"], one["account"]["id"], " > ".join(one["path"]), one["access"]) for one in holders]

    rows = await access(client)

    assert sorted(held) == sorted(
        (row["entitlement"]["id"], row["account"]["id"], row["path"], row["access"]) for row in rows
    )


async def test_requests_and_models_explain_access_on_every_path_through_their_group(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, bank = await a_bank(db)
    await an_access_model(db, "Clerks", access=[{"applicationId": str(bank), "groups": ["Clerks"]}])
    await a_fulfilled_request(db, bank, ada)

    rows = await access(client)
    explained, unexplained = await access(client, explained=True), await access(client, explained=False)

    assert {(row["requests"], row["models"]) for row in rows[:3]} == {
        ("#1 Add approved by Carla Abadi", "Clerks v1 committed by System")
    }
    assert {(row["requests"], row["models"]) for row in rows[3:]} == {("", "")}
    assert (explained, unexplained) == (rows[:3], rows[3:])


async def test_request_for_one_account_does_not_explain_access_of_another_account(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada, bank = await a_bank(db)
    run = await a_finished_import(db, bank)
    await an_account(db, bank, "ada2", ada, groups=("Clerks",), run=run)
    request = await a_fulfilled_request(db, bank, ada)
    await execute(db, "UPDATE access_requests SET target_name = 'ada2' WHERE id = %(id)s", id=request)

    rows = await access(client, explained=True)

    assert {row["account"]["username"] for row in rows} == {"ada2"}


async def test_everyones_access_can_be_filtered(client: httpx2.AsyncClient, db: Db) -> None:
    ada, bank = await a_bank(db)
    other = await an_application(db, "Mail")
    await an_account(db, other, "cy", None, permissions=(("Box", "Read", "Grant", "Low"),))
    id = {row["entitlement"]["name"]: row["entitlement"]["id"] for row in await access(client)}["Approve wires"]
    await client.patch(f"/api/entitlements/{id}", json={"isPrivileged": True})

    assert ways(await access(client, privileged=True)) == [
        ("ada", "Approve wires", "Clerks > Wire approvers"),
        ("bo", "Approve wires", "Wire approvers"),
    ]
    assert ways(await access(client, applicationId=str(other))) == [("cy", "Read", "")]
    assert len(await access(client, identityId=str(ada))) == 3
    assert ways(await access(client, kind="Permission", riskRating="Low")) == [("cy", "Read", "")]
    await client.patch(f"/api/applications/{other}", json={"isArchived": True})
    assert len(await access(client)) == 5
    assert len(await access(client, applicationId=str(other))) == 1
    assert len(await access(client, applicationId=str(bank))) == 5


async def test_access_of_a_past_day_is_reported_as_of_that_day(client: httpx2.AsyncClient, db: Db) -> None:
    _, bank = await a_bank(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '35 days'")
    left = await a_finished_import(db, bank)
    await execute(db, "UPDATE memberships SET until_import = %(n)s", n=left)

    then = await access(client, asOf=(datetime.now(UTC) - timedelta(days=20)).isoformat())

    assert (len(then), await access(client)) == (5, [])
    assert await access(client, asOf=(datetime.now(UTC) - timedelta(days=40)).isoformat()) == []


async def test_changes_of_a_period_list_gained_and_lost_access(client: httpx2.AsyncClient, db: Db) -> None:
    ada, bank = await a_bank(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '35 days'")
    left = await a_finished_import(db, bank)
    await execute(
        db,
        """UPDATE memberships SET until_import = %(n)s
           WHERE account_number = (SELECT number FROM accounts WHERE username = 'ada')""",
        n=left,
    )
    report = await a_report(client, "access-changes", "Changes", period="LastMonth")
    now = datetime.now(UTC)

    recent = await rows_of(client, report["id"], **{"from": (now - timedelta(days=1)).isoformat()})
    older = await rows_of(
        client, report["id"], **{"from": "2000-01-01", "until": (now - timedelta(days=1)).date().isoformat()}
    )

    assert [(row["change"], *way) for row, way in zip(recent, ways(recent), strict=True)] == [
        ("Lost", "ada", "Approve wires", "Clerks > Wire approvers"),
        ("Lost", "ada", "Clerks", ""),
        ("Lost", "ada", "Wire approvers", "Clerks"),
    ]
    assert {(row["import"], row["identity"]["id"]) for row in recent} == {(left, str(ada))}
    assert (len(older), {row["change"] for row in older}) == (5, {"Gained"})


async def test_approvals_name_the_reviewer_and_what_was_approved(client: httpx2.AsyncClient, db: Db) -> None:
    ada, bank = await a_bank(db)
    await a_fulfilled_request(db, bank, ada)
    report = await a_report(client, "approvals", "Approvals", period="LastMonth")
    today = datetime.now(UTC).date().isoformat()

    [row] = await rows_of(client, report["id"], **{"from": today})

    assert (row["response"], row["reviewer"]["name"], row["request"], row["action"]) == (
        "Approved", "Carla Abadi", 1, "Add",
    )  # fmt: skip
    assert row["privileges"] == "Group / Clerks: Grant to Grant"
    assert (row["application"], row["affected"]["name"]) == ("CoreBank", "Ada Lovelace")
    assert await rows_of(client, report["id"]) == []


async def test_shipped_account_reports_filter_by_match_login_and_leavers(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await an_identity(db, "Ada", "Lovelace", email="ada@example.com")
    bank = await an_application(db, "CoreBank")
    users = "Username,Email,Last Login\nada,ada@example.com,2020-01-01\nbo,bo@example.com,\n"
    await Imports(client, config).finish(bank, {"Users": users})
    found = await shipped(client, db)

    expected = {"Unmatched accounts": ["bo"], "Application roster": ["ada", "bo"], "Dormant accounts": ["ada"]}
    for name, rows in {**expected, "Leavers' accounts": []}.items():
        assert [row["username"] for row in await rows_of(client, found[name]["id"])] == rows
    await execute(db, "UPDATE identities SET status = 'Disabled'")
    for name, rows in {"Leavers' accounts": ["ada"]}.items():
        assert [row["username"] for row in await rows_of(client, found[name]["id"])] == rows


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        (ReportPeriod.YESTERDAY, "2026-02-28", "2026-03-01"),
        (ReportPeriod.LAST_WEEK, "2026-02-16", "2026-02-23"),
        (ReportPeriod.LAST_MONTH, "2026-02-01", "2026-03-01"),
        (ReportPeriod.LAST_QUARTER, "2025-10-01", "2026-01-01"),
        (ReportPeriod.LAST_YEAR, "2025-01-01", "2026-01-01"),
    ],
)
def test_period_is_the_last_complete_one_in_the_configured_zone(period: ReportPeriod, start: str, end: str) -> None:
    zone = ZoneInfo("Europe/Zurich")
    # In Zurich it is already Sunday, 1 March.
    now = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)

    assert filters_of(period, {"from", "until"}, now, zone) == {
        "from": f"{start}T00:00:00+0{2 if start == '2025-10-01' else 1}:00",
        "until": f"{end}T00:00:00+01:00",
    }
    assert filters_of(period, {"asOf"}, now, zone) == {"asOf": str(date.fromisoformat(end) - timedelta(days=1))}
    assert filters_of(ReportPeriod.NOW, {"asOf"}, now, zone) == {}


async def a_renamed_group(client: httpx2.AsyncClient, db: Db) -> tuple[str, str]:
    """Create a privileged group that the second import calls Payment approvers instead of Wire approvers."""
    old, new = await a_rename(client, db)
    await curate(client, new, sameAs=old, isPrivileged=True)
    await execute(
        db,
        """UPDATE application_imports SET build_end = now() - interval '9 days'
           WHERE number < (SELECT max(number) FROM application_imports)""",
    )
    return old, new


async def test_privileged_access_of_a_past_day_includes_former_names(client: httpx2.AsyncClient, db: Db) -> None:
    await a_renamed_group(client, db)
    then = (datetime.now(UTC) - timedelta(days=5)).isoformat()

    rows = await access(client, asOf=then, privileged="true")
    listed = (await client.get("/api/entitlements", params={"asOf": then, "isPrivileged": "true"})).json()["items"]

    assert {(row["account"]["username"], row["entitlement"]["name"]) for row in rows} == {
        ("ada", "Wire approvers"),
        ("bo", "Wire approvers"),
    }
    assert [item["name"] for item in listed] == ["Wire approvers"]


async def test_renamed_group_is_not_a_change_of_access(client: httpx2.AsyncClient, db: Db) -> None:
    await a_renamed_group(client, db)
    report = await a_report(client, "access-changes", "Changes", period="LastMonth")
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()

    rows = await rows_of(client, report["id"], **{"from": since})

    changed = [(row["change"], *way) for row, way in zip(rows, ways(rows), strict=True)]
    assert not [each for each in changed if each[2] in ("Wire approvers", "Payment approvers")], changed
