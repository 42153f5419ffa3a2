"""Read the URL of the service and the token from the environment or a profile."""

import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

# Where `rolecall serve` listens by default.
_DEFAULT_URL = "http://127.0.0.1:8000"

profile_option = click.option(
    "--profile", envvar="ROLECALL_PROFILE", help="A profile of the configuration file; see `rolecall profiles --help`."
)


class Credentials(msgspec.Struct, frozen=True):
    url: str
    token: str


def file() -> Path:
    return Path(click.get_app_dir("rolecall")) / "config.toml"


def access(profile: str | None) -> Credentials:
    """Return the URL and the token; ROLECALL_URL and ROLECALL_TOKEN override the profile."""
    chosen = _profile(profile)
    url = os.environ.get("ROLECALL_URL") or chosen.get("url") or _DEFAULT_URL
    token = os.environ.get("ROLECALL_TOKEN") or _token(chosen)
    if not token:
        raise click.UsageError(f"No token: set ROLECALL_TOKEN, or add one to a profile in {file()}")
    return Credentials(url, token)


def names() -> dict[str, str]:
    """Map the name of each profile to its URL."""
    return {name: str(profile.get("url", "")) for name, profile in _read().get("profiles", {}).items()}


def _read() -> dict[str, Any]:
    try:
        return tomllib.loads(file().read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file()}: {error}") from None


def _profile(name: str | None) -> dict[str, Any]:
    settings = _read()
    wanted = name or settings.get("default")
    if not wanted:
        return {}
    profiles: dict[str, dict[str, Any]] = settings.get("profiles", {})
    if wanted not in profiles:
        raise click.UsageError(f"{file()} has no profile {wanted}; it has {', '.join(profiles) or 'none'}")
    return profiles[wanted]


def _token(profile: dict[str, Any]) -> str:
    """Return the token: the content of `token_file`, else the output of `token_command`, else `token`."""
    if path := profile.get("token_file"):
        try:
            return Path(path).expanduser().read_text().strip()
        except OSError as error:
            raise click.UsageError(f"token_file: {error}") from None
    if command := profile.get("token_command"):
        try:
            # Do not capture stderr or replace stdin: the command may ask for a password on the terminal.
            run = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise click.UsageError(f"token_command: {error}") from None
        return run.stdout.strip()
    return str(profile.get("token", ""))


@click.command
def profiles() -> None:
    """List the profiles, one per line.

    Profiles are the tables `[profiles.NAME]` of config.toml; this command prints the path of that file. A profile has a
    `url`, and its token is the content of `token_file`, the output of `token_command`, or `token`; the first of these
    that is set applies. `default` names the profile that applies without `--profile`. `ROLECALL_URL` and
    `ROLECALL_TOKEN` override a profile.

    Example: `rolecall profiles`
    """
    from rolecall.cli.output import show_table

    click.echo(f"From {file()}", err=True)
    show_table(("PROFILE", "URL"), list(names().items()))
