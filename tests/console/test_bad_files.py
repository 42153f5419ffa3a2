"""Test that bad files in the wizard and in imports are refused with advice, and nothing is stored."""

from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.file_shapes.files import proposing
from tests.application_imports.running import Imports
from tests.builders import an_application
from tests.file_shapes.test_bad_input import archive

WIDE = ",".join(f"c{n}" for n in range(120_000)).encode() + b"\n" + b"," * 119_999 + b"\n"
UNREADABLE = {
    "zip": (archive(), "the file is a zip archive with users.csv; unpack it and choose the file inside"),
    "pdf": (b"%PDF-1.7 ...", "the file is a PDF; export the list as CSV, XLSX, JSON, LDIF or Parquet"),
    "empty": (b"", "the file is empty; export it again"),
    "wide": (WIDE, "line 1 has more than 20,000 columns; set shape.delimiter to the delimiter of the file"),
}
TABLES = "accounts", "groups", "memberships", "permissions", "assignments", "identities", "dry_runs", "dry_run_files"


async def counts(db: Db) -> list[int]:
    return [await fetch_value(db, f"SELECT count(*) FROM {table}") for table in TABLES]


def stored_files(config: Config) -> list[str]:
    return [path.name for path in config.store.folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", UNREADABLE)
async def test_wizard_refuses_unreadable_file(
    administrator: httpx2.AsyncClient, db: Db, config: Config, kind: str
) -> None:
    content, sentence = UNREADABLE[kind]
    before, kept = await counts(db), stored_files(config)

    answer = await administrator.post("/drafts/new", files=[("files", ("file", content))], data={"name": "New"})

    assert answer.status_code == 400
    assert sentence in answer.text
    assert (await counts(db), stored_files(config)) == (before, kept)
    assert await fetch_value(db, "SELECT count(*) FROM applications") == 0


@pytest.mark.parametrize(
    ("content", "group", "sentence"),
    [
        (UNREADABLE["zip"][0], {}, "the file is a ZIP archive with users.csv inside; unpack it"),
        (UNREADABLE["pdf"][0], {}, "the file is a PDF; export the list as CSV, XLSX, JSON, LDIF or Parquet"),
        (b"\n \n", {}, "the file is empty"),
        (
            WIDE,
            {},
            "there are 120,000 columns, but at most 20,000 are read; check shape.delimiter and shape.headerLine",
        ),
        (
            b"Username,Groups\nada,a;b\n",
            {"shape": {"split": {"Teams": ";"}}},
            "shape.split names the column Teams, which the file does not have; the columns found are Username, Groups",
        ),
        (
            b"Username,Last Login\nada,01/02/2026\nbob,03/04/2026\n",
            {},
            "in which day and month are ambiguous; set shape.dates.Last Login to day first or month first",
        ),
        (b"Some title\nUsername,Name\nada,Ada\n", {}, "line 2 looks like the header; set shape.headerLine: 2"),
    ],
    ids=["zip", "pdf", "empty", "wide", "missing column", "ambiguous dates", "header below"],
)
async def test_import_of_a_bad_file_fails_with_an_explanation(
    client: httpx2.AsyncClient, db: Db, config: Config, content: bytes, group: dict[str, Any], sentence: str
) -> None:
    files = [{"name": "Users", "content": "users", **group}]
    application = await an_application(db, connector={"name": "Files", "files": files})

    run = await Imports(client, config).run(application, {"Users": content})

    assert run["status"] == "Failed"
    assert sentence in run["log"]
    assert await counts(db) == [0] * len(TABLES)


async def test_matrix_of_a_million_cells_is_refused_with_advice(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    files = [{"name": "Rights", "content": "permissions"}]
    application = await an_application(db, connector={"name": "Files", "files": files})
    header = "login," + ",".join(f"p{n}" for n in range(1000))
    matrix = "\n".join([header, *(f"u{m}" + ",x" * 1000 for m in range(1000)), ""])

    run = await Imports(client, config).run(application, {"Rights": matrix})

    assert run["status"] == "Failed"
    assert "It looks like a matrix: set shape.unpivot, or map a column in columns" in run["log"]
    assert await counts(db) == [0] * len(TABLES)


async def test_file_with_an_open_question_is_stored_only_as_a_draft(administrator: httpx2.AsyncClient, db: Db) -> None:
    text = b"Username,Name,Email\nBenutzer,Name,Mail\nada,Ada Byron,a@b.co\nbob,Bob Kahn,b@b.co\n"

    answer = await administrator.post("/drafts/new", files=[("files", ("a.csv", text))], data={"name": "New"})
    page = (await administrator.get(answer.headers["location"])).text

    assert "Line 2 looks like a header too. Which line is the header?" in page
    assert (await counts(db))[:4] == [0] * 4
    assert await fetch_value(db, "SELECT count(*) FROM applications") == 0


@pytest.mark.parametrize(
    ("limit", "value", "sentence"),
    [
        ("MEMORY", 1, "Reading the files needs more memory than a proposal may use; save the data as CSV"),
        ("LONGEST_SECONDS", 0.0, "Reading the files takes longer than a proposal may take; save the data as CSV"),
    ],
)
async def test_proposal_beyond_a_limit_is_refused(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, sentence: str
) -> None:
    """Only the child process that reads the files ends; the service keeps running."""
    files = [("file", ("users.csv", b"Username\nada\n"))]
    with monkeypatch.context() as lower:
        lower.setattr(proposing, limit, value)
        refused = await client.post("/api/file-shapes/propose", files=files)

    after = await client.post("/api/file-shapes/propose", files=files)

    assert (refused.status_code, after.status_code) == (400, 200)
    assert sentence in refused.text
