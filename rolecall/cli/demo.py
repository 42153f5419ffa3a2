"""Run the whole service with a sample company, on the loopback interface."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.admin import sign_in_link
from rolecall.cli.folder import data_dir_option, in_transaction, occupied, with_database
from rolecall.cli.serve import port_option

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db
    from rolecall.demo.scim_peer import ScimPeer

_TOKEN_FILE = "demo-token"  # noqa: S105
_LINK_FILE = "demo-sign-in"
_UNFINISHED = "demo-unfinished"
_PEER_FILE = "demo-peer.json"
_PEER_NETWORK = "127.0.0.1/32"
_ADMINISTRATOR = "demo@halden.example"
_SUPERVISOR = "carla.abadi@halden.example"
_NOTE = """
Rolecall runs at {url} with a sample company. Ctrl-C stops it.

  Token    {token}
  Console  {url}/sign-in/{link}  (works once)

The people of the company can sign in too. For example, as the supervisor of an accountant:

  rolecall demo sign-in {supervisor} --data-dir {folder}

Approve the request for Team Chat there: the carrier creates the account and an import verifies it within seconds.

Try:

  curl -H 'Authorization: Bearer {token}' {url}/api/identities

  curl -H 'Authorization: Bearer {token}' '{url}/api/access-requests?status=open'

  curl -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \\
    -d '{{"identity": {{"firstName": "Ada", "lastName": "Byron"}}, "effectiveDate": "2035-01-01"}}' \\
    {url}/api/personnel-events/onboard
"""


@click.group(invoke_without_command=True)
@port_option
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the sample company in this folder, to start faster next time. By default it is deleted at the end.",
)
@click.pass_context
def demo(context: click.Context, port: int, data_dir: Path | None) -> None:
    """Run the service with a sample company; print a token and sample calls.

    Example: `rolecall demo --port 8080`
    """
    if context.invoked_subcommand is None:
        _run(port, data_dir)


@demo.command("sign-in")
@click.argument("email")
@data_dir_option
def sign_in(email: str, data_dir: Path | None) -> None:
    """Print a sign-in link for a person of the sample company, like the link in a sign-in e-mail.

    Example: `rolecall demo sign-in carla.abadi@halden.example --data-dir .rolecall/demo`
    """
    click.echo(with_database(data_dir, lambda config, db: sign_in_link(config, db, email)))


def _run(port: int, data_dir: Path | None) -> None:
    import tempfile
    from contextlib import nullcontext

    import msgspec

    from rolecall.cli.supervisor import ProcessPlan, run_service
    from rolecall.core import config, logs
    from rolecall.demo.scim_peer import ScimPeer, serving

    _allow_peer()
    settings = config.load()
    logs.configure(settings.log)
    plan = ProcessPlan(host="127.0.0.1", port=port, workers=1)
    with nullcontext(data_dir) if data_dir else tempfile.TemporaryDirectory(prefix="rolecall-demo-") as place:
        folder = Path(place).absolute()
        _check(folder)
        # Ignore ROLECALL_DATABASE_URL, so that the sample company is never loaded into that database.
        settings = msgspec.structs.replace(settings, data_dir=folder, database_url=None)
        with serving(ScimPeer(folder / _PEER_FILE)) as peer:
            run_service(
                settings,
                plan,
                prepare=lambda config: _prepare(config, peer),
                announce=lambda: _announce(plan.url, folder),
            )


def _allow_peer() -> None:
    """Allow the service and its processes to connect to the SCIM server of the sample company on loopback."""
    import os

    hosts = os.environ.get("ROLECALL_SOURCE_HOSTS", "")
    os.environ["ROLECALL_SOURCE_HOSTS"] = ",".join(filter(None, [hosts, _PEER_NETWORK]))


def _check(folder: Path) -> None:
    from rolecall.core.errors import CannotRun

    if (folder / _UNFINISHED).exists():
        _wipe(folder)
    elif (folder / "postgres").exists() and not (folder / _TOKEN_FILE).exists():
        raise CannotRun(
            f"The data folder {folder} belongs to a real installation, not to a demo; choose another folder with"
            " --data-dir"
        )


def _wipe(folder: Path) -> None:
    """Delete the database and files of a demo that was killed during set-up; first stop its database if necessary."""
    import shutil
    from contextlib import suppress

    from rolecall.core.errors import CannotRun
    from rolecall.core.postgres import embedded

    with occupied(folder, ""):
        with suppress(CannotRun), embedded(folder):
            pass
        for name in ("postgres", "files"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _prepare(config: "Config", peer: "ScimPeer") -> None:
    if not (config.data_dir / _TOKEN_FILE).exists():
        import asyncio

        from rolecall.demo.company import make_company

        click.echo("Creating the sample company; this takes a few seconds", err=True)
        # If this process is killed before the end, the next start deletes the incomplete company.
        (config.data_dir / _UNFINISHED).touch()
        peer.clear()
        _keep(config.data_dir / _TOKEN_FILE, asyncio.run(make_company(config, _ADMINISTRATOR, peer)))
        (config.data_dir / _UNFINISHED).unlink()
    else:
        in_transaction(config, lambda config, db: _reconnect(config, db, peer))
    _keep(config.data_dir / _LINK_FILE, in_transaction(config, _invite))


async def _reconnect(config: "Config", db: "Db", peer: "ScimPeer") -> None:
    from rolecall.core import clock
    from rolecall.core.caller import SYSTEM
    from rolecall.core.checking import Facts
    from rolecall.demo.live import reconnect

    await reconnect(db, SYSTEM, peer, Facts(now=clock.now(), zone=config.timezone), config)


async def _invite(config: "Config", db: "Db") -> str:
    from rolecall.console.actions import create_administrator
    from rolecall.core import clock
    from rolecall.core.checking import Facts

    return await create_administrator(db, _ADMINISTRATOR, Facts(now=clock.now(), zone=config.timezone))


def _keep(file: Path, secret: str) -> None:
    # Set the mode before writing, so that other users can never read the secret.
    file.touch(mode=0o600)
    file.write_text(secret)


def _announce(url: str, folder: Path) -> None:
    token, link = ((folder / name).read_text() for name in (_TOKEN_FILE, _LINK_FILE))
    click.echo(_NOTE.format(url=url, token=token, link=link, supervisor=_SUPERVISOR, folder=folder))
