"""Call the service from a command: connect, resolve names to ids, report errors, write files."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rolecall.cli.options import CLEARED, NAMED, PEOPLE
from rolecall.cli.output import visible
from rolecall.cli.profiles import access
from rolecall.client import calls, errors
from rolecall.client.answers import Identity, Page

if TYPE_CHECKING:
    from rolecall.client import Client

FORMATS = ["csv", "xlsx", "jsonl", "parquet"]
EXIT_CODES = {errors.NotFound: 3, errors.NotAllowed: 4, errors.Invalid: 5}


@contextmanager
def connected(profile: str | None) -> Iterator["Client"]:
    """Yield a client; report errors on stderr and set the exit code."""
    from rolecall.client import Client

    where = access(profile)
    try:
        with Client(where.url, where.token) as client:
            yield client
    except errors.Failed as error:
        report(error)
        sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1))


def report(error: errors.Failed) -> None:
    click.echo(visible(f"Error: {error}", keep="\n"), err=True)
    for problem in error.problems if isinstance(error, errors.Invalid) else ():
        click.echo(visible(f"  {problem.field}: {problem.message}", keep="\n"), err=True)
    if error.correlation_id:
        click.echo(f"  correlation id {error.correlation_id}", err=True)


def write_file(pieces: Iterator[bytes], output: Path | None) -> None:
    # Read the first piece before opening the file, so that no file is written if the service refuses.
    first = next(pieces, b"")
    with output.open("wb") if output else nullcontext(sys.stdout.buffer) as file:
        file.write(first)
        for piece in pieces:
            file.write(piece)


def resolved(client: "Client", given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with names replaced by ids."""

    def id(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return [id(name, each) for each in value]
        if value == "" and name in CLEARED:
            return value
        return _written_id(value) or (_person(client, value) if name in PEOPLE else id_of(client, NAMED[name], value))

    return {name: id(name, value) if name in PEOPLE or name in NAMED else value for name, value in given.items()}


def _written_id(text: str) -> str | None:
    """Return an id in standard form, or None. Braces, URN form and missing hyphens are accepted."""
    from uuid import UUID

    try:
        return str(UUID(text.strip()))
    except ValueError:
        return None


def _person(client: "Client", words: str) -> str:
    """Return the id of the one person with this full name, e-mail or employee ID; raise an error otherwise."""
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


def id_of(client: "Client", listing: Callable[[], calls.Call[Page[Any]]], name: str) -> str:
    """Return the id of the only record with this name, ignoring case. If `name` is an id, return it."""
    if id := _written_id(name):
        return id
    # Read the whole list: the lists in which names are looked up (`NAMED`) are short.
    found = [item for item in client.each(listing()) if item.name.casefold() == name.casefold()]
    if len(found) != 1:
        raise errors.NotFound(f"{len(found) or 'No'} records are named {name}; check the name, or use the id")
    return str(found[0].id)
