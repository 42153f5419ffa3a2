"""Run the whole service on one machine, or a single process of it (API or worker)."""

import os
from pathlib import Path

import rich_click as click

from rolecall.cli.folder import data_dir_option

host_option = click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
port_option = click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
_with_parent_option = click.option("--with-parent", is_flag=True, hidden=True, help="Stop when stdin is closed.")
MOST_PROCESSES = 4


@click.command
@host_option
@port_option
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Number of API processes. Default: one per core, at most four."
)
@data_dir_option
def serve(host: str, port: int, workers: int | None, data_dir: Path | None) -> None:
    """Run the whole service on this machine: database, migrations, API and worker.

    Example: `rolecall serve --data-dir /var/lib/rolecall --port 8080`
    """
    from rolecall.cli.supervisor import ProcessPlan, run_service
    from rolecall.core import config, logs

    settings = config.load(data_dir=data_dir)
    logs.configure(settings.log)
    workers = workers or min(MOST_PROCESSES, os.cpu_count() or 1)
    run_service(settings, ProcessPlan(host=host, port=port, workers=workers))


@click.command
@host_option
@port_option
@_with_parent_option
def api(host: str, port: int, with_parent: bool) -> None:
    """Run one API process with the database of `ROLECALL_DATABASE_URL`.

    Example: `ROLECALL_DATABASE_URL=postgresql://db/rolecall rolecall api --host 0.0.0.0`
    """
    from rolecall.cli.roles import run_role, serve_http
    from rolecall.cli.supervisor import check_port

    if not with_parent:
        # Skip the check if a supervisor started this process, because its API processes share the port.
        check_port(host, port)
    run_role(lambda config, stop: serve_http(config, stop, host, port), with_parent)


@click.command
@_with_parent_option
def worker(with_parent: bool) -> None:
    """Run one worker with the database of `ROLECALL_DATABASE_URL`.

    Example: `ROLECALL_DATABASE_URL=postgresql://db/rolecall rolecall worker`
    """
    from rolecall.cli.roles import run_role
    from rolecall.worker import work

    run_role(work, with_parent)
