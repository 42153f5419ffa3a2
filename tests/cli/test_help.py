import subprocess
import sys

import pytest

from tests.cli.commands import environment, rolecall, typed

TOKEN = ["token", "token create", "token list", "token revoke"]
CONFIG = ["config", "config export", "config plan", "config apply", "config schema"]
COMMANDS = [
    "demo",
    "serve",
    "api",
    "worker",
    "migrate",
    *TOKEN,
    "admin",
    "admin create",
    *CONFIG,
    "profiles",
    "completion",
]


def test_help_lists_all_commands() -> None:
    said = rolecall("--help")

    assert said.returncode == 0
    assert "rolecall" in said.stdout
    for command in COMMANDS:
        assert command.split()[0] in said.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command: str) -> None:
    said = typed(*command.split(), "--help")

    assert said.returncode == 0
    assert "Example:" in said.stdout
    assert f"rolecall {command.split(maxsplit=1)[0]}" in said.stdout
    assert "\x1b[" not in said.stdout


def test_start_up_imports_no_heavy_modules() -> None:
    program = (
        "import sys; from rolecall.cli import rolecall\n"
        "for name in rolecall.list_commands(None): rolecall.get_command(None, name)\n"
        "print([m for m in ('litestar', 'psycopg', 'pydantic', 'granian', 'asyncio', 'httpx2') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment())

    assert run.stdout == "[]\n"


def test_error_names_the_invalid_setting() -> None:
    failed = rolecall("migrate", ROLECALL_TIMEZONE="Mars/Olympus")

    assert failed.returncode == 1
    assert failed.stderr == "Error: ROLECALL_TIMEZONE: 'Mars/Olympus' is not a time zone such as Europe/Zurich\n"


def test_worker_alone_requires_a_database_url() -> None:
    failed = rolecall("worker")

    assert failed.returncode == 1
    assert failed.stderr == "Error: Set ROLECALL_DATABASE_URL, or run `rolecall serve`, which starts its own database\n"
