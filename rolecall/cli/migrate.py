from pathlib import Path

import rich_click as click

from rolecall.cli.folder import data_dir_option
from rolecall.cli.output import json_option, show_json


@click.command
@data_dir_option
@json_option
def migrate(data_dir: Path | None, as_json: bool) -> None:
    """Migrate the database to this version.

    Example: `ROLECALL_DATABASE_URL=postgresql://db/rolecall rolecall migrate`
    """
    from rolecall.cli import folder
    from rolecall.core import config

    with folder.database(config.load(data_dir=data_dir)) as here:
        applied = folder.migrate(here)
    if as_json:
        show_json({"applied": applied})
    for name in [] if as_json else applied:
        click.echo(name)
    click.echo(f"{len(applied)} applied; the database is at this version", err=True)
