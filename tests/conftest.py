"""Provide a real PostgreSQL: one server for each run, one database for each worker, cloned from a migrated template."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, session_options
from rolecall.core.migrate import migrate
from rolecall.core.postgres import embedded
from rolecall.tokens import actions as tokens
from tests.asgi import serving
from tests.battery.rows import ROWS
from tests.warm import WarmConnection, WarmPool

# Skip the tests of the battery's short form, except those that a row lists in `suite`.
collect_ignore = [
    path.removeprefix("tests/")
    for row in ROWS
    for path in row.tests
    if row.ci is not None and path not in row.suite and "ROLECALL_BATTERY" not in os.environ
]
# Folders and files whose tests share an expensive fixture: all tests of a file run on the same worker.
_SHARING = ("tests/console/browser/", "tests/cli/", "tests/client/test_client.py", "tests/web/test_replica.py")
TEMPLATE = "rolecall_template"
# On a busy machine an example may take long; only its result is tested, not its duration.
settings.register_profile("any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")
_LOCK = 7_426_001
BASE_URL = "http://rolecall.test"
# Use DELETE: TRUNCATE creates new files for every table and index and takes ten times as long.
EMPTY = """
DO $$
DECLARE
    relation regclass;
    has_rows boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR relation IN SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
          AND relname NOT IN ('migrations', 'schema_files', 'lists', 'audit_checkpoints')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', relation) INTO has_rows;
        IF has_rows THEN
            EXECUTE format('DELETE FROM %s', relation);
        END IF;
    END LOOP;
    -- Restore the state after the migration: one row per chain.
    DELETE FROM audit_checkpoints WHERE chains <> '{}';
    INSERT INTO audit_checkpoints (chain) SELECT generate_series(1, 16) ON CONFLICT DO NOTHING;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
END $$"""


def pytest_configure(config: pytest.Config) -> None:
    """Give each run its own folder: a run as root makes the default one unreadable for PostgreSQL's user."""
    if not hasattr(config, "workerinput"):
        own = tempfile.mkdtemp(prefix="rolecall-tests-")
        os.environ["PYTEST_DEBUG_TEMPROOT"] = own
        config.add_cleanup(lambda: shutil.rmtree(own, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow tests first."""
    items.sort(key=lambda item: (item.get_closest_marker("timeout") is None, not item.nodeid.startswith(_SHARING)))


class _Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keep tests that share a service on one worker; distribute the others by load."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(_SHARING) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Together:
    return _Together(config, log)


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of the server in ROLECALL_TEST_DATABASE_URL, or of an embedded server that all workers share."""
    if url := os.environ.get("ROLECALL_TEST_DATABASE_URL"):
        yield url
        return
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    with embedded(shared / "server") as url:
        with psycopg.connect(url, autocommit=True) as db:
            for setting in ("fsync", "full_page_writes"):
                db.execute(f"ALTER SYSTEM SET {setting} = off")
            db.execute("SELECT pg_reload_conf()")
        yield url


@pytest.fixture
def empty_database(server_url: str, tmp_path: Path) -> Iterator[str]:
    name = f"empty_{os.getpid()}_{tmp_path.name}"[:60]
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
        yield with_database(server_url, name)
        db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def database_url(server_url: str) -> Iterator[str]:
    """Yield the URL of a clone of the template, or of the database in ROLECALL_TEST_DATABASE, which is kept."""
    if kept := os.environ.get("ROLECALL_TEST_DATABASE"):
        yield with_database(server_url, kept)
        return
    name = f"rolecall_test_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}_{os.getpid()}"
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        make_template(db, server_url)
        db.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        db.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
    yield with_database(server_url, name)
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def make_template(db: psycopg.Connection, server_url: str) -> None:
    exists = db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (TEMPLATE,)).fetchone()
    fresh = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0" and "ROLECALL_TEST_DATABASE_URL" in os.environ
    if exists and fresh:
        db.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(TEMPLATE)))
    if not exists or fresh:
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        migrate(with_database(server_url, TEMPLATE))


def with_database(url: str, name: str) -> str:
    return psycopg.conninfo.make_conninfo(url, dbname=name)


@pytest.fixture(scope="session")
def cleaner(database_url: str) -> Iterator[Callable[[], None]]:
    """Clean the database over one permanent connection: a new one would first load the catalog of all tables."""
    db = psycopg.connect(database_url, autocommit=True)

    def clean() -> None:
        nonlocal db
        try:
            db.execute(EMPTY)
        except psycopg.OperationalError:
            # Some tests terminate every connection.
            db = psycopg.connect(database_url, autocommit=True)
            db.execute(EMPTY)

    yield clean
    db.close()


@pytest.fixture
def clean_database(database_url: str, cleaner: Callable[[], None]) -> str:
    cleaner()
    return database_url


@pytest.fixture
def config(clean_database: str, tmp_path: Path) -> Config:
    return Config(database_url=clean_database, data_dir=tmp_path, base_url=BASE_URL)


@pytest.fixture
async def db(clean_database: str) -> AsyncIterator[Db]:
    options = session_options(BASE_URL)
    async with await WarmConnection.connect(clean_database, autocommit=True, options=options) as connection:
        yield connection


@pytest.fixture(scope="session", autouse=True)
def warm_pools() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rolecall.core.db.Pool", WarmPool)
        yield


@pytest.fixture(autouse=True)
def time_returns() -> Iterator[None]:
    yield
    clock.travel_home()


@pytest.fixture
def facts(config: Config) -> Facts:
    return Facts(now=datetime.now(UTC), zone=config.timezone)


@pytest.fixture
async def token(db: Db, facts: Facts) -> str:
    return (await tokens.create_token(db, None, {"name": "tests", "scopes": list(Scope)}, facts)).secret


@pytest.fixture
async def anonymous(config: Config) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(config) as client:
        yield client


@pytest.fixture
async def client(anonymous: httpx2.AsyncClient, token: str) -> httpx2.AsyncClient:
    anonymous.headers["Authorization"] = f"Bearer {token}"
    return anonymous
