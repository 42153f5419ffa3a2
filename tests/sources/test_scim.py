"""Test fetching users and groups over SCIM, from scim2-server and from a server with faults."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources import http_client
from tests.sources.peers import TOKEN, a_scim_server, needs_scim
from tests.sources.rest_server import RestServer
from tests.sources.sourcing import SCIM_USER_COLUMNS, Sourcing, a_sourced_application

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/scim+json"}
CONNECTOR: dict[str, Any] = {
    "name": "SCIM",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": SCIM_USER_COLUMNS,
            "shape": {"ignore": ["id", "schemas", "emails", "meta", "groups"]},
        },
        {
            "name": "Members",
            "content": "memberships",
            "isOptional": True,
            "columns": {"members.display": "Username", "displayName": "Group"},
            "shape": {"ignore": ["id", "schemas", "meta"]},
        },
    ],
}
CONTENTS: dict[str, Any] = {
    "Users": {"path": "Users", "pageSize": 7},
    "Members": {"path": "Groups", "each": "members"},
}


def a_user(name: str) -> dict[str, Any]:
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": name,
        "displayName": name.title(),
        "active": name != "user3",
        "emails": [{"type": "work", "value": f"{name}@example.com"}],
    }


@pytest.fixture(scope="module")
def scim() -> Iterator[str]:
    needs_scim()
    with a_scim_server() as url:
        ids = {}
        for n in range(25):
            made = httpx2.post(f"{url}/Users", headers=HEADERS, json=a_user(f"user{n}"))
            assert made.status_code == 201, made.text
            ids[f"user{n}"] = made.json()["id"]
        members = [{"value": id, "display": name} for name, id in ids.items()]
        group = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": "Staff", "members": members}
        made = httpx2.post(f"{url}/Groups", headers=HEADERS, json=group)
        assert made.status_code == 201, made.text
        yield url


@pytest.fixture
async def sourcing(client: httpx2.AsyncClient, db: Db, config: Config) -> Sourcing:
    return await a_sourced_application(client, db, config, CONNECTOR)


async def put(sourcing: Sourcing, url: str, contents: dict[str, Any] = CONTENTS, secret: str = TOKEN) -> None:
    fields: dict[str, Any] = {"kind": "SCIM", "authentication": "Bearer", "secret": secret}
    answer = await sourcing.put(url, contents=contents, **fields)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("each", ["members", "Members"])
async def test_users_and_members_are_fetched(sourcing: Sourcing, scim: str, each: str) -> None:
    await put(sourcing, scim, {**CONTENTS, "Members": {"path": "Groups", "each": each}})

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert "Users: fetched 25 records" in run["log"]
    assert "Members: fetched 25 records" in run["log"]
    accounts = await sourcing.imports.items(f"/api/applications/{sourcing.id}/accounts")
    assert {each["username"]: (each["email"], each["isActive"]) for each in accounts}["user3"] == (
        "user3@example.com",
        False,
    )
    groups = await sourcing.imports.items(f"/api/applications/{sourcing.id}/groups")
    assert [group["name"] for group in groups] == ["Staff"]


async def test_filter_and_attributes_are_sent_to_the_server(sourcing: Sourcing, scim: str) -> None:
    wanted = {"path": "Users", "filter": 'userName eq "user7"', "attributes": ["userName", "emails"]}
    await put(sourcing, scim, {"Users": wanted})

    result = await sourcing.test()

    (users,) = result["contents"]
    assert (users["found"], users["total"], result["isWorking"]) == (1, 1, True)
    assert set(users["fields"]) == {"userName", "emails"}


async def test_pages_are_fetched_by_cursor(sourcing: Sourcing, tmp_path: Path) -> None:
    """RFC 9865: scim2-server pages by cursor if its configuration announces it."""
    needs_scim()
    with a_scim_server() as plain:
        announced = httpx2.get(f"{plain}/ServiceProviderConfig", headers=HEADERS).json()
    announced["pagination"] = {"cursor": True, "index": False, "defaultPaginationMethod": "cursor"}
    file = tmp_path / "provider.json"
    file.write_text(json.dumps(announced))
    with a_scim_server("--service-provider-config", str(file)) as url:
        for n in range(5):
            httpx2.post(f"{url}/Users", headers=HEADERS, json=a_user(f"user{n}")).raise_for_status()
        await put(sourcing, url, {"Users": {"path": "Users", "paging": "Cursor", "pageSize": 2}})
        run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert len(await sourcing.usernames()) == 5


async def test_wrong_token_is_reported_with_advice(sourcing: Sourcing, scim: str) -> None:
    await put(sourcing, scim, secret="expired")

    run = await sourcing.fetch()

    assert "the server refuses the credentials (401)" in run["log"]


def _page(server: RestServer, total: int, names: list[str]) -> web.Response:
    return web.json_response({"totalResults": total, "Resources": [{"id": name, "userName": name} for name in names]})


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([(3, ["a", "b"]), (3, [])], "the list ended after 2 of 3 records"),
        ([(3, ["a", "b"]), (3, ["b"])], "the record with id b was received twice"),
        ([(3, ["a", "b"]), (4, ["c"])], "3 records at first, then 4"),
        ([(1, ["a", "b"])], "announced 1 record and sent more"),
        ([(2, ["a", "b"]), (2, ["c", "d"])], "announced 2 records and sent more"),
    ],
)
async def test_fetch_fails_if_the_list_is_incomplete(
    sourcing: Sourcing,
    server: RestServer,
    monkeypatch: pytest.MonkeyPatch,
    pages: list[tuple[int, list[str]]],
    reason: str,
) -> None:
    monkeypatch.setattr(http_client, "RETRY_PAUSES", (0.01,))
    # All pages after the first are the same, because a page may be requested before the previous one is checked.
    server.before = lambda server, request: _page(
        server, *pages[0 if request.query["startIndex"] == "1" else len(pages) - 1]
    )
    await put(sourcing, server.url, {"Users": {"path": "Users"}})

    run = await sourcing.fetch()

    assert run["status"] == "Failed"
    assert reason in run["log"]


async def test_response_without_a_list_is_reported(sourcing: Sourcing, server: RestServer) -> None:
    server.before = lambda _, __: web.json_response({"users": []})
    await put(sourcing, server.url, {"Users": {"path": "Users"}})

    assert "it has no totalResults" in (await sourcing.fetch())["log"]


async def test_pretty_printed_pages_and_other_ids_are_read(sourcing: Sourcing, server: RestServer) -> None:
    users = [{"id": number, "userName": f"user{number}", "displayName": "U"} for number in range(3)]
    texts = [json.dumps({"totalResults": 3, "Resources": part}, indent=2) for part in (users[:2], users[2:])]
    server.before = lambda server, _: web.Response(text=texts[(len(server.asked) - 1) % 2])
    await put(sourcing, server.url, {"Users": {"path": "Users"}})

    run = await sourcing.fetch()
    for user in users:
        user["id"] = f"u{user['id']}"
    texts[:] = [json.dumps({"totalResults": 3, "Resources": part}, indent=2) for part in (users[:2], users[2:])]
    again = await sourcing.fetch()

    assert (run["status"], again["status"]) == ("Finished", "Finished"), run["log"]
    assert await sourcing.usernames() == ["user0", "user1", "user2"]


async def test_repeated_record_is_detected_among_records_without_ids(sourcing: Sourcing, server: RestServer) -> None:
    pages = [[{"id": "a", "userName": "a"}, {"userName": "b"}], [{"id": "a", "userName": "a"}, {"userName": "c"}]]
    server.before = lambda server, _: web.json_response(
        {"totalResults": 4, "Resources": pages[(len(server.asked) - 1) % 2]}
    )
    await put(sourcing, server.url, {"Users": {"path": "Users"}})

    assert "the record with id a was received twice" in (await sourcing.fetch())["log"]


@pytest.mark.parametrize("content", [{"path": "Users"}, {"path": "Users", "attributes": ["userName", "rank"]}])
async def test_number_out_of_range_is_reported(sourcing: Sourcing, server: RestServer, content: dict[str, Any]) -> None:
    """The decoder does not check values that it skips."""
    text = '{"totalResults": 1, "Resources": [{"id": "1", "userName": "ada", "rank": 1e400}]}'
    server.before = lambda _, __: web.Response(text=text, content_type="application/json")
    await sourcing.put(server.url, kind="SCIM", contents={"Users": content})

    tested = await sourcing.test()
    run = await sourcing.fetch()

    assert "out of range" in tested["contents"][0]["problem"]
    assert run["status"] == "Failed", run["log"]
    assert "Interrupted" not in run["log"]
