import asyncio
from uuid import UUID, uuid4

import pytest

from rolecall.core import batching
from rolecall.core.batching import BatchedLookup, get_batched, get_one
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, make_pool


class FakeQuery:
    """A fake query that records its batches and blocks until the test releases it."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def answer(self, keys: set[str]) -> str:
        self.asked.append(keys)
        self.is_asked.set()
        await self.may_answer.wait()
        if "nonsense" in keys:
            raise ValueError("nonsense")
        return f"answer {len(self.asked)}"


async def test_lookup_during_a_query_joins_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_PATIENCE_SECONDS", 60)
    query = FakeQuery()
    lookup = BatchedLookup(query.answer)
    first = asyncio.create_task(lookup.get("a"))
    await asyncio.wait_for(query.is_asked.wait(), 60)
    later = [asyncio.create_task(lookup.get(key)) for key in "abb"]
    await asyncio.sleep(0.01)
    assert query.asked == [{"a"}]

    query.may_answer.set()

    assert await asyncio.gather(first, *later) == ["answer 1", "answer 2", "answer 2", "answer 2"]
    assert query.asked == [{"a"}, {"a", "b"}]


async def test_hanging_query_delays_the_next_batch_only_briefly() -> None:
    asked = []

    async def answer(keys: set[str]) -> str:
        asked.append(keys)
        if "hang" in keys:
            await asyncio.Event().wait()
        return "answer"

    lookup = BatchedLookup(answer)
    hanging = asyncio.create_task(lookup.get("hang"))
    await asyncio.sleep(0.01)

    assert await asyncio.wait_for(lookup.get("a"), 60) == "answer"
    assert await asyncio.wait_for(lookup.get("b"), 60) == "answer"
    assert asked == [{"hang"}, {"a"}, {"b"}]
    assert not hanging.done()
    hanging.cancel()


async def test_canceled_lookup_does_not_cancel_its_batch() -> None:
    query = FakeQuery()
    lookup = BatchedLookup(query.answer)
    first, second = (asyncio.create_task(lookup.get(key)) for key in "ab")
    await asyncio.wait_for(query.is_asked.wait(), 60)

    first.cancel()
    query.may_answer.set()

    assert await second == "answer 1"
    assert first.cancelled()


async def test_failed_batch_fails_its_lookups_and_no_later_ones() -> None:
    query = FakeQuery()
    query.may_answer.set()
    lookup = BatchedLookup(query.answer)

    failed = await asyncio.gather(lookup.get("nonsense"), lookup.get("a"), return_exceptions=True)

    assert [type(each) for each in failed] == [ValueError, ValueError]
    assert await lookup.get("a") == "answer 2"


@pytest.mark.usefixtures("clean_database")
async def test_concurrent_lookups_share_a_query_and_get_their_own_records(config: Config) -> None:
    there, gone = [uuid4() for _ in range(3)], uuid4()

    async def find(db: Db, ids: list[UUID]) -> dict[UUID, tuple[UUID, int]]:
        rows = await fetch_rows(db, "SELECT id FROM unnest(%(ids)s) AS t (id) WHERE id <> %(gone)s", ids=ids, gone=gone)
        return {id: (id, len(ids)) for (id,) in rows}

    async with make_pool(config) as pool:
        asked = (get_batched(pool, "Thing", find, str(id)) for id in [*there, gone, there[0]])
        *found, missing, again = await asyncio.gather(*asked, return_exceptions=True)
        async with pool.connection() as db:
            alone = await get_one(db, "Thing", find, there[0])

    assert found == [(id, 4) for id in there]
    assert again == found[0]
    assert str(missing) == f"Thing with id {gone} not found"
    assert alone == (there[0], 1)
