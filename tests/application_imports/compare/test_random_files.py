"""Import random files twice, once line by line and once as a whole, and compare both results with the naive model."""

import asyncio
import os
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from rolecall.application_imports import actions, changes
from rolecall.application_imports.model import ChangeType, ImportType, RecordKind
from rolecall.application_imports.read import lines
from rolecall.application_imports.run import next_import as run
from rolecall.application_imports.run.job import BuildOutcome
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool, session_options
from tests.application_imports.compare import naive
from tests.application_imports.compare.histories import an_application_of_files, imports, run_import, seen, state_of
from tests.application_imports.compare.naive import Malformed, State
from tests.builders import ADA
from tests.figures import measured

EXAMPLES = int(os.environ.get("ROLECALL_EXAMPLES", "10"))


async def _check(config: Config, made: list[tuple[dict[str, list[str]], str]], *, by_lines: bool) -> None:
    assert config.database_url
    db = await psycopg.AsyncConnection.connect(
        config.database_url, autocommit=True, options=session_options(config.base_url)
    )
    async with db:
        application = await an_application_of_files(db)
        state = State()
        history: dict[int, State] = {}
        for files, delimiter in made:
            if not by_lines:
                await execute(db, "UPDATE import_runs SET sources = '{}'")
            try:
                expected = naive.after(state, files, delimiter)
            except Malformed:
                id, outcome, message = await run_import(db, config, application, files)
                assert outcome == BuildOutcome.FAILED, message
                await execute(
                    db, "UPDATE application_imports SET status = 'Failed', build_end = now() WHERE id = %(id)s", id=id
                )
                assert await state_of(db, application) == seen(state)
                continue
            id, outcome, message = await run_import(db, config, application, files)
            assert outcome == BuildOutcome.FINISHED, message
            assert await state_of(db, application) == seen(expected)
            assert await fetch_value(db, "SELECT metrics FROM application_imports WHERE id = %(id)s", id=id) == (
                naive.metrics(state, expected)
            )
            await _check_changes(db, id, state, expected)
            state = expected
            history[await fetch_value(db, "SELECT number FROM application_imports WHERE id = %(id)s", id=id)] = state
        for number, then in history.items():
            await _roll_back(db, config, application, number)
            assert await state_of(db, application) == seen(then)


async def _check_changes(db: Db, id: UUID, before: State, now: State) -> None:
    for kind, lists in naive.changes(before, now).items():
        for change, names in lists.items():
            page = await changes.changes_of(db, id, 1, RecordKind(kind), ChangeType(change.capitalize()))
            assert (kind, change, page.total_count) == (kind, change, len(names))
            assert sorted(item.name for item in page.items) == names
            for item in page.items:
                assert (item.before is None, item.after is None) == (change == "new", change == "removed")
                assert change != "altered" or item.before != item.after


async def _roll_back(db: Db, config: Config, application: UUID, number: int) -> None:
    id = await actions.create_import(db, application, ADA, type=ImportType.API, now=clock.now())
    await execute(db, "INSERT INTO import_runs (import_id, rollback_to) VALUES (%(id)s, %(n)s)", id=id, n=number)
    pool = make_pool(config)
    async with pool:
        while await run.run_next_import(pool, config, clock.now()):
            pass
    status = await fetch_value(db, "SELECT status FROM application_imports WHERE id = %(id)s", id=id)
    assert status == "Finished"


@pytest.mark.timeout(1800)
def test_imports_of_random_files_match_the_naive_model(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MOST_ADDED", 1.0)

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate] if "ROLECALL_EXAMPLES" in os.environ else list(Phase),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(made=imports())
    def check(made: list[tuple[dict[str, list[str]], str]]) -> None:
        asyncio.run(_check(config, made, by_lines=True))
        asyncio.run(_check(config, made, by_lines=False))

    check()

    measured(f"{EXAMPLES} random histories of files, by lines and by columns: all as the naive model says")
