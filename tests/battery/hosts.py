"""Simulate hosts with namespaces: each has its own processes, addresses, shared memory, `/run` and `/srv`.

No host outlives this process, however it ends, and no packet leaves this machine.
"""

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

NETWORK = "10.85.0"
_CLONE_NEWNET = 0x40000000
_INIT = """
mount -t tmpfs tmpfs /run && mkdir -m 1777 /run/postgresql && mount --bind "$1" /srv && ip link set lo up || exit
for folder in "$1"/etc/*; do [ ! -d "$folder" ] || mount --bind "$folder" "/etc/${folder##*/}" || exit; done
echo up
while :; do sleep 3600 & wait; done
"""
_NEEDED = ("ip", "nsenter", "setpriv", "unshare")


class CannotMakeHosts(AssertionError):
    pass


def check_machine(*programs: str) -> None:
    """Fail unless this machine can simulate hosts."""
    missing = [program for program in (*_NEEDED, *programs) if not shutil.which(program)]
    if os.geteuid() != 0 or missing:
        why = f"{', '.join(missing)} missing" if missing else "not root"
        raise CannotMakeHosts(f"NOT RUN: several hosts need root, network namespaces and `make hosts`: {why}")
    made = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise CannotMakeHosts(f"NOT RUN: this machine makes no network namespaces or bridges: {made.stderr}")


class Host:
    """A host that can be booted, cut off and killed; its `/srv` is `disk`, which survives."""

    def __init__(self, name: str, number: int, disk: Path) -> None:
        self.name, self.number, self.disk = name, number, disk
        self.address = f"{NETWORK}.{number}"
        self._machine: subprocess.Popen[str] | None = None
        self._pid = 0
        self._started: list[subprocess.Popen[bytes]] = []
        disk.mkdir(exist_ok=True)

    def boot(self) -> None:
        # If this process is killed, the kernel kills `unshare` and everything in its namespaces.
        with (self.disk / "log").open("a") as log:
            self._machine = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--mount", "--ipc", "--fork",
                 "--kill-child", "--mount-proc", "sh", "-c", _INIT, self.name, str(self.disk)],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self._machine.stdout
        with self._machine.stdout as first:
            assert first.readline() == "up\n", f"{self.name} did not boot: {self.said()}"
        found = subprocess.run(["pgrep", "-P", str(self._machine.pid)], capture_output=True, text=True, check=True)
        self._pid = int(found.stdout)

    def kill(self) -> None:
        """Kill every process of the host at once: the kernel ends a namespace when its first process dies."""
        if self._machine is not None:
            os.kill(self._pid, signal.SIGKILL)
            self._machine.wait()
            for process in self._started:
                process.wait()
            self._machine, self._started = None, []

    def start(self, *command: str, user: tuple[int, int] | None = None, env: Mapping[str, str] | None = None) -> None:
        """Start a program; its output is appended to `log` on the disk."""
        with (self.disk / "log").open("a") as log:
            self._started.append(
                subprocess.Popen(
                    [*self._inside(user), *command], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
                )
            )

    def run(
        self, *command: str, user: tuple[int, int] | None = None, env: Mapping[str, str] | None = None, text: str = ""
    ) -> str:
        done = subprocess.run(
            [*self._inside(user), *command], env=env, input=text, capture_output=True, text=True, check=False, cwd="/"
        )
        assert done.returncode == 0, f"{self.name}: {' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def ip(self, *words: str) -> None:
        subprocess.run(["nsenter", f"--net=/proc/{self._pid}/ns/net", "ip", *words], check=True, capture_output=True)

    def link(self, other: "Host", name: str) -> None:
        """Connect an interface of this host, called `name`, to `eth0` of the other host."""
        self.ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(other._pid))

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Run this thread, and the threads that it starts, in the host's network namespace."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/proc/{self._pid}/ns/net", os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(before)
            os.close(before)
            os.close(there)

    def said(self) -> str:
        log = self.disk / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _inside(self, user: tuple[int, int] | None) -> list[str]:
        enter = ["nsenter", f"--target={self._pid}", "--net", "--pid", "--mount", "--ipc"]
        return enter + (["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups"] if user else [])


class Network:
    """Hosts that are connected by a switch."""

    def __init__(self, folder: Path, numbers: Mapping[str, int]) -> None:
        self._switch = Host("switch", 0, folder / "switch")
        self.hosts = {name: Host(name, number, folder / name) for name, number in numbers.items()}

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    @contextmanager
    def up(self) -> Iterator[None]:
        try:
            self._switch.boot()
            self._switch.ip("link", "add", "br0", "type", "bridge")
            self._switch.ip("link", "set", "br0", "up")
            yield
        finally:
            for host in (*self.hosts.values(), self._switch):
                host.kill()

    def boot(self, name: str) -> None:
        host = self.hosts[name]
        host.boot()
        self._switch.link(host, name)
        # Keep the hardware address after each boot, because other hosts cache it.
        host.ip("link", "set", "eth0", "address", f"02:00:0a:55:00:{host.number:02x}", "up")
        host.ip("address", "add", f"{host.address}/24", "dev", "eth0")
        self._switch.ip("link", "set", name, "master", "br0", "up")

    def kill(self, name: str) -> None:
        self.hosts[name].kill()
        # The kernel removes the link of a dead host some time later.
        with suppress(subprocess.CalledProcessError):
            self._switch.ip("link", "delete", name)

    def cut(self, name: str) -> None:
        self._switch.ip("link", "set", name, "down")

    def mend(self, name: str) -> None:
        self._switch.ip("link", "set", name, "up")


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
