"""Rehearse deploy/Dockerfile without a container engine: in a clean folder, as an ordinary user, on a read-only tree.

The COPY, RUN, HEALTHCHECK and CMD lines are read from the file, so that the rehearsal cannot differ from it.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
_, BUILD, FINAL = DOCKERFILE.split("\nFROM ")
ORDINARY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
DATABASE = """
import pathlib, sys
from rolecall.core.postgres import embedded
with embedded(pathlib.Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


class Image:
    """The content of the image, in a folder instead of the root directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("src", "opt", "data", "tmp", "tmp/bin"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        (folder / "tmp/bin/python").symlink_to(a_python())
        self.rolecall = f"{folder}/opt/rolecall/bin/rolecall"

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{self.folder}/opt/rolecall/bin:{self.folder}/tmp/bin:/usr/bin:/bin"
        tmp = {"HOME": f"{self.folder}/tmp", "TMPDIR": f"{self.folder}/tmp"}
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return {"PATH": path, **tmp, **pip, "ROLECALL_DATA_DIR": f"{self.folder}/data", **more}

    def run(self, *command: str, where: str = "data", **more: str) -> str:
        done = self.tried(*command, where=where, **more)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def tried(self, *command: str, where: str = "data", **more: str) -> subprocess.CompletedProcess[str]:
        env, cwd = self.environment(**more), self.folder / where
        return subprocess.run([*ORDINARY, *command], env=env, cwd=cwd, capture_output=True, text=True, check=False)

    @contextmanager
    def running(self, *arguments: str, **more: str) -> Iterator[int]:
        """Run a process of the image on a free port instead of 8000; require exit code 0 after SIGTERM."""
        port = free_port()
        words = [str(port) if word == "8000" else word for word in arguments]
        with (self.folder / "tmp/log").open("a") as log:
            process = subprocess.Popen(
                [*ORDINARY, self.rolecall, *words], env=self.environment(**more), stdout=log, stderr=log, cwd="/"
            )
        try:
            yield port
        finally:
            process.terminate()
            code = process.wait(40)
        if code:
            sys.exit(f"{arguments[0]} ended with {code}\n{(self.folder / 'tmp/log').read_text()}")

    def is_healthy(self, port: int) -> bool:
        check = [word.replace("8000", str(port)) for word in listed("HEALTHCHECK")]
        return self.tried(*check).returncode == 0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rolecall-image-", ignore_cleanup_errors=True) as folder:
        image = Image(Path(folder))
        build(image)
        run_alone(image)
        run_apart(image)


def build(image: Image) -> None:
    for line in BUILD.splitlines():
        step, _, rest = line.partition(" ")
        if step == "COPY":
            copy(image, *rest.split())
        if ORDINARY:
            subprocess.run(["chown", "-R", "nobody:nogroup", str(image.folder)], check=True)
        if step == "RUN":
            started = time.monotonic()
            image.run("sh", "-c", re.sub(r"(?<!\S)/opt/", f"{image.folder}/opt/", rest), where="src")
            print(f"{time.monotonic() - started:5.1f} s  {rest[:100]}", flush=True)
    shutil.rmtree(image.folder / "opt/build")
    shutil.rmtree(image.folder / "src")
    image.run("chmod", "-R", "a-w", f"{image.folder}/opt")
    size = image.run("du", "-sm", f"{image.folder}/opt/rolecall").split()[0]
    print(f"The tree is read-only and has {size} MiB", flush=True)


def copy(image: Image, *words: str) -> None:
    *sources, target = words
    for source in sources:
        place = image.folder / "src" / (source if target == "./" else target)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)


def run_alone(image: Image) -> None:
    """Run the default command of the image, with its embedded database."""
    started = time.monotonic()
    with image.running(*listed("CMD")) as port:
        eventually(lambda: image.is_healthy(port))
        seconds = time.monotonic() - started
        token = image.run(image.rolecall, "token", "create", "rehearsal").strip()
        known = {"ROLECALL_URL": f"http://127.0.0.1:{port}", "ROLECALL_TOKEN": token}
        image.run(image.rolecall, "identity", "list", **known)
    print(f"serve: healthy after {seconds:.1f} s, its API responded, it stopped on SIGTERM", flush=True)


def run_apart(image: Image) -> None:
    """Run the services of compose.yaml except the proxy, on the PostgreSQL that ships with Rolecall."""
    python, folder = f"{image.folder}/opt/rolecall/bin/python", f"{image.folder}/data/separate"
    command = [*ORDINARY, python, "-c", DATABASE, folder]
    with subprocess.Popen(
        command, env=image.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as database:
        assert database.stdout
        more = {"ROLECALL_DATABASE_URL": database.stdout.readline().strip(), "ROLECALL_SECRET_KEY": "00" * 32}
        image.run(image.rolecall, "migrate", **more)
        with ExitStack() as stack:
            api = ("api", "--host", "0.0.0.0", "--port", "8000")
            ports = [stack.enter_context(image.running(*api, **more)) for _ in range(2)]
            stack.enter_context(image.running("worker", **more))
            for port in ports:
                eventually(lambda port=port: image.is_healthy(port))
                eventually(lambda port=port: image.tried("curl", "-sf", f"127.0.0.1:{port}/readyz").returncode == 0)
        print("migrate, two api processes and a worker on one database: ready, and stopped on SIGTERM", flush=True)


def a_python() -> str:
    """Return a Python that an ordinary user can run; root's own Python may not be accessible to others."""
    for python in (os.environ.get("PYTHON"), sys._base_executable, "/usr/bin/python3"):  # type: ignore[attr-defined]
        # Start it from a shell: setpriv itself looks up its program with the privileges of root.
        command = f"{python} -c 'import sys; sys.exit(sys.version_info < (3, 11))'"
        if python and subprocess.run([*ORDINARY, "sh", "-c", command], check=False, cwd="/", stderr=-3).returncode == 0:
            return str(python)
    sys.exit("No Python 3.11 was found that an ordinary user can run; set PYTHON to the path of one")


def listed(instruction: str) -> list[str]:
    """Return the words of an instruction that is written as a JSON array."""
    (words,) = re.findall(rf"^{instruction} (?:--.* CMD )?(\[.*\])$", FINAL, re.MULTILINE)
    found: list[str] = json.loads(words)
    return found


def eventually(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        if time.monotonic() > give_up:
            sys.exit("The service was not ready within 60 s")
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
