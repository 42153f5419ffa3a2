"""Test setting, reading and removing the source of an application; its secret is never shown."""

import os
from typing import Any

import httpx2
import msgspec
import pytest

from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.config import AllowedHosts, Config, ConfigError, load
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.tokens import actions as tokens
from tests.builders import an_application
from tests.sources.rest_server import CONTENTS, RestServer
from tests.sources.sourcing import Sourcing, a_sourced_application

URL = "http://127.0.0.1:9/v1"
SECRET = "never shown again"


async def problems(sourcing: Sourcing, **body: Any) -> dict[str, str]:
    raw = {"kind": "REST", "url": URL, "contents": {"Users": {"path": "users"}}, **body}
    answer = await sourcing.client.put(sourcing.path, json=raw)
    assert answer.status_code == 400, answer.text
    return {problem["field"]: problem["message"] for problem in answer.json()["errors"]}


async def test_source_is_stored_and_shown_without_its_secret(sourcing: Sourcing, db: Db) -> None:
    put = await sourcing.put(URL, CONTENTS["Cursor"], authentication="bearer", secret=SECRET)

    shown = await sourcing.client.get(sourcing.path)

    assert put.json() == shown.json()
    detail = shown.json()
    assert (detail["kind"], detail["url"], detail["secretRef"]) == ("REST", URL, "sealed")
    assert detail["contents"] == {"Users": CONTENTS["Cursor"]}
    assert detail["secretDate"] is not None
    everything = await fetch_rows(db, "SELECT entry::text FROM audit_events")
    assert everything
    assert SECRET not in str([put.text, shown.text, everything])


async def test_secret_is_kept_only_for_the_same_host_and_port(sourcing: Sourcing, db: Db) -> None:
    await sourcing.put(URL, CONTENTS["None"], authentication="Bearer", secret=SECRET)
    same = await sourcing.put(f"{URL}/other", CONTENTS["None"], authentication="Bearer", secretRef="sealed")
    assert same.json()["secretDate"] is not None

    # Another port may belong to another service.
    other = await sourcing.put("http://127.0.0.1:10/", CONTENTS["None"], authentication="Bearer", secretRef="sealed")

    assert other.json()["secretDate"] is None
    assert await fetch_value(db, "SELECT count(*) FROM source_secrets") == 0
    assert "no secret is stored" in (await sourcing.fetch())["log"]


@pytest.mark.parametrize(
    ("kind", "url", "changed"),
    [
        ("LDAP", "ldap://127.0.0.1:9", {"startTls": False}),
        ("LDAP", "ldap://127.0.0.1:9", {"username": "cn=other"}),
        ("SQL", "postgresql://127.0.0.1:9/hr", {"url": "postgresql://127.0.0.1:9/hr?sslmode=disable"}),
    ],
)
async def test_secret_is_kept_only_for_the_same_encryption_and_login(
    sourcing: Sourcing, kind: str, url: str, changed: dict[str, Any]
) -> None:
    content = {"path": "dc=example"} if kind == "LDAP" else {"query": "SELECT 1"}
    tls = {"startTls": True} if kind == "LDAP" else {}
    body = {"kind": kind, "url": url, "contents": {"Users": content}, "username": "cn=reader", **tls}
    kept = []

    for sent in ({"secret": SECRET}, {"secretRef": "sealed"}, {"secretRef": "sealed", **changed}):
        answer = await sourcing.client.put(sourcing.path, json={**body, **sent})
        kept.append(answer.json()["secretDate"] is not None)

    assert kept == [True, True, False]


async def test_secret_is_removed_with_the_source(sourcing: Sourcing, db: Db) -> None:
    await sourcing.put(URL, CONTENTS["None"], secret=SECRET)

    removed = await sourcing.client.delete(sourcing.path)

    assert removed.status_code == 204
    assert await fetch_value(db, "SELECT count(*) FROM source_secrets") == 0
    assert (await sourcing.client.get(sourcing.path)).status_code == 404
    assert (await sourcing.client.delete(sourcing.path)).status_code == 404


async def test_secret_from_the_environment_is_used(
    sourcing: Sourcing, server: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = "env:ROLECALL_SOURCE_SECRET_HR"
    await sourcing.put(server.url, CONTENTS["None"], authentication="Bearer", secretRef=reference)
    missing = await sourcing.fetch()
    monkeypatch.setenv("ROLECALL_SOURCE_SECRET_HR", "from the environment")

    await sourcing.fetch()

    assert "the environment variable ROLECALL_SOURCE_SECRET_HR is not set" in missing["log"]
    assert server.headers[0]["Authorization"] == "Bearer from the environment"


async def test_secret_from_a_file_is_used_and_its_date_is_shown(
    sourcing: Sourcing, server: RestServer, config: Config
) -> None:
    assert config.source_secrets
    put = await sourcing.put(server.url, CONTENTS["None"], authentication="Bearer", secretRef="file:hr")
    missing = await sourcing.fetch()
    (config.source_secrets / "hr").write_text("from a file\n")
    os.utime(config.source_secrets / "hr", (1_700_000_000, 1_700_000_000))

    await sourcing.fetch()

    assert put.json()["secretDate"] is None
    assert "the secret hr in ROLECALL_SOURCE_SECRETS cannot be read" in missing["log"]
    assert server.headers[0]["Authorization"] == "Bearer from a file"
    assert (await sourcing.client.get(sourcing.path)).json()["secretDate"] == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"secretRef": "env:ROLECALL_SECRET_KEY"}, "secretRef", "begins with ROLECALL_SOURCE_SECRET_"),
        ({"secretRef": "env:HOME"}, "secretRef", "begins with ROLECALL_SOURCE_SECRET_"),
        ({"secretRef": "file:../secret.key"}, "secretRef", "a plain file name"),
        ({"secretRef": "file:/etc/passwd"}, "secretRef", "a plain file name"),
        ({"secretRef": "hunter2"}, "secretRef", "must be env:ROLECALL_SOURCE_SECRET_… or file:…, or sealed"),
        ({"url": "https://api.example.com/"}, "url", "api.example.com is not in ROLECALL_SOURCE_HOSTS"),
        ({"url": "https://ada:pw@127.0.0.1/"}, "url", "without a username or password"),
        ({"url": "ftp://127.0.0.1/"}, "url", "URL must look like https://api.example.com/v1"),
        ({"kind": "FTP"}, "kind", "must be one of "),
        ({"contents": {"Nobody": {}}}, "contents.Nobody", "no file group Nobody; use one of Users"),
        ({"contents": {}}, "contents", "must have at least 1 entry"),
        ({"contents": {"Users": {"query": "SELECT 1"}}}, "contents.Users.query", "REST does not use query"),
        ({"contents": {"Users": {"paging": "Cursor"}}}, "contents.Users.next", "Next is required for paging Cursor"),
        (
            {
                "kind": "LDAP",
                "url": "ldap://127.0.0.1:9",
                "contents": {"Users": {"path": "dc=x", "each": "member", "resolve": {"uid": "member"}}},
            },
            "contents.Users.resolve",
            "Resolve must have exactly one entry, for member, such as {member: sAMAccountName}",
        ),
        ({"contents": {"Users": {"parameters": {"api_key": "x"}}}}, "contents.Users.parameters", "looks like a secret"),
        ({"contents": {"Users": {"path": "x?api_key=y"}}}, "contents.Users.path", "looks like a secret"),
        ({"contents": {"Users": {"path": "http://u:pw@127.0.0.1/x"}}}, "contents.Users.path", "must not contain a"),
        ({"url": "https://127.0.0.1/?token=y"}, "url", "looks like a secret"),
        *[
            ({"contents": {"Users": {"parameters": {name: "x"}}}}, "contents.Users.parameters", "looks like a secret")
            for name in ("sig", "key", "access_key", "auth", "code")
        ],
        *[
            ({"headers": {name: "x"}}, "headers", "looks like a secret")
            for name in ("X-Auth", "X-Key", "Ocp-Apim-Subscription-Key")
        ],
        ({"headers": {"Authorization": "Bearer x"}}, "headers", "looks like a secret"),
        ({"headers": {"Host": "evil"}}, "headers", "Host cannot be set"),
        ({"startTls": True}, "startTls", "REST does not use startTls"),
        ({"authentication": "Header", "secret": "x"}, "header", "Header is required"),
        ({"authentication": "Bearer"}, "secretRef", "Enter the secret, or a secret reference such as env:"),
        ({"timeoutSeconds": 0}, "timeoutSeconds", "must be at least 1"),
    ],
)
async def test_invalid_source_is_refused_with_a_message(
    sourcing: Sourcing, body: dict[str, Any], field: str, message: str
) -> None:
    found = await problems(sourcing, **body)

    assert message in found[field]


async def test_parameters_that_are_not_secrets_are_accepted(sourcing: Sourcing) -> None:
    names = ["countryCode", "sort_key", "author", "sortBy", "assignment"]

    answer = await sourcing.put(URL, {"path": "x", "parameters": dict.fromkeys(names, "x")})

    assert answer.status_code == 200, answer.text


async def test_required_file_groups_must_be_fetched(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    files = [{"name": "Users", "content": "users"}, {"name": "Groups", "content": "groups"}]
    sourcing = await a_sourced_application(client, db, config, {"name": "Two", "files": files})

    assert await problems(sourcing) == {"contents.Groups": "Groups is required: add the settings of this file group"}


async def test_locations_and_a_source_exclude_each_other(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    schedule = {"cron": "0 6 * * *", "locations": {"Users": "/srv/users.csv"}}
    sourcing = await a_sourced_application(client, db, config, schedule=schedule)

    assert "The schedule has locations" in (await problems(sourcing))["contents"]


async def test_unknown_application_is_not_found(sourcing: Sourcing) -> None:
    path = f"/api/applications/{'0' * 8}-0000-7000-8000-{'0' * 12}/source"
    answers = [
        await sourcing.client.get(path),
        await sourcing.client.put(path, json={}),
        await sourcing.client.delete(path),
        await sourcing.client.post(f"{path}/test"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4


async def test_live_source_of_people_needs_identities_write(
    client: httpx2.AsyncClient, db: Db, facts: Facts, server: RestServer
) -> None:
    files = [{"name": "People", "content": "identities"}]
    id = await an_application(db, "HR", connector={"name": "HR", "files": files}, isIdentitySource=True)
    path = f"/api/applications/{id}/source"
    body = {"kind": "REST", "url": server.url, "contents": {"People": {"path": "x"}}}
    made = await tokens.create_token(db, None, {"name": "narrow", "scopes": [Scope.CONFIG_MANAGE]}, facts)
    headers = {"Authorization": f"Bearer {made.secret}"}

    answers = [
        await client.put(path, json=body, headers=headers),
        await client.delete(path, headers=headers),
        await client.post(f"{path}/test", json={"source": body}, headers=headers),
    ]

    assert [answer.status_code for answer in answers] == [403] * 3
    assert server.asked == []
    assert (await client.put(path, json=body)).status_code == 200


def test_allow_list_is_read_from_the_environment() -> None:
    read = load({"ROLECALL_SOURCE_HOSTS": "LDAP.example.com., 10.1.0.0/16,127.0.0.1"})

    assert read.source_hosts.names == {"ldap.example.com"}
    assert [str(network) for network in read.source_hosts.networks] == ["10.1.0.0/16", "127.0.0.1/32"]
    assert load({}).source_hosts == AllowedHosts()
    assert load({"ROLECALL_SOURCE_SECRET_A": "x"}).source_secrets is None


@pytest.mark.parametrize("text", ["https://example.com", "10.1", "*.example.com", "a b", "10.0.0.0/33"])
def test_malformed_allow_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="ROLECALL_SOURCE_HOSTS"):
        load({"ROLECALL_SOURCE_HOSTS": text})


async def test_no_host_is_allowed_by_default(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    bare = msgspec.structs.replace(config, source_hosts=AllowedHosts())
    sourcing = await a_sourced_application(client, db, bare)
    await sourcing.put(URL, CONTENTS["None"])

    run = await sourcing.fetch()

    assert "127.0.0.1 is not in ROLECALL_SOURCE_HOSTS" in run["log"]


async def test_locations_are_refused_when_the_application_has_a_source(sourcing: Sourcing) -> None:
    await sourcing.put(URL, CONTENTS["None"])
    path = f"/api/applications/{sourcing.id}"
    schedule = {"cron": "0 6 * * *", "locations": {"Users": "/srv/users.csv"}}

    refused = await sourcing.client.patch(path, json={"schedule": schedule})
    allowed = await sourcing.client.patch(path, json={"schedule": {"cron": "0 6 * * *"}})

    assert refused.json()["errors"] == [
        {"field": "schedule.locations", "message": "The records come from a live source; remove the locations"}
    ]
    assert allowed.status_code == 200
