"""Client commands, generated from the table of verbs and the signatures of calls; a few combine several calls."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import rich_click as click

from rolecall.cli.output import Form, field_option, json_option, show_rows, visible
from rolecall.cli.profiles import access, profile_option
from rolecall.cli.verbs import A_PERSON, CLEARED, HELP, NAMED, NOUNS, PEOPLE, WORDS, Verb
from rolecall.client import calls, errors
from rolecall.client.answers import DryRun, Identity, Json, Page, ProposedFile

if TYPE_CHECKING:
    from rolecall.client import Client

_SHOWN = 50
_FORMATS = ["csv", "xlsx", "jsonl", "parquet"]
_EXIT_CODES = {errors.NotFound: 3, errors.NotAllowed: 4, errors.Invalid: 5}


@contextmanager
def connected(profile: str | None) -> Iterator["Client"]:
    """Yield a client; report errors on stderr and by the exit code."""
    from rolecall.client import Client

    where = access(profile)
    try:
        with Client(where.url, where.token) as client:
            yield client
    except errors.Failed as error:
        report(error)
        sys.exit(next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 1))


def report(error: errors.Failed) -> None:
    click.echo(visible(f"Error: {error}", keep="\n"), err=True)
    for problem in error.problems if isinstance(error, errors.Invalid) else ():
        click.echo(visible(f"  {problem.field}: {problem.message}", keep="\n"), err=True)
    if error.correlation_id:
        click.echo(f"  correlation id {error.correlation_id}", err=True)


class _Verbs(click.RichGroup):
    """A noun whose verbs are created lazily."""

    def list_commands(self, _: click.Context) -> list[str]:
        return [*NOUNS[self.name or ""].verbs, *_SEVERAL_CALLS.get(self.name or "", {})]

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        noun = self.name or ""
        if verb := NOUNS[noun].verbs.get(name):
            return _command(noun, name, verb)
        return _SEVERAL_CALLS.get(noun, {}).get(name)


def noun(name: str) -> click.Command:
    first = next(iter(NOUNS[name].verbs.values()))
    return _Verbs(name=name, help=f"{NOUNS[name].help}\n\nExample: `{first.example}`")


def _command(noun: str, name: str, verb: Verb) -> click.Command:
    def act(as_json: bool, field: str | None, profile: str | None, **given: Any) -> None:
        form, limit, all = Form(as_json, field), given.pop("limit", _SHOWN), given.pop("all", False)
        # `--format` exports a list; elsewhere it is a field of the record.
        format, output = (given.pop("format"), given.pop("output")) if verb.columns else (None, None)
        with connected(profile) as client:
            call = verb.call(**_resolved(client, _as_meant(given)))
            if format:
                _write_file(client.export(call, format), output)
            elif verb.columns:
                _show_list(client, call, verb.columns, form, None if all else limit)
            else:
                form.show(client.send(call))

    made = click.RichCommand(
        name=name,
        callback=act,
        params=list(_parameters(noun, verb.call)),
        help="\n\n".join([inspect.getdoc(verb.call) or "", *_told(verb.call), f"Example: `{verb.example}`"]),
    )
    for option in (profile_option, field_option, json_option, *(_LIST_OPTIONS if verb.columns else ())):
        option(made)
    return made


_LIST_OPTIONS = (
    click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File to export to, not stdout."),
    click.option(
        "--format",
        type=click.Choice(_FORMATS),
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
        items = [item for item, _ in zip(client.each(call), range(limit or first.total_count), strict=False)]
    form.show_list(columns, items)
    if len(items) < first.total_count and not form.field:
        click.echo(f"{len(items)} of {first.total_count}; --all shows the rest", err=True)


def _write_file(pieces: Iterator[bytes], output: Path | None) -> None:
    # Nothing is written when the service refuses.
    first = next(pieces, b"")
    with output.open("wb") if output else nullcontext(sys.stdout.buffer) as file:
        file.write(first)
        for piece in pieces:
            file.write(piece)


def _as_meant(given: dict[str, Any]) -> dict[str, Any]:
    """Drop options that were not given, so that the call's own defaults apply."""
    return {name: value for name, value in given.items() if value is not None and value != ()}


def _resolved(client: "Client", given: dict[str, Any]) -> dict[str, Any]:
    """Replace names by ids."""

    def id(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return [id(name, each) for each in value]
        if value == "" and name in CLEARED:
            return value
        return _written_id(value) or (_person(client, value) if name in PEOPLE else _id(client, NAMED[name], value))

    return {name: id(name, value) if name in PEOPLE or name in NAMED else value for name, value in given.items()}


def _written_id(text: str) -> str | None:
    """Normalize an id; braces, URN form and missing hyphens are accepted."""
    from uuid import UUID

    try:
        return str(UUID(text.strip()))
    except ValueError:
        return None


def _person(client: "Client", words: str) -> str:
    """Return the id of the person with this name, e-mail or employee ID."""
    found = client.send(calls.search_identities(words, whole=True)) if words.strip() else None
    if not found or not found.items:
        raise errors.NotFound(f"No identity has the name, e-mail, employee ID or id {words}")
    if found.total_count > 1:
        fits = [errors.Problem(f"{p.first_name} {p.last_name}", _known_by(p)) for p in found.items]
        said = f"{words} matches {found.total_count} people; choose one by e-mail or id"
        raise errors.Invalid(said, problems=tuple(fits))
    return str(found.items[0].id)


def _known_by(person: Identity) -> str:
    return ", ".join(filter(None, (person.email_address, person.title, person.status, str(person.id))))


def _id(client: "Client", listing: Callable[[], calls.Call[Page[Any]]], name: str) -> str:
    """Return the id of the record with this name; an id is returned unchanged."""
    if id := _written_id(name):
        return id
    found = [item for item in client.each(listing()) if item.name.casefold() == name.casefold()]
    if len(found) != 1:
        raise errors.NotFound(f"{len(found) or 'Nothing'} named {name}")
    return str(found[0].id)


# Parameters, derived from the signature of a call


def _parameters(noun: str, call: Callable[..., Any]) -> Iterator[click.Parameter]:
    hints = get_type_hints(call)
    for parameter in inspect.signature(call).parameters.values():
        hint, default = hints[parameter.name], parameter.default
        if parameter.kind is parameter.VAR_KEYWORD:
            (fields,) = get_args(hint)
            for name, kind in get_type_hints(fields).items():
                yield _option(noun, name, kind, required=False)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            yield _option(noun, parameter.name, hint, required=default is parameter.empty)
        else:
            yield _argument(noun, parameter.name, hint, required=default is parameter.empty)


def _argument(noun: str, name: str, hint: Any, required: bool) -> click.Parameter:
    settings = _settings(noun, name, hint)
    settings.pop("multiple", None)
    return click.Argument([name], required=required, metavar=_spoken(name).upper(), **settings)


def _option(noun: str, name: str, hint: Any, required: bool) -> click.Parameter:
    word, settings = _spoken(name), _settings(noun, name, hint)
    if hint is bool:
        return click.Option([f"--{word}/--no-{word}", name], default=None, help=HELP.get(name))
    if settings.get("multiple"):
        word = word.removesuffix("s")
    words = _known_words(noun, name)
    help = HELP.get(name) or (f"One of {', '.join(words)}." if words else None)
    return click.Option([f"--{word}", name], required=required, help=help, **settings)


def _told(call: Callable[..., Any]) -> Iterator[str]:
    """Describe the arguments in the help text, as click gives them none."""
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name in PEOPLE and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            yield f"{_spoken(parameter.name).upper()}: {A_PERSON[0].lower()}{A_PERSON[1:]}"


def _spoken(name: str) -> str:
    return name.removesuffix("_ids").removesuffix("_id").replace("_", "-")


def _settings(noun: str, name: str, hint: Any) -> dict[str, Any]:
    """Choose the option's type from the call's type hint; the default is text."""
    plain = _without_none(hint)
    if plain is int:
        return {"type": click.INT}
    if plain == Mapping[int, str]:
        return {"type": _numbered, "metavar": "NUMBER=TEXT", "multiple": True, "callback": _merged}
    if get_origin(plain) is Sequence and get_args(plain)[0] in (str, calls.Id):
        return {"multiple": True, "shell_complete": _words(noun, name)}
    if plain == Json or get_origin(plain) is Sequence:
        return {"type": _json, "metavar": "JSON|@FILE"}
    return {"shell_complete": _words(noun, name)}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    rest = [kind for kind in get_args(hint) if kind is not NoneType]
    return rest[0] if len(rest) == 1 else str


def _known_words(noun: str, name: str) -> list[str]:
    return WORDS.get((noun, name)) or WORDS.get(("", name), [])


def _words(noun: str, name: str) -> Callable[[Any, Any, str], list[Any]]:
    words = _known_words(noun, name)
    return lambda _context, _parameter, typed: [word for word in words if word.lower().startswith(typed.lower())]


def _json(text: str) -> Any:
    """Parse JSON given inline or as a file."""
    import msgspec

    try:
        return msgspec.json.decode(Path(text[1:]).read_bytes() if text.startswith("@") else text.encode())
    except (OSError, msgspec.DecodeError) as error:
        raise click.BadParameter(str(error)) from None


def _numbered(text: str) -> tuple[int, str]:
    number, equals, value = text.partition("=")
    if not equals or not number.isdecimal():
        raise click.BadParameter("write it as 3=Text")
    return int(number), value


def _merged(_context: Any, _parameter: Any, pairs: Sequence[tuple[int, str]]) -> dict[int, str] | None:
    return dict(pairs) or None


# Commands that need several calls


@click.command
@click.argument("application")
@click.argument("files", nargs=-1, required=True, metavar="GROUP=FILE…")
@click.option("--wait", is_flag=True, help="Wait until the import ends, and show its log.")
@json_option
@field_option
@profile_option
def upload(
    application: str, files: tuple[str, ...], wait: bool, as_json: bool, field: str | None, profile: str | None
) -> None:
    """Upload files by file group name and stage an import.

    Example: `rolecall import upload Payroll Users=users.csv Groups=groups.xlsx --wait`
    """
    given = _by_group(files)
    with connected(profile) as client:
        id = _id(client, calls.list_applications, application)
        total = sum(path.stat().st_size for paths in given.values() for path in paths)
        with click.progressbar(length=total, label="Uploading", file=sys.stderr) as bar:
            run = client.upload(id, given, progress=lambda sent, _: bar.update(sent - bar.pos))
        click.echo(f"Import {run.number} is staged", err=True)
        if wait:
            _follow(client, str(run.id), Form(as_json, field))
        else:
            Form(as_json, field).show(run)


def _by_group(files: Sequence[str]) -> dict[str, list[Path]]:
    given: dict[str, list[Path]] = {}
    for text in files:
        group, equals, path = text.partition("=")
        if not equals or not Path(path).is_file():
            raise click.BadParameter(f"{text}: write a file as GROUP=FILE", param_hint="files")
        given.setdefault(group, []).append(Path(path))
    return given


@click.command("dry-run")
@click.argument("application")
@click.argument("files", nargs=-1, required=True, metavar="GROUP=FILE…")
@click.option("--connector", type=_json, metavar="JSON|@FILE", help="Use this connector instead of the saved one.")
@json_option
@field_option
@profile_option
def dry_run(
    application: str,
    files: tuple[str, ...],
    connector: Json | None,
    as_json: bool,
    field: str | None,
    profile: str | None,
) -> None:
    """Show what an import of files would do, without changing anything; exit code 1 if it would fail.

    Example: `rolecall import dry-run Payroll Users=users.csv Groups=groups.xlsx`
    """
    given, form = _by_group(files), Form(as_json, field)
    with connected(profile) as client:
        run = client.dry_run(_id(client, calls.list_applications, application), given, connector=connector)
        if form == Form():
            _show_dry_run(client, run)
        else:
            form.show(run)
    if run.problem:
        sys.exit(1)


def _show_dry_run(client: "Client", run: DryRun) -> None:
    show_rows(("name", "read", "applied", "unchanged", "rejected"), run.files)
    show_rows(("kind", "new", "altered", "removed"), run.changes or [])
    if run.matches:
        show_rows(("matched", "unmatched", "disputed", "never"), [run.matches])
    rejects = client.send(calls.list_dry_run_rejects(run.id))
    if rejects.items:
        show_rows(("file", "line", "reason", "row"), rejects.items)
    for said, reason in (("The import would fail", run.problem), ("The guard would hold it", run.held)):
        if reason:
            click.echo(visible(f"{said}: {reason}"), err=True)
    more = f"`rolecall dry-run changes {run.id}` lists the changes, `rolecall dry-run rejects {run.id}` all bad rows"
    click.echo(f"Nothing was changed. {more}", err=True)


@click.command
@click.argument("import_id", metavar="IMPORT")
@json_option
@field_option
@profile_option
def wait(import_id: str, as_json: bool, field: str | None, profile: str | None) -> None:
    """Wait until an import ends, with its log on stderr; exit code 1 unless it is Finished.

    Example: `rolecall import wait 0192e4a0-7c1e-7000-8000-000000000001`
    """
    with connected(profile) as client:
        _follow(client, import_id, Form(as_json, field))


@click.command
@click.argument("import_id", metavar="IMPORT")
@click.option("--follow", "-f", is_flag=True, help="Follow the log until the import ends.")
@profile_option
def log(import_id: str, follow: bool, profile: str | None) -> None:
    """Print the log of an import.

    Example: `rolecall import log -f 0192e4a0-7c1e-7000-8000-000000000001`
    """
    with connected(profile) as client:
        printed = 0
        for run in client.watch(import_id) if follow else [client.send(calls.get_import(import_id))]:
            lines = (run.log or "").splitlines()
            for line in lines[printed:]:
                click.echo(line)
            printed = len(lines)


@click.command
@click.argument("import_id", metavar="IMPORT")
@click.argument("name", metavar="FILE")
@profile_option
def file(import_id: str, name: str, profile: str | None) -> None:
    """Write an uploaded file of an import to stdout; FILE is its name or id.

    Example: `rolecall import file 0192e4a0-7c1e-7000-8000-000000000001 users.csv`
    """
    with connected(profile) as client:
        files = client.send(calls.get_import(import_id)).files
        id = next((file.id for file in files if file.name == name), name)
        sys.stdout.buffer.write(client.send(calls.download_file(import_id, id)))


def _follow(client: "Client", import_id: str, form: Form) -> None:
    printed = 0
    for run in client.watch(import_id):
        lines = (run.log or "").splitlines()
        for line in lines[printed:]:
            click.echo(line, err=True)
        printed = len(lines)
    if form == Form():
        run.log = None  # The reader closed the pipe after reading enough.
    form.show(run)
    if run.status != "Finished":
        sys.exit(1)


@click.command
@click.argument("report")
@click.option("--format", type=click.Choice(_FORMATS), help="Format to use instead of the report's.")
@click.option("--filter", "filters", multiple=True, metavar="NAME=VALUE", help="Replace a filter (repeatable).")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write to instead of stdout.")
@profile_option
def run(report: str, format: str | None, filters: tuple[str, ...], output: Path | None, profile: str | None) -> None:
    """Run a report, by name or id, and write the file.

    Example: `rolecall reports run "Everyone's access" --filter asOf=2026-03-01 --output access.csv`
    """
    given = {}
    for text in filters:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text}: write a filter as NAME=VALUE", param_hint="--filter")
        given[name] = value
    with connected(profile) as client:
        id = _id(client, calls.list_reports, report)
        _write_file(client.stream(calls.run_report(id, format=format, filters=given or None)), output)


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@field_option
@profile_option
def propose(files: tuple[Path, ...], as_json: bool, field: str | None, profile: str | None) -> None:
    """Propose a connector that reads files, with the evidence; exit code 1 if a file cannot be read.

    `--field connector` prints what `rolecall app create --connector` and `rolecall import dry-run --connector` take.

    Example: `rolecall app propose users.csv groups.csv`
    """
    form = Form(as_json, field)
    with connected(profile) as client:
        found = client.send(calls.propose_shapes([(path.name, path) for path in files]))
    if form == Form():
        for file in found.files:
            _show_proposal(file)
    else:
        form.show(found)
    if any(file.problem for file in found.files):
        sys.exit(1)


def _show_proposal(file: ProposedFile) -> None:
    header = f"header in line {file.header_line}" if file.header_line else ""
    how = ", ".join(filter(None, (file.format, file.encoding, header)))
    click.echo(visible(f"{file.name}: {file.problem or how}"))
    for evidence in file.evidence:
        click.echo(visible(f"  {evidence}"))
    for part in file.contents:
        click.echo(visible(f"  {part.content} ({part.confidence:.0%} certain)"))
        for said in (*part.evidence, *(f"Open: {question.text}" for question in part.questions)):
            click.echo(visible(f"    {said}"))
        known = [column for column in part.columns if column.field]
        show_rows(("header", "field", "confidence", "evidence", "examples"), known)


@click.command
@json_option
@field_option
@profile_option
def templates(as_json: bool, field: str | None, profile: str | None) -> None:
    """List connector templates: saved ones, then those that ship with the service.

    Example: `rolecall app templates`
    """
    form = Form(as_json, field)
    with connected(profile) as client:
        found = client.send(calls.list_connector_templates())
    if form == Form():
        show_rows(("id", "name", "vendor", "description", "created_by"), found.templates)
    else:
        form.show(found)


_SEVERAL_CALLS: dict[str, dict[str, click.Command]] = {
    "app": {"propose": propose, "templates": templates},
    "import": {"upload": upload, "dry-run": dry_run, "wait": wait, "log": log, "file": file},
    "reports": {"run": run},
}
