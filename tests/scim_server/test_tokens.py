"""Test that SCIM tokens are bound to one application, shown once and revoked at once; test the request limits."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.scim_server import health
from tests.asgi import serving
from tests.builders import a_token
from tests.scim_server.pushing import SOURCE, Pushing, a_push


async def _detail(client: httpx2.AsyncClient, push: Pushing) -> dict[str, Any]:
    answer = await client.get(f"/api/applications/{push.id}/scim")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_token_is_shown_once_and_stored_as_a_digest(client: httpx2.AsyncClient, db: Db, push: Pushing) -> None:
    assert push.secret.startswith("rcs_")
    detail = await _detail(client, push)
    assert [token["name"] for token in detail["tokens"]] == ["Okta"]
    assert detail["address"] == "http://rolecall.test/scim/v2"
    stored = await fetch_value(db, "SELECT row_to_json(t)::text FROM scim_tokens t")
    audited = await fetch_value(db, "SELECT string_agg(entry::text, '') FROM audit_events")
    for text in (str(detail), stored, audited):
        assert push.secret.rpartition("_")[2] not in text
    assert "scimToken.Okta" in audited


async def test_revoked_expired_and_foreign_tokens_are_refused(
    client: httpx2.AsyncClient, db: Db, push: Pushing
) -> None:
    (token,) = (await _detail(client, push))["tokens"]
    api_token = (await a_token(db)).secret
    typo = push.secret[:-1] + ("1" if push.secret.endswith("0") else "0")
    for secret in ("", "x", api_token, typo, push.secret.replace("rcs_", "rct_")):
        answer = await Pushing(client, push.id, secret).send("GET", "Users")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert (await client.get("/api/applications", headers=_bearer(push))).status_code == 401

    clock.travel_to(clock.now() + timedelta(days=366))
    assert (await push.send("GET", "Users")).status_code == 401
    clock.travel_home()
    assert (await push.send("GET", "Users")).status_code == 200
    assert (await client.delete(f"/api/scim-tokens/{token['id']}")).status_code == 204
    assert (await push.send("GET", "Users")).status_code == 401
    assert (await push.send("POST", "Users", {"userName": "ada"})).status_code == 401
    assert (await _detail(client, push))["tokens"][0]["revokedOn"]


def _bearer(push: Pushing) -> dict[str, str]:
    return {"Authorization": f"Bearer {push.secret}"}


@pytest.mark.parametrize("path", ["Users", "Users/.search", ".search"])
async def test_token_that_is_revoked_while_the_body_arrives_writes_and_reads_nothing(
    client: httpx2.AsyncClient, db: Db, push: Pushing, path: str
) -> None:
    begun, revoked = asyncio.Event(), asyncio.Event()

    async def body() -> Any:
        yield b'{"userName": '
        begun.set()
        await revoked.wait()
        yield b'"ada"}'

    headers = {**_bearer(push), "Content-Type": "application/scim+json"}
    request = asyncio.create_task(client.post(f"/scim/v2/{path}", content=body(), headers=headers))
    await begun.wait()
    await execute(db, "UPDATE scim_tokens SET revoked_at = now()")
    revoked.set()

    assert (await request).status_code == 401
    assert await fetch_value(db, "SELECT count(*) FROM scim_resources") == 0


async def test_archived_application_accepts_no_pushes(client: httpx2.AsyncClient, push: Pushing) -> None:
    answer = await client.patch(f"/api/applications/{push.id}", json={"isArchived": True})
    assert answer.status_code == 200, answer.text

    assert (await push.send("POST", "Users", {"userName": "ada"})).status_code == 401


async def test_removed_source_revokes_tokens_and_deletes_pushed_records(
    client: httpx2.AsyncClient, db: Db, push: Pushing
) -> None:
    await push.group("Finance", await push.user("ada"))

    assert (await client.delete(f"/api/applications/{push.id}/source")).status_code == 204

    assert (await push.send("GET", "Users")).status_code == 401
    assert await fetch_value(db, "SELECT count(*) FROM scim_resources") == 0
    assert (await client.get(f"/api/applications/{push.id}/scim")).status_code == 404
    again = await client.post(f"/api/applications/{push.id}/scim/tokens", json={"name": "Entra"})
    assert again.status_code == 404


async def test_token_of_an_identity_source_needs_the_scope_identities_write(
    client: httpx2.AsyncClient, anonymous: httpx2.AsyncClient, db: Db
) -> None:
    push = await a_push(client, db, isIdentitySource=True)
    (token,) = (await _detail(client, push))["tokens"]
    operator = {"Authorization": f"Bearer {(await a_token(db, scopes=['config:manage'])).secret}"}

    made = await anonymous.post(f"/api/applications/{push.id}/scim/tokens", json={"name": "Mine"}, headers=operator)
    gone = await anonymous.delete(f"/api/scim-tokens/{token['id']}", headers=operator)

    assert (made.status_code, gone.status_code) == (403, 403)


@pytest.mark.parametrize("by_configuration", [False, True])
async def test_application_with_a_push_cannot_become_an_identity_source(
    client: httpx2.AsyncClient, anonymous: httpx2.AsyncClient, db: Db, by_configuration: bool
) -> None:
    operator = {"Authorization": f"Bearer {(await a_token(db, scopes=['config:manage'])).secret}"}
    push = await a_push(client, db)
    path = f"/api/applications/{push.id}"
    made = await anonymous.post(f"{path}/scim/tokens", json={"name": "Mine"}, headers=operator)
    mine = Pushing(anonymous, push.id, made.json()["secret"])
    await mine.user("mallory")

    refused = await _mark_as_identity_source(client, push, by_configuration)
    removed = await client.delete(f"{path}/source")
    marked = await _mark_as_identity_source(client, push, by_configuration)
    again = await client.put(f"{path}/source", json=SOURCE)

    assert refused.status_code == 400
    assert "isIdentitySource" in refused.text
    assert "remove the live source" in refused.text
    assert (made.status_code, removed.status_code, marked.status_code, again.status_code) == (201, 204, 200, 200)
    assert await fetch_value(db, "SELECT count(*) FROM scim_resources") == 0
    assert (await mine.send("GET", "Users")).status_code == 401
    # A change of an application that is an identity source already may send `isIdentitySource` again.
    assert (await _mark_as_identity_source(client, push, by_configuration)).status_code == 200


async def _mark_as_identity_source(
    client: httpx2.AsyncClient, push: Pushing, by_configuration: bool
) -> httpx2.Response:
    if not by_configuration:
        return await client.patch(f"/api/applications/{push.id}", json={"isIdentitySource": True})
    name = (await client.get(f"/api/applications/{push.id}")).json()["name"]
    return await client.put("/api/configuration", json={"applications": [{"name": name, "isIdentitySource": True}]})


async def test_token_names_are_unique_and_their_number_is_limited(client: httpx2.AsyncClient, push: Pushing) -> None:
    path = f"/api/applications/{push.id}/scim/tokens"
    statuses = [(await client.post(path, json={"name": f"Token {number}"})).status_code for number in range(20)]

    assert statuses == [201] * 19 + [400]
    again = await client.post(path, json={"name": "Okta"})
    assert again.json()["errors"][0]["field"] == "name"
    never = await client.post(path, json={"name": "Never", "expiresInDays": 0})
    assert never.status_code == 400


async def test_doctor_reports_pushes_whose_tokens_end(client: httpx2.AsyncClient, db: Db, push: Pushing) -> None:
    now = clock.now()
    (token,) = (await _detail(client, push))["tokens"]
    expires = "UPDATE scim_tokens SET expires_at = %(at)s"

    fine = await health.problems(db, now)
    await execute(db, expires, at=datetime(2026, 5, 1, tzinfo=UTC))
    soon = await health.problems(db, datetime(2026, 4, 30, tzinfo=UTC))
    expired = await health.problems(db, datetime(2026, 5, 2, tzinfo=UTC))
    await execute(db, expires, at=None)
    never = await health.problems(db, now)
    await client.delete(f"/api/scim-tokens/{token['id']}")
    none = await health.problems(db, now)

    assert (fine, never) == ([], [])
    assert soon == ["Payroll: the last token expires on 2026-05-01"]
    assert expired == ["Payroll: the last token expired on 2026-05-01"]
    assert none == ["Payroll: there is no token"]


@pytest.mark.parametrize(("settings", "status"), [({"scim_rate_limit": 2}, 429), ({"scim_max_body_bytes": 99}, 413)])
async def test_requests_and_bodies_are_limited(
    config: Config, push: Pushing, settings: dict[str, int], status: int
) -> None:
    async with serving(msgspec.structs.replace(config, **settings)) as client:
        limited = Pushing(client, push.id, push.secret)
        answers = [await limited.send("POST", "Users", {"userName": "ada" * 50}) for _ in range(3)]

    assert answers[-1].status_code == status
    assert answers[-1].json()["status"] == str(status)
    assert ("retry-after" in answers[-1].headers) == (status == 429)


async def test_body_must_be_json_of_moderate_depth(client: httpx2.AsyncClient, push: Pushing) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"a": deep}
    assert (await push.send("POST", "Users", {"userName": "ada", "x": deep})).json()["scimType"] == "invalidSyntax"
    assert (await push.send("POST", "Users", {}, Content_Type="text/plain")).status_code == 415
    assert (await push.send("POST", "Users", {"userName": "ada"}, Content_Type="application/json")).status_code == 201
    broken = await client.post(
        "/scim/v2/Users", content=b"{", headers=_bearer(push) | {"content-type": "application/json"}
    )
    assert (broken.status_code, broken.json()["scimType"]) == (400, "invalidSyntax")
