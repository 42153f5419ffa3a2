"""Test what is reported when the process that reads files is ended by a signal."""

import os
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from rolecall.application_imports.run import child
from rolecall.application_imports.run.job import BuildOutcome, Job
from rolecall.core import clock
from rolecall.core.errors import Invalid
from rolecall.core.files import Store
from rolecall.file_shapes.files import proposing


def _crash(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture(autouse=True)
def _every_child_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_build", _crash)
    monkeypatch.setattr(proposing, "_main", _crash)


async def test_import_whose_process_crashes_names_the_signal_and_the_likely_cause() -> None:
    job = Job(uuid4(), "postgresql://127.0.0.1:1/none", "http://x", Store(Path("/nowhere")), "UTC", 0, clock.now())

    result = await child.build_in_child(job)

    assert (result.outcome, result.message) == (
        BuildOutcome.FAILED,
        "the process that reads the files was ended by SIGSEGV; often the files need more memory than an import may"
        " use; split them, or save them as CSV",
    )


async def test_proposal_whose_process_crashes_names_the_signal_and_the_likely_cause() -> None:
    with pytest.raises(Invalid) as refused:
        await proposing.propose_in_child([])

    assert "ended by SIGSEGV; often the files need more memory than a proposal may use" in str(refused.value.problems)
