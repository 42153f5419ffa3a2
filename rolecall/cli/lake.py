"""Copy the database into a data lake."""

from pathlib import Path

import rich_click as click

from rolecall.cli.folder import clear_refusals, current_database, data_dir_option


@click.group
def lake() -> None:
    """Copy the data of Rolecall to Delta Lake tables, which DuckDB, Spark, Trino and others can read."""


@lake.command
@click.argument("url")
@click.option("--full", is_flag=True, help="Replace every table, instead of writing only changes.")
@click.option("--compact", is_flag=True, help="After the sync, merge small files and remove files unused for a week.")
@data_dir_option
def sync(url: str, full: bool, compact: bool, data_dir: Path | None) -> None:
    """Update the tables below URL from one snapshot of the database.

    URL is a folder or a URL such as `s3://bucket/rolecall`, with credentials in the environment (`AWS_…`).
    Without `--full`, only changes since the last sync are written. If a sync is interrupted, run it again.

    Example: `rolecall lake sync /srv/lake/rolecall`
    """
    from rolecall.core.errors import CannotRun

    try:
        from rolecall.lake import sync as syncing
    except ImportError:
        raise CannotRun('The lake needs the library deltalake: pip install "rolecall[lake]"') from None

    with current_database(data_dir) as config, clear_refusals():
        assert config.database_url
        for table in syncing.sync(config.database_url, url, full=full):
            changes = f"{table.written:,} written, {table.removed:,} removed"
            click.echo(f"{table.name:24}{table.rows:>14,} rows   {changes}")
        if compact:
            syncing.compact(url)
