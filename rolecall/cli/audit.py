"""Verify and export the audit chains directly from the database; the service does not have to be running."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rolecall.cli.folder import data_dir_option, with_database
from rolecall.cli.output import json_option, show_json

if TYPE_CHECKING:
    from rolecall.audit.model import Head
    from rolecall.audit.shapes import Verdict
    from rolecall.core.config import Config
    from rolecall.core.db import Db


@click.group
def audit() -> None:
    """Verify and export the audit chains.

    Example: `rolecall audit verify`
    """


@audit.command
@click.option("--head", "head_file", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="A file with an earlier output of `rolecall audit head`. Also verify that no entry up to its heads was removed or changed.")  # fmt: skip # noqa: E501
@data_dir_option
@json_option
def verify(head_file: Path | None, data_dir: Path | None, as_json: bool) -> None:
    """Verify every entry and link of the audit chains. If any is invalid, print the first and exit with 1.

    Example: `rolecall audit verify --head head.json`
    """
    known = _read_heads(head_file) if head_file else []

    async def act(_: "Config", db: "Db") -> "Verdict":
        from rolecall.audit.queries import verify

        return await verify(db, known)

    from rolecall.core.text import counted

    verdict = with_database(data_dir, act)
    if as_json:
        show_json(verdict)
    elif verdict.broken:
        click.echo(f"Entry {verdict.broken.number} (chain {verdict.broken.chain}): {verdict.broken.reason}")
    else:
        entries, chains = counted(verdict.count, "entry", "entries"), counted(len(verdict.heads), "chain")
        click.echo(f"{entries} in {chains} verified; head {verdict.head}")
    sys.exit(0 if verdict.ok else 1)


@audit.command
@data_dir_option
def head(data_dir: Path | None) -> None:
    """Print the heads of the chains as JSON.

    Store them where the service cannot write: `audit verify --head` then detects entries that were changed or removed.

    Example: `rolecall audit head > head.json`
    """

    async def act(_: "Config", db: "Db") -> dict[str, Any]:
        from rolecall.audit.model import seal_of
        from rolecall.audit.queries import heads

        found = await heads(db)
        return {"head": seal_of(found), "heads": found}

    show_json(with_database(data_dir, act))


@audit.command
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead of stdout."
)
@data_dir_option
def export(output: Path | None, data_dir: Path | None) -> None:
    """Export all audit entries as JSON lines, oldest first.

    Example: `rolecall audit export -o audit.jsonl`
    """

    async def act(_: "Config", db: "Db") -> int:
        from rolecall.audit.queries import as_line, rows

        count = 0
        with output.open("wb") if output else click.open_file("-", "wb") as file:
            async for row in rows(db):
                file.write(as_line(row))
                count += 1
        return count

    click.echo(f"{with_database(data_dir, act)} entries exported", err=True)


def _read_heads(file: Path) -> "list[Head]":
    import msgspec

    from rolecall.audit.model import Head

    class _Heads(msgspec.Struct):
        heads: list[Head]

    try:
        return msgspec.json.decode(file.read_bytes(), type=_Heads).heads
    except msgspec.MsgspecError as error:
        raise click.BadParameter(f"{file} does not contain heads: {error}", param_hint="--head") from None
