"""Read from a real streaming replica of the test server."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import psycopg
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.postgres import BIN, allow_traversal, owner_of
from tests.asgi import serving
from tests.builders import an_identity

pytestmark = pytest.mark.skipif(
    "ROLECALL_TEST_DATABASE_URL" in os.environ, reason="an external server might not allow replication"
)


class Standby:
    """A standby that replicates the test server."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.folder = folder
        self.owner = owner_of(folder / "none") if os.geteuid() == 0 else None
        self.url = psycopg.conninfo.make_conninfo(database_url, host=str(folder))
        if self.owner:
            os.chown(folder, *self.owner)
            allow_traversal(folder / "x")
        self.run("pg_basebackup", "-d", database_url, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        (folder / "server").chmod(0o700)

    def run(self, program: str, *arguments: str) -> None:
        user, group = self.owner or (None, None)
        with (self.folder / "out").open("a") as out:
            subprocess.run(
                [BIN / program, *arguments, "-D", self.folder / "server"],
                check=True, stdout=out, stderr=out, user=user, group=group, cwd="/", start_new_session=True,
            )  # fmt: skip

    @contextmanager
    def running(self) -> Iterator[None]:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=200 -c fsync=off"
        self.run("pg_ctl", "start", "-w", "-s", "-l", str(self.folder / "log"), "-o", options)
        yield
        self.run("pg_ctl", "stop", "-w", "-s", "-m", "immediate")


@pytest.fixture(scope="module")
def standby(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = Standby(database_url, tmp_path_factory.mktemp("standby"))
    with made.running():
        yield made.url


@pytest.fixture
def promoted(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = Standby(config.database_url or "", tmp_path_factory.mktemp("promoted"))
    with made.running():
        made.run("pg_ctl", "promote", "-w", "-s")
        yield made.url


@pytest.fixture
async def client(config: Config, standby: str, token: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(msgspec.structs.replace(config, read_url=standby)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


@pytest.fixture
async def follower(standby: str) -> AsyncIterator[Db]:
    async with await psycopg.AsyncConnection.connect(standby, autocommit=True) as db:
        await db.execute("SELECT pg_wal_replay_resume()")
        yield db
        await db.execute("SELECT pg_wal_replay_resume()")


async def readings(follower: Db) -> int:
    """Return how many connections to the replica last ran a query for identities."""
    count: int = await fetch_value(
        follower,
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%FROM identities i%%' AND pid <> pg_backend_pid()",
    )
    return count


async def caught_up(db: Db, follower: Db) -> None:
    written: str = await fetch_value(db, "SELECT pg_current_wal_lsn()::text")
    while True:
        if await fetch_value(follower, "SELECT pg_last_wal_replay_lsn() >= %(written)s::pg_lsn", written=written):
            return
        await asyncio.sleep(0.02)


async def total(client: httpx2.AsyncClient) -> int:
    answer = await client.get("/api/identities")
    assert answer.status_code == 200, answer.text
    return int(answer.json()["totalCount"])


async def test_current_replica_serves_reads(client: httpx2.AsyncClient, db: Db, follower: Db) -> None:
    id = await an_identity(db)
    # Try several times: while commits of other tests make the replica lag, the primary answers.
    for _ in range(50):
        await caught_up(db, follower)
        answer = await client.get(f"/api/identities/{id}")
        assert answer.json()["id"] == str(id)
        if await readings(follower):
            break

    assert await readings(follower) == 1


async def test_own_writes_are_visible_while_the_replica_lags(client: httpx2.AsyncClient, db: Db, follower: Db) -> None:
    assert await total(client) == 0
    await follower.execute("SELECT pg_wal_replay_pause()")
    for n in range(1, 4):
        person = {"firstName": "Ada", "lastName": f"Lovelace {n}"}
        body = {"identity": person, "effectiveDate": "2030-01-01"}
        assert (await client.post("/api/personnel-events/onboard", json=body)).status_code == 201
        assert await total(client) == n


async def test_lost_replica_falls_back_to_the_primary(config: Config, token: str, db: Db) -> None:
    await an_identity(db)
    gone = psycopg.conninfo.make_conninfo(config.database_url or "", host="/nowhere", connect_timeout=1)
    async with serving(msgspec.structs.replace(config, read_url=gone)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        assert [await total(client) for _ in range(3)] == [1, 1, 1]


async def test_write_to_a_read_only_replica_is_reported_as_unavailable(
    config: Config, standby: str, token: str, db: Db
) -> None:
    async with serving(msgspec.structs.replace(config, database_url=standby)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        async with await psycopg.AsyncConnection.connect(standby, autocommit=True) as follower:
            await caught_up(db, follower)
        body = {"identity": {"firstName": "Ada", "lastName": "Byron"}, "effectiveDate": "2030-01-01"}
        written = await client.post("/api/personnel-events/onboard", json=body)
        ready = await client.get("/readyz")

    assert (written.status_code, written.json()["message"]) == (503, "The database is read-only")
    assert written.headers["retry-after"] == "5"
    assert (ready.status_code, ready.json()["message"]) == (503, "Not ready: the database is read-only")


async def test_promoted_replica_accepts_writes(config: Config, token: str, promoted: str) -> None:
    async with serving(msgspec.structs.replace(config, database_url=promoted)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        body = {"identity": {"firstName": "Ada", "lastName": "Byron"}, "effectiveDate": "2030-01-01"}
        answer = await client.post("/api/personnel-events/onboard", json=body)
        entries = (await client.get("/api/audit-events")).json()["totalCount"]

    assert answer.status_code == 201, answer.text
    assert entries > 0
