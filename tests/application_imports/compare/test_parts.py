"""Test that any number of parts gives the same records, metrics, totals, rejects, messages and log as one part."""

import asyncio
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rolecall.application_imports.compare import accounts, holdings
from rolecall.application_imports.read import csv_text, lines
from rolecall.application_imports.read.parts import ONE_PART, Parting, RowParts, together
from rolecall.application_imports.run import pipeline
from rolecall.application_imports.run.job import DISK_FULL, BuildOutcome
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, session_options
from tests.application_imports.compare.histories import an_application_of_files, imports, run_import, state_of
from tests.figures import measured

EXAMPLES = int(os.environ.get("ROLECALL_EXAMPLES", "10"))
# Matches the time of a log line, and the duration of its step.
_TIME = re.compile(r"^\S+ | in \d+\.\d s$")


async def _results(config: Config, made: list[tuple[dict[str, list[str]], str]], *, allow_rejects: bool) -> list[Any]:
    """Import a history into a new application; return the visible result of each import."""
    assert config.database_url
    db = await psycopg.AsyncConnection.connect(
        config.database_url, autocommit=True, options=session_options(config.base_url)
    )
    found = []
    async with db:
        application = await an_application_of_files(db, allowRejects=allow_rejects)
        for files, _ in made:
            id, outcome, message = await run_import(db, config, application, files)
            found.append((outcome, message, await state_of(db, application), await _recorded(db, id)))
            failed = "UPDATE application_imports SET status = 'Failed', build_end = now() WHERE id = %(id)s"
            await execute(db, f"{failed} AND status = 'Running'", id=id)
    return found


async def _recorded(db: Db, id: object) -> list[Any]:
    log = await fetch_rows(db, "SELECT line FROM import_log WHERE import_id = %(id)s ORDER BY number", id=id)
    rejects = """SELECT f.position, r.line, r.reason, r.row
                 FROM import_rejects r JOIN import_files f ON f.id = r.file_id
                 WHERE r.import_id = %(id)s ORDER BY 1, 2"""
    totals = "SELECT i.metrics, r.changes FROM application_imports i JOIN import_runs r ON r.import_id = i.id"
    return [
        [_TIME.sub("", line) for (line,) in log],
        await fetch_rows(db, rejects, id=id),
        await fetch_rows(db, f"{totals} WHERE i.id = %(id)s", id=id),
    ]


@pytest.mark.timeout(1800)
def test_any_number_of_parts_gives_the_same_result(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = ONE_PART
    monkeypatch.setattr(pipeline, "parting_of", lambda _, folder: Parting(chosen.count, folder))
    monkeypatch.setattr(lines, "_MOST_ADDED", 1.0)
    # Read files in pieces of a few lines, and compare each part on its own.
    monkeypatch.setattr(csv_text, "PIECE", 40)
    monkeypatch.setattr(accounts, "_MOST_ROWS", 1)
    monkeypatch.setattr(holdings, "_MOST_ROWS", 1)

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(made=imports(), count=st.sampled_from([2, 4, 16]), allow_rejects=st.booleans())
    def check(made: list[tuple[dict[str, list[str]], str]], count: int, allow_rejects: bool) -> None:
        nonlocal chosen
        found = []
        for each in (ONE_PART, Parting(count)):
            chosen = each
            found.append(asyncio.run(_results(config, made, allow_rejects=allow_rejects)))
        assert found[0] == found[1]

    check()

    measured(f"{EXAMPLES} random histories of files, in one part and in several: the same results")


def test_parts_are_compared_together_up_to_a_limit() -> None:
    assert list(together([3, 3, 3, 9, 0, 1], 6)) == [range(2), range(2, 3), range(3, 4), range(4, 6)]
    assert list(together([0, 0], 6)) == [range(2)]
    assert list(together([7], 6)) == [range(1)]


async def test_import_fails_if_the_disk_is_full_while_parts_are_written(
    config: Config, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "parting_of", lambda _, folder: Parting(4, folder))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "r+b", buffering=0))  # noqa: SIM115
    application = await an_application_of_files(db)

    _, outcome, message = await run_import(db, config, application, {"Users": ["Username\nada\n"]})

    assert (outcome, message) == (BuildOutcome.FAILED, DISK_FULL)
    assert (await state_of(db, application)).users == {}


async def test_doubt_in_one_part_undoes_the_changes_of_earlier_parts(
    config: Config, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "parting_of", lambda _, folder: Parting(8, folder))
    monkeypatch.setattr(holdings, "_MOST_ROWS", 1)
    monkeypatch.setattr(lines, "_MOST_ADDED", 1.0)
    names = [f"user{n}" for n in range(20)]
    head, rows = "Username,Permission,Value", [f"{name},Post,1" for name in names]
    users = ["\n".join(["Username", *names])]
    application = await an_application_of_files(db)
    await run_import(db, config, application, {"Users": users, "Permissions": ["\n".join([head, *rows])]})

    # The first user gets a second line with the same key; the line of every other user is changed.
    changed = [f"{name},Post,2" for name in names[1:]]
    again = "\n".join([head, rows[0], f"{names[0]},Post,1 ", *changed])
    id, outcome, message = await run_import(db, config, application, {"Permissions": [again]})

    log = (await _recorded(db, id))[0]
    assert (outcome, message) == (BuildOutcome.FINISHED, "")
    assert "Permissions: all lines are read, because an added line has the same key as another line" in log
    assert "Permissions: 1 repeated row merged" in log
    assert sorted(value for _, value in (await state_of(db, application)).assignments.values()) == ["1"] + ["2"] * 19


def test_parts_leave_no_file_on_disk(tmp_path: Path) -> None:
    rows = RowParts(Parting(4, tmp_path))
    frame = pl.DataFrame({"name": [f"name{n}" for n in range(100)]})

    rows.add(frame, Parting(4).number(pl.col("name")))
    rows.add(frame, Parting(4).number(pl.col("name")))

    assert list(tmp_path.iterdir()) == []
    assert rows.height == 200
    assert all(rows.heights)
    assert sorted(rows.part(0, 1, 2, 3).get_column("name")) == sorted([*frame.get_column("name")] * 2)
