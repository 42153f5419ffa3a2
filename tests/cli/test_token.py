import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Pool, make_pool
from rolecall.core.errors import Unauthorized
from rolecall.core.postgres import embedded
from rolecall.tokens.keyring import Keyring
from tests.cli.commands import rolecall, typed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("token") / "here"


def token(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return typed("token", *arguments, "--data-dir", folder)


@pytest.fixture(scope="module", autouse=True)
def url(folder: Path) -> Iterator[str]:
    """Keep a database server running, as a service does, so that no command has to start one; yield its URL."""
    with embedded(folder) as url:
        yield url


def test_secret_is_the_only_output_on_stdout(folder: Path) -> None:
    made = token(folder, "create", "alone")

    assert made.returncode == 0
    assert made.stdout.startswith("rct_")
    assert made.stdout.count("\n") == 1
    assert "not shown again" in made.stderr
    assert made.stdout.strip() not in made.stderr


def test_scopes_and_expiry_are_as_requested(folder: Path) -> None:
    made = token(folder, "create", "narrow", "--scope", "imports:write", "--expires", "never", "--json")

    answer = json.loads(made.stdout)
    assert (answer["name"], answer["scopes"], answer["expiresOn"]) == ("narrow", ["imports:write"], None)
    assert answer["secret"].startswith("rct_")


def test_token_list_contains_the_token_but_not_its_secret(folder: Path) -> None:
    secret = token(folder, "create", "listed").stdout.strip()

    as_json, as_text = token(folder, "list", "--json"), token(folder, "list")

    assert "listed" in [item["name"] for item in json.loads(as_json.stdout)]
    assert "\tlisted\t" in as_text.stdout
    assert secret not in as_json.stdout + as_text.stdout


def test_token_can_be_revoked_by_name_or_id(folder: Path) -> None:
    token(folder, "create", "first")
    id = json.loads(token(folder, "create", "second", "--json").stdout)["id"]

    assert token(folder, "revoke", "first").returncode == 0
    assert token(folder, "revoke", id).returncode == 0

    listed = {item["name"]: item for item in json.loads(token(folder, "list", "--json").stdout)}
    assert listed["first"]["revokedOn"]
    assert listed["second"]["revokedOn"]


def test_name_takes_precedence_over_an_id_when_a_token_is_revoked(folder: Path) -> None:
    token(folder, "create", "bystander")
    id = json.loads(token(folder, "create", "by its id", "--json").stdout)["id"]
    token(folder, "create", id)

    assert token(folder, "revoke", id).returncode == 0
    assert token(folder, "revoke", "unknown").returncode != 0

    listed = {item["name"]: item["revokedOn"] for item in json.loads(token(folder, "list", "--json").stdout)}
    assert listed[id]
    assert (listed["by its id"], listed["bystander"]) == (None, None)


async def _lets_in(pool: Pool, door: Keyring, secret: str) -> bool:
    try:
        await door.authenticate(pool, secret, clock.now())
    except Unauthorized:
        return False
    return True


async def test_every_process_rejects_a_token_after_its_revocation_is_reported(folder: Path, url: str) -> None:
    secret = (await asyncio.to_thread(token, folder, "create", "leaving")).stdout.strip()
    known = []
    async with make_pool(Config(database_url=url)) as pool:
        assert await _lets_in(pool, Keyring(), secret)
        revoking = asyncio.create_task(asyncio.to_thread(token, folder, "revoke", "leaving"))
        while not revoking.done():
            door = Keyring()
            if await _lets_in(pool, door, secret):
                known.append(door)
            await asyncio.sleep(0.01)

        assert known
        assert not [door for door in known if await _lets_in(pool, door, secret)]


def test_errors_have_exit_codes(folder: Path) -> None:
    token(folder, "create", "taken")

    unknown = token(folder, "revoke", "nobody")
    invalid = token(folder, "create", "taken")
    usage = token(folder, "create", "x", "--expires", "soon")

    assert (unknown.returncode, unknown.stderr) == (3, "Error: Token with id nobody not found\n")
    taken = "Error: A token named taken already exists; choose another name\n"
    assert (invalid.returncode, invalid.stderr) == (5, taken)
    assert usage.returncode == 2
    assert unknown.stdout + invalid.stdout + usage.stdout == ""


def test_unreachable_database_is_reported_in_one_line() -> None:
    failed = rolecall("migrate", ROLECALL_DATABASE_URL="postgresql://127.0.0.1:1/none")

    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: The database is unreachable: ")
    assert failed.stderr.count("\n") == 1
