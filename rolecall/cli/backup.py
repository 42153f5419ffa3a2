"""Back up the service into one file, and restore it."""

from pathlib import Path

import rich_click as click

from rolecall.cli import folder
from rolecall.cli.folder import data_dir_option


@click.command
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--with-key", is_flag=True, help="Include secret.key, which encrypts stored secrets. Anyone with the backup can then read them.")  # fmt: skip # noqa: E501
@data_dir_option
def backup(file: Path, with_key: bool, data_dir: Path | None) -> None:
    """Write a consistent snapshot of the database and the uploaded files to FILE. The service can keep running.

    Example: `rolecall backup rolecall-monday.tar --data-dir /var/lib/rolecall`
    """
    from rolecall.core import clock
    from rolecall.core.text import counted
    from rolecall.operate.backup import back_up

    # Do not migrate first: people take a backup before an upgrade.
    with folder.found_database(data_dir) as here, folder.clear_refusals():
        made = back_up(here, file.absolute(), clock.now(), with_key=with_key)
    size = file.stat().st_size
    click.echo(f"{file}: the database and {counted(made.file_count, 'file')}, {counted(size, 'byte')}", err=True)
    if not made.has_key:
        click.echo(
            "The key is not included; keep a copy of secret.key (or ROLECALL_SECRET_KEY) to restore stored secrets",
            err=True,
        )


@click.command
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--force", is_flag=True, help="Replace existing data in the database and the folder.")
@data_dir_option
def restore(file: Path, force: bool, data_dir: Path | None) -> None:
    """Restore a backup into an empty data folder, or into the empty database of `ROLECALL_DATABASE_URL`.

    With `--force`, existing data is replaced. The service must not be running.

    Example: `rolecall restore rolecall-monday.tar --data-dir /var/lib/rolecall-new`
    """
    from rolecall.core import config as configuration
    from rolecall.core.errors import CannotRun
    from rolecall.operate import backup

    settings = configuration.load(data_dir=data_dir)
    # Before anything is changed, reject a file that cannot be restored.
    manifest = backup.read_manifest(file)
    # No service may use the folder during the restore.
    with folder.occupied(settings.data_dir, ""), folder.database(settings) as here, folder.clear_refusals():
        # Do this before the check for data: an interrupted restore has set the old data aside, so the database may look
        # empty.
        folder.end_interrupted_restore(here)
        if not force and not backup.is_empty(here):
            raise CannotRun(
                "The database is not empty; choose another folder with --data-dir, or replace the data with --force"
            )
        backup.restore(here, file.absolute())
        # The backup may come from an earlier version.
        folder.migrate(here)
        has_key = manifest.has_key or here.secret_key or (here.data_dir / "secret.key").exists()
    click.echo(
        f"Restored the state of {manifest.created_date:%Y-%m-%d %H:%M:%S} UTC into {settings.data_dir}", err=True
    )
    if not has_key:
        said = "Put secret.key back before you start the service. Otherwise rotate the secrets of webhooks, and enter"
        click.echo(f"{said} the secrets of sources, carriers and notification channels again", err=True)
