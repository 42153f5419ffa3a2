"""Run services behind a real PgBouncer in transaction mode, with only a few connections for all of them."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import msgspec
import psycopg
import pytest
from psycopg import sql

from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.postgres import allow_traversal, owner_of
from tests.asgi import serving
from tests.builders import an_identity
from tests.cli.commands import eventually

pytestmark = [
    pytest.mark.skipif(not shutil.which("pgbouncer"), reason="needs PgBouncer: make hosts"),
    pytest.mark.skipif("ROLECALL_TEST_DATABASE_URL" in os.environ, reason="the pooler signs in without a password"),
]
END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
CONFIGURATION = """
[databases]
* = host={host} port=5432
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = options,extra_float_digits
"""


@pytest.fixture(scope="module")
def pooler(database_url: str) -> Iterator[str]:
    """Yield the URL of the test database behind the pooler."""
    server = psycopg.conninfo.conninfo_to_dict(database_url)
    # The path of pytest's folder would be too long for a socket.
    with tempfile.TemporaryDirectory(prefix="rolecall-pooler-") as name:
        folder = Path(name)
        (folder / "pgbouncer.ini").write_text(CONFIGURATION.format(host=server["host"], folder=folder))
        (folder / "users").write_text('"postgres" ""\n')
        user = group = None
        if os.geteuid() == 0:
            user, group = owner_of(folder / "none")
            for path in (folder, *folder.iterdir()):
                os.chown(path, user, group)
            allow_traversal(folder / "x")
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                ["pgbouncer", folder / "pgbouncer.ini"], user=user, group=group, stdout=log, stderr=log, cwd="/"
            )
        try:
            eventually((folder / ".s.PGSQL.6432").exists)
            yield psycopg.conninfo.make_conninfo(database_url, host=name, port=6432)
        finally:
            process.terminate()
            process.wait()


@pytest.fixture
def pooled(config: Config, pooler: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setattr("rolecall.core.db.Pool", Pool)
    return msgspec.structs.replace(config, database_url=pooler, prepared_statements=False)


@pytest.fixture
def settings_of_the_database(config: Config) -> Iterator[None]:
    """Configure the database with the settings that the pooler drops, and end the connections that lack them."""
    assert config.database_url
    with psycopg.connect(config.database_url, autocommit=True) as db:
        name = sql.Identifier(db.info.dbname)
        db.execute(sql.SQL("ALTER DATABASE {} SET rolecall.base_url = {}").format(name, config.base_url))
        db.execute(END_OTHERS)
        yield
        db.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(name))
        db.execute(END_OTHERS)


@pytest.fixture
async def clients(
    settings_of_the_database: None, pooled: Config, db: Db, token: str
) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Run two services; yield a client for each."""
    async with serving(pooled) as one, serving(pooled) as two:
        for client in (one, two):
            client.headers["Authorization"] = f"Bearer {token}"
        yield [one, two]


async def test_services_share_connections_between_transactions(clients: list[httpx2.AsyncClient], db: Db) -> None:
    await an_identity(db, "Ada", "Lovelace")

    async def work(client: httpx2.AsyncClient, number: int) -> list[int]:
        person = {"firstName": "Ada", "lastName": f"Lovelace {number}"}
        body = {"identity": person, "effectiveDate": "2035-01-01"}
        made = await client.post("/api/personnel-events/onboard", json=body)
        answers = [made, await client.get(f"/api/personnel-events/{made.json()['id']}")]
        answers += [await client.get(f"/api/{name}") for name in ("identities", "access-requests", "audit-events")]
        return [answer.status_code for answer in answers]

    told = await asyncio.gather(*(work(client, number) for number in range(20) for client in clients))

    exported = await clients[0].get("/api/identities", headers={"Accept": "text/csv"})

    assert {status for each in told for status in each} == {200, 201}
    assert (exported.status_code, exported.text.count("Lovelace")) == (200, 40 + 1)


async def test_settings_that_the_pooler_drops_are_reported_before_a_request_fails(
    pooled: Config, token: str, db: Db, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(pooled) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        answer = await client.get("/api/identities")

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert "the pooler drops session settings" in caplog.text
