"""Test that sources and carriers never connect to special addresses, unless the operator lists the network."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest
from psycopg.types.json import Jsonb

from rolecall.carriers.model import Carrier, CarrierKind, Step, StepVerb
from rolecall.carriers.targets import open_target
from rolecall.core import dialing
from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db, execute, make_pool
from rolecall.sources.kinds import connect
from rolecall.sources.model import Source, SourceAccess, SourceContent, SourceFailed, SourceKind
from tests.carriers.carrying import LDAP, SCIM
from tests.figures import measured
from tests.sources.sourcing import a_sourced_application
from tests.webhooks.test_addresses import SPELLINGS, names

__all__ = ["names"]

SCHEMES = {
    SourceKind.REST: ("https://{}/x", "http://{}:8080/x"),
    SourceKind.SCIM: ("https://{}/scim/v2",),
    SourceKind.LDAP: ("ldaps://{}", "ldap://{}"),
    SourceKind.SQL: ("postgresql://{}/hr", "postgresql://{}/hr?sslmode=disable"),
}
CASES = [(kind, url.format(host)) for kind, urls in SCHEMES.items() for url in urls for host in SPELLINGS]
CONTENTS = {SourceKind.SQL: {"query": "SELECT 1"}}


@pytest.fixture
def config(config: Config) -> Config:
    """Let live sources connect to no host."""
    return msgspec.structs.replace(config, source_hosts=AllowedHosts())


class Connections:
    """Record and refuse every attempt to connect, by Python sockets or by C libraries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[Any] = []
        monkeypatch.setattr(dialing, "make_socket", self.refuse)
        monkeypatch.setattr("rolecall.sources.sql.AsyncConnection", SimpleNamespace(connect=self.refuse))
        monkeypatch.setattr("rolecall.sources.ldap.require_answer", self.refuse)
        monkeypatch.setattr("rolecall.sources.ldap.LdapConnection.open", self.refuse)

    def refuse(self, *told: Any, **_: Any) -> Any:
        self.made.append(told)
        raise AssertionError("a connection was made")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


async def test_sources_with_forbidden_spellings_cannot_be_saved(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    sourcing = await a_sourced_application(client, db, config)
    saved = []
    for kind, url in CASES:
        contents = {"Users": CONTENTS.get(kind, {"path": "x"})}
        body = {"kind": kind, "url": url, "contents": contents}
        answer = await client.put(sourcing.path, json=body)
        saved += [url] if answer.status_code != 400 else []

    assert saved == []


@pytest.mark.usefixtures("names")
async def test_forbidden_addresses_are_never_contacted(config: Config, connections: Connections) -> None:
    """Each spelling is an allowed host name, but a special address is allowed only by a listed network."""
    hosts = frozenset(host.strip("[]").rstrip(".").lower() for host in SPELLINGS)
    listing = msgspec.structs.replace(config, source_hosts=AllowedHosts(hosts))
    refused = 0
    for kind, url in CASES:
        source = Source(kind, url, {}, username="ada", timeout_seconds=1)
        content = msgspec.convert(CONTENTS.get(kind, {"path": "x"}), SourceContent)
        try:
            async with connect(SourceAccess(source, "secret", listing, 0)) as connection:
                _ = [page async for page in connection.pages(content)]
        except (SourceFailed, AssertionError, ValueError):
            refused += 1

    measured(f"{len(CASES):,} URLs of sources, {len(connections.made)} connections")
    assert refused == len(CASES)
    assert connections.made == []


CARRIED = [(CarrierKind(kind), url) for kind, url in CASES if kind in (SourceKind.SCIM, SourceKind.LDAP)]


async def test_carriers_with_forbidden_spellings_cannot_be_saved(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    sourcing = await a_sourced_application(client, db, config)
    saved = []
    for kind, url in CARRIED:
        body = {**(LDAP if kind is CarrierKind.LDAP else SCIM), "url": url}
        answer = await client.put(f"/api/applications/{sourcing.id}/carrier", json=body)
        assert [each["field"] for each in answer.json()["errors"]] == ["url"]
        saved += [url] if answer.status_code != 400 else []

    assert saved == []


@pytest.mark.usefixtures("names")
async def test_carriers_never_contact_forbidden_addresses(config: Config, connections: Connections) -> None:
    hosts = frozenset(host.strip("[]").rstrip(".").lower() for host in SPELLINGS)
    listing = msgspec.structs.replace(config, source_hosts=AllowedHosts(hosts))
    refused = 0
    async with make_pool(listing) as pool:
        for kind, url in CARRIED:
            carrier = Carrier(kind, url, username="ada", timeout_seconds=1, accounts_path="x", account_attribute="uid")
            try:
                async with open_target(pool, listing, UUID(int=1), carrier) as target:
                    await target.carry_out(Step(StepVerb.DELETE, "ada"), was_sent=False)
            except (SourceFailed, AssertionError, ValueError):
                refused += 1

    measured(f"{len(CARRIED):,} URLs of carriers, {len(connections.made)} connections")
    assert refused == len(CARRIED)
    assert connections.made == []


async def test_name_that_later_resolves_to_another_address_is_not_contacted(
    client: httpx2.AsyncClient, db: Db, config: Config, names: dict[str, list[str]], connections: Connections
) -> None:
    listed = msgspec.structs.replace(config, source_hosts=AllowedHosts(frozenset({"api.example.com"})))
    sourcing = await a_sourced_application(client, db, listed)
    names["api.example.com"] = ["10.0.0.7"]
    await execute(
        db,
        "INSERT INTO sources VALUES (%(id)s, %(definition)s, now())",
        id=sourcing.id,
        definition=Jsonb({"kind": "REST", "url": "https://api.example.com/", "contents": {"Users": {"path": "x"}}}),
    )

    run = await sourcing.fetch()

    assert "the address of api.example.com is private or special" in run["log"]
    assert connections.made == []
