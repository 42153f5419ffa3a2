"""Write bundles of evidence about a person or a review, which an auditor can check offline."""

import os
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import IO, TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, with_database

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db


class _PersonByDefault(click.RichGroup):
    """Interpret `rolecall evidence ada@example.com` as `rolecall evidence person ada@example.com`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        asks_help = args and args[0] in context.help_option_names
        if args and args[0] not in self.commands and not asks_help:
            args = ["person", *args]
        return super().parse_args(context, args)


output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write. Default: evidence-….zip in the current folder.",
)


@click.group(cls=_PersonByDefault)
def evidence() -> None:
    """Write evidence that an auditor can check offline: about a person, or about a review.

    Without `person` or `review`, the argument is read as a person.

    Example: `rolecall evidence ada@example.com --as-of 2026-03-31 -o ada.zip`
    """


@evidence.command
@click.argument("identity")
@click.option("--as-of", metavar="DATE", help="Access as of the end of this day. Default: now.")
@output_option
@data_dir_option
def person(identity: str, as_of: str | None, output: Path | None, data_dir: Path | None) -> None:
    """Write a person's access and its evidence to a zip file.

    IDENTITY is a full name, an e-mail, an employee ID or the id (GUID) of an identity. The file contains the access
    with its reasons, personnel events, requests with approvals, conflicts of duties with their exceptions, imports with
    the digests of their files, audit entries linked to the heads of their chains, a readable report, and `verify.py`,
    which checks these files and needs only Python.

    Example: `rolecall evidence person ada@example.com --as-of 2026-03-31 -o ada.zip`
    """
    day = _day(as_of) if as_of else None

    async def act(config: "Config", db: "Db") -> tuple[Path, str]:
        from rolecall.accounts.moments import end_of_day
        from rolecall.core import clock
        from rolecall.core.errors import Invalid
        from rolecall.evidence.bundle import write_bundle
        from rolecall.evidence.queries import find_identity

        if day and day > clock.now().astimezone(config.timezone).date():
            raise Invalid.on("asOf", "As of must not be in the future")
        id = await find_identity(db, identity)
        # For today, use the present time, because the end of the day is in the future.
        moment = min(end_of_day(day, config.timezone), clock.now()) if day else None
        place = output or Path(f"evidence-{id}.zip")
        return place, await _write(place, lambda file: write_bundle(db, file, id, moment, clock.now()))

    _say(*with_database(data_dir, act, snapshot=True))


@evidence.command
@click.argument("number")
@output_option
@data_dir_option
def review(number: str, output: Path | None, data_dir: Path | None) -> None:
    """Write a review and its evidence to a zip file.

    NUMBER is the number of the review, or its id. The file contains the population with its digest, every item with
    its decision, signed statements, requests and the imports that prove removals, the exceptions that auditors ask
    for, audit entries linked to the heads of their chains, a report to print and sign, and `verify.py`.

    Example: `rolecall evidence review 12 -o review-12.zip`
    """

    async def act(_: "Config", db: "Db") -> tuple[Path, str]:
        from rolecall.core import clock
        from rolecall.evidence.review_bundle import write_review_bundle
        from rolecall.evidence.review_records import find_review

        id = await find_review(db, number)
        place = output or Path(f"evidence-review-{number.lstrip('#')}.zip")
        return place, await _write(place, lambda file: write_review_bundle(db, file, id, clock.now()))

    _say(*with_database(data_dir, act, snapshot=True))


async def _write(place: Path, write: Callable[[IO[bytes]], Awaitable[str]]) -> str:
    """Write a bundle to a file that only its owner may read, because it is confidential; return its seal."""
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        # `os.open` sets the mode only of a file that it creates; an existing file would keep its mode.
        os.fchmod(file.fileno(), 0o600)
        return await write(file)


def _say(place: Path, seal: str) -> None:
    click.echo(place)
    click.echo(f"Seal: {seal}", err=True)
    click.echo("Send the seal to the auditor separately from the file: verify.py --seal checks it.", err=True)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("give a date such as 2026-03-31", param_hint="--as-of") from None
