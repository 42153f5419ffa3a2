"""Test exports: formats, permissions, limits, and downloads that end early."""

import asyncio
import threading
from typing import Any
from uuid import UUID

import httpx2
import pytest
from httpx2 import ASGITransport
from msgspec.structs import replace

from rolecall.core import exporting as core
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import RateLimited
from rolecall.core.formats.formats import KINDS, Format
from rolecall.web import exporting
from rolecall.web.limits import Slots
from rolecall.web.lists import LISTS
from tests.application_imports.running import Imports
from tests.builders import a_token, an_access_model, an_access_request, an_application, an_identity, an_import
from tests.duties.separating import a_company
from tests.holdings import an_account
from tests.reviews.reviewing import an_open_review

# A path for every list of the API; a placeholder stands for the id of the record that contains the list.
PATHS = {
    "access-model-members": "/api/access-models/{model}/members",
    "access-models": "/api/access-models",
    "access-requests": "/api/access-requests",
    "accounts": "/api/applications/{application}/accounts",
    "all-accounts": "/api/accounts",
    "applications": "/api/applications",
    "audit-events": "/api/audit-events",
    "changes": "/api/application-imports/{import}/changes",
    "conflict-exceptions": "/api/conflicts/exceptions",
    "conflicts": "/api/conflicts",
    "dry-run-changes": "/api/dry-runs/{dry_run}/changes",
    "dry-run-rejects": "/api/dry-runs/{dry_run}/rejects",
    "duties": "/api/duties",
    "duty-holders": "/api/duties/{duty}/holders",
    "duty-rules": "/api/duty-rules",
    "entitlements": "/api/entitlements",
    "events": "/api/personnel-events",
    "exports": "/api/exports",
    "groups": "/api/applications/{application}/groups",
    "holder-history": "/api/entitlements/{entitlement}/history",
    "holders": "/api/entitlements/{entitlement}/holders",
    "identities": "/api/identities",
    "imports": "/api/application-imports",
    "leftovers": "/api/access-requests/leftovers",
    "notification-messages": "/api/notification-messages",
    "notifications": "/api/notifications",
    "permissions": "/api/applications/{application}/permissions",
    "new-access": "/api/reviews/{review}/new-access",
    "rejects": "/api/application-imports/{import}/rejects",
    "report-runs": "/api/reports/{report}/runs",
    "reports": "/api/reports",
    "review-items": "/api/reviews/{review}/items",
    "review-coverage": "/api/reviews/coverage",
    "review-templates": "/api/review-templates",
    "reviews": "/api/reviews",
    "search-identities": "/api/identities/search?q=Ada",
    "stalled-requests": "/api/access-requests/stalled",
    "stand-ins": "/api/stand-ins",
    "tokens": "/api/tokens",
    "webhook-deliveries": "/api/webhook-deliveries",
    "webhooks": "/api/webhooks",
}


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        ("", None),
        ("*/*", None),
        ("application/json", None),
        ("text/html,application/xhtml+xml,*/*;q=0.8", None),
        ("text/csv", Format.CSV),
        ("TEXT/CSV; charset=utf-8", Format.CSV),
        ("application/json, text/csv", None),
        ("application/json;q=0.5, text/csv", Format.CSV),
        ("text/csv;q=0", None),
        ("text/csv;q=x, application/vnd.apache.parquet;q=0.1", Format.PARQUET),
        ("application/x-ndjson", Format.JSONL),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", Format.XLSX),
        ("image/png", None),
    ],
)
def test_accept_header_selects_the_format(accept: str, format: Format | None) -> None:
    assert exporting.accepted(accept) == format


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "image/png"])
async def test_accept_header_without_an_export_format_returns_a_page(
    client: httpx2.AsyncClient, db: Db, accept: str
) -> None:
    await an_identity(db)

    answer = await client.get("/api/identities", headers={"Accept": accept})

    assert answer.headers["content-type"] == "application/json"
    assert "x-export-id" not in answer.headers
    assert list(answer.json()) == ["items", "totalCount", "page", "pageSize", "totalPages"]


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("format=pdf", "format", "Format must be one of json, csv, xlsx, jsonl, parquet"),
        ("format=csv&format=xlsx", "format", "Format must be given once"),
        ("format=csv&status=odd", "status", None),
    ],
)
async def test_invalid_export_request_is_refused(
    client: httpx2.AsyncClient, query: str, field: str, message: str | None
) -> None:
    answer = await client.get(f"/api/access-requests?{query}")

    assert answer.status_code == 400
    [problem] = answer.json()["errors"]
    assert problem["field"] == field
    assert message in (None, problem["message"])


async def test_export_of_a_list_of_an_unknown_record_is_not_found(client: httpx2.AsyncClient) -> None:
    id = "00000000-0000-4000-8000-000000000000"

    answer = await client.get(f"/api/applications/{id}/accounts?format=csv")

    assert answer.status_code == 404
    assert answer.json()["message"] == f"Application with id {id} not found"


def test_every_list_of_the_api_has_a_path_in_this_test() -> None:
    assert set(LISTS) == set(PATHS)


@pytest.mark.parametrize("name", PATHS)
async def test_an_export_has_the_rows_of_its_list(
    client: httpx2.AsyncClient, db: Db, config: Config, name: str
) -> None:
    await an_identity(db)
    application = await an_application(db)
    await an_access_request(db, application_id=application)
    model = await an_access_model(db)
    await an_account(db, application, "ada", None, permissions=(("Books", "Close", "Grant", "Low"),))
    entitlement = await fetch_value(db, "SELECT id FROM entitlements")
    ids = {"application": application, "import": await an_import(db, application, "Finished"), "model": model}
    ids["dry_run"] = (await Imports(client, config).start_dry_run(application, {"Users": "Username\nada\n"}))["id"]
    body = {"name": "People", "list": "identities"}
    ids["report"] = (await client.post("/api/reports", json=body)).json()["id"]
    ids["duty"] = (await a_company(db)).prepare
    ids["review"] = UUID(await an_open_review(client, "Application"))
    path = PATHS[name].format(**ids, entitlement=entitlement)
    total = (await client.get(path)).json()["totalCount"]

    answer = await client.get(path, headers={"Accept": "application/jsonl"})

    assert answer.status_code == 200, answer.text
    assert len(answer.content.splitlines()) == total
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{name}.jsonl"')


@pytest.mark.parametrize("name", PATHS)
async def test_an_export_needs_the_scope_of_its_list(client: httpx2.AsyncClient, db: Db, name: str) -> None:
    scope = LISTS[name].scope
    others = await a_token(db, "others", scopes=[one for one in KNOWN_SCOPES if one != scope])

    answer = await client.get(
        PATHS[name].format(
            **dict.fromkeys(
                ("application", "import", "model", "entitlement", "dry_run", "report", "duty", "review"), "x"
            )
        ),
        params={"format": "csv"} if "?" not in PATHS[name] else None,
        headers={"Authorization": f"Bearer {others.secret}", "Accept": "text/csv"},
    )

    assert answer.status_code == 403
    assert await fetch_value(db, "SELECT count(*) FROM exports") == 0


KNOWN_SCOPES = sorted({str(spec.scope) for spec in LISTS.values()} | {"config:manage"})


async def test_only_the_caller_and_auditors_can_read_a_manifest(client: httpx2.AsyncClient, db: Db) -> None:
    own = await a_token(db, "own", scopes=["identities:read", "applications:read"])
    other = await a_token(db, "other", scopes=["applications:read"])
    auditor = await a_token(db, "auditor", scopes=["applications:read", "audit:read"])

    async def get(path: str, secret: str) -> httpx2.Response:
        return await client.get(path, headers={"Authorization": f"Bearer {secret}"})

    id = (await get("/api/identities?format=csv", own.secret)).headers["x-export-id"]

    assert (await get(f"/api/exports/{id}", own.secret)).status_code == 200
    assert (await get(f"/api/exports/{id}", other.secret)).status_code == 404
    assert (await get(f"/api/exports/{id}", auditor.secret)).status_code == 200
    assert (await get("/api/exports", other.secret)).json()["totalCount"] == 0
    assert (await get("/api/exports", auditor.secret)).json()["totalCount"] == 1


async def test_list_too_long_for_xlsx_is_refused_and_other_formats_are_suggested(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, Format.XLSX, replace(KINDS[Format.XLSX], most_rows=1))
    await an_identity(db)
    await an_identity(db, "Grace", "Hopper")

    answer = await client.get("/api/identities?format=xlsx")

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {
            "field": "format",
            "message": "A list of more than 1 rows does not fit into xlsx; use one of csv, jsonl, parquet",
        }
    ]


async def test_more_exports_than_allowed_at_once_are_refused(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "MOST_AT_ONCE", 0)

    answer = await client.get("/api/identities?format=csv")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")


async def _wait_for(db: Db, sql: str, expected: Any) -> None:
    async with asyncio.timeout(20):
        while await fetch_value(db, sql) != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


_CURSORS = """SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND starts_with(state, 'idle in transaction')"""


@pytest.mark.parametrize("format", Format)
async def test_abandoned_download_releases_its_connection(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    monkeypatch.setattr(core, "_BATCH", 2)
    for number in range(20):
        await an_identity(db, "Ada", f"Lovelace{number}")
    transport = client._transport
    assert isinstance(transport, ASGITransport)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/api/identities",
        "raw_path": b"/api/identities",
        "query_string": f"format={format}".encode(),
        "headers": [(b"authorization", client.headers["authorization"].encode()), (b"host", b"rolecall.test")],
        "scheme": "http",
        "server": ("rolecall.test", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    left = asyncio.Event()
    received = [{"type": "http.request", "body": b"", "more_body": False}]
    before = await fetch_value(db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")

    async def receive() -> dict[str, Any]:
        if received:
            return received.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        # The client reads the headers and disconnects.
        if message["type"] == "http.response.start":
            left.set()
        else:
            await asyncio.Event().wait()

    async with asyncio.timeout(20):
        await transport.app(scope, receive, send)  # type: ignore[arg-type]

    # A file of one chunk is complete, and recorded, before its first byte is sent.
    ended = ("Finished", None) if format is Format.PARQUET else ("Abandoned", "The client disconnected")
    assert await fetch_rows(db, "SELECT status, reason FROM exports") == [ended]
    await _wait_for(db, _CURSORS, 0)
    # The connection of the export is closed. A connection that the pool opened may stay open.
    after = await fetch_value(db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
    assert after <= before + 1
    async with asyncio.timeout(20):
        while any(thread.name.startswith(("export", "parquet")) for thread in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_export_reads_one_snapshot(client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "_BATCH", 1)
    await an_identity(db, "Ada", "Lovelace")
    await an_identity(db, "Grace", "Hopper")
    # Open the list, rename everyone, and only then read the list.
    begin = core.check_size

    async def rename_first(snapshot: Db, *rest: Any) -> None:
        await begin(snapshot, *rest)
        await execute(db, "UPDATE identities SET first_name = 'Nobody'")

    monkeypatch.setattr(exporting, "check_size", rename_first)
    await client.get("/api/identities")

    answer = await client.get("/api/identities?format=csv")

    assert "Nobody" not in answer.text
    assert "Ada" in answer.text


@pytest.mark.parametrize(("query", "headers"), [("?format=csv", {}), ("", {"Accept": "text/csv"})])
async def test_head_does_not_build_an_export(client: httpx2.AsyncClient, db: Db, query: str, headers: Any) -> None:
    answer = await client.head(f"/api/identities{query}", headers=headers)

    assert answer.status_code == 400
    assert await fetch_value(db, "SELECT count(*) FROM exports") == 0


def test_one_caller_cannot_take_every_export_slot() -> None:
    slots = Slots()
    with slots.taken(4, "exports", "ada", 2), slots.taken(4, "exports", "ada", 2):
        with pytest.raises(RateLimited), slots.taken(4, "exports", "ada", 2):
            pass
        with slots.taken(4, "exports", "bo", 2):
            pass
    with slots.taken(4, "exports", "ada", 2):
        pass
