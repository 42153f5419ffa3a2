"""Run a service, upload imports to it and watch the memory of its worker, for `bench.imports`."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

ACCOUNTS = {"name": "Standard files", "files": [{"name": "Users", "content": "users"}]}
PEOPLE = {"name": "HR file", "files": [{"name": "People", "content": "identities"}]}
CONNECTOR = {
    "name": "Standard files",
    "files": [{"name": name, "content": name.lower()} for name in ("Users", "Groups", "Permissions")],
}
# The set of files that each import uploads; "unchanged" uploads the files of "changed" again.
STEPS = {"first": "first", "changed": "changed", "unchanged": "changed"}


class Memory:
    """Sample the memory of the worker and its child process, and record the peak of their sum."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, sum(resident(pid) for pid in _workers(self.root)))

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self.peak


def _workers(root: int) -> Iterator[int]:
    """Yield the process ids of the worker and its child below the service's process."""
    parents, commands = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(path.name)] = (path / "cmdline").read_bytes()
        except OSError:
            continue
    for pid, command in commands.items():
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root and (b"application_imports.run.child_main" in command or b"\0worker\0" in command):
            yield pid


def resident(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


@contextmanager
def service(data_dir: Path, **settings: str) -> Iterator[tuple[str, str, int]]:
    """Run a service with these settings; yield its URL, a token and its process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "ROLECALL_LOG": "json", **settings}
    rolecall = [sys.executable, "-m", "rolecall"]
    command = [*rolecall, "serve", "--data-dir", str(data_dir), "--port", str(port), "--workers", "1"]
    with (data_dir.parent / "service.log").open("wb") as log:
        running = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            wait_for(port)
            scopes = [
                part
                for s in ("config:manage", "identities:write", "imports:write", "imports:read", "applications:read")
                for part in ("--scope", s)
            ]
            create = [*rolecall, "token", "create", "bench", *scopes, "--data-dir", str(data_dir)]
            token = subprocess.run(create, env=environ, check=True, capture_output=True, text=True).stdout.strip()
            yield f"http://127.0.0.1:{port}", token, running.pid
        finally:
            running.terminate()
            running.wait()


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the service did not start")


async def run_imports(
    url: str, token: str, files: dict[str, dict[str, Path]], steps: dict[str, str] = STEPS
) -> dict[str, dict[str, Any]]:
    """Import the files of each step into one new application; return the result of each step."""
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        application = await make_application(session, connector=CONNECTOR)
        return {label: await run_import(session, application, files[chosen]) for label, chosen in steps.items()}


async def make_application(session: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    guard = {"maxRemovedPercent": 100, "maxNewPercent": 1000000, "minCount": 1000000}
    body = {"name": f"Bench {time.time()}", "guard": guard, **fields}
    async with session.post("/api/applications", json=body) as answer:
        made = dict(await answer.json())
        assert answer.status == 201, made
        return made


async def run_import(
    session: aiohttp.ClientSession, application: dict[str, Any], files: dict[str, Path]
) -> dict[str, Any]:
    groups = {group["name"]: group["fileGroupId"] for group in application["connector"]["files"]}
    started = time.perf_counter()
    form = aiohttp.FormData()
    for name, path in files.items():
        form.add_field(groups[name], path.open("rb"), filename=path.name)
    async with session.post(
        "/api/application-imports/upload", params={"applicationId": application["id"]}, data=form
    ) as answer:
        run = await answer.json()
        assert answer.status == 201, run
    uploaded = time.perf_counter() - started
    while run["status"] in ("Pending", "Running"):
        await asyncio.sleep(0.02)
        async with session.get(f"/api/application-imports/{run['id']}") as answer:
            run = await answer.json()
    assert run["status"] == "Finished", run["log"]
    begin, end = (datetime.fromisoformat(run[name]) for name in ("buildStart", "buildEnd"))
    return {
        "import": time.perf_counter() - started - uploaded,
        "build": (end - begin).total_seconds(),
        "upload": uploaded,
        "metrics": run["metrics"],
        "log": run["log"],
    }
