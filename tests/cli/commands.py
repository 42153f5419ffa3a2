"""Run `rolecall` commands on a real data folder, in a process of their own or in this one."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from click.testing import CliRunner

from rolecall.cli import rolecall as root

REPOSITORY = Path(__file__).parents[2]
PATIENCE_SECONDS = 120


def environment(**variables: str) -> dict[str, str]:
    """Return the environment with these variables and without other ROLECALL settings."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("ROLECALL_", "COV_"))}
    return plain | {"PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", "COLUMNS": "200"} | variables


def rolecall(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rolecall", *map(str, arguments)],
        capture_output=True, text=True, check=False, env=environment(**variables), timeout=300,
    )  # fmt: skip


def typed(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, to save the second that Python needs to start; return its result."""
    unset = dict.fromkeys(name for name in os.environ if name.startswith("ROLECALL_"))
    done = CliRunner().invoke(root, [str(word) for word in arguments], env={**unset, **variables})
    return subprocess.CompletedProcess([*map(str, arguments)], done.exit_code, done.stdout, done.stderr)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, f"not within {seconds} s"
        time.sleep(0.05)


class Running:
    def __init__(self, process: subprocess.Popen[str], data_dir: Path, port: int, log: Path) -> None:
        self.process, self.data_dir, self.port, self.log = process, data_dir, port, log
        self.url = f"http://127.0.0.1:{port}"

    def answers(self, path: str = "/readyz", status: int = 200) -> bool:
        try:
            return httpx2.get(self.url + path, timeout=5).status_code == status
        except httpx2.TransportError:
            return False

    def children(self, role: str) -> list[int]:
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", role], capture_output=True, text=True, check=False
        )
        return [int(line) for line in found.stdout.split()]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(40)


def a_folder(data_dir: Path) -> None:
    """Copy a migrated data folder, which is created once per test run."""
    made = Path(os.environ["PYTEST_DEBUG_TEMPROOT"]) / "migrated"
    with open(f"{made}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            assert rolecall("migrate", "--data-dir", made).returncode == 0
    subprocess.run(["cp", "-a", made, data_dir], check=True)  # Keep the owner: the database user must own its files.


@contextmanager
def a_service(
    data_dir: Path, *arguments: str, command: str = "serve", seconds: float = PATIENCE_SECONDS, **variables: str
) -> Iterator[Running]:
    if command == "serve" and not data_dir.exists():
        a_folder(data_dir)
    port = free_port()
    log_file = data_dir.parent / f"{data_dir.name}.log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rolecall", command, "--port", str(port), "--data-dir", str(data_dir), *arguments],
            env=environment(**variables), stdout=log, stderr=log, text=True,
        )  # fmt: skip
    running = Running(process, data_dir, port, log_file)
    try:
        eventually(lambda: " ready " in log_file.read_text() or process.poll() is not None, seconds)
        assert process.poll() is None, log_file.read_text()
        eventually(running.answers)
        yield running
    finally:
        if process.poll() is None:
            running.stop()


class Caller:
    """Run commands with a URL and a token in this process; a call returns exit code, stdout and stderr."""

    def __init__(self, url: str | None, token: str | None) -> None:
        self.url, self.token = url, token

    def __call__(self, *words: object, **variables: str) -> tuple[int, str, str]:
        known = {"ROLECALL_URL": self.url, "ROLECALL_TOKEN": self.token, **variables}
        done = CliRunner().invoke(root, [str(word) for word in words], env=known)
        return done.exit_code, done.stdout, done.stderr
