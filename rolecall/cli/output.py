"""What commands print: a table on a terminal, tab-separated lines in a pipe, JSON for programs."""

import sys
from collections.abc import Sequence

import rich_click as click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def show_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in (headers, *rows):
            click.echo("\t".join(_visible(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(_visible(cell)) for cell in row))
    Console().print(table)


def _visible(cell: str) -> str:
    """Control characters are shown, not obeyed by the terminal."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cell)
