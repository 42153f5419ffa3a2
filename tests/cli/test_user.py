"""Run a command as an ordinary user and then as root, on the same folder."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import environment, rolecall

ORDINARY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


def as_ordinary_user(*command: str) -> subprocess.CompletedProcess[str]:
    variables = environment(HOME="/", PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([*ORDINARY, *command], capture_output=True, text=True, check=False, env=variables, cwd="/")


def can_become_ordinary() -> bool:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return False
    return as_ordinary_user(sys.executable, "-c", "import rolecall, psycopg").returncode == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder that the ordinary user owns and can reach; the folders of pytest belong to root."""
    nobody = pwd.getpwnam("nobody")
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_mode & 0o001 == 0:
            parent.chmod(parent.stat().st_mode | 0o001)
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", nobody.pw_uid, nobody.pw_gid)
    return tmp_path / "theirs"


@pytest.mark.skipif(not can_become_ordinary(), reason="not root, or an ordinary user cannot reach this Python")
def test_command_runs_as_ordinary_user_and_then_as_root(folder: Path) -> None:
    create = (sys.executable, "-m", "rolecall", "token", "create")

    theirs = as_ordinary_user(*create, "first", "--data-dir", str(folder))
    roots = rolecall("token", "create", "second", "--data-dir", folder)
    theirs_again = as_ordinary_user(*create, "third", "--data-dir", str(folder))

    assert [made.stdout[:4] for made in (theirs, roots, theirs_again)] == ["rct_"] * 3, theirs.stderr + roots.stderr
    assert {path.stat().st_uid for path in (folder / "postgres").iterdir()} == {pwd.getpwnam("nobody").pw_uid}
