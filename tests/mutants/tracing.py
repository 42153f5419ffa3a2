"""Record which lines of the service each test runs: a pytest plugin that writes one JSON line per test.

In mutated files every line counts, in all others only the first line of each function that is called.
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.mutants.targets import TARGETS

ROOT = Path(__file__).parents[2]
_TRACED = {str(ROOT / target) for target in TARGETS}
_PACKAGE = f"{ROOT / 'rolecall'}{os.sep}"
_hit: dict[str, set[int]] = defaultdict(set)
_failed: set[str] = set()


def _on_line(frame: FrameType, event: str, _: Any) -> Any:
    if event == "line":
        _hit[frame.f_code.co_filename].add(frame.f_lineno)
    return _on_line


def _on_call(frame: FrameType, _: str, __: Any) -> Any:
    file = frame.f_code.co_filename
    if not file.startswith(_PACKAGE):
        return None
    _hit[file].add(frame.f_code.co_firstlineno)
    return _on_line if file in _TRACED else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _hit.clear()
    started = time.perf_counter()
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        lines = {str(Path(file).relative_to(ROOT)): sorted(hit) for file, hit in _hit.items()}
        seconds = round(time.perf_counter() - started, 3)
        seen = {"test": item.nodeid, "seconds": seconds, "passed": item.nodeid not in _failed, "lines": lines}
        with Path(os.environ["ROLECALL_MUTANTS_TRACE"], f"{os.getpid()}.jsonl").open("a") as out:
            out.write(json.dumps(seen) + "\n")
