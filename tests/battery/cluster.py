"""Run the service on several hosts with the files of `deploy/several-hosts`, and do what its operator would do."""

import asyncio
import os
import secrets
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import fsspec
import httpx2
import psycopg

from rolecall.core.caller import Scope
from rolecall.core.db import Db
from rolecall.core.files import Store
from rolecall.core.postgres import BIN, allow_traversal, owner_of
from tests.battery.hosts import NETWORK, Network, check_machine
from tests.cli.commands import REPOSITORY, environment

DEPLOYED = REPOSITORY / "deploy/several-hosts"
NUMBERS = {
    "clients": 1, "balancer": 10, "api-1": 11, "api-2": 12, "worker-1": 21, "worker-2": 22,
    "pooler": 30, "database-1": 31, "database-2": 32, "store": 40,
}  # fmt: skip
URL = f"http://{NETWORK}.{NUMBERS['balancer']}"
STORE_URL = f"http://{NETWORK}.{NUMBERS['store']}:9000"
# The limit of each wait is generous, because the machine may be busy; the test reports the time that was needed.
PATIENCE_SECONDS = 240.0
_ENV = 'set -a; . "$0"; exec "$@"'
_RESTARTED = 'while :; do "$0" "$@"; sleep 0.1; done'
_BEATING = "SELECT count(*) FROM heartbeats WHERE beaten_at > now() - interval '6 seconds'"
_STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"


class Cluster:
    def __init__(self, folder: Path) -> None:
        check_machine("haproxy", "pgbouncer")
        self.network = Network(folder, NUMBERS)
        self.primary, self.replica = "database-1", "database-2"
        self.url, self.token = URL, ""
        self._postgres = owner_of(folder / "none")
        self._password = secrets.token_hex(16)
        self._secrets = {
            "PGPASSWORD": self._password, "ROLECALL_SECRET_KEY": secrets.token_hex(32), "ROLECALL_DATA_DIR": "/srv",
            "AWS_ACCESS_KEY_ID": "rolecall", "AWS_SECRET_ACCESS_KEY": self._password,
            "ROLECALL_WEBHOOK_ALLOW": f"{NETWORK}.0/24",
        }  # fmt: skip
        self.db_url = f"postgresql://rolecall:{self._password}@{NETWORK}.{NUMBERS['pooler']}:6432/rolecall_worker"
        fsspec.config.conf["s3"] = {
            "endpoint_url": STORE_URL, "key": "rolecall", "secret": self._password, "skip_instance_cache": True,
        }  # fmt: skip
        self.store = Store(folder / "unused", "s3://rolecall/files")

    # The methods below are for clients and checks.

    @asynccontextmanager
    async def client(self, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        async with httpx2.AsyncClient(base_url=URL, headers=headers, timeout=10) as client:
            yield client

    @asynccontextmanager
    async def db(self) -> AsyncIterator[Db]:
        async with await psycopg.AsyncConnection.connect(self.db_url, autocommit=True, prepare_threshold=None) as db:
            yield db

    def rolecall(self, *words: str, host: str = "worker-1") -> str:
        return self.network[host].run(*self._rolecall("worker", *words), env=self._environment())

    def crashes(self) -> list[str]:
        names = [name for name in NUMBERS if name.startswith(("api", "worker"))]
        return [line for name in names for line in self.network[name].said().splitlines() if " crash " in line]

    # Methods that start hosts.

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.network.up():
            self._furnish()
            for name in NUMBERS:
                self.network.boot(name)
            with self.network["clients"].joined():
                self._set_up()
                yield

    def start(self, name: str) -> None:
        """Start the services of a host, as a boot does."""
        host = self.network[name]
        match name.partition("-")[0]:
            case "balancer":
                host.start("haproxy", "-db", "-f", "/etc/haproxy/haproxy.cfg")
            case "api":
                command = self._rolecall("api", "api", "--host", "0.0.0.0", "--port", "8000")
                host.start(*command, env=self._environment())
            case "worker":
                host.start(*self._rolecall("worker", "worker"), env=self._environment())
            case "pooler":
                host.start("sh", "-c", _RESTARTED, "pgbouncer", "/etc/pgbouncer/pgbouncer.ini", user=self._postgres)
            case "database":
                (host.disk / "postgresql/postmaster.pid").unlink(missing_ok=True)
                host.start("postgres", "-D", "/srv/postgresql", user=self._postgres, env=self._of_postgres())
            case "store":
                moto = [sys.executable, "-m", "moto.server", "-H", "0.0.0.0", "-p", "9000"]
                host.start(*moto, env=environment())

    def _furnish(self) -> None:
        """Copy the configuration to the disks of the hosts."""
        for name, folder, files in (
            ("balancer", "haproxy", ["haproxy.cfg"]),
            ("pooler", "pgbouncer", ["pgbouncer.ini", "primary.ini"]),
        ):
            place = self.network[name].disk / "etc" / folder
            place.mkdir(parents=True)
            for file in files:
                shutil.copy(DEPLOYED / file, place)
        (place / "userlist.txt").write_text(f'"rolecall" "{self._password}"\n')
        for path in (place, *place.iterdir(), *(self.network[name].disk for name in ("database-1", "database-2"))):
            os.chown(path, *self._postgres)
        allow_traversal(BIN / "postgres")

    def _set_up(self) -> None:
        self.start("store")
        self._make_primary()
        self._follow()
        self.start("pooler")
        self._wait(lambda: _listens(f"{NETWORK}.{NUMBERS['pooler']}", 6432), "the pooler")
        self._wait(lambda: _answers(STORE_URL), "the store")
        fsspec.filesystem("s3").mkdir("rolecall")
        self.rolecall("migrate")
        scopes = [part for scope in Scope for part in ("--scope", scope)]
        self.token = self.rolecall("token", "create", "battery", *scopes).strip()
        for name in ("worker-1", "worker-2", "api-1", "api-2", "balancer"):
            self.start(name)
        self._wait(self.is_whole, "the cluster")

    def _make_primary(self) -> None:
        data = "/srv/postgresql"
        self._on(self.primary, "initdb", "-D", data, "--encoding=UTF8", "--locale=C", "--auth=peer")
        place = self.network[self.primary].disk / "postgresql"
        shutil.copy(DEPLOYED / "pg_hba.conf", place)
        shutil.copy(DEPLOYED / "postgresql.conf", place / "rolecall.conf")
        for file in ("pg_hba.conf", "rolecall.conf"):
            os.chown(place / file, *self._postgres)
        with (place / "postgresql.conf").open("a") as conf:
            conf.write("include 'rolecall.conf'\n")
        self.start(self.primary)
        self._wait(lambda: self.sql(self.primary, "SELECT 1") == "1", "the primary")
        shutil.copy(DEPLOYED / "role.sql", self.network[self.primary].disk)
        self._on(self.primary, "psql", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-v", f"base_url={URL}",
                 "-f", "/srv/role.sql")  # fmt: skip
        for role in ("rolecall", "replicator"):
            self._on(self.primary, "psql", "-d", "postgres", "-c", f"ALTER ROLE {role} PASSWORD '{self._password}'")

    # Methods that do what an operator would do.

    def script(self, host: str, name: str, *words: str) -> None:
        self._on(host, "sh", str(DEPLOYED / name), *words)

    def kill(self, name: str) -> None:
        self.network.kill(name)

    def reboot(self, name: str) -> None:
        self.network.boot(name)
        self.start(name)

    def promote(self) -> None:
        self.script(self.replica, "promote.sh")
        self.script("pooler", "repoint.sh", self.network[self.replica].address)
        self.primary, self.replica = self.replica, self.primary

    def _follow(self) -> None:
        """Make the replica's host follow the primary synchronously: from now on every write waits for both hosts."""
        self.script(self.replica, "follow.sh", self.network[self.primary].address)
        self.start(self.replica)
        self.together()

    def rejoin(self) -> None:
        """Fence the old primary, if it still runs, and bring it back as the replica."""
        self.network.kill(self.replica)
        self.network.boot(self.replica)
        self._follow()

    def together(self) -> None:
        self._wait(lambda: self.sql(self.primary, _STREAMING) == "1", "the replica")
        self.script(self.primary, "together.sh")

    def alone(self) -> None:
        self.script(self.primary, "alone.sh")

    def is_ready(self) -> bool:
        """Return whether the balancer finds a ready host and a worker sends heartbeats."""
        return _answers(f"{URL}/readyz") and self.sql(self.primary, _BEATING, "rolecall") >= "1"

    def is_whole(self) -> bool:
        """Return whether the balancer, both API hosts, both workers and the store work."""
        return (
            all(_answers(f"http://{self.network[name].address}:8000/readyz") for name in ("api-1", "api-2"))
            and _answers(STORE_URL)
            and self.sql(self.primary, _BEATING, "rolecall") >= "2"
            and self.is_ready()
        )

    async def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        await asyncio.to_thread(self._wait, holds, what)

    def sql(self, name: str, query: str, database: str = "postgres") -> str:
        """Run a query on a database host and return its result; return "" if psql fails, as when the host is down."""
        try:
            return self._on(name, "psql", "-d", database, "-Atc", query).strip()
        except AssertionError:
            return ""

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < give_up, f"not up: {what}\n{self.last_words()}"
            time.sleep(0.1)

    def last_words(self) -> str:
        return "\n".join(f"--- {name}\n{host.said()[-1500:]}" for name, host in self.network.hosts.items())

    def _on(self, name: str, *command: str) -> str:
        return self.network[name].run(*command, user=self._postgres, env=self._of_postgres())

    def _of_postgres(self) -> dict[str, str]:
        path = f"{BIN}:{os.environ['PATH']}"
        more = {"PGPASSWORD": self._password, "PGDATA": "/srv/postgresql", "PGHOST": "/run/postgresql"}
        return {"PATH": path, "LC_ALL": "C", **more}

    def _environment(self) -> dict[str, str]:
        return environment(**self._secrets)

    def _rolecall(self, kind: str, *words: str) -> list[str]:
        return ["sh", "-c", _ENV, str(DEPLOYED / f"{kind}.env"), sys.executable, "-m", "rolecall", *words]


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2).status_code == 200
    except httpx2.TransportError:
        return False


def _listens(address: str, port: int) -> bool:
    import socket

    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0
