"""Open the data folder and its database for commands that need them."""

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
    help="Folder of the database and the files. Default: `ROLECALL_DATA_DIR`, or `.rolecall` in the current folder.",
)


@contextmanager
def occupied(data_dir: Path, url: str) -> Iterator[None]:
    """Lock the data folder, so that no two servers use it at the same time."""
    import fcntl
    import os

    from rolecall.core.errors import CannotRun
    from rolecall.core.postgres import make_folder, open_private

    make_folder(data_dir)
    with open_private(data_dir / _LOCK) as lock:
        try:
            # The system releases this lock when the process ends, even if it is killed.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process, where = _occupant(data_dir)
            raise CannotRun(
                f"Another server uses the data folder {data_dir} (process {process}, {where});"
                " stop it, or choose another folder with --data-dir"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()} {url}")
        lock.flush()
        yield
        # Remove the URL, so that commands use the configured one while no service runs.
        lock.truncate(0)


def service_url(config: "Config") -> str:
    """Return the URL that the running service wrote into the lock file of the data folder, or the configured URL."""
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
    """Open the embedded database of the folder, or ROLECALL_DATABASE_URL; yield the configuration with its URL."""
    import msgspec

    from rolecall.core.postgres import embedded

    with ExitStack() as stack:
        url = config.database_url or stack.enter_context(embedded(config.data_dir))
        yield msgspec.structs.replace(config, database_url=url)


@contextmanager
def found_database(data_dir: Path | None) -> Iterator["Config"]:
    """Open an existing database; never create one, because the path of the folder may be mistyped."""
    from rolecall.core import config as configuration
    from rolecall.core.errors import CannotRun
    from rolecall.core.postgres import is_made

    config = configuration.load(data_dir=data_dir)
    if config.database_url is None and not is_made(config.data_dir):
        raise CannotRun(
            f"There is no database in the folder {config.data_dir.absolute()};"
            " name another with --data-dir or ROLECALL_DATA_DIR, or create one with `rolecall serve`"
        )
    with database(config) as here:
        yield here


def migrate(config: "Config") -> list[str]:
    """Migrate the database to this version and return the names of the applied migrations and schema files."""
    from rolecall.core.migrate import migrate

    assert config.database_url
    with clear_refusals():
        end_interrupted_restore(config)
        return migrate(config.database_url)


def end_interrupted_restore(config: "Config") -> None:
    from rolecall.operate.backup import end_interrupted

    if end_interrupted(config):
        click.echo("An interrupted restore was undone: the database has the data from before the restore", err=True)


@contextmanager
def clear_refusals() -> Iterator[None]:
    """Raise CannotRun, not psycopg's error, if the URL is invalid, the database unreachable or a privilege missing."""
    import psycopg

    from rolecall.core.errors import CannotRun

    try:
        yield
    except psycopg.OperationalError as error:
        raise CannotRun(f"The database is unreachable: {' '.join(str(error).split())}") from error
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None:
            # Omit the driver's message: it repeats the URL, which may contain a password.
            raise CannotRun("ROLECALL_DATABASE_URL is not a valid URL of a PostgreSQL database") from None
        if not isinstance(error, psycopg.errors.InsufficientPrivilege):
            raise
        raise CannotRun(
            f"The database user lacks a privilege: {error.diag.message_primary};"
            " run `rolecall migrate` once as a user who has it"
        ) from error


@contextmanager
def current_database(data_dir: Path | None) -> Iterator["Config"]:
    """Open an existing database that has the schema of this version."""
    from rolecall.core.migrate import check

    with found_database(data_dir) as config:
        assert config.database_url
        with clear_refusals():
            check(config.database_url)
        yield config


def with_database(data_dir: Path | None, act: Callable[["Config", "Db"], Awaitable[T]], *, snapshot: bool = False) -> T:
    """Run `act` in one transaction on an existing database with the schema of this version; return the result."""
    with current_database(data_dir) as config:
        return in_transaction(config, act, snapshot=snapshot)


def with_made_database(data_dir: Path | None, act: Callable[["Config", "Db"], Awaitable[T]]) -> T:
    """Run `act` like `with_database`, but first create or migrate the database.

    Commands that use this may run before the first `rolecall serve`.
    """
    from rolecall.core import config as configuration
    from rolecall.core.migrate import is_new

    settings = configuration.load(data_dir=data_dir)
    place = "database of ROLECALL_DATABASE_URL" if settings.database_url else f"folder {settings.data_dir.absolute()}"
    with database(settings) as config:
        if is_new(migrate(config)):
            click.echo(f"There was no Rolecall data in the {place}; empty tables were created", err=True)
        return in_transaction(config, act)


def in_transaction(config: "Config", act: Callable[["Config", "Db"], Awaitable[T]], *, snapshot: bool = False) -> T:
    """Run `act` in a transaction with the command as author; `snapshot` makes it read-only and repeatable-read."""
    import asyncio

    import psycopg

    from rolecall.core import authors, clock
    from rolecall.core.db import session_options

    command = click.get_current_context()
    assert command

    async def run() -> T:
        # Triggers need the base URL in the session, because they write webhook bodies.
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
