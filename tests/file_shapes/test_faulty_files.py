"""Test that an unexpected exception while one file is read becomes its problem, and other files are proposed."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from rolecall.file_shapes.files import proposals, proposing
from rolecall.file_shapes.files.contents import parts_of
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.tables.sample import Sample

FILES = {"users": b"username,status\nada,Active\n", "faulty": b"username,faulty secret\nbob,hunter2\n"}
SAMPLES = [Sample(name, len(text), text) for name, text in FILES.items()]


def _fail_for_faulty(view: View, *args: Any) -> list[Part]:
    if "faulty secret" in view.by_header:
        raise KeyError(view.table.rows[0][1])
    return parts_of(view, *args)


def _fail_for_several(files: Iterable[ReadFile]) -> None:
    if sum(file.view is not None for file in files) > 1:
        raise ValueError


def test_file_that_raises_gets_a_problem_and_others_a_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "parts_of", _fail_for_faulty)

    answer = proposing._propose(SAMPLES, {}, None)

    assert answer.proposal
    users, faulty = answer.proposal.files
    assert ([part.content for part in users.contents], users.problem) == (["users"], None)
    assert faulty.contents == []
    assert (faulty.problem or "").startswith("an internal error occurred while reading the file; save it as CSV")


def test_files_that_raise_only_together_get_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "agree_on_groups", _fail_for_several)

    answer = proposing._propose(SAMPLES, {}, None)

    assert answer.proposal
    problems = [file.problem or "" for file in answer.proposal.files]
    assert all("choose each file alone" in problem for problem in problems)


async def test_traceback_is_logged_without_values_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(_: object, target: Any, args: Any, *__: object, **___: object) -> bytes:
        return msgspec.json.encode(target(*args))

    monkeypatch.setattr(proposals, "parts_of", _fail_for_faulty)
    monkeypatch.setattr(proposing, "run_in_child", run)

    with capture_logs() as logs:
        await proposing.propose_in_child(SAMPLES)

    (line,) = [line["traceback"] for line in logs]
    assert "_fail_for_faulty" in line
    assert line.endswith("KeyError")
    assert "hunter2" not in line
