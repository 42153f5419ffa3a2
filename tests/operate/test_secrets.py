"""Test that the password of the database is never printed, logged or passed as an argument."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from click.testing import CliRunner
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rolecall.cli import rolecall
from rolecall.core.config import Config
from rolecall.core.errors import CannotRun
from rolecall.operate import backup, programs

SECRET = "s3cr3t/of@the%database"
# A substitute for `pg_dump` and `pg_restore`. It records the password and its arguments, which other users could see.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > "$0.arguments"
printf '%s' "$PGPASSWORD" > "$0.password"
exit 1
"""


@pytest.mark.parametrize("program", ["pg_dump", "pg_restore"])
def test_database_password_is_in_no_program_argument(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    # A server without password authentication accepts any password.
    secret = str(conninfo_to_dict(config.database_url or "").get("password") or SECRET)
    config = msgspec.structs.replace(config, database_url=make_conninfo(config.database_url or "", password=secret))
    archive = tmp_path / "backup.tar"
    backup.back_up(config, archive, datetime.now(UTC), with_key=False)
    path = tmp_path / program
    path.write_text(PROGRAM)
    path.chmod(0o700)
    monkeypatch.setattr(programs, "BIN", tmp_path)

    acts: dict[str, Callable[[], object]] = {
        "pg_dump": lambda: backup.back_up(config, tmp_path / "second.tar", datetime.now(UTC), with_key=False),
        "pg_restore": lambda: backup.restore(config, archive),
    }
    with pytest.raises(CannotRun, match=program) as refused:
        acts[program]()

    seen = (tmp_path / f"{program}.arguments").read_text()
    assert "--dbname=" in seen
    assert secret not in seen
    assert (tmp_path / f"{program}.password").read_text() == secret
    assert secret not in str(refused.value)


# URLs that fail: no server listens, or the password is not URL-encoded, so that PostgreSQL prints half of it.
OUT_OF_REACH = f"postgresql://rolecall:{quote(SECRET, safe='')}@127.0.0.1:1/rolecall"
UNESCAPED = [
    f"postgresql://rolecall:{half}@127.0.0.1:1/rolecall" for half in ("a@s3cr3t", "1/s3cr3t", "x/s3cr3t", "%s3cr3t")
]


@pytest.mark.parametrize("url", [OUT_OF_REACH, *UNESCAPED, "host=127.0.0.1 password=a s3cr3t"])
@pytest.mark.parametrize("command", [["doctor"], ["migrate"], ["token", "list"], ["backup", "x.tar"]], ids=" ".join)
def test_no_command_prints_the_database_password(tmp_path: Path, url: str, command: list[str]) -> None:
    done = CliRunner().invoke(
        rolecall, [*command, "--data-dir", str(tmp_path)], env={"ROLECALL_DATABASE_URL": url}, catch_exceptions=False
    )

    assert done.exit_code == 1, done.stderr
    assert "ROLECALL_DATABASE_URL is not a URL" in done.stderr or "unreachable" in done.stdout + done.stderr
    assert "s3cr3t" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_logged_settings_omit_the_database_password(config: Config) -> None:
    assert SECRET not in repr(msgspec.structs.replace(config, database_url=SECRET, oidc_client_secret=SECRET))
