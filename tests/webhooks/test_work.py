"""Test that the worker's loop wakes for new work, not only at a tick, and records its attempts when it stops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx2
import msgspec
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.webhooks import model
from rolecall.worker import work
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver
from tests.webhooks.sending import a_hook, deliveries


class Arrivals:
    """Deliveries that arrive at a receiver; tests wait for the next one instead of sleeping."""

    def __init__(self, receiver: Receiver, statuses: list[int]) -> None:
        self.queue: asyncio.Queue[float] = asyncio.Queue()
        self.statuses = statuses
        receiver.answer = self.answer

    async def answer(self, _: web.Request) -> web.StreamResponse:
        self.queue.put_nowait(asyncio.get_running_loop().time())
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)

    async def next(self) -> float:
        return await asyncio.wait_for(self.queue.get(), 60)


@asynccontextmanager
async def working(config: Config) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work(config, stop))
        yield stop
        stop.set()


@pytest.fixture
def config(config: Config) -> Config:
    """Use a tick so long that none occurs during the test."""
    return msgspec.structs.replace(config, tick_seconds=600.0)


async def test_a_new_event_is_sent_at_once(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, config: Config
) -> None:
    arrivals = Arrivals(receiver, [])
    await a_hook(client, receiver.url)
    async with working(config):
        await an_access_request(db)
        await arrivals.next()
        await an_access_request(db)
        await arrivals.next()


async def test_retry_is_sent_when_due_and_not_at_the_next_tick(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = (*model.SCHEDULE[:1], timedelta(seconds=0.3), *model.SCHEDULE[2:])
    monkeypatch.setattr(model, "SCHEDULE", schedule)
    arrivals = Arrivals(receiver, [500])
    await a_hook(client, receiver.url)
    async with working(config):
        await an_access_request(db)
        first, second = await arrivals.next(), await arrivals.next()

    assert second - first >= 0.3


async def test_tick_finds_due_deliveries_without_a_notification(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, config: Config
) -> None:
    arrivals = Arrivals(receiver, [])
    await a_hook(client, receiver.url)
    await db.execute("ALTER TABLE access_request_events DISABLE TRIGGER fan_out_on_insert")
    async with working(msgspec.structs.replace(config, tick_seconds=0.2)):
        await an_access_request(db)
        await db.execute(
            """INSERT INTO webhook_deliveries
                   (id, webhook_id, access_request_id, event, status, body, created_date, next_attempt_on)
               SELECT gen_random_uuid(), h.id, e.request_id, e.name, 'Pending',
                      webhook_body(gen_random_uuid(), e.created_at, e.name, e.request), e.created_at, e.created_at
               FROM webhooks h, access_request_events e"""
        )
        await arrivals.next()
    await db.execute("ALTER TABLE access_request_events ENABLE TRIGGER fan_out_on_insert")


async def test_stopping_worker_records_attempts_in_flight(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, config: Config
) -> None:
    arrived, answer_now = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await answer_now.wait()
        return web.Response()

    receiver.answer = slow
    await a_hook(client, receiver.url)
    async with working(config) as stop:
        await an_access_request(db)
        await asyncio.wait_for(arrived.wait(), 60)
        stop.set()
        await asyncio.sleep(0)
        answer_now.set()

    (made,) = await deliveries(client)
    assert (made["status"], made["attempts"][0]["outcome"]) == ("Delivered", "delivered")
