"""Run the suite on a separate PostgreSQL server, which is reached over TCP with a password.

If ROLECALL_TEST_DATABASE_URL is set, the suite runs on that server; its user must be allowed to create databases.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall.core.postgres import BIN, allow_traversal, owner_of

PASSWORD = "an external secret"


@contextmanager
def a_server(folder: Path) -> Iterator[str]:
    owner = owner_of(folder / "none") if os.geteuid() == 0 else None
    if owner:
        os.chown(folder, *owner)
        for path in (folder / "x", BIN):
            allow_traversal(path)
    (folder / "password").write_text(PASSWORD)
    if owner:
        os.chown(folder / "password", *owner)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(program: str, *arguments: str) -> None:
        user, group = owner or (None, None)
        command: list[str | Path] = [BIN / program, *arguments, "-D", folder / "server"]
        with (folder / "out").open("a") as out:
            subprocess.run(
                command, check=True, stdout=out, stderr=out, user=user, group=group, cwd="/", start_new_session=True
            )

    run("initdb", "-U", "tester", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "--no-sync")
    run("pg_ctl", "start", "-w", "-s", "-o", f"-p {port} -c max_connections=200 -c fsync=off -k {folder}")
    try:
        yield f"postgresql://tester:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "stop", "-w", "-s", "-m", "fast")


def main() -> int:
    pytest = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    if "ROLECALL_TEST_DATABASE_URL" in os.environ:
        return subprocess.run(pytest, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="rolecall-external-") as folder, a_server(Path(folder)) as url:
        return subprocess.run(pytest, check=False, env=os.environ | {"ROLECALL_TEST_DATABASE_URL": url}).returncode


if __name__ == "__main__":
    sys.exit(main())
