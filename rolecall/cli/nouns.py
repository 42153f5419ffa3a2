"""Generate client commands from the table of verbs and the signatures of the client calls."""

import inspect
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rolecall.cli.calling import FORMATS, connected, resolved, write_file
from rolecall.cli.output import Form, field_option, json_option
from rolecall.cli.parameters import argument_help, parameters
from rolecall.cli.profiles import profile_option
from rolecall.cli.several_calls import SEVERAL_CALLS
from rolecall.cli.verbs import NOUNS
from rolecall.cli.verbs.model import Verb
from rolecall.client import calls
from rolecall.client.answers import Page

if TYPE_CHECKING:
    from rolecall.client import Client

_SHOWN = 50


class _Verbs(click.RichGroup):
    """A command group (noun) whose commands (verbs) are created lazily."""

    def list_commands(self, _: click.Context) -> list[str]:
        return [*NOUNS[self.name or ""].verbs, *SEVERAL_CALLS.get(self.name or "", {})]

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        noun = self.name or ""
        if verb := NOUNS[noun].verbs.get(name):
            return _command(noun, name, verb)
        return SEVERAL_CALLS.get(noun, {}).get(name)


def noun(name: str) -> click.Command:
    first = next(iter(NOUNS[name].verbs.values()))
    return _Verbs(name=name, help=f"{NOUNS[name].help}\n\nExample: `{first.example}`")


def _command(noun: str, name: str, verb: Verb) -> click.Command:
    def act(as_json: bool, field: str | None, profile: str | None, **given: Any) -> None:
        form, limit, all = Form(as_json, field), given.pop("limit", _SHOWN), given.pop("all", False)
        # For a list, `--format` selects an export format; for other commands it is a field of the record.
        format, output = (given.pop("format"), given.pop("output")) if verb.columns else (None, None)
        with connected(profile) as client:
            call = verb.call(**resolved(client, _as_meant(given)))
            if format:
                write_file(client.export(call, format), output)
            elif verb.columns:
                _show_list(client, call, verb.columns, form, None if all else limit)
            else:
                form.show(client.send(call))

    made = click.RichCommand(
        name=name,
        callback=act,
        params=list(parameters(noun, verb.call)),
        help="\n\n".join([inspect.getdoc(verb.call) or "", *argument_help(verb.call), f"Example: `{verb.example}`"]),
    )
    for option in (profile_option, field_option, json_option, *(_LIST_OPTIONS if verb.columns else ())):
        option(made)
    return made


_LIST_OPTIONS = (
    click.option(
        "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write to instead of stdout."
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Export the whole list as a file of this format.",
    ),
    click.option("--all", is_flag=True, help="Show all items."),
    click.option("--limit", type=click.IntRange(1), default=_SHOWN, show_default=True, help="Maximum number of items."),
)


def _show_list(client: "Client", call: calls.Call[Page[Any]], columns: Sequence[str], form: Form, limit: int | None) -> None:  # fmt: skip # noqa: E501
    first = client.send(call)
    if limit is not None and limit <= len(first.items):
        items = first.items[:limit]
    elif first.total_pages <= 1:
        items = first.items
    else:
        items = list(islice(client.each(call), limit or first.total_count))
    form.show_list(columns, items)
    if len(items) < first.total_count and not form.field:
        click.echo(f"{len(items)} of {first.total_count}; --all shows the rest", err=True)


def _as_meant(given: dict[str, Any]) -> dict[str, Any]:
    """Return only the options that were given, so that the defaults of the call apply to the others."""
    return {name: value for name, value in given.items() if value is not None and value != ()}
