import json
import subprocess
import sys

from tests.cli.commands import environment

PROGRAM = """
import logging, sys
import structlog
from rolecall.core import logs
logs.configure(sys.argv[1])
log = structlog.get_logger("test")
log.info("said", number=1, odd=object)
logging.getLogger("a.library").warning("warned of %s", "it")
logging.getLogger("a.library").info("chatter")
try:
    1 / 0
except ZeroDivisionError as fault:
    log.error("failed", exc_info=fault)
"""


def lines(form: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, form], capture_output=True, text=True, check=True, env=environment()
    )
    assert run.stdout == ""
    return run.stderr.splitlines()


def test_json_logs_are_one_object_a_line() -> None:
    said, warned, failed = map(json.loads, lines("json"))

    assert (said["event"], said["level"], said["number"]) == ("said", "info", 1)
    assert said["time"].endswith("Z")
    assert (warned["event"], warned["level"]) == ("warned of it", "warning")
    assert "ZeroDivisionError" in failed["exception"]


def test_text_logs_are_for_people_and_without_colour_in_a_pipe() -> None:
    said, warned, *_ = lines("text")

    assert "said" in said
    assert "number=1" in said
    assert "warned of it" in warned
    assert "\x1b" not in said
