"""Remove secrets that earlier imports stored as metadata."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, with_database

if TYPE_CHECKING:
    from collections import Counter

    from rolecall.core.config import Config
    from rolecall.core.db import Db


@click.command(name="purge-secrets")
@click.argument("application")
@data_dir_option
def purge_secrets(application: str, data_dir: Path | None) -> None:
    """Remove metadata with names such as password, token or hash from an application's data and its history.

    Stored files of imports are not changed.

    Example: `rolecall purge-secrets Payroll`
    """
    from rolecall.core.text import counted

    async def act(_: "Config", db: "Db") -> "Counter[str]":
        from rolecall.application_imports.apply.purge import purge_secrets as purge
        from rolecall.core.db import fetch_value
        from rolecall.core.errors import Invalid

        id = await fetch_value(db, "SELECT id FROM applications WHERE name = %(name)s", name=application)
        if id is None:
            raise Invalid.on("application", f"No application is named {application}; see `rolecall app list`")
        return await purge(db, id)

    removed = with_database(data_dir, act)
    for name, rows in sorted(removed.items()):
        click.echo(f"{name}: removed from {counted(rows, 'record')}")
    if not removed:
        click.echo(f"{application} has no metadata that looks like a secret", err=True)
