"""Test creating, reading, replacing and deleting users and groups, as identity providers do."""

from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.text import name_key
from tests.scim_server.pushing import ENTERPRISE, GROUP, USER, Pushing, a_push

NOWHERE = "0192e4a0-7c1e-7000-8000-000000000001"


async def test_user_is_stored_as_pushed_with_declared_attribute_names(push: Pushing) -> None:
    body = {
        "schemas": [USER, ENTERPRISE],
        "USERNAME": "ada",
        "Active": "False",
        "emails": {"value": "ada@example.com", "Type": "work", "primary": "True"},
        ENTERPRISE: {"manager": "26118915-6090-4610-87e4-49d8ca9f808d", "department": "Analysis"},
        "urn:example:extension:2.0:User": {"badge": 7},
    }

    answer = await push.send("POST", "Users", body)

    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/scim+json"
    made = answer.json()
    meta = made.pop("meta")
    assert answer.headers["location"] == meta["location"] == f"http://rolecall.test/scim/v2/Users/{made['id']}"
    assert answer.headers["etag"] == meta["version"] == 'W/"1"'
    assert made == {
        "id": made["id"],
        "schemas": [USER, ENTERPRISE, "urn:example:extension:2.0:User"],
        "userName": "ada",
        "active": False,
        "emails": [{"value": "ada@example.com", "type": "work", "primary": True}],
        ENTERPRISE: {"manager": {"value": "26118915-6090-4610-87e4-49d8ca9f808d"}, "department": "Analysis"},
        "urn:example:extension:2.0:User": {"badge": 7},
    }
    assert (await push.get(f"Users/{made['id']}")) == {**made, "meta": meta}


async def test_attributes_below_the_core_schema_are_applied(push: Pushing) -> None:
    """A user who is disabled in this form must not stay active."""
    made = await push.user("ada")
    body = {"schemas": [USER], USER: {"userName": "ada", "active": False}}

    replaced = await push.send("PUT", f"Users/{made['id']}", body)

    assert replaced.status_code == 200
    assert (replaced.json()["active"], USER in replaced.json()) == (False, False)


async def test_passwords_are_never_stored(push: Pushing, db: Db) -> None:
    secret = "correct horse battery"
    extension = {"legacyPassword": secret, "apiKey": secret, "pin": secret, "nested": {"pwd": secret, "kept": "yes"}}
    ada = await push.user("ada", password=secret, **{"urn:example:1.0:User": extension})
    await push.patch(f"Users/{ada['id']}", {"op": "replace", "path": "password", "value": secret})
    await push.patch(f"Users/{ada['id']}", {"op": "replace", "value": {"Password": secret}})
    await push.send("PUT", f"Users/{ada['id']}", {**ada, "password": secret})

    stored = await fetch_value(db, "SELECT resource::text FROM scim_resources")
    assert secret not in stored
    assert '"kept": "yes"' in stored
    assert secret not in (await push.send("GET", "Users")).text


BROKEN: dict[str, tuple[Any, str]] = {
    "no name": ({"schemas": [USER]}, "userName is required"),
    "blank name": ({"userName": " "}, "userName is required"),
    "long name": ({"userName": "a" * 501}, "userName must have at most 500 characters"),
    "number as a name": ({"userName": 7}, "userName must be of type string"),
    "wrong type": ({"userName": "a", "active": "perhaps"}, "active must be of type boolean"),
    "text as an object": ({"userName": "a", "name": "Ada"}, "name must be an object"),
    "NUL": ({"userName": "a", "title": "a\x00b"}, "title must not contain NUL characters"),
    "NUL in a key": ({"userName": "a", "urn:x": {"a\x00": 1}}, "A name must not contain NUL characters"),
    "other schema": ({"schemas": [GROUP], "userName": "a"}, f"schemas must contain {USER}"),
    "many values": ({"userName": "a", "emails": [{"value": "x"}] * 501}, "emails may have at most 500 values"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_invalid_user_is_refused_with_a_scim_error(push: Pushing, case: str) -> None:
    body, detail = BROKEN[case]

    answer = await push.send("POST", "Users", body)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/scim+json"
    assert answer.json()["detail"] == detail
    assert answer.json()["status"] == "400"
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


async def test_name_is_unique_within_the_application_ignoring_case(
    client: httpx2.AsyncClient, db: Db, push: Pushing
) -> None:
    ada = await push.user("ada")
    bob = await push.user("bob")
    again = await push.send("POST", "Users", {"userName": "ADA"})
    renamed = await push.patch(f"Users/{bob['id']}", {"op": "replace", "path": "userName", "value": "Ada"})

    for answer in (again, renamed):
        assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
        assert answer.json()["detail"].endswith(f"already exists: {ada['id']}")
    assert (await (await a_push(client, db, "Other")).user("ada"))["id"] != ada["id"]


async def test_deleted_user_is_removed_from_groups(push: Pushing) -> None:
    ada, bob = await push.user("ada"), await push.user("bob")
    group = await push.group("Finance", ada, bob)

    gone = await push.send("DELETE", f"Users/{ada['id']}")

    assert (gone.status_code, gone.content) == (204, b"")
    assert (await push.send("GET", f"Users/{ada['id']}")).status_code == 404
    now = await push.get(f"Groups/{group['id']}")
    assert [member["value"] for member in now["members"]] == [bob["id"]]
    assert now["meta"]["version"] != group["meta"]["version"]


async def test_replaced_group_has_only_the_members_that_were_sent(push: Pushing) -> None:
    ada, bob, eve = [await push.user(name) for name in ("ada", "bob", "eve")]
    group = await push.group("Finance", ada, bob)
    members = [{"value": bob["id"]}, {"value": eve["id"], "display": "Eve"}]

    answer = await push.send("PUT", f"Groups/{group['id']}", {"displayName": "Treasury", "members": members})

    assert answer.status_code == 200
    place = "http://rolecall.test/scim/v2/Users"
    assert answer.json()["displayName"] == "Treasury"
    assert sorted(answer.json()["members"], key=lambda each: bool(each.get("display"))) == [
        {"value": bob["id"], "type": "User", "$ref": f"{place}/{bob['id']}"},
        {"value": eve["id"], "type": "User", "$ref": f"{place}/{eve['id']}", "display": "Eve"},
    ]


@pytest.mark.parametrize("member", [NOWHERE, "ada", "", 7, None])
async def test_unknown_member_is_refused(push: Pushing, member: object) -> None:
    answer = await push.send("POST", "Groups", {"displayName": "Finance", "members": [{"value": member}]})

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert (await push.get("Groups"))["totalResults"] == 0


async def test_versions_prevent_lost_updates_and_repeated_reads(push: Pushing) -> None:
    ada = await push.user("ada")
    path, version = f"Users/{ada['id']}", ada["meta"]["version"]
    title = {"op": "replace", "path": "title", "value": "Countess"}

    assert (await push.send("GET", path, If_None_Match=version)).status_code == 304
    assert (await push.patch(path, title, If_Match='W/"9"')).status_code == 412
    changed = await push.patch(path, title, If_Match=version)
    assert (changed.status_code, changed.headers["etag"]) == (200, 'W/"2"')
    assert (await push.patch(path, title)).headers["etag"] == 'W/"2"', "no change, no new version"
    assert (await push.send("GET", path, If_None_Match=version)).status_code == 200
    assert (await push.send("PUT", path, {"userName": "ada"}, If_Match=version)).status_code == 412
    assert (await push.send("DELETE", path, If_Match=version)).status_code == 412
    assert (await push.send("DELETE", path, If_Match="*")).status_code == 204


async def test_another_applications_resources_cannot_be_reached(
    client: httpx2.AsyncClient, db: Db, push: Pushing
) -> None:
    ada = await push.user("ada")
    other = await a_push(client, db, "Other")
    path = f"Users/{ada['id']}"

    for method, body in (("GET", None), ("PUT", {"userName": "x"}), ("DELETE", None)):
        assert (await other.send(method, path, body)).status_code == 404
    assert (await other.patch(path, {"op": "remove", "path": "title"})).status_code == 404
    member = {"displayName": "Finance", "members": [{"value": ada["id"]}]}
    assert (await other.send("POST", "Groups", member)).status_code == 400
    assert await other.names("userName pr") == []


WRONG: dict[str, tuple[str, str, object, int]] = {
    "unknown place": ("GET", "Printers", None, 404),
    "unknown user": ("GET", f"Users/{NOWHERE}", None, 404),
    "not an id": ("PUT", "Users/ada", {"userName": "a"}, 404),
    "deeper path": ("GET", f"Users/{NOWHERE}/emails", None, 404),
    "bulk": ("POST", "Bulk", {}, 501),
    "own account": ("GET", "Me", None, 501),
    "method of a list": ("DELETE", "Users", None, 405),
    "method of a user": ("POST", f"Users/{NOWHERE}", {}, 405),
    "method of a discovery": ("POST", "Schemas", {}, 405),
    "filter of a discovery": ("GET", "Schemas?filter=id pr", None, 403),
    "list as a body": ("POST", "Users", [], 400),
}


@pytest.mark.parametrize("case", WRONG)
async def test_invalid_requests_are_refused_with_a_scim_error(push: Pushing, case: str) -> None:
    method, path, body, status = WRONG[case]

    answer = await push.send(method, path, body)

    assert answer.status_code == status
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert answer.json()["status"] == str(status)


async def test_lists_are_paged_by_index_and_by_cursor(push: Pushing) -> None:
    names = [f"user{number}" for number in range(5)]
    for name in names:
        await push.user(name)

    page = await push.get("Users?startIndex=2&count=2")
    assert [each["userName"] for each in page["Resources"]] == names[1:3]
    assert (page["totalResults"], page["itemsPerPage"], page["startIndex"]) == (5, 2, 2)
    assert (await push.get("Users?count=0"))["Resources"] == []
    assert (await push.get("Users?startIndex=-3&count=100000"))["itemsPerPage"] == 5
    found = list[str]()
    cursor: str | None = ""
    while cursor is not None:
        page = await push.get(f"Users?cursor={cursor}&count=2")
        found += [each["userName"] for each in page["Resources"]]
        cursor = page.get("nextCursor")
    assert found == names
    assert (await push.send("GET", "Users?cursor=!")).json()["scimType"] == "invalidCursor"
    assert (await push.send("GET", "Users?count=many")).json()["scimType"] == "invalidValue"


async def test_attributes_can_be_selected_or_excluded(push: Pushing) -> None:
    ada = await push.user("ada", name={"givenName": "Ada", "familyName": "King"}, title="Countess")
    path = f"Users/{ada['id']}"

    chosen = await push.get(f"{path}?attributes=USERNAME,name.familyName")
    left = await push.get(f"{path}?excludedAttributes=name.givenName,id,meta,title,displayName")

    assert chosen == {"id": ada["id"], "schemas": [USER], "userName": "ada", "name": {"familyName": "King"}}
    assert left == {**chosen, "active": True}
    group = await push.group("Finance", ada)
    assert "members" not in await push.get(f"Groups/{group['id']}?excludedAttributes=members")
    assert "members" not in (await push.get("Groups?excludedAttributes=members"))["Resources"][0]
    both = await push.send("GET", "Users?attributes=title&excludedAttributes=name")
    assert both.status_code == 400


async def test_all_resources_can_be_searched_together(push: Pushing) -> None:
    ada = await push.user("ada")
    await push.group("Finance", ada)

    found = (await push.send("POST", ".search", {"startIndex": 2, "count": 5})).json()

    assert found["totalResults"] == 2
    assert [each["displayName"] for each in found["Resources"]] == ["Finance"]


async def test_name_that_an_import_would_confuse_with_another_is_refused(push: Pushing) -> None:
    await push.user("ada")

    answers = [await push.send("POST", "Users", {"schemas": [USER], "userName": name}) for name in ("ada ", " ADA")]

    assert [(answer.status_code, answer.json()["scimType"]) for answer in answers] == [(409, "uniqueness")] * 2
    assert await push.names('userName eq " Ada"') == ["ada"]


@pytest.mark.parametrize(("place", "field"), [("Users", "userName"), ("Groups", "displayName")])
async def test_name_whose_normalized_form_is_too_long_is_refused(push: Pushing, place: str, field: str) -> None:
    # Characters that normalization expands to several, each used once, so that the database cannot compress the name.
    several = [c for c in map(chr, (*range(0x3300, 0x3400), *range(0xFB50, 0xFDFB))) if len(name_key(c).encode()) >= 5]
    exotic = "".join([*several, *map(chr, range(0x20000, 0x2A000, 77))])[:500]
    kept = await push.user("ada") if place == "Users" else await push.group("ada")
    replaced = {"op": "replace", "path": field, "value": exotic}

    answers = [
        await push.send("POST", place, {field: exotic}),
        await push.send("POST", place, {field: "\ufdfa" * 500}),
        await push.send("PUT", f"{place}/{kept['id']}", {field: exotic}),
        await push.patch(f"{place}/{kept['id']}", replaced),
    ]

    assert len(exotic) == 500
    assert [(answer.status_code, answer.json()["scimType"]) for answer in answers] == [(400, "invalidValue")] * 4
    assert answers[0].json()["detail"].startswith(f"{field} is too long after Unicode normalization")
    assert (await push.send("POST", place, {field: "\U00020000" * 500})).status_code == 201


async def test_resources_of_an_archived_application_cannot_be_read(push: Pushing, db: Db) -> None:
    await push.user("ada")
    await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=push.id)

    assert (await push.send("GET", "Users")).status_code == 401
