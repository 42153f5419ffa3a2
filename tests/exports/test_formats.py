"""Export lists in every format, open the files with other programs, and compare them with the list."""

import hashlib
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import openpyxl
import pytest

from rolecall.core.db import Db
from rolecall.core.formats.columns import columns_of
from rolecall.core.formats.formats import Format, new_file
from rolecall.core.formats.manifest import ExportManifest
from rolecall.core.formats.parquet_file import ParquetFile
from rolecall.core.ids import new_id
from rolecall.web.lists import LISTS
from tests.builders import an_access_request, an_application, an_identity, an_import
from tests.exports import opening

FORMATS = ["csv", "xlsx", "jsonl", "parquet"]
# Text that spreadsheets would execute, and text that formats must escape.
HOSTILE = [
    "=1+1",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    '=HYPERLINK("http://x","y")',
    "＝cmd|' /C calc'!A0",
    'quote " comma , semicolon ;',
    "line one\nline two",
    "_x0041_",
    "<b>&amp;</b>",
    "Élan 漢字 🦉",
    "'already",
]


class _Note(msgspec.Struct):
    text: str


def columns(name: str) -> Any:
    return LISTS[name].columns


async def people(db: Db, count: int = 60) -> None:
    for number in range(count):
        await an_identity(db, f"First{number}", f"Last{number:03}", title=HOSTILE[number % len(HOSTILE)])


async def test_csv_export_equals_the_list(client: httpx2.AsyncClient, db: Db) -> None:
    await people(db)
    listed = await opening.whole_list(client, "/api/identities")

    answer = await client.get("/api/identities", params={"format": "csv"})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="identities.csv"')
    rows = opening.from_csv(answer.content, columns("identities"))
    assert rows == opening.safe(opening.as_rows(listed, columns("identities")))


async def test_parquet_export_equals_the_list(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> None:
    await people(db)
    listed = opening.as_rows(await opening.whole_list(client, "/api/identities"), columns("identities"))

    answer = await client.get("/api/identities", params={"format": "parquet"})

    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert opening.from_parquet(answer.content) == listed
    file = tmp_path / "list.parquet"
    file.write_bytes(answer.content)
    assert opening.from_duckdb(file) == listed


async def test_duckdb_reads_the_csv(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> None:
    await people(db)
    file = tmp_path / "list.csv"
    file.write_bytes((await client.get("/api/identities", params={"format": "csv"})).content)

    rows = opening.from_duckdb(file)

    listed = await opening.whole_list(client, "/api/identities")
    assert [row["lastName"] for row in rows] == [one["lastName"] for one in listed]


async def test_json_lines_are_the_items_of_the_list(client: httpx2.AsyncClient, db: Db) -> None:
    await people(db)

    answer = await client.get("/api/identities", params={"format": "jsonl"})

    assert opening.from_jsonl(answer.content) == await opening.whole_list(client, "/api/identities")


async def test_xlsx_equals_the_list_and_ends_with_its_manifest(client: httpx2.AsyncClient, db: Db) -> None:
    await people(db)
    listed = opening.safe(opening.as_rows(await opening.whole_list(client, "/api/identities"), columns("identities")))

    answer = await client.get("/api/identities", params={"format": "xlsx"})

    rows, manifest = opening.from_xlsx(answer.content)
    assert len(rows) == len(listed) == 60
    for found, expected in zip(rows, listed, strict=True):
        # openpyxl does not unescape characters, and drops the zone and the microseconds of times.
        assert found["title"].replace("_x005F_", "_").replace("_x000D_", "\r") == expected["title"]
        assert found["createdDate"].replace(tzinfo=UTC) - expected["createdDate"] < timedelta(milliseconds=1)
        plain = {name for name in expected if isinstance(expected[name], str) and expected[name] and name != "title"}
        assert {name: found[name] for name in plain} == {name: expected[name] for name in plain}
    assert manifest["List"] == "identities"
    assert manifest["Rows"] == "60"
    assert manifest["Exported by"] == "API Token - tests"
    assert manifest["Export"] == answer.headers["x-export-id"]


@pytest.mark.parametrize("format", FORMATS)
async def test_export_of_an_empty_list_has_no_rows(client: httpx2.AsyncClient, format: str) -> None:
    answer = await client.get("/api/personnel-events", params={"format": format})

    assert answer.status_code == 200
    readers: dict[str, Any] = {
        "csv": lambda content: opening.from_csv(content, columns("events")),
        "xlsx": lambda content: opening.from_xlsx(content)[0],
        "jsonl": opening.from_jsonl,
        "parquet": opening.from_parquet,
    }
    assert readers[format](answer.content) == []


async def test_export_applies_the_filters_of_the_list(client: httpx2.AsyncClient, db: Db) -> None:
    payroll, ledger = await an_application(db, "Payroll"), await an_application(db, "Ledger")
    for application in (payroll, ledger, payroll):
        await an_access_request(db, application_id=application)
    query = {"applicationId": str(payroll), "status": "pending"}

    answer = await client.get("/api/access-requests", params={**query, "format": "parquet"})

    listed = await opening.whole_list(client, "/api/access-requests", **query)
    assert len(listed) == 2
    assert opening.from_parquet(answer.content) == opening.as_rows(listed, columns("access-requests"))
    manifest = (await client.get(f"/api/exports/{answer.headers['x-export-id']}")).json()
    assert manifest["filters"] == query


async def test_export_has_a_manifest(client: httpx2.AsyncClient, db: Db) -> None:
    await people(db, 3)

    answer = await client.get("/api/identities", headers={"Accept": "text/csv"})

    manifest = (await client.get(f"/api/exports/{answer.headers['x-export-id']}")).json()
    assert manifest["sha256"] == hashlib.sha256(answer.content).hexdigest()
    assert (manifest["rowCount"], manifest["byteCount"]) == (3, len(answer.content))
    assert (manifest["list"], manifest["format"], manifest["status"]) == ("identities", "csv", "Finished")
    assert manifest["createdBy"]["name"] == "API Token - tests"
    assert manifest["columns"][:3] == ["id", "kind", "firstName"]
    assert datetime.fromisoformat(manifest["finishedOn"]) >= datetime.fromisoformat(manifest["startedOn"])


def test_xlsx_truncates_text_to_the_size_limit_of_a_cell() -> None:
    columns = columns_of(_Note)
    file = new_file(Format.XLSX, columns)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    manifest = ExportManifest(id=new_id(), list="notes", filters={}, created_by="x", started_on=start, row_count=3)
    texts = ["🦉" * 32_767, "a" + "🦉" * 32_767, "b" * 32_766]

    content = file.feed([_Note(text) for text in texts]) + file.end(manifest)

    cells = [row[0].value for row in openpyxl.load_workbook(BytesIO(content))["List"].iter_rows(min_row=2)]
    assert [len(cell.encode("utf-16-le")) // 2 for cell in cells] == [32_765, 32_766, 32_766]
    assert [cell[-1] for cell in cells] == ["…", "…", "b"]


def test_an_abandoned_parquet_file_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    file = ParquetFile(columns_of(_Note))
    # Simulate that the thread takes the last frame just after the queue was found not to be empty.
    monkeypatch.setattr(file._frames, "empty", lambda: False)

    file.close()

    assert not file._thread.is_alive()


async def test_an_export_is_audited(client: httpx2.AsyncClient, db: Db) -> None:
    await an_import(db)

    id = (await client.get("/api/application-imports", params={"format": "jsonl"})).headers["x-export-id"]

    entries = (await client.get("/api/audit-events", params={"entityId": id})).json()["items"]
    assert [entry["action"] for entry in entries] == ["Finish export", "Export list"]
    assert entries[-1]["caller"]["name"] == "API Token - tests"
    assert entries[-1]["entity"] == {"id": id, "kind": "Export", "name": "imports"}
    assert entries[0]["after"]["rowCount"] == 1
    assert len(entries[0]["after"]["sha256"]) == 64
