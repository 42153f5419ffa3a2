"""Write a bundle of evidence about one person, which an auditor can check offline."""

import os
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, with_database

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db


@click.command
@click.argument("identity")
@click.option("--as-of", metavar="DATE", help="Access as of the end of this day. Default: now.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: evidence-….zip here.")
@data_dir_option
def evidence(identity: str, as_of: str | None, output: Path | None, data_dir: Path | None) -> None:
    """Write a person's access and its evidence to a zip file.

    IDENTITY is a full name, an e-mail, an employee ID or an id. The file contains the access with its reasons,
    personnel events, requests with approvals, imports with the digests of their files, audit entries linked to the
    heads of their chains, a readable report, and `verify.py`, which checks all of it with nothing but Python.

    Example: `rolecall evidence ada@example.com --as-of 2026-03-31 -o ada.zip`
    """
    day = _day(as_of) if as_of else None

    async def act(config: "Config", db: "Db") -> tuple[Path, str]:
        from datetime import time

        from rolecall.core import clock
        from rolecall.core.errors import Invalid
        from rolecall.evidence.bundle import write_bundle
        from rolecall.evidence.queries import find_identity

        if day and day > clock.now().astimezone(config.timezone).date():
            raise Invalid.on("asOf", "As of must not be in the future")
        id = await find_identity(db, identity)
        moment = datetime.combine(day, time(23, 59, 59), config.timezone) if day else None
        place = output or Path(f"evidence-{id}.zip")
        # The bundle is confidential, so only the owner may read the file.
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            return place, await write_bundle(db, file, id, moment, clock.now())

    place, seal = with_database(data_dir, act, snapshot=True)
    click.echo(place)
    click.echo(f"Seal: {seal}", err=True)
    click.echo("Send the seal to the auditor separately from the file: verify.py --seal checks it.", err=True)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("give a date such as 2026-03-31", param_hint="--as-of") from None
