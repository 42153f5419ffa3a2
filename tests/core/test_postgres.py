import hashlib
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from rolecall.cli.folder import occupied
from rolecall.core import postgres
from rolecall.core.errors import CannotRun
from rolecall.core.postgres import embedded, make_folder, open_private, revive
from tests.cli.commands import environment, eventually

HOLD = """
import sys
from pathlib import Path
from rolecall.core.postgres import embedded
with embedded(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""

MAKE_USER = """
import sys
from rolecall.core.postgres import system_user
print("ready", flush=True)
sys.stdin.readline()
print(system_user(sys.argv[1]).pw_uid)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Start another process that uses the folder until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout
    assert process.stdout.readline().startswith("postgresql://")
    return process


def test_processes_share_one_server_and_the_last_stops_it(tmp_path: Path) -> None:
    folder = tmp_path / "a folder's name with spaces, quotes and more letters than the path of a socket may have" / "x"
    pid_file = folder / "postgres" / "postmaster.pid"

    with embedded(folder) as url, holder(folder) as other:
        server = pid_file.read_text().split()[0]
        with psycopg.connect(url) as db:
            db.execute("CREATE TABLE kept (x int)")
        with embedded(folder) as same_url:
            assert same_url == url
        assert pid_file.read_text().split()[0] == server
        other.communicate("")
        assert pid_file.exists()
    assert not pid_file.exists()

    with embedded(folder) as url, psycopg.connect(url) as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (0,)


LOCKS = ("postgres.lock", "postgres.users", "serve.lock")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_other_users_cannot_open_the_folder_or_hold_its_locks(tmp_path: Path) -> None:
    most = 0o701 if os.geteuid() == 0 else 0o700
    with occupied(tmp_path / "new", "http://127.0.0.1"), embedded(tmp_path / "new"):
        assert mode(tmp_path / "new") & ~most == 0
        assert {mode(tmp_path / "new" / name) for name in LOCKS} == {0o600}


def test_folder_and_locks_of_an_older_version_become_private(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    folder.chmod(0o755)
    for name in LOCKS:
        (folder / name).touch()
        (folder / name).chmod(0o644)

    with occupied(folder, "http://127.0.0.1"), embedded(folder):
        assert mode(folder) & 0o066 == 0
        assert {mode(folder / name) for name in LOCKS} == {0o600}


def test_shared_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    make_folder(tmp_path)

    assert tmp_path.stat().st_mode & 0o7777 == 0o1777


def test_lock_file_that_is_a_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "serve.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "serve.lock")


def test_dead_server_is_restarted_and_a_running_one_is_kept(tmp_path: Path) -> None:
    with embedded(tmp_path / "here") as url:
        assert not revive(tmp_path / "here")
        os.kill(int((tmp_path / "here/postgres/postmaster.pid").read_text().split()[0]), signal.SIGKILL)

        eventually(lambda: revive(tmp_path / "here"))

        with psycopg.connect(url) as db:
            assert db.execute("SELECT 1").fetchone() == (1,)


def test_unwritable_folder_is_reported() -> None:
    with pytest.raises(CannotRun, match="The data folder /dev/null/x cannot be written: Not a directory"):  # noqa: SIM117
        with embedded(Path("/dev/null/x")):
            pass


def test_planted_socket_folder_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("a name too long for the path of a socket " * 3)
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    with tempfile.TemporaryDirectory() as everyones:
        monkeypatch.setattr(tempfile, "tempdir", everyones)
        (Path(everyones) / f"rolecall-{digest}").symlink_to("/etc")

        with pytest.raises(CannotRun, match="or belongs to another user"), embedded(folder):
            pass


def test_error_says_why_the_server_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with embedded(tmp_path / "here"):
        pass
    (tmp_path / "here/postgres/PG_VERSION").write_text("9\n")
    monkeypatch.setattr(postgres, "_LINGER_SECONDS", 0)

    with (
        pytest.raises(CannotRun, match=r"did not start: pg_ctl: .*FATAL: database files are incompatible"),
        embedded(tmp_path / "here"),
    ):
        pass


@pytest.mark.parametrize(("limit", "mebibytes"), [("536870912", 128), ("2147483648", 256), ("99999999999999", 512)])
def test_shared_buffers_follow_the_memory_of_the_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, mebibytes: int
) -> None:
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(postgres, "_CGROUP_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 * 2**20}.__getitem__)

    assert postgres._shared_buffers() == mebibytes * 2**20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root creates the system user")
def test_processes_that_create_the_system_user_at_once_agree_on_its_id() -> None:
    name = f"rolecall{os.getpid()}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE_USER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for _ in range(4)
    ]
    try:
        for process in processes:
            assert process.stdout
            process.stdout.readline()
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
        answers = {process.communicate()[0].strip() for process in processes}
        assert answers == {str(pwd.getpwnam(name).pw_uid)}
    finally:
        subprocess.run(["userdel", name], check=True)
