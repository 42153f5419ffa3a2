"""Run the checks of the service and print their results."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rolecall.cli import folder
from rolecall.cli.folder import data_dir_option
from rolecall.cli.output import json_option, show_json, show_table

if TYPE_CHECKING:
    from rolecall.core.config import Config
    from rolecall.core.db import Db
    from rolecall.operate.check_results import CheckResult


@click.command
@data_dir_option
@json_option
def doctor(data_dir: Path | None, as_json: bool) -> None:
    """Check the service and print advice for each problem; exit with 1 if any problem is more than a warning.

    The checks cover the machine, the database, background work, connections to other systems and the audit chains.
    Nothing is changed.

    Example: `rolecall doctor --data-dir /var/lib/rolecall`
    """
    import psycopg

    from rolecall.operate.doctor import out_of_reach

    async def act(config: "Config", db: "Db") -> "list[CheckResult]":
        from rolecall.operate.doctor import examine

        return await examine(db, config)

    try:
        # Do not use `current_database`: it refuses a schema of another version, which the checks report.
        with folder.found_database(data_dir) as here:
            findings = folder.in_transaction(here, act, snapshot=True)
    except psycopg.OperationalError as error:
        findings = [out_of_reach(error)]
    ok = not any(finding.state == "trouble" for finding in findings)
    if as_json:
        show_json({"ok": ok, "findings": findings})
    else:
        rows = [(found.check, found.state, found.detail, found.advice) for found in findings]
        show_table(("CHECK", "STATE", "FOUND", "WHAT TO DO"), rows)
    sys.exit(0 if ok else 1)
