"""Test that odd and contradictory requests get a SCIM error or a correct response."""

import time
from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db, execute
from rolecall.scim_server.member_changes import MemberChange, PatchVerb, merged
from rolecall.scim_server.model import ScimError
from rolecall.scim_server.patching import apply_patch
from rolecall.scim_server.schema import USERS
from tests.scim_server.pushing import ENTERPRISE, GROUP, USER, Pushing

ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
FOREIGN = "urn:example:2.0:User"


def _is_error(answer: httpx2.Response, status: int) -> bool:
    body = answer.json()
    return (answer.status_code, body["status"], body["schemas"]) == (status, str(status), [ERROR])


EMPTY_NAMES = [".", ".x", "x.", f"{USER}:", f"{USER}:.x", f"{ENTERPRISE}:", "urn:", "urn::", "urn:x:.y"]


@pytest.mark.parametrize("name", EMPTY_NAMES)
async def test_path_with_an_empty_name_is_refused(push: Pushing, name: str) -> None:
    ada = await push.user("ada")
    path = f"Users/{ada['id']}"

    answers = [
        await push.patch(path, {"op": "add", "path": name, "value": "x"}),
        await push.patch(path, {"op": "add", "value": {name: "x"}}),
        await push.send("POST", "Users/.search", {"filter": f"{name} pr"}),
        await push.send("GET", f"{path}?attributes={name}"),
        await push.send("GET", f"Users?excludedAttributes={name}"),
    ]

    assert [(answer.status_code, answer.json()["scimType"]) for answer in answers] == [(400, "invalidPath")] * 5
    assert await push.get(path) == ada


@pytest.mark.parametrize(
    "filter",
    [
        'emails[\x00 eq "x"]', "emails[\x00 pr]", "emails[value pr].\x00 pr", "emails[value pr]. pr",
        "emails[value pr].x.y pr", "emails[a.b.c pr]", "emails[( pr]",
        'meta[created gt "2020-01-01"]', 'id[value eq "x"]',
    ],
)  # fmt: skip
async def test_names_inside_value_filters_are_checked(push: Pushing, filter: str) -> None:
    assert _is_error(await push.send("POST", "Users/.search", {"filter": filter}), 400)


@pytest.mark.parametrize("filter", [0, False, [], {}, ["userName pr"], 7, True])
async def test_filter_that_is_no_text_is_not_ignored(push: Pushing, filter: object) -> None:
    answer = await push.send("POST", "Users/.search", {"filter": filter})

    assert _is_error(answer, 400)
    assert answer.json()["scimType"] == "invalidFilter"


@pytest.mark.parametrize("names", [7, True, {"userName": 1}, ["userName", 7], [None]])
async def test_names_of_attributes_must_be_text(push: Pushing, names: object) -> None:
    assert _is_error(await push.send("POST", "Users/.search", {"attributes": names}), 400)


async def test_negations_and_comparisons_of_ids_find_what_they_say(push: Pushing) -> None:
    ada, bob = await push.user("ada", externalId="X"), await push.user("bob")
    filters = {
        'id ne "x"': ["ada", "bob"],
        'not (id eq "x")': ["ada", "bob"],
        f'id ne "{ada["id"]}"': ["bob"],
        f'id sw "{bob["id"]}"': ["bob"],
        'id co "-7"': ["ada", "bob"],
        "id pr": ["ada", "bob"],
        "id eq null": [],
        "id gt 7": [],
        "meta pr": ["ada", "bob"],
        "meta.lastModified pr": ["ada", "bob"],
        "meta.nothing pr": [],
        'externalId ne "X"': ["bob"],
        'not (externalId eq "X")': ["bob"],
        'not (externalId eq "x")': ["ada", "bob"],
    }

    assert {filter: await push.names(filter) for filter in filters} == filters


async def test_filters_of_members_see_what_the_group_shows(push: Pushing) -> None:
    ada = await push.user("ada")
    await push.group("Finance", ada)
    await push.group("Empty")
    filters = {
        'members[display ge ""]': [],
        "members[display eq null]": ["Finance"],
        'members ne "x"': ["Finance", "Empty"],
        "urn:example:2.0:members pr": [],
        f"{GROUP}:members pr": ["Finance"],
    }

    assert {filter: await push.names(filter, "Groups") for filter in filters} == filters


CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "declared extension": (
        {"op": "add", "value": {ENTERPRISE.upper(): {"COSTCENTER": "7"}}},
        {ENTERPRISE: {"department": "Analysis", "costCenter": "7"}},
    ),
    "other extension": ({"op": "add", "value": {FOREIGN.lower(): {"Badge": 8}}}, {FOREIGN: {"badge": 8, "floor": 1}}),
    "other extension by path": (
        {"op": "replace", "path": FOREIGN, "value": {"badge": 8}},
        {FOREIGN: {"badge": 8, "floor": 1}},
    ),
    "new extension by path": (
        {"op": "add", "path": "urn:other:1.0:User", "value": {"badge": 8}},
        {"urn:other:1.0:User": {"badge": 8}},
    ),
    "attribute of a new extension": (
        {"op": "add", "path": "urn:other:1.0:User:desk", "value": {"room": 8}},
        {"urn:other:1.0:User": {"desk": {"room": 8}}},
    ),
    "removed extension": ({"op": "remove", "path": FOREIGN.upper()}, {FOREIGN: None}),
    "part of an extension": ({"op": "remove", "path": f"{FOREIGN.upper()}:BADGE"}, {FOREIGN: {"floor": 1}}),
    "undeclared attribute": ({"op": "replace", "path": "COLOUR", "value": "red"}, {"colour": "red"}),
    "removed undeclared attribute": ({"op": "remove", "path": "Colour"}, {"colour": None}),
    "undeclared part": ({"op": "replace", "path": "desk.ROOM", "value": 2}, {"desk": {"room": 2}}),
    "part of a fitting value": (
        {"op": "replace", "path": 'emails[type eq "work"]', "value": {"VALUE": "b@x"}},
        {"emails": [{"type": "work", "value": "b@x"}]},
    ),
    "removed value": ({"op": "remove", "path": "emails", "value": [{"Value": "a@x"}]}, {"emails": None}),
}


@pytest.mark.parametrize("case", CHANGED)
async def test_operations_find_stored_names_in_any_spelling(push: Pushing, case: str) -> None:
    operation, changes = CHANGED[case]
    before = {
        "colour": "blue",
        "desk": {"room": 1},
        "emails": [{"type": "work", "value": "a@x"}],
        ENTERPRISE: {"department": "Analysis"},
        FOREIGN: {"badge": 7, "floor": 1},
    }
    user = await push.user("ada", **before)

    answer = await push.patch(f"Users/{user['id']}", operation)

    assert answer.status_code == 200, answer.text
    wanted = {name: value for name, value in {**before, **changes}.items() if value is not None}
    known = ("id", "meta", "schemas", "userName", "displayName", "active")
    assert {name: value for name, value in answer.json().items() if name not in known} == wanted


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "add without a value": ({"op": "add", "path": "emails"}, "invalidValue"),
    "replace without a value": ({"op": "replace", "path": "active"}, "invalidValue"),
    "filter of an extension": ({"op": "remove", "path": f"{ENTERPRISE}[manager pr]"}, "invalidPath"),
    "filter of a part": ({"op": "remove", "path": 'emails.value[value eq "a@x"]'}, "invalidPath"),
    "no part after the dot": ({"op": "remove", "path": "emails[value pr]."}, "invalidPath"),
    "two parts after a filter": ({"op": "add", "path": "emails[value pr].a.b", "value": 1}, "invalidPath"),
    "bracket as a name": ({"op": "add", "path": "(", "value": 1}, "invalidPath"),
    "one name twice": ({"op": "add", "value": {"active": True, "ACTIVE": False}}, "invalidSyntax"),
    "no object below the core schema": ({"op": "add", "value": {USER: 7}}, "invalidValue"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_operations_that_could_be_misunderstood_are_refused(push: Pushing, case: str) -> None:
    operation, type = REFUSED[case]
    ada = await push.user("ada", emails=[{"value": "a@x"}], **{ENTERPRISE: {"department": "Analysis"}})

    answer = await push.patch(f"Users/{ada['id']}", operation)

    assert (answer.status_code, answer.json()["scimType"]) == (400, type)
    assert await push.get(f"Users/{ada['id']}") == ada


BODIES: dict[str, tuple[str, dict[str, Any], int]] = {
    "active of a group": ("Groups", {"displayName": "x", "active": {"value": []}}, 201),
    "null as an extension": ("Users", {"userName": "x", ENTERPRISE: None, USER: None}, 201),
    "zero as an extension": ("Users", {"userName": "x", ENTERPRISE: 0}, 400),
    "text as the core schema": ("Users", {"userName": "x", USER: "x"}, 400),
    "members in two spellings": ("Groups", {"displayName": "x", "members": [], "Members": [{"value": "x"}]}, 400),
    "huge number": ("Users", {"userName": "x", "n": [1e300]}, 400),
    "tiny number": ("Users", {"userName": "x", "n": {"m": -5e-324}}, 400),
    "long whole number": ("Users", {"userName": "x", "n": 10**30}, 201),
    "name without visible characters": ("Users", {"userName": "\U000e0041"}, 400),
}


@pytest.mark.parametrize("case", BODIES)
async def test_odd_bodies_are_stored_as_sent_or_refused(push: Pushing, case: str) -> None:
    place, body, status = BODIES[case]

    answer = await push.send("POST", place, body)

    assert answer.status_code == status, answer.text
    if status == 201:
        again = await push.send("PUT", f"{place}/{answer.json()['id']}", body)
        assert again.json() == answer.json(), "the same body changes nothing"


@pytest.mark.parametrize("path", ["Users/%00", "%00", f"Users/{'a' * 300}", "Schemas/%00"])
@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_address_that_nothing_can_have_gets_a_scim_error(push: Pushing, method: str, path: str) -> None:
    answer = await push.send(method, path, {})

    assert _is_error(answer, 405 if (method, path[:7]) == ("PUT", "Schemas") else 404)
    assert answer.headers["content-type"] == "application/scim+json"


@pytest.mark.parametrize(
    ("given", "start"),
    [("0" * 24 + "2", 2), ("-5", 1), (2, 2), ("9" * 40, 2**31), (None, 1), ("1_0", None), ("٣", None), (True, None)],
)
async def test_place_in_a_list_is_read_exactly(push: Pushing, given: object, start: int | None) -> None:
    answer = await push.send("POST", "Users/.search", {"startIndex": given, "count": given})

    assert answer.json().get("startIndex") == start
    assert answer.status_code == (200 if start else 400)


@pytest.mark.parametrize("cursor", ["LTE=", "MV8w", "IDE=", "OTk5OTk5OTk5OTk5OTk5OTk5OTk="])
async def test_cursor_that_was_never_sent_is_refused(push: Pushing, cursor: str) -> None:
    assert (await push.send("GET", f"Users?cursor={cursor}")).json()["scimType"] == "invalidCursor"


def test_operations_that_look_for_names_are_limited() -> None:
    wide = {"userName": "ada", **{f"k{number}": 1 for number in range(19_000)}}
    operations = [{"op": "add", "value": {f"urn:a{number}": {"x": 1}}} for number in range(1000)]
    start = time.process_time()

    with pytest.raises(ScimError, match="read and filter too many values"):
        apply_patch(wide, {"Operations": operations}, USERS)

    assert time.process_time() - start < 5


ADA, BOB, EVE = (f"0192e4a0-7c1e-7000-8000-00000000000{number}" for number in range(3))


async def test_many_changes_of_members_take_few_queries(push: Pushing, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob, eve = [(await push.user(name))["id"] for name in ("ada", "bob", "eve")]
    group = await push.group("Finance", {"id": eve})
    path, statements = f"Groups/{group['id']}", list[str]()
    everyone = [{"value": ada}, {"value": bob, "display": "Bob"}]
    operations: list[dict[str, Any]] = [
        {"op": "remove", "path": f'members[value eq "{eve}"]'},
        *[{"op": "add", "path": "members", "value": everyone}] * 300,
        *[{"op": "remove", "path": "members", "value": [{"value": ada}]}] * 300,
        *[{"op": "remove", "path": 'members[display eq "Eve"]'}] * 300,
        {"op": "add", "path": "members", "value": [{"value": bob}]},
    ]

    async def counting(db: Db, sql: str, **params: object) -> int:
        statements.append(sql)
        return await execute(db, sql, **params)

    monkeypatch.setattr("rolecall.scim_server.actions.execute", counting)
    answer = await push.patch(path, *operations)

    assert answer.status_code == 204, answer.text
    assert len(statements) < 10
    found = (await push.get(path))["members"]
    assert [(each["value"], each["display"]) for each in found] == [(bob, "Bob")]
    refused = await push.patch(path, *[*operations[:2], operations[-2]] * 100)
    assert _is_error(refused, 413)


def test_changes_of_members_are_merged_in_order() -> None:
    def change(verb: str, *ids: str, **more: Any) -> MemberChange:
        return MemberChange(PatchVerb(verb), dict.fromkeys(ids, ""), **more)

    assert merged([change("add", ADA, BOB), change("remove", ADA)]) == [change("remove", ADA), change("add", BOB)]
    assert merged([change("remove", ADA), change("add", ADA)]) == [change("remove", ADA), change("add", ADA)]
    assert merged([change("add", ADA), change("replace", BOB), change("add", EVE)]) == [change("replace", BOB, EVE)]
    assert merged([change("add", ADA), change("remove", is_all=True)]) == [change("replace")]
    assert merged([change("replace", ADA), change("remove", ADA)]) == [change("replace")]


async def test_member_that_is_added_and_removed_again_must_exist(push: Pushing) -> None:
    group = await push.group("Finance")
    value = [{"value": ADA}]

    answer = await push.patch(
        f"Groups/{group['id']}",
        {"op": "add", "path": "members", "value": value},
        {"op": "remove", "path": "members", "value": value},
    )

    assert _is_error(answer, 400)
