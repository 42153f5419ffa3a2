from pathlib import Path

import rich_click as click

from rolecall.cli.folder import data_dir_option
from rolecall.cli.output import json_option, show_json


@click.command
@data_dir_option
@json_option
@click.option("--schema", is_flag=True, help="Print the schema of the database as SQL and change nothing.")
def migrate(data_dir: Path | None, as_json: bool, schema: bool) -> None:
    """Migrate the database to this version.

    Example: `ROLECALL_DATABASE_URL=postgresql://db/rolecall rolecall migrate`
    """
    from rolecall.cli import folder
    from rolecall.core import config

    if schema:
        _print_schema(data_dir)
        return

    with folder.database(config.load(data_dir=data_dir)) as here:
        applied = folder.migrate(here)
    if as_json:
        show_json({"applied": applied})
    for name in [] if as_json else applied:
        click.echo(name)
    click.echo(f"{len(applied)} migrations and schema files applied; the database is up to date", err=True)


def _print_schema(data_dir: Path | None) -> None:
    from rolecall.cli import folder
    from rolecall.operate.schema_dump import dump_schema

    with folder.found_database(data_dir) as here, folder.clear_refusals():
        click.echo(dump_schema(here.database_url or ""), nl=False)
