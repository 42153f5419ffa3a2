"""Test credentials, encryption and certificates of connections to a JSON API."""

import ssl
from pathlib import Path

import httpx2
import msgspec
import pytest
from psycopg.types.json import Jsonb

from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db, execute
from tests.sources.certificates import a_certificate
from tests.sources.rest_server import CONTENTS, RestServer, serving
from tests.sources.sourcing import Sourcing, a_sourced_application


@pytest.mark.parametrize(
    ("fields", "header", "expected"),
    [
        ({"authentication": "Bearer"}, "Authorization", "Bearer s3cret"),
        ({"authentication": "Basic", "username": "ada"}, "Authorization", "Basic YWRhOnMzY3JldA=="),
        ({"authentication": "Header", "header": "X-API-Key"}, "X-API-Key", "s3cret"),
    ],
)
async def test_credentials_are_sent_as_configured(
    sourcing: Sourcing, server: RestServer, fields: dict[str, str], header: str, expected: str
) -> None:
    await sourcing.put(server.url, CONTENTS["None"], secret="s3cret", headers={"X-Tenant": "acme"}, **fields)

    await sourcing.fetch()

    assert server.headers[0][header] == expected
    assert server.headers[0]["X-Tenant"] == "acme"


async def test_unencrypted_connection_needs_a_listed_network(
    client: httpx2.AsyncClient, db: Db, config: Config, server: RestServer
) -> None:
    """The network was in the allow-list when the source was saved; now only the host name is."""
    url = server.url.replace("127.0.0.1", "localhost")
    names = AllowedHosts(frozenset({"localhost"}))
    limited = msgspec.structs.replace(config, source_hosts=names)
    sourcing = await a_sourced_application(client, db, limited)
    await execute(
        db,
        "INSERT INTO sources VALUES (%(id)s, %(definition)s, now())",
        id=sourcing.id,
        definition=Jsonb({"kind": "REST", "url": url, "contents": {"Users": CONTENTS["None"]}}),
    )

    run = await sourcing.fetch()

    assert "the connection to localhost is not encrypted; use TLS, or" in run["log"]
    assert server.asked == []


@pytest.mark.parametrize(("name", "status"), [("127.0.0.1", "Finished"), ("other.example.com", "Failed")])
async def test_certificate_must_match_the_host(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path, name: str, status: str
) -> None:
    authority, certificate = a_certificate(tmp_path, name)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    sourcing = await a_sourced_application(client, db, msgspec.structs.replace(config, source_ca=authority))
    async with serving(3, tls) as server:
        await sourcing.put(server.url, CONTENTS["None"])
        run = await sourcing.fetch()

    assert run["status"] == status, run["log"]
    if status == "Failed":
        assert "the certificate of 127.0.0.1 is not accepted: IP address mismatch" in run["log"]
        assert server.asked == []
