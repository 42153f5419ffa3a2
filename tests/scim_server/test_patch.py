"""Test PATCH: the operations of the RFC, and requests of Okta and Entra."""

import time
from typing import Any

import pytest

from rolecall.scim_server.model import ScimError
from rolecall.scim_server.patching import apply_patch
from rolecall.scim_server.resources import checked_resource
from rolecall.scim_server.schema import USERS
from tests.scim_server.pushing import ENTERPRISE, USER, Pushing

WORK, HOME = {"type": "work", "value": "a@work"}, {"type": "home", "value": "a@home"}
BEFORE: dict[str, Any] = {
    "userName": "ada",
    "active": True,
    "title": "Countess",
    "name": {"givenName": "Ada", "familyName": "King"},
    "emails": [WORK, HOME],
    "tags": ["a"],
    ENTERPRISE: {"department": "Analysis"},
}
# Operations, and the attributes that they change; None means that the attribute is removed.
CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "replace": ([{"op": "replace", "path": "title", "value": "Lady"}], {"title": "Lady"}),
    "entra's spelling": ([{"op": "Replace", "path": "ACTIVE", "value": "False"}], {"active": False}),
    "below the core schema": ([{"op": "replace", "value": {USER: {"active": False}}}], {"active": False}),
    "path is the core schema": (
        [{"op": "replace", "path": USER.upper(), "value": {"active": False}}],
        {"active": False},
    ),
    "okta deactivates": ([{"op": "replace", "value": {"active": False, "id": "x"}}], {"active": False}),
    "remove": ([{"op": "remove", "path": "title"}], {"title": None}),
    "null removes": ([{"op": "replace", "path": "title", "value": None}], {"title": None}),
    "part": (
        [{"op": "add", "path": "name.middleName", "value": "B"}],
        {"name": {"givenName": "Ada", "familyName": "King", "middleName": "B"}},
    ),
    "dotted keys without a path": (
        [{"op": "Add", "value": {"name.givenName": "A", f"{ENTERPRISE}:costCenter": "7"}}],
        {"name": {"givenName": "A", "familyName": "King"}, ENTERPRISE: {"department": "Analysis", "costCenter": "7"}},
    ),
    "object replaces the parts that it names": (
        [{"op": "replace", "path": "name", "value": {"GIVENNAME": "A"}}],
        {"name": {"givenName": "A", "familyName": "King"}},
    ),
    "extension attribute": (
        [{"op": "replace", "path": f"{ENTERPRISE}:department", "value": "Proof"}],
        {ENTERPRISE: {"department": "Proof"}},
    ),
    "entra's manager": (
        [{"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "m-1"}],
        {ENTERPRISE: {"department": "Analysis", "manager": {"value": "m-1"}}},
    ),
    "whole extension": ([{"op": "remove", "path": ENTERPRISE}], {ENTERPRISE: None}),
    "undeclared extension": (
        [{"op": "add", "value": {"urn:example:2.0:User": {"badge": 7}}}],
        {"urn:example:2.0:User": {"badge": 7}},
    ),
    "part of a fitting value": (
        [{"op": "replace", "path": 'emails[type eq "work"].value', "value": "b@work"}],
        {"emails": [{"type": "work", "value": "b@work"}, HOME]},
    ),
    "fitting value": (
        [{"op": "replace", "path": 'emails[type eq "work"]', "value": {"value": "c@work", "display": "C"}}],
        {"emails": [{"type": "work", "value": "c@work", "display": "C"}, HOME]},
    ),
    "value made from the filter": (
        [{"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "7"}],
        {"phoneNumbers": [{"type": "mobile", "value": "7"}]},
    ),
    "entra's roles": (
        [{"op": "Add", "path": 'roles[primary eq "True"].value', "value": "Admin"}],
        {"roles": [{"primary": True, "value": "Admin"}]},
    ),
    "remove fitting": ([{"op": "remove", "path": 'emails[type eq "home"]'}], {"emails": [WORK]}),
    "remove part of fitting": (
        [{"op": "remove", "path": 'emails[type eq "home"].type'}],
        {"emails": [WORK, {"value": "a@home"}]},
    ),
    "remove what is not there": ([{"op": "remove", "path": 'emails[type eq "other"]'}], {}),
    "remove by value": ([{"op": "Remove", "path": "emails", "value": [{"value": "a@home"}]}], {"emails": [WORK]}),
    "remove more values than a list may have": (
        [{"op": "remove", "path": "emails", "value": [*({"value": f"{n}@x"} for n in range(500)), HOME]}],
        {"emails": [WORK]},
    ),
    "add to a list": (
        [{"op": "add", "path": "emails", "value": [{"value": "n@x"}, WORK]}],
        {"emails": [WORK, HOME, {"value": "n@x"}]},
    ),
    "replace a list": ([{"op": "replace", "path": "emails", "value": [HOME]}], {"emails": [HOME]}),
    "one primary value": (
        [
            {"op": "add", "path": 'emails[type eq "work"].primary', "value": True},
            {"op": "add", "path": 'emails[type eq "home"].primary', "value": "true"},
        ],
        {"emails": [{**WORK, "primary": False}, {**HOME, "primary": True}]},
    ),
    "several in order": (
        [
            {"op": "remove", "path": "title"},
            {"op": "add", "path": "title", "value": "Dr"},
            {"op": "replace", "path": "nickName", "value": "AAL"},
        ],
        {"title": "Dr", "nickName": "AAL"},
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_operations_change_their_targets(push: Pushing, case: str) -> None:
    operations, changes = CASES[case]
    user = (await push.send("POST", "Users", BEFORE)).json()

    answer = await push.patch(f"Users/{user['id']}", *operations)

    assert answer.status_code == 200, answer.text
    wanted = {name: value for name, value in {**BEFORE, **changes}.items() if value is not None}
    assert {name: value for name, value in answer.json().items() if name not in ("id", "meta", "schemas")} == wanted
    assert (await push.get(f"Users/{user['id']}")) == answer.json()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown op": ({"op": "move", "path": "title", "value": "x"}, "invalidSyntax"),
    "remove without a path": ({"op": "remove"}, "noTarget"),
    "no object without a path": ({"op": "add", "value": "x"}, "invalidSyntax"),
    "broken path": ({"op": "add", "path": "emails[", "value": "x"}, "invalidPath"),
    "empty path": ({"op": "add", "path": "", "value": "x"}, "invalidPath"),
    "path is no text": ({"op": "add", "path": 7, "value": "x"}, "invalidPath"),
    "read only": ({"op": "replace", "path": "id", "value": "x"}, "mutability"),
    "required": ({"op": "remove", "path": "userName"}, "invalidValue"),
    "wrong type": ({"op": "replace", "path": "active", "value": "perhaps"}, "invalidValue"),
    "part of a part": ({"op": "replace", "path": "emails.value.x", "value": {}}, "invalidPath"),
    "filter without a fit": ({"op": "add", "path": 'ims[type co "x"].value', "value": "y"}, "noTarget"),
    "too many values": ({"op": "add", "path": "emails", "value": [{"value": "x"}] * 501}, "tooMany"),
    "only a dot": ({"op": "add", "path": ".", "value": "x"}, "invalidPath"),
    "part of a plain value": ({"op": "replace", "path": 'tags[value eq "a"].x', "value": "y"}, "invalidPath"),
    "operators in paths": ({"op": "add", "path": "title; DROP", "value": "x"}, "invalidPath"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_broken_operations_are_refused_and_change_nothing(push: Pushing, case: str) -> None:
    operation, type = REFUSED[case]
    user = (await push.send("POST", "Users", BEFORE)).json()

    answer = await push.patch(f"Users/{user['id']}", {"op": "replace", "path": "title", "value": "Lady"}, operation)

    assert (answer.status_code, answer.json().get("scimType")) == (400, type)
    assert (await push.get(f"Users/{user['id']}")) == user


async def test_body_without_operations_or_with_too_many_is_refused(push: Pushing) -> None:
    ada = await push.user("ada")

    bodies: list[object] = [{}, {"Operations": []}, {"Operations": "x"}, {"Operations": [1]}]
    for body in bodies:
        assert (await push.send("PATCH", f"Users/{ada['id']}", body)).status_code == 400
    many = [{"op": "remove", "path": "title"}] * 1001
    assert (await push.patch(f"Users/{ada['id']}", *many)).status_code == 413


LONG = 'emails[value co "x"' + ' or value co "x"' * 28 + "]"
EXPENSIVE: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str]] = {
    "long filters of long values": (
        {"emails": [{"value": "a" * 100_000}] * 2},
        [{"op": "remove", "path": LONG}] * 300,
        "The operations read and filter too many values; send fewer in one request",
    ),
    "values above the largest resource": (
        {},
        [
            {"op": "replace", "path": "emails", "value": [{"value": "a" * 200_000}] * 49},
            *[{"op": "remove", "path": LONG}] * 300,
        ],
        "The values of all operations may total at most 1 MiB",
    ),
    "a value for many elements": (
        {"emails": [{"value": "a"}] * 400},
        [{"op": "replace", "path": "emails.display", "value": "a" * 10_000}],
        "The values of all operations may total at most 1 MiB",
    ),
    "many attributes of one value": (
        {},
        [{"op": "add", "value": {f"x{n}": 1 for n in range(2000)}}],
        "Send at most 1000 operations in one request",
    ),
    "objects of many names": (
        {"name": {f"{n:x}": 1 for n in range(20_000)}},
        [{"op": "add", "path": "name", "value": {"a": 1}}] * 1000,
        "The operations read and filter too many values; send fewer in one request",
    ),
}


@pytest.mark.parametrize("case", EXPENSIVE)
def test_work_of_operations_is_limited(case: str) -> None:
    attributes, operations, reason = EXPENSIVE[case]
    start = time.process_time()

    with pytest.raises(ScimError, match=reason) as refused:
        apply_patch({"userName": "ada", **attributes}, {"Operations": operations}, USERS)

    assert refused.value.status == 413
    assert time.process_time() - start < 10


def test_large_body_is_refused_before_its_names_are_checked() -> None:
    body, start = {"userName": "ada", **{f"x{n}": 1 for n in range(1_200_000)}}, time.process_time()

    with pytest.raises(ScimError, match="A User may be at most 256 KiB"):
        checked_resource(body, USERS)

    assert time.process_time() - start < 5


async def test_filters_of_members_are_limited(push: Pushing) -> None:
    users = [await push.user(name) for name in ("ada", "bob", "eve", "joe", "zoe")]
    group = await push.group("Finance", *users)
    path = "members[" + " or ".join(["a pr"] * 60) + "]"

    allowed = await push.patch(f"Groups/{group['id']}", *[{"op": "remove", "path": path}] * 10)
    refused = await push.patch(f"Groups/{group['id']}", *[{"op": "remove", "path": path}] * 1000)

    assert allowed.status_code == 204
    assert refused.status_code == 413, refused.text
    assert len(await _members(push, group)) == 5


async def _members(push: Pushing, group: dict[str, Any]) -> list[str]:
    found = await push.get(f"Groups/{group['id']}")
    return [member["value"] for member in found["members"]]


async def test_members_are_added_and_removed_as_okta_and_entra_do(push: Pushing) -> None:
    ada, bob, eve = [await push.user(name) for name in ("ada", "bob", "eve")]
    group = await push.group("Finance")
    path = f"Groups/{group['id']}"

    added = await push.patch(path, {"op": "Add", "path": "members", "value": [{"value": ada["id"]}]})
    assert (added.status_code, added.content, added.headers["etag"]) == (204, b"", 'W/"2"')
    await push.patch(path, {"op": "add", "path": "members", "value": [{"value": bob["id"]}, {"value": eve["id"]}]})
    assert await _members(push, group) == [ada["id"], bob["id"], eve["id"]]
    again = await push.patch(path, {"op": "add", "path": "members", "value": [{"value": bob["id"]}]})
    assert again.headers["etag"] == 'W/"3"', "no change, no new version"

    await push.patch(path, {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'})
    assert await _members(push, group) == [bob["id"], eve["id"]]
    await push.patch(path, {"op": "Remove", "path": "members", "value": [{"value": bob["id"]}]})
    assert await _members(push, group) == [eve["id"]]
    await push.patch(path, {"op": "replace", "path": "members", "value": [{"value": ada["id"], "display": "Ada"}]})
    assert await _members(push, group) == [ada["id"]]
    await push.patch(path, {"op": "remove", "path": 'members[display sw "a" and type eq "User"]'})
    assert await _members(push, group) == []
    await push.patch(path, {"op": "replace", "value": {"id": group["id"], "displayName": "Treasury"}})
    assert (await push.get(path))["displayName"] == "Treasury"
    await push.patch(path, {"op": "add", "value": {"members": [{"value": ada["id"]}, {"value": bob["id"]}]}})
    assert await _members(push, group) == [ada["id"], bob["id"]]
    await push.patch(path, {"op": "remove", "path": "members"})
    assert await _members(push, group) == []
    assert (await push.patch(path, {"op": "remove", "path": "members", "value": []})).status_code == 204


@pytest.mark.parametrize(
    ("operation", "type"),
    [
        ({"op": "remove", "path": "members.display"}, "invalidPath"),
        ({"op": "remove", "path": 'members[display eq "ada"].display'}, "invalidPath"),
        ({"op": "replace", "path": "members"}, "invalidValue"),
    ],
)
async def test_invalid_operations_on_members_are_refused(push: Pushing, operation: dict[str, Any], type: str) -> None:
    ada = await push.user("ada")
    group = await push.group("Finance", ada)

    answer = await push.patch(f"Groups/{group['id']}", operation)

    assert (answer.status_code, answer.json().get("scimType")) == (400, type)
    assert await _members(push, group) == [ada["id"]]


async def test_unknown_member_leaves_the_group_as_it_was(push: Pushing) -> None:
    ada = await push.user("ada")
    group = await push.group("Finance", ada)
    unknown = {"value": "0192e4a0-7c1e-7000-8000-000000000001"}

    answer = await push.patch(
        f"Groups/{group['id']}",
        {"op": "remove", "path": "members"},
        {"op": "add", "path": "members", "value": [unknown]},
    )

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert (await push.get(f"Groups/{group['id']}")) == group
