import json
import subprocess
import sys

import pytest

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
FORGER = """
import logging, sys
import structlog
from rolecall.core import logs
logs.configure(sys.argv[1])
bad = "a\\n2030-01-01T00:00:00Z [info] forged\\x1b[31m\\u202e\\u2028\\x85\\udc80 user=root"
structlog.get_logger("test").info(bad, path=bad, names=[bad])
logging.getLogger("a.library").warning("warned of %s", bad)
try:
    raise ValueError(bad)
except ValueError as fault:
    structlog.get_logger("test").error("failed", exc_info=fault)
"""


def lines(form: str, program: str = PROGRAM) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", program, form], capture_output=True, text=True, check=True, env=environment()
    )
    assert run.stdout == ""
    return run.stderr.splitlines()


def test_json_logs_have_one_object_per_line() -> None:
    said, warned, failed = map(json.loads, lines("json"))

    assert (said["event"], said["level"], said["number"]) == ("said", "info", 1)
    assert said["time"].endswith("Z")
    assert (warned["event"], warned["level"]) == ("warned of it", "warning")
    assert "ZeroDivisionError" in failed["exception"]


def test_text_logs_have_no_color_in_a_pipe() -> None:
    said, warned, failed = lines("text")

    assert "said" in said
    assert "number=1" in said
    assert "warned of it" in warned
    assert "ZeroDivisionError: division by zero" in failed
    assert "\x1b" not in said


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_injection_is_prevented(form: str) -> None:
    said = lines(form, FORGER)

    assert len(said) == 3
    for line in said:
        assert "forged" in line
        assert not {*line} & {"\x1b", "\x85", "\u2028"}
    if form == "text":
        assert all(line.isprintable() for line in said)


REQUEST = """
import asyncio, os, sys
import structlog
from rolecall.core import logs
os.environ.pop("NO_COLOR")
sys.stderr.isatty = lambda: sys.argv[1] == "colored text"
logs.configure(sys.argv[1])
fields = {"method": "GET", "path": "/a\\nb\\udc80 c", "status": 200, "ms": 1.5, "correlation_id": "c"}
structlog.get_logger("test").info("request", **fields)
async def say():
    logs.log_request(**fields)
    await asyncio.sleep(0)
asyncio.run(say())
"""


@pytest.mark.parametrize("form", ["text", "colored text", "json"])
def test_requests_are_logged_in_the_same_format_as_other_events(form: str) -> None:
    usual, request = lines(form, REQUEST)

    if form == "json":
        assert {**json.loads(request), "time": ""} == {**json.loads(usual), "time": ""}
    else:
        assert ("\x1b" in request) is (form == "colored text")
        assert request.partition(" ")[2] == usual.partition(" ")[2]
        assert len(request) == len(usual)


FULL_DISK = """
import asyncio, os, sys
import structlog
from rolecall.core import logs
logs.configure("json")
async def say(path):
    logs.log_request(method="GET", path=path, status=200, ms=1.5, correlation_id="c")
    await asyncio.sleep(0)
    structlog.get_logger("test").info("said", path=path)
async def fill_the_disk():
    log = os.dup(2)
    os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
    await say("/during")
    os.dup2(log, 2)
    await say("/after")
asyncio.run(fill_the_disk())
"""


def test_log_continues_after_its_disk_was_full() -> None:
    said = [json.loads(line) for line in lines("json", FULL_DISK)]

    assert [line["event"] for line in said if line["path"] == "/after"] == ["request", "said"]
