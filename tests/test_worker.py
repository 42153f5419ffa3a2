import asyncio
from datetime import datetime

import msgspec
import pytest

from rolecall import worker
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_value, make_pool
from rolecall.core.nudge import nudge
from rolecall.worker import Loop, tick, work

IN_TIME = 60


@pytest.fixture
def calm(config: Config) -> Config:
    """Use a tick so long that only notifications wake the worker."""
    return msgspec.structs.replace(config, tick_seconds=3600)


async def test_notification_wakes_the_loop_of_its_channel_at_commit(
    calm: Config, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: asyncio.Queue[datetime] = asyncio.Queue()

    async def run(_: Pool, __: Config, now: datetime) -> bool:
        turns.put_nowait(now)
        return False

    monkeypatch.setattr(worker, "LOOPS", [Loop("test", run, channel="test")])
    stop = asyncio.Event()
    working = asyncio.create_task(work(calm, stop))
    for _ in ("at the start", "when it listens"):
        await asyncio.wait_for(turns.get(), IN_TIME)

    async with db.transaction():
        await nudge(db, "test")
        assert turns.empty()
    await asyncio.wait_for(turns.get(), IN_TIME)

    stop.set()
    await asyncio.wait_for(working, IN_TIME)


async def test_loop_continues_while_work_is_waiting_and_after_an_error(
    calm: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [RuntimeError("a fault"), True, True, False]
    done = asyncio.Event()

    async def run(_: Pool, __: Config, ___: datetime) -> bool:
        if not left:
            return False
        next = left.pop(0)
        if isinstance(next, RuntimeError):
            raise next
        if not left:
            done.set()
        return bool(next)

    monkeypatch.setattr(worker, "LOOPS", [Loop("test", run, channel="test")])
    monkeypatch.setattr(worker, "_PAUSE_AFTER_FAULT", 0)
    stop = asyncio.Event()
    working = asyncio.create_task(work(msgspec.structs.replace(calm, tick_seconds=0.01), stop))

    await asyncio.wait_for(done.wait(), IN_TIME)

    stop.set()
    await asyncio.wait_for(working, IN_TIME)


async def test_stop_waits_for_the_current_turn(calm: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, finish, ended = asyncio.Event(), asyncio.Event(), []

    async def run(_: Pool, __: Config, ___: datetime) -> bool:
        begun.set()
        await finish.wait()
        ended.append(True)
        return True

    monkeypatch.setattr(worker, "LOOPS", [Loop("test", run, channel="test")])
    stop = asyncio.Event()
    working = asyncio.create_task(work(calm, stop))
    await asyncio.wait_for(begun.wait(), IN_TIME)

    stop.set()
    finish.set()

    await asyncio.wait_for(working, IN_TIME)
    assert ended == [True]


async def test_worker_sends_heartbeats(calm: Config, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(_: Pool, __: Config, ___: datetime) -> bool:
        return False

    monkeypatch.setattr(worker, "LOOPS", [Loop("test", run, channel="test")])
    stop = asyncio.Event()
    working = asyncio.create_task(work(calm, stop))

    async with asyncio.timeout(IN_TIME):
        while not await fetch_value(db, "SELECT count(*) FROM heartbeats"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    stop.set()
    await asyncio.wait_for(working, IN_TIME)


async def test_failed_chore_does_not_stop_the_others(config: Config, db: Db) -> None:
    await db.execute("INSERT INTO heartbeats (worker_id, beaten_at) VALUES (gen_random_uuid(), '2020-01-01Z')")
    no_files = msgspec.structs.replace(config, files_url="unheard-of://files")

    async with make_pool(no_files) as pool:
        assert await tick(pool, no_files, clock.now()) is False

    assert await fetch_value(db, "SELECT count(*) FROM heartbeats") == 0
