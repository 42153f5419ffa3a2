"""Create console administrators and sign-in links."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, service_url, with_database, with_made_database

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db


@click.group
def admin() -> None:
    """Create console administrators and sign-in links.

    Example: `rolecall admin create ada@example.com`
    """


@admin.command
@click.argument("email")
@data_dir_option
def create(email: str, data_dir: Path | None) -> None:
    """Make the person with this e-mail an administrator, creating them if needed; print a one-time sign-in link.

    Example: `rolecall admin create ada@example.com`
    """

    async def act(config: "Config", db: "Db") -> str:
        from rolecall.console.actions import create_administrator
        from rolecall.core import clock
        from rolecall.core.checking import Facts

        secret = await create_administrator(db, email, Facts(now=clock.now(), zone=config.timezone))
        return f"{service_url(config)}/sign-in/{secret}"

    click.echo(with_made_database(data_dir, act))
    # Print this on stderr, so that stdout contains only the link.
    click.echo(f"{email} is now an administrator; the sign-in link works once", err=True)


@admin.command
@click.argument("email")
@data_dir_option
def link(email: str, data_dir: Path | None) -> None:
    """Print a one-time sign-in link for the active person with this e-mail, with or without a role.

    Example: `rolecall admin link ada@example.com`
    """
    click.echo(with_database(data_dir, lambda config, db: sign_in_link(config, db, email)))


async def sign_in_link(config: "Config", db: "Db", email: str) -> str:
    from rolecall.console import actions, signing_in
    from rolecall.core import clock
    from rolecall.core.errors import CannotRun

    person = await signing_in.person_with_email(db, email)
    if person is None:
        raise CannotRun(f"No active person signs in with {email}, or several have this e-mail; check the e-mail")
    return f"{service_url(config)}/sign-in/{await actions.create_link(db, person.id, clock.now())}"
