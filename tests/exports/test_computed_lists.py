"""Export computed lists: entitlements, their holders and history, accounts of all applications."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.core import exporting as core
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.web import exporting
from rolecall.web.lists import LISTS
from tests.accounts.test_roster import totals
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.exports import opening
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, refresh, some_groups

_STAFF = 60


async def a_bank(db: Db) -> dict[str, Any]:
    """Create sixty accounts that hold Approve through nested groups, and return the ids that the paths of lists need.

    Some accounts lose Approve in the second import, and some of these regain it in the third. The first import finished
    in January, the second in June, the third now.
    """
    bank = await an_application(db, "=Bank")
    run = await some_groups(db, bank, {"Approvers": "", "Clerks": "Approvers"})
    await give(db, bank, "Approvers", "Approve", run, risk="Critical")
    await an_access_model(db, "Clerks", access=[{"applicationId": str(bank), "groups": ["Clerks"]}])
    for number in range(_STAFF):
        person = await an_identity(db, "Ada", f"Clerk{number:02}", department="Finance", title="=1+1")
        books = (("Books", f"Close {number}", "Grant", "Low"),) if number < 3 else ()
        await an_account(
            db, bank, f"user{number:02}", person if number % 3 else None, groups=("Clerks",), permissions=books, run=run
        )
    await _a_request(db, bank)
    june, third = await a_finished_import(db, bank), await a_finished_import(db, bank)
    even = "account_number IN (SELECT number FROM accounts WHERE right(username, 1) IN ('0', '2', '4'))"
    await execute(db, f"UPDATE memberships SET until_import = %(june)s WHERE {even}", june=june)
    await execute(
        db,
        f"""INSERT INTO memberships SELECT DISTINCT account_number, group_number, %(third)s, NULL::int FROM memberships
            WHERE {even} AND account_number IN (SELECT number FROM accounts WHERE right(username, 1) = '0')""",
        third=third,
    )
    for number, month in ((run, 1), (june, 6)):
        ended = datetime(2026, month, 1, tzinfo=UTC)
        sql = "UPDATE application_imports SET build_end = %(ended)s WHERE number = %(number)s"
        await execute(db, sql, ended=ended, number=number)
    await refresh(db, bank, third)
    approve = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Approve'")
    archive = await an_application(db, "Archive")
    await an_account(db, archive, "zoe", None)
    await totals(db, bank, _STAFF)
    await totals(db, archive, 1)
    return {"approve": approve, "bank": bank, "june": june}


async def _a_request(db: Db, bank: UUID) -> None:
    """Create a completed request that added one person to the group Clerks."""
    person = await fetch_value(db, "SELECT identity_id FROM accounts WHERE username = 'user01'")
    asked = NewPrivilege(header="Group", permission="Clerks")
    await an_access_request(db, application_id=bank, identity_id=person, privileges=[asked])
    await execute(
        db,
        """UPDATE access_requests SET status = 'Completed', resolved_on = '2026-01-01', completed_on = '2026-01-02'""",
    )
    await execute(db, "UPDATE privileges SET approved_access = 'Grant'")


# The name of a list, its path, and filters. Each list has rows, and most lists have more than one page.
CASES = [
    ("entitlements", "/api/entitlements", {}),
    ("entitlements", "/api/entitlements", {"kind": "Permission", "riskRating": "Low"}),
    ("entitlements", "/api/entitlements", {"search": "clo"}),
    ("entitlements", "/api/entitlements", {"asOf": "2026-02-01"}),
    ("entitlements", "/api/entitlements", {"asOf": "2026-02-01", "search": "app"}),
    ("holders", "/api/entitlements/{approve}/holders", {}),
    ("holders", "/api/entitlements/{approve}/holders", {"asOf": "2026-02-01"}),
    ("holders", "/api/entitlements/{approve}/holders", {"asOf": "{june}"}),
    ("holder-history", "/api/entitlements/{approve}/history", {}),
    ("holder-history", "/api/entitlements/{approve}/history", {"asOf": "2026-07-01"}),
    ("all-accounts", "/api/accounts", {}),
    ("all-accounts", "/api/accounts", {"match": "Pinned", "isActive": "true", "applicationId": "{bank}"}),
    ("all-accounts", "/api/accounts", {"search": "USER0"}),
    ("all-accounts", "/api/accounts", {"leaver": "false", "asOf": "2026-02-01"}),
]


def _filled(case: Any, ids: dict[str, Any]) -> tuple[str, str, dict[str, str]]:
    name, path, query = case
    return name, path.format(**ids), {key: value.format(**ids) for key, value in query.items()}


@pytest.mark.parametrize("case", CASES)
async def test_every_format_equals_the_list(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: Any
) -> None:
    # A batch size that divides neither the page size nor the number of accounts.
    monkeypatch.setattr(core, "_BATCH", 7)
    name, path, query = _filled(case, await a_bank(db))
    columns = LISTS[name].columns

    files = {
        format: await client.get(path, params={**query, "format": format})
        for format in ("csv", "xlsx", "jsonl", "parquet")
    }

    listed = await opening.whole_list(client, path, **query)
    assert listed
    rows = opening.as_rows(listed, columns)
    assert opening.from_jsonl(files["jsonl"].content) == listed
    assert opening.from_parquet(files["parquet"].content) == rows
    assert opening.from_csv(files["csv"].content, columns) == opening.safe(rows)
    for format in ("parquet", "csv"):
        file = tmp_path / f"list.{format}"
        file.write_bytes(files[format].content)
        assert len(opening.from_duckdb(file)) == len(listed)
    assert opening.from_duckdb(tmp_path / "list.parquet") == rows
    sheet, told = opening.from_xlsx(files["xlsx"].content)
    assert _texts(sheet, rows) == _texts(opening.safe(rows), rows)
    assert (told["List"], told["Rows"]) == (name, str(len(listed)))
    for format, answer in files.items():
        manifest = (await client.get(f"/api/exports/{answer.headers['x-export-id']}")).json()
        assert (manifest["rowCount"], manifest["format"], manifest["list"]) == (len(listed), format, name)
        assert manifest["sha256"] == hashlib.sha256(answer.content).hexdigest()
        assert query.items() <= manifest["filters"].items()


def _texts(rows: list[opening.Row], like: list[opening.Row]) -> list[opening.Row]:
    """Keep only text columns, with None for empty strings, because openpyxl returns None for empty strings.

    openpyxl also returns times without a zone, so times cannot be compared.
    """
    names = [name for name in like[0] if all(isinstance(row[name], str | None) for row in like)]
    return [{name: row[name] or None for name in names} for row in rows]


async def test_export_of_holders_contains_the_reasons(client: httpx2.AsyncClient, db: Db) -> None:
    ids = await a_bank(db)

    answer = await client.get(f"/api/entitlements/{ids['approve']}/holders?format=jsonl")

    by_name = {item["account"]["username"]: item for item in opening.from_jsonl(answer.content)}
    assert len(by_name["user01"]["why"]["accessRequests"]) == 1
    assert [model["name"] for model in by_name["user05"]["why"]["accessModels"]] == ["Clerks"]
    assert by_name["user05"]["path"] == ["Clerks", "Approvers"]
    assert by_name["user03"]["identity"] is None


async def test_export_of_history_contains_the_end_of_each_holding(client: httpx2.AsyncClient, db: Db) -> None:
    ids = await a_bank(db)

    answer = await client.get(f"/api/entitlements/{ids['approve']}/history?format=jsonl")

    told = [(i["account"]["username"], i["until"] and i["until"]["number"]) for i in opening.from_jsonl(answer.content)]
    assert told.count(("user00", ids["june"])) == 1
    assert told.count(("user00", None)) == 1
    assert ("user02", None) not in told


async def test_an_export_of_entitlements_counts_holders_and_stores_nothing(client: httpx2.AsyncClient, db: Db) -> None:
    await a_bank(db)

    answer = await client.get("/api/entitlements?format=jsonl")

    counted = {item["name"]: item["holders"] for item in opening.from_jsonl(answer.content)}
    assert counted["Approve"] == counted["Clerks"] == {"accounts": 48, "identities": 32}
    assert await fetch_value(db, "SELECT count(*) FROM holder_counts") == 0
    assert await fetch_value(db, "SELECT count(*) FROM stored_pages") == 0


_CHANGES = {
    "entitlements": "UPDATE entitlements SET display_name = 'Changed'",
    "holders": "UPDATE identities SET first_name = 'Changed'",
    "holder-history": "UPDATE access_model_versions SET definition = jsonb_set(definition, '{name}', '\"Changed\"')",
    "all-accounts": "UPDATE identities SET first_name = 'Changed'",
}


@pytest.mark.parametrize("name", _CHANGES)
async def test_all_queries_of_an_export_read_one_snapshot(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Change the records after the export was opened, before its first row is read."""
    path = next(path for list, path, _ in CASES if list == name).format(**await a_bank(db))
    check: Callable[..., Any] = core.check_size

    async def change_first(snapshot: Db, *rest: Any) -> None:
        await check(snapshot, *rest)
        await execute(db, _CHANGES[name])

    monkeypatch.setattr(exporting, "check_size", change_first)

    answer = await client.get(path, params={"format": "jsonl"})

    assert len(answer.content.splitlines()) > 3
    assert "Changed" not in answer.text
    assert "Changed" in (await client.get(path)).text


async def test_an_unknown_entitlement_is_not_found(client: httpx2.AsyncClient, db: Db) -> None:
    id = "00000000-0000-4000-8000-000000000000"

    answer = await client.get(f"/api/entitlements/{id}/holders?format=csv")

    assert answer.status_code == 404
    assert await fetch_rows(db, "SELECT id FROM exports") == []


@pytest.mark.parametrize("path", ["/api/entitlements", "/api/accounts"])
async def test_an_export_of_a_future_day_is_refused(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path, params={"asOf": "2199-01-01", "format": "csv"})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "asOf"
