"""Test that an import reads all records of a JSON API, or fails and keeps the data."""

from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources import http_client
from rolecall.sources.kinds import connect
from rolecall.sources.model import Source, SourceAccess, SourceContent, SourceKind
from rolecall.sources.snapshot import complete
from tests.sources.rest_server import CONTENTS, HangUp, RestServer
from tests.sources.sourcing import Sourcing, a_sourced_application

Fault = Callable[[RestServer, web.Request], web.StreamResponse | None]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "RETRY_PAUSES", (0.01, 0.01))


@pytest.mark.parametrize("style", CONTENTS)
async def test_every_paging_style_reads_all_records(sourcing: Sourcing, server: RestServer, style: str) -> None:
    assert (await sourcing.put(server.url, CONTENTS[style])).status_code == 200

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert "Users: fetched 25 records from 127.0.0.1 by REST" in run["log"]
    assert [file["name"] for file in run["files"]] == ["Users.jsonl"]
    assert await sourcing.usernames() == sorted(person["Username"] for person in server.records)


async def test_nested_values_are_mapped_as_in_files(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Next"])
    await sourcing.fetch()

    accounts = await sourcing.imports.items(f"/api/applications/{sourcing.id}/accounts")

    assert {each["username"]: (each["email"], each["isActive"]) for each in accounts}["user7"] == (
        "user7@example.com",
        False,
    )


async def test_second_fetch_counts_changes(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Link"])
    await sourcing.fetch()
    server.records = [{**server.records[0], "Name": "Renamed"}, *server.records[1:24], {**server.records[24]}]
    server.records.pop()

    run = await sourcing.fetch()

    users = run["metrics"]["users"]
    assert (users["total"], users["new"], users["altered"], users["removed"]) == (24, 0, 1, 1)


async def test_same_records_are_recognized_as_unchanged(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Cursor"])
    await sourcing.fetch()

    run = await sourcing.fetch()

    assert "The same files as before" in run["log"]


async def test_schedule_fetches_from_the_source(
    client: httpx2.AsyncClient, db: Db, config: Config, server: RestServer
) -> None:
    sourcing = await a_sourced_application(client, db, config, schedule={"cron": "0 6 * * *"})

    detail = (await sourcing.put(server.url, CONTENTS["None"])).json()

    assert detail["nextRun"] is not None
    assert (await sourcing.fetch())["status"] == "Finished"


def _on_page(number: int, answer: Callable[[], web.StreamResponse]) -> Fault:
    def before(server: RestServer, _: web.Request) -> web.StreamResponse | None:
        return answer() if len(server.asked) >= number else None

    return before


def _repeat_first_page(server: RestServer, request: web.Request) -> web.StreamResponse | None:
    if request.query.get("cursor") != "c10":
        return None
    return web.json_response({"items": server.part(0), "meta": {"next": "c20"}})


def _endless(server: RestServer, _: web.Request) -> web.StreamResponse:
    number = len(server.asked)
    record = {"id": f"x{number}", "Username": f"x{number}"}
    return web.json_response({"items": [record], "meta": {"next": f"c{number}"}})


def _endless_nothing(server: RestServer, _: web.Request) -> web.StreamResponse:
    return web.json_response({"items": [], "meta": {"next": f"c{len(server.asked)}"}})


def _same_cursor(server: RestServer, _: web.Request) -> web.StreamResponse:
    return web.json_response({"items": [{"Username": str(len(server.asked))}], "meta": {"next": "c1"}})


FAULTS: dict[str, tuple[Fault, str]] = {
    "stops half-way": (_on_page(2, HangUp), "closed the connection before the response was complete"),
    "page twice": (_repeat_first_page, "the record with id u000000 was received twice"),
    "server error": (_on_page(2, lambda: web.Response(status=500)), "the server responded with 500"),
    "not found": (_on_page(1, lambda: web.Response(status=404)), "the server responded with 404"),
    "web page": (
        _on_page(2, lambda: web.Response(text="<html>Sign in</html>", content_type="text/html")),
        "a web page instead of JSON",
    ),
    "no JSON": (_on_page(1, lambda: web.Response(text='[{"id":')), "the response is not JSON"),
    "credentials expired": (_on_page(2, lambda: web.Response(status=401)), "refuses the credentials (401)"),
    "endless pages": (_endless, "larger than 5,000 bytes"),
    "endless empty pages": (_endless_nothing, "the list does not end"),
    "same cursor": (_same_cursor, "keeps referring to the same page"),
    "no list": (_on_page(1, lambda: web.json_response({"people": [], "count": 0})), "the response has people, count"),
    "texts": (_on_page(1, lambda: web.json_response({"items": ["ada"]})), "a record is a string instead of an object"),
    "nulls": (_on_page(1, lambda: web.json_response({"items": [None]})), "a record is null instead of an object"),
    "busy": (_on_page(2, lambda: web.Response(status=429)), "the server responded with 429"),
    "long wait": (
        _on_page(2, lambda: web.Response(status=429, headers={"Retry-After": "86400"})),
        "asks to wait 86,400 s",
    ),
    "another host": (
        _on_page(2, lambda: web.Response(status=302, headers={"Location": "https://evil.example.com/"})),
        "the server refers to https://evil.example.com; only",
    ),
    "redirects in a circle": (
        _on_page(1, lambda: web.Response(status=302, headers={"Location": "/cursor"})),
        "redirects more than 5 times",
    ),
    "no records": (_on_page(1, lambda: web.json_response({"items": []})), "the source returned no records"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_import_fails_on_a_fault_and_keeps_the_data(
    client: httpx2.AsyncClient, db: Db, config: Config, server: RestServer, name: str
) -> None:
    fault, reason = FAULTS[name]
    limited = msgspec.structs.replace(config, max_snapshot_bytes=5000)
    sourcing = await a_sourced_application(client, db, limited)
    await sourcing.put(server.url, CONTENTS["Cursor"])
    assert (await sourcing.fetch())["status"] == "Finished"
    before = await sourcing.usernames()
    server.before, server.asked[:] = fault, []

    run = await sourcing.fetch()

    assert run["status"] == "Failed", run["log"]
    assert reason in run["log"]
    assert run["files"] == []
    assert await sourcing.usernames() == before
    detail = (await client.get(sourcing.path)).json()
    assert reason in detail["lastFailure"]


def _page_total(server: RestServer, request: web.Request) -> web.Response:
    found = server.part((int(request.query["page"]) - 1) * 10)
    return web.json_response({"data": {"users": found}, "meta": {"total": len(found)}})


def _overlapping(server: RestServer, request: web.Request) -> web.Response:
    found = server.part({"1": 0, "2": 5, "3": 20}[request.query["page"]])
    bare = [{name: value for name, value in person.items() if name != "id"} for person in found]
    return web.json_response({"data": {"users": bare}, "meta": {"total": 25}})


# For each mistake: the content of the source, the function that replaces a response, and why the import fails. If the
# import succeeded, records would be missing.
PARTS: dict[str, tuple[dict[str, Any], Fault | None, str]] = {
    "mistyped cursor": ({**CONTENTS["Cursor"], "next": "meta.nxt"}, None, 'by meta.next, but "next" is meta.nxt'),
    "mistyped next": ({**CONTENTS["Next"], "next": "@odata.nextlink"}, None, 'by @odata.nextLink, but "next" is'),
    "paging by Link is not set": ({"path": "link"}, None, 'rel="next", but "paging" is None'),
    "paging by next is not set": (
        {"path": "next", "records": "value"},
        None,
        'by @odata.nextLink, but "paging" is None',
    ),
    "total of the page": (CONTENTS["Page"], _page_total, "announced 10 records and sent more"),
    "overlapping pages without ids": (CONTENTS["Page"], _overlapping, "a record was received twice"),
    "empty page with errors": (
        CONTENTS["Offset"],
        _on_page(2, lambda: web.json_response({"items": [], "errors": [{"message": "timeout"}]})),
        "the source returned an error in a page of the list",
    ),
    "page with errors": (
        CONTENTS["Offset"],
        _on_page(2, lambda: web.json_response({"items": [{"id": "x"}], "errors": [{"message": "timeout"}]})),
        "the source returned an error in a page of the list",
    ),
}
# Members of a response that indicate more records, as well-known services send them.
SIGNS: list[dict[str, Any]] = [
    {"total": 25},
    {"meta": {"totalCount": 25}},
    {"@odata.count": 25},
    {"page": {"totalElements": 25}},
    {"nextRecordsUrl": "/users/2"},
    {"done": False},
    {"isLast": False},
    {"IsTruncated": True},
    {"NextMarker": "m"},
    {"continuationToken": "t"},
    {"offset": "itr/rec"},
    {"has_more": True},
]


@pytest.mark.parametrize("sign", SIGNS, ids=map(str, SIGNS))
async def test_import_fails_if_the_response_indicates_more_records(
    sourcing: Sourcing, server: RestServer, sign: dict[str, Any]
) -> None:
    server.before = lambda server, _: web.json_response({"users": server.records[:10], **sign})
    await sourcing.put(server.url, {"path": "users", "records": "users"})

    run = await sourcing.fetch()

    assert run["status"] == "Failed", run["log"]
    assert "the response refers to a next page by" in run["log"]


async def test_end_of_a_list_does_not_indicate_more_records(sourcing: Sourcing, server: RestServer) -> None:
    end = {"total": 25, "offset": 0, "has_more": False, "next": None, "done": True, "cursor": "c", "last": 3}
    server.before = lambda server, _: web.json_response({"users": server.records, **end})
    await sourcing.put(server.url, {"path": "users", "records": "users"})

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]


async def test_only_the_configured_total_counts(sourcing: Sourcing, server: RestServer) -> None:
    server.before = lambda server, _: web.json_response({"users": server.records, "size": 25, "total": 1000})
    await sourcing.put(server.url, {"path": "users", "records": "users", "total": "size"})

    assert (await sourcing.fetch())["status"] == "Finished"


async def test_long_message_of_a_server_is_truncated(sourcing: Sourcing, server: RestServer) -> None:
    server.before = lambda _, __: web.json_response({"x" * 1_000_000: 1})
    await sourcing.put(server.url, CONTENTS["None"])

    run = await sourcing.fetch()

    assert run["status"] == "Failed"
    assert len(run["log"]) < 2000


@pytest.mark.parametrize("name", PARTS)
async def test_incomplete_list_is_not_imported(sourcing: Sourcing, server: RestServer, name: str) -> None:
    content, server.before, reason = PARTS[name]
    await sourcing.put(server.url, content)

    (tested,) = (await sourcing.test())["contents"]
    server.asked[:] = []
    run = await sourcing.fetch()

    assert run["status"] == "Failed", run["log"]
    assert reason in run["log"]
    assert not tested["isComplete"]


@pytest.mark.parametrize("beyond", [lambda server, _: web.Response(status=404), lambda server, _: _on_one_page(server)])
async def test_single_page_is_the_whole_list(sourcing: Sourcing, server: RestServer, beyond: Fault) -> None:
    """A server may refuse a page after the last one, or ignore paging and return the same page."""
    server.page_size = 25
    server.before = lambda server, request: beyond(server, request) if len(server.asked) > 1 else None
    await sourcing.put(server.url, CONTENTS["Page"])

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert len(server.asked) == 2


def _on_one_page(server: RestServer) -> web.Response:
    return web.json_response({"data": {"users": server.records}, "meta": {"total": 25}})


async def test_fetch_waits_for_a_busy_server(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Cursor"])
    refusals = [web.Response(status=429, headers={"Retry-After": "1"}), web.Response(status=503)]

    def before(server: RestServer, _: web.Request) -> web.StreamResponse | None:
        return refusals.pop(0) if refusals and len(server.asked) > 1 else None

    server.before = before

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert len(server.asked) == 5


async def test_list_that_changes_is_read_again(sourcing: Sourcing, server: RestServer) -> None:
    """A record that is removed from an earlier page shifts later records, so one of them would be missed."""
    await sourcing.put(server.url, CONTENTS["Page"])

    def before(server: RestServer, _: web.Request) -> None:
        if len(server.asked) == 2:
            server.records.pop(0)

    server.before = before

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert "read 2 times, because the list changed meanwhile" in run["log"]
    assert len(await sourcing.usernames()) == 24


async def test_fetch_fails_if_the_list_changes_every_time(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Page"])

    def before(server: RestServer, _: web.Request) -> None:
        server.records.pop(0)

    server.before = before

    run = await sourcing.fetch()

    assert run["status"] == "Failed"
    assert "the list changed while it was read: " in run["log"]


async def test_group_of_many_members_gives_one_record_per_member(
    client: httpx2.AsyncClient, db: Db, config: Config, server: RestServer
) -> None:
    connector: dict[str, Any] = {
        "name": "Live",
        "files": [
            {"name": "Users", "content": "users", "shape": {"ignore": ["id"]}},
            {
                "name": "Members",
                "content": "memberships",
                "columns": {"members": "Username", "displayName": "Group"},
                "shape": {"ignore": ["id"]},
            },
        ],
    }
    sourcing = await a_sourced_application(client, db, config, connector)
    members = [person["Username"] for person in server.records]
    server.before = lambda server, request: (
        web.json_response([{"id": "g1", "displayName": "Everyone", "members": members}])
        if request.path == "/groups"
        else None
    )
    contents = {"Users": CONTENTS["None"], "Members": {"path": "groups", "each": "members"}}
    assert (await sourcing.put(server.url, contents=contents)).status_code == 200

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert "Members: fetched 25 records" in run["log"]

    contents["Members"]["each"] = "Members"
    await sourcing.put(server.url, contents=contents)
    (_, tested), wrong = (await sourcing.test())["contents"], await sourcing.fetch()

    reason = 'no record has "Members", the value of "each"; the first record has id, displayName, members'
    assert (wrong["status"], tested["problem"]) == ("Failed", reason)
    assert reason in wrong["log"]


async def test_record_with_many_members_is_written_in_parts(config: Config, server: RestServer) -> None:
    """The line of each member repeats the rest of the record, so a page could become many times larger in memory."""
    group = {"id": "g", "note": "x" * 10_000, "members": [{"value": str(n)} for n in range(1000)]}
    server.before = lambda _, __: web.json_response([group])
    content = SourceContent(each="members")
    async with connect(SourceAccess(Source(SourceKind.REST, server.url, {}), "", config, 1)) as connection:
        pages = [page async for page in complete(connection, content)]

    assert sum(map(len, pages)) == 1000
    assert max(len(page.lines()) for page in pages) < 3_000_000
