"""Create console administrators."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, service_url, with_made_database

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db


@click.group
def admin() -> None:
    """Create console administrators.

    Example: `rolecall admin create ada@example.com`
    """


@admin.command
@click.argument("email")
@data_dir_option
def create(email: str, data_dir: Path | None) -> None:
    """Make the person with this e-mail an administrator and print a one-time sign-in link.

    Example: `rolecall admin create ada@example.com`
    """

    async def act(config: "Config", db: "Db") -> str:
        from rolecall.console.actions import create_administrator
        from rolecall.core import clock
        from rolecall.core.checking import Facts

        secret = await create_administrator(db, email, Facts(now=clock.now(), zone=config.timezone))
        return f"{service_url(config)}/sign-in/{secret}"

    click.echo(with_made_database(data_dir, act))
    click.echo(f"{email} is now an administrator; the sign-in link works once", err=True)
