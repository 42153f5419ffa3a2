"""Define commands that make several API calls or read files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli.calling import EXIT_CODES, FORMATS, connected, id_of, write_file
from rolecall.cli.output import Form, field_option, json_option, show_rows, visible
from rolecall.cli.parameters import json_value
from rolecall.cli.profiles import profile_option
from rolecall.client import calls, errors
from rolecall.client.answers import DryRun, Json, ProposedFile

if TYPE_CHECKING:
    from rolecall.client import Client

# EX_TEMPFAIL in sysexits.h: the mail server keeps the mail and retries. After any other error it returns the mail to
# its sender.
_TRY_AGAIN = 75
_MOST_OF_A_MAIL = 100_000


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
    """Upload files and stage an import; give each file as GROUP=FILE, with the name of its file group.

    Example: `rolecall import upload Payroll Users=users.csv Groups=groups.xlsx --wait`
    """
    given = _by_group(files)
    with connected(profile) as client:
        id = id_of(client, calls.list_applications, application)
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
            raise click.BadParameter(f"{text}: write it as GROUP=FILE, with a file that exists", param_hint="files")
        given.setdefault(group, []).append(Path(path))
    return given


@click.command("dry-run")
@click.argument("application")
@click.argument("files", nargs=-1, required=True, metavar="GROUP=FILE…")
@click.option("--connector", type=json_value, metavar="JSON|@FILE", help="Use this connector instead of the saved one.")
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
    """Print what an import of the files would change, without changing anything; exit code 1 if it would fail.

    Example: `rolecall import dry-run Payroll Users=users.csv Groups=groups.xlsx`
    """
    given, form = _by_group(files), Form(as_json, field)
    with connected(profile) as client:
        run = client.dry_run(id_of(client, calls.list_applications, application), given, connector=connector)
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
    for said, reason in (("The import would fail", run.problem), ("The guard would hold the import", run.held)):
        if reason:
            click.echo(visible(f"{said}: {reason}"), err=True)
    more = (
        f"`rolecall dry-run changes {run.id}` lists the changes;"
        f" `rolecall dry-run rejects {run.id}` lists all rejected rows"
    )
    click.echo(f"Nothing was changed. {more}", err=True)


@click.command
@click.argument("import_id", metavar="IMPORT")
@json_option
@field_option
@profile_option
def wait(import_id: str, as_json: bool, field: str | None, profile: str | None) -> None:
    """Wait until an import ends and print its log on stderr. Exit with code 1 unless the import is Finished.

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
    """Write an uploaded file of an import to stdout. FILE is the name or the id of the file.

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
        run.log = None  # The log was printed already.
    form.show(run)
    if run.status != "Finished":
        sys.exit(1)


@click.command
@click.argument("report")
@click.option("--format", type=click.Choice(FORMATS), help="Format to use instead of the report's.")
@click.option(
    "--filter", "filters", multiple=True, metavar="NAME=VALUE", help="Override a filter of the report (repeatable)."
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write to instead of stdout.")
@profile_option
def run(report: str, format: str | None, filters: tuple[str, ...], output: Path | None, profile: str | None) -> None:
    """Run a report, by name or id, and write the file to stdout or to `--output`.

    Example: `rolecall reports run "Everyone's access" --filter asOf=2026-03-01 --output access.csv`
    """
    given = {}
    for text in filters:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text}: write a filter as NAME=VALUE", param_hint="--filter")
        given[name] = value
    with connected(profile) as client:
        id = id_of(client, calls.list_reports, report)
        write_file(client.stream(calls.run_report(id, format=format, filters=given or None)), output)


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@field_option
@profile_option
def propose(files: tuple[Path, ...], as_json: bool, field: str | None, profile: str | None) -> None:
    """Propose a connector for files, with the evidence for it; exit code 1 if a file cannot be read.

    `--field connector` prints the value for `--connector` of `rolecall app create` and `rolecall import dry-run`.

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
        for said in (*part.evidence, *part.statements, *(f"Open: {question.text}" for question in part.questions)):
            click.echo(visible(f"    {said}"))
        known = [column for column in part.columns if column.field]
        show_rows(("header", "field", "confidence", "evidence", "examples"), known)
    for column in file.columns:
        if column.may_be_access:
            click.echo(visible(f"  {column.header} may be access, but is not read as access ({column.may_be_access})"))
    if file.columns:
        show_rows(("header", "place", "becomes", "how", "values", "examples"), file.columns)


@click.command
@json_option
@field_option
@profile_option
def templates(as_json: bool, field: str | None, profile: str | None) -> None:
    """List connector templates: saved ones first, then the ones that ship with the service.

    Example: `rolecall app templates`
    """
    form = Form(as_json, field)
    with connected(profile) as client:
        found = client.send(calls.list_connector_templates())
    if form == Form():
        show_rows(("id", "name", "vendor", "description", "created_by"), found.templates)
    else:
        form.show(found)


@click.command
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default="-")
@json_option
@field_option
@profile_option
def bounce(file: Path, as_json: bool, field: str | None, profile: str | None) -> None:
    """Read a mail. If it is a delivery report of a permanent failure, mark the message as bounced.

    FILE: the mail with its headers, by default stdin. The token needs only the scope `bounces:write`. Exits with 0 even
    if the mail is not a delivery report. Exits with 75 (try again later) if the call fails, for example because the
    service is unreachable or refuses the token, so that a mail server keeps the mail.

    Example: `rolecall notify bounce returned.eml`
    """
    if str(file) != "-" and not file.is_file():
        raise click.BadParameter(f"{file}: no such file", param_hint="file")
    # Read all of stdin, so that the mail server can finish writing; the report is at the beginning.
    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    # The API rejects strings with NUL characters.
    mail = content[:_MOST_OF_A_MAIL].decode(errors="replace").replace("\x00", "")
    try:
        with connected(profile) as client:
            Form(as_json, field).show(client.send(calls.report_bounced_message(mail)))
    # A mail that is refused as invalid would be refused again, so the mail server must not retry.
    except SystemExit as ended:
        sys.exit(0 if ended.code == EXIT_CODES[errors.Invalid] else _TRY_AGAIN)
    except click.ClickException as error:
        error.show()
        sys.exit(_TRY_AGAIN)


SEVERAL_CALLS: dict[str, dict[str, click.Command]] = {
    "app": {"propose": propose, "templates": templates},
    "import": {"upload": upload, "dry-run": dry_run, "wait": wait, "log": log, "file": file},
    "notify": {"bounce": bounce},
    "reports": {"run": run},
}
