"""Test that reading a long file reports progress, and that reading in pieces gives the same rows as reading at once."""

from pathlib import Path
from uuid import uuid4

import pytest

from rolecall.application_imports.read import csv_text
from rolecall.application_imports.read.file_delta import read_whole
from rolecall.application_imports.read.sources import InputFile, InputGroup
from rolecall.applications.model import Content
from rolecall.core.files import Store
from tests.application_imports.reading import UTC

HEADER = "Username,Name\n"


@pytest.mark.parametrize("row", ["user{0},Name {0}\n", 'user{0},"Last{0}, First"\n'], ids=["plain", "quoted"])
def test_long_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    text = (HEADER + "".join(row.format(n) for n in range(1000))).encode()
    (tmp_path / "users").write_bytes(text)
    group = InputGroup(uuid4(), "Users", Content.USERS, {}, None, allow_rejects=False)
    files = [InputFile(uuid4(), "users.csv", b"", "users", len(text))]
    whole = read_whole(group, files, Store(tmp_path), UTC, None)
    monkeypatch.setattr(csv_text, "PIECE", 1000)
    reported: list[int] = []

    found = read_whole(group, files, Store(tmp_path), UTC, None, reported.append)

    assert found.part().after.equals(whole.part().after)
    assert found.rows == whole.rows == [1000]
    assert len(reported) > 10
    assert reported == sorted(reported)
    assert reported[-1] == len(text)


def test_progress_covers_all_files_together(tmp_path: Path) -> None:
    group = InputGroup(uuid4(), "Users", Content.USERS, {}, None, allow_rejects=False)
    texts = [f"{HEADER}{name},x\n" for name in ("ada", "bob")]
    files = []
    for n, text in enumerate(texts):
        (tmp_path / str(n)).write_text(text)
        files.append(InputFile(uuid4(), f"{n}.csv", b"", str(n), len(text)))
    reported: list[int] = []

    read_whole(group, files, Store(tmp_path), UTC, None, reported.append)

    assert len(texts[0]) in reported
    assert reported[-1] == sum(map(len, texts))
