"""The data folder and the database behind it, for the commands that open them."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db

T = TypeVar("T")
_LOCK = "serve.lock"

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the database and the files live. `ROLECALL_DATA_DIR`, or `.rolecall` here.",
)


@contextmanager
def occupied(data_dir: Path, url: str) -> Iterator[None]:
    """For this server alone: two on one folder would run each other's work."""
    import fcntl
    import os

    from rolecall.core.errors import CannotRun
    from rolecall.core.postgres import make_folder

    make_folder(data_dir)
    with (data_dir / _LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process, where = _occupant(data_dir)
            raise CannotRun(
                f"Another server runs on the data folder {data_dir} (process {process}, {where});"
                " stop it, or choose another folder with --data-dir"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()} {url}")
        lock.flush()
        yield
        lock.truncate(0)


def service_url(config: "Config") -> str:
    """Where the folder's service is: as it said when it started, or as it is set."""
    _, url = _occupant(config.data_dir)
    return url or config.base_url


def _occupant(data_dir: Path) -> tuple[str, str]:
    try:
        process, _, url = (data_dir / _LOCK).read_text().partition(" ")
    except OSError:
        return "", ""
    return process, url


@contextmanager
def database(config: "Config") -> Iterator["Config"]:
    """With its database running: the folder's own, unless ROLECALL_DATABASE_URL names another."""
    import msgspec

    from rolecall.core.postgres import embedded

    with ExitStack() as stack:
        url = config.database_url or stack.enter_context(embedded(config.data_dir))
        yield msgspec.structs.replace(config, database_url=url)


def migrate(config: "Config") -> list[str]:
    """Bring the database to this version; the names of what was applied."""
    import psycopg

    from rolecall.core import migrate
    from rolecall.core.errors import CannotRun

    assert config.database_url
    try:
        return migrate.migrate(config.database_url)
    except psycopg.OperationalError as error:
        raise CannotRun(f"The database is out of reach: {' '.join(str(error).split())}") from error


def with_database(data_dir: Path | None, act: Callable[["Config", "Db"], Awaitable[T]], *, snapshot: bool = False) -> T:
    """What `act` returns, done in one transaction on the folder's database at this version."""
    from rolecall.core import config as configuration

    with database(configuration.load(data_dir=data_dir)) as config:
        migrate(config)
        return in_transaction(config, act, snapshot=snapshot)


def in_transaction(config: "Config", act: Callable[["Config", "Db"], Awaitable[T]], *, snapshot: bool = False) -> T:
    """`snapshot`: everything is read as of one moment, and nothing can be written."""
    import asyncio

    import psycopg

    from rolecall.core import authors, clock
    from rolecall.core.db import session_options

    command = click.get_current_context()
    assert command

    async def run() -> T:
        connection: Any = await psycopg.AsyncConnection.connect(
            config.database_url or "", options=session_options(config.base_url)
        )
        if snapshot:
            await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
        async with connection as db:
            await authors.sign(db, authors.by_command_line(command.command_path, clock.now()))
            return await act(config, db)

    return asyncio.run(run())
