"""Run PostgreSQL's own programs, such as pg_dump, against a database."""

import os
import subprocess
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rolecall.core.errors import CannotRun
from rolecall.core.postgres import BIN


def run(url: str, program: str, *arguments: str) -> str:
    """Run a program and return its output; raise CannotRun if it fails.

    The password is in the environment, because all users can see the arguments of a process.
    """
    target: dict[str, Any] = conninfo_to_dict(url)
    secret = {"PGPASSWORD": target.pop("password")} if target.get("password") else {}
    done = subprocess.run(
        (str(BIN / program), f"--dbname={make_conninfo(**target)}", *arguments),
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | secret,
    )
    if done.returncode:
        raise CannotRun(f"{program}: {' '.join(done.stderr.split())}")
    return done.stdout
