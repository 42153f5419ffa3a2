"""Manage API tokens directly in the database; anyone who can open the database may grant any scope."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.folder import data_dir_option, with_database, with_made_database
from rolecall.cli.output import json_option, show_json, show_table

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db
    from rolecall.tokens.shapes import NewToken, TokenItem


@click.group
def token() -> None:
    """Create, list and revoke API tokens.

    Example: `rolecall token create ci`
    """


@token.command
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, help="A scope (repeatable), or `all`. Default: all read scopes, imports:write and personnel-events:write.")  # fmt: skip # noqa: E501
@click.option("--expires", metavar="DAYS|never", default="90", show_default=True)
@data_dir_option
@json_option
def create(name: str, scopes: tuple[str, ...], expires: str, data_dir: Path | None, as_json: bool) -> None:
    """Create a token and print its secret on stdout; the secret is never shown again.

    Example: `TOKEN=$(rolecall token create ci --scope imports:write --expires 30)`
    """
    from rolecall.core.caller import Scope

    raw: dict[str, object] = {"name": name, "expiresInDays": _days(expires)}
    if scopes:
        raw["scopes"] = list(Scope) if "all" in scopes else list(scopes)

    async def act(config: "Config", db: "Db") -> "NewToken":
        from rolecall.core import clock
        from rolecall.core.checking import Facts
        from rolecall.tokens.actions import create_token

        return await create_token(db, None, raw, Facts(now=clock.now(), zone=config.timezone))

    made = with_made_database(data_dir, act)
    if as_json:
        show_json(made)
    else:
        click.echo(made.secret)
    until = f"until {made.expires_at:%Y-%m-%d}" if made.expires_at else "without a time limit"
    click.echo(f"Token {made.name} is valid {until}; its secret is not shown again", err=True)


def _days(expires: str) -> int | None:
    if expires == "never":
        return None
    if not expires.isdecimal():
        raise click.BadParameter("must be a number of days, or never", param_hint="--expires")
    return int(expires)


@token.command("list")
@data_dir_option
@json_option
def list_(data_dir: Path | None, as_json: bool) -> None:
    """List all tokens, newest first, without their secrets, which are not stored.

    The owner is the person who created the token; a token of the command line has none. A scope is refused if the
    owner may no longer use it.

    Example: `rolecall token list --json`
    """

    async def act(_: "Config", db: "Db") -> "list[TokenItem]":
        from rolecall.tokens.queries import newest_first

        first = await newest_first(db, 1)
        rest = [await newest_first(db, page) for page in range(2, first.total_pages + 1)]
        return [item for page in (first, *rest) for item in page.items]

    tokens = with_database(data_dir, act)
    if as_json:
        show_json(tokens)
        return
    rows = [
        (
            str(item.id),
            item.name,
            item.owner.name if item.owner else "",
            f"{item.expires_at:%Y-%m-%d}" if item.expires_at else "never",
            f"{item.last_used_at:%Y-%m-%d %H:%M}Z" if item.last_used_at else "never",
            f"{item.revoked_at:%Y-%m-%d %H:%M}Z" if item.revoked_at else "",
            " ".join(scope for scope in item.scopes if scope not in item.refused_scopes),
            " ".join(item.refused_scopes),
        )
        for item in tokens
    ]
    show_table(("ID", "NAME", "OWNER", "EXPIRES", "LAST USED", "REVOKED", "SCOPES", "REFUSED SCOPES"), rows)


@token.command
@click.argument("name_or_id")
@data_dir_option
def revoke(name_or_id: str, data_dir: Path | None) -> None:
    """Revoke a token by name or id, with effect on the next request.

    Example: `rolecall token revoke ci`
    """

    import time

    from rolecall.tokens.keyring import KNOWN_FOR_SECONDS

    async def act(_: "Config", db: "Db") -> str:
        from rolecall.core import clock
        from rolecall.tokens.actions import revoke_token
        from rolecall.tokens.queries import find

        found = await find(db, name_or_id)
        await revoke_token(db, found.id, clock.now())
        return found.name

    name = with_database(data_dir, act)
    # After the commit, wait until the token caches of all processes have expired.
    time.sleep(KNOWN_FOR_SECONDS)
    click.echo(f"Token {name} is revoked", err=True)
