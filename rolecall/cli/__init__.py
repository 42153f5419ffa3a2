"""Define the `rolecall` command. The files of its commands are imported lazily, to keep start-up fast."""

import signal
import sys
from importlib import import_module
from typing import cast

import rich_click as click

from rolecall import __version__
from rolecall.core import errors

click.rich_click.TEXT_MARKUP = "markdown"

_COMMANDS = {
    "demo": "demo",
    "serve": "serve",
    "api": "serve",
    "worker": "serve",
    "migrate": "migrate",
    "token": "token",
    "admin": "admin",
    "config": "config",
    "profiles": "profiles",
    "completion": "completion",
    "audit": "audit",
    "evidence": "evidence",
    "lake": "lake",
    "doctor": "doctor",
    "backup": "backup",
    "restore": "backup",
    "purge-secrets": "purge_secrets",
}
# Clients of the HTTP API; `verbs/` and `several_calls.py` define their commands.
_NOUNS = (
    "app", "source", "carrier", "import", "dry-run", "identity", "event", "request", "hook", "delivery", "notify",
    "stand-in", "model", "entitlements", "accounts", "reports", "duty", "rule", "conflict", "review", "review-item",
    "review-template",
)  # fmt: skip
# The same codes as for client commands (`EXIT_CODES` in `calling.py`), so that scripts need to know only one set.
_EXIT_CODES: dict[type[Exception], int] = {
    errors.CannotRun: 1,
    errors.Conflict: 1,
    errors.NotFound: 3,
    errors.Unauthorized: 4,
    errors.Forbidden: 4,
    errors.Invalid: 5,
}


class _Commands(click.RichGroup):
    def list_commands(self, _: click.Context) -> list[str]:
        return [*_COMMANDS, *_NOUNS]

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in (*_COMMANDS, *_NOUNS):
            return None
        if name in _NOUNS:
            return cast("click.Command", import_module("rolecall.cli.nouns").noun(name))
        command: click.Command = getattr(import_module(f"rolecall.cli.{_COMMANDS[name]}"), name.replace("-", "_"))
        return command

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        # click handles its own exceptions. Any other exception is a defect of the program, and keeps its traceback.
        except tuple(_EXIT_CODES) as error:
            for line in _lines(error):
                click.echo(f"Error: {line}", err=True)
            context.exit(next(code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def rolecall() -> None:
    """Access governance: who has access to what, why, and who approved it.

    Example: `rolecall demo`
    """


def main() -> None:
    # Raise an exception on these signals, so that commands clean up their database and folders.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    rolecall(prog_name="rolecall")


def _lines(error: Exception) -> list[str]:
    if isinstance(error, errors.Invalid):
        return [problem.message for problem in error.problems]
    return str(error).splitlines()
