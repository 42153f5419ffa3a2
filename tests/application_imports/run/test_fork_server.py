"""Test that a worker leaves no socket folder, that children do not run its script, and that long messages arrive."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import uvloop

from rolecall.application_imports.run.child import run_in_child
from tests.cli.commands import environment, eventually

# A small worker that is started as a script. It records each time that it is run, builds twice, and waits to be killed.
SCRIPT = """
import asyncio, sys
from pathlib import Path
from uuid import uuid4

from rolecall.application_imports.run.child import build_in_child
from rolecall.application_imports.run.job import Job
from rolecall.core import clock
from rolecall.core.files import Store

with open(sys.argv[1] if len(sys.argv) > 1 else "/dev/null", "a") as runs:
    runs.write(__name__ + "\\n")

async def build():
    job = Job(uuid4(), "postgresql://127.0.0.1:1/none", "http://x", Store(Path("/nowhere")), "UTC", 0, clock.now())
    return (await build_in_child(job)).outcome

if __name__ == "__main__":
    for _ in range(2):
        print(asyncio.run(build()), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def short_place() -> Iterator[Path]:
    """Create a folder with a short path, because tmp_path is too long for the path of a socket."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


@pytest.mark.parametrize("ending", ["killed", "ended"])
def test_worker_leaves_no_socket_folder_and_children_do_not_run_its_script(
    tmp_path: Path, short_place: Path, ending: str
) -> None:
    script, runs = tmp_path / "script.py", tmp_path / "runs"
    script.write_text(SCRIPT)

    def left() -> list[Path]:
        return list(short_place.glob("pymp-*"))

    with subprocess.Popen(
        [sys.executable, script, runs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(short_place)),
    ) as worker:
        assert worker.stdout
        assert [worker.stdout.readline() for _ in range(2)] == ["interrupted\n", "interrupted\n"]
        assert len(left()) == 1
        if ending == "killed":
            worker.kill()

    assert runs.read_text().split() == ["__main__"]
    eventually(lambda: not left())


def _send(size: int, pipe: Connection) -> None:
    pipe.send_bytes(b"x" * size)


def test_long_message_of_a_child_is_read_completely_under_uvloop() -> None:
    size = 20 * 1024 * 1024

    sent = uvloop.run(run_in_child(_send, size, seconds=60))

    assert len(sent) == size
