"""Test carrying out requests on a running SCIM server, scim2-server."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from aiohttp import web

from rolecall.carriers.scim import put_value, scim_path
from rolecall.core import clock
from tests.carriers.carrying import SCIM, Carrying
from tests.local_server import local_server
from tests.sources.peers import TOKEN, a_scim_server
from tests.sources.test_scim import CONNECTOR, CONTENTS, HEADERS, a_user

CORE = "urn:ietf:params:scim:schemas:core:2.0"


class Server:
    def __init__(self, url: str) -> None:
        self.url = url

    def user(self, name: str) -> dict[str, Any] | None:
        found = self._list("Users", f'userName eq "{name}"')
        return found[0] if found else None

    def members(self, group: str) -> set[str]:
        (found,) = self._list("Groups", f'displayName eq "{group}"')
        return {each["display"] for each in found.get("members", [])}

    def make(self, kind: str, record: dict[str, Any]) -> str:
        made = httpx2.post(f"{self.url}/{kind}", headers=HEADERS, json=record)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def _list(self, kind: str, test: str) -> list[dict[str, Any]]:
        answer = httpx2.get(f"{self.url}/{kind}", headers=HEADERS, params={"filter": test})
        return list(answer.json().get("Resources", []))


@pytest.fixture(scope="module")
def server(scim: str) -> Server:
    return with_groups(scim)


def with_groups(url: str) -> Server:
    server = Server(url)
    for name in ("Staff", "Clerks"):
        server.make("Groups", {"schemas": [f"{CORE}:Group"], "displayName": name})
    return server


def a_member(server: Server, name: str) -> None:
    id = server.make("Users", a_user(name))
    group = server._list("Groups", 'displayName eq "Staff"')[0]["id"]
    added = [{"op": "add", "path": "members", "value": [{"value": id, "display": name}]}]
    body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": added}
    assert httpx2.patch(f"{server.url}/Groups/{group}", headers=HEADERS, json=body).status_code < 300


async def test_add_creates_the_account_and_its_memberships(carrying: Carrying, server: Server) -> None:
    await carrying.put(server.url, SCIM)
    id = await carrying.request("Add", await carrying.person("new1"), gives=("Staff", "Clerks"))

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Completed", await carrying.said(id)
    made = server.user("new1")
    assert made is not None
    assert (made["displayName"], made["active"], made["emails"][0]["value"]) == (
        "New1 Lovelace",
        True,
        "new1@example.com",
    )
    assert "new1" in server.members("Staff") & server.members("Clerks")


async def test_every_action_other_than_add_is_carried_out(carrying: Carrying, server: Server) -> None:
    await carrying.put(server.url, SCIM, onRemove="Delete")
    a_member(server, "verbs1")
    person = await carrying.account("verbs1", groups=("Staff",))

    await carrying.request("Change", person, gives=("Clerks",), takes=("Staff",), target_name="verbs1")
    await carrying.work()
    changed = server.user("verbs1")
    assert changed is not None
    assert changed["title"] == "Clerk"
    assert "verbs1" in server.members("Clerks") - server.members("Staff")

    await carrying.request("Suspend", person, target_name="verbs1", privileges=[])
    await carrying.work()
    disabled = server.user("verbs1")
    await carrying.request("Restore", person, gives=("Staff",), target_name="verbs1")
    await carrying.work()
    enabled = server.user("verbs1")
    assert disabled is not None
    assert enabled is not None
    assert (disabled["active"], enabled["active"]) == (False, True)
    assert "verbs1" in server.members("Staff")

    await carrying.request("Remove", person, target_name="verbs1", privileges=[])
    await carrying.work()
    assert server.user("verbs1") is None
    assert "verbs1" not in server.members("Staff")


async def test_existing_changes_are_not_repeated(carrying: Carrying, server: Server) -> None:
    await carrying.put(server.url, SCIM, onRemove="Delete", changedAttributes=[])
    a_member(server, "again1")
    person = await carrying.account("again1")
    member = await carrying.request("Change", person, gives=("Staff",), takes=("Clerks",), target_name="again1")
    gone = await carrying.account("gone1")
    removed = await carrying.request("Remove", gone, target_name="gone1", privileges=[])

    await carrying.work()

    assert [text for _, text in await carrying.said(member)][:2] == [
        "Add again1 to the group Staff: it was already a member",
        "Remove again1 from the group Clerks: it was not listed as a member; removed anyway",
    ]
    assert "the server has no account gone1" in (await carrying.said(removed))[0][1]


async def test_add_of_an_account_that_exists_is_left_to_a_person(carrying: Carrying, server: Server) -> None:
    await carrying.put(server.url, SCIM)
    server.make("Users", a_user("taken1"))
    id = await carrying.request("Add", await carrying.person("taken1"), gives=("Clerks",))

    await carrying.work()

    assert "the account taken1 exists; it may be another person's" in (await carrying.said(id))[0][1]
    assert "taken1" not in server.members("Clerks")


async def test_people_with_the_same_name_do_not_share_an_account(carrying: Carrying, server: Server) -> None:
    """Two Adds for one person use the same account; an Add for another person with the same name does not."""
    name = {"accountName": "{firstName|first|lower}{lastName|lower}", "changedAttributes": []}
    await carrying.put(server.url, SCIM, **name, attributes={"displayName": "{firstName} {lastName}"})
    one, other = [await carrying.person("john", email=f"john{n}@example.com") for n in range(2)]
    staff = await carrying.request("Add", one, gives=("Staff",))
    await carrying.work()
    clerks = await carrying.request("Add", other, gives=("Clerks",))
    more = await carrying.request("Add", one, gives=("Auditors",))
    server.make("Groups", {"schemas": [f"{CORE}:Group"], "displayName": "Auditors"})

    await carrying.work()
    await carrying.post("carry-out", accessRequestId=clerks)
    await carrying.work()

    assert [(await carrying.detail(id))["status"] for id in (staff, clerks, more)] == ["Completed", "Open", "Completed"]
    assert ["jlovelace" in server.members(group) for group in ("Staff", "Clerks", "Auditors")] == [True, False, True]


async def test_account_without_attributes_to_compare_is_not_taken_over(carrying: Carrying, server: Server) -> None:
    await carrying.put(server.url, SCIM, attributes={}, changedAttributes=[])
    server.make("Users", a_user("orphan1"))
    id = await carrying.request("Add", await carrying.person("orphan1"), gives=("Clerks",))

    await carrying.work()

    assert "the account orphan1 exists; it may be another person's" in (await carrying.said(id))[0][1]
    assert "orphan1" not in server.members("Clerks")


class Hiding:
    """A server with one account and one group. Like some cloud services, it does not list the members of the group."""

    def __init__(self) -> None:
        self.removed: list[Any] = []
        self.answer = web.Response(status=204)

    async def serve(self, request: web.Request) -> web.Response:
        if request.method == "PATCH":
            self.removed += (await request.json())["Operations"]
            return self.answer
        user = {"id": "u1", "userName": "hidden1", "active": True}
        found = {"/Users": user, "/Groups": {"id": "g1", "displayName": "Staff"}}.get(request.path)
        return web.json_response({"totalResults": 1, "Resources": [found]} if found else {"id": "g1", "members": []})


NO_TARGET = '{"scimType": "noTarget", "detail": "no member"}'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (web.Response(status=204), "it was not listed as a member; removed anyway"),
        (web.Response(status=400, text=NO_TARGET, content_type="application/json"), "it was not a member"),
        (web.Response(status=400, text="{}", content_type="application/json"), "the server refuses the change (400)"),
    ],
    ids=["removed", "no target", "refused"],
)
async def test_removal_of_an_unlisted_member_is_sent_and_its_result_recorded(
    carrying: Carrying, answer: web.Response, said: str
) -> None:
    hiding, app = Hiding(), web.Application()
    hiding.answer = answer
    app.router.add_route("*", "/{path:.*}", hiding.serve)
    async with local_server(app) as port:
        await carrying.put(f"http://127.0.0.1:{port}", SCIM, changedAttributes=[])
        person = await carrying.account("hidden1", groups=("Staff",))
        id = await carrying.request("Change", person, takes=("Staff",), target_name="hidden1")

        await carrying.work()

    assert hiding.removed == [{"op": "remove", "path": 'members[value eq "u1"]'}]
    assert said in (await carrying.said(id))[0][1]


@pytest.fixture
def fresh() -> Iterator[Server]:
    """Start a new server, whose groups contain no account that another test deleted."""
    with a_scim_server() as url:
        yield with_groups(url)


async def test_approved_request_is_carried_out_and_verified_automatically(carrying: Carrying, fresh: Server) -> None:
    await carrying.client.patch(f"/api/applications/{carrying.id}", json={"connector": CONNECTOR})
    source = {"kind": "SCIM", "authentication": "Bearer", "secret": TOKEN, "contents": CONTENTS}
    answer = await carrying.client.put(carrying.source.path, json={"url": fresh.url, **source})
    assert answer.status_code == 200, answer.text
    await carrying.put(fresh.url, SCIM)
    id = await carrying.request("Add", await carrying.person("proven1"), gives=("Clerks",))

    await carrying.work_on_everything()

    detail = await carrying.detail(id)
    assert detail["status"] == "Completed", detail["activity"]
    assert [each["action"] for each in detail["activity"]] == [
        "Created",
        "Approved",
        "Provisioning",
        "Carried Out",
        "Carried Out",
        "Resolved",
        "Verified",
    ]
    assert "shows the requested access" in detail["activity"][-1]["content"]
    (verified,) = [each for each in detail["requirements"] if each["type"] == "Verify"]
    assert verified["rules"][0]["responses"][0]["reviewer"]["name"] == "System"


class Liar:
    """A server whose responses are set by the test."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.listed: dict[str, Any] = {"totalResults": 0}
        self.status, self.said = 201, '{"id": "1"}'

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.method, request.path))
        if request.method == "GET":
            return web.json_response(self.listed)
        return web.Response(status=self.status, text=self.said, content_type="application/json")


@pytest.fixture
async def liar() -> AsyncIterator[tuple[Liar, str]]:
    liar, app = Liar(), web.Application()
    app.router.add_route("*", "/{path:.*}", liar.answer)
    async with local_server(app) as port:
        yield liar, f"http://127.0.0.1:{port}"


async def test_server_that_ignores_filters_changes_no_other_account(carrying: Carrying, liar: tuple[Liar, str]) -> None:
    server, url = liar
    server.listed = {"totalResults": 1, "Resources": [{"id": "7", "userName": "somebody"}]}
    await carrying.put(url, SCIM, onRemove="Delete")
    id = await carrying.request("Remove", await carrying.account("liar1"), target_name="liar1", privileges=[])

    await carrying.work()

    assert "does not show which" in (await carrying.said(id))[0][1]
    assert {method for method, _ in server.asked} == {"GET"}


@pytest.mark.parametrize(
    ("status", "said", "reason"),
    [
        (409, '{"detail": "taken"}', "the server has no account"),
        (400, '{"detail": "no name"}', "the server refuses the change (400): no name;"),
    ],
)
async def test_refusal_is_left_to_a_person_at_once(
    carrying: Carrying, liar: tuple[Liar, str], status: int, said: str, reason: str
) -> None:
    server, url = liar
    server.status, server.said = status, said
    await carrying.put(url, SCIM)
    id = await carrying.request("Add", await carrying.person("liar2"), gives=("Clerks",))

    await carrying.work()

    assert reason in (await carrying.said(id))[0][1]
    assert (await carrying.get())["left"][0]["number"] == (await carrying.detail(id))["number"]


@pytest.mark.parametrize(
    ("status", "reason"), [(500, "with 500"), (429, "too busy"), (302, "with 302"), (401, "refuses the cred")]
)
async def test_step_is_retried_after_a_server_error(
    carrying: Carrying, liar: tuple[Liar, str], status: int, reason: str
) -> None:
    server, url = liar
    server.status = status
    await carrying.put(url, SCIM)
    await carrying.request("Add", await carrying.person("liar3"), gives=("Clerks",))

    await carrying.work()

    assert reason in (await carrying.get())["waiting"][0]["reason"]
    assert len([method for method, _ in server.asked if method == "POST"]) == 1


@pytest.mark.parametrize("action", ["Add", "Remove"])
async def test_failed_lookup_does_not_count_as_a_sent_change(
    carrying: Carrying, liar: tuple[Liar, str], action: str
) -> None:
    """The first lookup fails and nothing is sent.

    If the account exists (Add) or is missing (Remove) at the retry, the carrier has not created or deleted it.
    """
    server, url = liar
    await carrying.put(url, SCIM, onRemove="Delete", attributes={}, changedAttributes=[])
    person = await carrying.person("liar4") if action == "Add" else await carrying.account("liar4")
    asked: dict[str, Any] = {"gives": ("Clerks",)} if action == "Add" else {"privileges": [], "target_name": "liar4"}
    id = await carrying.request(action, person, **asked)
    server.listed = {"error": "no list"}
    await carrying.work()
    found = [{"id": "7", "userName": "liar4"}] if action == "Add" else []
    server.listed = {"totalResults": len(found), "Resources": found}

    clock.travel_to(clock.now() + timedelta(minutes=1))
    await carrying.work()

    assert (await carrying.said(id))[0][0] == "Left To Person"
    assert {method for method, _ in server.asked} == {"GET"}


def test_paths_are_converted_to_scim_syntax() -> None:
    record: dict[str, Any] = {"schemas": []}
    for path in ("name.givenName", "emails[type=work].value", "urn:example:2.0:User:department", "title"):
        put_value(record, path, path)

    assert record == {
        "schemas": ["urn:example:2.0:User"],
        "name": {"givenName": "name.givenName"},
        "emails": [{"type": "work", "value": "emails[type=work].value"}],
        "urn:example:2.0:User": {"department": "urn:example:2.0:User:department"},
        "title": "title",
    }
    assert scim_path("emails[type=work].value") == 'emails[type eq "work"].value'
    assert scim_path("title") == "title"
