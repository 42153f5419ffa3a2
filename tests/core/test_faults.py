import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.commands import environment

PROGRAM = "from rolecall.core.faults import fault; fault('here'); print('still here')"


def pass_the_point(**variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True, check=False)


def test_a_process_dies_once_at_an_armed_point(tmp_path: Path) -> None:
    (tmp_path / "here").touch()

    first, second = (pass_the_point(ROLECALL_FAULTS=str(tmp_path)) for _ in range(2))

    assert (first.returncode, first.stdout) == (-signal.SIGKILL, "")
    assert (second.returncode, second.stdout) == (0, "still here\n")


def test_fault_points_do_nothing_unless_enabled(tmp_path: Path) -> None:
    (tmp_path / "here").touch()

    assert pass_the_point().stdout == "still here\n"
