"""Export the configuration, plan a change and apply it (configuration as code)."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rolecall.cli.calling import connected, report
from rolecall.cli.output import json_option, show_json
from rolecall.cli.profiles import profile_option
from rolecall.client import calls, errors

if TYPE_CHECKING:
    from rolecall.client import Client
    from rolecall.client.answers import ConfigurationChanges

_file_argument = click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
_WOULD_CHANGE = 2


@click.group
def config() -> None:
    """Export the configuration of the service as YAML, plan changes to it, and apply them.

    Example: `rolecall config export rolecall.yaml`
    """


@config.command
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), required=False)
@profile_option
def export(file: Path | None, profile: str | None) -> None:
    """Print the configuration, or write it to a file. Secrets are not included.

    Example: `rolecall config export rolecall.yaml`
    """
    import yaml

    with connected(profile) as client:
        found = client.send(calls.get_configuration())
    text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=120)
    if file and str(file) != "-":
        file.write_text(text)
    else:
        click.echo(text, nl=False)


@config.command
@_file_argument
@json_option
@profile_option
def plan(file: Path, as_json: bool, profile: str | None) -> None:
    """Print the changes that applying a file would make; exit code 2 if there are any.

    Example: `rolecall config plan rolecall.yaml`
    """
    with connected(profile) as client:
        answer = _send(client, file, calls.plan_configuration)
    _show(answer, as_json, "would change")
    sys.exit(_WOULD_CHANGE if answer.changes else 0)


@config.command
@_file_argument
@json_option
@profile_option
def apply(file: Path, as_json: bool, profile: str | None) -> None:
    """Apply a file, all or nothing. Records that the file does not mention stay unchanged.

    Example: `rolecall config apply rolecall.yaml`
    """
    with connected(profile) as client:
        answer = _send(client, file, calls.apply_configuration)
    _show(answer, as_json, "changed")


@config.command
def schema() -> None:
    """Print the JSON Schema of the file, for editors.

    Example: `rolecall config schema > configuration.schema.json`
    """
    from rolecall.configuration.shapes import json_schema

    show_json(json_schema())


def _send(client: "Client", file: Path, call: "Callable[[Any], calls.Call[ConfigurationChanges]]") -> "ConfigurationChanges":  # fmt: skip # noqa: E501
    """Send the file and return the response. If the file is invalid, report each problem with its line, and exit."""
    from rolecall.cli.yaml_lines import Document

    text = sys.stdin.read() if str(file) == "-" else file.read_text()
    document = Document(text)
    mistakes = document.mistakes
    try:
        if not mistakes:
            return client.send(call(document.value))
    except errors.Invalid as error:
        # An error without problems does not refer to a line of the file, so `connected` reports it.
        if not error.problems:
            raise
        found = ((document.line_of(problem.field), problem) for problem in error.problems)
        mistakes = sorted(found, key=lambda mistake: mistake[0])
    raise SystemExit(_report(file, mistakes))


def _report(file: Path, mistakes: "list[tuple[int, errors.Problem]]") -> int:
    for line, problem in mistakes:
        click.echo(f"{file}:{line}: {problem.field}: {problem.message}", err=True)
    count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    report(errors.Failed(f"{count}; nothing was applied"))
    # The exit code for invalid input, as in `calling.py`.
    return 5


def _show(answer: "ConfigurationChanges", as_json: bool, verb: str) -> None:
    if as_json:
        show_json(answer)
    for line in () if as_json else _lines(answer):
        click.echo(line)
    click.echo(f"{len(answer.changes) or 'Nothing'} {verb}", err=True)


def _lines(answer: "ConfigurationChanges") -> Iterator[str]:
    import msgspec

    for entry in answer.changes:
        yield " ".join(["+" if entry.change == "New" else "~", entry.section, *filter(None, [entry.name])])
        for field in entry.fields:
            before, after = (msgspec.json.encode(value).decode() for value in (field.before, field.after))
            yield f"    {field.field}: {before} -> {after}"
