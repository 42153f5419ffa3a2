"""Run the commands of the documentation, page by page, against one running service; skip those marked `not run`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import REPOSITORY, Running, a_service, environment, rolecall
from tests.figures import measured

# The first pages, in reading order; a page may use records of an earlier page.
FIRST = ("first-hour", "first-application", "joiner-mover-leaver", "approvals", "configuration", "api", "command-line")
BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?```(?P<kind>sh|python run)\n(?P<text>.*?)```", re.DOTALL)


def pages() -> list[Path]:
    first = [REPOSITORY / "README.md", *(REPOSITORY / f"docs/{name}.md" for name in FIRST)]
    rest = {REPOSITORY / "CONTRIBUTING.md", *REPOSITORY.glob("docs/*.md")} - set(first)
    return [*first, *sorted(rest)]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each code block to run."""
    found = BLOCK.finditer(page.read_text())
    return [(block["kind"], block["text"]) for block in found if not block["why"]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("pages") / "here"
    allowed: dict[str, Any] = {"ROLECALL_WEBHOOK_ALLOW": "127.0.0.0/8", "ROLECALL_TICK_SECONDS": "1"}
    with a_service(folder, "--workers", "1", **allowed) as running:
        yield running


@pytest.fixture(scope="module")
def variables(service: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = rolecall("token", "create", "pages", "--scope", "all", "--data-dir", service.data_dir)
    bin = tmp_path_factory.mktemp("bin")
    for name, module in (("rolecall", "-m rolecall"), ("python", "")):
        (bin / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (bin / name).chmod(0o755)
    path = f"{bin}:{os.environ['PATH']}"
    return environment(
        PATH=path, ROLECALL_URL=service.url, ROLECALL_TOKEN=made.stdout.strip(), ROLECALL_DATA_DIR=str(service.data_dir)
    )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("desk")


@pytest.mark.timeout(1800)
def test_commands_in_the_documents_work(service: Running, variables: dict[str, str], desk: Path) -> None:
    here = {
        "http://127.0.0.1:8000": service.url,
        "/var/lib/rolecall": str(service.data_dir),
        "rct_...": variables["ROLECALL_TOKEN"],
        ".venv/bin/": "",
    }
    for page in pages():
        script = "set -euo pipefail\n"
        for kind, text in blocks(page):
            script += text if kind == "sh" else f"python - <<'END OF PROGRAM'\n{text}END OF PROGRAM\n"
        for name, value in here.items():
            script = script.replace(name, value)

        run = subprocess.run(
            ["bash", "-c", script], env=variables, cwd=desk, capture_output=True, text=True, check=False
        )

        assert run.returncode == 0, (
            f"{page}\n{script}\n--- printed\n{run.stdout[-2000:]}\n--- said\n{run.stderr[-2000:]}"
        )
        assert '"error":' not in run.stdout, page.name
    run_here = [len(blocks(page)) for page in pages()]
    measured(f"{sum(run_here)} blocks of commands on {sum(map(bool, run_here))} pages")
