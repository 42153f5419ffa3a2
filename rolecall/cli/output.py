"""Print results: a table on a terminal, tab-separated lines in a pipe, JSON for programs."""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import rich_click as click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


field_option = click.option("--field", help="Print only one field, such as `id` or `application.name`, for scripts.")


class Form(msgspec.Struct, frozen=True):
    """The output format of a command: a table, JSON, or one field."""

    as_json: bool = False
    field: str | None = None

    def show(self, record: Any) -> None:
        if record is None:
            click.echo("Done", err=True)
        elif self.field:
            show_field(record, self.field)
        elif self.as_json:
            show_json(record)
        else:
            show_record(record)

    def show_list(self, columns: Sequence[str], items: Sequence[Any]) -> None:
        if self.field:
            for item in items:
                show_field(item, self.field)
        elif self.as_json:
            show_json(items)
        else:
            show_rows(columns, items)


def show_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in (headers, *rows):
            click.echo("\t".join(visible(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=None, header_style="bold", pad_edge=False)
    # Use `Text`, because Rich would interpret brackets in a string as markup.
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def show_rows(paths: Sequence[str], items: Sequence[Any]) -> None:
    """Print items as a table; each column is a path into the item."""
    headers = [path.replace(".name", "").rpartition(".")[2].replace("_", " ").upper() for path in paths]
    show_table(headers, [[_cell(_reached(item, path)) for path in paths] for item in items])


def show_record(record: Any) -> None:
    """Print one field per line, without empty fields."""
    fields = list(_fields(msgspec.to_builtins(record)))
    width = max(len(name) for name, _ in fields) if sys.stdout.isatty() else 0
    for name, text in fields:
        click.echo(f"{name:<{width}}  {text}" if width else f"{name}\t{text}")


def show_field(record: Any, path: str) -> None:
    """Print one field for scripts; `path` uses the API's field names, such as `application.name` or `files.0.id`."""
    value = msgspec.to_builtins(record)
    for name in path.split("."):
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, ValueError, TypeError):
            raise click.UsageError(f"There is no field {name} in {path}; {_known_names(value)}") from None
    click.echo(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _known_names(value: Any) -> str:
    if isinstance(value, dict):
        return f"use one of {', '.join(value)}"
    if isinstance(value, list) and value:
        return f"use a number from 0 to {len(value) - 1}"
    return "leave out this part of the path"


def _fields(value: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, field in value.items():
        if isinstance(field, dict):
            yield from _fields(field, f"{above}{name}.")
        elif isinstance(field, list) and field and isinstance(field[0], dict):
            for number, entry in enumerate(field):
                yield from _fields(entry, f"{above}{name}.{number}.")
        elif field not in (None, "", []):
            # Indent continuation lines, so that a line without indentation always begins a field.
            yield f"{above}{name}", visible(_cell(field), keep="\n").replace("\n", "\n\t")


def _reached(item: Any, path: str) -> Any:
    from rolecall.client.calls.describe import camel

    for name in path.split("."):
        # Untyped parts of a response are dicts with the field names of the API.
        item = item.get(camel(name)) if isinstance(item, dict) else getattr(item, name, None)
    return item


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            # Times in responses are in UTC.
            return f"{value:%Y-%m-%d %H:%M}Z"
        case list():
            return ", ".join(map(_cell, value))
        case dict():
            return " ".join(f"{name}={_cell(field)}" for name, field in value.items())
        case msgspec.Struct():
            names = (getattr(value, field, None) for field in ("name", "last_name", "first_name"))
            return ", ".join(filter(None, names))
    return str(value)


def visible(cell: str, keep: str = "") -> str:
    """Return a cell with unprintable characters escaped, to prevent terminal injection."""
    return "".join(c if c.isprintable() or c in keep else f"\\u{ord(c):04x}" for c in cell)
