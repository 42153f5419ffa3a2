"""Read the exports in the folder `answered`: files that belong together, and files that leave questions.

`expected.yaml` has for each folder the questions, the `answers` (labels of choices) that a careful person gives, and
the result with these answers. `refused` says why a file is not read, `named` lists texts that evidence and statements
of the proposal contain, and `rejects` counts the rows that are rejected with a reason.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rolecall.file_shapes.choices import LEAVE_OUT
from rolecall.file_shapes.draft_answers import answer
from rolecall.file_shapes.files.capitals import USERNAMES, lower_usernames
from rolecall.file_shapes.shapes import FileProposal, ProposalDetail
from tests.application_imports.reading import Outcome, read_files
from tests.file_shapes.test_export_files import outcome
from tests.file_shapes.test_exports import proposed

FOLDER = Path(__file__).parent / "answered"
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "expected.yaml").read_text())
_NOT_DATA = {"questions", "answers", "refused", "named", "rejects"}


def test_every_folder_has_an_expectation() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*EXPECTED, "expected.yaml"}


@pytest.mark.parametrize("name", EXPECTED)
def test_export_is_read_with_answers(tmp_path: Path, name: str) -> None:
    files = {path.name: path.read_bytes() for path in sorted((FOLDER / name).iterdir())}
    expected = EXPECTED[name]

    proposal, answers = proposed(tmp_path, **files), expected.get("answers", [])
    said = _said(proposal)
    kept = _not_left_out(proposal, files, answers)
    found = _imported(tmp_path, proposal if kept == files else proposed(tmp_path, **kept), kept, answers)

    assert [each.text for file in proposal.files for part in file.contents for each in part.questions] == expected.get(
        "questions", []
    )
    assert {file.name: file.problem for file in proposal.files if file.problem} == expected.get("refused", {})
    assert [text for text in expected.get("named", []) if text not in said] == []
    assert sum(len(delta.rejects) for delta in found.deltas.values()) == expected.get("rejects", 0)
    assert outcome(found) == {key: value for key, value in expected.items() if key not in _NOT_DATA}


def _not_left_out(proposal: ProposalDetail, files: dict[str, bytes], answers: list[str]) -> dict[str, bytes]:
    left = {
        file.name
        for file in proposal.files
        for part in file.contents
        for asked in part.questions
        for each in asked.choices
        if each.key == LEAVE_OUT and each.label in answers
    }
    return {name: text for name, text in files.items() if name not in left}


def _said(proposal: ProposalDetail) -> str:
    said = [text for file in proposal.files for text in file.evidence]
    parts = [part for file in proposal.files for part in file.contents]
    return "\n".join([*said, *(text for part in parts for text in (*part.evidence, *part.statements))])


def _imported(folder: Path, proposal: ProposalDetail, files: dict[str, bytes], answers: list[str]) -> Outcome:
    by_group: dict[str, Any] = {}
    for file in proposal.files:
        if not file.problem:
            _answer(proposal, file, answers)
            by_group.setdefault(str(file.file_group), []).append(files[file.name])
    if not by_group:
        return Outcome({})
    groups = [{**group, "allowRejects": True} for group in proposal.connector["files"]]
    return read_files(folder, groups, by_group)


def _answer(proposal: ProposalDetail, file: FileProposal, answers: list[str]) -> None:
    """Answer the questions of a file as the wizard does."""
    group = next(each for each in proposal.connector["files"] if each["name"] == file.file_group)
    group["shape"] = group["shape"] or {}
    sections = [group, *group["shape"].get("contents", [])]
    for section in sections:
        section["shape"].pop("openQuestions", None)
    for part, section in zip(file.contents, sections, strict=True):
        chosen = [each for asked in part.questions for each in asked.choices if each.label in answers]
        for choice in chosen:
            if choice.key == USERNAMES:
                for each in sections:
                    lower_usernames(each)
            else:
                answer(section, choice)
